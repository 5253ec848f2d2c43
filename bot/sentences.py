"""Every sentence that a person reads in Slack, in one place; one section a room.

Plain words, no blame, always what to do next. No sentence claims that something was run or changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from bot.answering.models import Reason
from bot.errors import RunbookBotError

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

# --- notices on an answer -----------------------------------------------------------------------------------

ACCESS_NOT_CHECKED = "Access could not be checked with Slack just now, so only open runbooks were searched."


def searched_wider(service: str, scope: str) -> str:
    """The service's own pages held nothing."""
    where = "the general runbooks" if scope == "general" else "the runbooks of every service"
    return f"Nothing was found for {service} itself; this is from {where}."


def overdue(title: str, since: date, owner: str) -> str:
    """A page whose review is due."""
    whom = f"; its owner is {owner}" if owner else ""
    return f"“{title}” has been due for review since {since:%Y-%m-%d}{whom}."


def last_good_version(title: str, owner: str) -> str:
    """The file on disk is broken; what is shown is older."""
    whom = f" Tell {owner}." if owner else ""
    return f"“{title}” can't be read at the moment; this is its last good version.{whom}"


# --- what a question leaves open ----------------------------------------------------------------------------

MISSING_SERVICE = "which service it is about"
MISSING_AMBIGUOUS_SERVICE = "which of the services named in it"
MISSING_UNKNOWN_SERVICE = "a service that the catalogue knows"
MISSING_ENVIRONMENT = "which environment"
MISSING_SYMPTOM = "what is seen: an error's words, a metric, what fails"

# --- the card in Slack --------------------------------------------------------------------------------------

NEXT_CHECKS = "Next checks"
FOR_SERVICE = " for "
CHANGES = "[changes something]"
LONG_COMMAND = "The command is too long to show here: Open shows it."
OPEN = "Open"
SEARCH_AS_ME = "Search as me"
QUOTED = "Quoted from the team's runbooks; nothing was run."
NEEDS_REVIEW = "Not sure: let a person look at it."
TAKEN_BACK = "This reply is hidden here now, since not everybody who can read this place may open what it cites."


def written_by(model: str) -> str:
    """How the checks were made, where a model worded them."""
    return f"Worded by {model} from the quoted runbooks; nothing was run."


def lines(start: int, end: int) -> str:
    """Where in the page a quote stands."""
    return f", lines {start}–{end}" if end > start else f", line {start}"


def open_named(title: str) -> str:
    """The label of the button that opens a page."""
    return f"{OPEN}: {title}"


def more_checks(count: int) -> str:
    """What did not fit."""
    return f"{count} more check{'s' * (count > 1)} did not fit here: Open shows the whole page."


def checks_from(count: int, titles: Sequence[str]) -> str:
    """What a notification and a screen reader say of a card."""
    return f"{count} check{'s' * (count != 1)} from {', '.join(titles)}" if titles else f"{count} checks"


def owner(name: str) -> str:
    """To whom to turn."""
    return f"Owner: {name}"


def looked_for(service: str) -> str:
    """What was searched."""
    return f"Looked for {service}."


def closest(title: str) -> str:
    """A near miss, for a person who asked."""
    return f"The nearest page, probably not it: {title}"


NOT_SHOWN = (
    "There is an answer, but Slack could not show it. Open the page with `/runbook open`, or ask for less at once."
)

# --- what people say of an answer -----------------------------------------------------------------------------

HELPFUL = "👍 Helpful"
WRONG_RUNBOOK = "Wrong runbook"
MARK_A_CHECK = "Mark a check…"
SAY_OF_CHECK = {"done": "done", "ruled_out": "ruled out", "helped": "this one helped", "": "not marked"}
"""What can be said of a check, after its number; the last takes it back."""
SAID = {
    "helpful": "👍 Helpful",
    "wrong": "Wrong runbook",
    "helped": "★ This one helped",
    "done": "✓ Done",
    "ruled_out": "✗ Ruled out",
}
"""How it stands on the card, before the names."""
_ORDINALS = {2: "Second", 3: "Third", 4: "Fourth", 5: "Fifth"}


