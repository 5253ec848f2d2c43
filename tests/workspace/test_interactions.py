"""Trigger ids, response_urls and modals, with the limits that Slack puts on each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import WorkspaceRefusal
from bot.workspace import Workspace

Json = dict[str, Any]


class Witness:
    """A Bolt app that keeps what it is sent."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)
        self.app = AsyncApp(client=self.client)
        self.bodies: list[Json] = []
        self.answer: Json = {}
        self.closed = asyncio.Event()

        async def keep(ack: Any, body: Json) -> None:
            self.bodies.append(body)
            if body.get("type") == "view_closed":
                self.closed.set()
            await ack(**self.answer)

        self.app.command("/runbook")(keep)
        self.app.action({"action_id": "open"})(keep)
        self.app.view("page")(keep)
        self.app.view_closed("page")(keep)

    @property
    def last(self) -> Json:
        return self.bodies[-1]

    async def card(self, **more: Any) -> str:
        blocks = [{"type": "actions", "block_id": "b1", "elements": [button()]}]
        sent = await self.client.chat_postMessage(channel="C0INCIDENTS", text="card", blocks=blocks, **more)
        return str(sent["ts"])


def button() -> Json:
    return {"type": "button", "action_id": "open", "text": {"type": "plain_text", "text": "Open"}, "value": "record"}


def modal(text: str = "a page", **more: Any) -> Json:
    return {
        "type": "modal",
        "callback_id": "page",
        "title": {"type": "plain_text", "text": "Runbook"},
        "submit": {"type": "plain_text", "text": "Save"},
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": text}},
            {"type": "actions", "elements": [button()]},
        ],
    } | more


@pytest.fixture
async def witness(workspace: Workspace) -> AsyncIterator[Witness]:
    made = Witness(workspace)
    handler = AsyncSocketModeHandler(made.app, workspace.app_token)
    await handler.connect_async()
    await workspace.connected()
    yield made
    await handler.close_async()


