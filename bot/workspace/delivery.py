"""How what happens in the workspace reaches the app: over its Socket Mode connections, or as signed HTTP posts.

A carrier makes one attempt and raises NotAcknowledged; `Outbox` repeats events as Slack does (at once, after one
minute, after five) and never repeats commands, clicks and views, for which a person waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import itertools
import json
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, Protocol
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSMsgType, web

from bot.errors import WorkspaceRefusal
from bot.workspace.world import APP_ID

Json = dict[str, Any]
Kind = Literal["events_api", "slash_commands", "interactive"]


class NotAcknowledged(WorkspaceRefusal):
    """The app did not acknowledge one delivery in time. `error` is Slack's word for why."""


class Carrier(Protocol):
    """One way to the app."""

    async def send(self, kind: Kind, payload: Json, *, attempt: int = 0, reason: str = "") -> Json:
        """Make one attempt; what the app acknowledged with. Raises NotAcknowledged."""


class SocketMode:
    """The server's side of Socket Mode: each payload goes to one of the open sockets."""

    def __init__(self, ack_timeout: float) -> None:
        self.ack_timeout = ack_timeout
        self.envelopes: list[Json] = []
        """Every envelope sent, redeliveries included."""
        self._tickets: set[str] = set()
        self._sockets: list[web.WebSocketResponse] = []
        self._waiting: dict[str, tuple[web.WebSocketResponse, asyncio.Future[Json]]] = {}
        self._turn = itertools.count()
        self._changed = asyncio.Condition()

    @property
    def connections(self) -> int:
        """How many sockets take payloads now."""
        return len(self._sockets)

    def new_ticket(self) -> str:
        """What `apps.connections.open` hands out; it opens one socket."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return ticket

    async def connected(self, wanted: int = 1) -> None:
        """Wait until this many sockets are open."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._sockets) >= wanted)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One socket's life."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPForbidden(text="link ticket unknown or used")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json(
            {
                "type": "hello",
                "num_connections": len(self._sockets) + 1,
                "debug_info": {"host": "local-workspace", "approximate_connection_time": 18060},
                "connection_info": {"app_id": APP_ID},
            }
        )
        await self._enlist(socket)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._acknowledge(message.data)
        finally:
            await self._retire(socket)
            for owner, future in tuple(self._waiting.values()):
                if owner is socket and not future.done():
                    future.set_exception(NotAcknowledged("connection_failed"))
        return socket

    async def _enlist(self, socket: web.WebSocketResponse) -> None:
        async with self._changed:
            self._sockets.append(socket)
            self._changed.notify_all()

    async def _retire(self, socket: web.WebSocketResponse) -> None:
        async with self._changed:
            if socket in self._sockets:
                self._sockets.remove(socket)
            self._changed.notify_all()

    def _acknowledge(self, data: str) -> None:
        with contextlib.suppress(ValueError, AttributeError):
            answer = json.loads(data)
            _, future = self._waiting.get(answer.get("envelope_id", ""), (None, None))
            if future is not None and not future.done():
                future.set_result(answer.get("payload") or {})

    async def _a_socket(self) -> web.WebSocketResponse:
        try:
            async with asyncio.timeout(self.ack_timeout):
                await self.connected()
        except TimeoutError:
            raise NotAcknowledged("dispatch_failed") from None
        return self._sockets[next(self._turn) % len(self._sockets)]

    async def send(self, kind: Kind, payload: Json, *, attempt: int = 0, reason: str = "") -> Json:
        """Send one envelope and wait for its acknowledgement."""
        socket = await self._a_socket()
        envelope: Json = {
            "envelope_id": secrets.token_hex(16),
            "type": kind,
            "payload": payload,
            "accepts_response_payload": kind != "events_api",
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": reason}
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[envelope["envelope_id"]] = socket, future
        self.envelopes.append(envelope)
        try:
            await socket.send_json(envelope)
            async with asyncio.timeout(self.ack_timeout):
                return await future
        except TimeoutError:
            raise NotAcknowledged("operation_timeout") from None
        except ConnectionError:
            raise NotAcknowledged("connection_failed") from None
        finally:
            del self._waiting[envelope["envelope_id"]]

    async def refresh(self) -> None:
        """Ask for fresh sockets as Slack does about hourly: `disconnect`, a new one comes, the old one is closed."""
        old = tuple(self._sockets)
        for socket in old:
            await self._retire(socket)
            await socket.send_json({"type": "disconnect", "reason": "refresh_requested", "debug_info": {}})
        await self.connected(len(old))
        for socket in old:
            await socket.close()

    async def drop(self) -> None:
        """Close every socket without a word."""
        for socket in tuple(self._sockets):
            await self._retire(socket)
            await socket.close()


class SignedPosts:
    """HTTP mode: the same payloads as posts with Slack's signature, to one URL."""

    def __init__(self, url: str, signing_secret: str, ack_timeout: float) -> None:
        self.url, self.signing_secret, self.ack_timeout = url, signing_secret, ack_timeout

    async def send(self, kind: Kind, payload: Json, *, attempt: int = 0, reason: str = "") -> Json:
        """Post once and take the body of the answer as the acknowledgement."""
        if kind == "events_api":
            body, content = json.dumps(payload), "application/json"
        else:
            form = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
            body, content = urlencode(form), "application/x-www-form-urlencoded"
        headers = {"Content-Type": content} | self.signature(body)
        if attempt:
            headers |= {"X-Slack-Retry-Num": str(attempt), "X-Slack-Retry-Reason": reason}
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self.ack_timeout)) as session,
                session.post(self.url, data=body.encode(), headers=headers) as response,
            ):
                text = await response.text()
                if response.status != 200:
                    raise NotAcknowledged("http_error")
        except TimeoutError:
            raise NotAcknowledged("http_timeout") from None
        except aiohttp.ClientError:
            raise NotAcknowledged("connection_failed") from None
        if not text:
            return {}
        try:
            return dict(json.loads(text))
        except ValueError:
            return {"text": text}

    def signature(self, body: str, at: float | None = None) -> dict[str, str]:
        """The two headers that prove that a body came from this workspace."""
        stamp = str(int(time.time() if at is None else at))
        mac = hmac.new(self.signing_secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256)
        return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": "v0=" + mac.hexdigest()}


