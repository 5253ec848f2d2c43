"""What publishing needs of other rooms, as small protocols: the library imports none of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bot.library.models import Snapshot

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into normalised vectors. Blocking: call it in a thread."""

    @property
    def fingerprint(self) -> str:
        """Provider, model and weights: whatever changes the vectors changes this."""

    @property
    def dimensions(self) -> int:
        """Numbers a vector."""

    @property
    def window(self) -> int:
        """Tokens that one text may have, special tokens included."""

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the model's own tokenizer, special tokens included."""

    def embed(self, texts: Sequence[str], kind: Literal["passage", "query"]) -> Vectors:
        """One unit vector a text, in order. Raises EmbeddingFailed."""


class VectorStore(Protocol):
    """A persistent set of collections of vectors. Blocking. Raises IndexUnavailable."""

    @property
    def private(self) -> bool:
        """Every collection in it is this process's own; otherwise only those with the manifest's namespace are."""

    def create(self, collection: str, embedder: str) -> None:
        """Make the collection if it is not there; the embedder's fingerprint is written down with it."""

    def add(self, collection: str, ids: Sequence[str], vectors: Vectors, documents: Sequence[str]) -> None:
        """Write these; an id that is there already is overwritten."""

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Forget these ids; unknown ones are no error."""

    def ids(self, collection: str) -> set[str]:
        """Every id in the collection; empty if there is no such collection."""

    def query(self, collection: str, vector: Vectors, ids: Sequence[str] | None, limit: int) -> list[tuple[str, float]]:
        """The nearest of `ids` (and of no others), best first, with their cosine similarity (-1 to 1).

        None: the nearest of all that is stored, which may be more than what is live.
        """

    def collections(self) -> list[str]:
        """Names of all collections."""

    def drop(self, collection: str) -> None:
        """Remove a collection; an unknown one is no error."""

    def check(self, collection: str, ids: Collection[str]) -> None:
        """See that each of `ids` has its vector and that stored vectors find themselves. Raises IndexDamaged if not."""

    def reset(self) -> None:
        """After damage: start anew, with the damaged files moved aside where they are this process's own."""

    def close(self) -> None:
        """Let go of the files and of the lock."""


class Manifest(Protocol):
    """Which pages and passages are live. Blocking. Raises RecordsUnavailable."""

    @property
    def namespace(self) -> str:
        """A short word that tells this manifest's collections from those of others on the same server."""

    def generation(self) -> int:
        """The number of the live state."""

    def read(self) -> Snapshot:
        """What is live."""

    def publish(self, old: Snapshot, new: Snapshot) -> None:
        """Make `new` live instead of `old`, all or nothing. Raises IndexingError where `old` is not what is live."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Held by whoever syncs, over all processes that share the manifest."""


class VectorCache(Protocol):
    """Vectors by text hash and embedder fingerprint. Blocking. Raises RecordsUnavailable."""

    def get(self, embedder: str, hashes: Sequence[str]) -> dict[str, Vectors]:
        """Those that are there."""

    def put(self, embedder: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep these."""

    def forget_all_but(self, embedder: str, hashes: Collection[str]) -> int:
        """Forget the vectors of other texts; returns how many."""

    def count(self, embedder: str) -> int:
        """How many are kept."""
