"""Random policies, people, groups, places, pages and moves: access is exactly what a plain definition says.

The definition (`Plainly`) is written anew from DESIGN.md ("Access"), straight over the workspace's own state. What is
tested (`InForce`) is the real policy file, the real decisions and the real membership; its calls take the workspace's
Web API in this process, so that thousands of scenarios run in minutes.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.access.decisions import Access
from bot.access.policy import PolicyFile
from bot.errors import WorkspaceRefusal
from bot.library.models import Runbook
from bot.slack.membership import SlackMembership
from bot.workspace import Workspace
from bot.workspace.world import BOT_USER, HOME, PARTNER, Channel, Group, User, World

BUILT_IN = ("public", "workspace", "members", "nobody")
NAMES = ("red", "blue", "green")
FOLDERS = ("a", "b", "a/b")
USERS = tuple(f"U0P{number}" for number in range(5))
GROUPS = ("S0G0", "S0G1")
CHANNELS = ("C0C0", "C0C1", "C0C2")
METHODS = ("users.info", "users.list", "usergroups.list", "conversations.info", "conversations.members")


# --- the plain definition -----------------------------------------------------------------------------------------


@dataclass
class Policy:
    """A policy as plain data."""

    audiences: dict[str, dict[str, list[str]]]
    default: str
    rules: list[tuple[str, str]]
    """(pattern, audience); patterns are `**`, `x/**`, `x/*` or one whole path."""

    def as_yaml(self) -> str:
        rules = [{"paths": glob, "audience": audience} for glob, audience in self.rules]
        return yaml.safe_dump({"audiences": self.audiences, "default": self.default, "rules": rules})

    def label(self, path: str) -> str:
        label = self.default
        for glob, audience in self.rules:
            folder, _, _ = path.rpartition("/")
            if glob.endswith("/**"):
                matches = path.startswith(glob.removesuffix("**"))
            elif glob.endswith("/*"):
                matches = folder == glob.removesuffix("/*")
            else:
                matches = glob in ("**", path)
            if matches:
                label = audience
        return label


@dataclass
class Plainly:
    """Who may read what, by definition."""

    world: World
    policy: Policy
    pages: dict[str, tuple[str, ...] | None]
    """Each page's own audience."""

    def person_reads(self, user: str) -> set[str]:
        return {path for path in self.pages if all(self._is_in(user, name) for name in self._needed(path))}

    def place_reads(self, channel: str) -> set[str]:
        return {path for path in self.pages if all(self._stands(channel, name) for name in self._needed(path))}

    def _needed(self, path: str) -> list[str]:
        own = self.pages[path]
        return [self.policy.label(path), *(["nobody"] if own == () else own or ())]

    def _is_in(self, user: str, name: str) -> bool:
        who = self.world.users.get(user)
        if who is None or who.bot_id or who.deleted:
            return False
        home = who.team == HOME and not who.stranger
        full = home and not who.guest and not who.single_channel
        if name in BUILT_IN:
            return {"public": True, "workspace": home, "members": full, "nobody": False}[name]
        audience = self.policy.audiences.get(name)
        if audience is None or not home:
            return False
        groups = [self.world.groups[group] for group in audience.get("usergroups", [])]
        channels = [channel for channel in audience.get("channels", []) if self._private(channel)]
        return (
            user in audience.get("users", [])
            or any(user in group.members and not group.disabled for group in groups)
            or (full and any(user in self.world.channels[channel].members for channel in channels))
        )

    def _stands(self, channel: str, name: str) -> bool:
        place = self.world.channels[channel]
        if BOT_USER not in place.members or name == "nobody":
            return False
        if name == "public":
            return True
        if self._shared(place):
            return False
        if name == "workspace":
            return True
        if any(reader.guest or reader.single_channel for reader in self.readers(place)):
            return False
        if name == "members":
            return True
        return self._private(channel) and channel in self.policy.audiences.get(name, {}).get("channels", [])

    def _private(self, channel: str) -> bool:
        place = self.world.channels[channel]
        return place.kind in ("group", "mpim") and BOT_USER in place.members and not self._shared(place)

    def _shared(self, place: Channel) -> bool:
        return place.ext_shared or place.pending_shared or any(reader.team != HOME for reader in self.readers(place))

    def readers(self, place: Channel) -> list[User]:
        found = [self.world.users[member] for member in place.members]
        return [user for user in found if not user.bot_id and not user.deleted]


# --- what is tested -----------------------------------------------------------------------------------------------


class System(Protocol):
    """What a scenario asks of the program. Another one may ask the whole bot through Slack's messages."""

    async def person_reads(self, user: str, fresh: bool) -> tuple[set[str], bool]:
        """What a person may read alone, and whether that could be checked in full."""

    async def place_reads(self, channel: str, fresh: bool) -> tuple[set[str], bool]:
        """What may stand in a place."""

    async def opens(self, user: str, path: str) -> bool:
        """Whether a click opens the page."""


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


