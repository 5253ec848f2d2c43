"""The cost of a decision at 10,000 users, 500 pages and 20 rules: `python -m tests.bench.access`.

Slack is the local workspace on loopback: "asked" is the making and reading of its answers, without Slack's distance.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bot.access.decisions import Access
from bot.access.policy import PolicyFile, load_policy
from bot.library.models import Runbook
from bot.settings import Settings
from bot.slack.delivery import slack_client
from bot.slack.membership import SlackMembership
from bot.workspace import Workspace
from bot.workspace.world import BOT_USER, Channel, Group, User, World

USERS, PAGES, RULES = 10_000, 500, 20


def world() -> World:
    people = [User(f"U0P{number:05}", f"p{number}") for number in range(USERS)]
    everybody = {user.id for user in people}
    return World(
        [User(BOT_USER, "runbook", bot_id="B0RUNBOT"), *people],
        [Group(f"S0G{n}", f"team-{n}", {f"U0P{m:05}" for m in range(n * 50, n * 50 + 50)}) for n in range(10)],
        [
            Channel("C0ALL", "all", members=everybody | {BOT_USER}),
            Channel("C0FEW", "few", members={f"U0P{n:05}" for n in range(50)} | {BOT_USER}),
            Channel("C0TEAM", "team", "group", {f"U0P{n:05}" for n in range(50)} | {BOT_USER}),
        ],
    )


def policy() -> str:
    audiences = "".join(f"  team-{n}: {{usergroups: [team-{n}]}}\n" for n in range(9))
    rules = "".join(
        f"  - {{paths: '{'**/secret' if n % 4 == 3 else f'folder-{n}'}/**', audience: team-{n % 9}}}\n"
        for n in range(RULES)
    )
    return f"audiences:\n{audiences}  channel: {{channels: [C0TEAM]}}\ndefault: members\nrules:\n{rules}"


async def measured(work: Callable[[], Awaitable[object]], times: int = 50) -> str:
    """Median and worst, in milliseconds."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        await work()
        took.append((time.perf_counter() - start) * 1000)
    return f"{statistics.median(took):9.3f} {max(took):9.3f}"


async def main() -> None:
    pages = [
        Runbook(f"folder-{n % 25}/{'secret/' if n % 7 == 0 else ''}page-{n}.md", f"Page {n}", "", "")
        for n in range(PAGES)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "access.yaml")
        path.write_text(policy())  # noqa: ASYNC240
        async with Workspace(world=world()) as workspace:
            settings = Settings(_env_file=None, slack_bot_token=workspace.bot_token, slack_api_url=workspace.api_url)  # type: ignore[arg-type, call-arg]
            membership = SlackMembership(slack_client(settings))
            start = time.perf_counter()
            await membership.start()
            print(f"listing {USERS} people at start: {time.perf_counter() - start:.2f} s")
            access = Access(PolicyFile(path), membership)
            user = "U0P00007"

            async def place(channel: str, *, fresh: bool = False) -> None:
                access.readable(await access.of_place(await access.place(channel, fresh=fresh)), pages)

            async def person(*, fresh: bool = False) -> None:
                access.readable(await access.of_person(user, fresh=fresh), pages)

            async def readable() -> None:
                access.readable(member, pages)

            async def parsed() -> None:
                load_policy(path)

            async def labelled() -> None:
                again = load_policy(path)
                for page in pages:
                    again.label(page.path)

            member = await access.of_person(user)
            print(f"{'':56}{'median ms':>10}{'worst':>10}")
            for name, work in (
                ("read the policy (20 rules)", parsed),
                ("read it and label 500 pages", labelled),
                ("which of 500 pages, readership known", readable),
                ("person, cached", person),
                ("person, asked (10 audiences, 4 calls)", lambda: person(fresh=True)),
                ("one page at a click, asked", lambda: access.may_open(user, pages[0])),
                ("channel of 50, cached", lambda: place("C0FEW")),
                ("channel of 50, asked (2 calls)", lambda: place("C0FEW", fresh=True)),
                ("channel of 10,000, cached", lambda: place("C0ALL")),
                ("channel of 10,000, asked (11 calls)", lambda: place("C0ALL", fresh=True)),
            ):
                times = 5 if "10,000, asked" in name else 50
                print(f"{name:56}{await measured(work, times)}")
            await membership.stop()


if __name__ == "__main__":
    asyncio.run(main())
