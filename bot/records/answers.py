"""The replies that stand in Slack: what was asked (redacted), what was found and cited, where it stands and for whom.

A button carries nothing but the id of such a record. Written before the reply is posted, so that its buttons work
from the first moment; the message's ts is added after.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Engine, Float, Index, RowMapping, String, Table, insert, select, update

from bot.records.database import create_tables, metadata, writing

_answers = Table(
    "answers",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("event", String(255), nullable=False, default=""),
    Column("trigger", String(32), nullable=False),
    Column("channel", String(64), nullable=False),
    Column("thread", String(64), nullable=False, default=""),
    Column("message", String(64), nullable=False, default=""),
    Column("asker", String(64), nullable=False, default=""),
    Column("private_to", String(64), nullable=False, default=""),
    Column("targets", JSON, nullable=False),
    Column("passages", JSON, nullable=False),
    Column("origin", JSON, nullable=False),
    Column("outcome", JSON, nullable=False),
    Column("replaced", Boolean, nullable=False, default=False),
    Column("at", Float, nullable=False),
    Index("answers_place", "channel", "thread"),
    Index("answers_event", "event"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A place in a runbook that a button opens."""

    runbook: str
    start: int = 1
    end: int = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """One reply on record."""

    id: str
    trigger: str
    channel: str
    thread: str = ""
    """ts of the thread's root; empty where the reply stands outside a thread."""
    message: str = ""
    """ts of the reply; empty before it is posted, and for what only one person sees."""
    asker: str = ""
    private_to: str = ""
    targets: tuple[Target, ...] = ()
    """What its Open buttons open, in their order: one a cited runbook."""
    passages: tuple[str, ...] = ()
    """Ids of the passages that it cites."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """Where its question stands (channel and ts), or a command's redacted text."""
    outcome: Mapping[str, Any] = field(default_factory=dict)
    """The Answer or NoAnswer itself: scores, citations, times, the decision's reasons."""
    event: str = ""
    """The key of the trigger."""
    replaced: bool = False
    """It may not stand any more and was replaced."""
    at: float = 0.0


class Answers:
    """The replies on record. Blocking: call in a thread. Raises RecordsUnavailable."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._engine, self._clock = engine, clock
        create_tables(engine)

    def keep(self, kept: Kept) -> None:
        """Write a reply down, before it is posted."""
        row = {name: getattr(kept, name) for name in Kept.__slots__}
        row["targets"] = [[t.runbook, t.start, t.end] for t in kept.targets]
        row |= {"passages": list(kept.passages), "origin": dict(kept.origin), "outcome": dict(kept.outcome)}
        with writing(self._engine) as connection:
            connection.execute(insert(_answers).values({**row, "at": kept.at or self._clock()}))

    def posted(self, id: str, *, message: str, thread: str) -> None:
        """Note where a reply stands."""
        self._change(id, message=message, thread=thread)

    def replaced(self, id: str) -> None:
        """Note that a reply was taken back."""
        self._change(id, replaced=True)

    def get(self, id: str) -> Kept | None:
        """The reply with this id."""
        return next(iter(self._select(_answers.c.id == id)), None)

    def at(self, channel: str, message: str) -> Kept | None:
        """The reply that this message shows."""
        return next(iter(self._select((_answers.c.channel == channel) & (_answers.c.message == message))), None)

    def of_event(self, event: str) -> list[Kept]:
        """The replies to one trigger, the oldest first."""
        return self._select(_answers.c.event == event)

    def in_thread(self, channel: str, thread: str) -> list[Kept]:
        """The replies that everybody in a thread can read, the oldest first."""
        here = (_answers.c.channel == channel) & (_answers.c.thread == thread)
        return self._select(here & (_answers.c.private_to == "") & (_answers.c.message != ""))

    def standing(self, channels: Iterable[str] | None = None, *, since: float = 0.0) -> list[Kept]:
        """The replies that stand where several people read them, in these channels or everywhere."""
        public = (_answers.c.private_to == "") & (_answers.c.message != "") & ~_answers.c.replaced
        condition = public & (_answers.c.at >= since)
        if channels is not None:
            condition &= _answers.c.channel.in_(list(channels))
        return self._select(condition)

    def moved(self, old: str, new: str) -> None:
        """A channel has another id now."""
        with writing(self._engine) as connection:
            connection.execute(update(_answers).where(_answers.c.channel == old).values(channel=new))

    def _change(self, id: str, **values: Any) -> None:
        with writing(self._engine) as connection:
            connection.execute(update(_answers).where(_answers.c.id == id).values(**values))

    def _select(self, condition: Any) -> list[Kept]:
        with self._engine.connect() as connection:
            rows = connection.execute(select(_answers).where(condition).order_by(_answers.c.at)).mappings().all()
        return [_kept(row) for row in rows]


def _kept(row: RowMapping) -> Kept:
    values = {name: row[name] for name in Kept.__slots__}
    values["targets"] = tuple(Target(*target) for target in row["targets"])
    values["passages"] = tuple(row["passages"])
    return Kept(**values)
