"""The vector cache: what was embedded once, by the text's hash and the embedding model's fingerprint.

It makes a restart, a rename, a rebuild of a damaged index and the way back to an earlier model cost no embedding.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from sqlalchemy import Column, Engine, LargeBinary, String, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.library.ports import Vectors
from bot.records.database import create_tables, metadata, writing

_vectors = Table(
    "vectors",
    metadata,
    Column("embedder", String, primary_key=True),
    Column("text_hash", String(64), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)
_AT_ONCE = 500
"""Parameters of one statement: far below every database's limit."""


class SqlVectorCache:
    """Vectors as little-endian float32 in the records database. Blocking. Raises RecordsUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)

    def get(self, embedder: str, hashes: Sequence[str]) -> dict[str, Vectors]:
        """The vectors that are there, by text hash."""
        found: dict[str, Vectors] = {}
        with self._engine.connect() as connection:
            for start in range(0, len(hashes), _AT_ONCE):
                wanted = hashes[start : start + _AT_ONCE]
                query = select(_vectors.c.text_hash, _vectors.c.vector).where(
                    _vectors.c.embedder == embedder, _vectors.c.text_hash.in_(wanted)
                )
                found |= {text_hash: np.frombuffer(blob, dtype="<f4") for text_hash, blob in connection.execute(query)}
        return found

    def put(self, embedder: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep these; one that is there already stays."""
        if not vectors:
            return
        dialect = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        rows = [
            {"embedder": embedder, "text_hash": text_hash, "vector": vector.astype("<f4").tobytes()}
            for text_hash, vector in vectors.items()
        ]
        with writing(self._engine) as connection:
            connection.execute(dialect.insert(_vectors).on_conflict_do_nothing(), rows)

    def forget_all_but(self, embedder: str, hashes: Collection[str]) -> int:
        """Forget this model's vectors of other texts. Returns how many."""
        of_model = _vectors.c.embedder == embedder
        with writing(self._engine) as connection:
            there = connection.scalars(select(_vectors.c.text_hash).where(of_model)).all()
            old = sorted(set(there) - set(hashes))
            for start in range(0, len(old), _AT_ONCE):
                chunk = old[start : start + _AT_ONCE]
                connection.execute(delete(_vectors).where(of_model, _vectors.c.text_hash.in_(chunk)))
        return len(old)

    def count(self, embedder: str) -> int:
        """How many vectors of this model are kept."""
        with self._engine.connect() as connection:
            counted = connection.scalar(
                select(func.count()).select_from(_vectors).where(_vectors.c.embedder == embedder)
            )
        return int(counted or 0)
