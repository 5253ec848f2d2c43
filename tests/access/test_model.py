"""Random policies, people, groups, places, pages and moves: access is exactly what a plain definition says.

What is tested here (`InForce`) is the real policy file, the real decisions and the real membership; its calls take the
workspace's Web API in this process, so that thousands of scenarios run in minutes. `test_model_bot.py` asks the whole
bot the same.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.access.decisions import Access
from bot.access.policy import PolicyFile
from bot.errors import WorkspaceRefusal
from bot.library.models import Runbook
from bot.slack.membership import SlackMembership
from bot.workspace import Workspace
from bot.workspace.world import World
from tests.access.model import (
    BUILT_IN,
    CHANNELS,
    USERS,
    Plainly,
    pages,
    policies,
    random_move,
    random_world,
    write_policy,
)

METHODS = ("users.info", "users.list", "usergroups.list", "conversations.info", "conversations.members")


# --- what is tested -----------------------------------------------------------------------------------------------


class InProcess(AsyncWebClient):
    """Slack's client without its socket."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace.bot_token)
        self.workspace = workspace
        self.down: set[str] = set()

    async def api_call(self, api_method: str, **options: Any) -> AsyncSlackResponse:  # type: ignore[override]
        data: dict[str, Any]
        status = 500 if api_method in self.down else 200
        try:
            arguments = dict(options.get("params") or {})
            answer = self.workspace.web_api._call(api_method, self.workspace.bot_token, arguments)
            data = {"ok": status == 200, **answer} if status == 200 else {"ok": False}
        except WorkspaceRefusal as refusal:
            data = {"ok": False, "error": refusal.error}
        return AsyncSlackResponse(
            client=self, http_verb="GET", api_url=api_method, req_args={}, data=data, headers={}, status_code=status
        ).validate()


class InForce:
    """The policy file, the decisions and the membership of the program."""

    def __init__(self, world: World, pages: dict[str, tuple[str, ...] | None], policy: Path) -> None:
        self.now = 0.0
        self.heard = 0
        self.pages, self.policy = pages, policy
        self.workspace = Workspace(world=world)
        self.client = InProcess(self.workspace)
        self.membership = SlackMembership(self.client, clock=lambda: self.now)
        self.workspace.outbox.event = self._hear  # type: ignore[method-assign]
        self.access = Access(PolicyFile(policy), self.membership)

    def _hear(self, envelope: dict[str, Any]) -> None:
        self.heard += 1
        self.membership.on_event(envelope["event"])

    def _page(self, path: str) -> Runbook:
        return Runbook(path=path, title=path, text="", version="", audience=self.pages[path])

    def _reads(self, readership: Any) -> tuple[set[str], bool]:
        pages = [self._page(path) for path in self.pages]
        readable = self.access.readable(readership, pages)
        assert readable == {page.path for page in pages if self.access.decide(readership, page).allowed}
        assert not any(self.access.closed(page) for page in pages if page.path in readable)
        return set(readable), readership.checked

    async def person_reads(self, user: str, fresh: bool) -> tuple[set[str], bool]:
        return self._reads(await self.access.of_person(user, fresh=fresh))

    async def place_reads(self, channel: str, fresh: bool) -> tuple[set[str], bool]:
        return self._reads(await self.access.of_place(await self.access.place(channel, fresh=fresh), fresh=fresh))

    async def opens(self, user: str, path: str) -> bool:
        return (await self.access.may_open(user, self._page(path))).allowed


# --- scenarios ----------------------------------------------------------------------------------------------------


@dataclass
class Scenario:
    """One world with its policy and pages, and what happens in it."""

    draw: Any
    folder: Path

    def __post_init__(self) -> None:
        draw = self.draw
        self.world = random_world(draw)
        self.plainly = Plainly(self.world, draw(policies), draw(pages))
        self.path = self.folder / "access.yaml"
        write_policy(self.path, self.plainly.policy)
        self.system = InForce(self.world, self.plainly.pages, self.path)

    async def run(self, moves: int) -> None:
        await self.system.membership._listings.get("")
        await self.check(fresh=self.draw(st.booleans()))
        for _ in range(moves):
            heard = self.system.heard
            random_move(self.draw, self.system.workspace, self.plainly, self.path)
            fresh = self.draw(st.booleans())
            if not fresh and self.system.heard == heard:
                self.system.now += 60  # no event came: what is known may be a minute old
            await self.check(fresh=fresh)
        await self.check_failing()

    async def check(self, *, fresh: bool) -> None:
        """Everything that is allowed is reachable, and nothing else is."""
        for user in USERS:
            allowed = self.plainly.person_reads(user)
            assert await self.system.person_reads(user, fresh) == (allowed, True), user
            place = self.world.channels[f"D0{user}"]
            assert await self.system.place_reads(place.id, fresh) == (allowed, True), place.id
            if fresh:
                for path in self.plainly.pages:
                    assert await self.system.opens(user, path) is (path in allowed), (user, path)
        for channel in CHANNELS:
            allowed = self.plainly.place_reads(channel)
            assert await self.system.place_reads(channel, fresh) == (allowed, True), channel
            # rule 2, apart from the table: whoever reads the place may open what stands there
            for reader in self.plainly.readers(self.world.channels[channel]):
                assert allowed <= self.plainly.person_reads(reader.id), (channel, reader.id)

    async def check_failing(self) -> None:
        """With some of Slack's methods down: never more, and what needs none of them all the same."""
        self.system.client.down = self.draw(st.sets(st.sampled_from(METHODS), min_size=1))
        for user in USERS:
            got, checked = await self.system.person_reads(user, True)
            allowed = self.plainly.person_reads(user)
            assert got <= allowed, user
            assert got == allowed or not checked, user
            who = self.world.users[user]
            if who.full_member:
                open_pages = {path for path in allowed if set(self.plainly.needed(path)) <= set(BUILT_IN)}
                assert open_pages <= got, user
        for channel in CHANNELS:
            got, checked = await self.system.place_reads(channel, True)
            assert got <= self.plainly.place_reads(channel) or not checked, channel
            assert got == self.plainly.place_reads(channel) or not checked, channel
            if not checked:  # as public as what is meant for other companies, and no more
                assert all(set(self.plainly.needed(path)) == {"public"} for path in got), channel


def run_scenario(data: Any, moves: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(Scenario(data.draw, Path(folder)).run(moves))


LOOSE: Any = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes; the notes tell what happened
}


@settings(max_examples=40, **LOOSE)
@given(st.data())
def test_access_is_what_the_plain_definition_says(data: Any) -> None:
    run_scenario(data, moves=4)


@pytest.mark.long
@pytest.mark.timeout(7200)
@settings(max_examples=int(os.environ.get("SCENARIOS", "2000")), **LOOSE)
@given(st.data())
def test_access_is_what_the_plain_definition_says_in_thousands_of_worlds(data: Any) -> None:
    run_scenario(data, moves=6)
