"""What was asked and whether anything was found, one light row a reply: what gaps and labels are made from.

The words are redacted. They may be read by whoever runs the bot, and in Slack by the asker and by those who are in
the place now (DESIGN.md, rule 2): whoever shows them asks `Asked.visible` first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, RowMapping, select, update

from bot.records.answers import Answers
from bot.records.database import metadata, writing


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that was replied to, without the reply."""

    answer: str
    """Id of the reply's record."""
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

    @property
    def key(self) -> tuple[str, str]:
        """What it has in common with those that ask the same."""
        return key_of(self.alert or self.text, self.service)

    def visible(self, user: str, present: Collection[str]) -> bool:
        """Whether this person may know of it; `present` are the channels that they are in now."""
        if self.private_to:
            return self.private_to == user
        return self.asker == user or self.channel in present


class Questions:
    """The questions on record. Blocking: call in a thread. Raises RecordsUnavailable."""

    def __init__(self, engine: Engine) -> None:
        Answers(engine)  # its table is read here
        self._engine = engine

    def since(self, moment: float, *, channel: str = "") -> list[Asked]:
        """All that were replied to since then (Unix seconds), in one channel or everywhere, the oldest first."""
        kept = metadata.tables["answers"].c
        plain = [kept[name] for name in ("id", "trigger", "channel", "thread", "asker", "private_to", "at")]
        inner = [kept.outcome[name].as_string().label(name) for name in ("asked", "query", "alert", "reason")]
        service = kept.outcome[("incident", "service")].as_string().label("service")
        rows = select(*plain, *inner, service).where(kept.at >= moment).order_by(kept.at)
        if channel:
            rows = rows.where(kept.channel == channel)
        with self._engine.connect() as connection:
            return [_asked(row) for row in connection.execute(rows).mappings()]

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


def question_of(outcome: Mapping[str, Any]) -> str:
    """The words of a question, from its outcome on record.

    An alert's begin with its name. Where a person's words said too little, so that their thread was searched with
    them, it is what was searched for: "what now?" by itself is no question that anything could be measured with.
    """
    asked, query, alert = (str(outcome.get(name) or "") for name in ("asked", "query", "alert"))
    if alert:
        return asked if alert in asked else f"{alert}\n{asked}".strip()
    return query if set(normalised(query).split()) - set(normalised(asked).split()) else asked


def key_of(words: str, service: str) -> tuple[str, str]:
    """What makes questions the same: an alert's name or else its words, and the service."""
    return normalised(words), service


def normalised(text: str) -> str:
    """Words in small letters, without marks; numbers count as the same."""
    return " ".join(re.sub(r"\d+", "0", word) for word in re.findall(r"[^\W_]+", text.casefold()))


def _asked(row: RowMapping) -> Asked:
    return Asked(
        answer=row["id"],
        trigger=row["trigger"],
        channel=row["channel"],
        thread=row["thread"],
        asker=row["asker"],
        private_to=row["private_to"],
        text=question_of(dict(row)),
        alert=row["alert"] or "",
        service=row["service"] or "",
        reason=row["reason"] or "",
        at=row["at"],
    )
