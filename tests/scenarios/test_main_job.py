"""An alert lands, and a cited reply that everyone there may read stands in its thread: the main job, end to end."""

from __future__ import annotations

import re

import pytest
from aiohttp import web

from bot.answering.verify import fold
from bot.workspace.alerts import READY_ALERTS
from bot.workspace.world import strings
from tests.conftest import ROOT, free_port
from tests.scenarios.conftest import Bot, Start

RESTRICTED = [*ROOT.glob("runbooks/payments/*.md"), *ROOT.glob("runbooks/checkout-db/restore-*.md")]
SECRET_TITLES = [
    re.search(r"^(?:title: |# )(.+)$", page.read_text(), re.MULTILINE).group(1)  # type: ignore[union-attr]
    for page in RESTRICTED
]


def words(message: dict[str, object]) -> str:
    return "\n".join(strings(message))


def last_root(bot: Bot, channel: str) -> dict[str, object]:
    """The last message of a channel that stands in no thread."""
    return [m for m in bot.workspace.messages(channel) if m.get("thread_ts") in (None, m["ts"])][-1]


def assert_quoted(bot: Bot, channel: str, thread: str, *, at_least: int = 1) -> None:
    """Every check on record for this thread stands in the runbook, at the lines it names."""
    channel_id = bot.workspace.world.channel(channel).id
    kept = bot.edge.desk.answers.in_thread(channel_id, thread)
    checks = [check for answer in kept for check in answer.outcome.get("checks", ())]
    assert len(checks) >= at_least
    for check in checks:
        at = check["citation"]
        page = (ROOT / "runbooks" / at["runbook"]).read_text()
        lines = page.split("\n")[at["start_line"] - 1 : at["end_line"]]
        assert fold(at["quote"]) in fold("\n".join(lines))
        if check["command"]:
            assert all(line.strip() in page for line in check["command"].split("\n"))


@pytest.mark.parametrize("alert", [a for a in READY_ALERTS if a.fires], ids=lambda alert: alert.id)
async def test_every_ready_alert_gets_one_reply_of_open_pages(start: Start, alert: object) -> None:
    bot = await start()
    ts = bot.workspace.post_alert(alert.id, "incidents")  # type: ignore[attr-defined]
    await bot.quiet()
    [reply] = bot.replies("incidents", ts)
    for title in SECRET_TITLES:
        assert title not in words(reply)
    if not any(word in alert.id for word in ("payment", "refund", "webhook")):  # type: ignore[attr-defined]
        assert_quoted(bot, "incidents", ts, at_least=2)


@pytest.mark.parametrize("alert", [a for a in READY_ALERTS if not a.fires], ids=lambda alert: alert.id)
async def test_resolved_alerts_and_ordinary_posts_get_no_reply(start: Start, alert: object) -> None:
    bot = await start()
    ts = bot.workspace.post_alert(alert.id, "incidents")  # type: ignore[attr-defined]
    plain = bot.workspace.post("ben", "incidents", "is anybody looking at checkout?")
    await bot.quiet()
    assert bot.replies("incidents", ts) == bot.replies("incidents", plain) == []


async def test_a_command_is_answered_in_the_thread_of_its_line(start: Start) -> None:
    bot = await start()
    await bot.workspace.slash("ben", "incidents", "postgres too many clients")
    await bot.quiet()
    line = last_root(bot, "incidents")
    assert "postgres too many clients" in words(line)
    [reply] = bot.replies("incidents", line["ts"])
    assert "Connection pool exhausted" in words(reply)
    assert_quoted(bot, "incidents", line["ts"], at_least=2)


async def test_a_reaction_searches_again_without_what_was_shown(start: Start) -> None:
    bot = await start()
    ts = bot.workspace.post("ben", "incidents", "postgres says FATAL: sorry, too many clients already")
    bot.workspace.react("ben", "incidents", ts)
    await bot.quiet()
    bot.workspace.react("pia", "incidents", ts, "mag")
    await bot.quiet()
    kept = bot.edge.desk.answers.in_thread("C0INCIDENTS", ts)
    assert len(kept) == 2
    assert kept[0].passages
    assert not set(kept[0].passages) & set(kept[1].passages)


