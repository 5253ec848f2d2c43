"""Gists: what a page is for, in its title and a few of its own sentences, to be found by beside its passages.

An alert and its runbook meet in what the page says of itself ("Meaning", "Impact", the opening), and rarely in its
steps. A passage's vector is that of everything below one heading; a gist's is that of the purpose alone, over all
the headings that tell it.

A page has one gist. A collection, whose sections are named as alerts are, is as many runbooks in one file: each such
section has a gist of its own, with the passages below it, and so has what is left of the page.

Gists find pages; they are never quoted. They follow from the page, so nothing but the index keeps them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from bot.library.names import bare, clip, file_stem

if TYPE_CHECKING:  # the models import this module
    from bot.library.models import Passage, Runbook

GISTS_VERSION = "1"
"""Part of the collection's name: raise it when the same page would get other gists."""

_SENTENCES = 5
_TITLE_BYTES = 100
_TEXT_BYTES = 600
"""Of UTF-8. Of English about 130 tokens; what exceeds a small window is cut off by the embedder, and not missed."""
_COLLECTED = 3
"""Sections named as alerts from which on a page is a collection, where they hold half of its passages."""

_PURPOSE = re.compile(
    r"meaning|impact|summary|description|overview|symptom|\babout\b|\bwhat\b|background|introduction|purpose|explanation",
    re.IGNORECASE,
)
"""Headings under which a page says what it is for, and not what to do: there an alert's own words stand."""
_IDENTIFIER = re.compile(r"[A-Za-z]+[a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[a-z0-9]+(?:_[a-z0-9]+)+")
_ENDS = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*(?:[#>|*+-]|\d+[.)]\s|```|~~~|\$ ))")
_WORD = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class Gist:
    """What a page, or a collection's section, is for."""

    id: str
    runbook: str
    title: str
    passages: tuple[str, ...]
    """Ids of the passages that it speaks for, in the page's order; never none."""
    start: int
    start_line: int
    text: str


def is_identifier(name: str) -> bool:
    """Whether a title or heading is written as alerts are named: `KubePodCrashLooping`, `disk_full`."""
    return bool(_IDENTIFIER.fullmatch(name))


def gists_of(runbook: Runbook, passages: Sequence[Passage]) -> Iterator[Gist]:
    """The gists of a page, out of all its passages in their order; together they have each passage once."""
    sections: dict[str, list[Passage]] = {}
    for passage in passages:
        sections.setdefault(_alert_above(passage, runbook), []).append(passage)
    rest = sections.pop("", [])
    if len(sections) < _COLLECTED or len(rest) > len(passages) / 2:
        rest, sections = list(passages), {}
    if rest:
        yield _gist(runbook, runbook.title, rest, [p for p in rest if p is rest[0] or _tells_purpose(p, runbook)])
    for name, below in sections.items():
        yield _gist(runbook, name, below, below)


def _alert_above(passage: Passage, runbook: Runbook) -> str:
    """The heading above a passage that is named as an alert, and not as the page itself; empty if there is none."""
    own = (bare(runbook.title), bare(file_stem(runbook.path)))
    return next((heading for heading in passage.headings if is_identifier(heading) and bare(heading) not in own), "")


def _tells_purpose(passage: Passage, runbook: Runbook) -> bool:
    last = passage.headings[-1] if passage.headings else ""
    return bool(last != runbook.title and _PURPOSE.search(last)) or bare(last) == bare(file_stem(runbook.path))


def _gist(runbook: Runbook, title: str, passages: Sequence[Passage], told: Sequence[Passage]) -> Gist:
    sentences: list[str] = []
    for passage in told:
        if len(sentences) < _SENTENCES:
            sentences += _sentences(passage.text)
    text = f"{clip(title, _TITLE_BYTES)}. {clip(' '.join(sentences[:_SENTENCES]), _TEXT_BYTES)}".strip()
    first, ids = passages[0], tuple(passage.id for passage in passages)
    id = sha256("\0".join(("gist", runbook.path, first.id, text)).encode()).hexdigest()[:32]
    return Gist(id, runbook.path, title, ids, first.start, first.start_line, text)


def _sentences(text: str) -> Iterator[str]:
    """The sentences and list items of a passage, without its headings and what is no sentence."""
    for part in _ENDS.split(text):
        sentence = " ".join(part.split())
        if not sentence.startswith("#") and len(_WORD.findall(sentence)) > 2:
            yield sentence
