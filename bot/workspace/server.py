"""A Slack of one's own on this machine: the unmodified Bolt app connects to it, people and tests act in it.

    async with Workspace() as workspace:
        client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)
        ...
        ts = workspace.post("ben", "incidents", "checkout is slow")
        await workspace.slash("ana", "incidents", "postgres too many clients")
        await workspace.until(lambda: workspace.thread("incidents", ts))

What waits for the app's acknowledgement is a coroutine, everything else a plain call. People, channels and groups
are named by id, handle or channel name; what Slack would refuse raises WorkspaceRefusal.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from aiohttp import web

from bot.errors import ConfigurationError, WorkspaceRefusal
from bot.workspace.acts import Acts
from bot.workspace.alerts import ready_alert
from bot.workspace.delivery import Outbox, SignedPosts, SocketMode
from bot.workspace.interactions import Interactions
from bot.workspace.limits import elements_of
from bot.workspace.page import Page
from bot.workspace.seed import WorldMembership, seed_world
from bot.workspace.webapi import Call, Fault, WebApi
from bot.workspace.world import BOT_USER, Change, Channel, Group, Seen, User, World

Json = dict[str, Any]
RETRY_DELAYS = (0.0, 60.0, 300.0)
"""Slack's three further deliveries of an event that is not acknowledged: at once, after one minute, after five."""


Why = Callable[[Json], Sequence[str] | Awaitable[Sequence[str]]]


