"""What a place remembers of the same alert or question: how often it was asked there, and which check helped last.

Memory never crosses places, and of a place it knows only what stood there for everybody (DESIGN.md, rule 2).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from bot.records.answers import Answers, Kept
from bot.records.asked import Questions
from bot.records.feedback import WHOLE, Feedback

OFTEN_DAYS, HELPED_DAYS = 7, 90
"""How far back repeats are counted, and helpful checks are remembered."""


@dataclass(frozen=True, slots=True)
class Before:
    """What happened before, in one place."""

    times: int
    """Threads of the last OFTEN_DAYS days that were about the same."""
    helped: tuple[tuple[str, str], ...] = ()
    """Runbook and quote of the checks that were ticked as the ones that helped, the latest time that any was."""
    on: float = 0.0
    """When that was asked (Unix seconds)."""


class Memory:
    """Keeps and looks back. Blocking: call in a thread. Raises RecordsUnavailable."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._questions, self._feedback, self._answers = Questions(engine), Feedback(engine), Answers(engine)
        self._clock = clock

    def keep(self, kept: Kept) -> None:
        """Remember a reply on record."""
        self._questions.keep(kept)

    def of(self, key: str, channel: str, thread: str) -> Before:
        """What a channel remembers of the questions with this key (`bot.records.asked`), this thread left out."""
        if not key:
            return Before(0)
        now = self._clock()
        same = [
            each
            for each in self._questions.same(key, channel, now - HELPED_DAYS * 86_400.0)
            if not each.private_to and each.thread != thread
        ]
        times = len({each.thread for each in same if each.at >= now - OFTEN_DAYS * 86_400.0})
        ticks: dict[str, set[int]] = {}
        for mark in self._feedback.of([each.answer for each in same if not each.reason]):
            if mark.word == "helped" and mark.number > WHOLE:
                ticks.setdefault(mark.answer, set()).add(mark.number)
        for each in reversed(same):
            kept = self._answers.get(each.answer) if each.answer in ticks else None
            if kept is not None:
                checks = [check["citation"] for check in kept.outcome.get("checks", ())]
                of = [checks[number - 1] for number in sorted(ticks[each.answer]) if number <= len(checks)]
                return Before(times, tuple((at["runbook"], at["quote"]) for at in of), each.at)
        return Before(times)
