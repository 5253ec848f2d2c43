"""`ask`: one question through the very path that Slack's questions take."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from bot.answering.models import Answer, NoAnswer, Question, Reply, Trigger
from bot.cli import AccessOption, DataOption, JsonOption, RunbooksOption, app, console, print_json, settings_of


@app.command()
def ask(
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="The question, or an alert's text.")],
    service: Annotated[str | None, typer.Option("--service", help="Search this service's runbooks first.")] = None,
    asker: Annotated[str, typer.Option("--as", metavar="USER", help="Who asks: a Slack id, or a sample name.")] = "ben",
    place: Annotated[str, typer.Option("--in", metavar="PLACE", help="Where it will be read.")] = "incidents",
    limit: Annotated[int, typer.Option("--limit", min=1, max=4, help="At most this many passages.")] = 4,
    runbooks: RunbooksOption = None,
    access: AccessOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the runbooks, as somebody, in some place.

    Without --as and --in: a full member (ben), in a public channel (#incidents). Both take the sample workspace's
    people (ben, ana, pia, gil, olga) and channels (incidents, storefront, payments, partner-acme, random), or real
    Slack ids where SLACK_BOT_TOKEN is set. Brings the index up to date first.
    """
    from bot.app import assemble
    from bot.cli.index import progress_bar
    from bot.cli.people import membership_for

    settings = settings_of(runbooks, access, data)

    async def run() -> Reply:
        async with membership_for(settings, asker, place) as (membership, user, channel):
            with assemble(settings, membership) as parts:
                with progress_bar() as progress:
                    await asyncio.to_thread(parts.publisher.sync, progress)
                where = await parts.access.place(channel)
                question = Question(
                    text=" ".join(words), trigger=Trigger.COMMAND, place=where, asker=user, service=service, limit=limit
                )
                return await parts.answering.reply(question)

    reply = asyncio.run(run())
    outcome = reply.thread or reply.private
    if outcome is None:
        raise typer.Exit(1)
    if as_json:
        rest = reply.private if reply.thread else None
        print_json({**as_data(outcome), "private": as_data(rest) if rest else None})
        return
    show(outcome)
    if reply.thread and reply.private:
        console.print("\n[bold]Only for the asker:[/]")
        show(reply.private)


def as_data(outcome: Answer | NoAnswer) -> dict[str, Any]:
    """An outcome in the form of `ask --json` (README, "Contracts")."""
    answer = outcome if isinstance(outcome, Answer) else None
    return {
        "found": answer is not None,
        "reason": None if isinstance(outcome, Answer) else outcome.reason,
        "incident": outcome.incident.model_dump(),
        "query": outcome.query,
        "explanation": answer.explanation if answer else "",
        "needs_human_review": answer.needs_human_review if answer else True,
        "source_ids": [match.id for match in outcome.matches],
        "checks": [
            {
                "text": check.text,
                "command": check.command,
                "reading": check.reading,
                "changes": check.changes,
                "citation": check.citation.model_dump(exclude={"passage"}),
            }
            for check in (answer.checks if answer else ())
        ],
        "matches": [match.model_dump() for match in outcome.matches],
        "closest": None if isinstance(outcome, Answer) or not outcome.closest else outcome.closest.model_dump(),
        "notices": outcome.notices,
        "owner": outcome.owner,
        "written_by": answer.written_by if answer else None,
        "access": {"audiences": sorted(outcome.audiences), "reasons": outcome.access_reasons},
        "timings_ms": outcome.timings_ms,
    }


def show(outcome: Answer | NoAnswer) -> None:
    """An outcome for a person at a terminal."""
    from bot import sentences

    echo = typer.echo
    if isinstance(outcome, NoAnswer):
        echo(sentences.NO_ANSWER[outcome.reason])
        if outcome.closest:
            echo(f"Closest, probably not it: {outcome.closest.title} ({outcome.closest.runbook})")
        if outcome.owner:
            echo(f"Ask {outcome.owner}.")
        return
    if outcome.incident.service:
        echo(f"service: {outcome.incident.service}\n")
    for number, check in enumerate(outcome.checks, 1):
        at = check.citation
        mark = " (changes something)" if check.changes else ""
        echo(f"{number}. {check.text or 'Run:'}{mark}")
        for line in (check.command or "").splitlines():
            echo(f"      {line}")
        if check.reading:
            echo(f"   {check.reading}")
        echo(f"   — {at.title}, lines {at.start_line}–{at.end_line} ({at.url or at.runbook})\n")
    for notice in outcome.notices:
        echo(notice)
