"""Claims: one trigger one worker, across replicas, crashes and failures; in SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import Engine

from bot.records.database import open_database
from bot.records.events import KEPT, LEASE, MOST_ATTEMPTS, Events


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = open_database(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def events(engine: Engine, clock: Clock) -> Events:
    return Events(engine, clock)


def test_a_key_is_claimed_once_until_it_fails(events: Events) -> None:
    assert events.claim("k", {"ts": "1"}) is not None
    assert events.claim("k", {"ts": "1"}) is None
    events.failed("k", 1)
    again = events.claim("k", {"ts": "1"})
    assert again is not None and again.attempt == 2
    events.done("k", 1)
    events.failed("k", 1)
    assert events.unfinished() == [], "the first worker has no say any more"
    events.done("k", 2)
    assert events.claim("k", {}) is None


def test_of_many_at_the_very_same_time_one_gets_it(database_url: str) -> None:
    with ThreadPoolExecutor(8) as threads, ExitStack() as stack:
        engines = [open_database(database_url) for _ in range(4)]
        for engine in engines:
            stack.callback(engine.dispose)
        replicas = [Events(engine) for engine in engines]
        for key in range(10):
            claims = list(threads.map(lambda n, key=key: replicas[n % 4].claim(f"k{key}", {}), range(8)))
            assert sum(claim is not None for claim in claims) == 1
            replicas[0].failed(f"k{key}", 1)
            claims = list(threads.map(lambda n, key=key: replicas[n % 4].claim(f"k{key}", {}), range(8)))
            assert sum(claim is not None for claim in claims) == 1


def test_what_is_abandoned_is_taken_up_after_its_lease_and_by_a_lone_process_at_once(
    events: Events, clock: Clock
) -> None:
    events.claim("k", {"ts": "1"})
    assert events.unfinished() == []
    clock.now += LEASE / 2
    events.renew("k", 1)
    clock.now += LEASE / 2 + 1
    assert events.unfinished() == []
    clock.now += LEASE
    assert [(c.key, c.pointer, c.attempt) for c in events.unfinished()] == [("k", {"ts": "1"}, 2)]
    for attempt in range(3, MOST_ATTEMPTS + 2):
        assert [c.attempt for c in events.unfinished(everything=True)] == [attempt]
    clock.now += 10 * LEASE
    assert events.unfinished(everything=True) == [], "then it is given up"


def test_the_pointer_is_forgotten_when_the_work_is_done_and_the_key_later(events: Events, clock: Clock) -> None:
    events.claim("k", {"text": "clean words"})
    events.note("k", {"text": "clean words", "ts": "2"})
    clock.now += LEASE + 1
    assert events.unfinished()[0].pointer == {"text": "clean words", "ts": "2"}
    events.done("k", 2)
    assert events.known({"k", "other"}) and not events.known({"other"})
    events.forget()
    assert events.claim("k", {}) is None
    clock.now += KEPT
    events.forget()
    assert not events.known({"k"})


def test_the_first_of_a_while(events: Events, clock: Clock) -> None:
    assert events.first("alert", "1", within=60)
    assert not events.first("alert", "2", within=60)
    assert events.first("alert", "1", within=60), "a second attempt at the same message"
    clock.now += 61
    assert events.first("alert", "3", within=60)
    assert not events.first("alert", "1", within=60)


class Claims(RuleBasedStateMachine):
    """Whatever happens in whatever order: nobody works twice on what is under way or done, and nothing is lost."""

    @initialize()
    def begin(self) -> None:
        self.clock, self.folder = Clock(), TemporaryDirectory()
        self.engine = open_database(f"sqlite:///{self.folder.name}/r.db")
        self.events = Events(self.engine, self.clock)
        self.working: dict[str, float] = {}
        self.done: set[str] = set()
        self.attempts: dict[str, int] = {}

    def teardown(self) -> None:
        self.engine.dispose()
        self.folder.cleanup()

    @rule(key=st.sampled_from("abc"))
    def claim(self, key: str) -> None:
        claimed = self.events.claim(key, {"key": key})
        busy = self.working.get(key, -1.0) >= self.clock.now
        tired = self.attempts.get(key, 0) > MOST_ATTEMPTS
        assert (claimed is not None) == (not busy and key not in self.done and not tired)
        if claimed:
            self._began(key)

    @rule()
    def sweep(self) -> None:
        for claimed in self.events.unfinished():
            assert claimed.key not in self.done and self.working.get(claimed.key, -1.0) < self.clock.now
            assert claimed.pointer == {"key": claimed.key}
            self._began(claimed.key)

    @rule(key=st.sampled_from("abc"), finished=st.booleans())
    def end(self, key: str, finished: bool) -> None:
        if key in self.working:
            del self.working[key]
            end = self.events.done if finished else self.events.failed
            end(key, self.attempts[key])
            self.done |= {key} if finished else set()

    @rule(seconds=st.sampled_from([1.0, LEASE + 1]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    def _began(self, key: str) -> None:
        self.working[key] = self.clock.now + LEASE
        self.attempts[key] = self.attempts.get(key, 0) + 1

    @invariant()
    def bounded(self) -> None:
        assert all(count <= MOST_ATTEMPTS + 1 for count in getattr(self, "attempts", {}).values())


TestClaims = Claims.TestCase
TestClaims.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
