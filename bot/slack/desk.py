"""Where triggers are worked on: claimed once, acknowledged, then taken along the one path and answered.

`accept` writes a pointer down and returns; the work goes on in a task of its own. What a crash leaves behind is taken
up again. At this boundary a known failure becomes its sentence and an unknown one a reference id, so that a person
who asked always gets an answer or the reason why not (DESIGN.md, rule 4).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from slack_sdk.web.async_client import AsyncWebClient

from bot import sentences
from bot.access.decisions import Access
from bot.access.models import Place, PlaceKind, Readership
from bot.answering.models import Alert, Question, Reply, Trigger, new_id
from bot.errors import DeliveryError, RecordsUnavailable, RunbookBotError
from bot.library.models import Live, Runbook
from bot.records.answers import Answers
from bot.records.events import KEPT, LEASE, MOST_ATTEMPTS, Claimed, Events
from bot.records.memory import Memory
from bot.redaction import Redactor
from bot.redaction.receipts import receipt
from bot.settings import Settings
from bot.slack import rich
from bot.slack.alerts import flatten, read_alert
from bot.slack.delivery import GONE, Delivery, named
from bot.slack.history import History
from bot.slack.intake import Pointer, without_mention
from bot.slack.markup import escape
from bot.slack.render import Card, help_card, note
from bot.slack.replies import Replies
from bot.slack.standing import Standing

log = logging.getLogger(__name__)

Message = Mapping[str, Any]

_AT_ONCE = 8
"""Questions that are worked on at the same time."""
_LOOK_AGAIN = 15.0
"""Seconds between looks at what was left unfinished, and at whether the rules have changed."""
_IN_FLIGHT = 2.0
"""Seconds within which a request that was under way when its process died has arrived at Slack."""
_LOOK_AT_ALL = 600.0
"""Seconds between rounds over everything that stands: Slack does not tell of every change (an invitation to share)."""
_REMEMBERED_KEYS = 2_000


class Path(Protocol):
    """The one path, as far as the edge needs it (`bot.answering.pipeline.Answering`)."""

    @property
    def access(self) -> Access:
        """Decides who may read what."""

    @property
    def live(self) -> Live:
        """What is live now."""

    @property
    def redactor(self) -> Redactor:
        """Makes text clean."""

    async def reply(self, question: Question) -> Reply:
        """Everything that a question leads to."""

    def readable(self, readership: Readership) -> dict[str, Runbook]:
        """The live runbooks that all of these readers may open."""

    def find_runbook(self, name: str, readership: Readership) -> Runbook | None:
        """The one that a name means, among those."""

    def url(self, runbook: str, start: int, end: int) -> str | None:
        """The link to a page's lines, if links are configured."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the bot is in this workspace."""

    user: str
    bot: str
    team: str


