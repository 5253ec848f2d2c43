"""Measures the search on labelled questions, along the very path of `ask`: how often the right runbook comes first.

Hits count what was ranked, before the decision to stay silent; `answered` and `unanswered` count that decision.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.access.models import Place
from bot.answering.models import Answer, Question, Trigger
from bot.answering.pipeline import Answering
from bot.errors import ConfigurationError
from bot.search.models import Findings, Query
from bot.search.search import MOST, Search

MODES: dict[str, tuple[str, ...]] = {
    "words alone": ("words",),
    "meaning alone": ("meaning",),
    "both, and every other sign": (),
}
"""What `--compare` runs: signs of `bot.search.ranking`; none named means all of them, weighed."""
MOST_WRONG = 0.05
"""Share of unanswerable questions that may be answered: better no answer than a wrong one."""


class Row(BaseModel):
    """One labelled question: a line of QUERIES.jsonl."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    query: str
    expected: tuple[str, ...] = ()
    """Paths of the right pages, relative to the runbook folder: any one is right. Empty: nothing should be found."""
    id: str = ""
    tier: str = "all"
    service: str | None = None
    source: str | None = None
    expected_heading: str | None = None
    not_expected: tuple[str, ...] = ()
    """Pages that somebody called wrong (`feedback export --wrong`)."""

    @property
    def answerable(self) -> bool:
        """Whether there is a right page."""
        return bool(self.expected)


class Ranked(BaseModel):
    """One page in the order found."""

    path: str
    score: float
    route: str
    headings: tuple[str, ...] = ()


class Result(BaseModel):
    """What became of one row."""

    row: Row
    ranked: tuple[Ranked, ...] = ()
    answered: bool = False
    ms: float = 0.0
    parts: dict[str, float] = Field(default_factory=dict)

    @property
    def rank(self) -> int | None:
        """The place of the first right page, from 1; None where no right page was ranked."""
        right = (i for i, page in enumerate(self.ranked, start=1) if page.path in self.row.expected)
        return next(right, None)

    @property
    def score(self) -> float:
        """Of the best page, whatever it is."""
        return self.ranked[0].score if self.ranked else 0.0

    @property
    def under_heading(self) -> bool:
        """Whether the top passage of the first right page lies under the heading that was wanted."""
        page = next((page for page in self.ranked if page.path in self.row.expected), None)
        return page is not None and self.row.expected_heading in page.headings


@dataclass
class _Recording:
    """A Search that keeps what the first look of a question found."""

    search: Search
    findings: Findings | None = None

    def find(
        self, query: Query, allowed: Collection[str], *, exclude: frozenset[str] = frozenset(), limit: int = MOST
    ) -> Findings:
        found = self.search.find(query, allowed, exclude=exclude, limit=limit)
        self.findings = self.findings or found
        return found


def read_rows(path: Path) -> list[Row]:
    """The labelled questions of a file. Raises ConfigurationError with the line that can't be read."""
    rows = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"can't be read: {error}", where=path) from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = Row.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            what = ".".join(str(part) for part in first["loc"]) or "the line"
            raise ConfigurationError(f"{what}: {first['msg']}", where=path, line=number) from None
        rows.append(row.model_copy(update={"tier": "noanswer"}) if row.tier == "all" and _nothing(row) else row)
    if not rows:
        raise ConfigurationError("there are no questions in it", where=path)
    return rows


async def evaluate(
    answering: Answering, rows: Iterable[Row], *, place: Place, asker: str, with_service: bool = False
) -> AsyncIterator[Result]:
    """The results, one by one. Checks are quoted, never worded by a model. Raises what the path raises."""
    for row in rows:
        recording = _Recording(answering.search)
        path = replace(answering, search=cast(Search, recording), writer=None)
        question = Question(
            text=row.query,
            trigger=Trigger.COMMAND,
            place=place,
            asker=asker,
            service=row.service if with_service else None,
        )
        start = time.perf_counter()
        reply = await path.reply(question)
        ms = (time.perf_counter() - start) * 1000
        outcome = reply.thread or reply.private
        if outcome is None or (
            not isinstance(outcome, Answer) and outcome.reason not in ("nothing_found", "empty_question")
        ):
            reason = getattr(outcome, "reason", "no reply")
            raise ConfigurationError(f"question {row.id or row.query[:40]!r} could not be searched: {reason}")
        ranked = recording.findings.ranked if recording.findings else ()
        yield Result(
            row=row,
            ranked=tuple(
                Ranked(path=h.runbook.path, score=round(h.score, 4), route=h.route, headings=h.passage.headings)
                for h in ranked
            ),
            answered=isinstance(outcome, Answer),
            ms=ms,
            parts=outcome.timings_ms,
        )


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """The figures that `eval --json` prints."""
    tiers: dict[str, list[Result]] = {}
    for result in results:
        tiers.setdefault(result.row.tier, []).append(result)
    times = [result.ms for result in results]
    return {
        "tiers": {tier: figures(of) for tier, of in tiers.items()},
        "auroc": auroc(results),
        "ms": {"p50": round(median(times), 1), "p95": round(_percentile(times, 95), 1)},
        "parts_ms": _parts(results),
    }


