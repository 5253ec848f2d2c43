"""The subcommands of `/runbook` that search nothing: help, list, open, gaps, sync, access. Only the asker sees them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from bot import sentences
from bot.access.models import Readership
from bot.answering.models import new_id
from bot.library.models import Runbook
from bot.records.answers import Kept, Target
from bot.records.asked import Questions
from bot.records.gaps import gaps
from bot.slack import rich
from bot.slack.commands import Command, Kind
from bot.slack.desk import Desk
from bot.slack.intake import Pointer
from bot.slack.modals import page_card
from bot.slack.render import MOST_CHARS, OPEN, Card, button, context, help_card, mrkdwn, note
from bot.slack.rich import Json

_MOST_LISTED = 40
"""Blocks of a list: one a service."""
_MOST_GAPS, _GAP_DAYS = 20, 90


class Lookups:
    """Answers the subcommands."""

    def __init__(self, desk: Desk, questions: Questions, sync: Callable[[], object] | None) -> None:
        self._desk, self._questions, self._sync = desk, questions, sync

    async def answer(self, asked: Pointer, command: Command) -> None:
        """The answer, or the reason why there is none, to whoever typed the command."""
        try:
            card = await self._card(asked, command)
            await self._desk.replies.tell(asked, card)
        except Exception as error:
            await self._desk.failed(asked, error)

    async def _card(self, asked: Pointer, command: Command) -> Card:
        match command.kind:
            case Kind.LIST:
                return await self._list(asked.user)
            case Kind.OPEN:
                return await self._open(asked, command.rest)
            case Kind.GAPS:
                return await self._gaps(asked.user)
            case Kind.SYNC | Kind.ACCESS if asked.user not in self._desk.settings.admins:
                return note(sentences.ADMINS_ONLY)
            case Kind.SYNC:
                return note(str(await asyncio.to_thread(self._sync)) if self._sync else sentences.SYNC_IS_ELSEWHERE)
            case Kind.ACCESS:
                return await self._access(command)
            case _:
                return help_card()

    async def _list(self, user: str) -> Card:
        """The pages that this person may open, a section a service."""
        readers = await self._desk.path.access.of_person(user, fresh=True)
        pages = sorted(self._desk.path.readable(readers).values(), key=lambda page: (page.title.casefold(), page.path))
        if not pages:
            return note(sentences.NO_RUNBOOKS)
        groups: dict[str, list[Runbook]] = {}
        for page in pages:
            groups.setdefault(page.services[0] if page.services else sentences.GENERAL, []).append(page)
        blocks: list[Json] = []
        room, left = MOST_CHARS - 200, len(pages)
        for name in sorted(groups):
            entries = [
                rich.section(
                    [rich.words(rich.cut(page.title, 150)), rich.words("  "), rich.words(page.path, code=True)]
                )
                for page in groups[name]
            ]
            block = rich.rich_text(rich.section([rich.words(name, bold=True)]), rich.bullets(entries))
            size = rich.text_length(block)
            if size > room or len(blocks) >= _MOST_LISTED:
                break
            blocks.append(block)
            room, left = room - size, left - len(entries)
        if left:
            blocks.append(context(sentences.more_pages(left)))
        return Card(sentences.listed(len(pages)), tuple(blocks))

    async def _open(self, asked: Pointer, name: str) -> Card:
        """The beginning of a page. One that is not there and one that is not theirs are the same answer."""
        path = self._desk.path
        readers = await path.access.of_person(asked.user, fresh=True)
        page = path.find_runbook(name, readers)
        if page is None or not path.access.decide(readers, page).allowed:
            return note(sentences.NO_ANSWER["not_allowed"])
        kept = Kept(
            id=new_id(),
            trigger=asked.trigger,
            channel=asked.channel,
            asker=asked.user,
            private_to=asked.user,
            targets=(Target(page.path, page.body_line, page.body_line),),
        )
        await asyncio.to_thread(self._desk.answers.keep, kept)
        direct = self._desk.settings.links == "direct"
        url = path.url(page.path, page.body_line, page.body_line) if direct else None
        return page_card(page, opens=button(sentences.SHOW_ALL, f"{OPEN}_0", f"{kept.id}:0"), url=url)

    async def _gaps(self, user: str) -> Card:
        """What found nothing, of the asker's own questions and those of the places that they are in now."""
        questions = await asyncio.to_thread(self._questions.since, time.time() - _GAP_DAYS * 86_400.0)
        in_vain = {each.key for each in questions if each.reason}
        channels = list({each.channel for each in questions if each.key in in_vain and not each.private_to})
        access = self._desk.path.access
        here = await asyncio.gather(*(access.present(user, channel, fresh=False) for channel in channels))
        present = {channel for channel, yes in zip(channels, here, strict=True) if yes}
        catalogue = self._desk.path.live().catalogue

        def owner(name: str) -> str:
            service = catalogue.find(name)
            return service.owner if service else ""

        found = gaps([each for each in questions if each.visible(user, present)], owner)
        if not found:
            return note(sentences.no_gaps(_GAP_DAYS))
        lines = [
            sentences.gap(
                rich.cut(" ".join(gap.name.split()), 200),
                gap.count,
                gap.service,
                gap.owner,
                datetime.fromtimestamp(gap.last, UTC).date(),
            )
            for gap in found[:_MOST_GAPS]
        ]
        more = [context(sentences.more_pages(len(found) - len(lines)))] if len(found) > len(lines) else []
        return note(sentences.gaps(len(found), _GAP_DAYS), *(mrkdwn(line) for line in lines), *more)

    async def _access(self, command: Command) -> Card:
        """The decision and its reasons, for admins (who know of every page)."""
        path = self._desk.path
        page = path.live().runbooks.get(command.rest) or _by_stem(path.live().runbooks.values(), command.rest)
        if page is None:
            return note(sentences.NO_ANSWER["not_allowed"])
        readers: Readership
        if command.user[0] in "UW":
            readers = await path.access.of_person(command.user, fresh=True)
        else:
            readers = await path.access.of_place(await path.access.place(command.user, fresh=True), fresh=True)
        decision = path.access.decide(readers, page)
        return note(f"{page.path}: " + "\n".join(f"• {reason}" for reason in decision.reasons))


def _by_stem(pages: Iterable[Runbook], name: str) -> Runbook | None:
    found = [page for page in pages if page.path.rsplit("/", 1)[-1].removesuffix(".md") == name.removesuffix(".md")]
    return found[0] if len(found) == 1 else None
