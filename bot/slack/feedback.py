"""What people say of an answer in Slack: 👍, wrong runbook, and of each check done, ruled out, this one helped.

Whoever presses is checked afresh: they must be in that place now and may open everything that the answer quotes.
What was said then stands on that very card, for those who read it and nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, get_args

from bot import sentences
from bot.access.decisions import needed
from bot.answering.models import Answer, Trigger
from bot.records.answers import Kept
from bot.records.feedback import WHOLE, Feedback, Mark, OfAnswer, OfCheck
from bot.slack.clicks import pointer_of
from bot.slack.desk import Desk
from bot.slack.intake import Pointer
from bot.slack.render import Card, note

Body = Mapping[str, Any]
_THUMBS = ("+1", "thumbsup")


class Sayings:
    """What the buttons and the menu of an answer's card do."""

    def __init__(self, desk: Desk, feedback: Feedback) -> None:
        self._desk, self._feedback = desk, feedback
        self._in_order = asyncio.Lock()

    async def say(self, body: Body) -> None:
        """Keep what was pressed or chosen, and show it; whoever may not is told so, whatever the reason."""
        pointer = pointer_of(body)
        action = body["actions"][0]
        id, number, word = _read(str((action.get("selected_option") or action).get("value") or ""))
        kept = await asyncio.to_thread(self._desk.answers.get, id)
        answer = _answer_of(kept, number, word)
        if kept is None or answer is None or not await self._may(kept, answer, pointer):
            await self._desk.replies.tell(pointer, note(sentences.CANNOT_SAY))
            return
        await self._keep(answer, kept, pointer, Mark(id, pointer.user, word, number))

    async def reacted(self, event: Body) -> None:
        """A 👍 put on a card, or taken off it, is the button's 👍; of whoever may not it is taken no notice."""
        item, user = event.get("item") or {}, str(event.get("user") or "")
        if str(event.get("reaction", "")).partition("::")[0] not in _THUMBS:
            return
        pointer = Pointer(Trigger.REACTION, str(item.get("channel") or ""), str(item.get("ts") or ""), user=user)
        async with self._in_order:  # put on and taken off at once: the last counts
            await self._thumb(pointer, on=event.get("type") != "reaction_removed")

    async def _thumb(self, pointer: Pointer, *, on: bool) -> None:
        kept = await asyncio.to_thread(self._desk.answers.at, pointer.channel, pointer.ts)
        answer = _answer_of(kept, WHOLE, "helpful")
        if kept is None or answer is None or not await self._may(kept, answer, pointer):
            return
        said = await asyncio.to_thread(self._feedback.of, [kept.id])
        before = next((mark.word for mark in said if (mark.person, mark.number) == (pointer.user, WHOLE)), "")
        if on != (before == "helpful"):
            await self._keep(answer, kept, pointer, Mark(kept.id, pointer.user, "helpful" if on else ""))

    async def _keep(self, answer: Answer, kept: Kept, pointer: Pointer, mark: Mark) -> None:
        await asyncio.to_thread(self._feedback.say, mark)
        if kept.private_to:
            await self._show_alone(answer, kept, pointer)
        else:
            await self._desk.standing.redraw(kept.id, self._drawn)

    async def _may(self, kept: Kept, answer: Answer, pointer: Pointer) -> bool:
        access, live = self._desk.path.access, self._desk.path.live().runbooks
        if kept.private_to:
            here = kept.private_to == pointer.user
        else:
            here = kept.channel == pointer.channel and await access.present(pointer.user, kept.channel)
        if not here:
            return False
        pages = [live.get(path) for path in {check.citation.runbook for check in answer.checks}]
        audiences = {name for page in pages if page for name in needed(access.policy, page)}
        readers = await access.of_person(pointer.user, fresh=True, audiences=audiences)
        return all(page is not None and access.decide(readers, page).allowed for page in pages)

    async def _drawn(self, kept: Kept) -> Card:
        marks = await asyncio.to_thread(self._feedback.of, [kept.id])
        return self._desk.replies.thread_card(Answer.model_validate(kept.outcome), marks)

    async def _show_alone(self, answer: Answer, kept: Kept, pointer: Pointer) -> None:
        place = await self._desk.path.access.place(kept.channel)
        marks = await asyncio.to_thread(self._feedback.of, [kept.id])
        card = self._desk.replies.private_card(answer, place, marks)
        if pointer.response_url:
            await self._desk.delivery.respond(pointer.response_url, card, replace=True)
        else:
            await self._desk.delivery.update(pointer.channel, pointer.ts, card)


def _read(value: str) -> tuple[str, int, str]:
    """A button's value: the record's id, a check's number, a word."""
    id, _, rest = value.partition(":")
    number, _, word = rest.partition(":")
    return id, int(number) if number.isdigit() else -1, word


def _answer_of(kept: Kept | None, number: int, word: str) -> Answer | None:
    """The answer that is still shown by this record, if that word can be said of that part of it."""
    if kept is None or kept.replaced or "checks" not in kept.outcome:
        return None
    answer = Answer.model_validate(kept.outcome)
    if number == WHOLE:
        return answer if word in get_args(OfAnswer) else None
    return answer if 0 < number <= len(answer.checks) and word in ("", *get_args(OfCheck)) else None
