"""Puts the parts together; nothing else does.

`assemble` gives the parts that know nothing of Slack: the commands, the evaluation and the bot itself start from it.
`serving` adds the Slack edge and keeps the index up to date.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine

from bot.access.decisions import Access
from bot.access.models import Membership
from bot.access.policy import Policy, PolicyFile, find_policy
from bot.answering.pipeline import Answering
from bot.answering.writer import Writer
from bot.errors import ConfigurationError, EmptyLibrary, RunbookBotError
from bot.library.load import Known, load_library
from bot.library.models import Library
from bot.library.publish import Progress, Publisher, SyncReport
from bot.library.watch import watch
from bot.records.database import open_database
from bot.records.manifest import SqlManifest
from bot.records.vectors import SqlVectorCache
from bot.redaction import Redactor, logs
from bot.redaction.version import rules_version
from bot.search.chroma import open_store
from bot.search.embedders import earlier_embedder, make_embedder
from bot.search.search import Search
from bot.settings import Settings
from bot.slack.delivery import slack_client
from bot.slack.listeners import SlackEdge
from bot.slack.membership import SlackMembership

log = logging.getLogger(__name__)

_TALKATIVE = ("slack_bolt", "slack_sdk", "openai", "httpx", "httpcore", "aiohttp", "chromadb", "markdown_it")
"""Libraries that write whole requests and messages down when they may: held at warnings, whatever LOG_LEVEL says."""


@dataclass(frozen=True)
class App:
    """The parts of one running bot."""

    settings: Settings
    redactor: Redactor
    engine: Engine
    policy: Callable[[], Policy]
    access: Access
    publisher: Publisher
    search: Search
    answering: Answering


def policy_of(settings: Settings, *, required: bool) -> Callable[[], Policy]:
    """The policy that the settings name. Without one: ConfigurationError where it is `required`, else `members`."""
    path = find_policy(settings.access_file, settings.runbooks_dir)
    if path is not None:
        return PolicyFile(path)
    if required:
        raise ConfigurationError(
            "there is no access policy",
            where=settings.runbooks_dir.parent / "access.yaml",
            fix="write one (docs/access.md), or name one with --access or ACCESS_FILE",
        )
    log.warning("No access policy: every runbook counts as readable by full members.")
    return lambda: Policy.MEMBERS_ONLY


@contextmanager
def assemble(settings: Settings, membership: Membership, *, policy_required: bool = False) -> Iterator[App]:
    """The parts for these settings; whatever was opened is closed at the end.

    From here on every log line is masked.
    Raises ConfigurationError, PolicyError, IndexLocked, RecordsUnavailable.
    """
    redactor = Redactor.from_settings(settings)
    logs.install(redactor, settings.secrets)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    policy = policy_of(settings, required=policy_required)
    access = Access(policy, membership)
    embedder = make_embedder(settings)
    engine = open_database(settings.database_url or settings.data_dir / "records.db")

    def load(known: Known, progress: Callable[[int, int], None] | None) -> Library:
        return load_library(
            settings.runbooks_dir,
            clean=redactor.clean_page,
            max_bytes=settings.max_runbook_bytes,
            max_pages=settings.max_runbooks,
            progress=progress,
            known=known,
            rules=rules_version(settings),
        )

    store = open_store(settings)
    publisher = Publisher(
        load=load,
        embedder=embedder,
        store=store,
        manifest=SqlManifest(engine),
        vectors=SqlVectorCache(engine),
        closed=access.closed,
        earlier=earlier_embedder,
    )
    search = Search(publisher.live, store, embedder, settings.search_line, embedder_of=publisher.embedder_of)
    answering = Answering(
        redactor=redactor,
        access=access,
        search=search,
        live=publisher.live,
        writer=Writer.from_settings(settings),
        runbook_url=settings.runbook_url,
        review_after=settings.review_after,
    )
    try:
        publisher.open()
        yield App(settings, redactor, engine, policy, access, publisher, search, answering)
    finally:
        publisher.close()
        engine.dispose()


_LOOK_EVERY = 5.0
"""Seconds between looks at the policy, at what another replica published, and at whether the index is whole."""
_TRY_EVERY = 60.0
"""Seconds after which a failed sync is tried again, though no page has changed since."""
_PATIENCE = 20.0
"""Seconds that the first sync may hold up a bot that has a complete index already."""


@asynccontextmanager
async def serving(settings: Settings, progress: Progress | None = None) -> AsyncIterator[tuple[App, SlackEdge]]:
    """The bot, ready to listen: the index is up to date, or is being brought so where an older one can serve.

    Raises what `assemble` raises; EmptyLibrary where there is nothing to index.
    """
    membership = SlackMembership(slack_client(settings))
    with assemble(settings, membership, policy_required=True) as parts:

        def sync() -> SyncReport:
            return parts.publisher.sync(progress)

        first = asyncio.create_task(asyncio.to_thread(sync))
        edge = SlackEdge(settings, parts.answering, parts.engine, membership, sync=sync)
        tasks: list[asyncio.Task[None]] = []
        try:
            await _first(first, complete=bool(parts.publisher.live().collection))
            await edge.start()
            tasks.append(asyncio.create_task(_keep_current(parts, sync)))
            if settings.watch:
                tasks.append(asyncio.create_task(watch(settings.runbooks_dir, lambda: asyncio.to_thread(sync))))
            yield parts, edge
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(first, *tasks, return_exceptions=True)
            await edge.stop()
            if parts.answering.writer:
                await parts.answering.writer.close()


async def _keep_current(parts: App, sync: Callable[[], SyncReport]) -> None:
    """Sync when the policy has changed (a page may have been closed to all until now) and, after a while, when the
    last sync failed; else see what others did."""
    seen, tried = parts.policy().version, time.monotonic()
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        try:
            again = parts.publisher.behind and time.monotonic() > tried + _TRY_EVERY
            if (now := parts.policy().version) != seen or again:
                tried = time.monotonic()
                await asyncio.to_thread(sync)
                seen = now
            else:
                await asyncio.to_thread(parts.publisher.tend)
        except RunbookBotError as error:
            log.error("the index could not be kept up to date: %s", error)


async def _first(sync: asyncio.Task[SyncReport], *, complete: bool) -> None:
    """Wait for the first sync; only for a while where a complete index can serve meanwhile."""
    try:
        await asyncio.wait_for(asyncio.shield(sync), _PATIENCE if complete else None)
    except TimeoutError:
        log.info("the index is being brought up to date; the last complete one serves meanwhile")
    except EmptyLibrary:
        raise  # nothing to index is a mistake of whoever starts the bot, also where an older index is there
    except RunbookBotError as error:
        if not complete:
            raise
        log.error("the index could not be brought up to date, the last complete one serves: %s", error)
