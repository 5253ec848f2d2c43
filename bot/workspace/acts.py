"""What can happen in a workspace, and the event that Slack sends the app for each.

An event goes out only where Slack would send it: the app is in the channel (or was just put out of it).
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from bot.errors import WorkspaceRefusal
from bot.workspace.delivery import Outbox
from bot.workspace.text import normalised, typed, with_ids
from bot.workspace.world import APP_ID, BOT_ID, BOT_USER, HOME, PARTNER, Change, Channel, Json, User, World

VERIFICATION_TOKEN = "local-verification-token"
_LETTER = {"channel": "C", "group": "G", "mpim": "G", "im": "D"}


class Acts:
    """Changes the world and tells the app."""

    def __init__(self, world: World, outbox: Outbox) -> None:
        self.world, self.outbox = world, outbox

    # --- events ---------------------------------------------------------------------------------------------

    def emit(self, event: Json, channel: Channel | None = None) -> None:
        """Send an event; one of a channel only where the bot is in it."""
        if channel is not None and BOT_USER not in channel.members:
            return
        now = time.time()
        event = {"event_ts": event.get("ts") or self.world.next_ts(), **event}
        self.outbox.event(
            {
                "token": VERIFICATION_TOKEN,
                "team_id": HOME,
                "context_team_id": HOME,
                "context_enterprise_id": None,
                "api_app_id": APP_ID,
                "event": event,
                "type": "event_callback",
                "event_id": "Ev" + secrets.token_hex(5).upper(),
                "event_time": int(now),
                "authorizations": [
                    {
                        "enterprise_id": None,
                        "team_id": HOME,
                        "user_id": BOT_USER,
                        "is_bot": True,
                        "is_enterprise_install": False,
                    }
                ],
                "is_ext_shared_channel": bool(channel and channel.ext_shared),
                "event_context": "4-" + secrets.token_urlsafe(24),
            }
        )

    def emit_message(self, channel: Channel, message: Json) -> None:
        """The `message` event, and `app_mention` where the text names the bot outside a DM."""
        event = message | {"channel": channel.id, "channel_type": channel.type, "event_ts": message["ts"]}
        self.emit(event, channel)
        mentioned = f"<@{BOT_USER}>" in message.get("text", "")
        if mentioned and channel.kind != "im" and message.get("user") != BOT_USER and "subtype" not in message:
            self.emit({**event, "type": "app_mention"}, channel)

    # --- messages -------------------------------------------------------------------------------------------

    def post(self, user: User, channel: Channel, text: str, thread: str | None = None) -> Json:
        """A person types something and sends it."""
        if user.id not in channel.members:
            raise WorkspaceRefusal("not_in_channel")
        words, blocks = typed(text, self._handle)
        message = {
            "type": "message",
            "user": user.id,
            "client_msg_id": secrets.token_hex(16),
            "text": words,
            "team": user.team,
            "blocks": blocks,
        }
        if user.team != HOME:
            message |= {"user_team": user.team, "source_team": user.team}
        return self.put(channel, message, thread)

    def post_as_bot(
        self, channel: Channel, *, text: str, blocks: list[Json] | None, attachments: list[Json] | None,
        thread: str | None = None, broadcast: bool = False, metadata: Json | None = None,
    ) -> Json:  # fmt: skip
        """The runbook bot posts."""
        message = self.bot_message(text, blocks, attachments)
        if metadata:
            message["metadata"] = metadata
        if broadcast and thread:
            message["subtype"] = "thread_broadcast"
        return self.put(channel, message, thread)

    def bot_message(self, text: str, blocks: list[Json] | None, attachments: list[Json] | None) -> Json:
        """A message of the runbook bot that is nowhere yet."""
        message: Json = {
            "type": "message",
            "user": BOT_USER,
            "bot_id": BOT_ID,
            "app_id": APP_ID,
            "team": HOME,
            "text": normalised(text[:40_000]),
            "bot_profile": {"id": BOT_ID, "name": "Runbook", "app_id": APP_ID, "team_id": HOME, "deleted": False},
        }
        if blocks:
            message["blocks"] = with_ids(blocks)
        if attachments:
            message["attachments"] = attachments
        return message

    def put(self, channel: Channel, message: Json, thread: str | None = None) -> Json:
        """Give a message its `ts`, hang it in its thread, show it and send the event."""
        if channel.archived:
            raise WorkspaceRefusal("is_archived")
        message = message | {"ts": self.world.next_ts()}
        if thread is not None:
            root = self._root(channel, thread)
            message |= {"thread_ts": thread, "parent_user_id": root.get("user", "")}
        self.world.show(channel, message)
        if thread is not None:
            self._count_replies(channel, thread)
        self.emit_message(channel, message)
        return message

    def edit(self, channel: Channel, ts: str, changes: Json, editor: str | None) -> Json:
        """Change a message; without an editor it is Slack's own change (a link preview)."""
        before = self.world.message(channel, ts)
        after = {key: value for key, value in (before | changes).items() if value is not None}
        if editor is not None:
            after["edited"] = {"user": editor, "ts": self.world.next_ts()}
        self.world.show(channel, after)
        self._hidden(channel, "message_changed", message=after, previous_message=before)
        return after

    def delete(self, channel: Channel, ts: str) -> None:
        """Delete a message; a root with replies stays as a tombstone."""
        before = self.world.message(channel, ts)
        if before.get("reply_count"):
            kept = {key: before[key] for key in ("ts", "thread_ts", "reply_count", "reply_users", "latest_reply")}
            tombstone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": True}
            self.world.show(channel, tombstone | kept | {"text": "This message was deleted."})
        else:
            self.world.remove(channel, ts)
            if before.get("thread_ts") not in (None, ts):
                self._count_replies(channel, before["thread_ts"])
        self._hidden(channel, "message_deleted", deleted_ts=ts, previous_message=before)

    def react(self, user: User, channel: Channel, ts: str, name: str, *, remove: bool = False) -> None:
        """Put a reaction on a message, or take it off."""
        if user.id not in channel.members:
            raise WorkspaceRefusal("not_in_channel")
        message = self.world.message(channel, ts)
        reactions = {one["name"]: list(one["users"]) for one in message.get("reactions", ())}
        users = reactions.setdefault(name, [])
        if (user.id in users) is not remove:
            raise WorkspaceRefusal("no_reaction" if remove else "already_reacted")
        if remove:
            users.remove(user.id)
        else:
            users.append(user.id)
        listed = [{"name": n, "users": u, "count": len(u)} for n, u in reactions.items() if u]
        channel.messages[ts] = message | {"reactions": listed}
        self.world.tell(Change("message", channel.id, ts))
        self.emit(
            {
                "type": "reaction_removed" if remove else "reaction_added",
                "user": user.id,
                "reaction": name,
                "item": {"type": "message", "channel": channel.id, "ts": ts},
                "item_user": message.get("user", ""),
            },
            channel,
        )

    def _hidden(self, channel: Channel, subtype: str, **more: Any) -> None:
        event = {"type": "message", "subtype": subtype, "hidden": True, "channel": channel.id, **more}
        self.emit(event | {"ts": self.world.next_ts(), "channel_type": channel.type}, channel)

    def _root(self, channel: Channel, thread: str) -> Json:
        whole, _, fraction = thread.partition(".")
        if not (whole.isdigit() and fraction.isdigit()):
            raise WorkspaceRefusal("invalid_thread_ts")
        root = channel.messages.get(thread)
        if root is None or root.get("thread_ts", thread) != thread:
            raise WorkspaceRefusal("thread_not_found")
        return root

    def _count_replies(self, channel: Channel, thread: str) -> None:
        root = channel.messages.get(thread)
        if root is None:
            return
        replies = [m for m in channel.messages.values() if m.get("thread_ts") == thread and m["ts"] != thread]
        counted = {
            "thread_ts": thread,
            "reply_count": len(replies),
            "reply_users": sorted({m.get("user") or m.get("bot_id", "") for m in replies}),
            "latest_reply": replies[-1]["ts"] if replies else thread,
        }
        channel.messages[thread] = root | counted
        self.world.tell(Change("message", channel.id, thread))

    def _handle(self, name: str) -> str | None:
        try:
            return self.world.user(name).id
        except WorkspaceRefusal:
            return None

    # --- people and places ----------------------------------------------------------------------------------

    def join(self, user: User, channel: Channel) -> None:
        """Somebody comes into a channel."""
        if user.id in channel.members:
            return
        before = self.world.readers(channel)
        channel.members.add(user.id)
        self.world.readership_changed(channel, before)
        self.emit(self._membership("member_joined_channel", user, channel), channel)

    def leave(self, user: User, channel: Channel) -> None:
        """Somebody leaves a channel, or is taken out of it."""
        if user.id not in channel.members:
            raise WorkspaceRefusal("not_in_channel")
        before = self.world.readers(channel)
        channel.members.remove(user.id)
        self.world.readership_changed(channel, before)
        self.emit(self._membership("member_left_channel", user, channel), channel)
        if user.id == BOT_USER:
            self.emit({"type": "group_left" if channel.kind == "group" else "channel_left", "channel": channel.id})

    def _membership(self, kind: str, user: User, channel: Channel) -> Json:
        return {
            "type": kind,
            "user": user.id,
            "channel": channel.id,
            "channel_type": _LETTER[channel.kind],
            "team": user.team,
        }

    def share(self, channel: Channel, *, pending: bool = False) -> None:
        """Another company is invited (`pending`: Slack tells apps nothing) or has come in."""
        channel.pending_shared, channel.ext_shared = pending, not pending
        self.world.tell(Change("places"))
        if not pending:
            self.emit({"type": "channel_shared", "connected_team_id": PARTNER, "channel": channel.id}, channel)

    def unshare(self, channel: Channel) -> None:
        """The other company is out again."""
        channel.pending_shared = channel.ext_shared = False
        gone = [self.world.users[m] for m in channel.members if m in self.world.users]
        for user in gone:
            if user.team != HOME:
                self.leave(user, channel)
        self.world.tell(Change("places"))
        self.emit(
            {
                "type": "channel_unshared",
                "previously_connected_team_id": PARTNER,
                "channel": channel.id,
                "is_ext_shared": False,
            },
            channel,
        )

    def convert(self, channel: Channel, *, private: bool) -> None:
        """A public channel becomes private, or a private one public."""
        before = self.world.readers(channel)
        channel.kind = "group" if private else "channel"
        self.world.readership_changed(channel, before)
        subtype = f"channel_convert_to_{'private' if private else 'public'}"
        text = f"This channel was made {'private' if private else 'public'}."
        message = {"type": "message", "subtype": subtype, "user": "U0BEN", "text": text, "ts": self.world.next_ts()}
        self.world.show(channel, message)
        self.emit_message(channel, message)

    def archive(self, channel: Channel, *, undo: bool = False) -> None:
        """Nothing can be posted there any more, or again."""
        channel.archived = not undo
        self.world.tell(Change("places"))
        kind = ("group" if channel.kind == "group" else "channel") + ("_unarchive" if undo else "_archive")
        self.emit({"type": kind, "channel": channel.id, "user": "U0BEN"}, channel)

    def rename(self, channel: Channel, name: str) -> None:
        """A channel gets another name."""
        channel.name = name
        self.world.tell(Change("places"))
        kind = "group_rename" if channel.kind == "group" else "channel_rename"
        self.emit({"type": kind, "channel": {"id": channel.id, "name": name, "created": 1780000000}}, channel)

    def change_id(self, channel: Channel, new: str) -> None:
        """A channel gets another id, as can happen when it is shared."""
        old = channel.id
        del self.world.channels[old]
        channel.id = new
        self.world.channels[new] = channel
        self.world.tell(Change("places"))
        self.emit({"type": "channel_id_changed", "old_channel_id": old, "new_channel_id": new}, channel)

    def user_changed(self, user: User) -> None:
        """Somebody's account was changed (made a guest, deactivated, …)."""
        self.world.tell(Change("places"))
        self.emit({"type": "user_change", "user": user.as_slack(), "cache_ts": int(time.time())})

    def user_came(self, user: User) -> None:
        """Somebody is new in the workspace."""
        self.world.users[user.id] = user
        self.world.tell(Change("places"))
        self.emit({"type": "team_join", "user": user.as_slack()})

    def group_changed(self, handle: str, members: set[str], *, disabled: bool) -> None:
        """A user group has other members now, or is switched off."""
        group = self.world.group(handle)
        added, removed = sorted(members - group.members), sorted(group.members - members)
        group.members, group.disabled = members, disabled
        self.world.tell(Change("places"))
        if added or removed:
            self.emit(
                {
                    "type": "subteam_members_changed",
                    "subteam_id": group.id,
                    "team_id": HOME,
                    "added_users": added,
                    "added_users_count": len(added),
                    "removed_users": removed,
                    "removed_users_count": len(removed),
                }
            )
        self.emit({"type": "subteam_updated", "subteam": group.as_slack(with_users=True)})
