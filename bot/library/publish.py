"""Publishing: what the runbook folder says becomes what is live.

The order is the whole point. Passages are embedded (what was embedded is kept as it comes), then written beside the
live ones, then looked at, and only then the manifest switches, in one transaction. What nobody needs any more is
forgotten last. So a crash at any point leaves the old state or the new one, and a failure publishes nothing.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any

import numpy as np
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential
from tenacity.wait import wait_base

from bot.errors import (
    EmbeddingFailed,
    EmbeddingRefused,
    EmptyLibrary,
    IndexDamaged,
    IndexUnavailable,
    RunbookBotError,
)
from bot.library.gists import GISTS_VERSION, Gist
from bot.library.load import Known, last_good
from bot.library.models import Catalogue, Library, Passage, Refusal, Runbook, Snapshot
from bot.library.passages import CHUNKING_VERSION, cut, embedding_text
from bot.library.ports import Embedder, Manifest, VectorCache, Vectors, VectorStore

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Told what is being done ("reading" and "cutting" pages, "indexing" passages), how many are done, and of how many."""

Load = Callable[[Known, Callable[[int, int], None] | None], Library]
"""Reads the folder: with what is known already, and with whom to tell how far it is."""

_Texts = Mapping[str, tuple[str, Passage | Gist]]
"""By its hash, what is to be embedded, and a passage or gist that it stands for."""

_AT_ONCE = 512
"""Passages that are embedded, then written, before the next ones."""
_TEXTS_A_CALL = 64
_TRIES = 3
_WAIT = wait_random_exponential(multiplier=1, max=20)
"""Seconds between the tries of one call. The endpoint's embedder has tried again by itself before, for a while."""
_CACHE_SLACK = 10_000
"""Vectors of texts that are not live which the cache may hold before it is cleared: edits are often undone."""


