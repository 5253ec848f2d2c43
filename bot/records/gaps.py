"""What no runbook covers yet: alerts and questions that found nothing, the most frequent first.

Made only from what the reader may know of (`Asked.visible`): whether somebody else was answered privately changes
nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

import yaml

from bot.records.asked import Asked


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing that a runbook could be written for."""

    name: str
    """The alert's name, or the question as it was put last."""
    is_alert: bool
    service: str
    owner: str
    count: int
    last: float
    """Unix seconds."""
    text: str
    """The question's words, the last time."""


def gaps(asked: Iterable[Asked], owner: Callable[[str], str]) -> list[Gap]:
    """The gaps in these questions (the oldest first); `owner` gives a service's owner, "" where there is none.

    A gap is closed once the same is answered. A second search that finds nothing more than the first is none.
    """
    same: dict[str, list[Asked]] = {}
    for each in asked:
        same.setdefault(each.key, []).append(each)
    found = []
    for group in same.values():
        if in_vain := _in_vain(group):
            last = in_vain[-1]
            of = owner(last.service) if last.service else ""
            name = last.alert or last.text
            found.append(Gap(name, bool(last.alert), last.service, of, len(in_vain), last.at, last.text))
    return sorted(found, key=lambda gap: (-gap.count, -gap.last))


def draft(gap: Gap, today: date) -> str:
    """The beginning of a page for this gap: to be filled in, and closed to everybody until it is."""
    title = " ".join(gap.name.split())
    facts = {
        "title": title if len(title) <= 120 else title[:119] + "…",
        **({"service": gap.service} if gap.service else {}),
        **({"alerts": [gap.name]} if gap.is_alert else {}),
        **({"owner": gap.owner} if gap.owner else {}),
        "last_reviewed": today,
        "audience": [],
    }
    front = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=1_000)
    closed = front.replace("audience: []", "audience: []  # nobody may read the page until you take this line out")
    seen = "\n".join(f"    {line}" for line in gap.text.splitlines())
    return f"""---
{closed}---

## Symptoms

What was asked, {gap.count} time{"s" * (gap.count > 1)}:

{seen}

## First checks

## Remedies
"""


def _in_vain(group: Sequence[Asked]) -> list[Asked]:
    """Those that found nothing since the last answer."""
    answered: set[tuple[str, str]] = set()
    in_vain: list[Asked] = []
    for each in group:
        here = (each.channel, each.thread)
        if not each.reason:
            answered.add(here)
            in_vain = []
        elif each.reason == "nothing_found" and not (each.trigger == "reaction" and here in answered):
            in_vain.append(each)
    return in_vain
