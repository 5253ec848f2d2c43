"""What people press on an answer's card, over the real socket: who may, what then stands where, and `/runbook gaps`."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.library.models import Catalogue, Service
from bot.records.feedback import Feedback
from bot.slack import render

ALERT = {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
UNKNOWN = {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] VolcanoErupted ash everywhere"}
CANNOT = "can mark this answer"


def said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def marks(bot: Any) -> set[tuple[str, int, str]]:
    return {(m.person, m.number, m.word) for m in bot.edge.sayings._feedback.everything()}


def menu(card: dict[str, Any]) -> dict[str, str]:
    """What the card's menu offers: label and value."""
    elements = [e for b in card["blocks"] if b["type"] == "actions" for e in b["elements"]]
    [select] = [e for e in elements if e["type"] == "static_select"]
    return {option["text"]["text"]: option["value"] for option in select["options"]}


async def card_in(bot: Any, workspace: Any, channel: str = "incidents") -> dict[str, Any]:
    ts = workspace.post_alert(ALERT, channel)
    await bot.quiet()
    [card] = workspace.thread(channel, ts)
    return dict(card)


async def choose(
    bot: Any, workspace: Any, user: str, card: dict[str, Any], label: str, channel: str = "incidents"
) -> Any:
    """Press a button or choose from the menu; the card as it stands then."""
    if label in ("helpful", "wrong"):
        await workspace.click(user, channel, card["ts"], f"say_{label}")
    else:
        await workspace.click(user, channel, card["ts"], "say_of_check", menu(card)[label])
    await bot.quiet()
    return workspace.message(channel, card["ts"])


