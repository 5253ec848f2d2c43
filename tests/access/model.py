"""Who may read what, by a plain definition written from DESIGN.md ("Access"), and random worlds to test it in.

The definition looks straight at the workspace's own state: no cache, no failure, nothing of the program's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hypothesis import note
from hypothesis import strategies as st

from bot.workspace import Workspace
from bot.workspace.world import BOT_USER, HOME, PARTNER, Channel, Group, User, World

BUILT_IN = ("public", "workspace", "members", "nobody")
NAMES = ("red", "blue", "green")
FOLDERS = ("a", "b", "a/b")
USERS = tuple(f"U0P{number}" for number in range(5))
GROUPS = ("S0G0", "S0G1")
CHANNELS = ("C0C0", "C0C1", "C0C2")

# --- the plain definition -----------------------------------------------------------------------------------------


@dataclass
class Policy:
    """A policy as plain data."""

    audiences: dict[str, dict[str, list[str]]]
    default: str
    rules: list[tuple[str, str]]
    """(pattern, audience); patterns are `**`, `x/**`, `x/*` or one whole path."""

    def as_yaml(self) -> str:
        rules = [{"paths": glob, "audience": audience} for glob, audience in self.rules]
        return yaml.safe_dump({"audiences": self.audiences, "default": self.default, "rules": rules})

    def label(self, path: str) -> str:
        label = self.default
        for glob, audience in self.rules:
            folder, _, _ = path.rpartition("/")
            if glob.endswith("/**"):
                matches = path.startswith(glob.removesuffix("**"))
            elif glob.endswith("/*"):
                matches = folder == glob.removesuffix("/*")
            else:
                matches = glob in ("**", path)
            if matches:
                label = audience
        return label


@dataclass
class Plainly:
    """Who may read what, by definition."""

    world: World
    policy: Policy
    pages: dict[str, tuple[str, ...] | None]
    """Each page's own audience."""

    def person_reads(self, user: str) -> set[str]:
        return {path for path in self.pages if all(self._is_in(user, name) for name in self.needed(path))}

    def place_reads(self, channel: str) -> set[str]:
        return {path for path in self.pages if all(self._stands(channel, name) for name in self.needed(path))}

    def labelled(self, channel: str, path: str) -> bool:
        """Whether the policy alone lets a page stand in a place: what holds for the quotes of one that is gone."""
        return self._stands(channel, self.policy.label(path))

    def needed(self, path: str) -> list[str]:
        own = self.pages[path]
        return [self.policy.label(path), *(["nobody"] if own == () else own or ())]

    def _is_in(self, user: str, name: str) -> bool:
        who = self.world.users.get(user)
        if who is None or who.bot_id or who.deleted:
            return False
        home = who.team == HOME and not who.stranger
        full = home and not who.guest and not who.single_channel
        if name in BUILT_IN:
            return {"public": True, "workspace": home, "members": full, "nobody": False}[name]
        audience = self.policy.audiences.get(name)
        if audience is None or not home:
            return False
        groups = [self.world.groups[group] for group in audience.get("usergroups", [])]
        channels = [channel for channel in audience.get("channels", []) if self._private(channel)]
        return (
            user in audience.get("users", [])
            or any(user in group.members and not group.disabled for group in groups)
            or (full and any(user in self.world.channels[channel].members for channel in channels))
        )

    def _stands(self, channel: str, name: str) -> bool:
        place = self.world.channels[channel]
        if BOT_USER not in place.members or name == "nobody":
            return False
        if name == "public":
            return True
        if self.shared(place):
            return False
        if name == "workspace":
            return True
        if any(reader.guest or reader.single_channel for reader in self.readers(place)):
            return False
        if name == "members":
            return True
        return self._private(channel) and channel in self.policy.audiences.get(name, {}).get("channels", [])

    def _private(self, channel: str) -> bool:
        place = self.world.channels[channel]
        return place.kind in ("group", "mpim") and BOT_USER in place.members and not self.shared(place)

    def shared(self, place: Channel) -> bool:
        return place.ext_shared or place.pending_shared or any(reader.team != HOME for reader in self.readers(place))

    def readers(self, place: Channel) -> list[User]:
        found = [self.world.users[member] for member in place.members]
        return [user for user in found if not user.bot_id and not user.deleted]


# --- random worlds ----------------------------------------------------------------------------------------------------


