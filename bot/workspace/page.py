"""The page in the browser: its files, its live connection, and what a person does there.

A connection belongs to one person and is sent only what that person can see, so the page is as faithful a witness
as the person's own screen. Requests of foreign origins never get here (`Workspace._guard`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

from bot.errors import RunbookBotError, WorkspaceRefusal
from bot.workspace.alerts import READY_ALERTS
from bot.workspace.delivery import NotAcknowledged
from bot.workspace.seed import ROLES
from bot.workspace.world import BOT_USER, HOME, Change, Channel, User

if TYPE_CHECKING:
    from bot.workspace.server import Workspace

Json = dict[str, Any]

_FILES = Path(__file__).parent / "static"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Page:
    """Serves the page and speaks for the person who is chosen on it."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.world = workspace, workspace.world
        self._live: set[web.WebSocketResponse] = set()

    def routes(self) -> list[web.RouteDef]:
        """The page's own addresses."""
        return [
            web.get("/", self._file),
            web.get("/static/{name}", self._file),
            web.get("/page/live", self._connect),
            web.post("/page/do", self._do),
        ]

    async def close(self) -> None:
        """End every live connection."""
        for socket in tuple(self._live):
            await socket.close()

    async def _file(self, request: web.Request) -> web.StreamResponse:
        path = _FILES / request.match_info.get("name", "index.html")
        if path.parent != _FILES or path.suffix not in _TYPES or not path.is_file():
            raise web.HTTPNotFound
        address = self.workspace.address.replace("http://", "ws://", 1)
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            f"connect-src 'self' {address}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return web.Response(
            body=path.read_bytes(),
            content_type=_TYPES[path.suffix],
            charset="utf-8",
            headers={
                "Content-Security-Policy": policy,
                "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
                "Cross-Origin-Resource-Policy": "same-origin",
                "Cache-Control": "no-store",
            },
        )

    # --- what a person sees ---------------------------------------------------------------------------------

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        try:
            user = self._person(request.query.get("as", ""))
        except WorkspaceRefusal:
            raise web.HTTPNotFound from None
        socket = web.WebSocketResponse(heartbeat=20)
        await socket.prepare(request)
        changes: asyncio.Queue[Change] = asyncio.Queue()
        self.world.listeners.append(changes.put_nowait)
        self._live.add(socket)
        sender = asyncio.create_task(self._send(socket, user, changes))
        try:
            async for message in socket:
                if message.type is WSMsgType.ERROR:
                    break
        finally:
            self.world.listeners.remove(changes.put_nowait)
            self._live.discard(socket)
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)
        return socket

    async def _send(self, socket: web.WebSocketResponse, user: User, changes: asyncio.Queue[Change]) -> None:
        await socket.send_json(self.state(user))
        while True:
            told = self._told(user, await changes.get())
            if told is not None:
                await socket.send_json(told)

    def _told(self, user: User, change: Change) -> Json | None:
        """What one change means for one person's screen; None: nothing."""
        if change.user and change.user != user.id:
            return None
        channel = self.world.channels.get(change.channel)
        match change.kind:
            case "places":
                return self.state(user)
            case "message" if channel is not None and self.world.can_read(user, channel):
                message = channel.messages.get(change.ts)
                return message and {"kind": "message", "channel": channel.id, "message": message}
            case "gone" if channel is not None and self.world.can_read(user, channel):
                return {"kind": "gone", "channel": channel.id, "ts": change.ts}
            case "ephemeral":
                message = self.world.ephemerals.get(user.id, {}).get(change.ts)
                return {"kind": "ephemeral", "channel": change.channel, "ts": change.ts, "message": message}
            case "views":
                return {"kind": "views", "views": self.world.views.get(user.id, [])}
            case "home":
                return {"kind": "home", "home": self.world.homes.get(user.id)}
        return None

    def state(self, user: User) -> Json:
        """Everything that is on one person's screen."""
        channels = [channel for channel in self.world.channels.values() if self.world.can_read(user, channel)]
        return {
            "kind": "state",
            "me": user.id,
            "bot": BOT_USER,
            "people": [self._shown(one) for one in self.world.users.values()],
            "channels": [self._place(user, channel) for channel in channels],
            "messages": {channel.id: list(channel.messages.values()) for channel in channels},
            "ephemerals": list(self.world.ephemerals.get(user.id, {}).values()),
            "views": self.world.views.get(user.id, []),
            "home": self.world.homes.get(user.id),
            "alerts": [{"id": a.id, "title": a.title, "sender": a.sender, "fires": a.fires} for a in READY_ALERTS],
            "why": self.workspace.why is not None,
        }

    def _shown(self, user: User) -> Json:
        return {
            "id": user.id,
            "name": user.name,
            "real_name": user.real_name or user.name,
            "role": ROLES.get(user.id, "guest" if user.guest else "full member" if user.full_member else ""),
            "bot": bool(user.bot_id),
            "away": user.team != HOME,
        }

    def _place(self, user: User, channel: Channel) -> Json:
        people = [self.world.users[member] for member in channel.members if member in self.world.users]
        return {
            "id": channel.id,
            "name": channel.name,
            "kind": channel.kind,
            "topic": channel.topic,
            "joined": user.id in channel.members,
            "bot": BOT_USER in channel.members,
            "shared": channel.ext_shared or channel.pending_shared,
            "guests": any(one.guest or one.single_channel for one in people),
            "archived": channel.archived,
            "members": [one.id for one in people],
        }

    # --- what a person does ---------------------------------------------------------------------------------

    def _person(self, word: str) -> User:
        user = self.world.user(word)
        if user.bot_id:
            raise WorkspaceRefusal("user_not_found")
        return user

    async def _do(self, request: web.Request) -> web.StreamResponse:
        if request.content_type != "application/json":  # a foreign form can't send this type
            raise web.HTTPUnsupportedMediaType
        try:
            asked = await request.json()
            acts: dict[str, Callable[[User, Json], Awaitable[Json]]] = {
                "say": self._say,
                "react": self._react,
                "click": self._click,
                "submit": self._submit,
                "close": self._close,
                "fire": self._fire,
                "move": self._move,
                "home": self._home,
                "why": self._why,
            }
            done = await acts[asked["do"]](self._person(asked["as"]), asked)
        except (KeyError, TypeError, ValueError):
            return web.json_response({"ok": False, "error": "invalid_arguments"}, status=400)
        except NotAcknowledged as failure:
            return web.json_response({"ok": False, "error": failure.error, "unanswered": True})
        except WorkspaceRefusal as refusal:
            return web.json_response({"ok": False, "error": refusal.error})
        return web.json_response({"ok": True, **done})

    async def _say(self, user: User, asked: Json) -> Json:
        """Words out of the composer: a slash command or a post."""
        channel, text, thread = self.world.channel(asked["channel"]), str(asked["text"]).strip(), asked.get("thread")
        if text.startswith("/"):
            command, _, rest = text.partition(" ")
            if command != "/runbook":
                raise WorkspaceRefusal("unknown_command")
            if thread:
                raise WorkspaceRefusal("no_commands_in_threads")
            await self.workspace.interactions.command(user, channel, command, rest.strip())
            return {}
        if not text:
            raise WorkspaceRefusal("no_text")
        return {"ts": self.workspace.acts.post(user, channel, text, thread)["ts"]}

    async def _react(self, user: User, asked: Json) -> Json:
        channel = self.world.channel(asked["channel"])
        self.workspace.acts.react(user, channel, asked["ts"], asked["name"], remove=bool(asked.get("remove")))
        return {}

    async def _click(self, user: User, asked: Json) -> Json:
        if asked.get("view"):
            await self.workspace.interactions.click_view(user, asked["view"], asked["action"], asked.get("option"))
        else:
            channel = self.world.channel(asked["channel"])
            await self.workspace.interactions.click(user, channel, asked["ts"], asked["action"], asked.get("option"))
        return {}

    async def _submit(self, user: User, asked: Json) -> Json:
        await self.workspace.interactions.submit(user, asked["view"], asked.get("values"))
        return {}

    async def _close(self, user: User, asked: Json) -> Json:
        await self.workspace.interactions.close(user)
        return {}

    async def _fire(self, user: User, asked: Json) -> Json:
        channel = self.world.channel(asked["channel"])
        if not self.world.can_read(user, channel) or channel.kind == "im":
            raise WorkspaceRefusal("not_in_channel")
        return {"ts": self.workspace.post_alert(asked["alert"], channel.id)}

    async def _move(self, user: User, asked: Json) -> Json:
        """Join or leave, and invite the bot or take it out."""
        channel = self.world.channel(asked["channel"])
        if not self.world.can_read(user, channel):
            raise WorkspaceRefusal("not_in_channel")
        whom = self.world.users[BOT_USER] if asked.get("bot") else user
        (self.workspace.acts.join if asked["in"] else self.workspace.acts.leave)(whom, channel)
        return {}

    async def _home(self, user: User, asked: Json) -> Json:
        self.workspace.open_home(user.id)
        return {}

    async def _why(self, user: User, asked: Json) -> Json:
        """The decision's reasons behind one of the bot's messages that this person can see."""
        channel, ts = self.world.channel(asked["channel"]), str(asked["ts"])
        message = self.world.ephemerals.get(user.id, {}).get(ts)
        if message is None and self.world.can_read(user, channel):
            message = self.world.message(channel, ts) | {"channel": channel.id}
        if message is None or self.workspace.why is None:
            return {"reasons": []}
        try:
            found = self.workspace.why(message)
            return {"reasons": list(await found if inspect.isawaitable(found) else found)}
        except RunbookBotError as error:
            return {"reasons": [f"this can't be told right now: {error}"]}