async def test_restricted_pages_reach_those_who_may_read_them_and_nobody_else(start: Start) -> None:
    bot = await start()
    question = "restore checkout-db from the pgbackrest backup"
    await bot.workspace.slash("ana", "incidents", question)
    await bot.workspace.slash("ben", "incidents", question)
    ts = bot.workspace.post("ben", "incidents", question)
    bot.workspace.react("ana", "incidents", ts)
    await bot.workspace.slash("ben", "incidents", "open checkout-db/restore-from-backup.md")
    await bot.workspace.slash("ben", "incidents", "list")
    await bot.quiet()
    assert "Restore the checkout database from a backup" in bot.seen("ana")
    for other in ("ben", "pia", "gil", "olga"):
        for title in SECRET_TITLES:
            if other == "pia" and "payments" in str(RESTRICTED[SECRET_TITLES.index(title)]):
                continue
            assert title not in bot.seen(other)
        assert "pgbackrest --stanza" not in bot.seen(other)


async def test_open_of_a_restricted_page_and_of_none_are_the_same(start: Start) -> None:
    bot = await start()
    await bot.workspace.slash("ben", "incidents", "open checkout-db/restore-from-backup.md")
    await bot.quiet()
    await bot.workspace.slash("ben", "incidents", "open checkout-db/no-such-page.md")
    await bot.quiet()
    told = [seen.payload for seen in bot.workspace.seen_by("ben") if seen.kind == "ephemeral"]
    restricted, missing = ([message["text"], *(b.get("text") for b in message["blocks"])] for message in told)
    assert restricted == missing


async def test_open_shows_the_section_to_whoever_may_and_search_as_me_is_private(start: Start) -> None:
    bot = await start()
    ts = bot.workspace.post_alert(
        next(a.id for a in READY_ALERTS if "postgres" in a.id or "connections" in a.id), "incidents"
    )
    await bot.quiet()
    [reply] = bot.replies("incidents", ts)
    button = next(
        e for b in reply["blocks"] for e in b.get("elements", ()) if e.get("action_id", "").startswith("open_")
    )
    await bot.workspace.click("ben", "incidents", reply["ts"], button["action_id"])
    await bot.quiet()
    modals = [seen for seen in bot.workspace.seen_by("ben") if seen.kind == "modal"]
    assert "First checks" in modals[-1].words
    await bot.workspace.click("ana", "incidents", reply["ts"], "as_me")
    await bot.quiet()
    assert any(seen.kind == "ephemeral" for seen in bot.workspace.seen_by("ana"))
    assert not any(seen.kind == "ephemeral" for seen in bot.workspace.seen_by("ben"))


async def test_where_the_bot_is_not_a_member_the_asker_alone_is_answered_and_told_to_invite(start: Start) -> None:
    bot = await start()
    await bot.workspace.slash("ben", "random", "postgres too many clients")
    await bot.quiet()
    told = [seen.words for seen in bot.workspace.seen_by("ben") if seen.kind == "ephemeral"]
    assert "Connection pool exhausted" in told[-1]
    assert "/invite" in told[-1]
    assert "Connection pool exhausted" not in bot.seen("ana")


async def test_the_same_bot_by_http(start: Start) -> None:
    bot = await start(connect=False)
    port = free_port()
    runner = web.AppRunner(bot.edge.app.web_app(path="/slack/events", port=port))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        bot.workspace.deliver_to(f"http://127.0.0.1:{port}/slack/events")
        ts = bot.workspace.post_alert("kafka-lag", "incidents")
        await bot.quiet()
        assert len(bot.replies("incidents", ts)) == 1
        await bot.workspace.slash("ben", "incidents", "postgres too many clients")
        await bot.quiet()
        line = last_root(bot, "incidents")
        assert bot.replies("incidents", line["ts"])
    finally:
        await runner.cleanup()


async def test_a_restart_answers_nothing_twice(start: Start) -> None:
    bot = await start()
    ts = bot.workspace.post_alert("kafka-lag", "incidents")
    await bot.quiet()
    bot.workspace.redeliver()
    await bot.quiet()
    assert len(bot.replies("incidents", ts)) == 1
