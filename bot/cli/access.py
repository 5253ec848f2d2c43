"""`access`: who may read a runbook, or what may stand in a place, and why."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Annotated

import typer

from bot.access.models import Decision
from bot.cli import AccessOption, DataOption, JsonOption, RunbooksOption, app, console, print_json, settings_of
from bot.errors import UnreadablePage
from bot.library.models import Runbook
from bot.settings import Settings

_PLACE = re.compile(r"#.+|[CGD][A-Z0-9]{2,}")


@app.command()
def access(
    who: Annotated[str, typer.Argument(metavar="USER|PLACE", help="A Slack id, or a sample name: ana, #payments.")],
    runbook: Annotated[str, typer.Argument(metavar="RUNBOOK", help="Its path in the runbook folder.")],
    runbooks: RunbooksOption = None,
    access: AccessOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell whether somebody may read a runbook, or whether it may stand in a place, rule by rule.

    Takes the sample workspace's people (ben, ana, pia, gil, olga) and channels (#incidents, #storefront, #payments,
    #partner-acme, #random), or real Slack ids where SLACK_BOT_TOKEN is set. Writes nothing and searches nothing.
    """
    settings = settings_of(runbooks, access, data)
    page = read_runbook(settings.runbooks_dir, runbook)
    decision = asyncio.run(decide(settings, who, page or Runbook(path=runbook, title="", text="", version="")))
    if page is None:
        console.print(f"There is no page {runbook} now: this is what the policy says of that path.", highlight=False)
    if as_json:
        print_json({"who": who, "runbook": runbook, "allowed": decision.allowed, "reasons": decision.reasons})
        return
    for reason in decision.reasons:
        typer.echo(reason)


async def decide(settings: Settings, who: str, page: Runbook) -> Decision:
    """The decision for a person or a place, by id or by one of the sample workspace's names."""
    from bot.access.decisions import Access
    from bot.access.policy import Policy, find_policy, load_policy
    from bot.cli.people import membership_for

    path = find_policy(settings.access_file, settings.runbooks_dir)
    if path is None:
        console.print("There is no access policy: every runbook counts as readable by full members.")
    policy = load_policy(path) if path else Policy.MEMBERS_ONLY
    name = who.lstrip("@#")
    async with membership_for(settings, name, name) as (membership, user, channel):
        place = _PLACE.fullmatch(who) or await membership.person(user) is None
        return await Access(lambda: policy, membership).explain(channel if place else user, page)


def read_runbook(folder: Path, path: str) -> Runbook | None:
    """The page at this path, unredacted: only its own audience is looked at. None where there is none.

    Raises UnreadablePage where it would be left out of the index.
    """
    from bot.library.load import find_pages, read_page

    found = next((page for page in find_pages(folder) if page.path == path), None)
    if found is None:
        return None
    if found.problem:
        raise UnreadablePage(found.problem, fix=found.fix)
    return read_page(path, found.file.read_bytes(), clean=lambda text: text)