def before(times: int, days: int, helped: Sequence[int], on: date) -> str:
    """What a place remembers: the how-manieth time this is, and the numbers of the checks that helped last time."""
    often = f"{_ORDINALS.get(times, f'{times}th')} time here in {days} days" if times > 1 else ""
    if not helped:
        return f"{often}." if often else ""
    numbers = ", ".join(map(str, helped))
    checks = f"check {numbers} was the one" if len(helped) == 1 else f"checks {numbers} were the ones"
    last = f"on {on:%Y-%m-%d}, {checks} that helped."
    return f"{often}; last time, {last}" if often else f"Last time, {last}"


CANNOT_SAY = "Only people who are in this conversation now, and may open what is quoted here, can mark this answer."


def gaps(count: int, days: int) -> str:
    """The heading of `/runbook gaps`."""
    things = "1 thing" if count == 1 else f"{count} things"
    return f"No runbook was found for {things} asked in the last {days} days, by you or where you are now. Write next:"


def no_gaps(days: int) -> str:
    """Nothing to list."""
    return f"Nothing was asked in vain in the last {days} days, by you or where you are now."


def gap(name: str, count: int, service: str, owned_by: str, last: date) -> str:
    """One line of it."""
    about = [f"{count}×", service, owner(owned_by) if owned_by else "", f"last {last:%Y-%m-%d}"]
    return f"{name}\n{' · '.join(part for part in about if part)}"


# --- around the card ----------------------------------------------------------------------------------------

INVITE = "I am not in this conversation, so only you see this. Invite me with /invite to have answers in the thread."
CHECKING = "Checking…"
RUNBOOK = "Runbook"
CLOSE = "Close"
SHOW_MORE = "Show more"
SHOW_ALL = "Show the whole page"
FROM_THE_TOP = "From the top"
GOES_ON = "The page goes on: open it to read the rest."
EMPTY_PAGE = "This page has no words besides its heading."
MESSAGE_GONE = "The message is not there any more, so there is nothing to search for."
NOTHING_TO_SEARCH = "There is nothing in this message to search for."
RECORD_GONE = "This card is too old: its record is not there any more. Ask again."
ADMINS_ONLY = "Only the people named in ADMINS may use this."
NO_RUNBOOKS = "There is no runbook that you may open."
SYNC_IS_ELSEWHERE = "This bot can't index by hand: use `runbook-bot sync`."
HELP = """\
• `/runbook checkout is slow` looks for next checks and answers in this channel's thread
• `/runbook me …` answers you alone; `/runbook find …` is a question whatever its first word is
• `/runbook open checkout-db/connections` shows a page, `/runbook list` the pages that you may open
• `/runbook gaps` lists what found nothing, most frequent first: what to write next
• Put 🔎 on any message to search for it (again): wider, and without what the thread has shown already
• Mention me in a thread, or write to me directly
Every check is quoted from one of the team's runbooks. I read, quote and link; I run nothing."""


def reviewed(on: date) -> str:
    """When a page was last reviewed."""
    return f"Reviewed {on:%Y-%m-%d}"


def page(title: str) -> str:
    """What a notification says of an opened page."""
    return f"Runbook: {title}"


def too_long(characters: int) -> str:
    """A block of a page that no message can hold."""
    return f"({characters} characters in one block: too long to show here)"


def looks_for(words: str) -> str:
    """The line in the channel over an answer to a command; it follows the asker's name."""
    return f" looks for: {words}"


def failed(error: Exception, reference: str) -> str:
    """A failure, with what to name when reporting it: a known one by its sentence, an unknown one without details."""
    known = NO_ANSWER.get(error.reason) if isinstance(error, RunbookBotError) else None  # type: ignore[call-overload]
    return f"{known or NO_ANSWER['failed']} {named(reference)}"


def named(reference: str) -> str:
    """What to name when reporting something."""
    return f"Reference: {reference}"


def more_pages(count: int) -> str:
    """Of a list."""
    return f"… and {count} more."


GENERAL = "General"
"""Heading of the pages that belong to no service, in a list."""


def listed(count: int) -> str:
    """What a notification says of the list."""
    return f"{count} runbook{'s' * (count != 1)} that you may open"


# --- redaction ----------------------------------------------------------------------------------------------

RECEIPT = (
    "Your message held what looks like {kinds}. It was masked before it was searched for, but everybody here can "
    "still read the message itself: please rotate what was posted, then delete or edit the message. "
    "Only you see this note."
)