def some(values: Iterable[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(sorted(values)), unique=True, max_size=3)


users = st.builds(
    lambda id, kind: User(
        id,
        id.lower(),
        guest=kind == "guest",
        single_channel=kind == "single",
        deleted=kind == "deleted",
        bot_id="B0X" if kind == "bot" else "",
        team=PARTNER if kind in ("outsider", "quiet outsider") else HOME,
        stranger=kind == "outsider",
    ),
    id=st.just(""),
    kind=st.sampled_from(
        ["full", "full", "full", "guest", "guest", "single", "deleted", "bot", "outsider", "quiet outsider"]
    ),
)
labels = st.sampled_from([*BUILT_IN, *NAMES])
policies = st.builds(
    lambda audiences, default, rules: Policy(
        audiences,
        default if default in (*BUILT_IN, *audiences) else "members",
        [(glob, audience) for glob, audience in rules if audience in (*BUILT_IN, *audiences)],
    ),
    audiences=st.dictionaries(
        st.sampled_from(NAMES),
        st.fixed_dictionaries(
            {}, optional={"usergroups": some(GROUPS), "users": some(USERS), "channels": some(CHANNELS)}
        ),
        max_size=3,
    ),
    default=labels,
    rules=st.lists(
        st.tuples(
            st.sampled_from(["**", *(f"{f}/**" for f in FOLDERS), *(f"{f}/*" for f in FOLDERS), "a/1.md"]), labels
        ),
        max_size=5,
    ),
)
audiences_of_pages = st.one_of(st.none(), st.none(), st.none(), st.lists(labels, max_size=2).map(tuple))
pages = st.dictionaries(
    st.builds(lambda folder, number: f"{folder}/{number}.md", st.sampled_from(FOLDERS), st.integers(1, 2)),
    audiences_of_pages,
    min_size=1,
    max_size=6,
)


@dataclass
class Scenario:
    """One world with its policy and pages, and what happens in it."""

    draw: Any
    folder: Path

    def __post_init__(self) -> None:
        draw = self.draw
        people = {id: draw(users) for id in USERS}
        for id, user in people.items():
            user.id, user.name = id, id.lower()
        members = st.sets(st.sampled_from([*USERS, BOT_USER, BOT_USER]))
        kinds = st.sampled_from(["channel", "group", "group", "mpim"])
        self.world = World(
            [User(BOT_USER, "runbook", bot_id="B0RUNBOT"), *people.values()],
            [Group(id, id.lower(), draw(st.sets(st.sampled_from(USERS))), draw(st.booleans())) for id in GROUPS],
            [
                *(Channel(id, id.lower(), draw(kinds), draw(members), draw(rarely), draw(rarely)) for id in CHANNELS),
                *(Channel(f"D0{id}", id.lower(), "im", {id, BOT_USER}) for id in USERS),
            ],
        )
        self.plainly = Plainly(self.world, draw(policies), draw(pages))
        self.path = self.folder / "access.yaml"
        self.path.write_text(self.plainly.policy.as_yaml())
        self.system = InForce(self.world, self.plainly.pages, self.path)

    async def run(self, moves: int) -> None:
        await self.system.membership._listings.get("")
        await self.check(fresh=self.draw(st.booleans()))
        for _ in range(moves):
            heard = self.system.heard
            self.move()
            fresh = self.draw(st.booleans())
            if not fresh and self.system.heard == heard:
                self.system.now += 60  # no event came: what is known may be a minute old
            await self.check(fresh=fresh)
        await self.check_failing()

    def move(self) -> None:
        """Something happens."""
        draw, act = self.draw, self.system.workspace
        channel, user = draw(st.sampled_from(CHANNELS)), draw(st.sampled_from(USERS))
        place = self.world.channels[channel]
        what = draw(st.sampled_from(["person", "bot", "share", "convert", "account", "group", "policy", "pages"]))
        note(f"{what}: {channel} {user}")
        match what:
            case "person" | "bot":
                who = BOT_USER if what == "bot" else user
                (act.leave if who in place.members else act.join)(who, channel)
            case "share":
                (act.unshare if self.plainly._shared(place) else act.share)(channel)
            case "convert":
                act.convert(channel, private=place.kind == "channel")
            case "account":
                act.set_user(user, guest=draw(st.booleans()), deleted=draw(st.booleans()))
            case "group":
                act.set_group(draw(st.sampled_from(GROUPS)), draw(some(USERS)), disabled=draw(rarely))
            case "policy":
                self.plainly.policy = draw(policies)
                self.path.write_text(self.plainly.policy.as_yaml())
            case "pages":
                self.plainly.pages.clear()
                self.plainly.pages.update(draw(pages))

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
                open_pages = {path for path in allowed if set(self.plainly._needed(path)) <= set(BUILT_IN)}
                assert open_pages <= got, user
        for channel in CHANNELS:
            got, checked = await self.system.place_reads(channel, True)
            assert got <= self.plainly.place_reads(channel) or not checked, channel
            assert got == self.plainly.place_reads(channel) or not checked, channel
            if not checked:  # as public as what is meant for other companies, and no more
                assert all(set(self.plainly._needed(path)) == {"public"} for path in got), channel


rarely = st.sampled_from([False, False, False, True])


def run_scenario(data: Any, moves: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(Scenario(data.draw, Path(folder)).run(moves))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_access_is_what_the_plain_definition_says(data: Any) -> None:
    run_scenario(data, moves=4)


@pytest.mark.long
@pytest.mark.timeout(7200)
@settings(
    max_examples=int(os.environ.get("SCENARIOS", "2000")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_access_is_what_the_plain_definition_says_in_thousands_of_worlds(data: Any) -> None:
    run_scenario(data, moves=6)
