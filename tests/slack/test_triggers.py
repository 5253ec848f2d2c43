"""Every way in which a question comes, over the real socket: one trigger, one answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bot.answering.models import Trigger
from bot.errors import RankingError, RedactionError


def said(messages: list[dict[str, Any]]) -> str:
    return json.dumps(messages, ensure_ascii=False)


async def test_alert_is_answered_in_its_thread_once(bot: Any, workspace: Any) -> None:
    ts = workspace.post_alert(
        {
            "type": "message",
            "bot_id": "B0ALERTS",
            "user": "U0ALERTS",
            "text": "[FIRING:1] TooManyClients postgres clients",
        }
    )
    await bot.quiet()
    [reply] = workspace.thread("incidents", ts)
    assert "Connection pool" in said([reply])
    assert (
        "kubectl -n shop logs deploy/checkout | grep 'a<b & c>d'"
        in json.loads(said([reply]))[0]["blocks"][1]["elements"][1]["elements"][0]["text"]
    )
    assert reply["text"]
    [kept] = bot.edge.desk.answers.in_thread("C0INCIDENTS", ts)
    assert kept.message == reply["ts"] and kept.targets[0].runbook == "checkout/pool.md"


@pytest.mark.parametrize(
    "text", ["[RESOLVED] TooManyClients postgres clients", "Why did the pager break up with postgres clients?"]
)
async def test_resolved_and_talk_get_no_reply(bot: Any, workspace: Any, text: str) -> None:
    workspace.post_alert({"type": "message", "bot_id": "B0ALERTS", "user": "U0ALERTS", "text": text})
    workspace.post("ben", "incidents", "postgres has too many clients")
    await bot.quiet()
    assert workspace.bot_messages("incidents") == [] and bot.path.asked == []


async def test_unfurl_edit_refire_and_deletion_get_no_second_answer(bot: Any, workspace: Any) -> None:
    alert = {
        "type": "message",
        "bot_id": "B0ALERTS",
        "user": "U0ALERTS",
        "text": "[FIRING:1] TooManyClients postgres clients",
    }
    ts = workspace.post_alert(alert)
    await bot.quiet()
    workspace.unfurl("incidents", ts, {"from_url": "https://grafana.example/d/7", "title": "too many clients"})
    workspace.edit("incidents", ts, attachments=[{"title": "ticket OPS-77 opened"}])
    reply = workspace.thread("incidents", ts)[0]["ts"]
    workspace.unfurl("incidents", reply, {"from_url": "https://runbooks.example/", "title": "pool"})
    again = workspace.post_alert({**alert, "text": "[FIRING:3] TooManyClients postgres clients"})
    workspace.delete("incidents", ts)
    await bot.quiet()
    assert len(bot.path.asked) == 1
    assert len(workspace.bot_messages("incidents")) == 1 and workspace.thread("incidents", again) == []


async def test_alert_deleted_while_it_is_worked_on_gets_no_reply(bot: Any, workspace: Any) -> None:
    bot.path.gate = asyncio.Event()
    ts = workspace.post_alert(
        {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
    )
    await bot.until(lambda: bot.path.asked)
    workspace.delete("incidents", ts)
    await workspace.settled()
    bot.path.gate.set()
    await bot.quiet()
    assert workspace.bot_messages("incidents") == []


async def test_alert_channels_setting(start: Any, workspace: Any) -> None:
    bot = await start(alert_channels=("C0STOREFRONT",))
    alert = {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
    workspace.post_alert(alert, "incidents")
    workspace.post_alert(alert, "storefront")
    await bot.quiet()
    assert [q.place.id for q in bot.path.asked] == ["C0STOREFRONT"]


async def test_mention_comes_twice_and_is_answered_once(bot: Any, workspace: Any) -> None:
    ts = workspace.post("ben", "incidents", "@runbook postgres has too many clients")
    await bot.quiet()
    assert [q.text for q in bot.path.asked] == ["postgres has too many clients"]
    assert len(workspace.thread("incidents", ts)) == 1


async def test_mention_in_a_thread_brings_what_the_thread_is_about(bot: Any, workspace: Any) -> None:
    root = workspace.post_alert(
        {"type": "message", "bot_id": "B0ALERTS", "text": "[RESOLVED] TooManyClients postgres clients"}
    )
    workspace.post("ben", "incidents", "@runbook what now?", thread=root)
    await bot.quiet()
    [question] = bot.path.asked
    assert question.text == "what now?" and "TooManyClients" in question.context[0] and question.alert is not None
    assert len(workspace.thread("incidents", root)) == 2


async def test_mention_without_words_is_told_how(bot: Any, workspace: Any) -> None:
    workspace.post("ben", "incidents", "@runbook")
    await bot.quiet()
    assert "nothing in this message" in said(workspace.ephemerals("ben")) and bot.path.asked == []


async def test_direct_message_is_answered_there(bot: Any, workspace: Any) -> None:
    workspace.post("ana", "D0ANA", "restore tables from the backup?")
    await bot.quiet()
    [reply] = workspace.bot_messages("D0ANA")
    assert "MARKERDBA" in said([reply]) and "as_me" not in said([reply])


async def test_reaction_searches_again_wider_without_what_was_shown(bot: Any, workspace: Any) -> None:
    ts = workspace.post_alert(
        {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
    )
    await bot.quiet()
    workspace.post("pia", "incidents", "the latency of checkout is up, too", thread=ts)
    workspace.react("ben", "incidents", ts, "mag_right")
    workspace.react("ben", "incidents", ts, "thumbsup")
    await bot.quiet()
    question = bot.path.asked[-1]
    assert len(bot.path.asked) == 2 and question.wider and question.asker == "U0BEN"
    assert question.exclude == {"checkout/pool.md:1"}
    assert question.context == ("the latency of checkout is up, too",)
    assert "Checkout latency" in said(workspace.thread("incidents", ts)[-1:])


async def test_reaction_on_a_thread_reply_and_on_the_bots_own_card(bot: Any, workspace: Any) -> None:
    root = workspace.post("pia", "incidents", "hm")
    reply = workspace.post("pia", "incidents", "postgres has too many clients", thread=root)
    workspace.react("ben", "incidents", reply, "mag")
    await bot.quiet()
    [card] = [m for m in workspace.thread("incidents", root) if m["ts"] != reply]
    workspace.react("ben", "incidents", card["ts"], "mag")
    await bot.quiet()
    assert [q.text for q in bot.path.asked] == ["postgres has too many clients"] * 2


async def test_command_posts_who_looks_for_what_and_answers_in_the_thread(bot: Any, workspace: Any) -> None:
    await workspace.slash("ana", "incidents", "postgres has too many clients, password: hunter2Xyz9 & <b>")
    await bot.quiet()
    root, answer = workspace.bot_messages("incidents")
    assert "<@U0ANA>" in root["text"] and "‹password-1› &amp; &lt;b&gt;" in root["text"]
    assert answer["thread_ts"] == root["ts"] and "Connection pool" in said([answer])
    assert "hunter2" not in said(workspace.messages("incidents")) and "hunter2" not in bot.path.asked[0].text


async def test_asker_gets_the_rest_privately(bot: Any, workspace: Any) -> None:
    await workspace.slash("ana", "incidents", "postgres has lost tables")
    await bot.quiet()
    assert "MARKERDBA" not in said(workspace.bot_messages("incidents"))
    [private] = workspace.ephemerals("ana")
    assert "MARKERDBA" in said([private])
    assert "MARKERDBA" not in json.dumps([s.__dict__ for s in workspace.seen_by("ben")], default=str)


async def test_mention_gives_the_rest_privately(bot: Any, workspace: Any) -> None:
    workspace.post("ana", "incidents", "@runbook postgres has lost tables")
    await bot.quiet()
    assert "MARKERDBA" in said(workspace.ephemerals("ana")) and "MARKERDBA" not in said(workspace.messages("incidents"))


async def test_command_me_answers_the_asker_alone(bot: Any, workspace: Any) -> None:
    await workspace.slash("ben", "incidents", "me postgres has too many clients")
    await bot.quiet()
    assert workspace.bot_messages("incidents") == [] and "Connection pool" in said(workspace.ephemerals("ben"))


async def test_command_where_the_bot_is_not_answers_alone_and_says_how_to_invite(bot: Any, workspace: Any) -> None:
    await workspace.slash("ben", "random", "postgres has too many clients")
    await bot.quiet()
    seen = said(workspace.ephemerals("ben"))
    assert "Connection pool" in seen and "/invite" in seen
    assert workspace.calls_of("chat.postMessage") == []


async def test_redaction_failure_ends_a_command_with_its_reason(
    bot: Any, workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(text: str, **_: Any) -> Any:
        raise RedactionError("out of time")

    monkeypatch.setattr(bot.path.redactor, "redact", broken)
    await workspace.slash("ben", "incidents", "postgres has too many clients")
    await bot.quiet()
    assert "could not be checked for secrets" in said(workspace.ephemerals("ben"))
    assert workspace.bot_messages("incidents") == [] and bot.path.asked == []


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [(RankingError("gone"), "index is unavailable"), (ZeroDivisionError("hunter2"), "Something went wrong")],
)
async def test_a_person_always_gets_the_reason(
    bot: Any, workspace: Any, fault: Exception, sentence: str, caplog: Any
) -> None:
    bot.path.faults = [fault]
    workspace.post("ben", "incidents", "@runbook postgres has too many clients")
    await bot.quiet()
    [told] = workspace.ephemerals("ben")
    reference = told["text"].rpartition("Reference: ")[2]
    assert sentence in told["text"] and "ZeroDivision" not in told["text"] and "hunter2" not in told["text"]
    assert reference in caplog.text


async def test_failed_alert_is_tried_again_and_a_redelivery_is_not_ignored(bot: Any, workspace: Any) -> None:
    bot.path.faults = [RankingError("busy")]
    ts = workspace.post_alert(
        {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
    )
    await bot.quiet()
    assert workspace.thread("incidents", ts) == []
    message = {**workspace.message("incidents", ts), "channel": "C0INCIDENTS", "channel_type": "channel"}
    bot.edge.desk.spawn(bot.edge._message(message))
    await bot.quiet()
    bot.edge.desk.spawn(bot.edge._message(message))
    await bot.quiet()
    assert len(workspace.thread("incidents", ts)) == 1 and len(bot.path.asked) == 2


async def test_two_replicas_that_get_the_same_event_answer_once(start: Any, workspace: Any) -> None:
    first, second = await start(), await start(connect=False)
    ts = workspace.post_alert(
        {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
    )
    message = {**workspace.message("incidents", ts), "channel": "C0INCIDENTS", "channel_type": "channel"}
    await asyncio.gather(*(second.edge._message(message) for _ in range(3)))
    await first.quiet()
    await second.quiet()
    assert len(workspace.thread("incidents", ts)) == 1
    assert len(first.path.asked) + len(second.path.asked) == 1


async def test_slow_answer_is_acknowledged_at_once(bot: Any, workspace: Any) -> None:
    bot.path.gate = asyncio.Event()
    await workspace.slash("ben", "incidents", "postgres has too many clients")  # raises where it is not acknowledged
    ts = workspace.post_alert(
        {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
    )
    await workspace.settled()
    await bot.until(lambda: len(bot.path.asked) == 2)
    assert workspace.thread("incidents", ts) == []
    bot.path.gate.set()
    await bot.quiet()
    assert len(workspace.thread("incidents", ts)) == 1 and len(workspace.bot_messages("incidents")) == 3


async def test_work_that_a_crash_left_behind_is_taken_up(start: Any, workspace: Any, tmp_path: Path) -> None:
    crashed = await start()
    crashed.path.gate = asyncio.Event()
    await workspace.slash("ana", "incidents", "postgres has too many clients, password: hunter2Xyz9")
    ts = workspace.post_alert(
        {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
    )
    workspace.post("ben", "incidents", "@runbook postgres has too many clients")
    await crashed.until(lambda: len(crashed.path.asked) == 3)
    assert b"hunter2" not in (tmp_path / "records.db").read_bytes() + (tmp_path / "records.db-wal").read_bytes()
    await crashed.edge._socket.close_async()
    for task in list(crashed.edge.desk._tasks):
        task.cancel()
    await asyncio.sleep(0)
    second = await start()
    await second.quiet()
    assert len(second.path.asked) == 3
    assert len(workspace.thread("incidents", ts)) == 1
    roots = [m for m in workspace.bot_messages("incidents") if "looks for" in m["text"]]
    assert len(roots) == 1 and len(workspace.thread("incidents", roots[0]["ts"])) == 1
    third = await start()
    await third.quiet()
    assert third.path.asked == []


async def test_finished_work_whose_end_was_not_written_is_not_repeated(start: Any, workspace: Any) -> None:
    bot = await start()
    ts = workspace.post_alert(
        {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
    )
    await bot.quiet()
    [kept] = bot.edge.desk.answers.in_thread("C0INCIDENTS", ts)
    from bot.slack.intake import Pointer

    bot.edge.desk.answers.posted(kept.id, message="", thread=ts)
    assert await bot.edge.desk._stands_already(Pointer(kept.trigger, "C0INCIDENTS", ts))
    [kept] = bot.edge.desk.answers.in_thread("C0INCIDENTS", ts)
    assert kept.message


async def test_whoever_posted_a_secret_is_told_once_and_privately(bot: Any, workspace: Any) -> None:
    ts = workspace.post("pia", "incidents", "postgres has too many clients, password=hunter2Xyz9")
    for who in ("ben", "ana"):
        workspace.react(who, "incidents", ts)
    await bot.quiet()
    [told] = workspace.ephemerals("pia")
    assert "rotate" in told["text"] and "hunter2" not in said([told])
    assert all("rotate" not in said(workspace.ephemerals(who)) for who in ("ben", "ana"))
    await workspace.slash("ben", "incidents", "is postgres up? password=hunter2Xyz9")
    await bot.quiet()
    assert "rotate" in said(workspace.ephemerals("ben"))


async def test_work_that_ends_every_process_is_given_up_and_the_asker_told(bot: Any, workspace: Any) -> None:
    from bot.records.events import MOST_ATTEMPTS
    from bot.slack.intake import Pointer

    events = bot.edge.desk._events
    ts = workspace.post("ben", "incidents", "postgres has too many clients")
    pointer = Pointer(Trigger.MENTION, "C0INCIDENTS", ts, "", "U0BEN")
    events.claim(pointer.key, pointer.as_record())
    for _ in range(MOST_ATTEMPTS - 1):
        assert events.unfinished(everything=True)
    await bot.edge.desk._take_up(everything=True)
    await bot.quiet()
    assert "Something went wrong" in said(workspace.ephemerals("ben")) and bot.path.asked == []
    assert events.unfinished(everything=True) == []
