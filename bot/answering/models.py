"""The plain models of the one path: a Question goes in, an Answer or a NoAnswer comes out.

Everything here is serialisable: `--json`, the records and the tests use these very fields.
"""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.access.models import Place


class Model(BaseModel):
    """An immutable value."""

    model_config = ConfigDict(frozen=True)


class Trigger(StrEnum):
    """How a question came."""

    COMMAND = "command"
    ALERT = "alert"
    REACTION = "reaction"
    MENTION = "mention"
    DIRECT_MESSAGE = "direct_message"


Category = Literal[
    "availability", "latency", "errors", "saturation", "database",
    "network", "deploy", "security", "data", "other",
]  # fmt: skip
Severity = Literal["critical", "warning", "info", "unknown"]


class Alert(Model):
    """What was read out of an alert-bot's message."""

    is_alert: bool = True
    status: Literal["firing", "resolved", "unknown"] = "unknown"
    severity: Severity = "unknown"
    service: str | None = None
    """As the alert names it; not yet looked up in the catalogue."""
    name: str = ""
    summary: str = ""
    """The alert's words, cleaned of markup; everything a person would read."""
    labels: dict[str, str] = Field(default_factory=dict)
    runbook_url: str | None = None


class Question(Model):
    """What somebody needs. `text` is raw: nothing but redaction may read it."""

    text: str
    trigger: Trigger
    place: Place
    asker: str | None = None
    """A user id; None for an alert's post."""
    service: str | None = None
    """A hint that somebody gave (`--service`)."""
    alert: Alert | None = None
    """Raw too."""
    context: tuple[str, ...] = ()
    """More raw text: the thread's later messages."""
    exclude: frozenset[str] = frozenset()
    """Ids of passages that the thread has been shown already."""
    wider: bool = False
    """Look beyond the service and a little below the line: for a second search."""
    limit: int = 4
    """Passages to answer from, at most; never more than four."""
    private: bool = False
    """The asker alone reads the answer (`/runbook me`, a place where the bot is not a member)."""


class Incident(Model):
    """The classification made from a question's clean text."""

    summary: str
    category: Category = "other"
    severity: Severity = "unknown"
    service: str | None = None
    """A catalogue name; None where it is unknown or ambiguous: never a guess."""
    confidence: float = 0.0
    evidence: tuple[str, ...] = ()
    """Short quoted pieces of the clean text."""
    missing_information: tuple[str, ...] = ()


class Citation(Model):
    """Where a check stands, word for word."""

    runbook: str
    title: str
    start_line: int
    end_line: int
    quote: str
    passage: str
    """Id of the passage that was fetched."""
    url: str | None = None


class Check(Model):
    """One next check: what to look at, and the command if the runbook has one, byte for byte."""

    text: str
    command: str | None = None
    reading: str = ""
    """How to read what the command prints, where the runbook says so."""
    changes: bool = False
    """The step changes something: shown after the read-only ones, and marked."""
    citation: Citation


class Match(Model):
    """A passage that was found."""

    id: str
    runbook: str
    title: str
    service: str | None
    score: float
    start_line: int
    end_line: int
    start_index: int
    excerpt: str
    route: str


Reason = Literal[
    "nothing_found", "search_unavailable", "access_unknown", "not_allowed", "redaction_failed",
    "empty_question", "not_an_alert", "indexing", "embedding_failed", "empty_library", "failed",
]  # fmt: skip


def new_id() -> str:
    """An opaque record id: the only thing that a button carries."""
    return secrets.token_urlsafe(9)


class Outcome(Model):
    """What every end of the path has."""

    id: str = Field(default_factory=new_id)
    incident: Incident
    asked: str = ""
    """The question's clean text, shortened: for the records, readable only in its place (DESIGN.md, rule 2)."""
    alert: str = ""
    """The alert's name, where the question is one."""
    before: str = ""
    """A sentence on earlier ones of the same in this very place."""
    query: str = ""
    matches: tuple[Match, ...] = ()
    notices: tuple[str, ...] = ()
    """Sentences that the reader must see: overdue pages, access not checked, searched wider, ..."""
    owner: str | None = None
    """To whom to turn: the service's owner, where the readers may know it."""
    timings_ms: dict[str, float] = Field(default_factory=dict)
    audiences: frozenset[str] = frozenset()
    access_reasons: tuple[str, ...] = ()
    private_to: str | None = None


class Answer(Outcome):
    """Cited checks."""

    checks: tuple[Check, ...]
    written_by: str = "quoted"
    """"quoted", or the model's name."""
    explanation: str = ""
    needs_human_review: bool = False


class NoAnswer(Outcome):
    """No checks, and why."""

    reason: Reason
    closest: Match | None = None
    """A near miss, probably not it: only for a person who asked."""


class Reply(Model):
    """Everything that one question leads to: one outcome a readership."""

    thread: Answer | NoAnswer | None = None
    """For the place; None where nothing may stand there."""
    private: Answer | NoAnswer | None = None
    """For the asker alone, where it cites something that the thread does not."""