class Desk:
    """Takes triggers and answers them. `say_hello` and `start` before the first, `stop` at the end."""

    def __init__(
        self,
        *,
        settings: Settings,
        path: Path,
        client: AsyncWebClient,
        events: Events,
        answers: Answers,
        memory: Memory,
        alone: bool,
    ) -> None:
        """`alone`: no other process shares these records, so that whatever is unfinished at start is abandoned."""
        self.settings, self.path, self.client, self.answers = settings, path, client, answers
        self.delivery, self.history = Delivery(client), History(client)
        self.replies = Replies(self.delivery, answers, memory, direct_links=settings.links == "direct")
        self.standing = Standing(answers, path.access, path.live, self.delivery)
        self.me = Identity("", "", "")
        self._events, self._alone = events, alone
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._unrecorded: OrderedDict[str, float] = OrderedDict()

    # --- life -------------------------------------------------------------------------------------------------

    async def say_hello(self) -> None:
        """Learn who the bot is. Raises DeliveryError."""
        found = await named(self.client.auth_test())
        self.me = Identity(str(found["user_id"]), str(found.get("bot_id") or ""), str(found["team_id"]))

    async def start(self) -> None:
        """Take up what a crash left behind, and keep looking. Raises RecordsUnavailable."""
        await self._take_up(everything=self._alone)
        self.spawn(self._keep_looking())

    async def stop(self, patience: float = 5.0) -> None:
        """Let what is under way end, for a while; what does not is taken up by the next process."""
        looking = [task for task in self._tasks if task.get_name() == "_keep_looking"]
        for task in looking:
            task.cancel()
        if working := self._tasks - set(looking):
            await asyncio.wait(working, timeout=patience)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something after the acknowledgement; a failure is logged, never lost."""
        task = asyncio.create_task(work, name=getattr(work, "__name__", "work"))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a task of the Slack edge failed", exc_info=error)

    async def idle(self) -> None:
        """Wait until nothing is under way (for tests and for `try`)."""
        while busy := [task for task in self._tasks if task.get_name() != "_keep_looking"]:
            await asyncio.wait(busy)

    async def _keep_looking(self) -> None:
        rules: object = None
        checked = 0.0
        while True:
            if (now := self.standing.rules) != rules or time.monotonic() - checked > _LOOK_AT_ALL:
                rules, checked = now, time.monotonic()
                await self._looked(self.standing.check())
            elif self.standing.again:
                await self._looked(self.standing.check(set(self.standing.again)))
            await asyncio.sleep(_LOOK_AGAIN)
            await self._looked(self._take_up())

    async def _looked(self, look: Coroutine[Any, Any, object]) -> None:
        try:
            await look
        except RunbookBotError as error:
            log.warning("a regular look failed and is made again: %s", error)

    async def _take_up(self, *, everything: bool = False) -> None:
        for claimed in await asyncio.to_thread(self._events.unfinished, everything=everything):
            self.spawn(self._work(claimed.key, Pointer.of_record(claimed.pointer), None, claimed.attempt))
        await asyncio.to_thread(self._events.forget)

    # --- taking triggers -------------------------------------------------------------------------------------

    async def accept(self, pointer: Pointer, message: Message | None = None) -> None:
        """Write the trigger down, if it is a new one, and start on it. Nothing here waits for an answer."""
        try:
            claimed = await asyncio.to_thread(self._events.claim, pointer.key, pointer.as_record())
        except RecordsUnavailable:
            log.exception("a trigger could not be written down; it is answered all the same")
            claimed = self._claim_unrecorded(pointer)
        if claimed:
            self.spawn(self._work(claimed.key, pointer, message, claimed.attempt))

    async def deleted(self, channel: str, ts: str) -> None:
        """A message is gone: nothing is posted under it any more."""
        key = _deletion(channel, ts)
        await asyncio.to_thread(self._events.claim, key, {})
        await asyncio.to_thread(self._events.done, key, 1)

    def _claim_unrecorded(self, pointer: Pointer) -> Claimed | None:
        if pointer.key in self._unrecorded:
            return None
        self._unrecorded[pointer.key] = time.monotonic()
        if len(self._unrecorded) > _REMEMBERED_KEYS:
            self._unrecorded.popitem(last=False)
        return Claimed(pointer.key, {}, 1)

    async def accept_command(self, pointer: Pointer, words: str) -> None:
        """The same for a command: its words are written down redacted. Raises RedactionError."""
        clean = await asyncio.to_thread(self.path.redactor.redact, words)
        await self.accept(replace(pointer, text=clean.text))
        if clean.kinds:
            self.spawn(self._receipt(pointer, words))

    @staticmethod
    def is_open_alert(message: Message) -> bool:
        """Whether an alert-bot's post says that something is wrong now."""
        alert = read_alert(message)
        return alert.is_alert and alert.status != "resolved"

    # --- working on them ---------------------------------------------------------------------------------------

    async def _work(self, key: str, pointer: Pointer, message: Message | None, attempt: int) -> None:
        renewing = asyncio.create_task(self._renew(key, attempt))
        try:
            async with self._slots:
                finished = await self._answered(pointer, message, attempt)
        finally:
            renewing.cancel()
        try:
            await asyncio.to_thread(self._events.done if finished else self._events.failed, key, attempt)
        except RecordsUnavailable:
            log.exception("the end of a piece of work could not be written down")

    async def _renew(self, key: str, attempt: int) -> None:
        while True:
            await asyncio.sleep(LEASE / 3)
            await self._looked(asyncio.to_thread(self._events.renew, key, attempt))

    async def _answered(self, pointer: Pointer, message: Message | None, attempt: int) -> bool:
        """Answer, or say why not; False where neither was possible and it is worth another try."""
        try:
            if attempt > 1 and await self._stands_already(pointer):
                return True
            if attempt > MOST_ATTEMPTS:  # whatever it is, it ended every process or attempt that took it up
                await self.failed(pointer, RunbookBotError(f"given up after {MOST_ATTEMPTS} attempts"))
                return True
            await self._answer(pointer, message)
            return True
        except Exception as error:
            if isinstance(error, DeliveryError) and error.error in GONE and not pointer.response_url:
                log.info("nothing was posted in %s: %s", pointer.channel, error.error)
                return True
            return await self.failed(pointer, error)

    async def failed(self, pointer: Pointer, error: Exception) -> bool:
        """Say a failure to whoever asked; whether that worked. An alert's failure is only logged."""
        reference = new_id()
        log.error("a %s in %s failed, reference %s", pointer.trigger, pointer.channel, reference, exc_info=error)
        if not pointer.user:
            return False
        sentence = sentences.failed(error, reference)
        try:
            await self.replies.tell(pointer, note(sentence))
        except DeliveryError as second:
            log.error("not even the failure could be told, reference %s: %s", reference, second)
            return False
        return True

    async def _stands_already(self, pointer: Pointer) -> bool:
        """Whether an earlier attempt got as far as posting: its record says so, or the thread shows its id."""
        begun = await asyncio.to_thread(self.answers.of_event, pointer.key)
        if any(kept.message for kept in begun):
            return True
        begun = [kept for kept in begun if kept.thread]
        for wait in (0.0, _IN_FLIGHT) if begun else ():  # the post of a process that has just died may still arrive
            await asyncio.sleep(wait)
            for kept in begun:
                for message in await self.history.later(kept.channel, kept.thread, kept.thread):
                    if self._mine(message) and kept.id in repr(message):
                        ts = str(message["ts"])
                        await asyncio.to_thread(self.answers.posted, kept.id, message=ts, thread=kept.thread)
                        return True
        return False

    async def _answer(self, pointer: Pointer, message: Message | None) -> None:
        if pointer.trigger is Trigger.COMMAND:
            return await self._answer_command(pointer)
        message = message or await self.history.message(pointer.channel, pointer.ts)
        if message is None:
            if pointer.user:
                await self.replies.tell(pointer, note(sentences.MESSAGE_GONE))
            return None
        pointer = replace(pointer, thread=_thread(message) or pointer.thread)
        version = self.standing.version(pointer.channel)
        place = await self.path.access.place(pointer.channel)
        question = await self._question(pointer, message, place)
        if question is None:
            return None
        if not question.text.strip():
            await self.replies.tell(pointer, note(sentences.NOTHING_TO_SEARCH, *help_card().blocks))
            return None
        reply = await self.path.reply(question)
        if await self._gone(pointer):
            log.info("the message in %s was deleted before its answer", pointer.channel)
            return None
        await self.replies.post(pointer, reply, place)
        self.spawn(self._recheck(pointer.channel, version))
        if author := str(message.get("user") or "") if pointer.user and not self._mine(message) else "":
            self.spawn(self._receipt(replace(pointer, user=author), flatten(message)))
        return None

    async def _receipt(self, pointer: Pointer, text: str) -> None:
        """Tell whoever posted a secret which kind it was, privately and once."""
        if not self.settings.redaction_receipts:
            return
        clean = await asyncio.to_thread(self.path.redactor.redact, text)
        told = receipt(clean.kinds)
        key = f"receipt:{pointer.channel}:{pointer.ts or pointer.event}"
        if told is None or not await asyncio.to_thread(self._events.first, key, new_id(), within=KEPT):
            return
        try:
            await self.replies.tell(pointer, note(told))
        except DeliveryError as error:
            log.warning("a receipt could not be told: %s", error)

    async def _gone(self, pointer: Pointer) -> bool:
        keys = {_deletion(pointer.channel, ts) for ts in (pointer.ts, pointer.root)}
        return await asyncio.to_thread(self._events.known, keys)

    async def _recheck(self, channel: str, version: object) -> None:
        """Somebody may have joined while the answer was made."""
        if self.standing.version(channel) != version:
            await self.standing.check([channel])

    # --- questions ---------------------------------------------------------------------------------------------

    async def _question(self, pointer: Pointer, message: Message, place: Place) -> Question | None:
        match pointer.trigger:
            case Trigger.ALERT:
                alert = read_alert(message)
                if not self.is_open_alert(message) or not await self._first(pointer, alert):
                    return None
                return Question(text=alert.summary, trigger=pointer.trigger, place=place, alert=alert)
            case Trigger.REACTION:
                return await self._again(pointer, message, place)
            case _:
                return await self._asked(pointer, message, place)

    async def _asked(self, pointer: Pointer, message: Message, place: Place) -> Question:
        """A mention or a direct message; in a thread, what the thread is about comes along."""
        text = without_mention(flatten(message), self.me.user)
        context: tuple[str, ...] = ()
        alert: Alert | None = None
        exclude: frozenset[str] = frozenset()
        if pointer.thread and (root := await self.history.message(pointer.channel, pointer.thread)):
            said = await self._words(root, pointer.channel)
            alert = _alert(root)
            text, context = (text, (said,)) if text else (said, ())
        return Question(
            text=text,
            trigger=pointer.trigger,
            place=place,
            asker=pointer.user,
            alert=alert,
            context=context,
            exclude=exclude,
        )

    async def _again(self, pointer: Pointer, message: Message, place: Place) -> Question:
        """A second search for the message that was reacted to: wider, without what its thread has been shown."""
        later = await self.history.later(pointer.channel, pointer.root, pointer.ts)
        shown = await asyncio.to_thread(self.answers.in_thread, pointer.channel, pointer.root)
        return Question(
            text=await self._words(message, pointer.channel),
            trigger=pointer.trigger,
            place=place,
            asker=pointer.user,
            alert=_alert(message),
            context=tuple(flatten(m) for m in later if not self._mine(m)),
            exclude=frozenset(passage for kept in shown for passage in kept.passages),
            wider=True,
        )

    async def _words(self, message: Message, channel: str) -> str:
        """The words of a message; of one of the bot's own, those of the question that it answers."""
        if not self._mine(message):
            return without_mention(flatten(message), self.me.user)
        root = _thread(message) or str(message["ts"])
        for kept in await asyncio.to_thread(self.answers.in_thread, channel, root):
            return (await self.origin(kept.origin))[0]
        return ""

    async def origin(self, origin: Mapping[str, Any]) -> tuple[str, Alert | None]:
        """The words of the question that a record leads back to, raw; "" where its message is gone."""
        if "text" in origin:
            return str(origin["text"]), None
        message = await self.history.message(str(origin["channel"]), str(origin["ts"]))
        if message is None or self._mine(message):
            return "", None
        return without_mention(flatten(message), self.me.user), _alert(message)

    def _mine(self, message: Message) -> bool:
        return message.get("user") == self.me.user or (bool(self.me.bot) and message.get("bot_id") == self.me.bot)

    async def _first(self, pointer: Pointer, alert: Alert) -> bool:
        """Whether this alert was not answered here within the last while: a re-fire gets no second answer."""
        window = self.settings.refire_minutes * 60.0
        if not window:
            return True
        about = re.sub(r"\d+", "0", alert.name or alert.summary[:200])
        where = sorted(value for key, value in alert.labels.items() if key.casefold() in _SAME_ALERT)
        clean = await asyncio.to_thread(self.path.redactor.redact, "\n".join([about, alert.service or "", *where]))
        digest = hashlib.sha256(clean.text.encode()).hexdigest()[:32]
        key = f"alert:{pointer.channel}:{digest}"
        return await asyncio.to_thread(self._events.first, key, pointer.ts, within=window)

    # --- commands ----------------------------------------------------------------------------------------------

    async def _answer_command(self, pointer: Pointer) -> None:
        place = await self.path.access.place(pointer.channel)
        question = Question(text=pointer.text, trigger=pointer.trigger, place=place, asker=pointer.user)
        if not (pointer.private or place.kind is PlaceKind.ELSEWHERE or place.archived):
            rooted = await self._rooted(pointer, place)
            if rooted:
                version = self.standing.version(pointer.channel)
                await self.replies.post(rooted, await self.path.reply(question), place)
                self.spawn(self._recheck(pointer.channel, version))
                return
        reply = await self.path.reply(question.model_copy(update={"private": True}))
        outcome = reply.private or reply.thread
        if outcome is None:
            raise DeliveryError("nothing_to_say")
        await self.replies.privately(pointer, outcome, place)

    async def _rooted(self, pointer: Pointer, place: Place) -> Pointer | None:
        """The command with its line in the channel, which says who looks for what; None where none can stand there."""
        if pointer.ts or place.kind is PlaceKind.DM:
            return pointer
        who = {"type": "user", "user_id": pointer.user}
        line = rich.rich_text(rich.section([who, rich.words(sentences.looks_for(rich.cut(pointer.text, 2_500)))]))
        text = f"<@{pointer.user}>{escape(sentences.looks_for(rich.cut(pointer.text, 600)))}"
        try:
            ts = await self.delivery.post(pointer.channel, Card(text, (line,)))
        except DeliveryError as error:
            if error.error in GONE:
                return None
            raise
        rooted = replace(pointer, ts=ts)
        try:
            await asyncio.to_thread(self._events.note, pointer.key, rooted.as_record())
        except RecordsUnavailable:
            log.exception("where a command's line stands could not be written down")
        return rooted


_SAME_ALERT = frozenset(
    {"instance", "host", "pod", "cluster", "env", "environment", "namespace", "region", "device", "queue", "topic"}
)
"""Labels that tell two alerts of one name apart."""


def _deletion(channel: str, ts: str) -> str:
    return f"deleted:{channel}:{ts}"


def _thread(message: Message) -> str:
    thread = str(message.get("thread_ts") or "")
    return "" if thread == message.get("ts") else thread


def _alert(message: Message) -> Alert | None:
    alert = read_alert(message) if message.get("bot_id") else None
    return alert if alert and alert.is_alert else None
