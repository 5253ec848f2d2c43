"""The search: exact routes, then meaning and words together, over passages that are live and allowed.

Which passages those are is decided before any text is read; every statistic is taken over the allowed ones only.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

import numpy as np

from bot.clock import Clock
from bot.errors import IndexUnavailable
from bot.library.models import Live, Snapshot
from bot.library.names import bare
from bot.library.ports import Embedder, Vectors, VectorStore
from bot.search.calibration import Calibration, Evidence, calibration_for
from bot.search.index import IndexBuilder, WordsIndex
from bot.search.models import Findings, Hit, Query, Scope
from bot.search.ranking import OTHER_MEANING, WordScores, page_scores, score_words, signs_of
from bot.search.routes import Exact, exact_routes
from bot.search.words import Mask, Scores, parted, tokenize

MOST = 4
"""Passages that an answer is made from."""
RANKED = 10
"""Pages that are worth a look."""
_NEAREST = 400
"""Passages and gists that are looked up; all others count as near as the last of them."""
_LEFT_OUT = 500
"""Pieces that may be unwanted for the look-up to do without a filter."""
_NOT_LIVE = 50
"""Of what is looked up without a filter, so much may be of versions that are not live any more."""
_BY_MEANING = 60
_BY_WORDS = 15
"""Pages that are looked at closely: of so many of the nearest pieces, and those with the highest score of each kind."""
_LINES = 4
_WIDER = 0.6
"""A second, wider search goes below the line by this factor."""
_SURE = (0.0, 0.9, 0.97, 0.99)
"""Least chance by `Exact.sureness`: what an alert names itself needs no other sign."""
_BESIDE = 0.5
"""A further page stands beside the best one from this share of its chance on."""
_ALIKE = 0.5
"""Share of words in common from which on two pages of one name are the same thing twice."""
_STEPS = re.compile(r"^\s*(?:\d+[.)]\s|[-*]\s)|^\s*(?:```|~~~|\$ )", re.MULTILINE)


class Search:
    """Finds passages in whatever is live. Blocking: call it in a thread."""

    def __init__(
        self,
        live: Live,
        store: VectorStore,
        embedder: Embedder,
        line: float | None = None,
        *,
        embedder_of: Callable[[Snapshot], Embedder] | None = None,
    ) -> None:
        """`line`: calibrated score below which nothing is found; None takes the embedding model's own.

        `embedder_of` says whose vectors a snapshot's are, where an earlier model's index may still serve.
        """
        self._live, self._store, self._line = live, store, line
        self._embedder_of = embedder_of or (lambda _: embedder)
        self.only: tuple[str, ...] = ()
        """Rank by these signs alone (`bot.search.ranking`): to measure what each is worth. Empty: by all."""
        self._builder = IndexBuilder()
        self._index: WordsIndex | None = None
        self._building = threading.Lock()

    def find(
        self, query: Query, allowed: Collection[str], *, exclude: frozenset[str] = frozenset(), limit: int = MOST
    ) -> Findings:
        """At most `limit` passages of the `allowed` runbooks (paths), none of `exclude` (passage ids).

        Raises IndexUnavailable or RankingError, EmbeddingFailed; a failure is never an empty result.
        """
        clock = Clock()
        with clock.step("words"):
            index = self._index_of(self._live())
            if not index.snapshot.collection:
                raise IndexUnavailable("the index is being built")
            paths = frozenset(allowed)
            readable = np.fromiter((runbook.path in paths for runbook in index.runbooks), bool, len(index.runbooks))
            if not readable.any():
                return Findings((), timings_ms=clock.ms)
            words = score_words(query, index, self._builder, readable[index.page_of], readable)
        embedder = self._embedder_of(index.snapshot)
        calibration = calibration_for(embedder.fingerprint)
        with clock.step("embed"):
            vector = self._vector(embedder, query, words)
        line = (calibration.line if self._line is None else self._line) * (_WIDER if query.wider else 1.0)
        ranked: list[Hit] = []
        scope: Scope = "all"
        for scope, pages in _scopes(query, index, readable):  # noqa: B007  (the last one tried is told)
            ranked = self._ranked(query, vector, calibration, words, index, readable, pages, exclude, clock)
            if ranked and ranked[0].score >= line:
                break
        with clock.step("choose"):
            hits = self._chosen(ranked, line, limit, query, words, index, exclude)
        # Once more, behind everything: whatever went wrong above, nothing else leaves here.
        hits = [hit for hit in hits if hit.runbook.path in paths]
        return Findings(tuple(hits), tuple(ranked), scope, clock.ms)

    def prepare(self) -> None:
        """Build the words index of what is live now, so that no question waits for it. Blocking."""
        self._index_of(self._live())

    def _index_of(self, snapshot: Snapshot) -> WordsIndex:
        with self._building:
            if self._index is None or self._index.snapshot is not snapshot:
                self._index = self._builder.build(snapshot)
            return self._index

    def _vector(self, embedder: Embedder, query: Query, words: WordScores) -> Vectors:
        """One direction for the whole question: its text, its lines, and, as far as words are lacking, other words."""
        lines = [line for line in query.text.split("\n") if len(line.split()) > 2][:_LINES]
        texts = [query.text, *(lines if len(lines) > 1 else ())]
        if words.other_words:
            texts.append(f"{query.text}\n{words.other_words}")
        vectors = embedder.embed(texts, "query")
        whole = vectors[0] if len(lines) < 2 else (vectors[0] + vectors[1 : 1 + len(lines)].mean(0)) / 2
        if words.other_words:
            whole = whole + OTHER_MEANING * words.lacking * vectors[-1]
        return np.asarray(whole, dtype=np.float32)

    def _ranked(
        self,
        query: Query,
        vector: Vectors,
        calibration: Calibration,
        words: WordScores,
        index: WordsIndex,
        readable: Mask,
        pages: Mask,
        exclude: frozenset[str],
        clock: Clock,
    ) -> list[Hit]:
        """The best pages of `pages`, one hit each (its best passage), best first."""
        wanted = pages[index.page_of]
        if exclude:
            wanted[[index.number_of[id] for id in exclude if id in index.number_of]] = False
        if not wanted.any():
            return []
        with clock.step("vectors"):
            near = self._nearest(vector, index.with_gists(wanted), index)
        with clock.step("fuse"):
            usable = np.logical_or.reduceat(wanted, index.starts)
            exact = exact_routes(query, index, self._builder.vocabulary, usable, readable)
            candidates = _candidates(near, words, index, usable, exact)
            similarity = np.full(len(index.ids), min(near.values(), default=-1), dtype=np.float32)
            similarity[list(near)] = list(near.values())
            signs = signs_of(candidates, similarity, words, index, readable, exact)
            scores = page_scores(signs, self.only)
            sure = [0 if self.only else exact.sureness(page) for page in candidates]
            order = sorted(range(len(candidates)), key=lambda i: (-sure[i], -scores[i]))
            hits: list[Hit] = []
            taken: list[int] = []
            for i in order:
                page = candidates[i]
                if any(_alike(index, page, other) for other in taken):
                    continue
                taken.append(page)
                passage = self._best_passages(page, words, similarity, index, query, wanted)[0]
                evidence = self._evidence(page, float(scores[i]), similarity, words, index, query, exact)
                chance = max(calibration.chance(evidence), _SURE[sure[i]])
                if hits:  # the order is the score's, whatever the chance says of each by itself
                    chance = min(chance, hits[-1].score)
                hits.append(Hit(index.passages[passage], index.runbooks[page], chance, exact.route(page)))
                if len(hits) == RANKED:
                    break
        return hits

    def _nearest(self, vector: Vectors, wanted: Mask, index: WordsIndex) -> dict[int, float]:
        """The nearest of the wanted passages and gists, by number."""
        collection, count = index.snapshot.collection, min(_NEAREST, int(wanted.sum()))
        length = float(np.linalg.norm(vector)) or 1.0
        found: list[tuple[str, float]] = []
        unwanted = len(wanted) - int(wanted.sum())
        if unwanted <= _LEFT_OUT:
            # A filter costs most where it lets nearly all through. Instead so many more are looked up (ids and numbers,
            # no text) that the nearest wanted ones are among them wherever those lie that may not be opened.
            found = self._store.query(collection, vector / length, None, count + unwanted + _NOT_LIVE)
            live = {id: near for id, near in found if id in index.number_of}
            found = [(id, near) for id, near in live.items() if wanted[index.number_of[id]]][:count]
        if len(found) < count:
            found = self._store.query(collection, vector / length, index.ids_of(wanted), count)
        return {index.number_of[id]: cosine * length for id, cosine in found if id in index.number_of}

    def _best_passages(
        self, page: int, words: WordScores, similarity: Scores, index: WordsIndex, query: Query, wanted: Mask
    ) -> list[int]:
        """A page's usable passages, best first: those under the alert's own heading, then by nearness and words."""
        numbers = [i for i in index.of_page(page) if wanted[i]]
        name = bare(query.alert_name)
        mixed = words.mixed / words.mass

        def rank(i: int) -> tuple[bool, float]:
            passage = index.passages[i]
            under = bool(name) and name in {bare(heading) for heading in passage.headings}
            # a name that is the page's title says nothing of where in it
            under = under and name != bare(index.gists[page].title)
            return under, float(max(similarity[i], 0) + mixed[i])

        return sorted(numbers, key=rank, reverse=True)

    def _evidence(
        self,
        page: int,
        score: float,
        similarity: Scores,
        words: WordScores,
        index: WordsIndex,
        query: Query,
        exact: Exact,
    ) -> Evidence:
        span = index.of_page(page)
        part = slice(span.start, span.stop)
        return Evidence(
            score=score,
            nearness=float(similarity[: len(index.passages)].max()) / (1 + OTHER_MEANING * words.lacking),
            said=float(words.mixed[part].max()) / words.mass * words.known,
            known=words.known,
            named=self._named(query, page, index),
            exact=exact.sureness(page) > 0,
            passages=words.searched,
        )

    def _named(self, query: Query, page: int, index: WordsIndex) -> float:
        tokens = set(tokenize(parted(query.alert_name)))
        numbers = [self._builder.vocabulary.number(token) for token in tokens]
        said = [n is not None and page in index.pages.of(n)[0] for n in numbers]
        return sum(said) / len(said) if said else 1.0

    def _chosen(
        self,
        ranked: Sequence[Hit],
        line: float,
        limit: int,
        query: Query,
        words: WordScores,
        index: WordsIndex,
        exclude: frozenset[str],
    ) -> list[Hit]:
        """The passages to answer from: the best page's most, and the best of pages that are nearly as likely."""
        if not ranked or ranked[0].score < line:
            return []
        sure = ranked[0].route in ("runbook link", "alert name")
        beside = [
            h
            for h in ranked[1:]
            if h.score >= max(line, _BESIDE * ranked[0].score) and not (sure and h.route != ranked[0].route)
        ]
        first = self._of_best_page(ranked[0], words, index, exclude)
        chosen = [ranked[0], *first[: max(1, limit - 1 - len(beside[:2]))], *beside[:2]]
        chosen += [hit for hit in first if hit not in chosen]
        return chosen[:limit]

    def _of_best_page(self, best: Hit, words: WordScores, index: WordsIndex, exclude: frozenset[str]) -> list[Hit]:
        """The best page's other passages that hold steps: those beneath the same headings first, then by words."""
        mixed = words.mixed
        path = best.passage.headings
        others = [
            (i, p)
            for i in index.of_page(index.page_with(index.number_of[best.passage.id]))
            if (p := index.passages[i]).id not in exclude and p.id != best.passage.id and _STEPS.search(p.text)
        ]
        others.sort(key=lambda each: (_shared(path, each[1].headings), float(mixed[each[0]])), reverse=True)
        return [Hit(p, best.runbook, best.score, best.route) for _, p in others]


