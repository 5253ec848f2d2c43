"""Every sentence that a person reads in Slack, in one place; one section a room.

Plain words, no blame, always what to do next. No sentence claims that something was run or changed.
"""

from __future__ import annotations

from bot.answering.models import Reason

# --- why there is no answer ---------------------------------------------------------------------------------

NO_ANSWER: dict[Reason, str] = {
    "nothing_found": "No runbook that everyone here may read covers this.",
    "search_unavailable": "The runbook index is unavailable right now, so this was not searched.",
    "access_unknown": "Access could not be checked with Slack right now, so only open runbooks were searched.",
    "not_allowed": "There is no such runbook, or it is not one you may open.",
    "redaction_failed": "This text could not be checked for secrets, so it was not used and went nowhere.",
    "empty_question": "There are no words to search for.",
    "not_an_alert": "This does not read like an alert.",
    "indexing": "The runbooks can't be indexed right now, so this was not searched.",
    "embedding_failed": "The embedding model is out of reach, so this was not searched.",
    "empty_library": "There are no runbooks to search.",
    "failed": "Something went wrong on our side.",
}
