"""What no runbook covers yet: alerts and questions that found nothing, the most frequent first.

Made only from what the reader may know of (`Asked.visible`): whether somebody else was answered privately changes
nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

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
            found.append(Gap(last.alert or last.text, bool(last.alert), last.service, of, len(in_vain), last.at))
    return sorted(found, key=lambda gap: (-gap.count, -gap.last))


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
