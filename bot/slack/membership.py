"""Who is who and where, asked of Slack: the `Membership` that access decisions are made from.

People's flags come from one paged listing, from Slack's events, and from a question about the one person who asks.
Groups and channels are asked about when a decision needs them. Whatever Slack does not say in time raises
MembershipUnavailable; it is never an empty answer.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from bot.access.models import Person, Place, PlaceKind
from bot.errors import MembershipUnavailable
from bot.slack.recent import Recent

log = logging.getLogger(__name__)

RECENT = 60.0
"""Seconds for which a search may use what Slack said (DESIGN.md, "Access")."""
REMEMBERED = 24 * 3600.0
"""Seconds for which a person stays who they were while Slack can't be asked."""
_LISTED_EVERY = 15 * 60.0
"""Seconds between listings of all people: another replica may have got the event."""
_LISTED_AGAIN = 30.0
"""Seconds after a listing that failed."""
_LISTING_PATIENCE = 20.0
"""Seconds for one page of all people, for which nobody waits."""
_PAGE = 1000
"""Slack's largest page. Listing is limited to about 20 calls a minute."""
_STRANGERS = 8
"""Members of a channel that are asked about one by one; where more are not known, everybody is listed."""
_NOBODY = frozenset({"user_not_found", "user_not_visible", "users_not_found"})
_NOWHERE = frozenset({"channel_not_found", "not_in_channel", "method_not_supported_for_channel_type"})


class _SlackSays(Exception):
    """A definite answer: there is no such person or conversation."""


