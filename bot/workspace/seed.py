"""The people and places that a new local workspace has, and who is who and where among them.

Each is there for a different right: a full member, one in a user group, one in a private channel, a guest, and
somebody of another company.
"""

from __future__ import annotations

from bot.access.models import Person, Place, PlaceKind
from bot.errors import WorkspaceRefusal
from bot.workspace.world import BOT_ID, BOT_USER, HOME, PARTNER, Channel, Group, User, World

_KINDS = {"channel": PlaceKind.PUBLIC, "group": PlaceKind.PRIVATE, "mpim": PlaceKind.GROUP_DM, "im": PlaceKind.DM}

ROLES = {
    "U0BEN": "full member",
    "U0ANA": "full member, in @dba-oncall",
    "U0PIA": "full member, in #payments",
    "U0GIL": "guest",
    "U0OLGA": "of another company, Acme",
}
"""What the page says beside each person."""


def seed_world() -> World:
    """A workspace on its first day."""
    return World(
        users=[
            User("U0BEN", "ben", "Ben Okafor"),
            User("U0ANA", "ana", "Ana Duarte"),
            User("U0PIA", "pia", "Pia Lindqvist"),
            User("U0GIL", "gil", "Gil Moreau", guest=True),
            User("U0OLGA", "olga", "Olga Petrova", team=PARTNER, stranger=True),
            User(BOT_USER, "runbook", "Runbook", bot_id=BOT_ID),
            User("U0ALERTS", "alerts", "Alerts", bot_id="B0ALERTS"),
        ],
        groups=[Group("S0DBAONCALL", "dba-oncall", {"U0ANA"})],
        channels=[
            Channel("C0INCIDENTS", "incidents", members={"U0BEN", "U0ANA", "U0PIA", BOT_USER}, topic="What is on fire"),
            Channel("C0STOREFRONT", "storefront", members={"U0BEN", "U0ANA", "U0GIL", BOT_USER}, topic="With a guest"),
            Channel("C0PAYMENTS", "payments", "group", {"U0PIA", "U0ANA", BOT_USER}, topic="The payments team"),
            Channel(
                "C0PARTNER",
                "partner-acme",
                members={"U0BEN", "U0OLGA", BOT_USER},
                ext_shared=True,
                topic="Shared with Acme",
            ),
            Channel("C0RANDOM", "random", members={"U0BEN", "U0ANA", "U0PIA"}, topic="The bot was not invited"),
            Channel("D0BEN", "ben", "im", {"U0BEN", BOT_USER}),
            Channel("D0ANA", "ana", "im", {"U0ANA", BOT_USER}),
            Channel("D0PIA", "pia", "im", {"U0PIA", BOT_USER}),
        ],
    )


class WorldMembership:
    """Implements `bot.access.models.Membership` from a world itself, without a server.

    People, groups and channels may be named by id, handle or channel name.
    """

    def __init__(self, world: World) -> None:
        self.world = world

    async def person(self, user: str, *, fresh: bool = False) -> Person | None:
        """The person with this id or handle; None where there is none."""
        try:
            found = self.world.user(user)
        except WorkspaceRefusal:
            return None
        return Person(
            found.id,
            home=found.team == HOME,
            guest=found.guest or found.single_channel,
            bot=bool(found.bot_id),
            deleted=found.deleted,
        )

    async def place(self, channel: str, *, fresh: bool = False) -> Place:
        """The facts of a channel; one that is not known is a place where the bot is not."""
        try:
            found = self.world.channel(channel)
        except WorkspaceRefusal:
            return Place(channel, PlaceKind.ELSEWHERE)
        people = [self.world.users[member] for member in found.members if member in self.world.users]
        return Place(
            found.id,
            _KINDS[found.kind] if BOT_USER in found.members else PlaceKind.ELSEWHERE,
            name=found.name,
            shared=found.ext_shared or found.pending_shared,
            guests=any(user.guest or user.single_channel for user in people),
            archived=found.archived,
        )

    async def usergroup_members(self, group: str, *, fresh: bool = False) -> frozenset[str]:
        """Ids of the users in a group; empty for a disabled or unknown one."""
        try:
            found = self.world.group(group)
        except WorkspaceRefusal:
            return frozenset()
        return frozenset() if found.disabled else frozenset(found.members)

    async def channel_members(self, channel: str, *, fresh: bool = False) -> frozenset[str]:
        """Ids of everybody in a channel, bots included; empty for an unknown one."""
        try:
            return frozenset(self.world.channel(channel).members)
        except WorkspaceRefusal:
            return frozenset()


def seed_membership() -> WorldMembership:
    """Who is who and where in the seed: for `ask --as/--in` and `access`, which need no server."""
    return WorldMembership(seed_world())
