"""The Slack edge over a real socket to the local workspace, with a small path of its own that can fail or take long."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.access.decisions import Access
from bot.access.models import PlaceKind, Readership
from bot.access.policy import load_policy
from bot.answering.models import Answer, Check, Citation, Incident, NoAnswer, Question, Reply
from bot.library.models import Runbook, Snapshot
from bot.records.database import open_database
from bot.redaction import Redactor
from bot.settings import Settings
from bot.slack.listeners import SlackEdge
from bot.slack.membership import SlackMembership
from bot.workspace import Workspace

POLICY = """\
audiences:
  dba:      {usergroups: [dba-oncall]}
  payments: {channels: [C0PAYMENTS]}
default: members
rules:
  - {paths: "dba/**", audience: dba}
  - {paths: "payments/**", audience: payments}
  - {paths: "status/**", audience: public}
"""

PAGES = {
    "checkout/pool.md": "# Connection pool\n\nLook at the pool when postgres has too many clients.\n\n"
    "```sh\nkubectl -n shop logs deploy/checkout | grep 'a<b & c>d'\n```\n\nThen look at the lag.\n",
    "checkout/latency.md": "# Checkout latency\n\nLook at the latency of checkout.\n",
    "dba/restore.md": "# MARKERDBA restore\n\nRestore from the backup when postgres has lost tables.\n",
    "payments/refunds.md": "# MARKERPAY refunds\n\nRefund by hand when the provider is down.\n",
    "status/page.md": "# Status page\n\nSay on the status page that checkout is slow.\n",
}


@dataclass
class SmallPath:
    """Finds the first readable page that shares a long word with the question; it can be held up and made to fail."""

    access: Access
    pages: dict[str, Runbook]
    redactor: Redactor
    asked: list[Question] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    gate: asyncio.Event | None = None
    """Waited for before anything is decided."""
    hold: asyncio.Event | None = None
    """Waited for after everything is decided."""
    decided: int = 0
    generation: int = 1
    many: int = 1

    def live(self) -> Snapshot:
        return Snapshot(generation=self.generation, runbooks=self.pages)

    async def reply(self, question: Question) -> Reply:
        found = await self._reply(question)
        self.decided += 1
        if self.hold:
            await self.hold.wait()
        return found

    async def _reply(self, question: Question) -> Reply:
        self.asked.append(question)
        if self.gate:
            await self.gate.wait()
        if self.faults:
            raise self.faults.pop(0)
        alone = question.asker and (question.private or question.place.kind is PlaceKind.ELSEWHERE)
        asker = await self.access.of_person(question.asker) if question.asker else None
        if alone and asker:
            return Reply(private=self._outcome(question, asker))
        if question.place.kind is PlaceKind.ELSEWHERE:
            return Reply()
        here = await self.access.of_place(question.place)
        thread = self._outcome(question, here)
        if asker is None or question.place.kind is PlaceKind.DM:
            return Reply(thread=thread)
        more = self.readable(asker).keys() - self.readable(here).keys()
        rest = self._outcome(question, asker, only=more)
        return Reply(thread=thread, private=rest if isinstance(rest, Answer) else None)

    def readable(self, readership: Readership) -> dict[str, Runbook]:
        allowed = self.access.readable(readership, self.pages.values())
        return {path: page for path, page in self.pages.items() if path in allowed}

    def find_runbook(self, name: str, readership: Readership) -> Runbook | None:
        found = [
            p
            for path, p in self.readable(readership).items()
            if name in (path, path.removesuffix(".md"), path.rsplit("/")[-1][:-3])
        ]
        return found[0] if len(found) == 1 else None

    def url(self, runbook: str, start: int, end: int) -> str | None:
        return f"https://runbooks.example/{runbook}?a=1&l={start}"

    def _outcome(self, question: Question, readers: Readership, only: Any = None) -> Answer | NoAnswer:
        wanted = set(re.findall(r"[a-z]{3,}", " ".join((question.text, *question.context)).lower()))
        incident = Incident(summary=self.redactor.redact(question.text).text, service="checkout")
        common = {
            "incident": incident,
            "asked": incident.summary,
            "alert": question.alert.name if question.alert else "",
            "private_to": readers.private_to,
            "audiences": readers.audiences,
        }
        for path, page in self.readable(readers).items():
            if only is not None and path not in only:
                continue
            line = next(
                (
                    t
                    for t in page.text.split("\n")
                    if not t.startswith("#") and len(wanted & set(re.findall(r"[a-z]{3,}", t.lower()))) > 1
                ),
                "",
            )
            if not line or f"{path}:1" in question.exclude:
                continue
            at = page.text.split("\n").index(line) + 1
            code = re.search(r"```sh\n(.*?)\n```", page.text, re.DOTALL)
            citation = Citation(
                runbook=path,
                title=page.title,
                start_line=at,
                end_line=at,
                quote=line,
                passage=f"{path}:1",
                url=self.url(path, at, at),
            )
            checks = tuple(
                Check(text=line, command=code[1] if code else None, citation=citation) for _ in range(self.many)
            )
            return Answer(checks=checks, **common)
        return NoAnswer(reason="nothing_found", owner="team-shop", **common)


@dataclass
class Bot:
    """A running bot in a workspace."""

    edge: SlackEdge
    path: SmallPath
    workspace: Workspace

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something inside the bot, of which the workspace hears nothing."""
        async with asyncio.timeout(15):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def quiet(self) -> None:
        """Wait until everything sent has been acknowledged and worked on."""
        await self.workspace.settled()
        await self.edge.desk.idle()
        await self.workspace.settled()
        await self.edge.desk.idle()


Start = Callable[..., Awaitable[Bot]]


@pytest.fixture
async def start(workspace: Workspace, tmp_path: Path) -> AsyncIterator[Start]:
    """Starts the bot in the workspace; called again it starts another one, on the same records."""
    (tmp_path / "access.yaml").write_text(POLICY)
    policy = load_policy(tmp_path / "access.yaml")
    async with AsyncExitStack() as stack:

        async def begin(*, connect: bool = True, stop: bool = True, database: str = "", **overrides: Any) -> Bot:
            values: dict[str, Any] = {
                "slack_bot_token": workspace.bot_token,
                "slack_app_token": workspace.app_token,
                "slack_signing_secret": workspace.signing_secret,
                "slack_api_url": workspace.api_url,
                "admins": ("U0BEN",),
                "runbook_url": "https://runbooks.example/{path}",
            }
            settings = Settings(_env_file=None, **{**values, **overrides})
            engine = open_database(database or tmp_path / "records.db")
            from bot.slack.delivery import slack_client

            membership = SlackMembership(slack_client(settings))
            pages = {
                p: Runbook(path=p, title=t.split("\n")[0][2:], text=t, version=t, services=(p.split("/")[0],))
                for p, t in PAGES.items()
            }
            path = SmallPath(Access(lambda: policy, membership), pages, Redactor.from_settings(settings))
            edge = SlackEdge(settings, path, engine, membership, sync=lambda: "5 runbooks")
            if stop:
                stack.push_async_callback(_end, edge, engine)
            await edge.start()
            if connect:
                await edge.connect()
                await workspace.connected()
            return Bot(edge, path, workspace)

        yield begin


async def _end(edge: SlackEdge, engine: Any) -> None:
    await edge.stop()
    engine.dispose()


@pytest.fixture
async def bot(start: Start) -> Bot:
    """The bot, connected."""
    return await start()
