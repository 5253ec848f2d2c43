"""What a person starts and waits for: slash commands, clicks and modals, with their trigger ids and response_urls."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from bot.errors import WorkspaceRefusal
from bot.workspace.acts import VERIFICATION_TOKEN, Acts
from bot.workspace.delivery import NotAcknowledged
from bot.workspace.limits import elements_of, view_problems
from bot.workspace.text import with_ids
from bot.workspace.webapi import checked_content
from bot.workspace.world import APP_ID, BOT_ID, HOME, Change, Channel, User

Json = dict[str, Any]

TRIGGER_SECONDS = 3.0
RESPONSE_SECONDS, RESPONSE_USES = 30 * 60.0, 5
MAX_VIEWS = 3
_CHANNEL_NAMES = {"group": "privategroup", "mpim": "mpdm", "im": "directmessage"}


@dataclass
class _Trigger:
    user: User
    until: float
    used: bool = False


@dataclass
class _ResponseUrl:
    user: User
    channel: Channel
    until: float
    uses: int = 0
    message_ts: str = ""
    """The message on which the button stood; empty after a slash command."""


class Interactions:
    """Trigger ids, response_urls and the stacks of modals."""

    def __init__(self, acts: Acts, address: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> None:
        self.acts, self.world, self._address, self._clock = acts, acts.world, address, clock
        self._triggers: dict[str, _Trigger] = {}
        self._responses: dict[str, _ResponseUrl] = {}

    # --- slash commands -------------------------------------------------------------------------------------

    async def command(self, user: User, channel: Channel, command: str, text: str) -> Json:
        """A person sends a slash command; what the app acknowledged it with. Raises NotAcknowledged."""
        if user.team != HOME:  # only people of the installing workspace have its commands
            raise WorkspaceRefusal("unknown_command")
        if user.id not in channel.members:
            raise WorkspaceRefusal("not_in_channel")
        url = self._response_url(user, channel)
        payload = {
            "token": VERIFICATION_TOKEN,
            "team_id": HOME,
            "team_domain": "home",
            "channel_id": channel.id,
            "channel_name": _CHANNEL_NAMES.get(channel.kind, channel.name),
            "user_id": user.id,
            "user_name": user.name,
            "command": command,
            "text": text,
            "api_app_id": APP_ID,
            "is_enterprise_install": "false",
            "response_url": url,
            "trigger_id": self._trigger(user),
        }
        answer = await self._ask(user, channel, "slash_commands", payload, command)
        if answer.get("text") or answer.get("blocks"):
            self._respond(_ResponseUrl(user, channel, 0), answer)
        return answer

    async def _ask(
        self, user: User, channel: Channel | None, kind: Literal["slash_commands", "interactive"], payload: Json,
        what: str,
    ) -> Json:  # fmt: skip
        try:
            return await self.acts.outbox.ask(kind, payload)
        except NotAcknowledged as failure:
            if channel is not None:
                text = f"{what} failed with the error “{failure.error}”"
                notice = {"type": "message", "user": "USLACKBOT", "text": text, "ts": self.world.next_ts()}
                self.world.show_alone(user, channel, notice)
            raise

    # --- clicks ---------------------------------------------------------------------------------------------

    async def click(self, user: User, channel: Channel, ts: str, action: str, option: str | None = None) -> Json:
        """A person uses a button or menu of a message that they can see; what the app acknowledged it with."""
        alone = self.world.ephemerals.get(user.id, {}).get(ts)
        if alone is None and not self.world.can_read(user, channel):
            raise WorkspaceRefusal("not_in_channel")
        message = alone or self.world.message(channel, ts)
        container: Json = {
            "type": "message",
            "message_ts": ts,
            "channel_id": channel.id,
            "is_ephemeral": alone is not None,
        }
        if message.get("thread_ts"):
            container["thread_ts"] = message["thread_ts"]
        payload = self._interaction("block_actions", user) | {
            "container": container,
            "channel": {"id": channel.id, "name": _CHANNEL_NAMES.get(channel.kind, channel.name)},
            "response_url": self._response_url(user, channel, ts),
            "state": {"values": {}},
            "actions": [self._action(message.get("blocks", []), action, option)],
        }
        if alone is None:  # Slack sends no text of an ephemeral message along
            payload["message"] = message
        return await self._ask(user, channel, "interactive", payload, "The action")

    async def click_view(self, user: User, view_id: str, action: str, option: str | None = None) -> Json:
        """The same, in an open modal or the Home tab."""
        view = self._view_of(user, view_id)
        payload = self._interaction("block_actions", user) | {
            "container": {"type": "view", "view_id": view["id"]},
            "view": view,
            "actions": [self._action(view["blocks"], action, option)],
        }
        return await self._ask(user, None, "interactive", payload, "The action")

    def _interaction(self, kind: str, user: User) -> Json:
        return {
            "type": kind,
            "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team},
            "api_app_id": APP_ID,
            "token": VERIFICATION_TOKEN,
            "team": {"id": HOME, "domain": "home"},
            "enterprise": None,
            "is_enterprise_install": False,
            "trigger_id": self._trigger(user),
        }

    def _action(self, blocks: list[Json], action: str, option: str | None) -> Json:
        for block in blocks:
            for element in elements_of(block):
                if element.get("action_id") == action:
                    found = {key: element[key] for key in ("action_id", "type", "text", "value") if key in element}
                    stamp = {"block_id": block["block_id"], "action_ts": self.world.next_ts()}
                    return found | stamp | _chosen(element, option)
        raise WorkspaceRefusal("action_not_found")

    # --- modals ---------------------------------------------------------------------------------------------

    async def submit(self, user: User, view_id: str, values: Json | None = None) -> Json:
        """Press a modal's submit button; `values` are Slack's state values. Acts on the app's `response_action`."""
        view = self._view_of(user, view_id)
        view = view | {"state": {"values": values or {}}}
        payload = self._interaction("view_submission", user) | {"view": view, "response_urls": []}
        answer = await self._ask(user, None, "interactive", payload, "The modal")
        stack = self.world.views.get(user.id, [])
        match answer.get("response_action"):
            case "errors":
                stack[-1] = stack[-1] | {"errors": answer.get("errors", {})}
                self.world.tell(Change("views", user=user.id))
            case "update":
                self.update_view(view["id"], "", self._given(answer), None)
            case "push":
                self.push_view(user, self._given(answer))
            case "clear":
                self.world.views[user.id] = []
                self.world.tell(Change("views", user=user.id))
            case _:
                self._pop(user)
        return answer

    async def close(self, user: User) -> None:
        """Close the modal on top; the app hears of it where it asked to."""
        stack = self.world.views.get(user.id, [])
        if not stack:
            raise WorkspaceRefusal("view_not_found")
        view = stack[-1]
        self._pop(user)
        if view.get("notify_on_close"):
            payload = self._interaction("view_closed", user) | {"view": view, "is_cleared": False}
            del payload["trigger_id"]
            await self._ask(user, None, "interactive", payload, "Closing")

    def open_view(self, user: User, view: Json) -> Json:
        """`views.open`: a new stack."""
        if view["type"] != "modal":
            raise WorkspaceRefusal("invalid_arguments")
        shown = self._stamped(view)
        self.world.views[user.id] = [shown]
        self.world.show_view(user.id, shown)
        return shown

    def push_view(self, user: User, view: Json) -> Json:
        """`views.push`: on top of the open one; three at most."""
        stack = self.world.views.setdefault(user.id, [])
        if len(stack) >= MAX_VIEWS:
            raise WorkspaceRefusal("push_limit_reached")
        shown = self._stamped(view)
        if stack:
            shown |= {"root_view_id": stack[0]["id"], "previous_view_id": stack[-1]["id"]}
        stack.append(shown)
        self.world.show_view(user.id, shown)
        return shown

    def update_view(self, view_id: str, external_id: str, view: Json, if_hash: str | None) -> Json:
        """`views.update`: not found once the person has closed it."""
        for user, stack in self.world.views.items():
            for index, old in enumerate(stack):
                if old["id"] == view_id or (external_id and old.get("external_id") == external_id):
                    if if_hash and if_hash != old["hash"]:
                        raise WorkspaceRefusal("hash_conflict")
                    kept = {key: old[key] for key in ("id", "root_view_id", "previous_view_id")}
                    stack[index] = self._stamped(view) | kept
                    self.world.show_view(user, stack[index])
                    return stack[index]
        raise WorkspaceRefusal("not_found")

    def publish_view(self, user: User, view: Json) -> Json:
        """`views.publish`: a person's Home tab."""
        if view["type"] != "home":
            raise WorkspaceRefusal("invalid_arguments")
        shown = self._stamped(view)
        self.world.show_home(user.id, shown)
        return shown

    def _given(self, answer: Json) -> Json:
        view = answer.get("view")
        problems = view_problems(view)
        if problems or not isinstance(view, dict):
            raise WorkspaceRefusal("invalid_arguments", messages=problems)
        return view

    def _stamped(self, view: Json) -> Json:
        view_id = "V" + secrets.token_hex(5).upper()
        return {"submit": None, "close": None, "clear_on_close": False, "notify_on_close": False, **view} | {
            "id": view_id,
            "team_id": HOME,
            "blocks": with_ids(view["blocks"]),
            "private_metadata": view.get("private_metadata", ""),
            "callback_id": view.get("callback_id", ""),
            "external_id": view.get("external_id", ""),
            "state": {"values": {}},
            "hash": f"{self.world.next_ts()}.{secrets.token_hex(4)}",
            "root_view_id": view_id,
            "previous_view_id": None,
            "app_id": APP_ID,
            "bot_id": BOT_ID,
            "app_installed_team_id": HOME,
        }

    def _view_of(self, user: User, view_id: str) -> Json:
        home = self.world.homes.get(user.id)
        for view in [*self.world.views.get(user.id, []), *([home] if home else [])]:
            if view["id"] == view_id:
                return view
        raise WorkspaceRefusal("view_not_found")

    def _pop(self, user: User) -> None:
        stack = self.world.views.get(user.id, [])
        if stack:
            stack.pop()
        self.world.tell(Change("views", user=user.id))

    # --- trigger ids and response_urls ----------------------------------------------------------------------

    def _trigger(self, user: User) -> str:
        trigger = f"{time.time_ns()}.{secrets.randbelow(10**9)}.{secrets.token_hex(16)}"
        self._triggers[trigger] = _Trigger(user, self._clock() + TRIGGER_SECONDS)
        return trigger

    def exchange(self, trigger_id: str) -> User:
        """Use up a trigger id: once, and within three seconds."""
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise WorkspaceRefusal("invalid_trigger_id")
        if trigger.used:
            raise WorkspaceRefusal("exchanged_trigger_id")
        if self._clock() > trigger.until:
            raise WorkspaceRefusal("expired_trigger_id")
        trigger.used = True
        return trigger.user

    def _response_url(self, user: User, channel: Channel, message_ts: str = "") -> str:
        key = secrets.token_urlsafe(18)
        self._responses[key] = _ResponseUrl(user, channel, self._clock() + RESPONSE_SECONDS, message_ts=message_ts)
        return f"{self._address()}/response/{key}"

    def respond(self, key: str, body: Json) -> None:
        """Somebody posts to a response_url: five times, within thirty minutes."""
        url = self._responses.get(key)
        if url is None or self._clock() > url.until:
            raise WorkspaceRefusal("expired_url", status=404)
        if url.uses >= RESPONSE_USES:
            raise WorkspaceRefusal("used_url", status=404)
        self._respond(url, body)
        url.uses += 1

    def _respond(self, url: _ResponseUrl, body: Json) -> None:
        user, channel, ts = url.user, url.channel, url.message_ts
        alone = self.world.ephemerals.get(user.id, {})
        if body.get("delete_original"):
            if ts in alone:
                self.world.remove_alone(user, ts)
            elif ts in channel.messages:
                self.acts.delete(channel, ts)
            return
        text, blocks, attachments = checked_content(body)
        message = self.acts.bot_message(text, blocks, attachments)
        in_channel = body.get("response_type") == "in_channel"
        if body.get("replace_original") and ts in alone:
            self.world.show_alone(user, channel, message | {"ts": ts})
        elif body.get("replace_original") and ts in channel.messages:
            kept = {key: message.get(key) for key in ("text", "blocks", "attachments")}
            self.acts.edit(channel, ts, kept, str(message["user"]))
        elif in_channel:
            self.acts.put(channel, message, body.get("thread_ts"))
        else:
            if body.get("thread_ts"):
                message["thread_ts"] = body["thread_ts"]
            self.world.show_alone(user, channel, message | {"ts": self.world.next_ts()})


def _chosen(element: Json, option: str | None) -> Json:
    """What an action adds for the option that was chosen, by its value."""
    match element.get("type"):
        case "feedback_buttons":
            sides = [element["positive_button"], element["negative_button"]]
            return {"value": option or sides[0]["value"]}
        case "overflow" | "static_select" | "radio_buttons":
            return {"selected_option": _option(element, option)}
        case "checkboxes":
            chosen = [one for one in element.get("options", []) if one["value"] in (option or "").split(",")]
            return {"selected_options": chosen}
    return {}


def _option(element: Json, value: str | None) -> Json:
    for option in element.get("options", []):
        if value in (None, option["value"]):
            return dict(option)
    raise WorkspaceRefusal("option_not_found")