async def refused(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_a_trigger_id_is_used_once_and_within_three_seconds(workspace: Workspace, witness: Witness) -> None:
    ts = await witness.card()
    await workspace.click("ben", "incidents", ts, "open")
    trigger = witness.last["trigger_id"]
    await witness.client.views_open(trigger_id=trigger, view=modal())
    assert await refused(witness.client.views_open(trigger_id=trigger, view=modal())) == "exchanged_trigger_id"
    await workspace.click("ben", "incidents", ts, "open")
    workspace.advance(3.1)
    late = witness.client.views_open(trigger_id=witness.last["trigger_id"], view=modal())
    assert await refused(late) == "expired_trigger_id"
    assert await refused(witness.client.views_open(trigger_id="made.up", view=modal())) == "invalid_trigger_id"


async def test_a_bad_view_does_not_use_up_the_trigger(workspace: Workspace, witness: Witness) -> None:
    await workspace.click("ben", "incidents", await witness.card(), "open")
    trigger = witness.last["trigger_id"]
    long = modal(title={"type": "plain_text", "text": "x" * 25})
    assert await refused(witness.client.views_open(trigger_id=trigger, view=long)) == "invalid_arguments"
    assert (await witness.client.views_open(trigger_id=trigger, view=modal()))["ok"]


async def test_a_click_says_where_it_was(workspace: Workspace, witness: Witness) -> None:
    root = workspace.post("ben", "incidents", "x")
    ts = await witness.card(thread_ts=root)
    await workspace.click("ana", "incidents", ts, "Open")
    body = witness.last
    assert body["user"]["id"] == "U0ANA" and body["channel"]["id"] == "C0INCIDENTS"
    container = {"type": "message", "message_ts": ts, "channel_id": "C0INCIDENTS", "is_ephemeral": False}
    assert body["container"] == container | {"thread_ts": root}
    assert body["message"]["ts"] == ts
    (action,) = body["actions"]
    assert (action["action_id"], action["block_id"], action["value"]) == ("open", "b1", "record")
    with pytest.raises(WorkspaceRefusal):
        await workspace.click("gil", "incidents", ts, "open")
    with pytest.raises(WorkspaceRefusal):
        await workspace.click("ana", "incidents", ts, "no such button")


async def test_a_click_on_an_ephemeral_brings_no_text(workspace: Workspace, witness: Witness) -> None:
    blocks = [{"type": "actions", "elements": [button()]}]
    await witness.client.chat_postEphemeral(channel="C0INCIDENTS", user="U0BEN", text="x", blocks=blocks)
    (alone,) = workspace.ephemerals("ben")
    await workspace.click("ben", "incidents", alone["ts"], "open")
    assert witness.last["container"]["is_ephemeral"] is True and "message" not in witness.last
    with pytest.raises(WorkspaceRefusal):
        await workspace.click("ana", "incidents", alone["ts"], "open")


async def post(url: str, body: Json) -> int:
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        return response.status


async def test_a_response_url_takes_five_posts(workspace: Workspace, witness: Witness) -> None:
    await workspace.slash("ben", "random", "help")
    url = witness.last["response_url"]
    assert await post(url, {"text": ""}) == 200 or workspace.calls[-1].answer["error"] == "no_text"
    assert [await post(url, {"text": f"answer {n}"}) for n in range(6)] == [200] * 5 + [404]
    assert [one["text"] for one in workspace.ephemerals("ben")] == [f"answer {n}" for n in range(5)]
    assert workspace.messages("random") == []


async def test_a_response_url_lasts_thirty_minutes(workspace: Workspace, witness: Witness) -> None:
    await workspace.slash("ben", "random", "help")
    url = witness.last["response_url"]
    workspace.advance(30 * 60 - 5)
    assert await post(url, {"text": "in time"}) == 200
    workspace.advance(6)
    assert await post(url, {"text": "late"}) == 404


async def test_a_response_url_replaces_and_deletes_what_it_came_from(workspace: Workspace, witness: Witness) -> None:
    blocks = [{"type": "actions", "elements": [button()]}]
    await witness.client.chat_postEphemeral(channel="C0INCIDENTS", user="U0BEN", text="first", blocks=blocks)
    (alone,) = workspace.ephemerals("ben")
    await workspace.click("ben", "incidents", alone["ts"], "open")
    await post(witness.last["response_url"], {"text": "second", "replace_original": True})
    assert [one["text"] for one in workspace.ephemerals("ben")] == ["second"]
    await post(witness.last["response_url"], {"delete_original": True})
    assert workspace.ephemerals("ben") == []
    assert [seen.text for seen in workspace.seen_by("ben")] == ["first", "second"]


async def test_a_response_url_may_answer_in_the_channel(workspace: Workspace, witness: Witness) -> None:
    await workspace.slash("ben", "random", "help")
    await post(witness.last["response_url"], {"text": "for all", "response_type": "in_channel"})
    (message,) = workspace.messages("random")
    assert message["text"] == "for all" and message["user"] == "U0RUNBOT"


async def open_modal(workspace: Workspace, witness: Witness, **more: Any) -> Json:
    await workspace.click("ben", "incidents", await witness.card(), "open")
    opened = await witness.client.views_open(trigger_id=witness.last["trigger_id"], view=modal(**more))
    return dict(opened["view"])


async def test_a_modal_is_updated_until_it_is_closed(workspace: Workspace, witness: Witness) -> None:
    view = await open_modal(workspace, witness)
    fresh = modal("the page itself")
    assert await refused(witness.client.views_update(view_id=view["id"], view=fresh, hash="old")) == "hash_conflict"
    await witness.client.views_update(view_id=view["id"], view=fresh, hash=view["hash"])
    assert (workspace.view("ben") or {})["blocks"][0]["text"]["text"] == "the page itself"
    await workspace.close_view("ben")
    assert workspace.view("ben") is None
    assert await refused(witness.client.views_update(view_id=view["id"], view=fresh)) == "not_found"
    shown = [seen.words for seen in workspace.seen_by("ben") if seen.kind == "modal"]
    assert len(shown) == 2 and "the page itself" in shown[1]
    assert not [seen for seen in workspace.seen_by("ana") if seen.kind == "modal"]


async def test_modals_stack_three_high(workspace: Workspace, witness: Witness) -> None:
    await open_modal(workspace, witness)
    for _ in range(2):
        await workspace.click_view("ben", "open")
        await witness.client.views_push(trigger_id=witness.last["trigger_id"], view=modal("on top"))
    await workspace.click_view("ben", "open")
    pushed = witness.client.views_push(trigger_id=witness.last["trigger_id"], view=modal())
    assert await refused(pushed) == "push_limit_reached"
    assert witness.last["container"]["type"] == "view" and "response_url" not in witness.last
    await workspace.close_view("ben")
    assert workspace.view("ben") is not None


@pytest.mark.parametrize(
    ("answer", "shows"),
    [
        ({}, None),
        ({"response_action": "clear"}, None),
        ({"response_action": "update", "view": modal("saved")}, "saved"),
        ({"response_action": "push", "view": modal("and now")}, "and now"),
        ({"response_action": "errors", "errors": {"b": "too short"}}, "a page"),
    ],
)
async def test_a_submission_does_what_the_app_says(
    workspace: Workspace, witness: Witness, answer: Json, shows: str | None
) -> None:
    await open_modal(workspace, witness)
    witness.answer = answer
    await workspace.submit("ben", {"b": {"a": {"type": "plain_text_input", "value": "note"}}})
    assert witness.last["view"]["state"]["values"]["b"]["a"]["value"] == "note"
    view = workspace.view("ben")
    assert (view["blocks"][0]["text"]["text"] if view else None) == shows


async def test_closing_is_told_where_asked_for(workspace: Workspace, witness: Witness) -> None:
    await open_modal(workspace, witness, notify_on_close=True)
    await workspace.close_view("ben")
    await asyncio.wait_for(witness.closed.wait(), 5)
