"""`kill -9` in the middle of the work: the real command, restarted, owes nobody an answer and gives none twice."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

POLICY = "default: members\nrules: []\naudiences: {}\n"
PAGE = """\
# Connection pool

1. Count the clients when postgres has too many clients.

   ```sh
   psql -c 'select 1'
   ```
"""
ROOT = Path(__file__).resolve().parents[2]


class Process:
    """`runbook-bot serve` against the local workspace."""

    def __init__(self, workspace: Any, folder: Path) -> None:
        self.workspace, self.folder = workspace, folder
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "serve",
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "SLACK_BOT_TOKEN": self.workspace.bot_token,
                "SLACK_APP_TOKEN": self.workspace.app_token,
                "SLACK_API_URL": self.workspace.api_url,
                "REFIRE_MINUTES": "0",
                "WATCH": "false",
            },
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip

    async def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        await self.process.wait()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(8))
async def test_killed_in_the_middle_it_owes_no_answer_and_gives_none_twice(
    seed: int, workspace: Any, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks" / "pool.md").write_text(PAGE)
    (tmp_path / "access.yaml").write_text(POLICY)
    bot = Process(workspace, tmp_path)
    await bot.start()
    await workspace.connected()
    posted = []
    for number in range(12):
        text = f"[FIRING:1] TooManyClients{number} postgres has too many clients"
        posted.append(workspace.post_alert({"type": "message", "bot_id": "B0ALERTS", "text": text}))
        await asyncio.sleep(chance.choice([0, 0, 0.02]))
    await asyncio.sleep(chance.uniform(0, 1.0))
    await bot.kill()
    await bot.start()
    try:
        await workspace.until(lambda: all(workspace.thread("incidents", ts) for ts in posted), within=120)
        await asyncio.sleep(3)
        assert [len(workspace.thread("incidents", ts)) for ts in posted] == [1] * len(posted)
    finally:
        await bot.kill()
