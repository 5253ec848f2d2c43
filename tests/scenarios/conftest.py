"""The whole bot, as `serve` runs it, in a local workspace over a real socket, on the sample runbooks."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from pydantic import SecretStr

from bot.app import App, assemble, serving
from bot.settings import Settings
from bot.slack.listeners import SlackEdge
from bot.workspace import Workspace
from bot.workspace.seed import seed_membership
from tests.conftest import ROOT


@dataclass(frozen=True)
class Bot:
    """A running bot and the workspace it is in."""

    workspace: Workspace
    parts: App
    edge: SlackEdge

    async def quiet(self) -> None:
        """Wait until everything that was sent to the bot is acknowledged and worked on."""
        await self.workspace.settled()
        await self.edge.desk.idle()

    def seen(self, user: str) -> str:
        """Every word that ever came before a person's eyes."""
        return "\n".join(seen.words for seen in self.workspace.seen_by(user))

    def replies(self, channel: str, ts: str) -> list[dict[str, Any]]:
        """What stands in a thread below its root."""
        return self.workspace.thread(channel, ts)


Start = Callable[..., Awaitable[Bot]]


@pytest.fixture(scope="session")
def sample_index(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which the sample runbooks are indexed: copied by each test, so that none embeds them again.

    It is kept between runs; what changed since is embedded then, once for all workers.
    """
    kept = pytestconfig.cache.mkdir("sample-index")
    settings = Settings(runbooks_dir=ROOT / "runbooks", data_dir=kept / "data")
    copy = tmp_path_factory.mktemp("sample") / "data"
    with FileLock(kept / "one-at-a-time"):
        with assemble(settings, seed_membership()) as parts:
            parts.publisher.sync()
        shutil.copytree(settings.data_dir, copy)
    return copy


@pytest.fixture
async def start(tmp_path: Path, sample_index: Path) -> AsyncIterator[Start]:
    """Starts the bot with these settings changed; Socket Mode unless `connect` is False."""
    async with AsyncExitStack() as stack:

        async def started(*, connect: bool = True, **settings: Any) -> Bot:
            data = tmp_path / "data"
            if not data.exists():
                await asyncio.to_thread(shutil.copytree, sample_index, data)
            workspace = await stack.enter_async_context(Workspace())
            changed = {
                "runbooks_dir": ROOT / "runbooks",
                "data_dir": data,
                "watch": False,
                "slack_bot_token": SecretStr(workspace.bot_token),
                "slack_app_token": SecretStr(workspace.app_token),
                "slack_signing_secret": SecretStr(workspace.signing_secret),
                "slack_api_url": workspace.api_url,
                **settings,
            }
            parts, edge = await stack.enter_async_context(serving(Settings(**changed)))
            if connect:
                await edge.connect()
                await workspace.connected()
            return Bot(workspace, parts, edge)

        yield started
