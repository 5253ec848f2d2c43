"""Delivery as Slack does it: acknowledged or sent again, one socket a payload, signed posts in HTTP mode."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import ConfigurationError
from bot.workspace import Workspace
from bot.workspace.delivery import NotAcknowledged, SignedPosts

Json = dict[str, Any]


class Socket:
    """A bare Socket Mode client that acknowledges only when told to."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def next(self) -> Json:
        return dict(await self.socket.receive_json(timeout=10))

    async def ack(self, envelope: Json, payload: Json | None = None) -> None:
        await self.socket.send_json({"envelope_id": envelope["envelope_id"], "payload": payload})


@asynccontextmanager
async def connected(workspace: Workspace) -> AsyncIterator[Socket]:
    client = AsyncWebClient(base_url=workspace.api_url)
    url = (await client.apps_connections_open(app_token=workspace.app_token))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        there = Socket(socket)
        assert (await there.next())["type"] == "hello"
        await workspace.connected()
        yield there


async def test_what_is_not_acknowledged_comes_again_with_the_same_event_id() -> None:
    async with Workspace(ack_timeout=0.4, retry_delays=(0, 0.01)) as workspace, connected(workspace) as socket:
        workspace.post("ben", "incidents", "x")
        envelopes = [await socket.next() for _ in range(3)]
        await socket.ack(envelopes[2])
        await workspace.settled()
        assert [one["retry_attempt"] for one in envelopes] == [0, 1, 2]
        assert [one["retry_reason"] for one in envelopes] == ["", "timeout", "timeout"]
        assert len({one["payload"]["event_id"] for one in envelopes}) == 1
        assert len({one["envelope_id"] for one in envelopes}) == 3
        assert workspace.outbox.given_up == []


async def test_after_three_more_attempts_it_is_given_up() -> None:
    async with Workspace(ack_timeout=0.02, retry_delays=(0, 0, 0)) as workspace, connected(workspace) as socket:
        workspace.post("ben", "incidents", "x")
        for _ in range(4):
            await socket.next()
        await workspace.settled()
        await workspace.until(lambda: workspace.outbox.given_up)
        assert len(workspace.socket_mode.envelopes) == 4


async def test_each_payload_goes_to_one_of_the_sockets() -> None:
    async with Workspace() as workspace, connected(workspace) as one, connected(workspace) as other:
        await workspace.connected(2)
        workspace.post("ben", "incidents", "first")
        workspace.post("ben", "incidents", "second")
        got = [await one.next(), await other.next()]
        assert {envelope["payload"]["event"]["text"] for envelope in got} == {"first", "second"}
        for socket, envelope in zip((one, other), got, strict=True):
            await socket.ack(envelope)
        await workspace.settled()
        assert len(workspace.socket_mode.envelopes) == 2


async def test_what_was_on_a_lost_socket_goes_to_the_next() -> None:
    async with Workspace(retry_delays=(0,)) as workspace:
        async with connected(workspace) as lost:
            workspace.post("ben", "incidents", "x")
            await lost.next()
        async with connected(workspace) as socket:
            envelope = await socket.next()
            await socket.ack(envelope)
            assert envelope["retry_attempt"] == 1 and envelope["retry_reason"] == "connection_failed"
            await workspace.settled()


async def test_a_link_ticket_opens_one_socket() -> None:
    async with Workspace() as workspace, aiohttp.ClientSession() as session:
        client = AsyncWebClient(base_url=workspace.api_url)
        url = (await client.apps_connections_open(app_token=workspace.app_token))["url"]
        async with session.ws_connect(url):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(url)


async def test_a_command_is_sent_once_and_the_person_told() -> None:
    async with Workspace(ack_timeout=0.03, retry_delays=(0,)) as workspace:
        with pytest.raises(NotAcknowledged, match="dispatch_failed"):
            await workspace.slash("ben", "incidents", "help")
        async with connected(workspace) as socket:
            with pytest.raises(NotAcknowledged, match="operation_timeout"):
                await workspace.slash("ben", "incidents", "help")
            assert (await socket.next())["type"] == "slash_commands"
        assert len(workspace.socket_mode.envelopes) == 1
        assert [one["user"] for one in workspace.ephemerals("ben")] == ["USLACKBOT", "USLACKBOT"]


async def test_an_acknowledgement_may_carry_the_answer() -> None:
    async with Workspace() as workspace, connected(workspace) as socket:
        asking = asyncio.create_task(workspace.slash("ben", "random", "help"))
        envelope = await socket.next()
        assert envelope["accepts_response_payload"] is True
        assert envelope["payload"]["channel_name"] == "random" and envelope["payload"]["command"] == "/runbook"
        await socket.ack(envelope, {"text": "here you are"})
        await asking
        assert [one["text"] for one in workspace.ephemerals("ben")] == ["here you are"]


