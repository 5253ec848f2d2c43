"""Slack's own markup: undone when a message is read, and made harmless when one is written.

Slack delivers `&`, `<` and `>` of people's words as entities and puts links, people and channels into angle
brackets (docs.slack.dev, "Formatting message text"). Both directions do that exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_CODE = re.compile(r"`([^`\n]{1,1000})`")
_BRACKETS = re.compile(r"<([^<>\n]*)>")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:\S")
_EMPHASIS = re.compile(r"(?<![\w*_~`])(?P<mark>\*\*|[*_~])(?=\S)(?P<inner>[^\n]{0,300}?\S)(?P=mark)(?![\w*_~`])")
_RUNBOOK = re.compile(r"(?i)run[-_ ]?books?|play[-_ ]?books?")
_LABEL_BEFORE = re.compile(r"(?i)(?:run|play)[-_ ]?book[-_ ]?(?:url|link)?[*_`\"' ]*[:=|][^\n]{0,30}$")


def escape(text: str) -> str:
    """`text` for a mrkdwn field: shown as it is, pings nobody, opens no link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Slack's three entities undone, once."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def is_runbook_link(url: str, label: str = "", before: str = "") -> bool:
    """Whether a link leads to a runbook, by its address, its label or the words right before it."""
    return bool(_RUNBOOK.search(url) or _RUNBOOK.search(label) or _LABEL_BEFORE.search(before))


def link_words(url: str, label: str = "", before: str = "") -> str:
    """What a person reads of a link; the address of a runbook's link is kept beside its label."""
    scheme, _, rest = url.partition(":")
    if scheme in ("mailto", "tel"):
        return label or rest
    if not label or label == url:
        return url
    return f"{label} ({url})" if is_runbook_link(url, label, before) else label


def plain(text: str) -> str:
    """The words of a mrkdwn text: links, people, emphasis and entities undone; the inside of code left alone."""
    fenced = text.split("```")
    if len(fenced) % 2 == 0:  # the last fence is not closed: no code
        fenced[-2:] = ["```".join(fenced[-2:])]
    return "".join(_code(piece.strip("\n")) if at % 2 else _spans(piece) for at, piece in enumerate(fenced))


def _code(text: str) -> str:
    return unescape(_brackets(text))


def _spans(text: str) -> str:
    pieces = _CODE.split(text)
    return "".join(_code(piece) if at % 2 else _prose(piece) for at, piece in enumerate(pieces))


def _prose(text: str) -> str:
    bare = _brackets(text)
    for _ in range(3):  # emphasis may be nested: *_~x~_*
        bare = _EMPHASIS.sub(lambda found: found["inner"], bare)
    lines = (re.sub(r"^\s*&gt;(?:&gt;&gt;)? ?", "", line) for line in bare.split("\n"))
    return unescape("\n".join(lines))


def _brackets(text: str) -> str:
    def named(found: re.Match[str]) -> str:
        return _named(found[1], found.string[max(0, found.start() - 60) : found.start()].rpartition("\n")[2])

    return _BRACKETS.sub(named, text)


def _named(inner: str, before: str) -> str:
    target, _, label = inner.partition("|")
    if target[:1] in ("@", "#"):
        return target[0] + (label.lstrip("@#") or target[1:])
    if target[:1] == "!":
        if target.startswith("!date^"):
            return label
        return "@" + (label or target[1:].split("^")[-1]).lstrip("@")
    return link_words(target, label, before) if _SCHEME.match(target) else f"<{inner}>"


def rich_text_words(elements: Iterable[Mapping[str, Any]]) -> str:
    """The words of the elements of a rich_text block, one line a section, list entry or quote."""
    lines: list[str] = []
    for element in elements:
        match element.get("type"):
            case "rich_text_section" | "rich_text_preformatted" | "rich_text_quote":
                lines.append(_inline(element.get("elements", ())))
            case "rich_text_list":
                lines += [f"• {rich_text_words([entry])}" for entry in element.get("elements", ())]
            case _:
                lines.append(_inline([element]))
    return "\n".join(line for line in lines if line)


def _inline(elements: Iterable[Mapping[str, Any]]) -> str:
    words = ""
    for element in elements:
        match element.get("type"):
            case "text":
                words += str(element.get("text", ""))
            case "link":
                words += link_words(str(element.get("url", "")), str(element.get("text") or ""), words)
            case "emoji":
                words += f":{element.get('name', '')}:"
            case "user":
                words += f"@{element.get('user_id', '')}"
            case "usergroup":
                words += f"@{element.get('usergroup_id', '')}"
            case "channel":
                words += f"#{element.get('channel_id', '')}"
            case "broadcast":
                words += f"@{element.get('range', '')}"
            case "date":
                words += str(element.get("fallback") or "")
            case _:
                words += str(element.get("text") or "")
    return words
