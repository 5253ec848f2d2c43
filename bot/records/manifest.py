"""The manifest: which pages and passages are live, in which collection. Changing it is what publishes.

One transaction replaces the old state by the new one, so that a crash leaves one or the other. Passages are kept
without their text: it is a slice of their page's.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Column, DateTime, Engine, Integer, String, Table, Text, delete, insert, select, text, update

from bot.errors import IndexingError, RecordsUnavailable
from bot.library.models import Catalogue, Passage, Runbook, Snapshot
from bot.records.database import create_tables, metadata, writing

_manifest = Table(
    "manifest",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("namespace", String(16), nullable=False),
    Column("generation", Integer, nullable=False),
    Column("collection", String, nullable=False),
    Column("embedder", String, nullable=False),
    Column("catalogue", Text, nullable=False),
    Column("published_at", DateTime(timezone=True), nullable=False),
)
_live = Table(
    "live_runbooks",
    metadata,
    Column("path", String, primary_key=True),
    Column("page", Text, nullable=False),
    Column("passages", Text, nullable=False),
    Column("generation", Integer, nullable=False, doc="in which this version was published"),
    Column("published_at", DateTime(timezone=True), nullable=False),
)
_RUNBOOK = TypeAdapter(Runbook)
_PASSAGES = TypeAdapter(tuple[Passage, ...])
_CATALOGUE = TypeAdapter(Catalogue)
_AT_ONCE = 500
_SYNCING = 0x52425359
"""Any number that is ours: the PostgreSQL advisory lock that one sync holds."""


class SqlManifest:
    """The manifest in the records database. Blocking. Raises RecordsUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        create_tables(engine)
        with writing(engine) as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text("LOCK TABLE manifest IN EXCLUSIVE MODE"))
            found = connection.scalar(select(_manifest.c.namespace))
            self._namespace = found or secrets.token_hex(4)
            if not found:
                connection.execute(
                    insert(_manifest).values(
                        id=1, namespace=self._namespace, generation=0, collection="", embedder="", catalogue="{}",
                        published_at=datetime.now(UTC),
                    )
                )  # fmt: skip

    @property
    def namespace(self) -> str:
        """Random, and the same for as long as this database lives: whose collections are whose on a shared server."""
        return self._namespace

    def generation(self) -> int:
        """The number of the live state; it grows with every publication."""
        with self._engine.connect() as connection:
            return int(connection.scalar(select(_manifest.c.generation)) or 0)

    def read(self) -> Snapshot:
        """What is live."""
        reading = self._engine.execution_options(isolation_level="REPEATABLE READ") if self._postgres else self._engine
        with reading.connect() as connection:  # both queries see one moment
            head = connection.execute(select(_manifest)).one()
            rows = connection.execute(select(_live.c.path, _live.c.page, _live.c.passages).order_by(_live.c.path)).all()
        runbooks: dict[str, Runbook] = {}
        passages: dict[str, Passage] = {}
        try:
            for path, page, cut in rows:
                runbooks[path] = _RUNBOOK.validate_json(page)
                passages |= {passage.id: passage for passage in _read_passages(runbooks[path], cut)}
            catalogue = _CATALOGUE.validate_json(head.catalogue)
        except (ValidationError, ValueError, KeyError) as error:
            raise RecordsUnavailable(f"the manifest can't be read: {type(error).__name__}") from error
        return Snapshot(head.generation, head.collection, runbooks, passages, catalogue, head.embedder)

    def publish(self, old: Snapshot, new: Snapshot) -> None:
        """Make `new` live instead of `old`, in one transaction.

        Raises IndexingError, and changes nothing, where something else than `old` is live.
        """
        now = datetime.now(UTC)
        changed = [
            path
            for path, page in new.runbooks.items()
            if page != old.runbooks.get(path) or new.passages_of[path] != old.passages_of.get(path)
        ]
        gone = [path for path in old.runbooks if path not in new.runbooks]
        with writing(self._engine) as connection:
            switched = connection.execute(
                update(_manifest)
                .where(_manifest.c.generation == old.generation)
                .values(
                    generation=new.generation,
                    collection=new.collection,
                    embedder=new.embedder,
                    catalogue=_CATALOGUE.dump_json(new.catalogue).decode(),
                    published_at=now,
                )
            )
            if switched.rowcount != 1:
                raise IndexingError("another process has published in the meantime: sync again")
            for chunk in _chunks([*changed, *gone]):
                connection.execute(delete(_live).where(_live.c.path.in_(chunk)))
            for chunk in _chunks(changed):
                connection.execute(
                    insert(_live),
                    [
                        {
                            "path": path,
                            "page": _RUNBOOK.dump_json(new.runbooks[path]).decode(),
                            "passages": _write_passages(new.passages_of[path]),
                            "generation": new.generation,
                            "published_at": now,
                        }
                        for path in chunk
                    ],
                )

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Held by whoever syncs: one process at a time, over all that share this database. Waits."""
        if self._postgres:
            # No transaction stays open for as long as a sync takes, and no statement waits for as long as another's.
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": _SYNCING}):
                    time.sleep(0.5)
                try:
                    yield
                finally:
                    with suppress(RecordsUnavailable):  # a lost connection has lost the lock, too
                        connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _SYNCING})
        else:
            with FileLock(Path(f"{self._engine.url.database}.sync-lock")):
                yield

    @property
    def _postgres(self) -> bool:
        return self._engine.dialect.name == "postgresql"


def _write_passages(passages: Iterable[Passage]) -> str:
    rows: list[dict[str, Any]] = _PASSAGES.dump_python(tuple(passages), mode="json")
    return json.dumps([row | {"text": len(row["text"])} for row in rows], ensure_ascii=False)


def _read_passages(page: Runbook, written: str) -> tuple[Passage, ...]:
    rows: list[dict[str, Any]] = json.loads(written)
    for row in rows:
        row["text"] = page.text[row["start"] : row["start"] + row["text"]]
    return _PASSAGES.validate_python(rows)


def _chunks(items: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
