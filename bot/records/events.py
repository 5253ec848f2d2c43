"""Which triggers were taken up, across replicas and restarts: one trigger, one answer (DESIGN.md, rules 7 and 8).

A trigger is known by a key (its channel and ts, or the event's id). Whoever inserts the key first works on it, under
a lease that is renewed while the work goes on; what a crashed process leaves behind is taken up by the next one, and
what failed before anything was posted may be tried again. Only a pointer is kept: ids, and for a command its
redacted text; it is forgotten when the work is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, Column, Engine, Float, Integer, String, Table, delete, insert, or_, select, true, update
from sqlalchemy.exc import IntegrityError

from bot.records.database import create_tables, metadata, writing

LEASE = 90.0
"""Seconds after which work that nobody renewed counts as abandoned."""
MOST_ATTEMPTS = 5
"""Attempts at an answer; a further one is only for saying that it is given up."""
KEPT = 3 * 86_400.0
"""Seconds for which a finished key is remembered; Slack's last redelivery comes after minutes."""

_events = Table(
    "events",
    metadata,
    Column("key", String(255), primary_key=True),
    Column("state", String(16), nullable=False),  # working, done, failed
    Column("pointer", JSON, nullable=False),
    Column("lease", Float, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("at", Float, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A trigger that this process has to work on."""

    key: str
    pointer: Mapping[str, Any]
    attempt: int
    """1 for the first."""


class Events:
    """The claims. Blocking: call in a thread. Raises RecordsUnavailable."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._engine, self._clock = engine, clock
        create_tables(engine)

    def claim(self, key: str, pointer: Mapping[str, Any]) -> Claimed | None:
        """The work, if it is ours: the key is new, or its earlier work failed or was abandoned. None: leave it."""
        now = self._clock()
        row = {"key": key, "state": "working", "pointer": dict(pointer), "lease": now + LEASE, "attempts": 1, "at": now}
        try:
            with writing(self._engine) as connection:
                connection.execute(insert(_events).values(row))
            return Claimed(key, dict(pointer), 1)
        except IntegrityError:
            return self._again(key)

    def unfinished(self, *, everything: bool = False) -> list[Claimed]:
        """Take up what was abandoned or failed; `everything` also what is still under a lease.

        `everything` is for the start of a process that knows itself to be the only one.
        """
        with self._engine.connect() as connection:
            rows = connection.execute(select(_events.c.key).where(self._open(everything)).order_by(_events.c.at))
            keys = [row.key for row in rows]
        return [claimed for key in keys if (claimed := self._again(key, everything=everything))]

    def renew(self, key: str, attempt: int) -> None:
        """Say that the work on this key goes on."""
        with writing(self._engine) as connection:
            mine = (_events.c.key == key) & (_events.c.attempts == attempt) & (_events.c.state == "working")
            connection.execute(update(_events).where(mine).values(lease=self._clock() + LEASE))

    def done(self, key: str, attempt: int) -> None:
        """The work is finished: never again. The pointer is forgotten."""
        self._end(key, attempt, {"state": "done", "pointer": {}})

    def failed(self, key: str, attempt: int) -> None:
        """Nothing was posted: a redelivery, or the next look at what is unfinished, may try again."""
        self._end(key, attempt, {"state": "failed", "lease": self._clock() + LEASE})

    def note(self, key: str, pointer: Mapping[str, Any]) -> None:
        """Write down how far the work has come."""
        with writing(self._engine) as connection:
            connection.execute(update(_events).where(_events.c.key == key).values(pointer=dict(pointer)))

    def known(self, keys: Collection[str]) -> bool:
        """Whether one of these keys was ever claimed."""
        with self._engine.connect() as connection:
            return connection.execute(select(_events.c.key).where(_events.c.key.in_(list(keys)))).first() is not None

    def first(self, key: str, mark: str, *, within: float) -> bool:
        """Whether nobody has had this key for so many seconds; a repeat with the same `mark` is the first again."""
        now = self._clock()
        row = {"key": key, "state": "done", "pointer": {"mark": mark}, "lease": now, "attempts": 0, "at": now}
        try:
            with writing(self._engine) as connection:
                connection.execute(insert(_events).values(row))
            return True
        except IntegrityError:
            pass
        with writing(self._engine) as connection:
            mine = _events.c.key == key
            if connection.execute(select(_events.c.pointer).where(mine)).scalar_one().get("mark") == mark:
                return True
            old = mine & (_events.c.at <= now - within)
            return connection.execute(update(_events).where(old).values(pointer=row["pointer"], at=now)).rowcount == 1

    def forget(self) -> None:
        """Drop keys that nothing will ask for any more."""
        with writing(self._engine) as connection:
            connection.execute(delete(_events).where(_events.c.at < self._clock() - KEPT))

    def _open(self, everything: bool) -> Any:
        waiting = _events.c.state.in_(("working", "failed"))
        ready = true() if everything else _events.c.lease < self._clock()
        return waiting & ready & (_events.c.attempts <= MOST_ATTEMPTS)

    def _again(self, key: str, *, everything: bool = False) -> Claimed | None:
        with writing(self._engine) as connection:
            open_now = self._open(everything)
            if not everything:
                retry = (_events.c.state == "failed") & (_events.c.attempts <= MOST_ATTEMPTS)
                open_now = or_(open_now, retry)
            mine = (_events.c.key == key) & open_now
            taken = connection.execute(
                update(_events)
                .where(mine)
                .values(state="working", lease=self._clock() + LEASE, attempts=_events.c.attempts + 1)
            )
            if taken.rowcount != 1:
                return None
            row = connection.execute(select(_events).where(_events.c.key == key)).one()
            return Claimed(key, row.pointer, row.attempts)

    def _end(self, key: str, attempt: int, values: dict[str, Any]) -> None:
        """Only by whoever has the work now: one that was thought dead has no say any more."""
        with writing(self._engine) as connection:
            mine = (_events.c.key == key) & (_events.c.attempts == attempt) & (_events.c.state == "working")
            connection.execute(update(_events).where(mine).values(**values))