class _Throttled(MembershipUnavailable):
    """Slack wants to be left alone for so many seconds."""

    def __init__(self, method: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{method}: limited for {seconds:.0f} s")


@dataclass(frozen=True, slots=True)
class _Known:
    person: Person
    at: float


@dataclass(frozen=True, slots=True)
class _Group:
    id: str
    handle: str
    members: frozenset[str] | None
    """None where the listing did not say."""


class SlackMembership:
    """Implements `bot.access.models.Membership`. `start` lists the people; without it that happens when needed.

    `patience` is the time in seconds that one call may take.
    """

    def __init__(
        self, client: AsyncWebClient, *, patience: float = 4.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = copy.copy(client)
        # a rate limit is an answer here and now ("can't be told"), and not a reason to let somebody wait
        handlers = [h for h in client.retry_handlers if not isinstance(h, AsyncRateLimitErrorRetryHandler)]
        self._client.retry_handlers = handlers
        self._patience, self._clock = patience, clock
        self._people: dict[str, _Known] = {}
        self._listings = Recent(self._list_people, RECENT, clock)
        self._asked = Recent(self._ask_person, RECENT, clock)
        self._channels = Recent(self._ask_channel, RECENT, clock)
        self._members = Recent(self._ask_members, RECENT, clock)
        self._groups = Recent(self._ask_groups, RECENT, clock)
        self._group_users = Recent(self._ask_group_users, RECENT, clock)
        self._homes: frozenset[str] = frozenset()
        self._limited: dict[str, float] = {}
        """Until when a method is not to be called."""
        self._warned: set[str] = set()
        self._listing: asyncio.Task[None] | None = None

    # --- life -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """List everybody, and go on doing so in the background. A failure is logged: people are then asked about."""
        listed = await self._list_or_log()
        self._listing = asyncio.create_task(self._keep_listing(listed))

    async def stop(self) -> None:
        """End the background listing."""
        if self._listing:
            self._listing.cancel()
            await asyncio.gather(self._listing, return_exceptions=True)
            self._listing = None

    async def _keep_listing(self, listed: bool) -> None:
        while True:
            await asyncio.sleep(_LISTED_EVERY if listed else _LISTED_AGAIN)
            listed = await self._list_or_log()

    async def _list_or_log(self) -> bool:
        try:
            await self._listings.get("", fresh=True)
        except MembershipUnavailable as error:
            log.warning("Slack's people could not be listed; they are asked about one by one: %s", error)
            return False
        return True

    async def _list_people(self, _: str) -> int:
        """Read the flags of everybody; how many there are."""
        started, count = self._clock(), 0
        await self._home()
        async for page in self._pages("users.list", patient=True):
            for user in page.get("members", ()):
                self._remember(self._read_person(user), started)
                count += 1
        return count

    # --- Membership -------------------------------------------------------------------------------------------

    async def person(self, user: str, *, fresh: bool = False) -> Person | None:
        """The person with this id, asked of Slack unless known for at most a minute; None where Slack knows none.

        While Slack can't be asked: the person as known within 24 hours, with `checked` False.
        """
        known = self._people.get(user)
        if known and not fresh and self._age(known) < RECENT:
            return known.person
        try:
            return await self._asked.get(user, fresh=fresh)
        except MembershipUnavailable:
            if known and self._age(known) < REMEMBERED:
                return replace(known.person, checked=False)
            raise

    async def place(self, channel: str, *, fresh: bool = False) -> Place:
        """The facts of a conversation. Its people are checked against the listing, and not asked about each."""
        info = await self._channels.get(channel, fresh=fresh)
        if info is None:
            return Place(channel, PlaceKind.ELSEWHERE)
        kind = _kind(info)
        place = Place(
            id=str(info.get("id") or channel),
            kind=kind,
            name=str(info.get("name") or ""),
            shared=_shared(info),
            guests=False,
            archived=bool(info.get("is_archived")),
            user=info.get("user") if kind is PlaceKind.DM else None,
        )
        if kind in (PlaceKind.DM, PlaceKind.ELSEWHERE):
            return place
        if place.shared:  # whoever is in it, only public runbooks may stand there
            return replace(place, guests=True)
        try:
            members = await self._members.get(channel, fresh=fresh)
            readers = await self._readers(members)
        except MembershipUnavailable:
            return replace(place, guests=True, checked=False)
        return replace(
            place,
            shared=any(person is not None and not person.home for person in readers),
            guests=not members or any(person is None or person.guest for person in readers),
        )

    async def usergroup_members(self, group: str, *, fresh: bool = False) -> frozenset[str]:
        """Ids of the users in a group, by its id or handle; empty, with a warning, for a disabled or unknown one."""
        groups = await self._groups.get("", fresh=fresh)
        wanted = group.removeprefix("@").casefold()
        found = next((g for g in groups if wanted in (g.id.casefold(), g.handle.casefold())), None)
        if found is None:
            self._warn(f"there is no active user group {group} in this workspace: nobody counts as in it")
            return frozenset()
        if found.members is not None:
            return found.members
        return await self._group_users.get(found.id, fresh=fresh)

    async def channel_members(self, channel: str, *, fresh: bool = False) -> frozenset[str]:
        """Ids of everybody in a channel, bots included; empty where the bot can't see it."""
        return await self._members.get(channel, fresh=fresh)

    # --- events -----------------------------------------------------------------------------------------------

    def on_event(self, event: Mapping[str, Any]) -> frozenset[str]:
        """Take in what Slack says has changed; ids of the conversations whose readers may be others now.

        Give it every event, of whatever type: those that say nothing about people or places are left alone.
        """
        kind = str(event.get("type", ""))
        user = event.get("user")
        if kind in ("user_change", "team_join") and isinstance(user, Mapping):
            self._asked.drop(str(user["id"]))
            if self._homes:
                self._people[str(user["id"])] = _Known(self._read_person(user), self._clock())
        elif kind.startswith("subteam_"):
            self._groups.clear()
            self._group_users.clear()
        elif _about_a_conversation(kind, str(event.get("subtype", ""))):
            changed = _conversations(event)
            for channel in changed:
                self._channels.drop(channel)
                self._members.drop(channel)
            return changed
        return frozenset()

    # --- people -----------------------------------------------------------------------------------------------

    def _age(self, known: _Known) -> float:
        return self._clock() - known.at

    def _remember(self, person: Person, asked_at: float) -> Person:
        """Keep what Slack said, unless an event that came after the question says otherwise."""
        known = self._people.get(person.id)
        if known and known.at > asked_at:
            return known.person
        self._people[person.id] = _Known(person, asked_at)
        return person

    async def _readers(self, members: frozenset[str]) -> list[Person | None]:
        """The people among a channel's members; None for each whom Slack does not know.

        Raises MembershipUnavailable where some can't be told: then nobody knows who reads the channel.
        """
        known, unknown = self._sorted_out(members)
        if len(unknown) > _STRANGERS:
            await self._listings.get("")
            known, unknown = self._sorted_out(members)
        if len(unknown) > _STRANGERS:
            raise MembershipUnavailable(f"{len(unknown)} members of a channel are not in the listing of all people")
        asked = await asyncio.gather(*(self.person(user) for user in unknown))
        return [*known, *(person for person in asked if person is None or not (person.bot or person.deleted))]

    def _sorted_out(self, members: frozenset[str]) -> tuple[list[Person], list[str]]:
        """Those who read, as far as they are known, and ids of the unknown."""
        known, unknown, horizon = [], [], self._clock() - REMEMBERED
        for user in members:
            entry = self._people.get(user)
            if entry is None or entry.at <= horizon:
                unknown.append(user)
            elif not (entry.person.bot or entry.person.deleted):
                known.append(entry.person)
        return known, unknown

    async def _ask_person(self, user: str) -> Person | None:
        started = self._clock()
        await self._home()
        try:
            found = await self._call("users.info", user=user)
        except _SlackSays:
            self._people.pop(user, None)
            return None
        return self._remember(self._read_person(found["user"]), started)

    def _read_person(self, user: Mapping[str, Any]) -> Person:
        """By ids alone: names, display names and e-mail domains prove nothing (case 35)."""
        teams = {user.get("team_id"), *(user.get("enterprise_user") or {}).get("teams", ())}
        return Person(
            id=str(user["id"]),
            home=not user.get("is_stranger") and not self._homes.isdisjoint(teams),
            guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
            bot=bool(user.get("is_bot") or user.get("is_workflow_bot")) or user["id"] == "USLACKBOT",
            deleted=bool(user.get("deleted")),
        )

    async def _home(self) -> frozenset[str]:
        """Ids of the workspace that the bot is installed in, asked once."""
        if not self._homes:
            found = await self._call("auth.test")
            self._homes = frozenset({str(found["team_id"])})
        return self._homes

    # --- groups and channels ----------------------------------------------------------------------------------

    async def _ask_groups(self, _: str) -> tuple[_Group, ...]:
        """Every active group of this workspace, in one call with its users: the calls are limited to 20 a minute."""
        found = await self._call("usergroups.list", include_users="true", include_disabled="false")
        return tuple(
            _Group(
                id=str(group["id"]),
                handle=str(group.get("handle", "")),
                members=frozenset(group["users"]) if isinstance(group.get("users"), list) else None,
            )
            for group in found.get("usergroups", ())
            if not group.get("date_delete") and not group.get("is_external")
        )

    async def _ask_group_users(self, group: str) -> frozenset[str]:
        found = await self._call("usergroups.users.list", usergroup=group)
        return frozenset(found["users"])

    async def _ask_channel(self, channel: str) -> Mapping[str, Any] | None:
        try:
            found = await self._call("conversations.info", channel=channel)
        except _SlackSays:
            return None
        info: Mapping[str, Any] = found["channel"]
        return info

    async def _ask_members(self, channel: str) -> frozenset[str]:
        members: set[str] = set()
        try:
            async for page in self._pages("conversations.members", channel=channel):
                members.update(page["members"])
        except _SlackSays:
            return frozenset()
        return frozenset(members)

    # --- calls ------------------------------------------------------------------------------------------------

    async def _pages(self, method: str, *, patient: bool = False, **params: str) -> AsyncIterator[Mapping[str, Any]]:
        """Every page of a list. `patient`: nobody waits for it, so it waits where Slack is slow or limits it."""
        cursor = ""
        while True:
            try:
                asked = {"limit": str(_PAGE), **params, **({"cursor": cursor} if cursor else {})}
                page = await self._call(method, patience=_LISTING_PATIENCE if patient else None, **asked)
            except _Throttled as limited:
                if not patient or limited.seconds > 60:
                    raise
                await asyncio.sleep(limited.seconds)
                continue
            yield page
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    async def _call(self, method: str, *, patience: float | None = None, **params: str) -> Mapping[str, Any]:
        """One call. Raises _SlackSays where Slack knows that there is none, else MembershipUnavailable."""
        wait = self._limited.get(method, 0.0) - self._clock()
        if wait > 0:
            raise _Throttled(method, wait)
        try:
            async with asyncio.timeout(patience or self._patience):
                verb = "POST" if method == "auth.test" else "GET"  # as the SDK's own methods do
                response = await self._client.api_call(method, http_verb=verb, params=params)
        except SlackApiError as error:
            raise self._named(method, error) from None
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            raise MembershipUnavailable(f"{method}: {type(error).__name__}") from None
        data = response.data
        if not isinstance(data, Mapping):
            raise MembershipUnavailable(f"{method}: no JSON in the answer")
        return data

    def _named(self, method: str, error: SlackApiError) -> Exception:
        response = error.response
        status, data = getattr(response, "status_code", 0), getattr(response, "data", None)
        word = str(data.get("error", "")) if isinstance(data, Mapping) else ""
        if word in _NOBODY | _NOWHERE:
            return _SlackSays(word)
        if status == 429 or word == "ratelimited":
            seconds = _seconds(getattr(response, "headers", {}).get("Retry-After"))
            self._limited[method] = self._clock() + seconds
            return _Throttled(method, seconds)
        if word in ("missing_scope", "not_allowed_token_type"):
            self._warn(f"{method} needs a scope that the bot's token lacks: whoever depends on it is let in nowhere")
        return MembershipUnavailable(f"{method}: {word or f'status {status}'}")

    def _warn(self, sentence: str) -> None:
        if sentence not in self._warned:
            self._warned.add(sentence)
            log.warning("%s", sentence)


def _seconds(retry_after: str | None) -> float:
    try:
        return max(1.0, float(retry_after or 1))
    except ValueError:
        return 30.0


def _kind(info: Mapping[str, Any]) -> PlaceKind:
    if info.get("is_im"):
        return PlaceKind.DM
    if info.get("is_mpim"):
        return PlaceKind.GROUP_DM
    if not info.get("is_member"):
        return PlaceKind.ELSEWHERE
    return PlaceKind.PRIVATE if info.get("is_private") or info.get("is_group") else PlaceKind.PUBLIC


def _shared(info: Mapping[str, Any]) -> bool:
    """Another company reads along, or was invited to."""
    flags = ("is_ext_shared", "is_pending_ext_shared", "pending_shared", "pending_connected_team_ids")
    return any(info.get(flag) for flag in flags)


def _about_a_conversation(kind: str, subtype: str) -> bool:
    """Joins, sharing, conversions, renames, ... as events of their own or as a message's subtype."""
    names = ("channel_", "group_", "member_", "shared_channel_")
    return subtype.startswith(names) if kind == "message" else kind.startswith(names)


def _conversations(event: Mapping[str, Any]) -> frozenset[str]:
    values = [event.get(key) for key in ("channel", "channel_id", "old_channel_id", "new_channel_id")]
    return frozenset(str(v["id"] if isinstance(v, Mapping) else v) for v in values if v)
