"""The search: exact routes, then meaning and words together, over passages that are live and allowed.

Which passages those are is decided before any text is read; every statistic is taken over the allowed ones only.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import numpy as np

from bot.errors import IndexUnavailable, RankingError
from bot.library.models import Live, Passage, Runbook, Snapshot
from bot.library.ports import Embedder, VectorStore
from bot.search.models import Findings, Hit, Query, Scope
from bot.search.words import Bag, Postings, Vocabulary, tokenize

MOST = 4
_CANDIDATES = 40
_EXACT = 0.97
_LINE = 0.5


@dataclass(frozen=True)
class _Words:
    """The words index of one snapshot."""

    snapshot: Snapshot
    passages: tuple[Passage, ...]
    postings: Postings


class Search:
    """Finds passages in whatever is live. Blocking: call it in a thread."""

    def __init__(self, live: Live, store: VectorStore, embedder: Embedder, line: float | None = None) -> None:
        self._live, self._store, self._embedder = live, store, embedder
        self.line = _LINE if line is None else line
        self._vocabulary = Vocabulary()
        self._bags: dict[str, Bag] = {}
        self._words: _Words | None = None

    def find(
        self, query: Query, allowed: Collection[str], *, exclude: frozenset[str] = frozenset(), limit: int = MOST
    ) -> Findings:
        """At most `limit` passages of the `allowed` runbooks (paths), none of `exclude` (passage ids).

        Raises IndexUnavailable or RankingError; a failure is never an empty result.
        """
        words = self._index(self._live())
        snapshot = words.snapshot
        if not snapshot.collection:
            raise IndexUnavailable("the index is being built")
        clock = time.perf_counter()
        try:
            vector = self._embedder.embed([query.text], "query")[0]
        except RankingError:
            raise
        times = {"embed": (time.perf_counter() - clock) * 1000}
        readable = {path: snapshot.runbooks[path] for path in allowed if path in snapshot.runbooks}
        scopes: list[tuple[Scope, set[str]]] = [("all", set(readable))]
        if query.service and not query.wider:
            own = {p for p, r in readable.items() if query.service in r.services}
            general = {p for p, r in readable.items() if not r.services}
            scopes = [("service", own), ("general", general), ("all", set(readable))]
        ranked: list[Hit] = []
        scope: Scope = "all"
        for scope, paths in scopes:  # noqa: B007  (the last one tried is told)
            ranked = self._ranked(query, vector, words, readable, paths, exclude)
            if ranked and ranked[0].score >= self.line - 0.1 * query.wider:
                break
        times["rank"] = (time.perf_counter() - clock) * 1000 - times["embed"]
        line = self.line - 0.1 * query.wider
        hits = [hit for hit in ranked if hit.score >= line and hit.runbook.path in allowed]
        return Findings(tuple(hits[:limit]), tuple(_one_a_page(ranked)), scope, times)

    def _ranked(
        self,
        query: Query,
        vector: np.ndarray,
        words: _Words,
        readable: dict[str, Runbook],
        paths: set[str],
        exclude: frozenset[str],
    ) -> list[Hit]:
        allowed = np.array([p.runbook in readable for p in words.passages], dtype=bool)
        wanted = [i for i, p in enumerate(words.passages) if p.runbook in paths and p.id not in exclude]
        if not wanted:
            return []
        ids = [words.passages[i].id for i in wanted]
        near = dict(self._store.query(words.snapshot.collection, vector, ids, min(len(ids), _CANDIDATES)))
        asked = {n: 1.0 for t in Counter(tokenize(query.text)) if (n := self._vocabulary.number(t)) is not None}
        bm25, mass = words.postings.bm25(asked, allowed)
        exact = self._exact(query, readable)
        floor = min(near.values(), default=0.0)
        found = []
        for i in wanted:
            passage = words.passages[i]
            score = 0.5 * max(near.get(passage.id, floor), 0.0) + 0.5 * min(1.0, float(bm25[i]) / (2.2 * mass or 1.0))
            route = "meaning and words"
            calibrated = 1 / (1 + np.exp(-14 * (score - 0.33)))
            if passage.runbook in exact:
                calibrated, route = _EXACT + 0.03 * score, exact[passage.runbook]
            found.append(Hit(passage, readable[passage.runbook], float(calibrated), route))
        found.sort(key=lambda hit: -hit.score)
        return found[:_CANDIDATES]

    @staticmethod
    def _exact(query: Query, readable: dict[str, Runbook]) -> dict[str, str]:
        routes = {}
        link = unquote(urlsplit(query.runbook_url).path).strip("/") if query.runbook_url else ""
        name = _bare(query.alert_name)
        for path, runbook in readable.items():
            stem = path.removesuffix(".md")
            if link and (link.endswith((path, stem)) or link.rsplit("/", 1)[-1] == stem.rsplit("/", 1)[-1]):
                routes[path] = "runbook link"
            elif name and name in {_bare(n) for n in (*runbook.alerts, runbook.title, stem.rsplit("/", 1)[-1])}:
                routes[path] = "alert name"
        return routes

    def _index(self, snapshot: Snapshot) -> _Words:
        if self._words is None or self._words.snapshot is not snapshot:
            passages = tuple(snapshot.passages.values())
            bags = [self._bag(passage, snapshot.runbooks[passage.runbook]) for passage in passages]
            self._words = _Words(snapshot, passages, Postings(bags, len(self._vocabulary)))
        return self._words

    def _bag(self, passage: Passage, runbook: Runbook) -> Bag:
        if passage.id not in self._bags:
            text = "\n".join((runbook.title, *passage.headings, passage.context, passage.text))
            self._bags[passage.id] = self._vocabulary.bag(tokenize(text))
        return self._bags[passage.id]


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _one_a_page(ranked: Sequence[Hit]) -> list[Hit]:
    first: dict[str, Hit] = {}
    for hit in ranked:
        first.setdefault(hit.runbook.path, hit)
    return list(first.values())
