"""Buttons: each checks whoever pressed it, afresh, and knows nothing but a record's id and an index."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bot import sentences
from bot.answering.models import Question, Trigger, new_id
from bot.errors import DeliveryError
from bot.records.answers import Kept, Target
from bot.slack.delivery import named
from bot.slack.desk import Desk
from bot.slack.intake import Pointer
from bot.slack.modals import SECTION, checking, page_view, refused
from bot.slack.render import note

log = logging.getLogger(__name__)

Body = Mapping[str, Any]


class Clicks:
    """What each button does, given the body of its `block_actions`."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def guarded(self, work: Callable[[Body], Awaitable[None]], body: Body) -> None:
        """Do it; a failure is told to whoever pressed."""
        try:
            await work(body)
        except Exception as error:
            pointer = pointer_of(body)
            if pointer.channel or pointer.response_url:
                await self._desk.failed(pointer, error)
            else:
                log.error("a click failed, reference %s", new_id(), exc_info=error)

    async def open(self, body: Body) -> None:
        """Open: a modal at once, the page when the presser's rights are known."""
        opened = await named(self._desk.client.views_open(trigger_id=body["trigger_id"], view=checking()))
        await self._show(body, str(opened["view"]["id"]), SECTION)

    async def more(self, body: Body) -> None:
        """Another part of the page, in the modal that is open; checked again."""
        await self._show(body, str(body["view"]["id"]), _value(body).rpartition(":")[2])

    async def search_as_me(self, body: Body) -> None:
        """The card's question once more, for whoever pressed, answered to them alone."""
        desk, pointer = self._desk, pointer_of(body)
        kept = await self._record(_value(body))
        if kept is None or kept.channel != pointer.channel:
            await desk.replies.tell(pointer, note(sentences.RECORD_GONE))
            return
        if not pointer.channel.startswith("D") and not await desk.path.access.present(pointer.user, pointer.channel):
            # a question's words are for those who are in its place now
            await desk.replies.tell(pointer, note(sentences.RECORD_GONE))
            return
        words, alert = await desk.origin(kept.origin)
        if not words.strip():
            await desk.replies.tell(pointer, note(sentences.MESSAGE_GONE))
            return
        # asked afresh here, so that the path's own look-up of a moment later is the same one
        await desk.path.access.of_person(pointer.user, fresh=True)
        place = await desk.path.access.place(pointer.channel)
        question = Question(
            text=words, trigger=Trigger(kept.trigger), place=place, asker=pointer.user, alert=alert, private=True
        )
        reply = await desk.path.reply(question)
        outcome = reply.private or reply.thread
        if outcome is None:
            raise DeliveryError("nothing_to_say")
        await desk.replies.privately(pointer, outcome, place)

    async def _record(self, id: str) -> Kept | None:
        return await asyncio.to_thread(self._desk.answers.get, id)

    async def _show(self, body: Body, view: str, part: str) -> None:
        id, _, rest = _value(body).partition(":")
        index = int(rest.partition(":")[0] or 0)
        try:
            shown = await self._view(await self._record(id), index, str(body["user"]["id"]), part)
        except Exception as error:
            reference = new_id()
            log.error("a page could not be opened, reference %s", reference, exc_info=error)
            shown = refused(sentences.failed(error, reference))
        await named(self._desk.client.views_update(view_id=view, view=shown))

    async def _view(self, kept: Kept | None, index: int, user: str, part: str) -> dict[str, Any]:
        path = self._desk.path
        target = kept.targets[index] if kept and index < len(kept.targets) else None
        runbook = path.live().runbooks.get(target.runbook) if target else None
        if kept is None or target is None or runbook is None:
            await path.access.of_person(user, fresh=True, audiences=())  # as long as for a page that is there
            return refused(sentences.NO_ANSWER["not_allowed"])
        if not (await path.access.may_open(user, runbook)).allowed:
            return refused(sentences.NO_ANSWER["not_allowed"])
        return page_view(runbook, target, part, record=kept.id, index=index, url=self.url(target))

    def url(self, target: Target) -> str | None:
        """The link to a page, where the settings give direct links."""
        direct = self._desk.settings.links == "direct"
        return self._desk.path.url(target.runbook, target.start, target.end) if direct else None


def _value(body: Body) -> str:
    return str(body["actions"][0].get("value") or "")


def pointer_of(body: Body) -> Pointer:
    """Where the button stands and who pressed it, as the pointer of a question."""
    container, message = body.get("container") or {}, body.get("message") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id") or ""
    ts = str(message.get("ts") or container.get("message_ts") or "")
    thread = str(message.get("thread_ts") or container.get("thread_ts") or "")
    ephemeral = bool(container.get("is_ephemeral"))
    direct = channel.startswith("D")
    return Pointer(
        trigger=Trigger.DIRECT_MESSAGE if direct else Trigger.REACTION,
        channel=channel,
        ts=ts,
        thread="" if thread == ts else thread,
        user=str(body["user"]["id"]),
        event=new_id(),
        response_url=str(body.get("response_url") or "") if ephemeral else "",
    )