async def test_a_mark_stands_on_the_card_with_who_made_it(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    before = card["blocks"]
    assert list(menu(card)) == ["1 done", "1 ruled out", "1 this one helped", "1 not marked"]
    shown = await choose(bot, workspace, "ben", card, "1 done")
    [done] = [e for e in shown["blocks"][1]["elements"] if "✓ Done" in said(e)]
    assert {"type": "user", "user_id": "U0BEN"} in done["elements"]
    shown = await choose(bot, workspace, "ana", card, "1 this one helped")
    shown = await choose(bot, workspace, "ana", card, "helpful")
    assert "★ This one helped" in said(shown["blocks"][1]) and said(shown).count("U0ANA") == 2
    assert marks(bot) == {("U0BEN", 1, "done"), ("U0ANA", 1, "helped"), ("U0ANA", 0, "helpful")}
    # nothing else has changed: the command byte for byte, the buttons, the citation
    assert shown["blocks"][0]["elements"] == before[0]["elements"]
    assert shown["blocks"][1]["elements"][:3] == before[1]["elements"][:3]
    assert workspace.ephemerals("ben") == workspace.ephemerals("ana") == []
    assert len(workspace.bot_messages("incidents")) == 1


async def test_pressing_again_changes_nothing_and_another_word_replaces(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    first = await choose(bot, workspace, "ben", card, "helpful")
    again = await choose(bot, workspace, "ben", card, "helpful")
    assert [b["elements"] for b in first["blocks"]] == [b["elements"] for b in again["blocks"]]
    assert marks(bot) == {("U0BEN", 0, "helpful")}
    shown = await choose(bot, workspace, "ben", card, "wrong")
    assert marks(bot) == {("U0BEN", 0, "wrong")} and "👍 Helpful: " not in said(shown)
    await choose(bot, workspace, "ben", card, "1 ruled out")
    shown = await choose(bot, workspace, "ben", card, "1 not marked")
    assert marks(bot) == {("U0BEN", 0, "wrong")} and "Ruled out" not in said(shown)


async def test_everybody_presses_at_the_same_time(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    presses = [("ben", "say_helpful"), ("ana", "say_helpful"), ("pia", "say_wrong"), ("ben", "say_helpful")]
    await asyncio.gather(*(workspace.click(user, "incidents", card["ts"], action) for user, action in presses))
    await bot.quiet()
    shown = said(workspace.message("incidents", card["ts"]))
    assert all(f'"user_id": "{user}"' in shown for user in ("U0BEN", "U0ANA", "U0PIA"))
    assert len(marks(bot)) == 3


async def test_whoever_has_left_the_place_can_say_nothing(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    workspace.leave("pia", "incidents")
    await workspace.click("pia", "incidents", card["ts"], "say_helpful")  # a public channel can be read all the same
    await bot.quiet()
    assert CANNOT in said(workspace.ephemerals("pia")) + said(workspace.bot_messages("D0PIA"))
    assert marks(bot) == set() and workspace.message("incidents", card["ts"])["blocks"] == card["blocks"]


async def test_where_slack_cannot_be_asked_nobody_can_say_anything(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    workspace.fail("conversations.members", error="internal_error")
    await workspace.click("ben", "incidents", card["ts"], "say_helpful")
    await bot.quiet()
    assert marks(bot) == set() and CANNOT in said(workspace.ephemerals("ben"))
    assert workspace.message("incidents", card["ts"])["blocks"] == card["blocks"]


async def test_the_right_is_gone_and_the_page_is_gone_are_the_same(bot: Any, workspace: Any) -> None:
    workspace.post("ana", "D0ANA", "restore tables from the backup?")
    await bot.quiet()
    [card] = workspace.bot_messages("D0ANA")
    workspace.set_group("dba-oncall", [])
    await choose(bot, workspace, "ana", card, "helpful", "D0ANA")
    workspace.set_group("dba-oncall", ["ana"])
    del bot.path.pages["dba/restore.md"]
    await choose(bot, workspace, "ana", card, "helpful", "D0ANA")
    taken, gone = workspace.bot_messages("D0ANA")[1:]
    assert CANNOT in taken["text"] and taken["blocks"][0]["text"] == gone["blocks"][0]["text"]
    assert marks(bot) == set()


async def test_a_private_answer_is_marked_by_its_reader_alone(bot: Any, workspace: Any) -> None:
    workspace.post("ana", "D0ANA", "restore tables from the backup?")
    await bot.quiet()
    [card] = workspace.bot_messages("D0ANA")
    shown = await choose(bot, workspace, "ana", card, "1 this one helped", "D0ANA")
    assert "★ This one helped" in said(shown) and "as_me" not in said(shown)
    assert marks(bot) == {("U0ANA", 1, "helped")}


async def test_an_ephemeral_answer_is_replaced_where_it_stands(bot: Any, workspace: Any) -> None:
    await workspace.slash("ben", "random", "postgres has too many clients")
    await bot.quiet()
    [card] = workspace.ephemerals("ben")
    assert "Invite me" in said(card)
    await workspace.click("ben", "random", card["ts"], "say_helpful")
    await bot.quiet()
    [card] = workspace.ephemerals("ben")
    assert "👍 Helpful: " in said(card) and "U0BEN" in said(card) and "Invite me" in said(card)
    assert marks(bot) == {("U0BEN", 0, "helpful")}


async def test_a_thumb_on_the_card_is_the_buttons_thumb(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    for name in ("+1", "thumbsup::skin-tone-3", "eyes"):
        workspace.react("ben", "incidents", card["ts"], name)
    workspace.react("ben", "incidents", card["thread_ts"], "+1")  # the alert's own thumbs say nothing of an answer
    await bot.quiet()
    assert marks(bot) == {("U0BEN", 0, "helpful")}
    assert said(workspace.message("incidents", card["ts"])["blocks"]).count("U0BEN") == 1
    await choose(bot, workspace, "ana", card, "wrong")
    workspace.react("ana", "incidents", card["ts"], "-1")
    workspace.react("ben", "incidents", card["ts"], "+1", remove=True)
    await bot.quiet()
    assert marks(bot) == {("U0ANA", 0, "wrong")}
    assert "U0BEN" not in said(workspace.message("incidents", card["ts"])["blocks"])
    assert len(bot.path.asked) == 1 and workspace.ephemerals("ben") == []


async def test_a_thumb_of_somebody_who_may_not_is_ignored(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    del bot.path.pages["checkout/pool.md"]
    workspace.react("ben", "incidents", card["ts"], "+1")
    await bot.quiet()
    assert marks(bot) == set() and workspace.ephemerals("ben") == []
    assert workspace.message("incidents", card["ts"])["blocks"] == card["blocks"]


async def test_forged_and_stale_values_are_refused(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    [kept] = bot.edge.desk.answers.in_thread("C0INCIDENTS", card["thread_ts"])
    other = await card_in(bot, workspace, "storefront")
    [kept_elsewhere] = bot.edge.desk.answers.in_thread("C0STOREFRONT", other["thread_ts"])
    values = [
        "", "::", "nosuch:0:helpful", f"{kept.id}:0:done", f"{kept.id}:2:done", f"{kept.id}:-1:done",
        f"{kept.id}:1:helpful", f"{kept.id}:x:done", f"{kept.id}:0:", f"{kept_elsewhere.id}:0:helpful",
    ]  # fmt: skip
    for value in values:
        body = {
            "user": {"id": "U0BEN"},
            "channel": {"id": "C0INCIDENTS"},
            "message": {"ts": card["ts"], "thread_ts": card["thread_ts"]},
            "container": {"is_ephemeral": False},
            "actions": [{"value": value}],
        }
        await bot.edge.sayings.say(body)
    assert marks(bot) == set() and len(workspace.ephemerals("ben")) == len(values)
    assert all(CANNOT in said(message) for message in workspace.ephemerals("ben"))


async def test_a_mark_does_not_bring_back_what_was_taken_back(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    workspace.join("gil", "incidents")  # a guest: the members' page may not stand there any more
    await bot.quiet()
    before = workspace.message("incidents", card["ts"])["blocks"]
    assert "postgres" not in said(before)
    body = {
        "user": {"id": "U0BEN"},
        "channel": {"id": "C0INCIDENTS"},
        "message": {"ts": card["ts"], "thread_ts": card["thread_ts"]},
        "actions": [{"value": menu(card)["1 done"]}],
    }
    await bot.edge.sayings.say(body)
    assert workspace.message("incidents", card["ts"])["blocks"] == before and marks(bot) == set()


async def test_a_mark_takes_back_what_may_not_stand_any_more(bot: Any, workspace: Any) -> None:
    card = await card_in(bot, workspace)
    bot.edge.desk.standing.changed = lambda channels: None  # the event of the join was lost
    bot.edge._recheck = lambda channels: asyncio.sleep(0)
    workspace.join("gil", "incidents")
    await bot.quiet()
    shown = await choose(bot, workspace, "ben", card, "helpful")
    assert "postgres" not in said(shown) and "hidden here now" in said(shown)


async def test_marks_are_shown_nowhere_but_on_their_own_card(bot: Any, workspace: Any) -> None:
    here, there = await card_in(bot, workspace), await card_in(bot, workspace, "payments")
    await choose(bot, workspace, "ben", here, "helpful")
    assert "U0BEN" not in said(workspace.message("payments", there["ts"]))


async def test_the_card_with_every_mark_is_within_slacks_limits(bot: Any, workspace: Any) -> None:
    bot.path.many = 20
    card = await card_in(bot, workspace)
    offered = menu(card)
    assert len(offered) <= 100 and "20 done" in offered
    for user in ("ben", "ana", "pia"):
        for number in (1, 20):
            await workspace.click(user, "incidents", card["ts"], "say_of_check", offered[f"{number} ruled out"])
    await bot.quiet()
    shown = workspace.message("incidents", card["ts"])
    assert said(shown).count("✗ Ruled out: ") == 2 and "not show it" not in said(shown)


def test_many_names_are_counted() -> None:
    from bot.records.feedback import Mark

    [line] = render._said([Mark("a", f"U{n}", "helpful") for n in range(5)], 0)
    assert [e.get("user_id") for e in line["elements"] if e["type"] == "user"] == ["U0", "U1", "U2"]
    assert line["elements"][-1]["text"] == "+2"


async def test_records_that_are_out_of_reach_are_said(bot: Any, workspace: Any, monkeypatch: Any) -> None:
    from bot.errors import RecordsUnavailable

    def fails(self: Feedback, mark: Any) -> None:
        raise RecordsUnavailable("disk full")

    card = await card_in(bot, workspace)
    monkeypatch.setattr(Feedback, "say", fails)
    await workspace.click("ben", "incidents", card["ts"], "say_helpful")
    await bot.quiet()
    [told] = workspace.ephemerals("ben")
    assert "Reference" in said(told) and "disk" not in said(told)


# --- what a place remembers ---------------------------------------------------------------------------------


async def test_the_same_alert_again_says_how_often_and_what_helped(start: Any, workspace: Any) -> None:
    bot = await start(refire_minutes=0)
    bot.path.many = 2
    first = await card_in(bot, workspace)
    assert "time here" not in said(first) and "Last time" not in said(first)
    await choose(bot, workspace, "ben", first, "2 this one helped")
    second = await card_in(bot, workspace)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert f"↻ Second time here in 7 days; last time, on {today}, " in said(second["blocks"][1])
    shown = await choose(bot, workspace, "ana", second, "helpful")
    assert "Second time here" in said(shown["blocks"][1])  # it stays when the card is drawn anew
    assert "Third time here" in said(await card_in(bot, workspace))


async def test_memory_does_not_cross_places(bot: Any, workspace: Any) -> None:
    first = await card_in(bot, workspace, "payments")
    await choose(bot, workspace, "pia", first, "1 this one helped", "payments")
    assert "↻" not in said(await card_in(bot, workspace, "incidents"))
    await workspace.slash("ben", "random", "[FIRING:1] TooManyClients postgres clients")
    await bot.quiet()
    assert "↻" not in said(workspace.ephemerals("ben"))


async def test_memory_knows_nothing_of_private_answers(bot: Any, workspace: Any) -> None:
    await workspace.slash("ben", "incidents", "me postgres has too many clients")
    await bot.quiet()
    [card] = workspace.ephemerals("ben")
    await workspace.click("ben", "incidents", card["ts"], "say_of_check", menu(card)["1 this one helped"])
    await bot.quiet()
    workspace.post("ana", "incidents", "@runbook postgres has too many clients")
    await bot.quiet()
    assert "↻" not in said(workspace.bot_messages("incidents"))


async def test_a_check_that_helped_is_named_only_where_the_answer_has_it(bot: Any, workspace: Any) -> None:
    workspace.post("ben", "incidents", "@runbook postgres has too many clients")
    await bot.quiet()
    [first] = workspace.bot_messages("incidents")
    await choose(bot, workspace, "ben", first, "1 this one helped")
    bot.path.pages["checkout/pool.md"] = bot.path.pages.pop("dba/restore.md")  # another page answers now, or none
    workspace.post("ana", "incidents", "@runbook postgres has too many clients")
    await bot.quiet()
    second = workspace.bot_messages("incidents")[-1]
    assert "Second time here in 7 days." in said(second) and "helped." not in said(second)


async def test_a_second_search_in_the_same_thread_is_no_repeat(bot: Any, workspace: Any) -> None:
    ts = workspace.post("ben", "incidents", "@runbook postgres has too many clients")
    await bot.quiet()
    workspace.react("ana", "incidents", ts)
    await bot.quiet()
    assert len(workspace.thread("incidents", ts)) == 2 and "↻" not in said(workspace.thread("incidents", ts))


async def test_the_words_of_a_deleted_message_are_forgotten(bot: Any, workspace: Any) -> None:
    answered = workspace.post("ben", "incidents", "@runbook the postgres clients of mrs-marker")
    in_vain = workspace.post("ben", "incidents", "@runbook the volcano of mrs-marker")
    await bot.quiet()
    [card] = workspace.thread("incidents", answered)
    await workspace.click("ana", "incidents", card["ts"], "as_me")
    await bot.quiet()
    assert "mrs-marker" in await gaps_of(bot, workspace, "ben")
    ids = [each.answer for each in bot.edge.questions.since(0)]
    for ts in (answered, in_vain):
        workspace.delete("incidents", ts)
    await bot.quiet()
    records = [bot.edge.desk.answers.get(id) for id in ids]
    assert len(ids) == 3 and "mrs-marker" not in said(records) and bot.edge.questions.since(0) == []
    assert "Nothing was asked in vain" in await gaps_of(bot, workspace, "ben")


# --- /runbook gaps ------------------------------------------------------------------------------------------


async def gaps_of(bot: Any, workspace: Any, user: str, channel: str = "incidents") -> str:
    before = len(workspace.ephemerals(user))
    await workspace.slash(user, channel, "gaps")
    await bot.quiet()
    return said(workspace.ephemerals(user)[before:])


async def test_gaps_are_those_of_the_places_that_the_asker_is_in(bot: Any, workspace: Any) -> None:
    workspace.post_alert(UNKNOWN, "payments")
    workspace.post_alert({**UNKNOWN, "text": "[FIRING:1] FloodRises water in the basement"}, "incidents")
    await bot.quiet()
    ben, pia = await gaps_of(bot, workspace, "ben"), await gaps_of(bot, workspace, "pia")
    assert "FloodRises" in ben and "for 1 thing asked" in ben and "Volcano" not in ben
    assert "FloodRises" in pia and "VolcanoErupted" in pia
    workspace.leave("pia", "payments")
    await bot.quiet()
    assert "Volcano" not in await gaps_of(bot, workspace, "pia")
    assert "Nothing was asked in vain" in await gaps_of(bot, workspace, "gil", "storefront")


async def test_gaps_name_the_owner_and_how_often(bot: Any, workspace: Any) -> None:
    snapshot = bot.path.live
    bot.path.live = lambda: type(snapshot())(
        generation=1, runbooks=bot.path.pages, catalogue=Catalogue((Service("checkout", owner="team-shop"),))
    )
    for channel in ("incidents", "storefront"):
        workspace.post_alert(UNKNOWN, channel)
    await bot.quiet()
    found = await gaps_of(bot, workspace, "ben")
    assert "2× · checkout · Owner: team-shop · last " in found


async def test_a_private_answer_to_somebody_else_changes_nobodys_gaps(bot: Any, workspace: Any) -> None:
    """Ana alone may open the page that answers: for ben the thread found nothing, whoever asked."""
    for user in ("ana", "ben"):
        workspace.post(user, "incidents", "@runbook restore tables from the backup")
    await bot.quiet()
    assert "MARKERDBA" in said(workspace.ephemerals("ana"))
    assert "2×" in await gaps_of(bot, workspace, "ben")


async def test_gaps_close_where_slack_cannot_be_asked(bot: Any, workspace: Any) -> None:
    workspace.post_alert(UNKNOWN, "incidents")
    await bot.quiet()
    bot.edge.membership.on_event({"type": "member_left_channel", "user": "U0PIA", "channel": "C0INCIDENTS"})
    workspace.fail("conversations.members", error="internal_error")
    assert "Volcano" not in await gaps_of(bot, workspace, "ben")


async def test_gaps_with_words_behind_it_is_a_question(bot: Any, workspace: Any) -> None:
    await workspace.slash("ben", "incidents", "gaps in the replication log")
    await bot.quiet()
    assert [q.text for q in bot.path.asked] == ["gaps in the replication log"]


@pytest.mark.parametrize("words", ["<!channel> <@U0BEN> & *bold*", "x" * 3000])
async def test_words_in_gaps_are_escaped_and_cut(bot: Any, workspace: Any, words: str) -> None:
    await workspace.slash("ben", "incidents", words)
    await bot.quiet()
    found = await gaps_of(bot, workspace, "ben")
    assert "<!channel>" not in found and "<@U0BEN>" not in found and "1×" in found and "x" * 201 not in found
