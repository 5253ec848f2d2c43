"""The Web API of the local workspace: the methods that an app like ours uses, as strict about them as Slack.

A method is a function decorated with its name and the scope it needs; it takes the arguments and gives the body
of the answer, or raises WorkspaceRefusal with Slack's word for what is wrong.
"""

from __future__ import annotations

import asyncio
import base64
import fnmatch
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from bot.errors import WorkspaceRefusal
from bot.workspace import limits
from bot.workspace.world import BOT_ID, BOT_USER, HOME, Channel, User

if TYPE_CHECKING:
    from bot.workspace.server import Workspace

Json = dict[str, Any]
Method = Callable[["WebApi", Json], Json]

SCOPES = frozenset(
    [
        "app_mentions:read",
        "channels:history",
        "channels:read",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "mpim:history",
        "mpim:read",
        "chat:write",
        "commands",
        "reactions:read",
        "users:read",
        "usergroups:read",
    ]
)
"""What the app was granted; `conversations.open` (im:write) and `reactions.add` (reactions:write) are not."""

MAX_SOCKETS = 10

_log = logging.getLogger(__name__)
_KIND_SCOPE = {"channel": "channels", "group": "groups", "mpim": "mpim", "im": "im"}
_METHODS: dict[str, tuple[str, Method]] = {}


def method(name: str, scope: str = "") -> Callable[[Method], Method]:
    """Register a function as a Web API method that needs a scope."""

    def register(function: Method) -> Method:
        _METHODS[name] = scope, function
        return function

    return register


@dataclass
class Call:
    """One request to the Web API or to a response_url, and what it was answered with."""

    method: str
    args: Json
    answer: Json = field(default_factory=dict)
    status: int = 200

    @property
    def ok(self) -> bool:
        """Whether Slack did it."""
        return self.status == 200 and bool(self.answer.get("ok", True))


@dataclass
class Fault:
    """What is to go wrong with the next calls of a method. Made by `Workspace.fail`."""

    method: str
    times: int
    error: str = ""
    status: int = 200
    retry_after: float | None = None
    delay: float = 0.0
    hit: int = 0

    def matches(self, name: str) -> bool:
        """Whether it still holds for a method (a shell pattern)."""
        return (self.times < 0 or self.hit < self.times) and fnmatch.fnmatch(name, self.method)


