"""Cases 15, 35 and 36: faults of access met elsewhere, through the whole bot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot import sentences
from bot.access.models import Person
from bot.slack.delivery import slack_client
from bot.slack.membership import SlackMembership
from bot.workspace.world import BOT_USER, PARTNER, Channel, Group, User, World
from tests.access.whole import Whole, alert, markers, whole_bot

MARKER = r"MARKER\d\d-[A-Z]+"
REFUSED = sentences.NO_ANSWER["not_allowed"]


pytestmark = pytest.mark.asyncio(loop_scope="module")


def inputs(shared: Path, name: str) -> dict[str, str]:
    """The input pages of a case, by path."""
    [folder] = (shared / "cases").glob(f"{name}-*")
    return {page.name: page.read_text() for page in (folder / "input").glob("*.md")}


@pytest.fixture
def unseen() -> Callable[[Whole], Whole]:
    """Takes a bot that several tests share as one of which nobody has seen anything yet."""

    def begin(bot: Whole) -> Whole:
        bot.workspace.recover()
        bot.workspace.world.seen.clear()
        bot.workspace.world.ephemerals.clear()
        for channel in bot.workspace.world.channels.values():
            channel.messages.clear()
        bot.workspace.calls.clear()
        bot.model.requests.clear()
        bot.log.lines.clear()
        bot.forget()
        return bot

    return begin


def world(people: Iterable[User], groups: dict[str, set[str]], channel: Channel) -> World:
    everybody = list(people)
    direct = [Channel(f"D0{user.id}", user.name, "im", {user.id, BOT_USER}) for user in everybody]
    return World(
        [User(BOT_USER, "runbook", bot_id="B0RUNBOT"), User("U0ALERTS", "alerts", bot_id="B0ALERTS"), *everybody],
        [Group(f"S0{name.upper()}", name, members) for name, members in groups.items()],
        [channel, *direct],
    )


def shown_to(bot: Whole, user: str) -> set[str]:
    """Markers in whatever this person has seen of the bot."""
    return markers([seen.payload for seen in bot.workspace.seen_by(user) if seen.by_bot], MARKER)


# --- 15: a person without groups, a page without an entry -----------------------------------------------------------

POLICY_15 = """\
audiences:
  dba: {usergroups: [dba]}
  sre: {usergroups: [sre]}
default: nobody
rules:
  - {paths: open.md, audience: members}
  - {paths: dba.md, audience: dba}
  - {paths: sre.md, audience: sre}
  - {paths: emptyacl.md, audience: nobody}
