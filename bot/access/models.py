"""The plain models of access: people, places, and whoever will read one reply."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

PUBLIC, WORKSPACE, MEMBERS, NOBODY = "public", "workspace", "members", "nobody"
BUILT_IN = (PUBLIC, WORKSPACE, MEMBERS, NOBODY)


@dataclass(frozen=True, slots=True)
class Person:
    """A Slack user, as far as access needs to know them."""

    id: str
    home: bool = True
    """Of the workspace that installed the bot."""
    guest: bool = False
    bot: bool = False
    deleted: bool = False
    checked: bool = True
    """False where Slack could not be asked now: this is what it said within the last 24 hours."""

    @property
    def full_member(self) -> bool:
        """A person of the home workspace who is no guest."""
        return self.home and not (self.guest or self.bot or self.deleted)


class PlaceKind(StrEnum):
    """What Slack calls the conversation, and whether the bot can read along."""

    PUBLIC = "public_channel"
    PRIVATE = "private_channel"
    GROUP_DM = "group_dm"
    DM = "dm"
    """The bot's own direct message with one person."""
    ELSEWHERE = "elsewhere"
    """Anywhere the bot is not a member: other people's DMs, channels it was not invited to."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reply will be read."""

    id: str
    kind: PlaceKind
    name: str = ""
    shared: bool = False
    """Another company reads along, or is about to."""
    guests: bool = True
    """At least one guest is in it. True when that is not known: when in doubt, show less."""
    archived: bool = False
    checked: bool = True
    """False where Slack could not be asked about it."""
    user: str | None = None
    """Of a DM: the person on the other side, where that is known."""


@dataclass(frozen=True, slots=True)
class Readership:
    """Whoever will read one reply: the audiences whose runbooks may appear in it, and why.

    `private_to` is the user id where only one person reads it. `checked` is False where membership could not be
    looked up in full: then the reply says so.
    """

    audiences: frozenset[str]
    reasons: tuple[str, ...] = ()
    private_to: str | None = None
    checked: bool = True
    policy: str | None = None
    """Version of the policy that this was decided under: under another one the named audiences no longer count."""

    def because(self, *reasons: str) -> Readership:
        """The same with more reasons."""
        return replace(self, reasons=self.reasons + reasons)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether one readership may read one runbook, with the reasons, rule by rule."""

    allowed: bool
    reasons: tuple[str, ...]


class Membership(Protocol):
    """Who is who and where, asked of Slack (or of a test). Raises MembershipUnavailable.

    `fresh` passes every cache by: for clicks.
    """

    async def person(self, user: str, *, fresh: bool = False) -> Person | None:
        """The person with this id; None where Slack knows none."""

    async def place(self, channel: str, *, fresh: bool = False) -> Place:
        """The facts of a conversation."""

    async def usergroup_members(self, group: str, *, fresh: bool = False) -> frozenset[str]:
        """Ids of the users in a group, by its id or handle; empty for a disabled or unknown one."""

    async def channel_members(self, channel: str, *, fresh: bool = False) -> frozenset[str]:
        """Ids of everybody in a channel, bots included."""
