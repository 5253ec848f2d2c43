"""A page cut into passages along its own structure, each within the embedding model's window.

One heading section is one passage where it fits. What does not fit is cut at the next smaller joint: blocks, list
items, table rows, lines, sentences, words. Passages are verbatim and cover the whole body.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate

from bot.library.gists import Gist
from bot.library.markdown import Block, outline
from bot.library.models import Passage, Runbook
from bot.library.names import clip
from bot.library.ports import Embedder

CHUNKING_VERSION = "1"
"""Part of the collection's name: raise it when the same page would be cut or embedded differently."""

_LONGEST = 512
"""Tokens that a passage has at most, however large the window: more than that is no one thing that can be found."""

_TITLE_BYTES = 100
_PATH_BYTES = 100
"""Of UTF-8, because a byte is at most one token: whatever the script, most of a window of 256 is left for the text."""

_LEAST_ROOM = 16
"""Tokens for text that a passage is cut to at least, however long its title: for tiny windows only."""

_JOINTS = (re.compile(r"\n+"), re.compile(r"(?<=[.!?;:])\s+"), re.compile(r"\s+"))
"""Where text without structure may be cut, best first: at line ends, after sentences, between words."""
_NEAR = 1000
"""Characters around the middle of a stretch in which a joint is looked for first."""
_CERTAINLY_LONG = 16
"""Characters a token: a longer stretch is cut without counting. (Pieces are joined again as far as they fit.)"""


def embedding_text(runbook: Runbook, piece: Passage | Gist) -> str:
    """What stands for a passage in the vector space: title, heading path, context, text. For a gist, itself."""
    if isinstance(piece, Gist):
        return piece.text
    passage = piece
    path = [h for h in passage.headings if h != runbook.title and h not in passage.text]
    head = (clip(runbook.title, _TITLE_BYTES), clip(" > ".join(path), _PATH_BYTES, tail=True), passage.context)
    return "\n".join(part for part in (*head, passage.text) if part)


def cut(runbook: Runbook, embedder: Embedder) -> tuple[Passage, ...]:
    """The passages of a page, in its order. Nothing of the body but white space is outside all of them.

    Every `embedding_text` has at most `embedder.window` tokens.
    """
    page = _Page(runbook, embedder)
    drafts = [draft for section in _sections(outline(runbook.text, runbook.body_line)) for draft in page.cut(section)]
    return tuple(_identified(runbook, passage) for draft in drafts for passage in page.passages(draft))


