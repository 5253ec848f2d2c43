"""The commands with tokens in the environment, as they would meet Slack: here against the local workspace."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.workspace import Workspace
from tests.conftest import ROOT, free_port

pytestmark = pytest.mark.timeout(300)  # on a busy machine the first indexing alone takes a minute


@asynccontextmanager
async def running(workspace: Workspace, data: Path, *words: str, **more: str) -> AsyncIterator[asyncio.StreamReader]:
    """`runbook-bot <words>` with the workspace's tokens; yields its log."""
    tokens = {
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_SIGNING_SECRET": workspace.signing_secret,
        "SLACK_API_URL": workspace.api_url,
        "DATA_DIR": str(data),
    }
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    command: Sequence[str] = [sys.executable, "-m", "bot", *words]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=clean | tokens | more, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        yield process.stderr
    finally:
        if process.returncode is None:
            process.terminate()
        rest = (await process.stderr.read()).decode()
        assert await process.wait() == 0, rest
        assert not [token for token in (workspace.bot_token, workspace.app_token) if token in rest]


async def test_run_connects_by_socket_mode_where_there_are_tokens(
    workspace: Workspace, sample_index: Path, tmp_path: Path
) -> None:
    await asyncio.to_thread(shutil.copytree, sample_index, tmp_path / "data")
    async with running(workspace, tmp_path / "data", "run", SLACK_APP_TOKEN=workspace.app_token):
        await asyncio.wait_for(workspace.connected(), 60)
        ts = workspace.post_alert("kafka-lag", "incidents")
        (reply,) = await workspace.until(lambda: workspace.thread("incidents", ts), within=30)
        assert reply["user"] == "U0RUNBOT" and "Kafka" in reply["text"]


async def test_serve_http_takes_signed_posts(workspace: Workspace, sample_index: Path, tmp_path: Path) -> None:
    await asyncio.to_thread(shutil.copytree, sample_index, tmp_path / "data")
    port = free_port()
    async with running(workspace, tmp_path / "data", "serve", "--http", PORT=str(port)) as log:
        async with asyncio.timeout(60):
            while b"listening" not in await log.readline():
                pass
        workspace.deliver_to(f"http://127.0.0.1:{port}/slack/events")
        await workspace.slash("ben", "incidents", "me postgres too many clients")
        (answer,) = await workspace.until(lambda: workspace.ephemerals("ben"), within=30)
        assert "Connection pool exhausted" in answer["text"]
