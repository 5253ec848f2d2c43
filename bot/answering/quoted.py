"""Checks without a model: the passages' own steps, quoted (DESIGN.md, step 5).

The order is the one a person on call would want: the best runbook first, what only looks before what changes
something, the page's own order otherwise. A look that belongs behind a change ("then compare …") stays behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.answering.models import Check, Citation
from bot.answering.steps import Step, steps_of
from bot.answering.verify import Claimed, fold, verify
from bot.errors import CitationError
from bot.library.models import Passage, Runbook
from bot.search.models import Hit

MOST_CHECKS = 5
MOST_FROM_OTHERS = 2
"""Checks from runbooks that are not the first."""
ENOUGH = 2
"""With so many steps of a page, its prose is not quoted beside them."""
LONGEST_TEXT = 400
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+|\d+")


def quoted_checks(hits: Sequence[Hit], query: str) -> list[Check]:
    """Up to five checks from these hits, best first. Empty only where the passages hold no words at all."""
    runbooks: Mapping[str, Runbook] = {hit.runbook.path: hit.runbook for hit in hits}
    wanted = _words(query)
    chosen: list[_Found] = []
    for path, runbook in runbooks.items():
        of_page = _joined(runbook, [hit.passage for hit in hits if hit.runbook.path == path])
        room = MOST_CHECKS - len(chosen) if not chosen else min(MOST_FROM_OTHERS, MOST_CHECKS - len(chosen))
        chosen.extend(_best(of_page, wanted, room))
    checks = []
    for found in sorted(chosen, key=lambda found: found.late):
        step, passage = found.step, found.passage
        try:
            check = verify(_claim(passage, step), {passage.id: passage}, runbooks)
        except CitationError:  # a step that can't be cited as it stands is left out, like a model's
            continue
        more = {
            "reading": _shortened(step.reading),
            "changes": check.changes or step.changes,
            "citation": _of_its_passage(check.citation, hits),
        }
        checks.append(check.model_copy(update=more))
    return _distinct(checks)


def _joined(runbook: Runbook, passages: Sequence[Passage]) -> list[Passage]:
    """The passages in the page's order, neighbours as one: a step may begin in one and be explained in the next."""
    joined: list[Passage] = []
    for passage in sorted(passages, key=lambda passage: passage.start):
        before = joined[-1] if joined else None
        end = passage.start + len(passage.text)
        if before and not runbook.text[before.start + len(before.text) : passage.start].strip():
            joined[-1] = replace(before, end_line=passage.end_line, text=runbook.text[before.start : end])
        else:
            joined.append(passage)
    return joined


def _of_its_passage(at: Citation, hits: Sequence[Hit]) -> Citation:
    """The citation, of the very passage in which its quote begins."""
    of_page = [hit.passage for hit in hits if hit.runbook.path == at.runbook]
    holding = [p for p in of_page if p.start_line <= at.start_line <= p.end_line]
    return at.model_copy(update={"passage": holding[0].id}) if holding else at


@dataclass(frozen=True, slots=True)
class _Found:
    passage: Passage
    step: Step
    late: bool
    """It changes something, or follows a step of the page that does; a row of a table answers for itself."""


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _best(passages: Iterable[Passage], wanted: frozenset[str], room: int) -> list[_Found]:
    """The steps of one page most worth quoting, in the page's order; prose only where there is little else."""
    candidates: list[_Found] = []
    late = False
    for passage in sorted(passages, key=lambda passage: passage.start):
        for step in steps_of(passage):
            late |= step.changes
            candidates.append(_Found(passage, step, late and step.kind != "row"))
    ranked = sorted(candidates, key=lambda found: -_worth(found.step, wanted))
    steps = [found for found in ranked if found.step.kind != "prose" and _worth(found.step, wanted) > 0]
    prose = [found for found in ranked if found.step.kind == "prose"]
    best = (steps + prose[: max(0, ENOUGH - len(steps))])[:room]
    return sorted(best, key=lambda found: (found.passage.start, found.step.first))


def _worth(step: Step, wanted: frozenset[str]) -> float:
    words = _words(step.text)
    overlap = len(words & wanted) / (len(wanted) or 1)
    if step.kind == "row":
        # a table is a list of answers to different questions: only the row that was asked for is worth anything
        keys = _words(step.fields[0][1]) if step.fields else words
        return 4.0 if keys and keys <= wanted else 2.0 * overlap - 0.5
    base = {"step": 2.0, "prose": 0.5}[step.kind]
    return base + 1.0 * bool(step.command) + 0.6 * step.checking - 1.5 * step.aside - 0.8 * step.changes + overlap


def _claim(passage: Passage, step: Step) -> Claimed:
    quote = "\n".join(passage.text.split("\n")[step.first : step.last + 1])
    return Claimed(_shortened(step.text), step.command, passage.id, quote)


def _shortened(text: str) -> str:
    """Whole sentences up to the limit; the quote keeps the rest."""
    text = fold(text)
    if len(text) <= LONGEST_TEXT:
        return text
    cut = max(text.rfind(mark, 0, LONGEST_TEXT) for mark in (". ", "! ", "? ", "; "))
    return text[: cut + 1] if cut > 40 else text[:LONGEST_TEXT].rsplit(" ", 1)[0] + " …"


def _distinct(checks: Iterable[Check]) -> list[Check]:
    """One of each: the same step in a page and in its copy takes one place."""
    seen: dict[tuple[str, str | None], Check] = {}
    for check in checks:
        seen.setdefault((fold(check.text).casefold(), check.command), check)
    return list(seen.values())
