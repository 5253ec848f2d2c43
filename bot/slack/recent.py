"""A small cache of asynchronous look-ups: one at a time for a key, of a bounded age, dropped at events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MANY = 4096
"""Entries after which the old ones are swept out."""


@dataclass(slots=True)
class _Entry(Generic[V]):
    started: float
    task: asyncio.Task[V]
    begun: bool = False
    """The question is on its way: what it will say may be older than a question that comes now."""


class Recent(Generic[K, V]):
    """`get` answers from a look-up that *started* at most `seconds` ago, one under way included. Failures are not kept.

    A look-up belongs to nobody in particular: it goes on when the caller that started it is cancelled.
    """

    def __init__(
        self,
        look_up: Callable[[K], Coroutine[Any, Any, V]],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up, self._seconds, self._clock = look_up, seconds, clock
        self._entries: dict[K, _Entry[V]] = {}

    async def get(self, key: K, *, fresh: bool = False) -> V:
        """The value; `fresh` takes none that was asked for before. Raises what the look-up raises.

        Fresh questions that come together (of one decision) share a look-up, since none of them is before it.
        """
        now = self._clock()
        entry = self._entries.get(key)
        if entry is None or now - entry.started >= self._seconds or (fresh and entry.begun):
            entry = self._start(key, now)
        return await asyncio.shield(entry.task)

    def drop(self, key: K) -> None:
        """Forget this value; a look-up under way still answers those who wait for it, and nobody after them."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()

    def _start(self, key: K, now: float) -> _Entry[V]:
        if len(self._entries) >= _MANY:
            self._entries = {k: e for k, e in self._entries.items() if now - e.started < self._seconds}

        async def look_up() -> V:
            entry.begun = True
            return await self._look_up(key)

        entry = self._entries[key] = _Entry(now, asyncio.create_task(look_up()))

        def forget_failure(task: asyncio.Task[V]) -> None:
            failed = task.cancelled() or task.exception() is not None
            if failed and self._entries.get(key) is entry:
                del self._entries[key]

        entry.task.add_done_callback(forget_failure)
        return entry