async def test_an_event_can_be_delivered_twice() -> None:
    async with Workspace() as workspace, connected(workspace) as socket:
        workspace.post("ben", "incidents", "x")
        first = await socket.next()
        await socket.ack(first)
        workspace.redeliver("message")
        second = await socket.next()
        await socket.ack(second)
        assert second["payload"] == first["payload"] and second["retry_attempt"] == 1
        await workspace.settled()


@asynccontextmanager
async def http_app(workspace: Workspace) -> AsyncIterator[list[tuple[dict[str, str], str]]]:
    """A Bolt app in HTTP mode behind a recorder; what came: headers and body."""
    app = AsyncApp(
        client=AsyncWebClient(workspace.bot_token, base_url=workspace.api_url),
        signing_secret=workspace.signing_secret,
    )

    @app.event("message")
    async def on_message(event: Json, say: Any) -> None:
        if event.get("user") == "U0BEN":
            await say(text="over HTTP", thread_ts=event["ts"])

    @app.command("/runbook")
    async def on_command(ack: Any, command: Json) -> None:
        await ack(f"asked: {command['text']}")

    @app.action("open")
    async def on_open(ack: Any, respond: Any) -> None:
        await ack()
        await respond("opened", replace_original=False)

    came: list[tuple[dict[str, str], str]] = []

    async def receive(request: web.Request) -> web.StreamResponse:
        came.append((dict(request.headers), await request.text()))
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    server = web.Application()
    server.router.add_post("/slack/events", receive)
    runner = web.AppRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    workspace.deliver_to(f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events")
    try:
        yield came
    finally:
        await runner.cleanup()


async def test_http_mode_sends_what_bolt_takes_for_slack_s() -> None:
    async with Workspace() as workspace, http_app(workspace) as came:
        ts = workspace.post("ben", "incidents", "naïve & <b>")
        await workspace.until(lambda: workspace.thread("incidents", ts))
        await workspace.slash("ben", "incidents", "kafka lag & more")
        assert [one["text"] for one in workspace.ephemerals("ben")] == ["asked: kafka lag &amp; more"]
        blocks = [{"type": "actions", "elements": [_button("open")]}]
        client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)
        card = (await client.chat_postMessage(channel="C0INCIDENTS", text="card", blocks=blocks))["ts"]
        await workspace.click("ana", "incidents", card, "open")
        await workspace.until(lambda: workspace.ephemerals("ana"))
        await workspace.settled()
        for headers, body in came:
            base = f"v0:{headers['X-Slack-Request-Timestamp']}:{body}".encode()
            mac = hmac.new(workspace.signing_secret.encode(), base, hashlib.sha256).hexdigest()
            assert headers["X-Slack-Signature"] == "v0=" + mac
            assert "X-Slack-Retry-Num" not in headers


def _button(action: str) -> Json:
    return {"type": "button", "action_id": action, "text": {"type": "plain_text", "text": "Open"}, "value": "r1"}


@pytest.mark.parametrize(("age", "status"), [(0, 200), (-295, 200), (-305, 401), (305, 401)])
async def test_old_and_early_signatures_are_refused_by_bolt(age: float, status: int) -> None:
    async with Workspace() as workspace, http_app(workspace), aiohttp.ClientSession() as session:
        posts = workspace.outbox.carrier
        body = json.dumps({"type": "url_verification", "challenge": "c"})
        assert isinstance(posts, SignedPosts)
        headers = {"Content-Type": "application/json"} | posts.signature(body, at=time.time() + age)
        async with session.post(posts.url, data=body, headers=headers) as response:
            assert response.status == status


async def test_http_retries_carry_slack_s_headers() -> None:
    came: list[dict[str, str]] = []
    third = asyncio.Event()

    async def receive(request: web.Request) -> web.StreamResponse:
        came.append(dict(request.headers))
        if len(came) == 3:
            third.set()
        return web.Response(status=200 if len(came) == 3 else 503)

    server = web.Application()
    server.router.add_post("/", receive)
    runner = web.AppRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with Workspace(retry_delays=(0, 0, 0)) as workspace:
        workspace.deliver_to(f"http://127.0.0.1:{runner.addresses[0][1]}/")
        workspace.post("ben", "incidents", "x")
        await asyncio.wait_for(third.wait(), 5)
        await workspace.settled()
    await runner.cleanup()
    assert [one.get("X-Slack-Retry-Num") for one in came] == [None, "1", "2"]
    assert came[1]["X-Slack-Retry-Reason"] == "http_error"


async def test_only_loopback_is_listened_on_and_a_taken_port_named() -> None:
    with pytest.raises(ConfigurationError):
        Workspace(host="0.0.0.0")
    async with Workspace() as workspace:
        with pytest.raises(ConfigurationError, match=str(workspace.port)):
            await Workspace(port=workspace.port).start()
