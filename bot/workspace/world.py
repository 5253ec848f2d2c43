"""What the local workspace holds: people, groups, channels, messages, and who gets to see which of them.

Nothing here knows HTTP. Every change of what a person can see goes through `World`, which writes it down in
`seen`: an edited message stays in that list as it was read before, because the leak tests ask for just that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.errors import WorkspaceRefusal

Json = dict[str, Any]
ChannelKind = Literal["channel", "group", "mpim", "im"]
"""Slack's words: a public channel, a private one, a group direct message, a direct message."""

HOME, PARTNER = "T0HOME", "T0ACME"
BOT_USER, BOT_ID, APP_ID = "U0RUNBOT", "B0RUNBOT", "A0RUNBOT"


@dataclass
class User:
    """Somebody with an account, bots included."""

    id: str
    name: str
    real_name: str = ""
    team: str = HOME
    guest: bool = False
    single_channel: bool = False
    stranger: bool = False
    bot_id: str = ""
    deleted: bool = False

    @property
    def full_member(self) -> bool:
        """A person of the home workspace who is no guest."""
        return self.team == HOME and not (self.guest or self.single_channel or self.bot_id or self.deleted)

    def as_slack(self) -> Json:
        """The user object of `users.info`."""
        shown: Json = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "real_name": self.real_name or self.name,
            "profile": {"display_name": self.name, "real_name": self.real_name or self.name, "team": self.team},
            "is_bot": bool(self.bot_id),
            "is_app_user": False,
            "updated": 1780000000,
        }
        if self.team == HOME:
            shown |= {"deleted": self.deleted, "is_admin": False, "is_owner": False}
            shown |= {"is_restricted": self.guest or self.single_channel, "is_ultra_restricted": self.single_channel}
        else:  # Slack says less of other companies' people; `deleted` may be absent
            shown["is_stranger"] = self.stranger
        if self.bot_id:
            shown["profile"] |= {"bot_id": self.bot_id, "api_app_id": APP_ID if self.id == BOT_USER else ""}
        return shown


@dataclass
class Group:
    """A user group, `@handle`."""

    id: str
    handle: str
    members: set[str] = field(default_factory=set)
    disabled: bool = False

    def as_slack(self, *, with_users: bool = False) -> Json:
        """The object of `usergroups.list`."""
        shown: Json = {
            "id": self.id,
            "team_id": HOME,
            "is_usergroup": True,
            "name": self.handle.replace("-", " "),
            "handle": self.handle,
            "date_create": 1780000000,
            "date_delete": 1790000000 if self.disabled else 0,
            "user_count": len(self.members),
        }
        if with_users:
            shown["users"] = sorted(self.members)
        return shown


@dataclass
class Channel:
    """A conversation of any kind."""

    id: str
    name: str
    kind: ChannelKind = "channel"
    members: set[str] = field(default_factory=set)
    ext_shared: bool = False
    """Another company reads along."""
    pending_shared: bool = False
    """Another company was invited to."""
    archived: bool = False
    topic: str = ""
    messages: dict[str, Json] = field(default_factory=dict)
    """By `ts`, oldest first."""

    @property
    def type(self) -> str:
        """The `channel_type` of a message event."""
        return self.kind

    def as_slack(self, *, member: bool = True) -> Json:
        """The object of `conversations.info`."""
        shared = self.ext_shared
        shown: Json = {
            "id": self.id,
            "created": 1780000000,
            "is_archived": self.archived,
            "is_im": self.kind == "im",
            "is_org_shared": False,
            "context_team_id": HOME,
        }
        if self.kind == "im":
            other = sorted(self.members - {BOT_USER})
            return shown | {"user": other[0] if other else BOT_USER, "is_user_deleted": False, "priority": 0}
        return shown | {
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": self.kind == "channel",
            "is_group": self.kind == "group",
            "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "channel",
            "is_general": False,
            "is_shared": shared,
            "is_ext_shared": shared,
            "is_pending_ext_shared": self.pending_shared,
            "pending_shared": [],
            "pending_connected_team_ids": [PARTNER] if self.pending_shared else [],
            "shared_team_ids": [HOME, PARTNER] if shared else [HOME],
            "connected_team_ids": [PARTNER] if shared else [],
            "internal_team_ids": [HOME],
            "is_member": member,
            "creator": "U0BEN",
            "topic": {"value": self.topic, "creator": "U0BEN", "last_set": 1780000000},
            "purpose": {"value": "", "creator": "", "last_set": 0},
        }


@dataclass(frozen=True)
class Seen:
    """One thing that came before a person's eyes, as it was then."""

    kind: Literal["message", "ephemeral", "modal", "home"]
    channel: str
    ts: str
    payload: Json

    @property
    def words(self) -> str:
        """Every piece of text in it, values and ids included: what a leak test searches."""
        return "\n".join(strings(self.payload))

    @property
    def text(self) -> str:
        """The payload's `text`."""
        return str(self.payload.get("text", ""))

    @property
    def by_bot(self) -> bool:
        """Written by the runbook bot."""
        return self.kind != "message" or self.payload.get("bot_id") == BOT_ID


@dataclass(frozen=True)
class Change:
    """Something that a page in the browser has to draw anew. `user`: for that person alone."""

    kind: Literal["message", "gone", "ephemeral", "views", "home", "places"]
    channel: str = ""
    ts: str = ""
    user: str = ""


