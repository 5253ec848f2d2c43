"""What the words half of the search holds of one snapshot: passages, pages and titles as bags of words.

Built anew for every snapshot, from bags that are kept a passage: after one edited page only its own words are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bot.library.models import Passage, Runbook, Snapshot
from bot.search.words import Bag, Postings, Vocabulary, merged, spoken, tokenize

_ABOUT = re.compile(
    r"meaning|impact|summary|description|overview|symptom|\babout\b|\bwhat\b|background|introduction|purpose|explanation",
    re.IGNORECASE,
)
"""Headings under which a page says what it is for, and not what to do: there an alert's own words stand."""
_STEPS = re.compile(
    r"diagnos|mitigat|meaning|impact|symptom|troubleshoot|resol|remed|what to do|how to fix|investigat|check|recover",
    re.IGNORECASE,
)
_KIND = re.compile(r"alert|runbook|playbook|incident", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z]+[a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[a-z0-9]+(?:_[a-z0-9]+)+")


def bare(name: str) -> str:
    """A name reduced to its letters and digits: how an alert's name, a title and a file's name are compared."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def file_stem(path: str) -> str:
    """`redis` of `alerts/redis.html.md`."""
    return path.rsplit("/", 1)[-1].split(".", 1)[0]


@dataclass(frozen=True)
class WordsIndex:
    """One snapshot, ready to be searched for words. Passages stand page by page, in the pages' order."""

    snapshot: Snapshot
    runbooks: tuple[Runbook, ...]
    passages: tuple[Passage, ...]
    starts: NDArray[np.int64]
    """The number of each page's first passage."""
    page_of: NDArray[np.int64]
    about: NDArray[np.bool_]
    """Of passages that say what their page is for."""
    words: Postings
    pairs: Postings
    pages: Postings
    bags: tuple[NDArray[np.int64], ...]
    """The words of each page."""
    titles: tuple[NDArray[np.int64], ...]
    """The words of each page's title and file name."""
    likely: NDArray[np.float32]
    """0 to 1: how much a page looks like one for alerts. Matters where runbooks stand among other documents."""

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each page, by its path."""
        return {runbook.path: i for i, runbook in enumerate(self.runbooks)}

    @cached_property
    def names(self) -> Mapping[str, tuple[int, ...]]:
        """The pages that bear a bare name as title or file, or claim it as an alert."""
        return _by_name((r.title, file_stem(r.path), *r.alerts) for r in self.runbooks)

    @cached_property
    def headings(self) -> Mapping[str, tuple[int, ...]]:
        """The pages that have a bare name as a heading."""
        return _by_name([text for _, text, _ in r.headings] for r in self.runbooks)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The passages' ids, by number."""
        return tuple(passage.id for passage in self.passages)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The passages' numbers, by id."""
        return {id: number for number, id in enumerate(self.ids)}

    @cached_property
    def _chosen(self) -> dict[bytes, list[str]]:
        return {}

    def ids_of(self, wanted: NDArray[np.bool_]) -> list[str]:
        """The ids of these passages. The few sets that questions keep asking for (a readership, a service) are kept."""
        key = np.packbits(wanted).tobytes()
        if key not in self._chosen:
            if len(self._chosen) > 20:
                self._chosen.clear()
            self._chosen[key] = [self.ids[number] for number in np.flatnonzero(wanted).tolist()]
        return self._chosen[key]

    def best_of_pages(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The highest of each page's passages."""
        best: NDArray[np.float32] = np.maximum.reduceat(scores, self.starts)
        return best

    def of_page(self, page: int) -> range:
        """The numbers of a page's passages."""
        end = self.starts[page + 1] if page + 1 < len(self.starts) else len(self.passages)
        return range(int(self.starts[page]), int(end))


class IndexBuilder:
    """Builds the index of each snapshot, keeping the bags of what stays."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self._texts: dict[str, tuple[Bag, Bag]] = {}
        self._heads: dict[tuple[str, ...], Bag] = {}
        self._wholes: dict[tuple[str, ...], Bag] = {}

    def build(self, snapshot: Snapshot) -> WordsIndex:
        """The index of `snapshot`. Pages without a passage are left out."""
        runbooks = tuple(r for path, r in snapshot.runbooks.items() if snapshot.passages_of[path])
        groups = [snapshot.passages_of[r.path] for r in runbooks]
        passages = tuple(passage for group in groups for passage in group)
        sizes = [len(group) for group in groups]
        texts: dict[str, tuple[Bag, Bag]] = {}
        heads: dict[tuple[str, ...], Bag] = {}
        wholes: dict[tuple[str, ...], Bag] = {}

        def head(*words: str) -> Bag:
            if words not in heads:
                heads[words] = self._heads.get(words) or self.vocabulary.bag(tokenize("\n".join(words)))
            return heads[words]

        titles = [head(r.title, file_stem(r.path), *r.alerts) for r in runbooks]
        words, pairs, pages = [], [], []
        for runbook, group, title in zip(runbooks, groups, titles, strict=True):
            for p in group:
                texts[p.id] = self._texts.get(p.id) or self._read(p)
            own = [texts[p.id][0] for p in group]
            pairs += [texts[p.id][1] for p in group]
            for p in group:
                key = (p.id, runbook.title, *p.headings)
                wholes[key] = self._wholes.get(key) or merged((texts[p.id][0], head(runbook.title, *p.headings)))
                words.append(wholes[key])
            pages.append(merged((title, *own)))
        self._texts, self._heads, self._wholes = texts, heads, wholes
        starts = np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, np.int64)
        return WordsIndex(
            snapshot=snapshot,
            runbooks=runbooks,
            passages=passages,
            starts=starts,
            page_of=np.repeat(np.arange(len(runbooks)), sizes),
            about=np.array(
                [_is_about(p, r, p is group[0]) for r, group in zip(runbooks, groups, strict=True) for p in group], bool
            ),
            words=Postings(words),
            pairs=Postings(pairs),
            pages=Postings(pages),
            bags=tuple(numbers for numbers, _ in pages),
            titles=tuple(self._plain(r) for r in runbooks),
            likely=np.array([_likely(r) for r in runbooks], np.float32),
        )

    def _read(self, passage: Passage) -> tuple[Bag, Bag]:
        text = f"{passage.context}\n{passage.text}"
        return self.vocabulary.bag(tokenize(text)), self.vocabulary.pairs(spoken(text))

    def _plain(self, runbook: Runbook) -> NDArray[np.int64]:
        """The single words of title and file name: an identifier's parts without what they make together."""
        spaced = re.sub(
            r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[-_.]", " ", f"{runbook.title} {file_stem(runbook.path)}"
        )
        return self.vocabulary.bag(dict.fromkeys(tokenize(spaced.lower())))[0]


def _by_name(names: Iterable[Iterable[str]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, dict[int, None]] = {}
    for page, own in enumerate(names):
        for name in own:
            found.setdefault(bare(name), {})[page] = None
    return {name: tuple(pages) for name, pages in found.items() if name}


def _is_about(passage: Passage, runbook: Runbook, first: bool) -> bool:
    last = passage.headings[-1] if passage.headings else ""
    return first or bool(last != runbook.title and _ABOUT.search(last)) or bare(last) == bare(file_stem(runbook.path))


def _likely(runbook: Runbook) -> float:
    signs = (
        bool(_KIND.search(runbook.path)),
        bool(runbook.alerts) or bool(_IDENTIFIER.fullmatch(runbook.title)),
        any(_STEPS.search(text) for _, text, _ in runbook.headings),
    )
    return sum(signs) / len(signs)