def _scopes(query: Query, index: WordsIndex, readable: Mask) -> list[tuple[Scope, Mask]]:
    """Where to look, one after the other: the service's pages, the general ones, all."""
    if not query.service or query.wider:
        return [("all", readable)]
    own = readable & np.array([query.service in runbook.services for runbook in index.runbooks], dtype=bool)
    general = readable & np.array([not runbook.services for runbook in index.runbooks], dtype=bool)
    return [("service", own), ("general", general), ("all", readable)]


def _candidates(
    near: Mapping[int, float], words: WordScores, index: WordsIndex, usable: Mask, exact: Exact
) -> list[int]:
    """The pages worth scoring: pointed at, near, or with the words. All of them where there are few."""
    nearest = islice(near, _BY_MEANING)
    found = {*exact.links, *exact.names, *exact.identifiers, *(index.page_with(i) for i in nearest)}
    for scores in (
        index.best_of_pages(words.passages),
        index.best_of_pages(words.mixed),
        index.best_of_pages(words.pairs),
        index.best_of_pages(words.others),
        words.purposes,
        words.pages,
    ):
        scores = np.where(usable, scores, 0)
        least = np.partition(scores, -_BY_WORDS)[-_BY_WORDS] if len(scores) > _BY_WORDS else 0
        found.update(np.flatnonzero(scores >= max(least, 1e-6))[: 2 * _BY_WORDS].tolist())
    return sorted(page for page in found if usable[page])


def _alike(index: WordsIndex, one: int, other: int) -> bool:
    """Whether two pages are one file, or the same thing twice. Pages of other names are not: siblings look alike."""
    if index.runbooks[one] is index.runbooks[other]:
        return True
    if bare(index.gists[one].title) != bare(index.gists[other].title):
        return False
    a, b = index.bags[one], index.bags[other]
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared / max(len(a) + len(b) - shared, 1) >= _ALIKE


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many headings two passages stand under together."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
