"""While Slack does not say who is who, every row of DESIGN.md's rules holds, through the whole bot: less, and told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import pytest_asyncio

from bot import sentences
from tests.access.whole import Whole, alert, markers, whole_bot

pytestmark = pytest.mark.asyncio(loop_scope="module")

POLICY = """\
audiences:
  dba: {usergroups: [dba-oncall]}
  payments: {channels: [C0PAYMENTS]}
default: members
rules:
  - {paths: "dba/**", audience: dba}
  - {paths: "payments/**", audience: payments}
  - {paths: "status/**", audience: public}
"""
OPEN, DBA, PAY, PUBLIC = "zebra turbine vibration", "walrus furnace overheating", "otter stalled", "pelican jammed"
PAGES = {
    path: f"# {topic}\n\n1. Look at the {topic} gauge, {marker} panel:\n\n   ```sh\n   gauge --panel {marker}\n   ```\n"
    for path, topic, marker in (
        ("open/zebra.md", OPEN, "MARKEROPEN"),
        ("dba/walrus.md", DBA, "MARKERDBA"),
        ("payments/otter.md", PAY, "MARKERPAY"),
        ("status/pelican.md", PUBLIC, "MARKERPUBLIC"),
    )
}
FAULTS: list[dict[str, Any]] = [{"status": 500}, {"status": 429, "retry_after": 30}, {"delay": 0.6}]
NOTICE = "could not be checked"

failing = pytest.mark.parametrize("fault", FAULTS, ids=["500", "429", "time-out"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as environment:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            environment.delenv(name, raising=False)
        async with whole_bot(tmp_path_factory.mktemp("failing"), POLICY, PAGES) as bot:
            yield bot


@pytest.fixture
def bot(started: Whole) -> Whole:
    """The bot, when nobody has seen anything and Slack says everything."""
    started.workspace.recover()
    started.workspace.world.seen.clear()
    started.workspace.world.ephemerals.clear()
    for channel in started.workspace.world.channels.values():
        channel.messages.clear()
    started.edge.membership._limited.clear()
    started.edge.membership._patience = 4.0
    started.forget()
    return started


@pytest.fixture
def down(bot: Whole) -> Callable[..., None]:
    """Lets some of Slack's methods fail; what was known a minute ago is not taken any more."""

    def fail(fault: dict[str, Any], *methods: str) -> None:
        bot.edge.membership._patience = 0.3 if "delay" in fault else 4.0
        bot.forget()
        for user, known in list(bot.edge.membership._people.items()):
            bot.edge.membership._people[user] = type(known)(known.person, known.at - 60)
        for method in methods:
            bot.workspace.fail(method, -1, **fault)

    return fail


def shown_to(bot: Whole, user: str) -> set[str]:
    seen = [seen.payload for seen in bot.workspace.seen_by(user) if seen.by_bot]
    return markers(seen, r"MARKER[A-Z]+")


@failing
async def test_a_place_that_cannot_be_asked_about_shows_public_pages_only(
    bot: Whole, down: Any, fault: dict[str, Any]
) -> None:
    down(fault, "conversations.info", "conversations.members")
    for words in (OPEN, PUBLIC, PAY):
        bot.workspace.post_alert(alert("Plant", words), "payments")
    await bot.quiet()
    assert markers(bot.workspace.messages("payments"), r"MARKER[A-Z]+") <= {"MARKERPUBLIC"}
    for message in bot.workspace.bot_messages("payments"):
        assert NOTICE in json.dumps(message)


@failing
async def test_a_full_member_gets_open_pages_alone_with_the_notice(
    bot: Whole, down: Any, fault: dict[str, Any]
) -> None:
    down(fault, "conversations.info", "conversations.members", "usergroups.*", "users.info")
    bot.workspace.post("ana", "incidents", f"@runbook {OPEN}")
    await bot.quiet()
    assert "MARKEROPEN" not in json.dumps(bot.workspace.messages("incidents"))
    private = json.dumps(bot.workspace.ephemerals("ana"))
    assert "MARKEROPEN" in private and NOTICE in private


