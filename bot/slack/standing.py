"""The replies that already stand, decided again when their readers or the rules change.

A guest joins, a channel is shared or gets another id, the policy or a page's audience narrows: each recorded reply
there is decided again, and one that may not stand is replaced by a card with only "Open", which asks whoever presses
it (DESIGN.md, "Access"). What was taken back does not come back by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from bot.access.decisions import Access
from bot.access.models import PlaceKind, Readership
from bot.errors import DeliveryError
from bot.library.models import Live
from bot.records.answers import Answers, Kept
from bot.slack.delivery import Delivery
from bot.slack.render import Card, taken_back

log = logging.getLogger(__name__)


class Standing:
    """Keeps what stands within what may stand."""

    def __init__(self, answers: Answers, access: Access, live: Live, delivery: Delivery) -> None:
        self._answers, self._access, self._live, self._delivery = answers, access, live, delivery
        self.again: set[str] = set()
        """Channels about which Slack could not be asked: still to be decided again."""
        self._changes: dict[str, int] = {}
        self._lock = asyncio.Lock()

    def version(self, channel: str) -> object:
        """What the readers of a channel depend on: differs after each change that was heard of."""
        return self._changes.get(channel, 0), self.rules

    @property
    def rules(self) -> object:
        """The policy and the pages in force."""
        return self._access.policy.version, self._live().generation

    def changed(self, channels: Iterable[str]) -> None:
        """Note that these channels may have other readers now."""
        for channel in channels:
            self._changes[channel] = self._changes.get(channel, 0) + 1

    async def moved(self, event: Mapping[str, Any]) -> None:
        """A channel has another id (`channel_id_changed`): its replies go with it."""
        await asyncio.to_thread(self._answers.moved, str(event["old_channel_id"]), str(event["new_channel_id"]))

    async def check(self, channels: Iterable[str] | None = None) -> int:
        """Decide again what stands in these channels, or everywhere; how many replies were taken back.

        Where Slack can't be asked nothing is taken back for that: `again` has those channels.
        """
        async with self._lock:
            standing = await asyncio.to_thread(self._answers.standing, channels)
            count = 0
            for channel in dict.fromkeys(kept.channel for kept in standing):
                if (readers := await self._readers(channel)) is None:
                    continue
                allowed = self._access.readable(readers, self._live().runbooks.values())
                for kept in standing:
                    if kept.channel == channel and not self._may_stand(kept, readers, allowed):
                        count += await self._take_back(kept)
        return count

    async def _readers(self, channel: str) -> Readership | None:
        """Who reads a channel now; None where that can't be told, or the bot can't change anything there."""
        place = await self._access.place(channel, fresh=True)
        self.again.discard(channel)
        if place.kind is PlaceKind.ELSEWHERE or place.archived:
            return None  # its return, or the channel's, is an event: then it is decided again
        readers = await self._access.of_place(place, fresh=True)
        if not place.checked:
            self.again.add(channel)
            return None
        return readers

    async def redraw(self, id: str, draw: Callable[[Kept], Awaitable[Card]]) -> None:
        """Show a reply anew where it stands, if it may still stand there; one that may not is taken back."""
        async with self._lock:
            kept = await asyncio.to_thread(self._answers.get, id)
            if kept is None or kept.replaced or not kept.message:
                return
            if (readers := await self._readers(kept.channel)) is None:
                return
            if self._may_stand(kept, readers, self._access.readable(readers, self._live().runbooks.values())):
                await self._delivery.update(kept.channel, kept.message, await draw(kept))
            else:
                await self._take_back(kept)

    def _may_stand(self, kept: Kept, readers: Readership, allowed: frozenset[str]) -> bool:
        """Whether everything in it is a live page that these readers may open.

        A page that is not live any more may have closed itself (its own audience, a broken front matter) or be gone:
        either way nobody can open it, and when in doubt less is shown.
        """
        cited = {*(target.runbook for target in kept.targets), *_cited(kept)}
        for path in cited - allowed:
            if page := self._live().runbooks.get(path):
                self._access.decide(readers, page)  # logs why
            return False
        return True

    async def _take_back(self, kept: Kept) -> bool:
        try:
            await self._delivery.update(kept.channel, kept.message, taken_back(kept.id, len(kept.targets)))
        except DeliveryError as error:
            if error.error not in _NOTHING_THERE:
                log.error("a reply that may not stand any more could not be replaced: %s (%s)", kept.id, error)
                return False
        await asyncio.to_thread(self._answers.replaced, kept.id)
        log.info("a reply was taken back: %s in %s", kept.id, kept.channel)
        return True


_NOTHING_THERE = frozenset({"message_not_found", "thread_not_found"})


def _cited(kept: Kept) -> set[str]:
    outcome = kept.outcome
    return {check["citation"]["runbook"] for check in outcome.get("checks", ())} if "checks" in outcome else set()
