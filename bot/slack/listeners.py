"""The Bolt app: what Slack sends, given to whoever deals with it, and acknowledged at once.

Listeners are thin. With `process_before_response` a trigger is acknowledged when its pointer has been written down,
and not before; every answer is made in a task of its own. There is a listener for every event, action and view, since
in Socket Mode what nobody listens to is never acknowledged and comes again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncAck, AsyncApp
from slack_bolt.response import BoltResponse
from sqlalchemy import Engine

from bot.answering.models import Trigger, new_id
from bot.errors import ConfigurationError, DeliveryError, RunbookBotError
from bot.records.answers import Answers
from bot.records.asked import Questions
from bot.records.events import Events
from bot.records.feedback import Feedback
from bot.records.memory import Memory
from bot.settings import Settings
from bot.slack import intake, render
from bot.slack.clicks import Clicks
from bot.slack.commands import Kind, parse
from bot.slack.delivery import on_this_machine, slack_client
from bot.slack.desk import Desk, Path
from bot.slack.feedback import Sayings
from bot.slack.intake import Pointer
from bot.slack.lookups import Lookups
from bot.slack.markup import plain
from bot.slack.membership import SlackMembership
from bot.slack.modals import MORE

log = logging.getLogger(__name__)

Body = Mapping[str, Any]
_ANY = re.compile(".*", re.DOTALL)


class SlackEdge:
    """The bot in Slack. `start`, then `connect` (Socket Mode) or serve `app.web_app()`; `stop` at the end."""

    def __init__(
        self,
        settings: Settings,
        path: Path,
        engine: Engine,
        membership: SlackMembership,
        *,
        sync: Callable[[], object] | None = None,
    ) -> None:
        """`sync` brings the index up to date (blocking) and gives what it did, as text. Raises RecordsUnavailable."""
        self.settings, self.membership = settings, membership
        self.client = slack_client(settings)
        if on_this_machine(settings.slack_api_url):  # clients that the SDK makes later read these, too
            for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
                os.environ.pop(name, None)
        answers = Answers(engine)
        self.desk = Desk(
            settings=settings,
            path=path,
            client=self.client,
            events=Events(engine),
            answers=answers,
            memory=Memory(engine),
            alone=engine.dialect.name == "sqlite",
        )
        self.clicks = Clicks(self.desk)
        self.sayings = Sayings(self.desk, Feedback(engine))
        self.questions = Questions(engine)
        self.lookups = Lookups(self.desk, self.questions, sync)
        self.app = AsyncApp(
            client=self.client,
            signing_secret=settings.slack_signing_secret.get_secret_value(),
            process_before_response=True,
            name="runbook-bot",
            logger=_quiet(),
        )
        self._socket: AsyncSocketModeHandler | None = None
        self._register()

    # --- life -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Say hello to Slack and take up what a crash left behind. Raises ConfigurationError, RecordsUnavailable."""
        try:
            await self.desk.say_hello()
        except DeliveryError as error:
            raise ConfigurationError(
                f"Slack does not take the bot's token: {error.error}", where="SLACK_BOT_TOKEN", fix="see docs/slack.md"
            ) from error
        await self.membership.start()
        await self.desk.start()

    async def connect(self) -> None:
        """Open the Socket Mode connection and return; events arrive from then on."""
        self._socket = AsyncSocketModeHandler(self.app, self.settings.slack_app_token.get_secret_value())
        await self._socket.connect_async()  # type: ignore[no-untyped-call]

    async def stop(self) -> None:
        """Take nothing more, and let what is under way end."""
        if self._socket:
            await self._socket.close_async()  # type: ignore[no-untyped-call]
        await self.desk.stop()
        await self.membership.stop()

    # --- registering ------------------------------------------------------------------------------------------

    def _register(self) -> None:
        app = self.app
        app.use(self._take_notice)
        app.command(_ANY)(self._command)
        app.event("message")(self._message)
        app.event("app_mention")(self._mention)
        app.event("reaction_added")(self._reaction)
        app.event("reaction_removed")(self._said_by_reaction)
        app.event("channel_id_changed")(self._moved)
        app.event(_ANY)(_nothing)
        app.action(re.compile(rf"^{render.OPEN}_\d+$"))(self._click(self.clicks.open))
        app.action(re.compile(rf"^{MORE}_\w+$"))(self._click(self.clicks.more))
        app.action(render.AS_ME)(self._click(self.clicks.search_as_me))
        app.action(re.compile(rf"^{render.SAY}_\w+$"))(self._click(self.sayings.say))
        app.action(_ANY)(_acknowledge)
        app.view(_ANY)(_acknowledge)
        app.view_closed(_ANY)(_acknowledge)
        app.shortcut(_ANY)(_acknowledge)
        app.options(_ANY)(_acknowledge)
        app.error(self._fault)

    async def _take_notice(self, body: Body, next: Callable[[], Awaitable[BoltResponse]]) -> BoltResponse:
        """Whatever says that people or places have changed counts at once, the bot's own joins included."""
        event = body.get("event")
        if isinstance(event, Mapping) and (channels := self.membership.on_event(event)):
            self.desk.standing.changed(channels)
            if event.get("type") != "channel_id_changed":
                self.desk.spawn(self._recheck(channels))
        return await next()

    async def _recheck(self, channels: frozenset[str]) -> None:
        try:
            await self.desk.standing.check(channels)
        except RunbookBotError as error:
            log.error("what stands in %s could not be decided again: %s", ", ".join(channels), error)

    async def _fault(self, error: Exception, body: Body) -> BoltResponse:
        """A fault before the acknowledgement: nothing was written down, so Slack may deliver it again."""
        log.error("a delivery from Slack failed, reference %s", new_id(), exc_info=error)
        return BoltResponse(status=500)

    # --- triggers ---------------------------------------------------------------------------------------------

    async def _message(self, event: Body) -> None:
        if event.get("subtype") == "message_deleted":
            channel, ts = str(event["channel"]), str(event["deleted_ts"])
            await self.desk.deleted(channel, ts)
            await asyncio.to_thread(self.questions.forget, channel, ts)
            return
        me = self.desk.me
        pointer = intake.of_message(event, bot_user=me.user, bot_id=me.bot, alert_channels=self.settings.alert_channels)
        if pointer is None:
            return
        if pointer.trigger is Trigger.DIRECT_MESSAGE or self.desk.is_open_alert(event):
            await self.desk.accept(pointer, event)

    async def _mention(self, event: Body) -> None:
        if pointer := intake.of_mention(event):
            await self.desk.accept(pointer, event)

    async def _reaction(self, event: Body) -> None:
        if pointer := intake.of_reaction(event, reactions=self.settings.reactions, bot_user=self.desk.me.user):
            await self.desk.accept(pointer)
        else:
            await self._said_by_reaction(event)

    async def _said_by_reaction(self, event: Body) -> None:
        if event.get("item_user") == self.desk.me.user:
            self.desk.spawn(self.sayings.reacted(event))

    async def _moved(self, event: Body) -> None:
        await self.desk.standing.moved(event)
        self.desk.spawn(self._recheck(frozenset([str(event["new_channel_id"])])))

    # --- commands ---------------------------------------------------------------------------------------------

    async def _command(self, command: Body, ack: AsyncAck) -> None:
        parsed = parse(str(command.get("text") or ""))
        asked = Pointer(
            trigger=Trigger.COMMAND,
            channel=str(command["channel_id"]),
            user=str(command["user_id"]),
            event=str(command.get("trigger_id") or new_id()),
            response_url=str(command.get("response_url") or ""),
            private=parsed.kind is Kind.PRIVATE_QUESTION,
        )
        if parsed.kind in (Kind.QUESTION, Kind.PRIVATE_QUESTION):
            try:
                await self.desk.accept_command(asked, plain(parsed.rest))
            except Exception as error:  # redaction failed, mostly: told, not written down
                self.desk.spawn(self._tell_failure(asked, error))
        else:
            self.desk.spawn(self.lookups.answer(asked, parsed))
        await ack()

    async def _tell_failure(self, pointer: Pointer, error: Exception) -> None:
        await self.desk.failed(pointer, error)

    def _click(self, work: Callable[[Body], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def listener(body: Body, ack: AsyncAck) -> None:
            await ack()
            self.desk.spawn(self.clicks.guarded(work, body))

        return listener


def _quiet() -> logging.Logger:
    """Bolt copies this logger's level: below a warning it writes whole messages down."""
    logger = logging.getLogger("slack_bolt")
    logger.setLevel(logging.WARNING)
    logger.addFilter(_worth_saying)
    return logger


def _worth_saying(record: logging.LogRecord) -> bool:
    """Not worth it: that of a token in the environment and a client with it the client is taken, as is meant."""
    return not record.getMessage().startswith("As you gave `client` as well")


async def _nothing() -> None:
    """For events that need no more than the notice taken of them."""


async def _acknowledge(ack: AsyncAck) -> None:
    """For whatever a person presses that leads nowhere further (a link button, a closed view)."""
    await ack()
