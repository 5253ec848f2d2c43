"""`read-alert`: what the bot reads out of an alert-bot's message, to try a sender before its channel is switched on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli import JsonOption, app, print_json
from bot.errors import ConfigurationError


@app.command("read-alert")
def read_alert_command(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.json", help='A Slack message event, or {"event": …}; - reads standard input.'),
    ],
    as_json: JsonOption = True,  # it is data, with or without the option
) -> None:
    """Show what is read out of a Slack message: whether it is an alert, its status, severity, service and words.

    Nothing is redacted here and nothing is kept: this is for looking at a message of your own.
    """
    from bot.slack.alerts import read_alert

    found: dict[str, Any] = read_alert(_event(file)).model_dump()
    if found["status"] == "unknown":
        found["status"] = None
    print_json(found)


def _event(file: Path) -> dict[str, Any]:
    try:
        text = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text(encoding="utf-8")
        event = json.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ConfigurationError(f"this is no JSON that can be read: {error}", where=file) from None
    if not isinstance(event, dict) or not isinstance(event.get("event", event), dict):
        raise ConfigurationError("this is no Slack message event", where=file, fix='an object, or {"event": …}')
    return event
