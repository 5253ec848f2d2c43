"""What goes into a search and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bot.library.models import Passage, Runbook

Scope = Literal["service", "general", "all"]


@dataclass(frozen=True)
class Query:
    """A search, built from the classified fields and not from the whole message."""

    text: str
    """What meaning and words look for."""
    alert_name: str = ""
    runbook_url: str = ""
    identifiers: tuple[str, ...] = ()
    """Error codes, metric names and other rare words that are worth an exact look."""
    service: str | None = None
    """Catalogue name; None searches everywhere."""
    wider: bool = False


@dataclass(frozen=True)
class Hit:
    """A passage that was found. `score` is calibrated: about the chance that it is right, 0 to 1."""

    passage: Passage
    runbook: Runbook
    score: float
    route: str
    """How it was found: "runbook link", "alert name", "identifier", "meaning and words"."""


@dataclass(frozen=True)
class Findings:
    """`ranked` is everything worth a look, best first; `hits` are the at most four that may be answered from."""

    hits: tuple[Hit, ...]
    ranked: tuple[Hit, ...] = ()
    """One a runbook, before the decision to stay silent; for evaluation and for the near miss."""
    scope: Scope = "all"
    timings_ms: Mapping[str, float] = field(default_factory=dict)