class Workspace:
    """The server, and everything that can be done in it.

    `retry_delays` and `ack_timeout` are seconds. `why` tells the reasons behind one of the bot's
    messages (as Slack has it, with `channel`), for the side panel of the page. Binds loopback only.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        world: World | None = None,
        ack_timeout: float = 3.0,
        retry_delays: Sequence[float] = RETRY_DELAYS,
        why: Why | None = None,
    ) -> None:
        if not ip_address(host).is_loopback:
            raise ConfigurationError("the local workspace listens on this machine only", fix="use 127.0.0.1")
        self.host, self.port = host, port
        self.world = world or seed_world()
        self.bot_token = "xoxb-" + secrets.token_hex(16)
        self.app_token = "xapp-" + secrets.token_hex(16)
        self.signing_secret = secrets.token_hex(16)
        self.socket_mode = SocketMode(ack_timeout)
        self.outbox = Outbox(self.socket_mode, retry_delays)
        self.acts = Acts(self.world, self.outbox)
        self._later = 0.0
        self.interactions = Interactions(self.acts, lambda: self.address, lambda: time.monotonic() + self._later)
        self.web_api = WebApi(self)
        self.why = why
        self.page = Page(self)
        self._stir = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.world.listeners.append(self._changed)
        self.outbox.on_given_up = self.stirred

    # --- the server -----------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """`http://127.0.0.1:<port>`, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def api_url(self) -> str:
        """The `base_url` for a Slack client."""
        return self.address + "/api/"

    async def start(self) -> str:
        """Listen; the address. Raises ConfigurationError where the port is taken."""
        app = web.Application(middlewares=[self._guard], client_max_size=2_000_000)
        app.add_routes(
            [
                web.route("*", "/api/{method}", self.web_api.handle),
                web.get("/link/", self.socket_mode.handle),
                web.post("/response/{key}", self._respond),
                *self.page.routes(),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self.host, self.port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise ConfigurationError(f"port {self.port} can't be used: {error.strerror}", fix="--port") from None
        self.port = self._runner.addresses[0][1]
        return self.address

    async def stop(self) -> None:
        """Close every connection and end."""
        await self.outbox.stop()
        await self.socket_mode.drop()
        await self.page.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        """Refuse whatever a foreign web page could bring a browser to send: by name (DNS rebinding) or by origin."""
        origin = request.headers.get("Origin")
        foreign = origin is not None and not self._own(urlsplit(origin).netloc)
        if foreign or not self._own(request.host) or request.headers.get("Sec-Fetch-Site") == "cross-site":
            raise web.HTTPForbidden(text="This workspace answers its own page only.")
        answer: web.StreamResponse = await handler(request)
        return answer

    def _own(self, netloc: str) -> bool:
        return netloc in {f"127.0.0.1:{self.port}", f"localhost:{self.port}", f"[::1]:{self.port}"}

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await request.json()
            if not isinstance(body, dict):
                raise ValueError
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        call = Call("response_url", body)
        self.web_api.calls.append(call)
        try:
            self.interactions.respond(request.match_info["key"], body)
            call.answer = {"ok": True}
        except WorkspaceRefusal as refusal:
            call.answer, call.status = {"ok": False, "error": refusal.error}, refusal.status
        self.stirred()
        return web.json_response(call.answer, status=call.status)

    # --- waiting --------------------------------------------------------------------------------------------

    def stirred(self) -> None:
        """Something happened: whoever waits in `until` looks again."""
        self._stir.set()

    def _changed(self, change: Change) -> None:
        self.stirred()

    async def until(self, condition: Callable[[], Any], within: float = 15.0) -> Any:
        """Wait until the condition holds, and give its value. Raises TimeoutError after `within` s."""
        async with asyncio.timeout(within):
            while not (value := condition()):
                self._stir.clear()
                await self._stir.wait()
        return value

    async def settled(self) -> None:
        """Wait until the app has acknowledged everything that was sent to it."""
        await self.outbox.idle()

    def deliver_to(self, url: str) -> SignedPosts:
        """HTTP mode: events, commands and clicks go to this URL as signed posts from now on, not over Socket Mode."""
        posts = SignedPosts(url, self.signing_secret, self.socket_mode.ack_timeout)
        self.outbox.carrier = posts
        return posts

    def redeliver(self, kind: str = "message") -> Json:
        """Send the last event of a type once more, with the same event id; its payload."""
        for payload in reversed(self.outbox.events):
            if payload["event"]["type"] == kind:
                self.outbox.again(payload)
                return payload
        raise WorkspaceRefusal("no_such_event")

    async def connected(self, sockets: int = 1) -> None:
        """Wait until the app's Socket Mode is there."""
        await self.socket_mode.connected(sockets)

    # --- what people do -------------------------------------------------------------------------------------

    def post(self, user: str, channel: str, text: str, *, thread: str | None = None) -> str:
        """A person posts; the `ts`."""
        return str(self.acts.post(self.world.user(user), self.world.channel(channel), text, thread)["ts"])

    def post_alert(self, alert: Json | str, channel: str = "incidents", *, thread: str | None = None) -> str:
        """An alert bot posts: a ready alert by its id, or a message event as Slack delivers it; the `ts`.

        `ts`, `event_ts`, `channel` and `channel_type` of the event are replaced by true ones.
        """
        event = ready_alert(alert).event if isinstance(alert, str) else alert
        message = {k: v for k, v in event.items() if k not in ("ts", "event_ts", "channel", "channel_type")}
        return str(self.acts.put(self.world.channel(channel), message, thread)["ts"])

    def edit(self, channel: str, ts: str, text: str | None = None, **fields: Any) -> None:
        """The author edits a message: its words, or any fields of it (`attachments=…`)."""
        place = self.world.channel(channel)
        author = self.world.message(place, ts).get("user") or self.world.message(place, ts).get("bot_id")
        changes = fields if text is None else {"text": text, "blocks": None, **fields}
        self.acts.edit(place, ts, changes, author)

    def unfurl(self, channel: str, ts: str, preview: Json) -> None:
        """Slack adds a link preview to a message, which arrives as an edit."""
        place = self.world.channel(channel)
        self.acts.edit(place, ts, {"attachments": [preview]}, None)

    def delete(self, channel: str, ts: str) -> None:
        """The author deletes a message."""
        self.acts.delete(self.world.channel(channel), ts)

    def react(self, user: str, channel: str, ts: str, name: str = "mag_right", *, remove: bool = False) -> None:
        """A person puts a reaction on a message, or takes it off."""
        self.acts.react(self.world.user(user), self.world.channel(channel), ts, name, remove=remove)

    async def slash(self, user: str, channel: str, text: str, command: str = "/runbook") -> Json:
        """A person sends `/runbook …`; the acknowledgement. Raises NotAcknowledged."""
        return await self.interactions.command(self.world.user(user), self.world.channel(channel), command, text)

    async def click(self, user: str, channel: str, ts: str, button: str, option: str | None = None) -> Json:
        """A person presses a button (by `action_id` or by its words) of a message or of an ephemeral of theirs."""
        who, place = self.world.user(user), self.world.channel(channel)
        message = self.world.ephemerals.get(who.id, {}).get(ts) or self.world.message(place, ts)
        action = _action_id(message.get("blocks", []), button)
        return await self.interactions.click(who, place, ts, action, option)

    async def click_view(self, user: str, button: str, option: str | None = None, *, home: bool = False) -> Json:
        """A person presses a button of the modal on top, or of the Home tab."""
        who = self.world.user(user)
        view = self.world.homes.get(who.id) if home else self.view(user)
        if view is None:
            raise WorkspaceRefusal("view_not_found")
        return await self.interactions.click_view(who, view["id"], _action_id(view["blocks"], button), option)

    async def submit(self, user: str, values: Json | None = None) -> Json:
        """A person submits the modal on top; the app's answer."""
        view = self.view(user)
        if view is None:
            raise WorkspaceRefusal("view_not_found")
        return await self.interactions.submit(self.world.user(user), view["id"], values)

    async def close_view(self, user: str) -> None:
        """A person closes the modal on top."""
        await self.interactions.close(self.world.user(user))

    def open_home(self, user: str, tab: str = "home") -> None:
        """A person opens the app's Home or its messages."""
        who = self.world.user(user)
        self.acts.emit({"type": "app_home_opened", "user": who.id, "channel": self.world.dm(who).id, "tab": tab})

    # --- what happens to people and places ------------------------------------------------------------------

    def join(self, user: str, channel: str) -> None:
        """Somebody (or the bot: "runbook") comes into a channel."""
        self.acts.join(self.world.user(user), self.world.channel(channel))

    def leave(self, user: str, channel: str) -> None:
        """Somebody leaves a channel."""
        self.acts.leave(self.world.user(user), self.world.channel(channel))

    def share(self, channel: str, *, pending: bool = False) -> None:
        """Another company comes into a channel, or is only invited."""
        self.acts.share(self.world.channel(channel), pending=pending)

    def unshare(self, channel: str) -> None:
        """The other company leaves."""
        self.acts.unshare(self.world.channel(channel))

    def convert(self, channel: str, *, private: bool) -> None:
        """A channel is made private or public."""
        self.acts.convert(self.world.channel(channel), private=private)

    def archive(self, channel: str, *, undo: bool = False) -> None:
        """A channel is archived, or taken out of the archive."""
        self.acts.archive(self.world.channel(channel), undo=undo)

    def rename(self, channel: str, name: str) -> None:
        """A channel gets another name."""
        self.acts.rename(self.world.channel(channel), name)

    def change_id(self, channel: str, new: str) -> None:
        """A channel gets another id."""
        self.acts.change_id(self.world.channel(channel), new)

    def set_user(self, user: str, **flags: Any) -> None:
        """Change an account: `guest=True`, `deleted=True`, …"""
        found = self.world.user(user)
        for name, value in flags.items():
            if not hasattr(found, name):
                raise WorkspaceRefusal("invalid_flag")
            setattr(found, name, value)
        self.acts.user_changed(found)

    def add_user(self, user: User) -> None:
        """Somebody new."""
        self.acts.user_came(user)

    def add_channel(self, channel: Channel) -> None:
        """A new channel, with the members it has."""
        self.world.channels[channel.id] = channel
        self.world.tell(Change("places"))

    def add_group(self, group: Group) -> None:
        """A new user group."""
        self.world.groups[group.id] = group
        self.acts.emit({"type": "subteam_created", "subteam": group.as_slack(with_users=True)})

    def set_group(self, group: str, members: Sequence[str], *, disabled: bool = False) -> None:
        """Who is in a user group from now on."""
        ids = {self.world.user(member).id for member in members}
        self.acts.group_changed(group, ids, disabled=disabled)

    # --- what goes wrong ------------------------------------------------------------------------------------

    def fail(
        self, method: str, times: int = 1, *, error: str = "", status: int = 200,
        retry_after: float | None = None, delay: float = 0.0,
    ) -> Fault:  # fmt: skip
        """Let the next calls of a method (a shell pattern; `times` -1: all) fail, or answer only after `delay` s.

        `fail("chat.postMessage", status=429, retry_after=1)`, `fail("users.list", -1, status=500)`,
        `fail("conversations.members", error="internal_error")`. `hit` of the result counts.
        """
        fault = Fault(method, times, error, status, retry_after, delay)
        self.web_api.faults.append(fault)
        return fault

    def recover(self) -> None:
        """No method fails any more."""
        self.web_api.faults.clear()

    def advance(self, seconds: float) -> None:
        """Let trigger ids and response_urls grow older without waiting."""
        self._later += seconds

    # --- what there is to see -------------------------------------------------------------------------------

    @property
    def calls(self) -> list[Call]:
        """Every Web API request and post to a response_url, oldest first."""
        return self.web_api.calls

    def calls_of(self, method: str) -> list[Call]:
        """The requests of one method."""
        return [call for call in self.calls if call.method == method]

    @property
    def scopes(self) -> set[str]:
        """The granted scopes; take one away to see `missing_scope`."""
        return self.web_api.scopes

    def message(self, channel: str, ts: str) -> Json:
        """A message as it stands."""
        return self.world.message(self.world.channel(channel), ts)

    def messages(self, channel: str) -> list[Json]:
        """Everything that stands in a channel, threads included, oldest first."""
        return list(self.world.channel(channel).messages.values())

    def thread(self, channel: str, ts: str) -> list[Json]:
        """The replies below a message, oldest first."""
        return [m for m in self.messages(channel) if m.get("thread_ts") == ts and m["ts"] != ts]

    def bot_messages(self, channel: str) -> list[Json]:
        """What the bot has standing in a channel, threads included."""
        return [message for message in self.messages(channel) if message.get("user") == BOT_USER]

    def ephemerals(self, user: str) -> list[Json]:
        """What only this person sees now, oldest first; each has `channel`."""
        return list(self.world.ephemerals.get(self.world.user(user).id, {}).values())

    def view(self, user: str) -> Json | None:
        """The modal on top of a person's screen."""
        stack = self.world.views.get(self.world.user(user).id, [])
        return stack[-1] if stack else None

    def home(self, user: str) -> Json | None:
        """The person's Home tab."""
        return self.world.homes.get(self.world.user(user).id)

    def seen_by(self, user: str) -> list[Seen]:
        """Everything that ever was before a person's eyes, earlier versions of edited messages included."""
        return list(self.world.seen.get(self.world.user(user).id, []))

    def membership(self) -> WorldMembership:
        """Who is who and where now, without asking the API."""
        return WorldMembership(self.world)


def _action_id(blocks: list[Json], button: str) -> str:
    """The action id of a button that is named by it or by its words."""
    for block in blocks:
        for element in elements_of(block):
            text = element.get("text")
            words = text.get("text", "") if isinstance(text, dict) else ""
            if button in (element.get("action_id"), words):
                return str(element["action_id"])
    raise WorkspaceRefusal("action_not_found")