class Outbox:
    """Everything that is on its way to the app."""

    def __init__(self, carrier: Carrier, retry_delays: Sequence[float]) -> None:
        self.carrier, self.retry_delays = carrier, tuple(retry_delays)
        self.events: list[Json] = []
        """Every event payload, oldest first, redeliveries left out."""
        self.given_up: list[Json] = []
        """Events that no attempt brought home."""
        self.on_given_up: Callable[[], None] = lambda: None
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def event(self, payload: Json) -> None:
        """Send an event, and send it again while it is not acknowledged."""
        self.events.append(payload)
        self.spawn(self._repeat(payload))

    def again(self, payload: Json) -> None:
        """Send an event a second time though it was acknowledged, as Slack does when the acknowledgement is lost."""
        self.spawn(self._repeat(payload, attempt=1, reason="timeout"))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside; it ends with the outbox."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def ask(self, kind: Kind, payload: Json) -> Json:
        """Send something for whose answer a person waits; once. Raises NotAcknowledged."""
        return await self._attempt(kind, payload)

    async def idle(self) -> None:
        """Wait until nothing waits for an acknowledgement (what waits for its next try does not count)."""
        await asyncio.sleep(0)
        await self._idle.wait()

    async def stop(self) -> None:
        """Forget whatever is under way."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _attempt(self, kind: Kind, payload: Json, *, attempt: int = 0, reason: str = "") -> Json:
        self._in_flight += 1
        self._idle.clear()
        try:
            return await self.carrier.send(kind, payload, attempt=attempt, reason=reason)
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    async def _repeat(self, payload: Json, attempt: int = 0, reason: str = "") -> None:
        for attempt, delay in enumerate((0.0, *self.retry_delays), attempt):  # noqa: B020
            if delay:
                await asyncio.sleep(delay)
            try:
                await self._attempt("events_api", payload, attempt=attempt, reason=reason)
                return
            except NotAcknowledged as failure:
                reason = "timeout" if failure.error == "operation_timeout" else failure.error
        self.given_up.append(payload)
        self.on_given_up()