def figures(results: Sequence[Result]) -> dict[str, float]:
    """Of one tier, service or source: n, and what its rows allow to be counted."""
    right = [r for r in results if r.row.answerable]
    nothing = [r for r in results if _nothing(r.row)]
    wrong = [r for r in results if r.row.not_expected and not r.row.answerable]
    found: dict[str, float] = {"n": len(results)}
    if right:
        found["hit@1"] = _share(r.rank == 1 for r in right)
        found["hit@3"] = _share(r.rank is not None and r.rank <= 3 for r in right)
        found["mrr"] = round(sum(1 / r.rank for r in right if r.rank) / len(right), 4)
        found["unanswered"] = _share(not r.answered for r in right)
        if headed := [r for r in right if r.row.expected_heading]:
            found["heading"] = _share(r.under_heading for r in headed)
    if nothing:
        found["answered"] = _share(r.answered for r in nothing)
    if wrong:
        found["wrong again"] = _share(r.answered and r.ranked[0].path in r.row.not_expected for r in wrong)
    return found


def grouped(results: Sequence[Result], by: str) -> dict[str, dict[str, float]]:
    """Figures for each tier, service or source."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(str(getattr(result.row, by) or "-"), []).append(result)
    return {name: figures(of) for name, of in sorted(groups.items())}


def misses(results: Sequence[Result], most: int) -> list[Result]:
    """The rows whose right page did not come first, and the unanswerable ones that were answered; the surest first."""
    wrong = [r for r in results if (r.row.answerable and r.rank != 1) or (_nothing(r.row) and r.answered)]
    return sorted(wrong, key=lambda r: -r.score)[:most]


def auroc(results: Sequence[Result]) -> float | None:
    """The chance that an answerable question scores above an unanswerable one; None where either is missing."""
    yes = [r.score for r in results if r.row.answerable]
    no = [r.score for r in results if _nothing(r.row)]
    if not yes or not no:
        return None
    better = sum((a > b) + 0.5 * (a == b) for a in yes for b in no)
    return round(better / (len(yes) * len(no)), 4)


def fitted_line(results: Sequence[Result], most_wrong: float = MOST_WRONG) -> float:
    """The lowest line at which at most `most_wrong` of the unanswerable questions are answered.

    Raises ConfigurationError where there are no unanswerable questions to fit it to.
    """
    no = sorted((r.score for r in results if _nothing(r.row)), reverse=True)
    if not no:
        raise ConfigurationError(
            "a line can't be fitted without questions that nothing should answer", fix='add lines with "expected": []'
        )
    allowed = int(most_wrong * len(no))
    yes = [r.score for r in results if r.row.answerable and r.score > no[allowed]]
    above = min(yes, default=1.0)
    return round((no[allowed] + above) / 2, 4)


def with_line(results: Sequence[Result], line: float) -> list[Result]:
    """The same results, decided by another line. (Silence because no check could be quoted is not foreseen here.)"""
    return [result.model_copy(update={"answered": result.score >= line}) for result in results]


def _nothing(row: Row) -> bool:
    return not row.expected and not row.not_expected


def _share(of: Iterable[bool]) -> float:
    values = list(of)
    return round(sum(values) / len(values), 4)


def _percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100)[percent - 1] if len(values) > 1 else values[0]


def _parts(results: Sequence[Result]) -> Mapping[str, float]:
    """The median of each step."""
    names = dict.fromkeys(name for result in results for name in result.parts)
    return {name: round(median(r.parts.get(name, 0.0) for r in results), 2) for name in names}
