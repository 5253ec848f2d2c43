"""A Reply of the path, posted where it belongs and written down: the thread's part for all, the rest for the asker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from bot import sentences
from bot.access.models import Place, PlaceKind
from bot.answering.models import Answer, NoAnswer, Outcome, Reply, Trigger
from bot.errors import DeliveryError, RecordsUnavailable
from bot.records.answers import Answers, Kept
from bot.records.asked import key_of, question_of
from bot.records.feedback import Mark
from bot.records.memory import OFTEN_DAYS, Memory
from bot.slack.delivery import Delivery
from bot.slack.intake import Pointer
from bot.slack.render import Card, card, context, targets

log = logging.getLogger(__name__)


class Replies:
    """Posts and records. Raises DeliveryError, RecordsUnavailable."""

    def __init__(self, delivery: Delivery, answers: Answers, memory: Memory, *, direct_links: bool = True) -> None:
        self._delivery, self._answers, self._memory, self._direct_links = delivery, answers, memory, direct_links

    async def post(self, pointer: Pointer, reply: Reply, place: Place) -> None:
        """Both parts. `pointer.root` is the message under which the thread's part stands."""
        if reply.thread is not None and place.kind is not PlaceKind.ELSEWHERE:
            await self._in_place(pointer, reply.thread, place)
        if reply.private is not None:
            await self.privately(pointer, reply.private, place)
        elif reply.thread is None and pointer.user:
            raise DeliveryError("nothing_to_say")

    async def _in_place(self, pointer: Pointer, outcome: Answer | NoAnswer, place: Place) -> None:
        direct = place.kind is PlaceKind.DM
        thread = pointer.thread if direct else pointer.root
        if not direct:
            outcome = await self._with_memory(outcome, pointer.channel, thread)
        made = self.private_card(outcome, place) if direct else self.thread_card(outcome)
        await self._keep(pointer, outcome, thread=thread, private_to=pointer.user if direct else "")
        message = await self._delivery.post(pointer.channel, made, thread=thread)
        await asyncio.to_thread(self._answers.posted, outcome.id, message=message, thread=thread)

    async def _with_memory(self, outcome: Answer | NoAnswer, channel: str, thread: str) -> Answer | NoAnswer:
        """What the place remembers of the same; a check that helped is named only where this answer has it, too."""
        words = outcome.alert or question_of({"asked": outcome.asked, "query": outcome.query})
        key = key_of(words, outcome.incident.service or "")
        try:
            before = await asyncio.to_thread(self._memory.of, key, channel, thread)
        except RecordsUnavailable as error:
            log.warning("an answer is given without what its place remembers: %s", error)
            return outcome
        checks = outcome.checks if isinstance(outcome, Answer) else ()
        helped = [
            number
            for number, check in enumerate(checks, start=1)
            if (check.citation.runbook, check.citation.quote) in before.helped
        ]
        on = datetime.fromtimestamp(before.on, UTC).date()
        return outcome.model_copy(update={"before": sentences.before(before.times + 1, OFTEN_DAYS, helped, on)})

    async def privately(self, pointer: Pointer, outcome: Answer | NoAnswer, place: Place) -> None:
        """What only the asker reads: by the command's own address, in the DM, or as an ephemeral message."""
        await self._keep(pointer, outcome, thread=pointer.thread, private_to=pointer.user)
        await self.tell(pointer, self.private_card(outcome, place))

    def thread_card(self, outcome: Answer | NoAnswer, marks: Sequence[Mark] = ()) -> Card:
        """The card that everybody in a place reads."""
        return card(outcome, direct_links=self._direct_links, marks=marks)

    def private_card(self, outcome: Answer | NoAnswer, place: Place, marks: Sequence[Mark] = ()) -> Card:
        """The card that one person reads, of a question asked in this place."""
        made = card(outcome, direct_links=self._direct_links, searchable=False, marks=marks)
        if place.kind is PlaceKind.ELSEWHERE:
            return Card(made.text, (*made.blocks, context(sentences.INVITE)))
        return made

    async def tell(self, pointer: Pointer, made: Card) -> None:
        """A card for the asker alone, by whatever way reaches them."""
        if pointer.response_url:
            try:
                await self._delivery.respond(pointer.response_url, made)
                return
            except DeliveryError as error:  # used up or expired: after half an hour, or five answers
                log.warning("a response_url did not take an answer: %s", error)
        if pointer.trigger is Trigger.DIRECT_MESSAGE:
            await self._delivery.post(pointer.channel, made, thread=pointer.thread)
        else:
            await self._delivery.whisper(pointer.channel, pointer.user, made, thread=pointer.thread)

    async def _keep(self, pointer: Pointer, outcome: Outcome, *, thread: str, private_to: str) -> None:
        cited = [check.citation.passage for check in outcome.checks] if isinstance(outcome, Answer) else []
        origin = {"text": pointer.text} if pointer.text else {"channel": pointer.channel, "ts": pointer.ts}
        kept = Kept(
            id=outcome.id,
            event=pointer.key,
            trigger=pointer.trigger,
            channel=pointer.channel,
            thread=thread,
            asker=pointer.user,
            private_to=private_to,
            targets=targets(outcome),
            passages=tuple(dict.fromkeys(cited)),
            origin=origin,
            outcome=outcome.model_dump(mode="json"),
        )
        await asyncio.to_thread(self._answers.keep, kept)
        await asyncio.to_thread(self._memory.keep, kept)
