"""What publishing needs of other rooms, as small protocols: the library imports none of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

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

    def create(self, collection: str) -> None:
        """Make the collection if it is not there."""

    def add(self, collection: str, ids: Sequence[str], vectors: Vectors, documents: Sequence[str]) -> None:
        """Write these; an id that is there already is overwritten."""

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Forget these ids; unknown ones are no error."""

    def ids(self, collection: str) -> set[str]:
        """Every id in the collection; empty if there is no such collection."""

    def query(self, collection: str, vector: Vectors, ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """The nearest of `ids` (and of no others), best first, with their cosine similarity (-1 to 1)."""

    def collections(self) -> list[str]:
        """Names of all collections."""

    def drop(self, collection: str) -> None:
        """Remove a collection; an unknown one is no error."""
