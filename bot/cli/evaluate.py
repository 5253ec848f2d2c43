"""`eval`: how often the search finds the right runbook, measured on labelled questions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bot.cli import AccessOption, DataOption, JsonOption, RunbooksOption, app, console, print_json, settings_of

if TYPE_CHECKING:
    from bot.evaluation import Result, Row
    from bot.settings import Settings

_FIGURES = ("n", "hit@1", "hit@3", "mrr", "heading", "unanswered", "answered", "wrong again")


@app.command(name="eval")
def evaluate(
    queries: Annotated[Path, typer.Argument(metavar="QUERIES", help="Labelled questions, JSON lines.")],
    by: Annotated[Literal["tier", "service", "source"], typer.Option("--by", help="Group the table by this.")] = "tier",
    show: Annotated[int, typer.Option("--misses", min=0, metavar="N", help="Show N questions that went wrong.")] = 0,
    with_service: Annotated[
        bool, typer.Option("--with-service", help="Hand each row's service over as a hint.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Words alone, meaning alone, and both, side by side.")
    ] = False,
    redaction: Annotated[bool, typer.Option("--redaction", help="Also with redaction off, side by side.")] = False,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Fit SEARCH_LINE to these questions.")] = False,
    asker: Annotated[str, typer.Option("--as", metavar="USER", help="Who asks.")] = "ben",
    place: Annotated[str, typer.Option("--in", metavar="PLACE", help="Where it will be read.")] = "incidents",
    runbooks: RunbooksOption = None,
    access: AccessOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the search on labelled questions, along the very path of `ask` (without a model).

    A line: {"query": …, "expected": [paths of right pages, [] where nothing should be found]}, and where they apply
    id, tier, service, source, expected_heading. Hits count what is ranked, before the decision to stay silent;
    "unanswered" and "answered" count that decision. Without --data the index lies in data/eval, beside the bot's.
    """
    from bot import evaluation
    from bot.redaction import KINDS

    rows = evaluation.read_rows(queries)
    settings = settings_of(runbooks, access, data)
    if data is None:
        settings = settings.model_copy(update={"data_dir": settings.data_dir / "eval"})
    modes: dict[str, tuple[str, ...]] = evaluation.MODES if compare else {"": ()}
    runs: dict[str, list[Result]] = {}
    if redaction:  # first, so that the index is left as it should be
        bare = settings.model_copy(update={"redact_off": tuple(KINDS)})
        runs = asyncio.run(_runs(bare, rows, {"redaction off": ()}, asker, place, with_service))
    runs |= asyncio.run(_runs(settings, rows, modes, asker, place, with_service))
    results = list(runs.values())[-1]
    out = Console(highlight=False, soft_wrap=True)
    if as_json:
        report = evaluation.summary(results)
        if compare or redaction:
            report["compare"] = {mode: evaluation.summary(of)["tiers"] for mode, of in runs.items()}
        if calibrate:
            report["line"] = evaluation.fitted_line(results)
        print_json(report)
        return
    for mode, of in runs.items():
        out.print(_table(evaluation.grouped(of, by), by, mode))
    report = evaluation.summary(results)
    out.print(
        f"area under the ROC curve {report['auroc']}; a question {report['ms']['p50']} ms, p95 {report['ms']['p95']}"
    )
    out.print("of which (median ms) " + ", ".join(f"{name} {ms}" for name, ms in report["parts_ms"].items()))
    for miss in evaluation.misses(results, show):
        out.print(_miss(miss), markup=False)
    if calibrate:
        line = evaluation.fitted_line(results)
        out.print(_table(evaluation.grouped(evaluation.with_line(results, line), by), by, f"with SEARCH_LINE={line}"))
        out.print(f"put this into the settings: SEARCH_LINE={line}")


async def _runs(
    settings: Settings,
    rows: Sequence[Row],
    modes: dict[str, tuple[str, ...]],
    asker: str,
    place: str,
    with_service: bool,
) -> dict[str, list[Result]]:
    from bot import evaluation
    from bot.app import assemble
    from bot.cli.index import progress_bar
    from bot.cli.people import membership_for

    runs: dict[str, list[Result]] = {}
    async with membership_for(settings, asker, place) as (membership, user, channel):
        with assemble(settings, membership) as parts:
            with progress_bar() as progress:
                await asyncio.to_thread(parts.publisher.sync, progress)
            where = await parts.access.place(channel)
            for mode, only in modes.items():
                parts.search.only = only
                found = evaluation.evaluate(parts.answering, rows, place=where, asker=user, with_service=with_service)
                bar = iter(track(range(len(rows)), mode or "asking", console=console, disable=not console.is_terminal))
                runs[mode] = [result async for result in found if next(bar, 0) is not None]
    return runs


def _table(groups: dict[str, dict[str, float]], by: str, title: str) -> Table:
    columns = [name for name in _FIGURES if any(name in figures for figures in groups.values())]
    table = Table(by, title=title or None, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right")
    for group, figures in groups.items():
        table.add_row(group, *(_number(name, figures.get(name)) for name in columns))
    return table


def _number(name: str, value: float | None) -> str:
    return "" if value is None else str(value) if name == "n" else f"{value:.3f}"


def _miss(result: Result) -> str:
    row = result.row
    got: list[Any] = [f"{page.path} {page.score:.3f} ({page.route})" for page in result.ranked[:3]]
    wanted = [f"{path} (place {result.rank})" if result.rank else path for path in row.expected]
    return "\n".join(
        (
            f"\n{row.id or '-'} [{row.tier}] {' / '.join(row.query.split(chr(10)))[:300]}",
            f"  wanted: {', '.join(wanted) or 'nothing'}",
            *(f"  got:    {page}" for page in got or ["nothing"]),
        )
    )
