"""`feedback export` and `gaps`: what people said of answers, and what no runbook covers, for whoever runs the bot.

Both read the records of every place; the words in them are redacted, and no person and no place is named.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli import DataOption, JsonOption, RunbooksOption, app, console, print_json, settings_of
from bot.errors import ConfigurationError
from bot.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy import Engine

DAY = 86_400.0

feedback = typer.Typer(help="What people said of answers.", no_args_is_help=True)
app.add_typer(feedback, name="feedback")


@feedback.command()
def export(
    wrong: Annotated[
        bool, typer.Option("--wrong", help='Also the questions of which only "wrong runbook" is known.')
    ] = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print labelled questions (JSON lines) as `runbook-bot eval` takes them.

    A page is `expected` where somebody ticked one of its checks as the one that helped, or found the answer helpful.
    "Wrong runbook" makes it `not_expected`; a question of which nothing else is known is left out without --wrong.
    Pages that are gone are no labels. The questions of all places are among them, redacted: keep the file accordingly.
    """
    lines: list[dict[str, Any]] = []
    with _records(settings_of(None, None, data)) as engine:
        if engine is not None:
            lines = _labels(engine)
    if left_out := sum(not line["expected"] for line in lines) * (not wrong):
        lines = [line for line in lines if line["expected"]]
        console.print(f"{left_out} questions have only a wrong runbook (see --wrong).", highlight=False)
    if as_json:
        print_json(lines)
        return
    for line in lines:
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
    if not lines:
        console.print("Nothing was said of any answer yet.", highlight=False)


@app.command()
def gaps(
    days: Annotated[int, typer.Option("--days", min=1, help="Look back so far.")] = 90,
    number: Annotated[
        int | None, typer.Option("--draft", min=1, metavar="N", help="Print the beginning of a page for the Nth one.")
    ] = None,
    runbooks: RunbooksOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the alerts and questions that found nothing, the most frequent first: what to write next.

    Those of all places; in Slack, `/runbook gaps` lists those that the asker may know of.
    """
    from bot.records.asked import Questions
    from bot.records.gaps import Gap, draft
    from bot.records.gaps import gaps as gaps_in

    settings = settings_of(runbooks, None, data)
    found: list[Gap] = []
    with _records(settings) as engine:
        if engine is not None:
            found = gaps_in(Questions(engine).since(time.time() - days * DAY), _owners(settings))
    if number is not None:
        if number > len(found):
            raise ConfigurationError(f"there is no gap number {number}", fix=f"there are {len(found)}")
        sys.stdout.write(draft(found[number - 1], datetime.now(UTC).date()))
        return
    if as_json:
        print_json([{**asdict(gap), "last": datetime.fromtimestamp(gap.last, UTC).isoformat()} for gap in found])
        return
    for place, gap in enumerate(found, start=1):
        about = ", ".join(part for part in (gap.service, gap.owner) if part)
        # an alert's words are anybody's: none of them may steer a terminal
        name = "".join(char for char in " ".join(gap.name.split()) if char.isprintable())
        shown = name if len(name) <= 100 else name[:99] + "…"
        last = f"{datetime.fromtimestamp(gap.last, UTC):%Y-%m-%d}"
        typer.echo(f"{place:>3}. {gap.count}×, last {last}: {shown}{about and f'  ({about})'}")
    if not found:
        console.print(f"Nothing was asked in vain in the last {days} days.", highlight=False)


@contextmanager
def _records(settings: Settings) -> Iterator[Engine | None]:
    """The records database; None where there is none yet: looking makes none."""
    from bot.records.database import open_database

    file = settings.data_dir / "records.db"
    if not settings.database_url and not file.exists():
        yield None
        return
    engine = open_database(settings.database_url or file)
    try:
        yield engine
    finally:
        engine.dispose()


def _labels(engine: Engine) -> list[dict[str, Any]]:
    from bot.records.answers import Answers
    from bot.records.feedback import Feedback
    from bot.records.labels import labelled
    from bot.records.manifest import SqlManifest

    return labelled(Feedback(engine).everything(), Answers(engine).get, SqlManifest(engine).read().runbooks)


def _owners(settings: Settings) -> Callable[[str], str]:
    from bot.library.catalogue import load_catalogue

    catalogue = load_catalogue(settings.runbooks_dir)

    def owner(name: str) -> str:
        service = catalogue.find(name) if catalogue else None
        return service.owner if service else ""

    return owner