class WebApi:
    """Answers `POST /api/<method>`."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.world, self.acts = workspace.world, workspace.acts
        self.scopes = set(SCOPES)
        self.calls: list[Call] = []
        self.faults: list[Fault] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        name = request.match_info["method"]
        token, args = await _arguments(request)
        call = Call(name, args)
        self.calls.append(call)
        headers = {"x-oauth-scopes": ",".join(sorted(self.scopes))}
        try:
            await self._go_wrong(call, headers)
            if call.status == 200 and not call.answer:
                call.answer = {"ok": True, **self._call(name, token, args)}
        except WorkspaceRefusal as refusal:
            call.answer, call.status = {"ok": False, "error": refusal.error, **refusal.more}, refusal.status
            if refusal.messages:
                call.answer["response_metadata"] = {"messages": list(refusal.messages)}
                call.answer["errors"] = list(refusal.messages)
        self.workspace.stirred()
        return web.json_response(call.answer, status=call.status, headers=headers)

    async def _go_wrong(self, call: Call, headers: dict[str, str]) -> None:
        fault = next((f for f in self.faults if f.matches(call.method)), None)
        if fault is None:
            return
        fault.hit += 1
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.retry_after is not None:
            headers["Retry-After"] = f"{fault.retry_after:g}"
        if fault.status != 200 or fault.error:
            call.status = fault.status
            call.answer = {
                "ok": False,
                "error": fault.error or ("ratelimited" if fault.status == 429 else "fatal_error"),
            }

    def _call(self, name: str, token: str, args: Json) -> Json:
        if not token:
            raise WorkspaceRefusal("not_authed")
        if token not in (self.workspace.bot_token, self.workspace.app_token):
            raise WorkspaceRefusal("invalid_auth")
        if name not in _METHODS:
            raise WorkspaceRefusal("unknown_method", req_method=name)
        if (token == self.workspace.app_token) is not (name == "apps.connections.open"):
            raise WorkspaceRefusal("not_allowed_token_type")
        scope, function = _METHODS[name]
        self.require(scope)
        return function(self, args)

    # --- what the methods share -----------------------------------------------------------------------------

    def require(self, scope: str) -> None:
        """Raise `missing_scope` unless it was granted."""
        if scope and scope not in self.scopes:
            provided = ",".join(sorted(self.scopes))
            raise WorkspaceRefusal("missing_scope", needed=scope, provided=provided)

    def visible(self, args: Json) -> Channel:
        """The channel of a call, if the bot may know of it: private ones only from inside."""
        channel = self.world.channels.get(str(args.get("channel", "")))
        if channel is None or (channel.kind != "channel" and BOT_USER not in channel.members):
            raise WorkspaceRefusal("channel_not_found")
        return channel

    def joined(self, args: Json) -> Channel:
        """The channel of a call, if the bot is in it."""
        channel = self.visible(args)
        if BOT_USER not in channel.members:
            raise WorkspaceRefusal("not_in_channel")
        return channel

    def readable(self, args: Json) -> Channel:
        """The channel of a call, if the bot may read its history."""
        channel = self.joined(args)
        self.require(_KIND_SCOPE[channel.kind] + ":history")
        return channel

    def person(self, args: Json) -> User:
        """The user of a call."""
        found = self.world.users.get(str(args.get("user", "")))
        if found is None:
            raise WorkspaceRefusal("user_not_found")
        return found


async def _arguments(request: web.Request) -> tuple[str, Json]:
    args: Json = dict(request.query)
    if request.content_type == "application/json":
        body = await request.text()
        try:
            given = json.loads(body) if body else {}
        except ValueError:
            given = None
        if not isinstance(given, dict):
            raise web.HTTPBadRequest(text='{"ok":false,"error":"invalid_json"}', content_type="application/json")
        args |= given
    elif request.can_read_body:
        form = await request.post()
        args |= {key: value for key, value in form.items() if isinstance(value, str)}
    for key in ("blocks", "attachments", "view", "metadata"):
        if isinstance(args.get(key), str):
            try:
                args[key] = json.loads(args[key])
            except ValueError:
                args[key] = [None]  # no valid value of any of these: refused as invalid below
    token = str(args.pop("token", "") or "")
    header = request.headers.get("Authorization", "")
    return (header.removeprefix("Bearer ").strip() if header.startswith("Bearer ") else token), args


def _flag(args: Json, name: str) -> bool:
    return args.get(name) in (True, "true", "True", "1", 1)


def _number(args: Json, name: str, default: int, most: int) -> int:
    try:
        value = int(args.get(name) or default)
    except (TypeError, ValueError):
        raise WorkspaceRefusal("invalid_limit") from None
    if not 1 <= value <= most:
        raise WorkspaceRefusal("invalid_limit")
    return value


def _page(items: list[Any], args: Json, default: int = 100, most: int = 1000) -> tuple[list[Any], Json]:
    """One page by cursor: the items, and `response_metadata`."""
    size = _number(args, "limit", default, most)
    start = 0
    if args.get("cursor"):
        try:
            start = int(base64.b64decode(str(args["cursor"])).decode().removeprefix("next:"))
        except ValueError:
            raise WorkspaceRefusal("invalid_cursor") from None
    end = start + size
    cursor = base64.b64encode(f"next:{end}".encode()).decode() if end < len(items) else ""
    return items[start:end], {"next_cursor": cursor}


def checked_content(args: Json) -> tuple[str, list[Json] | None, list[Json] | None]:
    """Text, blocks and attachments of a message, checked as Slack does."""
    text = str(args.get("text") or "")
    blocks, attachments = args.get("blocks"), args.get("attachments")
    if not text and not blocks and not attachments:
        raise WorkspaceRefusal("no_text")
    if blocks is not None:
        found = limits.block_problems(blocks)
        if found:
            raise WorkspaceRefusal("invalid_blocks", messages=found)
        if limits.text_length(blocks) > limits.MAX_MESSAGE_CHARS:
            raise WorkspaceRefusal("msg_blocks_too_long")
    if attachments is not None:
        if not isinstance(attachments, list) or not all(isinstance(one, dict) for one in attachments):
            raise WorkspaceRefusal("invalid_attachments")
        if len(attachments) > 100:
            raise WorkspaceRefusal("too_many_attachments")
        for one in attachments:
            found = limits.block_problems(one.get("blocks", []), at="/attachments/blocks")
            if found:
                raise WorkspaceRefusal("invalid_blocks", messages=found)
    return text, blocks, attachments


# --- connection -------------------------------------------------------------------------------------------------


@method("auth.test")
def _auth_test(api: WebApi, args: Json) -> Json:
    return {
        "url": api.workspace.address + "/",
        "team": "Home",
        "user": "runbook",
        "team_id": HOME,
        "user_id": BOT_USER,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


@method("api.test")
def _api_test(api: WebApi, args: Json) -> Json:
    return {"args": args}


@method("apps.connections.open")
def _open_connection(api: WebApi, args: Json) -> Json:
    if api.workspace.socket_mode.connections >= MAX_SOCKETS:
        raise WorkspaceRefusal("too_many_websockets")
    address = api.workspace.address.replace("http://", "ws://", 1)
    return {"url": f"{address}/link/?ticket={api.workspace.socket_mode.new_ticket()}"}


# --- chat -------------------------------------------------------------------------------------------------------


@method("chat.postMessage", "chat:write")
def _post(api: WebApi, args: Json) -> Json:
    if str(args.get("channel", "")).startswith("U"):  # a person's id stands for their direct message
        user = api.world.users.get(args["channel"])
        if user is None or user.bot_id or user.deleted:
            raise WorkspaceRefusal("channel_not_found")
        channel = api.world.dm(user)
    else:
        channel = api.joined(args)
    text, blocks, attachments = checked_content(args)
    metadata = args.get("metadata") if isinstance(args.get("metadata"), dict) else None
    message = api.acts.post_as_bot(
        channel, text=text, blocks=blocks, attachments=attachments, thread=args.get("thread_ts") or None,
        broadcast=_flag(args, "reply_broadcast"), metadata=metadata,
    )  # fmt: skip
    return {"channel": channel.id, "ts": message["ts"], "message": message}


@method("chat.update", "chat:write")
def _update(api: WebApi, args: Json) -> Json:
    channel = api.joined(args)
    message = api.world.message(channel, str(args.get("ts", "")))
    if message.get("bot_id") != BOT_ID:
        raise WorkspaceRefusal("cant_update_message")
    if channel.archived:
        raise WorkspaceRefusal("is_inactive")
    text, blocks, attachments = checked_content(args)
    if len(text) > 4_000:
        raise WorkspaceRefusal("msg_too_long")
    fresh = api.acts.bot_message(text, blocks, attachments)
    changes: Json = {"text": fresh["text"]} if text else {}
    for key, given in (("blocks", blocks), ("attachments", attachments)):
        if given is not None:  # not given: the old ones stay; an empty list takes them away
            changes[key] = fresh.get(key)
    after = api.acts.edit(channel, message["ts"], changes, BOT_USER)
    return {"channel": channel.id, "ts": after["ts"], "text": after["text"], "message": after}


@method("chat.delete", "chat:write")
def _delete(api: WebApi, args: Json) -> Json:
    channel = api.joined(args)
    message = api.world.message(channel, str(args.get("ts", "")))
    if message.get("bot_id") != BOT_ID:
        raise WorkspaceRefusal("cant_delete_message")
    api.acts.delete(channel, message["ts"])
    return {"channel": channel.id, "ts": message["ts"]}


@method("chat.postEphemeral", "chat:write")
def _post_ephemeral(api: WebApi, args: Json) -> Json:
    channel = api.joined(args)
    if channel.archived:
        raise WorkspaceRefusal("is_archived")
    user = api.world.users.get(str(args.get("user", "")))
    if user is None or user.id not in channel.members:
        raise WorkspaceRefusal("user_not_in_channel")
    text, blocks, attachments = checked_content(args)
    message = api.acts.bot_message(text, blocks, attachments) | {"ts": api.world.next_ts()}
    if args.get("thread_ts"):
        message["thread_ts"] = str(args["thread_ts"])
        if not channel.messages.get(message["thread_ts"], {}).get("reply_count"):
            _log.warning("an ephemeral message in a thread without replies: Slack takes it and shows it to nobody")
            return {"message_ts": message["ts"]}
    api.world.show_alone(user, channel, message)
    return {"message_ts": message["ts"]}


@method("chat.getPermalink")
def _permalink(api: WebApi, args: Json) -> Json:
    channel = api.visible(args)
    message = api.world.message(channel, str(args.get("message_ts", "")))
    link = f"{api.workspace.address}/archives/{channel.id}/p{message['ts'].replace('.', '')}"
    if message.get("thread_ts") not in (None, message["ts"]):
        link += f"?thread_ts={message['thread_ts']}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


@method("assistant.threads.setStatus", "chat:write")
def _set_status(api: WebApi, args: Json) -> Json:
    channel = api.joined({"channel": args.get("channel_id")})
    if args.get("thread_ts") not in channel.messages:
        raise WorkspaceRefusal("invalid_thread_ts")
    return {}


# --- conversations ----------------------------------------------------------------------------------------------


@method("conversations.info")
def _info(api: WebApi, args: Json) -> Json:
    channel = api.visible(args)
    api.require(_KIND_SCOPE[channel.kind] + ":read")
    shown = channel.as_slack(member=BOT_USER in channel.members)
    if _flag(args, "include_num_members"):
        shown["num_members"] = len(channel.members)
    return {"channel": shown}


@method("conversations.members")
def _members(api: WebApi, args: Json) -> Json:
    channel = api.visible(args)
    api.require(_KIND_SCOPE[channel.kind] + ":read")
    members, metadata = _page(sorted(channel.members), args)
    return {"members": members, "response_metadata": metadata}


@method("conversations.list")
def _list(api: WebApi, args: Json) -> Json:
    names = {"public_channel": "channel", "private_channel": "group", "mpim": "mpim", "im": "im"}
    wanted = set()
    for word in str(args.get("types") or "public_channel").replace(" ", "").split(","):
        if word not in names:
            raise WorkspaceRefusal("invalid_types")
        api.require(_KIND_SCOPE[names[word]] + ":read")
        wanted.add(names[word])
    found = [
        channel.as_slack(member=BOT_USER in channel.members) | {"num_members": len(channel.members)}
        for channel in api.world.channels.values()
        if channel.kind in wanted
        and (channel.kind == "channel" or BOT_USER in channel.members)
        and not (channel.archived and _flag(args, "exclude_archived"))
    ]
    channels, metadata = _page(found, args)
    return {"channels": channels, "response_metadata": metadata}


@method("users.conversations")
def _users_conversations(api: WebApi, args: Json) -> Json:
    listed = _list(api, {**args, "limit": None, "cursor": None})["channels"]
    user = str(args.get("user") or BOT_USER)
    found = [channel for channel in listed if user in api.world.channels[channel["id"]].members]
    channels, metadata = _page(found, args)
    return {"channels": channels, "response_metadata": metadata}


@method("conversations.open")
def _open(api: WebApi, args: Json) -> Json:
    users = str(args.get("users") or "").split(",")
    api.require("im:write" if len(users) == 1 else "mpim:write")
    user = api.person({"user": users[0]})
    if len(users) > 1 or user.bot_id:
        raise WorkspaceRefusal("method_not_supported_for_channel_type")
    return {"channel": {"id": api.world.dm(user).id}}


def _between(messages: list[Json], args: Json) -> list[Json]:
    """Messages between `oldest` and `latest`; the ends belong to it with `inclusive`."""
    oldest, latest, inclusive = args.get("oldest"), args.get("latest"), _flag(args, "inclusive")

    def inside(ts: str) -> bool:
        after = not oldest or ts > str(oldest) or (inclusive and ts == str(oldest))
        before = not latest or ts < str(latest) or (inclusive and ts == str(latest))
        return after and before

    return [message for message in messages if inside(message["ts"])]


@method("conversations.history")
def _history(api: WebApi, args: Json) -> Json:
    channel = api.readable(args)
    roots = [
        message
        for message in reversed(channel.messages.values())
        if message.get("thread_ts") in (None, message["ts"]) or message.get("subtype") == "thread_broadcast"
    ]
    messages, metadata = _page(_between(roots, args), args, most=999)
    return {"messages": messages, "has_more": bool(metadata["next_cursor"]), "response_metadata": metadata}


@method("conversations.replies")
def _replies(api: WebApi, args: Json) -> Json:
    channel = api.readable(args)
    ts = str(args.get("ts", ""))
    asked = channel.messages.get(ts)
    if asked is None:
        raise WorkspaceRefusal("thread_not_found")
    if asked.get("thread_ts") not in (None, ts):
        return {"messages": [asked], "has_more": False}
    replies = [message for message in channel.messages.values() if message.get("thread_ts") == ts]
    replies = [message for message in replies if message["ts"] != ts]
    messages, metadata = _page([asked, *_between(replies, args)], args)
    return {"messages": messages, "has_more": bool(metadata["next_cursor"]), "response_metadata": metadata}


# --- people -----------------------------------------------------------------------------------------------------


@method("users.info", "users:read")
def _user_info(api: WebApi, args: Json) -> Json:
    return {"user": api.person(args).as_slack()}


@method("users.list", "users:read")
def _users_list(api: WebApi, args: Json) -> Json:
    everybody = [user.as_slack() for user in api.world.users.values() if user.team == HOME]
    slackbot = {"id": "USLACKBOT", "team_id": HOME, "name": "slackbot", "deleted": False, "is_bot": False}
    members, metadata = _page([*everybody, slackbot], args, default=1000)
    return {"members": members, "cache_ts": 0, "response_metadata": metadata}


@method("usergroups.list", "usergroups:read")
def _usergroups(api: WebApi, args: Json) -> Json:
    groups = [g for g in api.world.groups.values() if _flag(args, "include_disabled") or not g.disabled]
    return {"usergroups": [group.as_slack(with_users=_flag(args, "include_users")) for group in groups]}


@method("usergroups.users.list", "usergroups:read")
def _usergroup_users(api: WebApi, args: Json) -> Json:
    group = api.world.groups.get(str(args.get("usergroup", "")))
    if group is None or (group.disabled and not _flag(args, "include_disabled")):
        raise WorkspaceRefusal("no_such_subteam")
    return {"users": sorted(group.members)}


@method("reactions.add", "reactions:write")
def _react(api: WebApi, args: Json) -> Json:
    channel = api.joined(args)
    name = str(args.get("name", "")).strip(":")
    if not name:
        raise WorkspaceRefusal("invalid_name")
    api.acts.react(api.world.users[BOT_USER], channel, str(args.get("timestamp", "")), name)
    return {}


# --- views ------------------------------------------------------------------------------------------------------


def _checked_view(args: Json) -> Json:
    found = limits.view_problems(args.get("view"))
    if found:
        raise WorkspaceRefusal("invalid_arguments", messages=found)
    return dict(args["view"])


@method("views.open")
def _view_open(api: WebApi, args: Json) -> Json:
    view = _checked_view(args)
    user = api.workspace.interactions.exchange(str(args.get("trigger_id", "")))
    return {"view": api.workspace.interactions.open_view(user, view)}


@method("views.push")
def _view_push(api: WebApi, args: Json) -> Json:
    view = _checked_view(args)
    user = api.workspace.interactions.exchange(str(args.get("trigger_id", "")))
    return {"view": api.workspace.interactions.push_view(user, view)}


@method("views.update")
def _view_update(api: WebApi, args: Json) -> Json:
    view = _checked_view(args)
    view_id, external = str(args.get("view_id") or ""), str(args.get("external_id") or "")
    return {"view": api.workspace.interactions.update_view(view_id, external, view, args.get("hash"))}


@method("views.publish")
def _view_publish(api: WebApi, args: Json) -> Json:
    view = _checked_view(args)
    user = api.person({"user": args.get("user_id")})
    return {"view": api.workspace.interactions.publish_view(user, view)}