"""


def world_15() -> World:
    people = [User(id, id.lower()) for id in ("U0NOGRP00", "U0ALICE00", "U0DBA0000")]
    channel = Channel("C0INC0001", "inc", members={user.id for user in people} | {BOT_USER})
    return world(people, {"sre": {"U0ALICE00"}, "dba": {"U0DBA0000"}}, channel)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started_15(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Any:
    async with whole_bot(tmp_path_factory.mktemp("case"), POLICY_15, inputs(shared, "15"), world_15()) as bot:
        yield bot


@pytest.fixture
def bot_15(started_15: Whole, unseen: Any) -> Whole:
    return unseen(started_15)


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        ("U0NOGRP00", {"MARKER15-OPEN"}),
        ("U0ALICE00", {"MARKER15-OPEN"}),
        ("U0DBA0000", {"MARKER15-OPEN", "MARKER15-DBA"}),
    ],
)
async def test_case_15_nobody_gets_more_than_their_groups(bot_15: Whole, user: str, shown: set[str]) -> None:
    for words in ("failover wording for customers", "failover key location", "failover draft", "parked failover page"):
        bot_15.workspace.post(user, f"D0{user}", words)
        await bot_15.quiet()
    assert shown_to(bot_15, user) == shown
    assert markers(bot_15.model.requests, MARKER) <= shown
    assert markers(bot_15.log.lines, MARKER) == set()


async def test_case_15_groups_that_cannot_be_asked_leave_open_pages_and_a_note(bot_15: Whole) -> None:
    bot_15.workspace.fail("usergroups.*", -1, status=500)
    bot_15.workspace.post("U0DBA0000", "D0U0DBA0000", "failover wording for customers")
    await bot_15.quiet()
    bot_15.workspace.post("U0DBA0000", "D0U0DBA0000", "failover key location")
    await bot_15.quiet()
    assert shown_to(bot_15, "U0DBA0000") == {"MARKER15-OPEN"}
    for message in bot_15.workspace.bot_messages("D0U0DBA0000"):
        assert "could not be checked" in json.dumps(message)


async def test_case_15_a_wrong_filter_alone_leaks_nothing(bot_15: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    search = bot_15.parts.search
    everything = bot_15.parts.publisher.live().runbooks.keys()
    find = search.find
    monkeypatch.setattr(
        type(search), "find", lambda self, query, readable, **options: find(query, everything, **options)
    )
    bot_15.workspace.post("U0NOGRP00", "D0U0NOGRP00", "failover key location")
    await bot_15.quiet()
    assert shown_to(bot_15, "U0NOGRP00") <= {"MARKER15-OPEN"}
    assert markers(bot_15.model.requests, MARKER) <= {"MARKER15-OPEN"}


# --- 35: somebody of another company in a shared channel -----------------------------------------------------------

POLICY_35 = """\
audiences:
  dba: {usergroups: [dba]}
default: members
rules:
  - {paths: "guests/**", audience: workspace}
  - {paths: "partners/**", audience: public}