@dataclass(frozen=True, slots=True)
class _Section:
    """Headings and the blocks below them; `path` is the last heading's."""

    path: tuple[str, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of the page, by character offsets, with its tokens; `context` stands in for what was cut off above."""

    start: int
    end: int
    tokens: int
    context: str = ""
    path: tuple[str, ...] = ()


def _sections(blocks: Iterable[Block]) -> list[_Section]:
    """The heading sections of a page. A heading without a body of its own joins the deeper one below it, else the
    section above it."""
    sections: list[_Section] = []
    open_path: list[tuple[int, str]] = []
    waiting: list[Block] = []
    current: list[Block] = []

    def close() -> None:
        if current:
            sections.append(_Section(tuple(title for _, title in open_path if title), tuple(current)))
            current.clear()

    for block in blocks:
        if block.kind != "heading":
            if waiting:
                current += waiting
                waiting.clear()
            current.append(block)
            continue
        close()
        if waiting and sections and block.level <= waiting[-1].level:
            _give_back(sections, waiting)
        waiting.append(block)
        open_path = [(level, title) for level, title in open_path if level < block.level] + [(block.level, block.title)]
    close()
    if waiting:
        _give_back(sections, waiting)
    return sections


def _give_back(sections: list[_Section], waiting: list[Block]) -> None:
    """Put headings that have no body with the section above them; alone, where there is none."""
    if sections:
        sections[-1] = replace(sections[-1], blocks=(*sections[-1].blocks, *waiting))
    else:
        sections.append(_Section(tuple(block.title for block in waiting if block.title), tuple(waiting)))
    waiting.clear()


class _Page:
    """The cutting of one page: its text, where its lines start, and how many tokens a stretch of it takes."""

    def __init__(self, runbook: Runbook, embedder: Embedder) -> None:
        self.runbook, self.text, self.embedder = runbook, runbook.text, embedder
        self.lines = list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))
        self.special = embedder.count_tokens("")
        self.heads: dict[tuple[str, ...], int] = {}

    def count(self, text: str) -> int:
        """Tokens of `text` inside a longer one."""
        return self.embedder.count_tokens(text) - self.special if text.strip() else 0

    def room(self, path: tuple[str, ...]) -> int:
        """Tokens that are left for text below this heading path."""
        if path not in self.heads:
            head = Passage("", self.runbook.path, path, 1, 1, 0, "")
            self.heads[path] = self.embedder.count_tokens(embedding_text(self.runbook, head))
        return max(min(self.embedder.window, _LONGEST) - self.heads[path], _LEAST_ROOM)

    def cut(self, section: _Section) -> list[_Span]:
        """The stretches of a section that fit the window, in order."""
        room = self.room(section.path)
        spans = [span for block in section.blocks for span in self._split(block, room)]
        leading = {self.lines[block.start] for block in section.blocks if self._introduces(block)}
        return [replace(span, path=section.path) for span in _packed(_tied(spans, leading, room), room)]

    def passages(self, span: _Span) -> Iterator[Passage]:
        """The passage of a stretch, without the blank lines around it; more than one if the sum of tokens misled."""
        raw = self.text[span.start : span.end]
        if not raw.strip():
            return
        first = span.start + len(raw) - len(raw.lstrip())
        start = max(span.start, self.lines[bisect_right(self.lines, first) - 1])
        text = self.text[start : span.start + len(raw.rstrip())]
        passage = Passage(
            id="",
            runbook=self.runbook.path,
            headings=span.path,
            start_line=bisect_right(self.lines, start),
            end_line=bisect_right(self.lines, start + len(text) - 1),
            start=start,
            text=text,
            context=span.context,
        )
        halves = None if self._fits(span, passage) else self._halves(start, start + len(text))
        if halves is None:
            yield passage
        else:
            for half in halves:
                yield from self.passages(_Span(*half, self.count(self.text[slice(*half)]), span.context, span.path))

    def _fits(self, span: _Span, passage: Passage) -> bool:
        """Whether a passage is within the window; counted only where the sum of its parts is near it."""
        if span.tokens < self.room(span.path) * 3 // 4:
            return True
        return self.embedder.count_tokens(embedding_text(self.runbook, passage)) <= self.embedder.window

    def _split(self, block: Block, room: int) -> list[_Span]:
        """A block as one stretch where it fits, else as the stretches of its parts."""
        start, end = self.lines[block.start], min(self.lines[block.end], len(self.text))
        tokens = self.count(self.text[start:end])
        if tokens <= room:
            return [_Span(start, end, tokens)]
        context = self._context(block, room)
        extra = self.count(context)
        if block.children:
            parts = [span for child in block.children for span in self._split(child, room - extra)]
        else:
            parts = list(self._pieces(start, end, room - extra))
        first, *rest = _packed(parts, room - extra)
        if not context:
            return [first, *rest]
        return [first, *(replace(span, tokens=span.tokens + extra, context=context) for span in rest)]

    def _context(self, block: Block, room: int) -> str:
        """What a later part of a cut block needs of its beginning: a table's header rows, a fence's opening line."""
        if block.kind not in ("table", "fence"):
            return ""
        end = block.children[0].end if block.children else block.line + 1
        opening = self.text[self.lines[block.line] : self.lines[end]].strip()
        names = opening.split("\n")[0]
        return next((words for words in (opening, names) if self.count(words) <= room // 3), "")

    def _introduces(self, block: Block) -> bool:
        """Whether a block belongs to what follows it: a heading, or a paragraph that ends in a colon."""
        text = self.text[self.lines[block.start] : self.lines[block.end]]
        return block.kind == "heading" or (block.kind == "paragraph" and text.rstrip().endswith(":"))

    def _pieces(self, start: int, end: int, room: int) -> Iterator[_Span]:
        """Text without structure, cut at its best joints until every piece fits; fine enough to fill passages well."""
        certainly_long = end - start > room * _CERTAINLY_LONG
        tokens = room + 1 if certainly_long else self.count(self.text[start:end])
        fits = tokens <= room
        halves = None
        if tokens > room // 4:
            halves = self._halves(start, end, _JOINTS[:2] if fits else _JOINTS, anywhere=not fits)
        if halves is None:
            yield _Span(start, end, tokens)
            return
        for half in halves:
            yield from self._pieces(*half, room)

    def _halves(
        self, start: int, end: int, joints: Sequence[re.Pattern[str]] = _JOINTS, *, anywhere: bool = True
    ) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Two halves of a stretch, cut at the best joint nearest to the middle; None where it can't be cut so."""
        middle = (start + end) // 2
        near = (max(start, middle - _NEAR), min(end, middle + _NEAR))
        for joint in joints:
            for stretch in (near, (start, end)):
                cuts = [m.end() for m in joint.finditer(self.text, *stretch) if start < m.end() < end]
                if cuts:
                    at = min(cuts, key=lambda cut: abs(cut - middle))
                    return (start, at), (at, end)
        return ((start, middle), (middle, end)) if anywhere and start < middle else None


def _tied(spans: Sequence[_Span], leading: Container[int], room: int) -> list[_Span]:
    """The same stretches; one that starts in `leading` is made one with its follower, where both fit."""
    tied: list[_Span] = []
    for span in reversed(spans):
        if tied and span.start in leading and span.tokens + tied[-1].tokens <= room:
            tied[-1] = replace(span, end=tied[-1].end, tokens=span.tokens + tied[-1].tokens)
        else:
            tied.append(span)
    return tied[::-1]


def _packed(spans: Iterable[_Span], room: int) -> list[_Span]:
    """Neighbouring stretches joined as long as they fit."""
    packed: list[_Span] = []
    for span in spans:
        if packed and packed[-1].tokens + span.tokens <= room:
            packed[-1] = replace(packed[-1], end=span.end, tokens=packed[-1].tokens + span.tokens)
        else:
            packed.append(span)
    return packed


def _identified(runbook: Runbook, passage: Passage) -> Passage:
    """The passage with its id: the same id is the same passage, words, place, headings and all."""
    parts = (passage.runbook, str(passage.start), str(passage.start_line), *passage.headings, "", passage.context)
    digest = sha256("\0".join((*parts, embedding_text(runbook, passage))).encode())
    return replace(passage, id=digest.hexdigest()[:32])
