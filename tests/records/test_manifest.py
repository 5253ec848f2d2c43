"""The manifest: one transaction switches from one whole state to the next."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from bot.errors import IndexingError, RecordsUnavailable
from bot.library.models import Catalogue, Change, Passage, Runbook, Service, Snapshot
from bot.records.database import open_database, writing
from bot.records.manifest import SqlManifest, _read_passages, _write_passages


def page(path: str, body: str = "# Title\n\nCheck é the ▲ pool.\n", **fields: object) -> Runbook:
    return Runbook(path=path, title="Title", text=body, version=str(hash(body)), **fields)  # type: ignore[arg-type]


def passages_of(runbook: Runbook) -> dict[str, Passage]:
    middle = len(runbook.text) // 2
    cuts = ((0, middle), (middle, len(runbook.text)))
    return {
        f"{runbook.path}-{start}": Passage(
            f"{runbook.path}-{start}", runbook.path, ("Title", "Second"), 1, 3, start, runbook.text[start:end], "ctx"
        )
        for start, end in cuts
    }


def state(generation: int, *runbooks: Runbook) -> Snapshot:
    passages = {key: passage for runbook in runbooks for key, passage in passages_of(runbook).items()}
    services = Catalogue((Service("checkout", ("shop",), "team", ("C0STOREFRONT",)),))
    return Snapshot(generation, "collection-a", {r.path: r for r in runbooks}, passages, services, "model/1")


FULL = page(
    "a b/ä.md",
    services=("checkout", "no"),
    alerts=("PoolExhausted",),
    owner="@dba",
    tags=("x",),
    last_reviewed=date(2026, 2, 28),
    review_after=90,
    audience=(),
    headings=((1, "Title", 1),),
    change=Change("abc", "Ana", datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
    redacted_lines=(2, 3),
    stale=True,
)


def test_what_was_published_is_read_back_whole(database_url: str) -> None:
    engine = open_database(database_url)
    manifest = SqlManifest(engine)
    assert manifest.read() == Snapshot()
    first = state(1, FULL, page("b.md"))
    manifest.publish(Snapshot(), first)
    assert SqlManifest(engine).read() == first
    assert SqlManifest(engine).generation() == 1
    engine.dispose()


def test_edits_deletions_and_additions_switch_together(database_url: str) -> None:
    engine = open_database(database_url)
    manifest = SqlManifest(engine)
    first = state(1, *(page(f"{n}.md") for n in range(1200)))
    second = state(2, *(page(f"{n}.md", owner="x" if n % 2 else "") for n in range(600)), page("new.md", "other text"))
    manifest.publish(Snapshot(), first)
    manifest.publish(first, second)
    assert manifest.read() == second
    engine.dispose()


def test_publishing_over_somebody_elses_state_changes_nothing(database_url: str) -> None:
    engine = open_database(database_url)
    mine, theirs = SqlManifest(engine), SqlManifest(engine)
    first = state(1, page("a.md"))
    mine.publish(Snapshot(), first)
    theirs.publish(first, state(2, page("b.md")))
    with pytest.raises(IndexingError, match="sync again"):
        mine.publish(first, state(2, page("c.md")))
    assert mine.read() == state(2, page("b.md"))
    engine.dispose()


def test_a_failure_in_the_middle_leaves_the_old_state(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_database(database_url)
    manifest = SqlManifest(engine)
    first = state(1, *(page(f"{n}.md") for n in range(1100)))
    manifest.publish(Snapshot(), first)
    written = 0

    def fail_late(passages: object) -> str:
        nonlocal written
        written += 1
        if written > 700:
            raise OSError("no space left on device")
        return "[]"

    monkeypatch.setattr("bot.records.manifest._write_passages", fail_late)
    with pytest.raises(OSError, match="no space"):
        manifest.publish(first, state(2, *(page(f"{n}.md", "edited") for n in range(1100))))
    assert manifest.read() == first
    engine.dispose()


def test_readers_see_one_whole_state_while_another_is_published(database_url: str) -> None:
    engine = open_database(database_url)
    manifest = SqlManifest(engine)
    states = [state(n, *(page(f"{n}-{m}.md") for m in range(30))) for n in range(1, 13)]
    manifest.publish(Snapshot(), states[0])
    mixed: list[int] = []
    done = threading.Event()

    def read() -> None:
        other = SqlManifest(engine)
        while not done.is_set():
            seen = other.read()
            if seen != states[seen.generation - 1]:
                mixed.append(seen.generation)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for old, new in pairwise(states):
        manifest.publish(old, new)
    done.set()
    for reader in readers:
        reader.join()
    assert mixed == []
    assert manifest.read() == states[-1]
    engine.dispose()


def test_one_sync_at_a_time(database_url: str) -> None:
    engines = [open_database(database_url) for _ in range(2)]
    manifests = [SqlManifest(engine) for engine in engines]
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait()
        with manifests[1].exclusive():
            order.append("second")

    waiting = threading.Thread(target=second)
    waiting.start()
    with manifests[0].exclusive():
        inside.set()
        waiting.join(timeout=0.3)
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]
    for engine in engines:
        engine.dispose()


def test_the_namespace_belongs_to_the_database(database_url: str, tmp_path: object) -> None:
    engine = open_database(database_url)
    assert SqlManifest(engine).namespace == SqlManifest(engine).namespace
    other = open_database(f"sqlite:///{tmp_path}/other.db")
    assert SqlManifest(other).namespace != SqlManifest(engine).namespace
    engine.dispose()
    other.dispose()


def test_a_manifest_that_is_garbage_is_records_unavailable(database_url: str) -> None:
    engine = open_database(database_url)
    manifest = SqlManifest(engine)
    manifest.publish(Snapshot(), state(1, page("a.md")))
    with writing(engine) as connection:
        connection.execute(text("UPDATE live_runbooks SET passages = '[{]'"))
    with pytest.raises(RecordsUnavailable, match="manifest"):
        manifest.read()
    engine.dispose()


@settings(max_examples=30, deadline=None)
@given(body=st.text(min_size=2).filter(lambda t: "\0" not in t), path=st.text(min_size=1, max_size=20), at=st.data())
def test_any_text_survives_the_way_through_the_database(body: str, path: str, at: st.DataObject) -> None:
    start = at.draw(st.integers(0, len(body) - 1))
    passage = Passage("id", path, (path,), 1, 1, start, body[start:])
    assert _read_passages(page(path, body), _write_passages([passage])) == (passage,)
