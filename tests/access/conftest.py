"""A policy, pages and a world of people and places whose look-ups can be made to fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.access.decisions import Access
from bot.access.models import Person, Place
from bot.access.policy import PolicyFile
from bot.errors import MembershipUnavailable
from bot.library.models import Runbook
from bot.workspace.seed import WorldMembership, seed_world

POLICY = """\
audiences:
  dba:      {usergroups: [dba-oncall]}
  payments: {channels: [C0PAYMENTS]}
  named:    {users: [U0BEN, U0GIL, U0OLGA, U0ALERTS]}
default: members
rules:
  - {paths: "payments/**", audience: payments}
  - {paths: "dba/**", audience: dba}
  - {paths: "named/**", audience: named}
  - {paths: "status/**", audience: public}
  - {paths: "guests/**", audience: workspace}
  - {paths: "closed/**", audience: nobody}
"""


class Asked(WorldMembership):
    """The seed's membership; it notes what was asked, and `down` names what Slack can't say."""

    def __init__(self) -> None:
        super().__init__(seed_world())
        self.asked: list[tuple[str, str, bool]] = []
        self.down: set[str] = set()
        self.remembers = False
        """Whether a person who can't be asked about was known before."""

    def _note(self, what: str, key: str, fresh: bool) -> None:
        self.asked.append((what, key, fresh))
        if what in self.down:
            raise MembershipUnavailable(what)

    async def person(self, user: str, *, fresh: bool = False) -> Person | None:
        try:
            self._note("person", user, fresh)
        except MembershipUnavailable:
            known = await super().person(user)
            if known and self.remembers:
                return Person(known.id, known.home, known.guest, known.bot, known.deleted, checked=False)
            raise
        return await super().person(user, fresh=fresh)

    async def place(self, channel: str, *, fresh: bool = False) -> Place:
        self._note("place", channel, fresh)
        return await super().place(channel, fresh=fresh)

    async def usergroup_members(self, group: str, *, fresh: bool = False) -> frozenset[str]:
        self._note("usergroup", group, fresh)
        return await super().usergroup_members(group, fresh=fresh)

    async def channel_members(self, channel: str, *, fresh: bool = False) -> frozenset[str]:
        self._note("channel", channel, fresh)
        return await super().channel_members(channel, fresh=fresh)


@pytest.fixture
def world() -> Asked:
    return Asked()


@pytest.fixture
def policy_text() -> str:
    return POLICY


@pytest.fixture
def policy_path(tmp_path: Path, policy_text: str) -> Path:
    path = tmp_path / "access.yaml"
    path.write_text(policy_text)
    return path


@pytest.fixture
def access(policy_path: Path, world: Asked) -> Access:
    return Access(PolicyFile(policy_path), world)


@pytest.fixture
def page() -> Callable[..., Runbook]:
    def make(path: str, audience: tuple[str, ...] | None = None) -> Runbook:
        return Runbook(path=path, title=path, text="", version="", audience=audience)

    return make


@pytest.fixture
def pages(page: Callable[..., Runbook]) -> list[Runbook]:
    """One page of each audience."""
    return [page(f"{folder}/a.md") for folder in ("payments", "dba", "named", "status", "guests", "closed", "open")]
