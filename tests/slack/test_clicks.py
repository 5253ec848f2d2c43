"""Buttons, subcommands, and replies that may not stand any more: the presser's rights now, and no trace of the rest."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

ALERT = {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}
REFUSED = "There is no such runbook, or it is not one you may open."


def said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


async def test_open_shows_checking_then_the_cited_section(bot: Any, workspace: Any) -> None:
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    await workspace.click("ben", "incidents", workspace.thread("incidents", ts)[0]["ts"], "open_0")
    await bot.quiet()
    opened = workspace.calls_of("views.open")[0].args
    assert "Checking" in said(opened) and "postgres" not in said(opened)
    assert "grep 'a<b & c>d'" in said(workspace.view("ben"))


async def test_buttons_carry_an_opaque_id_and_an_index(bot: Any, workspace: Any) -> None:
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    [card] = workspace.thread("incidents", ts)
    row, say = [b for b in card["blocks"] if b["type"] == "actions"]
    [kept] = bot.edge.desk.answers.in_thread("C0INCIDENTS", ts)
    assert [e["value"] for e in row["elements"]] == [f"{kept.id}:0", kept.id]
    assert [e["value"] for e in say["elements"][:2]] == [f"{kept.id}:0:helpful", f"{kept.id}:0:wrong"]
    assert {o["value"] for o in say["elements"][2]["options"]} == {
        f"{kept.id}:1:{word}" for word in ("done", "ruled_out", "helped", "")
    }


async def test_open_after_the_right_is_gone_and_of_a_page_that_is_gone_are_the_same(bot: Any, workspace: Any) -> None:
    workspace.post("ana", "D0ANA", "restore tables from the backup?")
    await bot.quiet()
    [card] = workspace.bot_messages("D0ANA")
    workspace.set_group("dba-oncall", [])
    await workspace.click("ana", "D0ANA", card["ts"], "open_0")
    await bot.quiet()
    taken = workspace.view("ana")["blocks"]
    await workspace.close_view("ana")
    workspace.set_group("dba-oncall", ["ana"])
    del bot.path.pages["dba/restore.md"]
    await workspace.click("ana", "D0ANA", card["ts"], "open_0")
    await bot.quiet()
    gone = workspace.view("ana")["blocks"]
    assert REFUSED in said(taken)
    assert [b["text"]["text"] for b in taken] == [b["text"]["text"] for b in gone]


async def test_every_part_of_a_page_is_checked_again(bot: Any, workspace: Any) -> None:
    long = "# MARKERDBA restore\n\nrestore tables from the backup\n\n" + "".join(
        f"## Part {n}\n\n{'word ' * 300}\n\n" for n in range(20)
    )
    bot.path.pages["dba/restore.md"] = replace(bot.path.pages["dba/restore.md"], text=long)
    workspace.post("ana", "D0ANA", "restore tables from the backup?")
    await bot.quiet()
    [card] = workspace.bot_messages("D0ANA")
    await workspace.click("ana", "D0ANA", card["ts"], "open_0")
    await bot.quiet()
    parts = [said(workspace.view("ana"))]
    await workspace.click_view("ana", "Show the whole page")
    await bot.quiet()
    for _ in range(9):
        parts.append(said(workspace.view("ana")))
        if "Show more" not in parts[-1]:
            break
        await workspace.click_view("ana", "Show more")
        await bot.quiet()
    assert len(parts) > 2 and all(f"Part {n}" in " ".join(parts) for n in range(20))
    workspace.set_group("dba-oncall", [])
    await workspace.click_view("ana", "From the top")
    await bot.quiet()
    assert REFUSED in said(workspace.view("ana")) and "Part" not in said(workspace.view("ana"))


async def test_search_as_me_answers_the_presser_alone(bot: Any, workspace: Any) -> None:
    ts = workspace.post_alert({**ALERT, "text": "[FIRING:1] LostTables restore tables from backup"})
    await bot.quiet()
    [card] = workspace.thread("incidents", ts)
    assert "No runbook that everyone here" in said(card)
    for who in ("ana", "ben"):
        await workspace.click(who, "incidents", card["ts"], "Search as me")
    await bot.quiet()
    assert "MARKERDBA" in said(workspace.ephemerals("ana"))
    assert "MARKERDBA" not in said(workspace.ephemerals("ben")) and workspace.ephemerals("ben")
    assert "MARKERDBA" not in said(workspace.messages("incidents"))
    workspace.set_group("dba-oncall", [])
    seen = len(workspace.ephemerals("ana"))
    await workspace.click("ana", "incidents", card["ts"], "Search as me")
    await bot.quiet()
    assert len(workspace.ephemerals("ana")) == seen + 1 and "MARKERDBA" not in said(workspace.ephemerals("ana")[-1])


async def test_search_as_me_of_a_command_and_of_a_deleted_message(bot: Any, workspace: Any) -> None:
    await workspace.slash("ben", "incidents", "restore tables from the backup")
    await bot.quiet()
    await workspace.click("ana", "incidents", workspace.bot_messages("incidents")[1]["ts"], "Search as me")
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    assert "MARKERDBA" in said(workspace.ephemerals("ana"))
    [card] = workspace.thread("incidents", ts)
    workspace.delete("incidents", ts)
    await workspace.click("ben", "incidents", card["ts"], "Search as me")
    await bot.quiet()
    assert "not there any more" in said(workspace.ephemerals("ben"))


# --- subcommands (case 36) ----------------------------------------------------------------------------------


async def test_open_command_is_private_and_byte_for_byte(bot: Any, workspace: Any) -> None:
    await workspace.slash("ana", "incidents", "open restore")
    await workspace.slash("ben", "incidents", "open pool")
    await bot.quiet()
    assert workspace.bot_messages("incidents") == []
    assert all(call.args["response_type"] == "ephemeral" for call in workspace.calls_of("response_url"))
    assert "MARKERDBA" in said(workspace.ephemerals("ana"))
    [page] = workspace.ephemerals("ben")
    codes = [
        e["elements"][0]["text"]
        for b in page["blocks"]
        for e in b.get("elements", ())
        if e["type"] == "rich_text_preformatted"
    ]
    assert codes == ["kubectl -n shop logs deploy/checkout | grep 'a<b & c>d'"]
    await workspace.click("ben", "incidents", page["ts"], "Show the whole page")
    await bot.quiet()
    assert "Then look at the lag" in said(workspace.view("ben"))


async def test_restricted_and_absent_pages_are_the_same_answer(bot: Any, workspace: Any) -> None:
    for name in ("restore", "no-such-page", "../dba/restore", "dba%2Frestore"):
        await workspace.slash("ben", "incidents", f"open {name}")
    await bot.quiet()
    assert {m["text"] for m in workspace.ephemerals("ben")} == {REFUSED} and len(workspace.ephemerals("ben")) == 4


async def test_list_shows_what_the_asker_may_open(bot: Any, workspace: Any) -> None:
    for who in ("ben", "ana", "gil"):
        await workspace.slash(who, "storefront", "list")
    await bot.quiet()
    assert "MARKER" not in said(workspace.ephemerals("ben")) and "Connection pool" in said(workspace.ephemerals("ben"))
    assert "MARKERDBA" in said(workspace.ephemerals("ana"))
    assert "Connection pool" not in said(workspace.ephemerals("gil")) and "Status page" in said(
        workspace.ephemerals("gil")
    )


async def test_help_sync_and_access(bot: Any, workspace: Any) -> None:
    for words in ("", "help", "sync", "access <@U0ANA|ana> dba/restore.md"):
        await workspace.slash("ben", "incidents", words)
    for words in ("sync", "access U0ANA dba/restore.md"):
        await workspace.slash("ana", "incidents", words)
    await bot.quiet()
    to_ben = [said(m) for m in workspace.ephemerals("ben")]
    assert any("5 runbooks" in m for m in to_ben) and any("allowed" in m and "dba" in m for m in to_ben)
    assert sum("run nothing" in m for m in to_ben) == 2
    assert {m["text"] for m in workspace.ephemerals("ana")} == {"Only the people named in ADMINS may use this."}


async def test_a_first_word_is_a_subcommand_only_if_the_rest_fits(bot: Any, workspace: Any) -> None:
    for words in ("open connections to postgres", "list of clients", "help me with postgres", "find help", "me"):
        await workspace.slash("ben", "incidents", words)
    await bot.quiet()
    asked = {"open connections to postgres", "list of clients", "help me with postgres", "help", "me"}
    assert {q.text for q in bot.path.asked} == asked


# --- what stands, decided again -------------------------------------------------------------------------------


async def test_reply_is_taken_back_when_a_guest_joins(bot: Any, workspace: Any) -> None:
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    workspace.join("gil", "incidents")
    await bot.quiet()
    [card] = workspace.thread("incidents", ts)
    assert "pool" not in said(card) and [e["action_id"] for e in card["blocks"][-1]["elements"]] == ["open_0"]
    for who in ("gil", "ben"):
        await workspace.click(who, "incidents", card["ts"], "open_0")
    await bot.quiet()
    assert REFUSED in said(workspace.view("gil")) and "Connection pool" in said(workspace.view("ben"))


@pytest.mark.parametrize("move", ["share", "pending", "change_id"])
async def test_reply_is_taken_back_when_the_channel_is_shared(bot: Any, workspace: Any, move: str) -> None:
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    place = "incidents"
    if move == "change_id":
        workspace.change_id("incidents", "C0MOVED")
        await bot.quiet()
        assert "Connection pool" in said(workspace.thread("C0MOVED", ts))
        place = "C0MOVED"
    workspace.share(place, pending=move == "pending")
    await bot.quiet()
    if move == "pending":  # Slack tells nobody: the regular round finds it
        await bot.edge.desk.standing.check()
    assert "pool" not in said(workspace.thread(place, ts))


async def test_reply_is_taken_back_when_the_policy_narrows_and_public_ones_stay(bot: Any, workspace: Any) -> None:
    ts = workspace.post_alert(ALERT)
    open_ts = workspace.post_alert({**ALERT, "text": "[FIRING:1] StatusPage say that checkout status page is slow"})
    await bot.quiet()
    assert "Status page" in said(workspace.thread("incidents", open_ts))
    bot.path.pages["checkout/pool.md"] = replace(bot.path.pages["checkout/pool.md"], audience=("dba",))
    assert await bot.edge.desk.standing.check() == 1
    assert "pool" not in said(workspace.thread("incidents", ts))
    assert "Status page" in said(workspace.thread("incidents", open_ts))


async def test_nothing_is_taken_back_because_slack_can_not_be_asked_and_it_is_done_later(
    bot: Any, workspace: Any
) -> None:
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    workspace.fail("conversations.members", -1, status=500)
    await bot.edge.desk.standing.check()
    assert "pool" in said(workspace.thread("incidents", ts))
    workspace.join("gil", "incidents")
    await bot.quiet()
    assert bot.edge.desk.standing.again == {"C0INCIDENTS"}
    workspace.recover()
    await bot.edge.desk.standing.check(bot.edge.desk.standing.again)
    assert "pool" not in said(workspace.thread("incidents", ts)) and bot.edge.desk.standing.again == set()


async def test_what_happened_while_the_bot_was_out_of_the_channel_counts_when_it_is_back(
    bot: Any, workspace: Any
) -> None:
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    workspace.leave("runbook", "incidents")
    await bot.quiet()
    workspace.join("gil", "incidents")
    workspace.join("runbook", "incidents")
    await bot.quiet()
    assert "pool" not in said(workspace.thread("incidents", ts))


async def test_somebody_who_joins_between_the_decision_and_the_post(bot: Any, workspace: Any) -> None:
    bot.path.hold = asyncio.Event()
    ts = workspace.post_alert(ALERT)
    await bot.until(lambda: bot.path.decided)
    workspace.join("gil", "incidents")
    await workspace.settled()
    bot.path.hold.set()
    await bot.quiet()
    [card] = workspace.thread("incidents", ts)
    assert "hidden here now" in said(card) and "pool" not in said(card)


# --- places ---------------------------------------------------------------------------------------------------


async def test_outsider_and_insider_in_a_shared_channel(bot: Any, workspace: Any) -> None:
    workspace.post("olga", "partner-acme", "@runbook postgres has too many clients")
    workspace.post("ben", "partner-acme", "@runbook postgres has too many clients")
    workspace.post_alert(ALERT, "partner-acme")
    await bot.quiet()
    assert "pool" not in said(workspace.messages("partner-acme")) + said(workspace.ephemerals("olga"))
    assert "Connection pool" in said(workspace.ephemerals("ben"))
    shown = {m["text"] for m in workspace.bot_messages("partner-acme")}
    assert shown == {"No runbook that everyone here may read covers this."}


async def test_four_people_in_four_places(bot: Any, workspace: Any) -> None:
    for place in ("incidents", "storefront", "payments", "partner-acme"):
        for who in ("ben", "ana", "pia", "gil"):
            if workspace.world.user(who).id in workspace.world.channel(place).members:
                await workspace.slash(who, place, "refund hand provider")
    await bot.quiet()
    seen = {who: said([s.__dict__ for s in workspace.seen_by(who)]) for who in ("ben", "ana", "pia", "gil", "olga")}
    assert {who for who, text in seen.items() if "MARKERPAY" in text} == {"pia", "ana"}
    assert "MARKERPAY" in said(workspace.bot_messages("payments"))
    assert "MARKERPAY" not in said(workspace.messages("incidents") + workspace.messages("storefront"))
