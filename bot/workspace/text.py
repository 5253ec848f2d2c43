"""Slack's message text: what a person types becomes escaped mrkdwn and rich text, and bots' text is normalised."""

from __future__ import annotations

import copy
import itertools
import re
import secrets
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

_TOKENS = re.compile(
    r"```\n?(?P<pre>.+?)\n?```|`(?P<code>[^`\n]+)`|(?P<link>https?://[^\s<>|`]+)|@(?P<user>[\w.-]+)", re.DOTALL
)
_ALIVE = re.compile(r"<(?:[@#!][^<>\n]+|(?:https?|mailto|slack|tel):[^<>\n]+)>")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt);)")
_numbers = itertools.count(1)


def escape(text: str) -> str:
    """Slack's three entities, in the order that keeps them single."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def normalised(text: str) -> str:
    """An app's text as Slack stores it: live `<…>` tokens kept, every other special character escaped once."""
    pieces: list[str] = []
    end = 0
    for token in _ALIVE.finditer(text):
        pieces += [_plain(text[end : token.start()]), token.group()]
        end = token.end()
    return "".join([*pieces, _plain(text[end:])])


def _plain(text: str) -> str:
    return _ENTITY.sub("&amp;", text).replace("<", "&lt;").replace(">", "&gt;")


def typed(text: str, find_user: Callable[[str], str | None]) -> tuple[str, list[Json]]:
    """What a client sends for words typed in a composer: `text` and one rich_text block.

    `find_user` gives the id for a handle. Mentions, links, code and code fences are understood; the rest is text.
    """
    words: list[str] = []
    rich: list[Json] = []
    section: list[Json] = []

    def plain(piece: str) -> None:
        if piece:
            words.append(escape(piece))
            section.append({"type": "text", "text": piece})

    def close() -> None:
        if section:
            rich.append({"type": "rich_text_section", "elements": list(section)})
            section.clear()

    end = 0
    for token in _TOKENS.finditer(text):
        kind, value = str(token.lastgroup), token.group(token.lastgroup or 0)
        user = find_user(value) if kind == "user" else None
        if kind == "user" and user is None:
            continue
        plain(text[end : token.start()])
        end = token.end()
        if kind == "pre":
            words.append(f"```{escape(value)}```")
            close()
            rich.append({"type": "rich_text_preformatted", "elements": [{"type": "text", "text": value}]})
        elif kind == "code":
            words.append(f"`{escape(value)}`")
            section.append({"type": "text", "text": value, "style": {"code": True}})
        elif kind == "link":
            words.append(f"<{escape(value)}>")
            section.append({"type": "link", "url": value})
        else:
            words.append(f"<@{user}>")
            section.append({"type": "user", "user_id": user})
    plain(text[end:])
    close()
    return "".join(words), with_ids([{"type": "rich_text", "elements": rich}]) if rich else []


def with_ids(blocks: list[Json]) -> list[Json]:
    """A copy in which every block has a `block_id` and every interactive element an `action_id`, as Slack adds them."""
    named = copy.deepcopy(blocks)
    for block in named:
        block.setdefault("block_id", secrets.token_urlsafe(4))
        if block.get("type") in ("actions", "context_actions"):
            for element in block.get("elements", ()):
                element.setdefault("action_id", f"a{next(_numbers)}")
        for key in ("accessory", "element"):
            if isinstance(block.get(key), dict) and block[key].get("type") != "image":
                block[key].setdefault("action_id", f"a{next(_numbers)}")
    return named
