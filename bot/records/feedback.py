"""What people say of an answer: helpful, wrong runbook; and of each check: done, ruled out, this one helped.

One word a person and subject: saying it again changes nothing, saying another one replaces it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Column, Engine, Float, Integer, RowMapping, String, Table, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from bot.records.database import create_tables, metadata, writing

OfAnswer = Literal["helpful", "wrong"]
OfCheck = Literal["done", "ruled_out", "helped"]
WORDS: tuple[str, ...] = (*get_args(OfAnswer), *get_args(OfCheck))
WHOLE = 0
"""In place of a check's number: the answer as a whole."""

_feedback = Table(
    "feedback",
    metadata,
    Column("answer", String(64), primary_key=True),
    Column("person", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("word", String(16), nullable=False),
    Column("at", Float, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Mark:
    """What one person says of an answer (`number` is WHOLE) or of one of its checks (1 for the first)."""

    answer: str
    person: str
    word: str
    number: int = WHOLE
    at: float = 0.0


class Feedback:
    """The marks on record. Blocking: call in a thread. Raises RecordsUnavailable."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._engine, self._clock = engine, clock
        create_tables(engine)

    def say(self, mark: Mark) -> None:
        """Keep what this person says now, in place of what they said before; no word takes it back."""
        mine = (
            (_feedback.c.answer == mark.answer)
            & (_feedback.c.person == mark.person)
            & (_feedback.c.number == mark.number)
        )
        if not mark.word:
            with writing(self._engine) as connection:
                connection.execute(delete(_feedback).where(mine))
            return
        values = {"word": mark.word, "at": self._clock()}
        row = {"answer": mark.answer, "person": mark.person, "number": mark.number, **values}
        change = update(_feedback).where(mine & (_feedback.c.word != mark.word)).values(values)
        try:
            with writing(self._engine) as connection:
                connection.execute(insert(_feedback).values(row))
        except IntegrityError:
            with writing(self._engine) as connection:
                connection.execute(change)

    def of(self, answers: Iterable[str]) -> list[Mark]:
        """What was said of these answers, the oldest first."""
        return self._select(_feedback.c.answer.in_(list(answers)))

    def everything(self) -> list[Mark]:
        """What was ever said, the oldest first."""
        return self._select()

    def _select(self, *conditions: object) -> list[Mark]:
        with self._engine.connect() as connection:
            rows = select(_feedback).where(*conditions).order_by(_feedback.c.at)  # type: ignore[arg-type]
            return [_mark(row) for row in connection.execute(rows).mappings()]


def _mark(row: RowMapping) -> Mark:
    return Mark(row["answer"], row["person"], row["word"], row["number"], row["at"])
