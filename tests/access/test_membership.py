"""Membership, asked of the local workspace's Web API over its real socket; events come through a Bolt app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.access.decisions import Access
from bot.access.models import Person, Place, PlaceKind
from bot.access.policy import Audience, Policy
from bot.errors import MembershipUnavailable
from bot.slack.membership import SlackMembership
from bot.workspace import Workspace
from bot.workspace.world import BOT_USER, HOME, PARTNER, Channel, Group, User, World

DAY = 24 * 3600


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def workspace(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workspace]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with Workspace() as running:
        yield running


@pytest.fixture
async def membership(workspace: Workspace, clock: Clock) -> AsyncIterator[SlackMembership]:
    made = SlackMembership(AsyncWebClient(workspace.bot_token, base_url=workspace.api_url), clock=clock)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def events(workspace: Workspace, membership: SlackMembership) -> AsyncIterator[list[frozenset[str]]]:
    """A connected app that gives every event to the membership; what it said has changed, in order."""
    app = AsyncApp(client=AsyncWebClient(workspace.bot_token, base_url=workspace.api_url))
    changed: list[frozenset[str]] = []

    @app.middleware
    async def take_in(body: dict[str, Any], next: Any) -> None:
        changed.append(membership.on_event(body["event"]))
        await next()

    for kind in (
        "message", "member_joined_channel", "member_left_channel", "channel_shared", "channel_unshared", "user_change",
        "team_join", "subteam_members_changed", "subteam_updated", "subteam_created", "channel_id_changed",
        "channel_archive", "channel_unarchive", "channel_rename", "group_archive", "group_unarchive", "group_rename",
    ):  # fmt: skip

        @app.event(kind)
        async def listen() -> None:
            pass

    handler = AsyncSocketModeHandler(app, workspace.app_token)
    await handler.connect_async()
    await workspace.connected()
    yield changed
    await handler.close_async()


async def until(condition: Callable[[], Any]) -> None:
    """Wait until it holds: what the app has done with an event is not seen by the workspace."""
    async with asyncio.timeout(15):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def calls(workspace: Workspace, method: str) -> int:
    return len(workspace.calls_of(method))


# --- people -------------------------------------------------------------------------------------------------------


async def test_people_are_told_apart_by_their_flags(workspace: Workspace, membership: SlackMembership) -> None:
    assert await membership.person("U0BEN") == Person("U0BEN")
    assert await membership.person("U0GIL") == Person("U0GIL", guest=True)
    assert await membership.person("U0ALERTS") == Person("U0ALERTS", bot=True)
    assert await membership.person("USLACKBOT") == Person("USLACKBOT", bot=True)
    assert calls(workspace, "users.info") == 0, "the listing told"
    assert await membership.person("U0OLGA") == Person("U0OLGA", home=False)
    assert await membership.person("U0NOBODY") is None


@pytest.mark.parametrize(
    ("flags", "person"),
    [
        ({"single_channel": True}, Person("U0ZOE", guest=True)),
        ({"deleted": True}, Person("U0ZOE", deleted=True)),
        ({"team": PARTNER}, Person("U0ZOE", home=False)),  # without `is_stranger`: the team alone decides
        ({"team": "", "stranger": True}, Person("U0ZOE", home=False)),
        ({"team": HOME, "bot_id": "B0ZOE"}, Person("U0ZOE", bot=True)),
    ],
)
async def test_each_flag_of_a_new_person_counts(
    workspace: Workspace, membership: SlackMembership, flags: dict[str, Any], person: Person
) -> None:
    workspace.world.users["U0ZOE"] = User("U0ZOE", "zoe", **flags)
    assert await membership.person("U0ZOE") == person


async def test_who_asks_is_asked_about_at_most_once_a_minute(
    workspace: Workspace, membership: SlackMembership, clock: Clock
) -> None:
    workspace.world.users["U0BEN"].guest = True  # and no event came here: another replica got it
    assert await membership.person("U0BEN") == Person("U0BEN")
    clock.now += 60
    assert await membership.person("U0BEN") == Person("U0BEN", guest=True)
    assert await membership.person("U0BEN") == Person("U0BEN", guest=True)
    assert calls(workspace, "users.info") == 1


async def test_a_click_asks_every_time(workspace: Workspace, membership: SlackMembership) -> None:
    for _ in range(3):
        assert await membership.person("U0BEN", fresh=True) == Person("U0BEN")
    assert calls(workspace, "users.info") == 3


async def test_an_event_changes_a_person_at_once(
    workspace: Workspace, membership: SlackMembership, events: list[frozenset[str]]
) -> None:
    workspace.set_user("gil", guest=False)
    workspace.add_user(User("U0ZOE", "zoe"))
    await until(lambda: len(events) == 2)
    assert await membership.person("U0GIL") == Person("U0GIL")
    assert await membership.person("U0ZOE") == Person("U0ZOE")
    assert calls(workspace, "users.info") == 0


FAULTS: list[dict[str, Any]] = [
    {"status": 500},
    {"status": 503},
    {"status": 429, "retry_after": 30},
    {"error": "internal_error"},
    {"error": "invalid_auth"},
    {"error": "missing_scope"},
    {"delay": 1.0},
]
"""Ways in which Slack does not say: every one of them closes."""


def fail(workspace: Workspace, membership: SlackMembership, method: str, fault: dict[str, Any]) -> None:
    if "delay" in fault:
        membership._patience = fault["delay"] / 5
    workspace.fail(method, -1, **fault)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_known_person_stays_known_for_a_day_while_slack_does_not_say(
    workspace: Workspace, membership: SlackMembership, clock: Clock, fault: dict[str, Any]
) -> None:
    fail(workspace, membership, "users.info", fault)
    assert await membership.person("U0BEN", fresh=True) == Person("U0BEN", checked=False)
    clock.now += DAY - 1
    assert await membership.person("U0BEN") == Person("U0BEN", checked=False)
    clock.now += 1
    with pytest.raises(MembershipUnavailable):
        await membership.person("U0BEN")


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_an_unknown_person_can_not_be_told(
    workspace: Workspace, membership: SlackMembership, fault: dict[str, Any]
) -> None:
    fail(workspace, membership, "users.info", fault)
    with pytest.raises(MembershipUnavailable):
        await membership.person("U0OLGA")


async def test_without_a_listing_people_are_asked_about(workspace: Workspace, clock: Clock) -> None:
    workspace.fail("users.list", -1, status=500)
    membership = SlackMembership(AsyncWebClient(workspace.bot_token, base_url=workspace.api_url), clock=clock)
    await membership.start()
    assert await membership.person("U0GIL") == Person("U0GIL", guest=True)
    assert (await membership.place("C0STOREFRONT")).guests
    assert not (await membership.place("C0INCIDENTS")).guests
    await membership.stop()


async def test_a_limited_listing_goes_on_where_it_stopped(workspace: Workspace, clock: Clock) -> None:
    workspace.fail("users.list", 1, status=429, retry_after=1)
    membership = SlackMembership(AsyncWebClient(workspace.bot_token, base_url=workspace.api_url))
    await membership.start()
    assert calls(workspace, "users.list") == 2
    await membership.person("U0GIL")
    assert calls(workspace, "users.info") == 0
    await membership.stop()


# --- places -------------------------------------------------------------------------------------------------------


async def test_places_are_read_as_the_table_has_them(workspace: Workspace, membership: SlackMembership) -> None:
    workspace.add_channel(Channel("G0MPIM", "mpdm-ben--ana", "mpim", {"U0BEN", "U0ANA", BOT_USER}))
    workspace.add_channel(Channel("D0OTHERS", "", "im", {"U0BEN", "U0ANA"}))
    assert await membership.place("C0INCIDENTS") == Place("C0INCIDENTS", PlaceKind.PUBLIC, "incidents", guests=False)
    assert await membership.place("C0STOREFRONT") == Place("C0STOREFRONT", PlaceKind.PUBLIC, "storefront", guests=True)
    assert await membership.place("C0PAYMENTS") == Place("C0PAYMENTS", PlaceKind.PRIVATE, "payments", guests=False)
    assert await membership.place("G0MPIM") == Place("G0MPIM", PlaceKind.GROUP_DM, "mpdm-ben--ana", guests=False)
    partner = await membership.place("C0PARTNER")
    assert (partner.kind, partner.shared) == (PlaceKind.PUBLIC, True)
    direct = await membership.place("D0ANA")
    assert (direct.kind, direct.user) == (PlaceKind.DM, "U0ANA")
    for elsewhere in ("C0RANDOM", "D0OTHERS", "C0NOSUCH"):
        assert (await membership.place(elsewhere)).kind is PlaceKind.ELSEWHERE
    workspace.archive("incidents")
    assert (await membership.place("C0INCIDENTS", fresh=True)).archived


async def test_a_channel_about_to_be_shared_is_shared(workspace: Workspace, membership: SlackMembership) -> None:
    workspace.share("incidents", pending=True)
    assert (await membership.place("C0INCIDENTS")).shared


async def test_somebody_of_another_company_makes_a_place_shared(
    workspace: Workspace, membership: SlackMembership
) -> None:
    workspace.world.channel("payments").members.add("U0OLGA")  # whatever the channel's own flags say
    assert (await membership.place("C0PAYMENTS")).shared


async def test_a_member_whom_slack_does_not_know_counts_as_a_guest(
    workspace: Workspace, membership: SlackMembership
) -> None:
    workspace.world.channel("payments").members.add("U0GHOST")
    assert (await membership.place("C0PAYMENTS")).guests


async def test_bots_and_deactivated_people_are_no_readers(workspace: Workspace, membership: SlackMembership) -> None:
    workspace.world.channel("incidents").members.add("U0ALERTS")
    workspace.world.channel("incidents").members.add("U0GONE")
    workspace.world.users["U0GONE"] = User("U0GONE", "gone", guest=True, deleted=True)
    assert not (await membership.place("C0INCIDENTS")).guests


async def test_what_slack_said_of_a_place_holds_for_a_minute_and_not_for_a_click(
    workspace: Workspace, membership: SlackMembership, clock: Clock
) -> None:
    assert not (await membership.place("C0INCIDENTS")).guests
    workspace.world.channel("incidents").members.add("U0GIL")
    assert not (await membership.place("C0INCIDENTS")).guests
    assert (await membership.place("C0INCIDENTS", fresh=True)).guests
    workspace.world.channel("incidents").members.remove("U0GIL")
    clock.now += 60
    assert not (await membership.place("C0INCIDENTS")).guests


async def test_events_are_in_force_at_once(
    workspace: Workspace, membership: SlackMembership, events: list[frozenset[str]]
) -> None:
    async def after(count: int) -> Place:
        await until(lambda: sum(bool(changed) for changed in events) >= count)
        return await membership.place("C0INCIDENTS")

    assert not (await membership.place("C0INCIDENTS")).guests
    workspace.join("gil", "incidents")
    assert (await after(1)).guests
    workspace.leave("gil", "incidents")
    assert not (await after(2)).guests
    workspace.share("incidents")
    assert (await after(3)).shared
    workspace.unshare("incidents")
    assert not (await after(4)).shared
    workspace.convert("incidents", private=True)
    assert (await after(5)).kind is PlaceKind.PRIVATE
    workspace.convert("incidents", private=False)
    assert (await after(6)).kind is PlaceKind.PUBLIC
    workspace.rename("incidents", "fires")
    assert (await after(7)).name == "fires"
    assert set().union(*events) == {"C0INCIDENTS"}
    workspace.change_id("fires", "C0NEWID")
    assert (await after(8)).kind is PlaceKind.ELSEWHERE
    assert {"C0INCIDENTS", "C0NEWID"} in events


async def test_an_ordinary_post_drops_nothing(
    workspace: Workspace, membership: SlackMembership, events: list[frozenset[str]]
) -> None:
    await membership.place("C0INCIDENTS")
    workspace.post("ben", "incidents", "hello")
    await until(lambda: events)
    await membership.place("C0INCIDENTS")
    assert events == [frozenset()]
    assert calls(workspace, "conversations.info") == 1


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_place_whose_facts_slack_does_not_say(
    workspace: Workspace, membership: SlackMembership, fault: dict[str, Any]
) -> None:
    fail(workspace, membership, "conversations.info", fault)
    with pytest.raises(MembershipUnavailable):
        await membership.place("C0INCIDENTS")


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_place_whose_members_slack_does_not_say(
    workspace: Workspace, membership: SlackMembership, fault: dict[str, Any]
) -> None:
    fail(workspace, membership, "conversations.members", fault)
    place = await membership.place("C0INCIDENTS")
    assert place.guests
    assert not place.checked
    with pytest.raises(MembershipUnavailable):
        await membership.channel_members("C0INCIDENTS")


async def test_a_failure_is_not_kept(workspace: Workspace, membership: SlackMembership) -> None:
    workspace.fail("conversations.info", 1, status=500)
    with pytest.raises(MembershipUnavailable):
        await membership.place("C0INCIDENTS")
    assert (await membership.place("C0INCIDENTS")).kind is PlaceKind.PUBLIC


async def test_slack_is_left_alone_as_long_as_it_wants(
    workspace: Workspace, membership: SlackMembership, clock: Clock
) -> None:
    workspace.fail("conversations.info", 1, status=429, retry_after=30)
    for _ in range(3):
        with pytest.raises(MembershipUnavailable):
            await membership.place("C0INCIDENTS")
    assert calls(workspace, "conversations.info") == 1
    clock.now += 30
    assert (await membership.place("C0INCIDENTS")).kind is PlaceKind.PUBLIC


# --- groups -------------------------------------------------------------------------------------------------------


async def test_groups_are_found_by_id_and_by_handle(workspace: Workspace, membership: SlackMembership) -> None:
    for group in ("dba-oncall", "@dba-oncall", "S0DBAONCALL"):
        assert await membership.usergroup_members(group) == {"U0ANA"}
    assert calls(workspace, "usergroups.list") == 1


async def test_an_unknown_or_disabled_group_is_empty_with_a_warning(
    workspace: Workspace, membership: SlackMembership, caplog: pytest.LogCaptureFixture
) -> None:
    workspace.add_group(Group("S0OLD", "old", {"U0BEN"}, disabled=True))
    assert await membership.usergroup_members("old") == frozenset()
    assert await membership.usergroup_members("no-such") == frozenset()
    assert "old" in caplog.text
    assert "no-such" in caplog.text


async def test_who_was_taken_out_of_a_group_is_out_within_a_minute_and_for_a_click_at_once(
    workspace: Workspace, membership: SlackMembership, clock: Clock
) -> None:
    assert "U0ANA" in await membership.usergroup_members("dba-oncall")
    workspace.world.groups["S0DBAONCALL"].members.clear()  # no event came to this replica
    assert "U0ANA" not in await membership.usergroup_members("dba-oncall", fresh=True)
    workspace.world.groups["S0DBAONCALL"].members.add("U0ANA")
    clock.now += 59
    assert "U0ANA" not in await membership.usergroup_members("dba-oncall")
    clock.now += 1
    assert "U0ANA" in await membership.usergroup_members("dba-oncall")


async def test_a_fresh_decision_on_many_groups_asks_slack_once(
    workspace: Workspace, membership: SlackMembership
) -> None:
    groups = [Group(f"S0G{number}", f"group-{number}", {"U0BEN"}) for number in range(30)]
    for group in groups:
        workspace.add_group(group)
    audiences = {group.handle: Audience(group.handle, usergroups=(group.handle,)) for group in groups}
    policy = Policy(default="members", audiences=audiences)
    for _ in range(2):
        readership = await Access(lambda: policy, membership).of_person("U0BEN", fresh=True)
        assert readership.audiences >= audiences.keys()
    assert calls(workspace, "usergroups.list") == 2


async def test_an_event_changes_a_group_at_once(
    workspace: Workspace, membership: SlackMembership, events: list[frozenset[str]]
) -> None:
    assert await membership.usergroup_members("dba-oncall") == {"U0ANA"}
    workspace.set_group("dba-oncall", ["ben"])
    await until(lambda: events)
    assert await membership.usergroup_members("dba-oncall") == {"U0BEN"}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_a_group_that_slack_does_not_say(
    workspace: Workspace, membership: SlackMembership, fault: dict[str, Any]
) -> None:
    fail(workspace, membership, "usergroups.*", fault)
    with pytest.raises(MembershipUnavailable):
        await membership.usergroup_members("dba-oncall")


async def test_a_listing_that_does_not_say_who_is_in_a_group_is_asked_further(
    workspace: Workspace, membership: SlackMembership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Group, "as_slack", lambda self, with_users=False: {"id": self.id, "handle": self.handle})
    assert await membership.usergroup_members("dba-oncall") == {"U0ANA"}
    assert calls(workspace, "usergroups.users.list") == 1


# --- thousands ----------------------------------------------------------------------------------------------------


async def test_thousands_of_members_are_not_asked_about_one_by_one(clock: Clock) -> None:
    people = [User(f"U0P{number:05}", f"p{number}") for number in range(3_000)]
    everybody = {user.id for user in people}
    world = World(
        [User(BOT_USER, "runbook", bot_id="B0RUNBOT"), *people, User("U0GUEST", "guest", guest=True)],
        [],
        [
            Channel("C0BIG", "big", members=everybody | {BOT_USER}),
            Channel("C0BIGGER", "bigger", members=everybody | {BOT_USER, "U0GUEST"}),
        ],
    )
    async with Workspace(world=world) as workspace:
        client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)
        membership = SlackMembership(client, clock=clock)  # not even started
        assert not (await membership.place("C0BIG")).guests
        assert (await membership.place("C0BIGGER")).guests
        assert calls(workspace, "users.info") == 0
        assert calls(workspace, "users.list") == 4
