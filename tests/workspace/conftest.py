"""The local workspace as a fixture: `workspace` is started, listens on a free port, and is stopped afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.workspace import Workspace


@pytest.fixture
async def workspace(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workspace]:
    """A fresh workspace. Proxies are out of the way: Slack's SDK would send loopback through them."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with Workspace() as running:
        yield running