"""
PAGES_35 = {
    "orders/failover.md": "# Orders database failover\n\n1. Orders database failover: MARKER35-MEMBERS.\n",
    "guests/wifi.md": "# Guest wifi\n\n1. Guest wifi is down: MARKER35-GUESTS.\n",
    "partners/status.md": "# Partner status\n\n1. Partner status wording: MARKER35-PUBLIC.\n",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started_35(tmp_path_factory: pytest.TempPathFactory) -> Any:
    people = [
        User("U0DBA0000", "dana"),
        User("U0GUEST00", "sre", guest=True, single_channel=True),
        User("U0OUTSIDE", "sre", team=PARTNER, stranger=True),
    ]
    shared_channel = Channel(
        "C0SHARED1", "shared", members={"U0DBA0000", "U0OUTSIDE", "U0GUEST00", BOT_USER}, ext_shared=True
    )
    async with whole_bot(
        tmp_path_factory.mktemp("case"), POLICY_35, PAGES_35, world(people, {"dba": {"U0DBA0000"}}, shared_channel)
    ) as bot:
        yield bot


@pytest.fixture
def bot_35(started_35: Whole, unseen: Any) -> Whole:
    return unseen(started_35)


async def test_case_35_an_outsiders_mention_reveals_nothing(bot_35: Whole) -> None:
    ts = bot_35.workspace.post("U0OUTSIDE", "C0SHARED1", f"<@{BOT_USER}> orders database failover")
    await bot_35.quiet()
    there = [message["blocks"] for message in bot_35.workspace.thread("C0SHARED1", ts)]
    ts = bot_35.workspace.post("U0OUTSIDE", "C0SHARED1", f"<@{BOT_USER}> unicorn stable smells")
    await bot_35.quiet()
    absent = [message["blocks"] for message in bot_35.workspace.thread("C0SHARED1", ts)]
    for user in ("U0OUTSIDE", "U0GUEST00", "U0DBA0000"):
        assert shown_to(bot_35, user) == set()
    assert [texts(blocks) for blocks in there] == [texts(blocks) for blocks in absent], "no sign that there is a page"


async def test_case_35_a_guest_gets_what_is_declared_for_guests(bot_35: Whole) -> None:
    await bot_35.workspace.slash("U0GUEST00", "C0SHARED1", "list")
    for words in ("guest wifi is down", "orders database failover", "partner status wording"):
        await bot_35.workspace.slash("U0GUEST00", "C0SHARED1", f"me {words}")
        await bot_35.quiet()
    assert shown_to(bot_35, "U0GUEST00") == {"MARKER35-GUESTS", "MARKER35-PUBLIC"}
    assert "Orders" not in json.dumps(bot_35.workspace.ephemerals("U0GUEST00"))


async def test_case_35_an_insider_is_answered_alone_and_an_alert_not_at_all(bot_35: Whole) -> None:
    bot_35.workspace.post("U0DBA0000", "C0SHARED1", f"<@{BOT_USER}> orders database failover")
    bot_35.workspace.post_alert(alert("ReplicaLag", "orders database failover"), "C0SHARED1")
    await bot_35.quiet()
    assert markers(bot_35.workspace.messages("C0SHARED1"), MARKER) == set()
    assert markers(bot_35.workspace.ephemerals("U0DBA0000"), MARKER) == {"MARKER35-MEMBERS"}
    assert shown_to(bot_35, "U0OUTSIDE") == set()


async def test_case_35_public_pages_stand_in_a_shared_channel(bot_35: Whole) -> None:
    ts = bot_35.workspace.post("U0OUTSIDE", "C0SHARED1", f"<@{BOT_USER}> partner status wording")
    await bot_35.quiet()
    assert markers(bot_35.workspace.thread("C0SHARED1", ts), MARKER) == {"MARKER35-PUBLIC"}


async def test_case_35_people_are_told_apart_by_team_and_never_by_name(bot_35: Whole, shared: Path) -> None:
    [folder] = (shared / "cases").glob("35-*")
    membership = SlackMembership(slack_client(bot_35.parts.settings))
    membership._homes = frozenset({"T0HOME01"})

    def read(name: str, **changes: Any) -> Person:
        user = json.loads((folder / name).read_text())["user"]
        return membership._read_person({**user, **changes})

    assert read("users-info-outsider.json") == Person("U0OUTSIDE", home=False)
    assert read("users-info-outsider.json", is_stranger=False) == Person("U0OUTSIDE", home=False)
    assert read("users-info-guest.json") == Person("U0GUEST00", guest=True)
    assert read("users-info-guest.json", team_id=None) == Person("U0GUEST00", home=False, guest=True)


def texts(value: object) -> list[str]:
    """What a reader sees of blocks, without the words of the question."""
    if isinstance(value, dict):
        own = [str(value["text"])] if isinstance(value.get("text"), str) else []
        return own + [text for inner in value.values() for text in texts(inner)]
    return [text for inner in value for text in texts(inner)] if isinstance(value, list) else []


# --- 36: the answer for one in front of all ---------------------------------------------------------------------------

POLICY_36 = """\
audiences:
  dba: {usergroups: [dba]}
default: members
rules:
  - {paths: payout-hold.md, audience: dba}
