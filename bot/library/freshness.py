"""When a page is due for a review: pure reckoning with days."""

from __future__ import annotations

from datetime import date, timedelta

from bot.library.models import Runbook


def reviewed(runbook: Runbook) -> date | None:
    """The day a page was last reviewed: as it says itself, else of its last commit; None where neither is known."""
    return runbook.last_reviewed or (runbook.change.at.date() if runbook.change else None)


def overdue(runbook: Runbook, today: date, default_days: int) -> date | None:
    """The day on which a page's review was due, if that day has passed; else None.

    The page's own `review_after` goes before `default_days` (REVIEW_AFTER); 0 days means never. A page whose last
    review nobody knows is not overdue: `lint` says that it has no date.
    """
    days = default_days if runbook.review_after is None else runbook.review_after
    since = reviewed(runbook)
    if since is None or days == 0:
        return None
    due = since + timedelta(days=min(days, (date.max - since).days))
    return due if due < today else None
