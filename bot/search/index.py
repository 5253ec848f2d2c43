"""What the words half of the search holds of one snapshot: passages, pages and titles as bags of words.

Built anew for every snapshot, from bags that are kept a passage: after one edited page only its own words are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bot.library.gists import Gist, is_identifier
from bot.library.models import Passage, Runbook, Snapshot
from bot.library.names import bare, file_stem
from bot.search.words import Bag, Postings, Vocabulary, merged, parted, spoken, tokenize

_STEPS = re.compile(
    r"diagnos|mitigat|meaning|impact|symptom|troubleshoot|resol|remed|what to do|how to fix|investigat|check|recover",
    re.IGNORECASE,
)
_KIND = re.compile(r"alert|runbook|playbook|incident", re.IGNORECASE)


@dataclass(frozen=True)
class WordsIndex:
    """One snapshot, ready to be searched for words.

    A page is here what a gist speaks for: a collection's sections count as pages of their own, and `runbooks` names
    their file once for each. Passages stand page by page, in the pages' order.
    """

    snapshot: Snapshot
    runbooks: tuple[Runbook, ...]
    passages: tuple[Passage, ...]
    gists: tuple[Gist, ...]
    """What each page is for."""
    names: tuple[tuple[str, ...], ...]
    """Each page's title, file name and alerts; a file's go to its first page, the others have but their title."""
    starts: NDArray[np.int64]
    """The number of each page's first passage."""
    page_of: NDArray[np.int64]
    words: Postings
    pairs: Postings
    pages: Postings
    purposes: Postings
    """The words of the gists."""
    bags: tuple[NDArray[np.int64], ...]
    """The words of each page."""
    titles: tuple[NDArray[np.int64], ...]
    """The single words of each page's title and file name: of an identifier its parts."""
    likely: NDArray[np.float32]
    """0 to 1: how much a page looks like one for alerts. Matters where runbooks stand among other documents."""

    @cached_property
    def pages_named(self) -> Mapping[str, tuple[int, ...]]:
        """The pages that bear a bare name as title or file, or claim it as an alert."""
        return _by_name(self.names)

    @cached_property
    def pages_headed(self) -> Mapping[str, tuple[int, ...]]:
        """The pages that have a bare name as a heading."""
        files = Counter(runbook.path for runbook in self.runbooks)
        return _by_name(
            [text for _, text, _ in runbook.headings]
            if files[runbook.path] == 1
            else [heading for number in self.of_page(page) for heading in self.passages[number].headings]
            for page, runbook in enumerate(self.runbooks)
        )

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the passages, by number, and after them those of the gists, by their page."""
        return (*(passage.id for passage in self.passages), *(gist.id for gist in self.gists))

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The numbers by id."""
        return {id: number for number, id in enumerate(self.ids)}

    @cached_property
    def _chosen(self) -> dict[bytes, list[str]]:
        return {}

    def ids_of(self, wanted: NDArray[np.bool_]) -> list[str]:
        """The ids of these pieces. The few sets that questions keep asking for (a readership, a service) are kept."""
        key = np.packbits(wanted).tobytes()
        if key not in self._chosen:
            if len(self._chosen) > 20:
                self._chosen.clear()
            self._chosen[key] = [self.ids[number] for number in np.flatnonzero(wanted).tolist()]
        return self._chosen[key]

    def with_gists(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """These passages, and the gists of pages whose first passage is among them."""
        return np.concatenate([wanted, wanted[self.starts]])

    def page_with(self, number: int) -> int:
        """The page of a passage or gist."""
        return int(self.page_of[number]) if number < len(self.passages) else number - len(self.passages)

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
        self._purposes: dict[str, Bag] = {}

    def build(self, snapshot: Snapshot) -> WordsIndex:
        """The index of `snapshot`. Pages without a passage are left out."""
        gists = tuple(snapshot.gists.values())
        runbooks = tuple(snapshot.runbooks[gist.runbook] for gist in gists)
        groups = [[snapshot.passages[id] for id in gist.passages] for gist in gists]
        texts: dict[str, tuple[Bag, Bag]] = {}
        heads: dict[tuple[str, ...], Bag] = {}
        wholes: dict[tuple[str, ...], Bag] = {}

        def head(*words: str) -> Bag:
            if words not in heads:
                heads[words] = self._heads.get(words) or self.vocabulary.bag(tokenize("\n".join(words)))
            return heads[words]

        words, pairs, pages, names = [], [], [], list[tuple[str, ...]]()
        before = None
        for gist, runbook, group in zip(gists, runbooks, groups, strict=True):
            names.append((gist.title, *(() if runbook is before else (file_stem(runbook.path), *runbook.alerts))))
            before = runbook
            for p in group:
                texts[p.id] = self._texts.get(p.id) or self._read(p)
            own = [texts[p.id][0] for p in group]
            pairs += [texts[p.id][1] for p in group]
            for p in group:
                key = (p.id, runbook.title, *p.headings)
                wholes[key] = self._wholes.get(key) or merged((texts[p.id][0], head(runbook.title, *p.headings)))
                words.append(wholes[key])
            pages.append(merged((head(*names[-1]), *own)))
        purposes = {gist.id: self._purposes.get(gist.id) or self.vocabulary.bag(tokenize(gist.text)) for gist in gists}
        self._texts, self._heads, self._wholes, self._purposes = texts, heads, wholes, purposes
        sizes = [len(group) for group in groups]
        return WordsIndex(
            snapshot=snapshot,
            runbooks=runbooks,
            passages=tuple(passage for group in groups for passage in group),
            gists=gists,
            names=tuple(names),
            starts=np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, np.int64),
            page_of=np.repeat(np.arange(len(sizes)), sizes),
            words=Postings(words),
            pairs=Postings(pairs),
            pages=Postings(pages),
            purposes=Postings([purposes[gist.id] for gist in gists]),
            bags=tuple(numbers for numbers, _ in pages),
            titles=tuple(self.vocabulary.bag(dict.fromkeys(tokenize(parted(" ".join(own[:2])))))[0] for own in names),
            likely=np.array([_likely(r, gist) for r, gist in zip(runbooks, gists, strict=True)], np.float32),
        )

    def _read(self, passage: Passage) -> tuple[Bag, Bag]:
        text = f"{passage.context}\n{passage.text}"
        return self.vocabulary.bag(tokenize(text)), self.vocabulary.pairs(spoken(text))


def _by_name(names: Iterable[Iterable[str]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, dict[int, None]] = {}
    for page, own in enumerate(names):
        for name in own:
            found.setdefault(bare(name), {})[page] = None
    return {name: tuple(pages) for name, pages in found.items() if name}


def _likely(runbook: Runbook, gist: Gist) -> float:
    signs = (
        bool(_KIND.search(runbook.path)),
        bool(runbook.alerts) or is_identifier(gist.title) or is_identifier(file_stem(runbook.path)),
        any(_STEPS.search(text) for _, text, _ in runbook.headings),
    )
    return sum(signs) / len(signs)
