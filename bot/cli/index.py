"""`sync`: bring the index up to date with the runbook folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from bot.cli import AccessOption, DataOption, JsonOption, RunbooksOption, app, console, print_json, settings_of

if TYPE_CHECKING:
    from bot.library.publish import Progress as Told


@app.command()
def sync(
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Let an empty or missing folder empty the index too.")
    ] = False,
    runbooks: RunbooksOption = None,
    access: AccessOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the index up to date with the runbook folder.

    Only what changed is embedded. Pages that can't be read are left out and listed with what to do; an empty folder
    is an error and changes nothing. While a bot is running on the same data folder, it does this by itself.
    """
    from bot.app import assemble
    from bot.workspace.seed import seed_membership

    with assemble(settings_of(runbooks, access, data), seed_membership()) as parts, progress_bar() as progress:
        report = parts.publisher.sync(progress, allow_empty=allow_empty)
    for refusal in report.refused:
        console.print(
            f"left out: {refusal.path}:{refusal.line}: {refusal.reason} ({refusal.fix})",
            highlight=False, markup=False, soft_wrap=True,
        )  # fmt: skip
    if as_json:
        print_json(report.as_json())
    else:
        typer.echo(str(report))


@contextmanager
def progress_bar() -> Iterator[Told]:
    """A bar on a terminal's standard error, one line for reading and one for indexing; nothing anywhere else."""
    columns = (TextColumn("{task.description:<9}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def told(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what)
            bar.update(tasks[what], completed=done, total=of)

        yield told