"""
HOLD = "hold payouts before a failover"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started_36(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Any:
    people = [User("U0ALICE00", "alice"), User("U0BOB0000", "bob"), User("U0DANA000", "dana")]
    channel = Channel("C0INC0001", "inc", members={user.id for user in people} | {BOT_USER})
    groups = {"sre": {"U0ALICE00"}, "web": {"U0BOB0000"}, "dba": {"U0DANA000"}}
    async with whole_bot(
        tmp_path_factory.mktemp("case"), POLICY_36, inputs(shared, "36"), world(people, groups, channel)
    ) as bot:
        yield bot


@pytest.fixture
def bot_36(started_36: Whole, unseen: Any) -> Whole:
    return unseen(started_36)


async def test_case_36_open_is_seen_by_the_one_who_asked(bot_36: Whole) -> None:
    await bot_36.workspace.slash("U0DANA000", "C0INC0001", "open payout-hold")
    await bot_36.quiet()
    assert shown_to(bot_36, "U0DANA000") == {"MARKER36-DBA"}
    assert shown_to(bot_36, "U0ALICE00") | shown_to(bot_36, "U0BOB0000") == set()
    assert all(call.args["response_type"] == "ephemeral" for call in bot_36.workspace.calls_of("response_url"))


@pytest.mark.parametrize("how", ["mention", "alert"])
async def test_case_36_the_channel_gets_what_everybody_there_may_read(bot_36: Whole, how: str) -> None:
    if how == "mention":
        bot_36.workspace.post("U0DANA000", "C0INC0001", f"<@{BOT_USER}> {HOLD}")
    else:
        bot_36.workspace.post_alert(alert("PayoutHold", HOLD), "C0INC0001")
    await bot_36.quiet()
    assert "MARKER36-DBA" not in json.dumps(bot_36.workspace.messages("C0INC0001"))
    assert "MARKER36-DBA" not in shown_to(bot_36, "U0ALICE00") | shown_to(bot_36, "U0BOB0000")
    assert ("MARKER36-DBA" in shown_to(bot_36, "U0DANA000")) is (how == "mention")
    for _, body in bot_36.model.requests:  # the channel's prompt and the asker's are two
        assert markers(body, MARKER) in ({"MARKER36-OPEN"}, {"MARKER36-DBA"})
    if how == "alert":
        assert markers(bot_36.model.requests, MARKER) <= {"MARKER36-OPEN"}


async def test_case_36_lists_and_refusals_show_no_trace(bot_36: Whole) -> None:
    for words in ("list", "me payout"):
        await bot_36.workspace.slash("U0BOB0000", "C0INC0001", words)
        await bot_36.quiet()
    assert not re.search(r"payout.hold", json.dumps(bot_36.workspace.ephemerals("U0BOB0000")), re.IGNORECASE)
    for words in ("open payout-hold", "open no-such-page", "open ../payout-hold", "open payout%2Dhold"):
        await bot_36.workspace.slash("U0BOB0000", "C0INC0001", words)
        await bot_36.quiet()
    refusals = bot_36.workspace.ephemerals("U0BOB0000")[-4:]
    assert [message["text"] for message in refusals] == [REFUSED] * 4


async def test_case_36_access_ends_within_a_minute(bot_36: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_36.workspace.world.groups["S0DBA"], "members", {"U0DANA000"})
    now = [bot_36.edge.membership._clock()]
    for holder in (bot_36.edge.membership, bot_36.edge.membership._groups, bot_36.edge.membership._asked):
        monkeypatch.setattr(holder, "_clock", lambda: now[0])
    bot_36.workspace.post("U0DANA000", "D0U0DANA000", HOLD)
    await bot_36.quiet()
    assert shown_to(bot_36, "U0DANA000") == {"MARKER36-DBA"}
    bot_36.workspace.world.groups["S0DBA"].members.clear()  # and no event came to this replica
    bot_36.workspace.world.seen.clear()
    await bot_36.workspace.slash("U0DANA000", "C0INC0001", "open payout-hold")
    await bot_36.quiet()
    assert shown_to(bot_36, "U0DANA000") == set(), "opening a page asks afresh"
    now[0] += 60
    bot_36.workspace.post("U0DANA000", "D0U0DANA000", HOLD)
    await bot_36.quiet()
    assert "MARKER36-DBA" not in shown_to(bot_36, "U0DANA000")


async def test_case_36_the_decision_is_logged_without_the_page(bot_36: Whole) -> None:
    await bot_36.workspace.slash("U0DANA000", "C0INC0001", "open payout-hold")
    await bot_36.quiet()
    logged = "\n".join(bot_36.log.lines)
    assert "U0DANA000" in logged and "payout-hold.md" in logged and "user group dba" in logged
    assert markers(logged, MARKER) == set()
