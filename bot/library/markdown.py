"""A page's own structure: its blocks with their lines, from markdown-it-py's tokens.

Only the block phase of the parser runs: where a list item, a table row or a fence starts is all that cutting needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

Kind = Literal["heading", "paragraph", "list", "item", "quote", "table", "row", "fence", "code", "html", "rule"]

_KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "item",
    "blockquote_open": "quote",
    "table_open": "table",
    "tr_open": "row",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
}

_blocks = MarkdownIt("commonmark").enable("table")
_blocks.core.ruler.enableOnly(["normalize", "block"])
_inline = MarkdownIt("commonmark")

_LONGEST_HEADING = 300
"""Characters of a heading that are read: the inline parser takes quadratic time on hostile ones."""
_HEADING_BELOW_CODE = re.compile(r" {0,3}#{2,6}\s+\S")


@dataclass(slots=True)
class Block:
    """A block of a page. Lines are 0-based lines of the file, `end` excluded; children cover their parent whole."""

    kind: Kind
    start: int
    end: int
    line: int
    """Where it starts itself: later than `start` where it covers what stands above it."""
    level: int = 0
    """Of a heading, 1 to 6."""
    title: str = ""
    """Of a heading: its words without markup."""
    children: tuple[Block, ...] = ()


def outline(text: str, body_line: int = 1) -> tuple[Block, ...]:
    """The top-level blocks of a page's body (from 1-based `body_line`), in order, covering every line of it.

    What has no token of its own (blank lines, link definitions) belongs to the block before it. A fence that is
    never closed ends before the next heading of level two or more, as its author meant.
    """
    lines = text.split("\n")
    found: list[Block] = []
    start = body_line - 1
    while start < len(lines):
        tokens = _blocks.parse("\n".join(lines[start:]))
        blocks = _tree(tokens, start)
        resume = _after_unclosed_fence(blocks, tokens, lines)
        found += blocks
        if resume is None:
            break
        start = resume
    if not found:  # nothing but link definitions, say
        found = [Block("paragraph", body_line - 1, len(lines), body_line - 1)]
    return _cover(found, body_line - 1, len(lines))


def plain_words(markup: str) -> str:
    """Inline Markdown without its marks: what a reader sees of a heading."""
    children = (child for token in _inline.parseInline(markup[:_LONGEST_HEADING]) for child in token.children or ())
    return " ".join("".join(" " if c.type in ("softbreak", "hardbreak") else c.content for c in children).split())


def _tree(tokens: Sequence[Token], offset: int) -> list[Block]:
    """Nested blocks out of the flat tokens; table heads and bodies vanish, their rows stay."""
    top: list[Block] = []
    open_blocks: list[tuple[Block, list[Block]]] = []
    for i, token in enumerate(tokens):
        kind = _KINDS.get(token.type)
        if kind and token.map:
            block = Block(kind, token.map[0] + offset, token.map[1] + offset, token.map[0] + offset)
            if kind == "heading":
                block.level, block.title = int(token.tag[1]), plain_words(tokens[i + 1].content)
            (open_blocks[-1][1] if open_blocks else top).append(block)
            if token.nesting == 1:
                open_blocks.append((block, []))
        elif token.nesting == -1 and token.type.replace("_close", "_open") in _KINDS:
            block, children = open_blocks.pop()
            block.children = tuple(children)
    return top


def _after_unclosed_fence(blocks: list[Block], tokens: Sequence[Token], lines: list[str]) -> int | None:
    """The line where reading goes on if the last block is a fence that nobody closed and a heading stands in it."""
    if not blocks or blocks[-1].kind != "fence":
        return None
    fence, markup = blocks[-1], tokens[-1].markup
    last = lines[fence.end - 1].strip()
    if fence.end - 1 > fence.start and len(last) >= len(markup) and set(last) == {markup[0]}:
        return None
    for i in range(fence.start + 1, fence.end):
        if _HEADING_BELOW_CODE.match(lines[i]) and not lines[i - 1].strip():
            fence.end = i
            return i
    return None


def _cover(blocks: Sequence[Block], start: int, end: int) -> tuple[Block, ...]:
    """The same blocks, stretched so that together they cover every line from `start` to `end`."""
    for i, block in enumerate(blocks):
        block.start = start if i == 0 else block.start
        block.end = blocks[i + 1].start if i + 1 < len(blocks) else end
        block.children = _cover(block.children, block.start, block.end)
    return tuple(blocks)
