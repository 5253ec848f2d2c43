"""What Slack refuses gets a plainer try, limits are waited for, and a place that is gone blames nobody."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bot.errors import DeliveryError
from bot.slack.delivery import Delivery, slack_client
from bot.slack.render import Card, note
from bot.slack.rich import preformatted, rich_text, section, words

CARD = Card(
    "2 checks &lt;here&gt;",
    (rich_text(section([words("look & see")]), *preformatted("echo 'a<b'")), *note("small & print").blocks),
)
ALERT = {"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] TooManyClients postgres clients"}


@pytest.fixture
def delivery(workspace: Any) -> Delivery:
    from bot.settings import Settings

    settings = Settings(_env_file=None, slack_bot_token=workspace.bot_token, slack_api_url=workspace.api_url)
    return Delivery(slack_client(settings))


@pytest.mark.parametrize("word", ["invalid_blocks", "msg_blocks_too_long"])
async def test_a_refused_card_is_posted_as_its_words(
    delivery: Delivery, workspace: Any, word: str, caplog: Any
) -> None:
    workspace.fail("chat.postMessage", error=word)
    await delivery.post("C0INCIDENTS", CARD)
    [message] = workspace.bot_messages("incidents")
    assert message["text"] == "2 checks &lt;here&gt;\nlook &amp; see\n```echo 'a&lt;b'```\nsmall &amp; print"
    assert word in caplog.text


async def test_what_can_not_be_shown_at_all_ends_in_a_short_note(delivery: Delivery, workspace: Any) -> None:
    workspace.fail("chat.postMessage", 2, error="invalid_blocks")
    await delivery.post("C0INCIDENTS", CARD)
    [message] = workspace.bot_messages("incidents")
    assert "could not show it" in message["text"]
    workspace.fail("chat.postMessage", 3, error="invalid_blocks")
    with pytest.raises(DeliveryError, match="invalid_blocks"):
        await delivery.post("C0INCIDENTS", CARD)


async def test_a_rate_limit_is_waited_for(delivery: Delivery, workspace: Any) -> None:
    limited = workspace.fail("chat.postMessage", status=429, retry_after=0)
    await delivery.post("C0INCIDENTS", CARD)
    assert limited.hit == 1 and len(workspace.bot_messages("incidents")) == 1


async def test_other_failures_have_slacks_own_word(delivery: Delivery, workspace: Any) -> None:
    workspace.fail("chat.postMessage", error="internal_error")
    with pytest.raises(DeliveryError) as raised:
        await delivery.post("C0INCIDENTS", CARD)
    assert raised.value.error == "internal_error"
    assert len(workspace.calls_of("chat.postMessage")) == 1, "a failure that may have posted is not repeated"


async def test_nothing_is_unfurled_and_no_names_are_linked(delivery: Delivery, workspace: Any) -> None:
    await delivery.post("C0INCIDENTS", CARD)
    [call] = workspace.calls_of("chat.postMessage")
    assert call.args["unfurl_links"] is False and call.args["unfurl_media"] is False
    assert "link_names" not in call.args and "parse" not in call.args


async def test_a_whisper_to_somebody_who_left_reaches_their_direct_message(delivery: Delivery, workspace: Any) -> None:
    workspace.leave("ben", "incidents")
    await delivery.whisper("C0INCIDENTS", "U0BEN", CARD)
    assert "look & see" in json.dumps(workspace.bot_messages("D0BEN"))


async def test_a_used_up_response_url_is_replaced_by_an_ephemeral(bot: Any, workspace: Any) -> None:
    workspace.fail("response_url", -1, status=404)
    bot.path.gate = asyncio.Event()
    await workspace.slash("ben", "incidents", "me postgres has too many clients")
    workspace.advance(3_600)
    bot.path.gate.set()
    await bot.quiet()
    assert "Connection pool" in json.dumps(workspace.ephemerals("ben"))


async def test_archived_place_and_deleted_thread_are_quiet(bot: Any, workspace: Any, caplog: Any) -> None:
    ts = workspace.post_alert(ALERT)
    workspace.fail("chat.postMessage", error="thread_not_found")
    await bot.quiet()
    assert workspace.thread("incidents", ts) == [] and "ERROR" not in caplog.text


async def test_a_command_in_an_archived_channel_is_answered_alone(bot: Any, workspace: Any) -> None:
    workspace.fail("chat.postMessage", error="is_archived")
    await workspace.slash("ben", "incidents", "postgres has too many clients")
    await bot.quiet()
    assert "Connection pool" in json.dumps(workspace.ephemerals("ben")) and workspace.bot_messages("incidents") == []


async def test_a_card_that_slack_refuses_still_answers(bot: Any, workspace: Any) -> None:
    bot.path.many = 60
    workspace.fail("chat.postMessage", error="invalid_blocks")
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    [reply] = workspace.thread("incidents", ts)
    assert "60 checks" in reply["text"] and "kubectl" in reply["text"]


async def test_a_proxy_in_the_environment_does_not_come_between_the_bot_and_this_machine(
    start: Any, workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    bot = await start()
    await workspace.slash("ben", "incidents", "me postgres has too many clients")
    ts = workspace.post_alert(ALERT)
    await bot.quiet()
    assert "Connection pool" in json.dumps(workspace.ephemerals("ben")) and len(workspace.thread("incidents", ts)) == 1
