"""The runbook folder, watched: a saved page is searchable in seconds, a pull of hundreds is one sync."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from watchfiles import Change, awatch

from bot.errors import RunbookBotError
from bot.library.catalogue import CATALOGUE_FILES
from bot.library.names import is_page

log = logging.getLogger(__name__)

_QUIET_MS = 400
"""Changes are gathered until none has come for so long ..."""
_GATHER_MS = 2500
"""... or, while they keep coming, for so long at most."""
_Identity = tuple[int, int, Path]

_LOOK_MS = 2000
"""How often to see whether the folder is still the same one: git-sync and others swap a link for a new folder."""


async def watch(folder: Path, on_change: Callable[[], Awaitable[object]]) -> None:
    """Call `on_change` whenever pages, folders or the catalogue below `folder` changed; runs until it is cancelled.

    The first call comes soon after the start, for what changed before anybody watched. One call at a time: what
    changes meanwhile leads to one more. A named failure of `on_change` is logged and the watch goes on, also while
    the folder is away.
    """
    polling = False
    while True:
        try:
            await _watch_one(folder, on_change, polling)
        except FileNotFoundError:
            log.debug("the runbook folder vanished between two looks")
        except OSError as error:
            if polling:
                raise
            log.warning("the system can't watch %s (%s); it is polled instead", folder, error)
            polling = True
        await asyncio.sleep(_QUIET_MS / 1000)


async def _watch_one(folder: Path, on_change: Callable[[], Awaitable[object]], polling: bool) -> None:
    """Watch until the folder is another one, or gone."""
    identity = _identity(folder)
    if identity is None:
        return
    *_, root = identity
    changes = awatch(
        root,
        watch_filter=lambda change, path: _matters(root, change, path),
        debounce=_GATHER_MS,
        step=_QUIET_MS,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        force_polling=polling or None,  # None: as WATCHFILES_FORCE_POLLING says
        poll_delay_ms=_LOOK_MS,
    )
    called = False
    async for batch in changes:
        now = _identity(folder)
        if now is None:
            log.warning("the runbook folder %s is gone; the index stays as it was until it is back", folder)
        if now != identity:
            return
        if batch or not called:
            called = True
            await _call(on_change)


async def _call(on_change: Callable[[], Awaitable[object]]) -> None:
    try:
        await on_change()
    except RunbookBotError as error:
        log.warning("the runbooks changed, but the index stays as it was: %s", error)


def _identity(folder: Path) -> _Identity | None:
    """Which folder this is and where, whatever link leads to it; None where there is none."""
    try:
        state = folder.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino, folder.resolve()


def _matters(root: Path, change: Change, path: str) -> bool:
    """Whether a change can concern the library. What was deleted may have been a folder full of pages."""
    below = Path(path).relative_to(root)
    if below.name == "..data":  # a mounted ConfigMap is renewed by swapping this link
        return True
    if any(part.startswith(".") for part in below.parts) or below.name.endswith("~"):
        return False
    return is_page(below.name) or below.name in CATALOGUE_FILES or change is Change.deleted or Path(path).is_dir()
