"""Labelled questions out of what people said, as lines that `runbook-bot eval` takes.

A check that somebody ticked as the one that helped names its page; without such a tick, 👍 names the pages that the
answer cites. "Wrong runbook" names pages that are not the answer, never ones that are. Where voices differ about a
page, more voices win, and a draw says nothing. Lines hold no person and no place.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from bot.records.answers import Kept
from bot.records.asked import key_of, question_of
from bot.records.feedback import WHOLE, Mark

TIER = "feedback"
WRONG = "feedback_wrong"
"""Tier of the lines that only say which page is not the answer: `expected` is empty, `not_expected` is not."""


@dataclass
class _Label:
    query: str
    service: str | None
    alert: str
    source: str
    voices: Counter[str] = field(default_factory=Counter)
    """A page: voices for it less voices against it."""


def labelled(marks: Iterable[Mark], answer: Callable[[str], Kept | None], live: Container[str]) -> list[dict[str, Any]]:
    """A line for each question of which something was said, the oldest first; the same question is one line.

    Only pages that are `live` are labels: others can't be found any more.
    """
    of_answer: dict[str, dict[str, list[Mark]]] = defaultdict(lambda: defaultdict(list))
    for mark in marks:
        of_answer[mark.answer][mark.person].append(mark)
    labels: dict[str, _Label] = {}
    for id, people in of_answer.items():
        kept = answer(id)
        if kept is None or not (query := question_of(kept.outcome)):
            continue
        service = (kept.outcome.get("incident") or {}).get("service")
        label = labels.setdefault(
            key_of(query, service or ""),
            _Label(query, service, str(kept.outcome.get("alert") or ""), kept.trigger),
        )
        cited = [check["citation"]["runbook"] for check in kept.outcome.get("checks", ())]
        for said in people.values():
            label.voices.update(_voices(cited, said))
    return [line for label in labels.values() if (line := _line(label, live))]


def _voices(cited: list[str], said: list[Mark]) -> dict[str, int]:
    """What one person says of each page that an answer cites: 1 for it, -1 against it."""
    helped = {cited[m.number - 1] for m in said if m.word == "helped" and WHOLE < m.number <= len(cited)}
    whole = {m.word for m in said if m.number == WHOLE}
    voices = dict.fromkeys(helped, 1)
    if "wrong" in whole:
        voices |= dict.fromkeys(set(cited) - helped, -1)
    elif "helpful" in whole and not helped:
        voices = dict.fromkeys(cited, 1)
    return voices


def _line(label: _Label, live: Container[str]) -> dict[str, Any] | None:
    expected = sorted(page for page, voices in label.voices.items() if voices > 0 and page in live)
    wrong = sorted(page for page, voices in label.voices.items() if voices < 0 and page in live)
    if not expected and not wrong:
        return None
    return {
        "id": f"feedback-{key_of(label.query, label.service or '')[:12]}",
        "tier": TIER if expected else WRONG,
        "query": label.query,
        "service": label.service,
        "expected": expected,
        **({"not_expected": wrong} if wrong else {}),
        "source": label.source,
        **({"alert": label.alert} if label.alert else {}),
    }
