"""Fixtures that more than one room uses."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as hypothesis_settings

from bot.workspace import Workspace

if TYPE_CHECKING:
    from playwright.async_api import Browser

# A busy machine is no fault of the code: timings are benchmarks, never assertions. In CI hypothesis' own profile draws
# the same examples every time; elsewhere new ones.
hypothesis_settings.register_profile("default", deadline=None)
hypothesis_settings.load_profile("ci" if os.environ.get("CI") else "default")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The measuring data beside the checkout; tests that need it are skipped, visibly, where it is not."""
    if not SHARED.is_dir():
        pytest.skip("the folder shared/ is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL of the tests' own, on a free loopback port; where there are no binaries its tests are skipped."""
    config = shutil.which("pg_config")
    binaries = config and Path(subprocess.check_output([config, "--bindir"], text=True).strip())
    if not binaries or not (binaries / "initdb").exists():
        pytest.skip("there is no PostgreSQL server on this machine")
    # PostgreSQL refuses to run as root.
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="runbook-bot-pg-"))
    if user:
        shutil.chown(folder, "postgres")

    def run(*command: str) -> None:
        subprocess.run([*user, *command], check=True, cwd=folder, capture_output=True)

    port, data = free_port(), str(folder / "data")
    run(str(binaries / "initdb"), "-D", data, "-U", "bot", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=100"
    run(str(binaries / "pg_ctl"), "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql://bot@127.0.0.1:{port}"
    finally:
        run(str(binaries / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """The URL of an empty PostgreSQL database."""
    import pg8000.dbapi

    port = int(postgres_server.rpartition(":")[2])
    connection = pg8000.dbapi.connect("bot", host="127.0.0.1", port=port, database="postgres")
    connection.cursor().execute("DROP SCHEMA public CASCADE")
    connection.cursor().execute("CREATE SCHEMA public")
    connection.commit()
    connection.close()
    return f"{postgres_server}/postgres"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty records database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'records.db'}"
    return str(request.getfixturevalue("postgres_url"))


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
async def workspace(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workspace]:
    """A fresh local Slack on a free port. Proxies are out of the way: Slack's SDK would send loopback through them."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with Workspace() as running:
        yield running


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    """The system's Chromium, headless; where there is none, tests that need it are skipped, visibly."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.async_api import async_playwright

    quiet = ("background-networking", "component-update", "sync", "gpu", "quic", "dev-shm-usage")
    arguments = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in quiet)]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
def chroma_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Chroma server of the tests' own."""
    from tests.chroma_server import chroma_server

    with chroma_server(tmp_path_factory.mktemp("chroma") / "data", free_port()) as url:
        yield url