@dataclass(frozen=True)
class SyncReport:
    """What one sync did."""

    runbooks: int
    """Live pages."""
    passages: int
    """Live passages."""
    embedded: int
    """Passages sent to the embedding model."""
    gists: int
    """Gists (`bot.library.gists`) sent to the embedding model beside them."""
    unchanged: int
    """Live passages that needed no embedding: they were live already, or their text had been embedded before."""
    removed: int
    """Passages that were live before and are no longer: of pages that went, moved or were edited."""
    refused: tuple[Refusal, ...]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The contract of `sync --json`."""
        return asdict(self) | {
            "refused": [{"path": r.path, "line": r.line, "reason": r.reason, "fix": r.fix} for r in self.refused],
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        return (
            f"{self.runbooks} runbooks, {self.passages} passages: {self.embedded} embedded (and {self.gists} gists), "
            f"{self.unchanged} unchanged, {self.removed} removed, {len(self.refused)} pages refused, "
            f"in {self.seconds:.1f} s"
        )


class Publisher:
    """Owns what is live. `live` is read by every question and never blocks; `sync` runs in a thread, one at a time."""

    def __init__(
        self,
        *,
        load: Load,
        embedder: Embedder,
        store: VectorStore,
        manifest: Manifest,
        vectors: VectorCache,
        cut: Callable[[Runbook, Embedder], Sequence[Passage]] = cut,
        chunking: str = CHUNKING_VERSION,
        closed: Callable[[Runbook], bool] = lambda _: False,
        earlier: Callable[[str], Embedder | None] = lambda _: None,
        wait: wait_base = _WAIT,
    ) -> None:
        """`load` reads the folder; `cut` makes the passages, by the rules named `chunking`.

        `closed` says of a page that nobody may read it: it is not even embedded. `earlier` gives the embedder with
        a fingerprint, if it can still be had: with it the old index serves until the new one is complete; whoever
        searches must then ask `embedder_of`. `wait`: between tries of a call.
        """
        self._load, self._cut, self._chunking, self._closed = load, cut, chunking, closed
        self._embedder, self._store, self._manifest, self._cache = embedder, store, manifest, vectors
        self._wait, self._earlier = wait, earlier
        self._embedders = {embedder.fingerprint: embedder}
        self._live = Snapshot()
        self._leftover: set[str] = set()
        """Ids of the live collection that are not live: they stay for questions that are still on their way."""
        self._syncing = threading.Lock()
        self.behind = False
        """The last sync failed: what is live may be older than the folder, and it is worth trying again."""

    def live(self) -> Snapshot:
        """What is live now; its `collection` is empty where it can't be searched with an embedder that is there."""
        return self._live

    def embedder_of(self, live: Snapshot) -> Embedder:
        """The embedder whose vectors these are. Raises IndexUnavailable where there is none."""
        if found := self._embedder_named(live.embedder):
            return found
        raise IndexUnavailable("the index is being built anew for another embedding model")

    def open(self) -> Snapshot:
        """Serve what was published last; a damaged index is built anew from the vector cache.

        Raises IndexUnavailable, RecordsUnavailable, and EmbeddingFailed where a rebuild needs what the cache lost.
        """
        with self._syncing, self._manifest.exclusive():
            published = self._manifest.read()
            self._live = replace(published, collection="")
            current = published.embedder == self._fingerprint
            if published.collection and not current:
                serves = "this one serves" if self._embedder_named(published.embedder) else "nothing can be searched"
                log.warning(
                    "the index was built with %s, and the embedding model is %s now: %s until the next sync is through",
                    published.embedder,
                    self._fingerprint,
                    serves,
                )
            try:
                self._drop_others(published.collection)
                if published.collection and _has_our_gists(published.embedder):
                    self._store.check(published.collection, published.pieces.keys())
                    self._serve(published)
                if published.collection and current:
                    self._leftover = self._store.ids(published.collection) - published.pieces.keys()
                    self._sweep()
            except IndexDamaged as damage:
                self._abandon(damage)
                if published.collection and current:
                    self._publish(published.runbooks, published.passages, published.catalogue)
            return self._live

    def tend(self) -> Snapshot:
        """Serve what another process has published since, and build a damaged index anew. Quick where all is well.

        Raises IndexUnavailable, RecordsUnavailable, EmbeddingFailed; what is live stays live then.
        """
        if not self._syncing.acquire(blocking=False):
            return self._live  # a sync sees to the same
        try:
            self._catch_up()
            try:
                self._look()
            except IndexDamaged as damage:
                with self._manifest.exclusive():
                    if not self._catch_up():  # unless another process was quicker
                        live = self._live
                        self._abandon(damage)
                        if live.embedder == self._fingerprint:
                            self._publish(live.runbooks, live.passages, live.catalogue)
        finally:
            self._syncing.release()
        return self._live

    def sync(self, progress: Progress | None = None, *, allow_empty: bool = False) -> SyncReport:
        """Bring the index up to date with the folder, and publish.

        Raises EmptyLibrary (nothing is touched, unless `allow_empty`), EmbeddingFailed, IndexUnavailable,
        RecordsUnavailable; what is live stays live then.
        """
        with self._syncing:
            self.behind = True
            with self._manifest.exclusive():
                report = self._sync(progress, allow_empty)
            self.behind = False
        log.info("index: %s", report)
        return report

    def close(self) -> None:
        """Forget what nobody needs any more, and let go of the store."""
        with self._syncing:
            try:
                if self._leftover:
                    with self._manifest.exclusive():
                        self._sweep()
            except RunbookBotError as error:
                log.warning("passages that are not live any more are forgotten at the next start: %s", error)
            self._store.close()

    def _sync(self, progress: Progress | None, allow_empty: bool) -> SyncReport:
        started = monotonic()
        self._catch_up()
        library = self._read_folder(progress, allow_empty)
        pages = {page.path: page for page in self._with_last_good(library) if not self._closed(page)}
        if not pages and not allow_empty:
            raise EmptyLibrary("every page is closed by the access policy (audience `nobody`)")
        passages = self._cut_all(pages, progress)
        before = self._live.passages.keys()
        try:
            self._sweep()
            self._look()
            asked = self._publish(pages, passages, library.catalogue, progress)
        except IndexDamaged as damage:
            self._abandon(damage)
            asked = self._publish(pages, passages, library.catalogue, progress)
        gists = sum(isinstance(piece, Gist) for piece in asked)
        embedded = len(asked) - gists
        return SyncReport(
            runbooks=len(pages),
            passages=len(passages),
            embedded=embedded,
            gists=gists,
            unchanged=len(passages) - embedded,
            removed=len(before - passages.keys()),
            refused=library.refusals,
            seconds=monotonic() - started,
        )

    # --- reading ---------------------------------------------------------------------------------------------

    def _read_folder(self, progress: Progress | None, allow_empty: bool) -> Library:
        live = self._live.runbooks

        def known(path: str, source: str) -> Runbook | None:
            page = live.get(path)
            return page if page and page.source == source and not page.stale else None

        try:
            return self._load(known, partial(progress, "reading") if progress else None)
        except EmptyLibrary:
            if not allow_empty:
                raise
            return Library(())

    def _with_last_good(self, library: Library) -> list[Runbook]:
        """The pages that were read, and the last good versions of those that are broken now."""
        pages = list(library.runbooks)
        for refusal in library.refusals:
            if good := self._live.runbooks.get(refusal.path):
                kept = last_good(good, refusal)
                log.warning(
                    "%s:%s: %s; %s", refusal.path, refusal.line, refusal.reason,
                    "its last good version stays" if kept else "it is closed, as who may read it is not sure",
                )  # fmt: skip
                pages += [kept] if kept else []
        return pages

    def _cut_all(self, pages: Mapping[str, Runbook], progress: Progress | None) -> dict[str, Passage]:
        live, same_rules = self._live, self._live.embedder == self._fingerprint
        passages: dict[str, Passage] = {}
        for done, (path, page) in enumerate(pages.items(), start=1):
            if progress:
                progress("cutting", done, len(pages))
            old = live.runbooks.get(path)
            same = same_rules and old and _cut_from(old) == _cut_from(page)
            for passage in live.passages_of[path] if same else self._cut(page, self._embedder):
                passages[passage.id] = passage
        return passages

    # --- writing ---------------------------------------------------------------------------------------------

    @property
    def _fingerprint(self) -> str:
        return f"{self._embedder.fingerprint}/{self._chunking}.{GISTS_VERSION}"

    @property
    def _ours(self) -> str:
        """How the names of our collections begin."""
        return f"runbooks-{self._manifest.namespace}-"

    def _embedder_named(self, fingerprint: str) -> Embedder | None:
        """By `Snapshot.embedder`; None also where it names other rules for gists, for those are not in the manifest.

        Other rules for passages make no difference here: the manifest says which passages the collection has.
        """
        if not _has_our_gists(fingerprint):
            return None
        name = fingerprint.rpartition("/")[0]
        if name not in self._embedders and (found := self._earlier(name)):
            self._embedders[name] = found
        return self._embedders.get(name)

    def _serve(self, live: Snapshot) -> None:
        self._live = live if self._embedder_named(live.embedder) else replace(live, collection="")

    def _catch_up(self) -> bool:
        """Serve what another process published, if any did."""
        if self._manifest.generation() == self._live.generation:
            return False
        self._serve(self._manifest.read())
        self._leftover.clear()
        return True

    def _look(self) -> None:
        """See that the live collection is still there, at a glance. Raises IndexDamaged."""
        if self._live.collection:
            self._store.check(self._live.collection, list(islice(self._live.passages, 20)))

    def _abandon(self, damage: IndexDamaged) -> None:
        self._store.reset()
        log.warning("the index is damaged, and is built anew from the vector cache: %s", damage)
        self._live = replace(self._live, collection="")
        self._leftover.clear()

    def _publish(
        self,
        pages: Mapping[str, Runbook],
        passages: Mapping[str, Passage],
        catalogue: Catalogue,
        progress: Progress | None = None,
    ) -> list[Passage | Gist]:
        """Write what is new, look at it, switch. Returns what was embedded, one piece a text."""
        old = self._live
        same = bool(old.collection) and old.embedder == self._fingerprint
        known = old.pieces if same else {}
        digest = hashlib.sha256(self._fingerprint.encode()).hexdigest()[:12]
        collection = old.collection if same else f"{self._ours}{digest}-{old.generation + 1}"
        new = Snapshot(old.generation + 1, collection, pages, passages, catalogue, self._fingerprint)
        added = [piece for id, piece in new.pieces.items() if id not in known]
        embedded: list[Passage | Gist] = []
        if same:
            self._leftover.update(piece.id for piece in added)
        else:
            self._store.create(collection, self._fingerprint)
        if added:
            embedded = self._write(new, added, progress)
            self._store.check(collection, [piece.id for piece in added])
        if replace(new, generation=old.generation) != old:
            self._manifest.publish(old, new)
            self._live = new
            self._leftover |= known.keys()
            self._leftover -= new.pieces.keys()
            self._trim_cache()
        return embedded

    def _write(self, new: Snapshot, added: Sequence[Passage | Gist], progress: Progress | None) -> list[Passage | Gist]:
        embedded: list[Passage | Gist] = []
        renamed = self._renamed(new)
        for start in range(0, len(added), _AT_ONCE):
            some = added[start : start + _AT_ONCE]
            texts = [embedding_text(new.runbooks[piece.runbook], piece) for piece in some]
            hashes = [_hash(text) for text in texts]
            vectors, asked = self._vectors(dict(zip(hashes, zip(texts, some, strict=True), strict=True)), renamed)
            embedded += asked
            self._store.add(
                new.collection,
                [piece.id for piece in some],
                np.stack([vectors[text_hash] for text_hash in hashes]),
                [piece.text for piece in some],
            )
            if progress:
                progress("indexing", start + len(some), len(added))
        return embedded

    def _vectors(self, wanted: _Texts, renamed: Mapping[str, str]) -> tuple[dict[str, Vectors], list[Passage | Gist]]:
        """The vector of each text, out of the cache or the model, and what the model was asked for."""
        model = self._embedder.fingerprint
        vectors = self._cache.get(model, list(wanted))
        if twins := {new: renamed[new] for new in wanted if new in renamed and new not in vectors}:
            before = self._cache.get(model, list(twins.values()))
            carried = {new: before[old] for new, old in twins.items() if old in before}
            self._cache.put(model, carried)
            vectors |= carried
        missing = {text_hash: wanted[text_hash] for text_hash in wanted if text_hash not in vectors}
        for start in range(0, len(missing), _TEXTS_A_CALL):
            vectors |= self._embed(dict(islice(missing.items(), start, start + _TEXTS_A_CALL)))
        if len({vector.shape for vector in vectors.values()}) > 1:
            self._cache.forget_all_but(model, ())
            raise EmbeddingFailed(
                f"the embedding model {model} gives vectors of another size than before: "
                "what was kept of it is forgotten, sync again"
            )
        return vectors, [piece for _, piece in missing.values()]

    def _embed(self, texts: _Texts) -> dict[str, Vectors]:
        """Embed these and keep what came: tried again after a failure, in halves where they are refused."""
        retrying = Retrying(
            stop=stop_after_attempt(_TRIES),
            wait=self._wait,
            retry=retry_if_exception(lambda e: isinstance(e, EmbeddingFailed) and not isinstance(e, EmbeddingRefused)),
            reraise=True,
        )
        try:
            rows = retrying(self._embedder.embed, [text for text, _ in texts.values()], "passage")
        except EmbeddingRefused as error:
            if len(texts) == 1:
                piece = next(iter(texts.values()))[1]
                raise EmbeddingRefused(f"{piece.runbook}:{piece.start_line}: {error}") from error
            half = len(texts) // 2
            return self._embed(dict(islice(texts.items(), half))) | self._embed(dict(islice(texts.items(), half, None)))
        vectors = dict(zip(texts, rows, strict=True))
        self._cache.put(self._embedder.fingerprint, vectors)
        return vectors

    def _renamed(self, new: Snapshot) -> dict[str, str]:
        """For pieces of pages that only moved: the hash of what is embedded now → the one before.

        They differ where a page's title is its file's name. A rename costs no embedding, so the vector stays.
        """
        live, renamed = self._live, dict[str, str]()
        gone = {page.version: page for path, page in live.runbooks.items() if path not in new.runbooks}
        for path, page in new.runbooks.items():
            old = gone.get(page.version) if path not in live.runbooks else None
            if old and old.title != page.title:
                before = {(type(was), was.start): was for was in live.pieces_of(old.path)}
                for piece in new.pieces_of(path):
                    was = before.get((type(piece), piece.start))
                    if was and (isinstance(piece, Gist) or was.text == piece.text):
                        now, then = embedding_text(page, piece), embedding_text(old, was)
                        renamed[_hash(now)] = _hash(then)
        return renamed

    def _trim_cache(self) -> None:
        live = self._live
        if self._cache.count(self._embedder.fingerprint) > len(live.pieces) + _CACHE_SLACK:
            texts = (embedding_text(live.runbooks[piece.runbook], piece) for piece in live.pieces.values())
            self._cache.forget_all_but(self._embedder.fingerprint, {_hash(text) for text in texts})

    def _sweep(self) -> None:
        """Forget the passages that are not live any more."""
        if self._leftover:
            self._store.delete(self._live.collection, sorted(self._leftover))
            self._leftover.clear()

    def _drop_others(self, collection: str) -> None:
        """Drop the collections of earlier models, and of builds that were broken off."""
        for name in self._store.collections():
            if name != collection and name.startswith("runbooks-" if self._store.private else self._ours):
                self._store.drop(name)


def _has_our_gists(fingerprint: str) -> bool:
    """Whether a collection of this `Snapshot.embedder` holds the gists that pages have by the rules of now."""
    return fingerprint.endswith(f".{GISTS_VERSION}")


def _cut_from(page: Runbook) -> tuple[object, ...]:
    """All of a page that its passages depend on."""
    return page.version, page.title, page.body_line, page.headings


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
