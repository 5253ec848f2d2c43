"""The whole bot over its real sockets, with the real index and a model that records what it is sent."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.app import App, serving
from bot.settings import Settings
from bot.slack.listeners import SlackEdge
from bot.workspace import Workspace
from bot.workspace.world import World
from tests.openai_server import OpenAIServer


class Lines(logging.Handler):
    """Every log line, with its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@dataclass
class Whole:
    """A running bot and everything around it."""

    workspace: Workspace
    parts: App
    edge: SlackEdge
    model: OpenAIServer
    folder: Path
    log: Lines = field(default_factory=Lines)

    async def quiet(self) -> None:
        """Wait until everything sent has been acknowledged and worked on."""
        for _ in range(2):
            await self.workspace.settled()
            await self.edge.desk.idle()

    async def publish(self, policy: str, pages: dict[str, str]) -> None:
        """Write the policy and the pages, and bring the index up to date."""
        write(self.folder, policy, pages)
        await asyncio.to_thread(lambda: self.parts.publisher.sync(allow_empty=True))

    def forget(self) -> None:
        """As if a minute had passed: nothing that Slack said is remembered, but who is in the listing."""
        membership = self.edge.membership
        for cache in (membership._asked, membership._channels, membership._members):
            cache.clear()
        membership._groups.clear()
        membership._group_users.clear()


def write(folder: Path, policy: str, pages: dict[str, str]) -> None:
    (folder / "access.yaml").write_text(policy)
    root = folder / "runbooks"
    for file in root.rglob("*.md"):
        if file.relative_to(root).as_posix() not in pages:
            file.unlink()
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@asynccontextmanager
async def whole_bot(
    folder: Path, policy: str, pages: dict[str, str], world: World | None = None, **settings: Any
) -> AsyncIterator[Whole]:
    """The bot, connected, with these pages and this policy in `folder`."""
    write(folder, policy, pages)
    async with Workspace(world=world) as workspace, OpenAIServer() as model:
        values: dict[str, Any] = {
            "runbooks_dir": folder / "runbooks",
            "access_file": folder / "access.yaml",
            "data_dir": folder / "data",
            "slack_bot_token": workspace.bot_token,
            "slack_app_token": workspace.app_token,
            "slack_api_url": workspace.api_url,
            "openai_api_key": "none",
            "openai_base_url": model.base_url,
            "openai_model": "recorder",
            "refire_minutes": 0,
            "watch": False,
        }
        async with serving(Settings(_env_file=None, **{**values, **settings})) as (parts, edge):
            await edge.connect()
            await workspace.connected()
            bot = Whole(workspace, parts, edge, model, folder)
            root, level = logging.getLogger(), logging.getLogger().level
            root.addHandler(bot.log)
            root.setLevel(logging.INFO)
            try:
                yield bot
            finally:
                root.setLevel(level)
                root.removeHandler(bot.log)


def alert(name: str, words: str) -> dict[str, Any]:
    """A post as alert bots make it: the words stand in an attachment."""
    attachment = {"color": "a30200", "title": f"[FIRING:1] {name}", "text": words, "fallback": name}
    return {"type": "message", "bot_id": "B0ALERTS", "text": "", "attachments": [attachment]}


def markers(value: object, pattern: str) -> set[str]:
    """Every marker of this form in a value, whatever its shape."""
    return set(re.findall(pattern, str(value)))
