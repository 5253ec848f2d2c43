"""Access decisions: who will read this, and which runbooks may they read?

What a page's readers must be in stands in the policy (`bot.access.policy`); who is in it is asked of the membership.
Every failure closes: what could not be looked up counts as not a member, and the readership says that it was not
checked in full.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from bot.access.models import (
    MEMBERS,
    NOBODY,
    PUBLIC,
    WORKSPACE,
    Decision,
    Membership,
    Person,
    Place,
    PlaceKind,
    Readership,
)
from bot.access.policy import Audience, Policy
from bot.errors import MembershipUnavailable
from bot.library.models import Runbook

log = logging.getLogger(__name__)

_PRIVATE = (PlaceKind.PRIVATE, PlaceKind.GROUP_DM)


@dataclass(frozen=True, slots=True)
class _Belongs:
    """Whether a person is in one named audience; `checked` is False where no look-up that could say yes worked."""

    audience: str
    yes: bool
    reasons: tuple[str, ...]
    checked: bool = True


class Access:
    """Decides under the policy that is in force at that moment. `policy` is usually a PolicyFile."""

    def __init__(self, policy: Callable[[], Policy], membership: Membership) -> None:
        self._policy = policy
        self.membership = membership
        self._reported: set[str] = set()
        """Warnings that were given already."""

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._policy()

    # --- who will read this? ----------------------------------------------------------------------------------

    async def place(self, channel: str, *, fresh: bool = False) -> Place:
        """The facts of a conversation; where Slack can't be asked, a place that only public runbooks may stand in."""
        try:
            return await self.membership.place(channel, fresh=fresh)
        except MembershipUnavailable:
            kind = PlaceKind.DM if channel.startswith("D") else PlaceKind.PUBLIC
            return Place(channel, kind, shared=True, guests=True, checked=False)

    async def of_place(self, place: Place, *, fresh: bool = False) -> Readership:
        """Whoever reads the place now, and whoever joins it later.

        A channel counts for the audiences that list it only while no guest is in it: through a channel a guest is in
        no audience (rule 2: everybody who reads the place may open what stands there).
        """
        policy = self._policy()
        name = f"#{place.name}" if place.name else place.id

        def readership(audiences: Collection[str], *reasons: str) -> Readership:
            return Readership(frozenset(audiences), reasons, checked=place.checked, policy=policy.version)

        if place.kind is PlaceKind.ELSEWHERE:
            return readership((), f"the bot is not a member of {name}: nothing may stand there")
        if place.kind is PlaceKind.DM:
            if place.user is None:
                return readership((), f"whose direct message {name} is, is not known: nothing may stand there")
            return await self.of_person(place.user, fresh=fresh)
        if not place.checked:
            return readership({PUBLIC}, f"Slack could not be asked about {name}: only public runbooks")
        if place.shared:
            return readership({PUBLIC}, f"another company reads {name}: only public runbooks")
        if place.guests:
            return readership({PUBLIC, WORKSPACE}, f"a guest is in {name}: only workspace and public runbooks")
        open_to_all = f"no guest and no other company is in {name}: members, workspace and public runbooks"
        if place.kind not in _PRIVATE:
            return readership({PUBLIC, WORKSPACE, MEMBERS}, open_to_all)
        own = sorted(a.name for a in policy.audiences.values() if place.id in a.channels)
        return readership(
            {PUBLIC, WORKSPACE, MEMBERS, *own},
            open_to_all,
            *(f"{name} is private and the audience {audience} lists it" for audience in own),
        )

    async def of_person(
        self, user: str, *, fresh: bool = False, audiences: Collection[str] | None = None
    ) -> Readership:
        """What this person may read alone. `fresh` passes every cache by: for clicks.

        Only what the policy's named audiences need is looked up, all at once; `audiences` narrows that to those a
        certain page needs. Guests of the home workspace are in a named audience that names them as users or through a
        user group, never through a channel. People of other companies are in none, even when it names them.
        """
        policy = self._policy()

        def readership(audiences: Collection[str], *reasons: str, checked: bool = True) -> Readership:
            return Readership(frozenset(audiences), reasons, private_to=user, checked=checked, policy=policy.version)

        try:
            person = await self.membership.person(user, fresh=fresh)
        except MembershipUnavailable:
            return readership({PUBLIC}, f"Slack could not be asked who {user} is: only public runbooks", checked=False)
        if person is None:
            return readership((), f"Slack knows nobody with the id {user}")
        if person.bot or person.deleted:
            return readership((), f"{user} is {'a bot' if person.bot else 'deactivated'}: no reader")
        if not person.home:
            return readership({PUBLIC}, f"{user} is of another company: only public runbooks", checked=person.checked)
        if not person.checked:
            if not person.full_member:
                return readership({PUBLIC}, f"Slack could not be asked about guest {user}: only public", checked=False)
            stays = f"Slack could not be asked about {user}, a full member within the last 24 hours: open runbooks only"
            return readership({PUBLIC, WORKSPACE, MEMBERS}, stays, checked=False)
        built_in, who = (
            ({PUBLIC, WORKSPACE, MEMBERS}, f"{user} is a full member: members, workspace and public runbooks")
            if person.full_member
            else ({PUBLIC, WORKSPACE}, f"{user} is a guest: workspace and public runbooks")
        )
        wanted = [a for name, a in policy.audiences.items() if audiences is None or name in audiences]
        found = await asyncio.gather(*(self._belongs(person, audience, fresh) for audience in wanted))
        return readership(
            built_in | {belongs.audience for belongs in found if belongs.yes},
            who,
            *(reason for belongs in found for reason in belongs.reasons),
            checked=all(belongs.yes or belongs.checked for belongs in found),
        )

    async def present(self, user: str, channel: str, *, fresh: bool = True) -> bool:
        """Whether this person is in the channel now: a question's words, counts and ticks are for those alone.

        False where Slack can't be asked.
        """
        try:
            return user in await self.membership.channel_members(channel, fresh=fresh)
        except MembershipUnavailable:
            return False

    # --- which runbooks? --------------------------------------------------------------------------------------

    def readable(self, readership: Readership, runbooks: Iterable[Runbook]) -> frozenset[str]:
        """Paths of those runbooks that all of the readership may open."""
        policy = self._policy()
        allowed = self._audiences(readership, policy)
        return frozenset(
            runbook.path
            for runbook in runbooks
            if policy.label(runbook.path).audience in allowed
            and (runbook.audience is None or (runbook.audience and allowed.issuperset(runbook.audience)))
        )

    def decide(self, readership: Readership, runbook: Runbook) -> Decision:
        """Whether all of the readership may open this runbook, rule by rule; the decision is logged."""
        policy = self._policy()
        allowed = self._audiences(readership, policy)
        missing = [name for name in needed(policy, runbook) if name not in allowed]
        own = runbook.audience
        reasons = [*policy.label(runbook.path).reasons]
        if own is not None:
            reasons.append(f"the page's own audience: {', '.join(own) or 'nobody (the list is empty)'}")
            reasons += [f"{name}: no such audience, which closes the page" for name in own if not policy.knows(name)]
        reasons += readership.reasons
        if readership.policy is not None and readership.policy != policy.version:
            reasons.append("the policy has changed since the readers were looked up: named audiences do not count")
        reasons.append(f"not allowed: not in {', '.join(missing)}" if missing else "allowed")
        log.info("access of %s to %s: %s", readership.private_to or "a place", runbook.path, "; ".join(reasons))
        return Decision(not missing, tuple(reasons))

    async def may_open(self, user: str, runbook: Runbook, *, fresh: bool = True) -> Decision:
        """Whether this person may open this runbook: at a click, with only the look-ups that this page needs."""
        readership = await self.of_person(user, fresh=fresh, audiences=needed(self._policy(), runbook))
        return self.decide(readership, runbook)

    async def explain(self, who: str, runbook: Runbook) -> Decision:
        """The decision for a person or a place (`C…`, `G…`, `D…`), asked afresh: for those who own access."""
        if who.startswith(("C", "G", "D")):
            place = await self.place(who, fresh=True)
            return self.decide(await self.of_place(place, fresh=True), runbook)
        return await self.may_open(who, runbook)

    def closed(self, runbook: Runbook) -> bool:
        """True where nobody can ever read this runbook under the present policy: then it is not even embedded."""
        policy = self._policy()
        return any(
            name == NOBODY or not policy.knows(name) or (name in policy.audiences and policy.audiences[name].empty)
            for name in needed(policy, runbook)
        )

    @staticmethod
    def _audiences(readership: Readership, policy: Policy) -> frozenset[str]:
        """The readership's audiences as far as they hold under this policy: never `nobody`, no name of another one."""
        same = readership.policy is None or readership.policy == policy.version
        known = policy.audiences.keys() if same else ()
        return readership.audiences.intersection({PUBLIC, WORKSPACE, MEMBERS}.union(known))

    # --- named audiences --------------------------------------------------------------------------------------

    async def _belongs(self, person: Person, audience: Audience, fresh: bool) -> _Belongs:
        if person.id in audience.users:
            return _Belongs(audience.name, True, (f"{audience.name}: it names {person.id}",))
        ways = await asyncio.gather(
            *(self._by_group(person, audience.name, group, fresh) for group in audience.usergroups),
            *(self._by_channel(person, audience.name, channel, fresh) for channel in audience.channels),
        )
        yes = any(way.yes for way in ways)
        reasons = tuple(reason for way in ways for reason in way.reasons if way.yes or not yes)
        return _Belongs(
            audience.name,
            yes,
            reasons or (f"{audience.name}: it does not name {person.id}",),
            checked=all(way.checked for way in ways),
        )

    async def _by_group(self, person: Person, audience: str, group: str, fresh: bool) -> _Belongs:
        try:
            yes = person.id in await self.membership.usergroup_members(group, fresh=fresh)
        except MembershipUnavailable:
            reason = f"{audience}: Slack could not be asked who is in @{group}; that counts as not in it"
            return _Belongs(audience, False, (reason,), checked=False)
        return _Belongs(
            audience, yes, (f"{audience}: {person.id} is {'' if yes else 'not '}in the user group {group}",)
        )

    async def _by_channel(self, person: Person, audience: str, channel: str, fresh: bool) -> _Belongs:
        if not person.full_member:
            return _Belongs(audience, False, (f"{audience}: through a channel only full members are in it",))
        try:
            place, members = await asyncio.gather(
                self.membership.place(channel, fresh=fresh), self.membership.channel_members(channel, fresh=fresh)
            )
        except MembershipUnavailable:
            reason = f"{audience}: Slack could not be asked who is in {channel}; that counts as not in it"
            return _Belongs(audience, False, (reason,), checked=False)
        if place.kind not in _PRIVATE or place.shared:
            what = "is shared" if place.shared else "is not a private channel that the bot is in"
            self._report(f"the audience {audience} lists {channel}, which {what}: it grants nothing")
            return _Belongs(audience, False, (f"{audience}: {channel} {what}, so it grants nothing",))
        yes = person.id in members
        return _Belongs(audience, yes, (f"{audience}: {person.id} is {'' if yes else 'not '}in the channel {channel}",))

    def _report(self, warning: str) -> None:
        if warning not in self._reported:
            self._reported.add(warning)
            log.warning("%s", warning)


def needed(policy: Policy, runbook: Runbook) -> tuple[str, ...]:
    """Every audience that a reader of this runbook must be in: the policy's and the page's own.

    An own list that is empty closes the page, so it needs `nobody`.
    """
    own = (NOBODY,) if runbook.audience == () else runbook.audience or ()
    return tuple(dict.fromkeys((policy.label(runbook.path).audience, *own)))


def by_audience(policy: Policy, runbooks: Iterable[Runbook]) -> dict[str, list[str]]:
    """Paths of the runbooks under each combination of audiences ("dba", "members and dba"), for `lint`."""
    found: dict[str, list[str]] = {}
    for runbook in sorted(runbooks, key=lambda runbook: runbook.path):
        names = needed(policy, runbook)
        closed = any(name == NOBODY or not policy.knows(name) for name in names)
        found.setdefault(NOBODY if closed else " and ".join(names), []).append(runbook.path)
    return dict(sorted(found.items()))
