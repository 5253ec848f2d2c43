"""What was asked and whether anything was found, one light row a reply: what gaps, labels and memory are made from.

The words are redacted. They may be read by whoever runs the bot, and in Slack by the asker and by those who are in
the place now (DESIGN.md, rule 2): whoever shows them asks `Asked.visible` first.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Engine, Float, RowMapping, String, Table, Text, delete, insert, select, update

from bot.records.answers import Answers, Kept
from bot.records.database import create_tables, metadata, writing

_asked = Table(
    "asked",
    metadata,
    Column("answer", String(64), primary_key=True),
    Column("key", String(64), nullable=False, index=True),
    Column("text", Text, nullable=False),
    Column("alert", Text, nullable=False),
    Column("service", Text, nullable=False),
    Column("reason", String(32), nullable=False),
    Column("at", Float, nullable=False, index=True),
)
_OF_THE_ANSWER = ("trigger", "channel", "thread", "asker", "private_to")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that was replied to, without the reply."""

    answer: str
    """Id of the reply's record."""
    key: str
    """What it has in common with those that ask the same."""
    trigger: str
    channel: str
    thread: str
    asker: str
    private_to: str
    text: str
    alert: str
    service: str
    reason: str
    """Why nothing was answered; empty for an answer."""
    at: float

    def visible(self, user: str, present: Collection[str]) -> bool:
        """Whether this person may know of it; `present` are the channels that they are in now."""
        if self.private_to:
            return self.private_to == user
        return self.asker == user or self.channel in present


class Questions:
    """The questions on record. Blocking: call in a thread. Raises RecordsUnavailable."""

    def __init__(self, engine: Engine) -> None:
        Answers(engine)  # its table is read here, too
        create_tables(engine)
        self._engine = engine

    def keep(self, kept: Kept) -> None:
        """Write down what a reply on record was asked; nothing where it holds no words."""
        outcome = kept.outcome
        text, alert = question_of(outcome), str(outcome.get("alert") or "")
        service = (outcome.get("incident") or {}).get("service") or ""
        if key := key_of(alert or text, service):
            reason = outcome.get("reason") or ""
            row = {"answer": kept.id, "key": key, "text": text, "alert": alert, "service": service, "reason": reason}
            with writing(self._engine) as connection:
                connection.execute(insert(_asked).values({**row, "at": kept.at or time.time()}))

    def since(self, moment: float) -> list[Asked]:
        """All that were replied to since then (Unix seconds), the oldest first."""
        return self._select(_asked.c.at >= moment)

    def same(self, key: str, channel: str, since: float) -> list[Asked]:
        """Those with this key in one channel, the oldest first."""
        here = metadata.tables["answers"].c.channel == channel
        return self._select((_asked.c.key == key) & (_asked.c.at >= since) & here)

    def forget(self, channel: str, ts: str) -> None:
        """A message is deleted: the words of the question that stood in it go from the records, too."""
        table = metadata.tables["answers"]
        kept = table.c
        with writing(self._engine) as connection:

            def asked_in(*messages: str) -> Sequence[Any]:
                here = (kept.channel == channel) & kept.origin["ts"].as_string().in_(messages)
                return connection.execute(select(kept.id, kept.message, kept.outcome).where(here)).all()

            rows = asked_in(ts)
            again = asked_in(*(row.message for row in rows if row.message))  # by a button of its card
            for row in [*rows, *again]:
                outcome = {**row.outcome, "asked": "", "query": "", "alert": ""}
                outcome["incident"] = {**(row.outcome.get("incident") or {}), "summary": "", "evidence": []}
                connection.execute(update(table).where(kept.id == row.id).values(outcome=outcome))
                connection.execute(delete(_asked).where(_asked.c.answer == row.id))

    def _select(self, condition: Any) -> list[Asked]:
        answers = metadata.tables["answers"]
        joined = _asked.join(answers, _asked.c.answer == answers.c.id)
        columns = [*_asked.c, *(answers.c[name] for name in _OF_THE_ANSWER)]
        rows = select(*columns).select_from(joined).where(condition).order_by(_asked.c.at)
        with self._engine.connect() as connection:
            return [_read(row) for row in connection.execute(rows).mappings()]


def question_of(outcome: Mapping[str, Any]) -> str:
    """The words of a question, from its outcome on record.

    An alert's begin with its name. Where a person's words said too little, so that their thread was searched with
    them, it is what was searched for: "what now?" by itself is no question that anything could be measured with.
    """
    asked, query, alert = (str(outcome.get(name) or "") for name in ("asked", "query", "alert"))
    if alert:
        return asked if alert in asked else f"{alert}\n{asked}".strip()
    return query if set(normalised(query).split()) - set(normalised(asked).split()) else asked


def key_of(words: str, service: str) -> str:
    """What makes questions the same: an alert's name or else its words, and the service; "" where there are none."""
    plain = normalised(words)
    return hashlib.sha256(f"{service}\n{plain}".encode()).hexdigest()[:32] if plain else ""


def normalised(text: str) -> str:
    """Words in small letters, without marks; numbers count as the same."""
    return " ".join(re.sub(r"\d+", "0", word) for word in re.findall(r"[^\W_]+", text.casefold()))


def _read(row: RowMapping) -> Asked:
    return Asked(**{name: row[name] for name in Asked.__slots__})
