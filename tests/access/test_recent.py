"""The cache of look-ups: one at a time for a key, of a bounded age, dropped at events."""

from __future__ import annotations

import asyncio

import pytest

from bot.slack.recent import Recent


class Source:
    """A look-up that answers when it is told to; the clock stands still until it is moved."""

    def __init__(self) -> None:
        self.calls = 0
        self.now = 0.0
        self.go = asyncio.Event()
        self.go.set()
        self.fails = False
        self.recent = Recent(self.look_up, 60, lambda: self.now)

    async def look_up(self, key: str) -> str:
        self.calls += 1
        number = self.calls
        await self.go.wait()
        if self.fails:
            raise OSError(key)
        return f"{key} {number}"


async def test_a_value_is_looked_up_once_a_minute() -> None:
    source = Source()
    assert await source.recent.get("a") == "a 1"
    source.now = 59.9
    assert await source.recent.get("a") == "a 1"
    source.now = 60
    assert await source.recent.get("a") == "a 2"
    assert await source.recent.get("b") == "b 3"


async def test_age_counts_from_the_question_and_not_from_the_answer() -> None:
    source = Source()
    source.go.clear()
    first = asyncio.create_task(source.recent.get("a"))
    await asyncio.sleep(0)
    source.now = 60
    source.go.set()
    assert await first == "a 1"
    assert await source.recent.get("a") == "a 2"


async def test_questions_at_the_same_time_share_one_look_up() -> None:
    source = Source()
    source.go.clear()
    waiting = [asyncio.create_task(source.recent.get("a")) for _ in range(5)]
    await asyncio.sleep(0)
    source.go.set()
    assert await asyncio.gather(*waiting) == ["a 1"] * 5


async def test_fresh_never_shares_an_earlier_look_up_and_is_shared_afterwards() -> None:
    source = Source()
    source.go.clear()
    first = asyncio.create_task(source.recent.get("a"))
    await asyncio.sleep(0)
    fresh = asyncio.create_task(source.recent.get("a", fresh=True))
    await asyncio.sleep(0)
    source.go.set()
    assert await first == "a 1"
    assert await fresh == "a 2"
    assert await source.recent.get("a") == "a 2"


async def test_fresh_questions_that_come_together_share_a_look_up() -> None:
    source = Source()
    assert await source.recent.get("a") == "a 1"
    assert await asyncio.gather(*(source.recent.get("a", fresh=True) for _ in range(5))) == ["a 2"] * 5
    assert await source.recent.get("a", fresh=True) == "a 3"


async def test_what_was_dropped_while_it_was_looked_up_is_not_kept() -> None:
    source = Source()
    source.go.clear()
    first = asyncio.create_task(source.recent.get("a"))
    await asyncio.sleep(0)
    source.recent.drop("a")
    source.go.set()
    assert await first == "a 1"
    assert await source.recent.get("a") == "a 2"
    source.recent.clear()
    assert await source.recent.get("a") == "a 3"


async def test_failures_are_raised_to_all_and_not_kept() -> None:
    source = Source()
    source.fails = True
    for got in await asyncio.gather(*(source.recent.get("a") for _ in range(3)), return_exceptions=True):
        assert isinstance(got, OSError)
    source.fails = False
    assert await source.recent.get("a") == "a 2"


async def test_a_caller_that_goes_away_does_not_end_the_look_up_of_the_others() -> None:
    source = Source()
    source.go.clear()
    first = asyncio.create_task(source.recent.get("a"))
    await asyncio.sleep(0)
    second = asyncio.create_task(source.recent.get("a"))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    source.go.set()
    assert await second == "a 1"


async def test_old_values_are_swept_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack.recent._MANY", 10)
    source = Source()
    for number in range(10):
        await source.recent.get(f"key {number}")
    source.now = 100
    await source.recent.get("new")
    assert set(source.recent._entries) == {"new"}
