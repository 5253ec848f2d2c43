"""`runbook-bot redact`: clean text on the command line."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from bot.cli import app, console
from bot.errors import ConfigurationError
from bot.redaction import KINDS, Redactor
from bot.settings import read_settings


@app.command()
def redact(
    jsonl: Annotated[
        bool,
        typer.Option(
            "--jsonl", help='Lines {"id", "text"} in, lines {"id", "redacted", "spans": [[start, end, kind]]} out.'
        ),
    ] = False,
    kinds: Annotated[
        bool, typer.Option("--kinds", help="List the kinds, for REDACT_OFF and REDACT_ON, and stop.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say on standard error which rule found what, and where.")
    ] = False,
) -> None:
    """Mask secrets and personal data in what comes in on standard input.

    It does what the bot does to every message before anything else sees it. Try it on a log file:

    runbook-bot redact --explain < app.log
    """
    if kinds:
        for kind in KINDS.values():
            sys.stdout.write(f"{kind.name:<14} {'on ' if kind.on else 'off'}  {kind.label}\n")
        return
    redactor = Redactor.from_settings(read_settings())
    source = sys.stdin.buffer.read().decode("utf-8", "replace") if not jsonl else None
    if source is not None:
        clean = redactor.redact(source)
        sys.stdout.write(clean.text)
        if explain:
            for span in clean.spans:
                line = source.count("\n", 0, span.start) + 1
                column = span.start - source.rfind("\n", 0, span.start)
                console.print(
                    f"{line}:{column}  {span.placeholder}  {span.kind}, by rule {span.rule}",
                    highlight=False,
                    markup=False,
                )
        return
    for number, line_ in enumerate(sys.stdin.buffer, 1):
        if not line_.strip():
            continue
        try:
            row = json.loads(line_)
            identifier, text = row["id"], row["text"]
            if not isinstance(text, str):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            raise ConfigurationError(
                'not a JSON object with "id" and "text"', where="standard input", line=number
            ) from None
        clean = redactor.redact(text)
        answer: dict[str, object] = {
            "id": identifier,
            "redacted": clean.text,
            "spans": [[span.start, span.end, span.kind] for span in clean.spans],
        }
        if explain:
            answer["rules"] = [span.rule for span in clean.spans]
        sys.stdout.write(json.dumps(answer, ensure_ascii=True) + "\n")