def strings(value: object) -> Iterator[str]:
    """Every string inside a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


class World:
    """The state of one workspace."""

    def __init__(self, users: list[User], groups: list[Group], channels: list[Channel]) -> None:
        self.users = {user.id: user for user in users}
        self.groups = {group.id: group for group in groups}
        self.channels = {channel.id: channel for channel in channels}
        self.ephemerals: dict[str, dict[str, Json]] = {}
        """By user, then by `ts`; each has `channel`."""
        self.views: dict[str, list[Json]] = {}
        """Each person's open modals, the top one last."""
        self.homes: dict[str, Json] = {}
        self.seen: dict[str, list[Seen]] = {}
        self.listeners: list[Callable[[Change], None]] = []
        self._last_ts = 0

    # --- looking things up ----------------------------------------------------------------------------------

    def user(self, word: str) -> User:
        """A user by id or handle. Raises WorkspaceRefusal `user_not_found`."""
        word = word.strip().lstrip("@")
        found = self.users.get(word) or next((u for u in self.users.values() if u.name == word.casefold()), None)
        if found is None:
            raise WorkspaceRefusal("user_not_found")
        return found

    def channel(self, word: str) -> Channel:
        """A channel by id, by name, or by a person's handle (their direct message with the bot).

        Raises WorkspaceRefusal `channel_not_found`.
        """
        word = word.strip()
        if word in self.channels:
            return self.channels[word]
        name = word.lstrip("#@").casefold()
        for channel in self.channels.values():
            if channel.name == name:
                return channel
        raise WorkspaceRefusal("channel_not_found")

    def group(self, word: str) -> Group:
        """A user group by id or handle. Raises WorkspaceRefusal `no_such_subteam`."""
        word = word.strip().lstrip("@")
        found = self.groups.get(word) or next((g for g in self.groups.values() if g.handle == word.casefold()), None)
        if found is None:
            raise WorkspaceRefusal("no_such_subteam")
        return found

    def message(self, channel: Channel, ts: str) -> Json:
        """A message. Raises WorkspaceRefusal `message_not_found`."""
        if ts not in channel.messages:
            raise WorkspaceRefusal("message_not_found")
        return channel.messages[ts]

    def dm(self, user: User) -> Channel:
        """The bot's direct message with a person, made when it is not there yet."""
        for channel in self.channels.values():
            if channel.kind == "im" and channel.members == {user.id, BOT_USER}:
                return channel
        made = Channel("D" + user.id[1:], user.name, "im", {user.id, BOT_USER})
        self.channels[made.id] = made
        self.tell(Change("places"))
        return made

    def can_read(self, user: User, channel: Channel) -> bool:
        """Members read; and every full member reads every public channel, joined or not."""
        if user.deleted:
            return False
        return user.id in channel.members or (channel.kind == "channel" and user.full_member)

    def readers(self, channel: Channel) -> list[User]:
        """Everybody who can read a channel now, bots left out."""
        return [user for user in self.users.values() if not user.bot_id and self.can_read(user, channel)]

    # --- changes of what is seen ----------------------------------------------------------------------------

    def next_ts(self) -> str:
        """A new `ts`: microseconds of now, never the same twice."""
        self._last_ts = max(self._last_ts + 1, time.time_ns() // 1000)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def tell(self, change: Change) -> None:
        """Let every listener know."""
        for listener in tuple(self.listeners):
            listener(change)

    def saw(self, user: str, thing: Seen) -> None:
        """Write down that a person saw this."""
        self.seen.setdefault(user, []).append(thing)

    def show(self, channel: Channel, message: Json) -> None:
        """Put a message, or its new version, before everybody who can read the channel."""
        channel.messages[message["ts"]] = message
        copy = Seen("message", channel.id, message["ts"], dict(message))
        for reader in self.readers(channel):
            self.saw(reader.id, copy)
        self.tell(Change("message", channel.id, message["ts"]))

    def remove(self, channel: Channel, ts: str) -> None:
        """Take a message away; who saw it has seen it."""
        del channel.messages[ts]
        self.tell(Change("gone", channel.id, ts))

    def show_alone(self, user: User, channel: Channel, message: Json) -> None:
        """Put an ephemeral message before one person."""
        self.ephemerals.setdefault(user.id, {})[message["ts"]] = message | {"channel": channel.id}
        self.saw(user.id, Seen("ephemeral", channel.id, message["ts"], dict(message)))
        self.tell(Change("ephemeral", channel.id, message["ts"], user.id))

    def remove_alone(self, user: User, ts: str) -> None:
        """Take an ephemeral message away."""
        gone = self.ephemerals.get(user.id, {}).pop(ts, None)
        if gone is not None:
            self.tell(Change("ephemeral", gone["channel"], ts, user.id))

    def show_view(self, user: str, view: Json) -> None:
        """A modal, or its new content, is before a person's eyes; the stack was changed by the caller."""
        self.saw(user, Seen("modal", "", view["id"], dict(view)))
        self.tell(Change("views", user=user))

    def show_home(self, user: str, view: Json) -> None:
        """The app's Home tab of a person."""
        self.homes[user] = view
        self.saw(user, Seen("home", "", view["id"], dict(view)))
        self.tell(Change("home", user=user))

    def readership_changed(self, channel: Channel, before: list[User]) -> None:
        """Whoever can read a channel now and could not before reads its history as it stands."""
        known = {user.id for user in before}
        for reader in self.readers(channel):
            if reader.id not in known:
                for ts, message in channel.messages.items():
                    self.saw(reader.id, Seen("message", channel.id, ts, dict(message)))
        self.tell(Change("places"))
