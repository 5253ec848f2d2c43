"""When a review is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from bot.library.freshness import overdue, reviewed
from bot.library.models import Change, Runbook

PAGE = Runbook("a.md", "A", "x", "1")
DAY = date(2024, 1, 1)


@pytest.mark.parametrize(
    ("after", "default", "today", "due"),
    [
        (None, 30, date(2024, 1, 31), None),
        (None, 30, date(2024, 2, 1), date(2024, 1, 31)),
        (10, 30, date(2024, 1, 12), date(2024, 1, 11)),
        (60, 30, date(2024, 2, 1), None),
        (0, 30, date(2034, 1, 1), None),
        (None, 0, date(2034, 1, 1), None),
        (99_999_999, 30, date(2034, 1, 1), None),
    ],
)
def test_overdue(after: int | None, default: int, today: date, due: date | None) -> None:
    assert overdue(replace(PAGE, last_reviewed=DAY, review_after=after), today, default) == due


def test_the_last_commit_counts_where_the_page_does_not_say() -> None:
    change = Change("c", "ana", datetime(2024, 3, 1, tzinfo=UTC))
    assert reviewed(replace(PAGE, change=change)) == date(2024, 3, 1)
    assert reviewed(replace(PAGE, change=change, last_reviewed=DAY)) == DAY
    assert overdue(PAGE, date(2034, 1, 1), 30) is None
