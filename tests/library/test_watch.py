"""Watching, with a real folder and real notifications."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.errors import EmbeddingFailed
from bot.library import watch as watch_module
from bot.library.watch import watch

Folder = Callable[..., Path]


class Syncs:
    """Counts the calls, and lets a test wait for the next one."""

    def __init__(self, error: Exception | None = None) -> None:
        self.count, self.error, self.again = 0, error, asyncio.Event()

    async def __call__(self) -> None:
        self.count += 1
        self.again.set()
        if self.error:
            raise self.error

    async def next(self) -> None:
        async with asyncio.timeout(20):
            await self.again.wait()
        self.again.clear()


@asynccontextmanager
async def watching(folder: Path, syncs: Syncs) -> AsyncIterator[None]:
    """A running watch, after its first call."""
    task = asyncio.create_task(watch(folder, syncs))
    try:
        await syncs.next()
        syncs.count = 0
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def settle() -> None:
    """Long enough for every change so far to have been told."""
    await asyncio.sleep(3 * watch_module._QUIET_MS / 1000)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "_QUIET_MS", 150)
    monkeypatch.setattr(watch_module, "_LOOK_MS", 300)


async def test_two_hundred_files_are_one_sync(folder: Folder) -> None:
    root, syncs = folder({"a.md": "a"}), Syncs()
    async with watching(root, syncs):
        for i in range(200):
            file = root / f"sub{i % 7}" / f"{i}.md"
            file.parent.mkdir(exist_ok=True)
            file.write_text("x")
        await syncs.next()
        await settle()
        assert syncs.count == 1


async def test_what_is_no_page_leads_to_nothing_and_the_catalogue_does(folder: Folder) -> None:
    root, syncs = folder({"a.md": "a"}), Syncs()
    async with watching(root, syncs):
        (root / "notes.txt").write_text("x")
        (root / ".hidden.md").write_text("x")
        (root / "a.md~").write_text("x")
        (root / ".git").mkdir()
        (root / ".git" / "index").write_text("x")
        await settle()
        assert syncs.count == 0
        (root / "services.yaml").write_text("services: {}")
        await syncs.next()


async def test_deleted_and_moved_folders_are_noticed(folder: Folder, tmp_path: Path) -> None:
    root, syncs = folder({"a.md": "a", "sub/b.md": "b"}), Syncs()
    async with watching(root, syncs):
        (root / "sub").rename(tmp_path / "away")
        await syncs.next()
        (tmp_path / "away").rename(root / "back")
        await syncs.next()
        (root / "a.md").unlink()
        await syncs.next()


async def test_a_named_failure_does_not_end_the_watch(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    root, syncs = folder({"a.md": "a"}), Syncs(EmbeddingFailed("out of reach"))
    async with watching(root, syncs):
        (root / "a.md").write_text("b")
        await syncs.next()
        (root / "a.md").write_text("c")
        await syncs.next()
    assert "the index stays as it was: out of reach" in caplog.text


async def test_a_swapped_link_and_a_folder_that_comes_back_are_noticed(
    folder: Folder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root, syncs = folder({"one/a.md": "a", "two/a.md": "b"}), Syncs()
    link = tmp_path / "current"
    link.symlink_to(root / "one")
    async with watching(link, syncs):
        (tmp_path / "new").symlink_to(root / "two")
        (tmp_path / "new").replace(link)
        await syncs.next()
        (root / "two" / "a.md").write_text("c")
        await syncs.next()
        (root / "two").rename(root / "gone")
        await settle()
        await asyncio.sleep(watch_module._LOOK_MS / 1000)
        assert "is gone" in caplog.text
        (root / "gone").rename(root / "two")
        (root / "two" / "a.md").write_text("d")
        await syncs.next()


async def test_a_mounted_config_map_is_noticed(folder: Folder) -> None:
    root, syncs = folder({"..one/a.md": "a", "..two/a.md": "b"}), Syncs()
    (root / "..data").symlink_to("..one")
    (root / "a.md").symlink_to("..data/a.md")
    async with watching(root, syncs):
        (root / "..new").symlink_to("..two")
        (root / "..new").replace(root / "..data")
        await syncs.next()


async def test_where_the_system_cannot_watch_the_folder_is_polled(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    awatch = watch_module.awatch

    def exhausted(*paths: Path, **options: object) -> object:
        if not options["force_polling"]:
            raise OSError(28, "OS file watch limit reached")
        return awatch(*paths, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(watch_module, "awatch", exhausted)
    root, syncs = folder({"a.md": "a"}), Syncs()
    async with watching(root, syncs):
        assert "polled instead" in caplog.text
        (root / "b.md").write_text("b")
        await syncs.next()