def some(values: Iterable[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(sorted(values)), unique=True, max_size=3)


users = st.builds(
    lambda id, kind: User(
        id,
        id.lower(),
        guest=kind == "guest",
        single_channel=kind == "single",
        deleted=kind == "deleted",
        bot_id="B0X" if kind == "bot" else "",
        team=PARTNER if kind in ("outsider", "quiet outsider") else HOME,
        stranger=kind == "outsider",
    ),
    id=st.just(""),
    kind=st.sampled_from(
        ["full", "full", "full", "guest", "guest", "single", "deleted", "bot", "outsider", "quiet outsider"]
    ),
)
labels = st.sampled_from([*BUILT_IN, *NAMES, "members", "members", "workspace", "public"])
policies = st.builds(
    lambda audiences, default, rules: Policy(
        audiences,
        default if default in (*BUILT_IN, *audiences) else "members",
        [(glob, audience) for glob, audience in rules if audience in (*BUILT_IN, *audiences)],
    ),
    audiences=st.dictionaries(
        st.sampled_from(NAMES),
        st.fixed_dictionaries(
            {}, optional={"usergroups": some(GROUPS), "users": some(USERS), "channels": some(CHANNELS)}
        ),
        max_size=3,
    ),
    default=labels,
    rules=st.lists(
        st.tuples(
            st.sampled_from(["**", *(f"{f}/**" for f in FOLDERS), *(f"{f}/*" for f in FOLDERS), "a/1.md"]), labels
        ),
        max_size=5,
    ),
)
audiences_of_pages = st.one_of(st.none(), st.none(), st.none(), st.lists(labels, max_size=2).map(tuple))
pages = st.dictionaries(
    st.builds(lambda folder, number: f"{folder}/{number}.md", st.sampled_from(FOLDERS), st.integers(1, 2)),
    audiences_of_pages,
    min_size=1,
    max_size=6,
)
rarely = st.sampled_from([False, False, False, True])


def random_world(draw: Any) -> World:
    """People of every kind, groups, channels of every kind and state, and everybody's DM with the bot."""
    people = {id: draw(users) for id in USERS}
    for id, user in people.items():
        user.id, user.name = id, id.lower()
    members = st.sets(st.sampled_from(USERS)).flatmap(
        lambda some: st.sampled_from([some, some | {BOT_USER}, some | {BOT_USER}])
    )
    kinds = st.sampled_from(["channel", "group", "group", "mpim"])
    return World(
        [User(BOT_USER, "runbook", bot_id="B0RUNBOT"), *people.values()],
        [Group(id, id.lower(), draw(st.sets(st.sampled_from(USERS))), draw(st.booleans())) for id in GROUPS],
        [
            *(Channel(id, id.lower(), draw(kinds), draw(members), draw(rarely), draw(rarely)) for id in CHANNELS),
            *(Channel(f"D0{id}", id.lower(), "im", {id, BOT_USER}) for id in USERS),
        ],
    )


def write_policy(path: Path, policy: Policy) -> None:
    """Write the policy, an hour ago and after the last one: a file of just now is read again at every decision."""
    hour_ago = time.time() - 3600
    last = path.stat().st_mtime if path.exists() else 0.0
    path.write_text(policy.as_yaml())
    os.utime(path, (hour_ago, max(hour_ago, last + 1)))


def random_move(draw: Any, workspace: Workspace, plainly: Plainly, policy: Path) -> str:
    """Something happens to people, places, the policy or the pages; what."""
    busy = [id for id in CHANNELS if plainly.world.channels[id].messages]
    channel, user = draw(st.sampled_from(busy or CHANNELS)), draw(st.sampled_from(USERS))
    place = plainly.world.channels[channel]
    what = draw(st.sampled_from(["person", "bot", "share", "convert", "account", "group", "policy", "pages"]))
    note(f"{what}: {channel} {user}")
    match what:
        case "person" | "bot":
            who = BOT_USER if what == "bot" else user
            (workspace.leave if who in place.members else workspace.join)(who, channel)
        case "share":
            (workspace.unshare if plainly.shared(place) else workspace.share)(channel)
        case "convert":
            workspace.convert(channel, private=place.kind == "channel")
        case "account":
            home = plainly.world.users[user].team == HOME  # Slack does not say whether others' accounts are deleted
            workspace.set_user(user, guest=draw(st.booleans()), deleted=draw(st.booleans()) and home)
        case "group":
            workspace.set_group(draw(st.sampled_from(GROUPS)), draw(some(USERS)), disabled=draw(rarely))
        case "policy":
            plainly.policy = draw(policies)
            write_policy(policy, plainly.policy)
        case "pages":
            plainly.pages.clear()
            plainly.pages.update(draw(pages))
    return str(what)
