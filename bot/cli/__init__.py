"""`runbook-bot`: the command line. One module a family of commands; this one holds what they share."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from bot.errors import RunbookBotError
from bot.settings import Settings, read_settings

app = typer.Typer(
    name="runbook-bot",
    help="Answers alerts and questions in Slack with cited next checks from your own runbooks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

RunbooksOption = Annotated[
    Path | None, typer.Option("--runbooks", metavar="DIR", help="Folder of Markdown runbooks. [RUNBOOKS_DIR; runbooks]")
]
AccessOption = Annotated[
    Path | None, typer.Option("--access", metavar="FILE", help="The access policy. [ACCESS_FILE; access.yaml]")
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Where the index and the records live. [DATA_DIR; data]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON to standard output and nothing else.")]

console = Console(stderr=True)
"""Progress and remarks go here: standard output is for results."""


def settings_of(runbooks: Path | None, access: Path | None, data: Path | None, *, level: str = "WARNING") -> Settings:
    """The settings with the three options that every command takes.

    Logs go to standard error, from `level` on where LOG_LEVEL says nothing else.
    """
    settings = read_settings(runbooks_dir=runbooks, access_file=access, data_dir=data)
    logging.basicConfig(
        stream=sys.stderr,
        level=settings.log_level.upper() or level,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    return settings


def print_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def fail(error: RunbookBotError) -> NoReturn:
    """Say a known failure in one line and end with status 2."""
    console.print(f"[bold red]error[/]: {error}", highlight=False, soft_wrap=True)
    raise typer.Exit(2)


def main() -> None:
    """The entry point. A known failure ends with its sentence, status 2."""
    from bot.cli import commands  # noqa: F401  (registers every command)

    logging.captureWarnings(True)
    try:
        app()
    except RunbookBotError as error:
        console.print(f"[bold red]error[/]: {error}", highlight=False, soft_wrap=True)
        sys.exit(2)