@failing
async def test_groups_that_cannot_be_asked_give_nothing_and_the_notice(
    bot: Whole, down: Any, fault: dict[str, Any]
) -> None:
    down(fault, "usergroups.*", "conversations.members")
    for words in (DBA, OPEN):
        bot.workspace.post("ana", "D0ANA", words)
    await bot.quiet()
    assert shown_to(bot, "U0ANA") == {"MARKEROPEN"}
    replies = [json.dumps(message) for message in bot.workspace.bot_messages("D0ANA")]
    assert len(replies) == 2 and all(NOTICE in reply for reply in replies), "whether or not anything restricted matched"


@failing
async def test_a_guest_and_an_outsider_who_cannot_be_asked_about_read_public_pages_only(
    bot: Whole, down: Any, fault: dict[str, Any]
) -> None:
    down(fault, "users.info", "conversations.info", "conversations.members")
    bot.edge.membership._people.pop("U0OLGA", None)
    for words in (OPEN, PUBLIC):
        bot.workspace.post("gil", "storefront", f"@runbook {words}")
        bot.workspace.post("olga", "partner-acme", f"@runbook {words}")
    await bot.quiet()
    assert shown_to(bot, "U0GIL") <= {"MARKERPUBLIC"}
    assert shown_to(bot, "U0OLGA") <= {"MARKERPUBLIC"}


@failing
async def test_a_click_while_slack_does_not_say(bot: Whole, down: Any, fault: dict[str, Any]) -> None:
    bot.workspace.post("ana", "D0ANA", DBA)
    bot.workspace.post("ana", "D0ANA", OPEN)
    await bot.quiet()
    cards = {next(iter(markers(card, r"MARKER[A-Z]+"))): card for card in bot.workspace.bot_messages("D0ANA")}
    down(fault, "usergroups.*", "users.info")
    await bot.workspace.click("ana", "D0ANA", cards["MARKERDBA"]["ts"], "open_0")
    await bot.quiet()
    refused = json.dumps(bot.workspace.view("ana"))
    assert sentences.NO_ANSWER["not_allowed"] in refused and "MARKER" not in refused
    await bot.workspace.click("ana", "D0ANA", cards["MARKEROPEN"]["ts"], "open_0")
    await bot.quiet()
    assert "MARKEROPEN" in json.dumps(bot.workspace.view("ana")), "known as a full member within the last 24 hours"


@failing
async def test_what_stands_is_not_taken_back_for_that_alone(bot: Whole, down: Any, fault: dict[str, Any]) -> None:
    ts = bot.workspace.post_alert(alert("Plant", OPEN), "incidents")
    await bot.quiet()
    down(fault, "conversations.*")
    await bot.edge.desk.standing.check()
    assert "MARKEROPEN" in json.dumps(bot.workspace.thread("incidents", ts))
    bot.workspace.recover()
    bot.edge.membership._limited.clear()
    bot.workspace.world.channels["C0INCIDENTS"].members.add("U0GIL")
    await bot.edge.desk.standing.check()
    bot.workspace.world.channels["C0INCIDENTS"].members.discard("U0GIL")
    assert "MARKEROPEN" not in json.dumps(bot.workspace.thread("incidents", ts))


@failing
async def test_who_asks_in_a_place_is_told_too(bot: Whole, down: Any, fault: dict[str, Any]) -> None:
    down(fault, "usergroups.*")
    ts = bot.workspace.post("ana", "incidents", f"@runbook {OPEN}")
    await bot.quiet()
    assert "MARKEROPEN" in json.dumps(bot.workspace.thread("incidents", ts))
    assert NOTICE in json.dumps(bot.workspace.ephemerals("ana"))


async def test_a_page_that_closes_itself_is_taken_back(bot: Whole) -> None:
    ts = bot.workspace.post_alert(alert("Plant", OPEN), "incidents")
    await bot.quiet()
    assert "MARKEROPEN" in json.dumps(bot.workspace.thread("incidents", ts))
    closed = {"open/zebra.md": "---\naudience: [no-such]\n---\n\n" + PAGES["open/zebra.md"]}
    try:
        await bot.publish(POLICY, PAGES | closed)
        await bot.edge.desk.standing.check()
        assert "MARKEROPEN" not in json.dumps(bot.workspace.thread("incidents", ts))
    finally:
        await bot.publish(POLICY, PAGES)
