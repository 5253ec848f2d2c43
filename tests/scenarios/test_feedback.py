"""What people say of answers, from the press in the thread to lines for the evaluation; and what found nothing."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

import bot.cli.feedback  # noqa: F401
from bot.answering.models import Answer, Question, Trigger
from bot.cli import app
from tests.scenarios.conftest import Bot, Start

SECRET = "-".join(("xoxb", "1234567890", "a1B2c3D4e5F6g7H8"))


def said(message: Any) -> str:
    return json.dumps(message, ensure_ascii=False)


def texts(message: Any) -> list[str]:
    """What a person reads of a message, without ids and times."""
    if isinstance(message, list):
        return [text for inner in message for text in texts(inner)]
    if not isinstance(message, dict):
        return []
    own = [message["text"]] if isinstance(message.get("text"), str) else []
    return own + [text for inner in message.values() if isinstance(inner, dict | list) for text in texts(inner)]


def run(bot: Bot, *arguments: str) -> str:
    """Standard output of a command on the running bot's records."""
    result = CliRunner().invoke(app, [*arguments, "--data", str(bot.parts.settings.data_dir)], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def option(reply: dict[str, Any], label: str) -> str:
    options = [o for b in reply["blocks"] for e in b.get("elements", ()) for o in e.get("options", ())]
    return str(next(o["value"] for o in options if o["text"]["text"] == label))


async def answered(bot: Bot, question: str, user: str = "ben", channel: str = "incidents") -> dict[str, Any]:
    ts = bot.workspace.post(user, channel, f"@runbook {question}")
    await bot.quiet()
    [reply] = bot.replies(channel, ts)
    return reply


async def gaps_of(bot: Bot, user: str, channel: str) -> str:
    before = len(bot.workspace.ephemerals(user))
    await bot.workspace.slash(user, channel, "gaps")
    await bot.quiet()
    return "\n".join(texts(bot.workspace.ephemerals(user)[before:]))


async def test_a_tick_becomes_a_line_that_asks_the_same_and_expects_what_helped(start: Start) -> None:
    bot = await start()
    ts = bot.workspace.post_alert("postgres-connections", "incidents")
    await bot.quiet()
    [card] = bot.replies("incidents", ts)
    await bot.workspace.click("ben", "incidents", card["ts"], "say_of_check", option(card, "1 this one helped"))
    await bot.workspace.click("ana", "incidents", card["ts"], "say_helpful")
    wrong = await answered(bot, "the certificate of the shop expires")
    await bot.workspace.click("pia", "incidents", wrong["ts"], "say_wrong")
    await bot.quiet()
    shown = bot.workspace.message("incidents", card["ts"])
    assert "★ This one helped: " in said(shown) and "👍 Helpful: " in said(shown)
    [line] = map(json.loads, run(bot, "feedback", "export").splitlines())
    [kept] = bot.edge.desk.answers.in_thread("C0INCIDENTS", ts)
    assert line["expected"] == sorted({check["citation"]["runbook"] for check in kept.outcome["checks"]})
    assert line["service"] == "checkout-db" and line["tier"] == "feedback" and line["alert"] in line["query"]
    # the line is a question that the very same path answers with what was expected
    place = await bot.parts.access.place("C0INCIDENTS")
    asked = Question(text=line["query"], trigger=Trigger.COMMAND, place=place, asker="U0BEN")
    reply = (await bot.parts.answering.reply(asked)).thread
    assert isinstance(reply, Answer) and reply.matches[0].runbook in line["expected"]
    both = json.loads(run(bot, "feedback", "export", "--wrong", "--json"))
    assert [bool(each["expected"]) for each in both] == [True, False]
    assert both[1]["not_expected"] and both[1]["query"] == "the certificate of the shop expires"


async def test_the_same_alert_again_remembers_which_check_helped_and_only_there(start: Start) -> None:
    bot = await start(refire_minutes=0)
    first = bot.workspace.post_alert("kafka-lag", "incidents")
    await bot.quiet()
    [card] = bot.replies("incidents", first)
    assert "↻" not in said(card)
    await bot.workspace.click("ana", "incidents", card["ts"], "say_of_check", option(card, "2 this one helped"))
    await bot.quiet()
    again, elsewhere = (bot.workspace.post_alert("kafka-lag", channel) for channel in ("incidents", "payments"))
    await bot.quiet()
    [card] = bot.replies("incidents", again)
    assert "↻ Second time here in 7 days; last time, on " in said(card) and "check 2 was the one that helped" in said(
        card
    )
    assert "↻" not in said(bot.replies("payments", elsewhere))


async def test_gaps_hold_clean_words_of_the_askers_places_and_the_command_all(start: Start) -> None:
    bot = await start(search_line=1.0)  # nothing is sure enough
    for channel, user, words in (
        ("incidents", "ben", f"why is the coffee machine of kafka blinking purple? {SECRET}"),
        ("payments", "pia", "who ordered the llama for payments?"),
    ):
        reply = await answered(bot, words, user, channel)
        assert "No runbook" in said(reply)
    ben, pia = await gaps_of(bot, "ben", "incidents"), await gaps_of(bot, "pia", "incidents")
    assert "coffee machine" in ben and "team-streaming" in ben and "llama" not in ben and "payments" not in ben
    assert "coffee machine" in pia and "llama" in pia
    everything = json.loads(run(bot, "gaps", "--json", "--runbooks", str(bot.parts.settings.runbooks_dir)))
    assert {(gap["service"], gap["owner"].split()[0], gap["count"]) for gap in everything} == {
        ("kafka", "team-streaming", 1),
        ("payments", "team-payments", 1),
    }
    records = bot.parts.settings.data_dir.glob("records.db*")
    assert not any(SECRET.encode() in file.read_bytes() for file in records)
    assert SECRET not in ben + pia + said(everything)


async def test_what_one_person_alone_was_told_moves_nobody_elses_gaps_memory_or_marks(start: Start) -> None:
    """Ana may open the restore page. Whatever she does with her private answer, ben's world stays as it was."""
    bot = await start()
    question = "which pgbackrest stanza do I restore from?"

    async def world_of_ben() -> str:
        return "\n".join([await gaps_of(bot, "ben", "incidents"), *texts(bot.workspace.bot_messages("incidents"))])

    ts = bot.workspace.post("ben", "incidents", f"@runbook {question}")
    await bot.quiet()
    before = await world_of_ben()
    [card] = bot.replies("incidents", ts)
    await bot.workspace.click("ana", "incidents", card["ts"], "as_me")
    await bot.quiet()
    [private] = bot.workspace.ephemerals("ana")
    assert "pgbackrest" in said(private)
    await bot.workspace.click("ana", "incidents", private["ts"], "say_of_check", option(private, "1 this one helped"))
    await bot.quiet()
    assert "★ This one helped: " in said(bot.workspace.ephemerals("ana"))
    assert await world_of_ben() == before
    again = await answered(bot, question)
    assert "helped." not in said(again)
