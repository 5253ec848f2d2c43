"""An unmodified Bolt app over the real socket: what the workspace sends and takes is what the SDK expects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace import Workspace


def echo_app(workspace: Workspace) -> AsyncApp:
    app = AsyncApp(client=AsyncWebClient(workspace.bot_token, base_url=workspace.api_url))

    @app.event("message")
    async def on_message(event: dict[str, Any], say: Any) -> None:
        if "subtype" not in event and "thread_ts" not in event:
            await say(
                text=f"echo: {event['text']}",
                thread_ts=event["ts"],
                blocks=[
                    {"type": "section", "text": {"type": "mrkdwn", "text": f"echo: {event['text']}"}},
                    {
                        "type": "actions",
                        "elements": [
                            {
                                "type": "button",
                                "action_id": "open",
                                "text": {"type": "plain_text", "text": "Open"},
                                "value": "record-1",
                            }
                        ],
                    },
                ],
            )

    @app.event("reaction_added")
    async def on_reaction(event: dict[str, Any], client: AsyncWebClient) -> None:
        item = event["item"]
        found = await client.conversations_history(channel=item["channel"], latest=item["ts"], inclusive=True, limit=1)
        words = found["messages"][0]["text"]
        await client.chat_postEphemeral(channel=item["channel"], user=event["user"], text=f"you marked: {words}")

    @app.command("/runbook")
    async def on_command(ack: Any, respond: Any, command: dict[str, Any]) -> None:
        await ack()
        await respond(text=f"asked: {command['text']}")

    @app.action("open")
    async def on_open(ack: Any, body: dict[str, Any], client: AsyncWebClient) -> None:
        await ack()
        value = body["actions"][0]["value"]
        await client.views_open(
            trigger_id=body["trigger_id"],
            view={
                "type": "modal",
                "callback_id": "page",
                "title": {"type": "plain_text", "text": "Runbook"},
                "submit": {"type": "plain_text", "text": "Done"},
                "blocks": [{"type": "section", "text": {"type": "plain_text", "text": f"page of {value}"}}],
            },
        )

    @app.view("page")
    async def on_submit(ack: Any) -> None:
        await ack()

    return app


@pytest.fixture
async def echo(workspace: Workspace) -> AsyncIterator[Workspace]:
    handler = AsyncSocketModeHandler(echo_app(workspace), workspace.app_token)
    await handler.connect_async()
    await workspace.connected()
    yield workspace
    await handler.close_async()


async def test_a_post_is_answered_in_its_thread(echo: Workspace) -> None:
    ts = echo.post("ben", "incidents", "checkout <is> slow & sad")
    (reply,) = await echo.until(lambda: echo.thread("incidents", ts))
    assert reply["text"] == "echo: checkout &lt;is&gt; slow &amp; sad"
    assert reply["user"] == "U0RUNBOT" and reply["parent_user_id"] == "U0BEN"
    assert echo.message("incidents", ts)["reply_count"] == 1
    await echo.settled()


async def test_a_command_is_answered_alone(echo: Workspace) -> None:
    await echo.slash("ana", "random", "too many clients")
    (answer,) = await echo.until(lambda: echo.ephemerals("ana"))
    assert answer["text"] == "asked: too many clients"
    assert not echo.messages("random")
    assert [seen.kind for seen in echo.seen_by("ana")] == ["ephemeral"]
    assert echo.seen_by("ben") == []


async def test_a_reaction_is_answered_to_whoever_reacted(echo: Workspace) -> None:
    ts = echo.post("ben", "incidents", "disk is full")
    echo.react("pia", "incidents", ts)
    (answer,) = await echo.until(lambda: echo.ephemerals("pia"))
    assert answer["text"] == "you marked: disk is full"


async def test_a_click_opens_a_modal_which_closes_when_submitted(echo: Workspace) -> None:
    ts = echo.post("ben", "incidents", "help")
    (reply,) = await echo.until(lambda: echo.thread("incidents", ts))
    await echo.click("ana", "incidents", reply["ts"], "Open")
    view = await echo.until(lambda: echo.view("ana"))
    assert view["blocks"][0]["text"]["text"] == "page of record-1"
    assert echo.view("ben") is None
    await echo.submit("ana")
    assert echo.view("ana") is None


async def test_a_refreshed_socket_serves_on(echo: Workspace) -> None:
    await echo.socket_mode.refresh()
    ts = echo.post("ben", "incidents", "still there?")
    await echo.until(lambda: echo.thread("incidents", ts))
