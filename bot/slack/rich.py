"""Markdown as Slack's rich text: what stands in code goes through byte for byte, nothing is escaped or re-read.

In rich_text Slack takes every text as it is: no entities, no marks, no links but those made here. So a runbook's
stars, hashes and `<b>` stay what they are, and a command can be copied.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

Json = dict[str, Any]

_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}
_MOST_CODE = 2_800
"""Characters of one block of code; more is divided between lines."""


@dataclass(frozen=True, slots=True)
class Part:
    """A block, with the 0-based lines of the Markdown that it shows (`end` is not included)."""

    block: Json
    start: int
    end: int
    heading: int = 0
    """1 to 6 for a heading."""


def cut(text: str, most: int) -> str:
    """`text` in at most so many characters; a cut is marked with "…" and divides no emoji and no accented letter."""
    if len(text) <= most:
        return text
    end = max(most - 1, 0)
    space = text.rfind(" ", max(0, end - 60), end)
    if space > 0:
        end = space
    while end > 0 and (_joins(text[end]) or text[end - 1] == "\u200d" or _flag(text, end)):
        end -= 1
    return text[:end].rstrip() + "…" if most > 0 else ""


def _joins(char: str) -> bool:
    return (
        bool(unicodedata.combining(char)) or char in "\u200d\ufe0e\ufe0f\u20e3" or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


def _flag(text: str, at: int) -> bool:
    def regional(char: str) -> bool:
        return "\U0001f1e6" <= char <= "\U0001f1ff"

    return regional(text[at]) and regional(text[at - 1])


def rich_text(*elements: Json) -> Json:
    """A rich_text block."""
    return {"type": "rich_text", "elements": list(elements)}


def section(elements: Sequence[Json]) -> Json:
    """A paragraph of rich text; never empty, for Slack refuses that."""
    return {"type": "rich_text_section", "elements": list(elements) or [words(" ")]}


def words(text: str, **style: bool) -> Json:
    """A piece of text as it is, with styles `bold`, `italic`, `strike`, `code`."""
    return {"type": "text", "text": text, **({"style": style} if style else {})}


def link(url: str, text: str, **style: bool) -> Json:
    """A link with a label."""
    return {"type": "link", "url": url, "text": text, **({"style": style} if style else {})}


def preformatted(code: str) -> list[Json]:
    """Code, byte for byte; very long code in more than one block, divided between lines."""
    return [{"type": "rich_text_preformatted", "elements": [words(piece)]} for piece in _pieces(code.rstrip("\n"))]


def _pieces(code: str) -> Iterator[str]:
    piece = ""
    for line in code.split("\n"):
        if piece and len(piece) + len(line) + 1 > _MOST_CODE:
            yield piece
            piece = line
        else:
            piece = f"{piece}\n{line}" if piece else line
    yield piece or " "


def quote(text: str) -> Json:
    """A quotation, as it is."""
    return {"type": "rich_text_quote", "elements": [words(text)]}


def bullets(entries: Sequence[Json]) -> Json:
    """A list of sections."""
    return {"type": "rich_text_list", "style": "bullet", "indent": 0, "elements": list(entries)}


def inline(markdown: str) -> list[Json]:
    """Rich text of one line or paragraph of Markdown."""
    found: list[Json] = []
    for token in _MARKDOWN.parseInline(markdown):
        found += _inline(token.children or [])
    return found


def _inline(tokens: Sequence[Token], **base: bool) -> list[Json]:
    elements: list[Json] = []
    style = dict(base)
    url: str | None = None

    def add(text: str, **more: bool) -> None:
        if text:
            element = link(url, text, **style, **more) if url else words(text, **style, **more)
            elements.append(element)

    for token in tokens:
        name = token.type.rsplit("_", 1)[0]
        match token.type:
            case "text":
                add(token.content)
            case "code_inline":
                add(token.content, code=True)
            case "softbreak":
                add(" ")
            case "hardbreak":
                add("\n")
            case "link_open":
                href = str(token.attrGet("href") or "")
                url = href if href.startswith(("http://", "https://", "mailto:")) and len(href) < 3000 else None
            case "link_close":
                url = None
            case "image":
                add(token.content or str(token.attrGet("src") or ""))
            case _ if name in _STYLES and token.nesting:
                style.pop(_STYLES[name], None)
                style |= {_STYLES[name]: True} if token.nesting > 0 else {}
            case _:
                add(token.content)
    return elements


# --- whole pages ------------------------------------------------------------------------------------------------


def parts(markdown: str) -> list[Part]:
    """The blocks of a page, in order."""
    tokens = _MARKDOWN.parse(markdown)
    found: list[Part] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        last = _close(tokens, index)
        start, end = token.map or (0, 0)
        for block in _block(tokens[index : last + 1]):
            level = int(token.tag[1]) if token.type == "heading_open" else 0
            found.append(Part(block, start, end, level))
        index = last + 1
    return found


def _close(tokens: Sequence[Token], index: int) -> int:
    depth = 0
    for at in range(index, len(tokens)):
        depth += tokens[at].nesting
        if depth == 0:
            return at
    return len(tokens) - 1


def _block(tokens: Sequence[Token]) -> Iterator[Json]:
    first = tokens[0]
    match first.type:
        case "heading_open":
            title = "".join(e["text"] for e in _inline(tokens[1].children or [])).strip()
            if first.tag in ("h1", "h2") and 0 < len(title) <= 150:
                yield {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}
            else:
                yield rich_text(section(_inline(tokens[1].children or [], bold=True)))
        case "hr":
            yield {"type": "divider"}
        case "blockquote_open":
            text = "\n".join(_lines(tokens[1:-1]))
            yield rich_text(quote(text or " "))
        case "bullet_list_open" | "ordered_list_open":
            yield from (rich_text(*group) for group in _grouped(_list(tokens, 0)))
        case _:
            yield from (rich_text(element) for element in _leaf(tokens))


def _grouped(elements: Sequence[Json]) -> Iterator[list[Json]]:
    """Elements in blocks of a digestible size."""
    group: list[Json] = []
    size = 0
    for element in elements:
        weight = text_length(element)
        if group and size + weight > _MOST_CODE:
            yield group
            group, size = [], 0
        group.append(element)
        size += weight
    if group:
        yield group


def _leaf(tokens: Sequence[Token]) -> list[Json]:
    first = tokens[0]
    match first.type:
        case "paragraph_open":
            return [section(_inline(tokens[1].children or []))]
        case "fence" | "code_block":
            return preformatted(first.content)
        case "table_open":
            return preformatted(_table(tokens))
        case "html_block":
            return preformatted(first.content) if first.content.strip() else []
        case _:
            return [section([words(line)]) for line in _lines(tokens) if line.strip()]


def _list(tokens: Sequence[Token], indent: int) -> list[Json]:
    """A list; what can't stand inside a Slack list (code, tables) comes between two parts of it."""
    ordered = tokens[0].type == "ordered_list_open"
    number = int(tokens[0].attrGet("start") or 1) - 1
    elements: list[Json] = []
    entries: list[Json] = []

    def flush() -> None:
        if entries:
            offset = number - len(entries)
            kind: Json = {
                "type": "rich_text_list",
                "style": "ordered" if ordered else "bullet",
                "indent": min(indent, 8),
            }
            elements.append({**kind, **({"offset": offset} if ordered and offset else {}), "elements": list(entries)})
            entries.clear()

    at = 1
    while at < len(tokens) - 1:
        end = _close(tokens, at)
        number += 1
        inner = tokens[at + 1 : end]
        child, opened = 0, False
        while child < len(inner):
            close = _close(inner, child)
            piece = inner[child : close + 1]
            if piece[0].type == "paragraph_open":
                paragraph = section(_inline(piece[1].children or []))
                if not opened:
                    entries.append(paragraph)
                elif entries:
                    entries[-1]["elements"] += [words("\n"), *paragraph["elements"]]
                else:
                    elements.append(paragraph)
                opened = True
            else:
                if not opened:
                    entries.append(section([]))
                    opened = True
                flush()
                nested = piece[0].type in ("bullet_list_open", "ordered_list_open")
                elements += _list(piece, indent + 1) if nested else _leaf(piece)
            child = close + 1
        if not opened:
            entries.append(section([]))
        at = end + 1
    flush()
    return elements


def _lines(tokens: Sequence[Token]) -> list[str]:
    """The bare text lines of any tokens."""
    lines: list[str] = []
    for token in tokens:
        if token.type == "inline":
            lines += "".join(str(e["text"]) for e in _inline(token.children or [])).split("\n")
        elif token.type in ("fence", "code_block", "html_block"):
            lines += token.content.rstrip("\n").split("\n")
    return lines


def _table(tokens: Sequence[Token]) -> str:
    rows: list[list[str]] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append("".join(str(e["text"]) for e in _inline(tokens[at + 1].children or [])))
    columns = max(len(row) for row in rows)
    rows = [row + [""] * (columns - len(row)) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(columns)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def text_length(value: object) -> int:
    """Characters of all texts and links in blocks or elements."""
    if isinstance(value, dict):
        own = sum(len(value[key]) for key in ("text", "url") if isinstance(value.get(key), str))
        return own + sum(text_length(inner) for inner in value.values() if isinstance(inner, dict | list))
    if isinstance(value, list):
        return sum(text_length(inner) for inner in value)
    return 0
