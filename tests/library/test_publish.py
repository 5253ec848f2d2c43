"""Publishing: nothing lost, nothing stale, nothing embedded twice. Each test on both kinds of stores."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bot.errors import EmbeddingFailed, EmbeddingRefused, EmptyLibrary, IndexUnavailable
from bot.library.models import Snapshot
from tests.publishing import CountingEmbedder, Shop, generated, page, shop_in


@pytest.fixture(params=["embedded and SQLite", pytest.param("servers", marks=pytest.mark.long)])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    urls = {}
    if request.param == "servers":
        urls = {name: request.getfixturevalue(name) for name in ("chroma_url",)}
        urls["database_url"] = request.getfixturevalue("postgres_url")
    with shop_in(tmp_path, **urls) as made:
        made.write({"a.md": page("Apples", "alpha first", "bravo second"), "b/c.md": page("Cherries", "charlie third")})
        yield made


# --- counting -------------------------------------------------------------------------------------------------


def test_a_second_sync_and_a_restart_embed_nothing(shop: Shop) -> None:
    first = shop.start().sync()
    assert (first.runbooks, first.passages, first.embedded, first.unchanged, first.removed) == (2, 3, 3, 0, 0)
    assert first.gists == 2
    again = shop.publisher.sync()
    assert (again.passages, again.embedded, again.unchanged, again.removed) == (3, 0, 3, 0)
    assert shop.publisher.live().generation == 1
    after = shop.start().sync()
    assert (after.passages, after.embedded, after.gists, len(shop.embedder.texts)) == (3, 0, 0, 3 + 2)
    assert shop.find("charlie third")[0].path == "b/c.md"


def test_an_edit_embeds_the_passages_that_changed(shop: Shop) -> None:
    shop.start().sync()
    shop.write({"a.md": page("Apples", "alpha first", "delta instead")})
    report = shop.publisher.sync()
    assert (report.passages, report.embedded, report.unchanged, report.removed) == (3, 1, 2, 1)
    assert report.gists == 0  # what the page is for has not changed
    assert "delta" in shop.embedder.texts[-1]
    assert shop.find("delta instead")[0].path == "a.md"
    assert "bravo" not in shop.texts()


def test_one_page_of_five_hundred(shop: Shop) -> None:
    pages = generated(500)
    shop.write(pages)
    assert shop.start().sync().embedded == 1503
    path = "area3/page-0402.md"
    edited = pages[path].replace("escalate402 last", "escalate402 otherwise")  # type: ignore[arg-type]
    assert edited != pages[path]
    shop.write({path: edited})
    report = shop.publisher.sync()
    assert (report.passages, report.embedded, report.removed) == (1503, 1, 1)
    assert len(shop.stored()) == 1503 + 502


@pytest.mark.parametrize("body", [page("Apples", "alpha first"), "No title anywhere but the name, alpha first.\n"])
def test_a_rename_embeds_nothing(shop: Shop, body: str) -> None:
    shop.write({"old.md": body})
    before = shop.start().sync()
    (shop.pages / "old.md").rename(shop.pages / "other name.md")
    report = shop.publisher.sync()
    assert (report.embedded, report.gists, report.runbooks, report.passages) == (0, 0, before.runbooks, before.passages)
    live = shop.publisher.live()
    assert "old.md" not in live.runbooks
    assert "other name.md" in {found.path for found in shop.find("alpha first")}
    assert shop.stored() == live.pieces.keys()


def test_a_change_of_facts_applies_at_once_and_embeds_nothing(shop: Shop) -> None:
    body = page("Apples", "alpha first", "bravo second")
    shop.write({"a.md": f"---\nowner: ana\n---\n{body}"})
    shop.start().sync()
    shop.write({"a.md": f"---\nowner: ben\nservices: [checkout]\naudience: dba\nalerts: [Down]\n---\n{body}"})
    report = shop.publisher.sync()
    assert report.embedded == 0
    now = shop.publisher.live().runbooks["a.md"]
    assert (now.owner, now.services, now.audience, now.alerts) == ("ben", ("checkout",), ("dba",), ("Down",))
    assert shop.start().live().runbooks["a.md"] == now
    assert shop.find("bravo second")[0].path == "a.md"


def test_an_edit_that_is_undone_embeds_nothing(shop: Shop) -> None:
    before = (shop.pages / "a.md").read_bytes()
    shop.start().sync()
    shop.write({"a.md": page("Apples", "delta instead")})
    shop.publisher.sync()
    shop.write({"a.md": before})
    assert shop.publisher.sync().embedded == 0
    assert shop.find("bravo second")[0].path == "a.md"


def test_the_same_text_in_two_pages_is_embedded_once(shop: Shop) -> None:
    body = page("The same", "same words", "more words")
    shop.write({"x/restart.md": body, "y/restart.md": body})
    report = shop.start().sync()
    assert (report.passages, report.embedded) == (7, 5)
    assert {found.path for found in shop.find("same words", 2)} == {"x/restart.md", "y/restart.md"}


# --- what is gone is gone -------------------------------------------------------------------------------------


def test_what_is_stored_equals_a_fresh_build(shop: Shop, shared: Path, tmp_path: Path) -> None:
    """Case 12."""
    case = shared / "cases" / "12-shrunk-renamed-removed"
    shutil.rmtree(shop.pages)
    shutil.copytree(case / "v1", shop.pages)
    shop.start().sync()
    assert "MARKER12-PART6" in shop.texts()
    shutil.rmtree(shop.pages)
    shutil.copytree(case / "v2", shop.pages)
    report = shop.publisher.sync()
    assert not any(marker in shop.texts() for marker in ("PART3", "PART4", "PART5", "PART6", "MARKER12-REMOVED"))
    assert "old-name.md" not in shop.publisher.live().runbooks
    renamed = [p for p in shop.publisher.live().passages.values() if "MARKER12-RENAMED" in p.text]
    assert [p.runbook for p in renamed] == ["new-name.md"]
    assert report.removed > 0
    stored = shop.stored()
    with shop_in(tmp_path / "fresh") as fresh:
        shutil.copytree(case / "v2", fresh.pages, dirs_exist_ok=True)
        fresh.start().sync()
        assert stored == fresh.stored()


def test_other_rules_for_passages_build_what_a_fresh_build_would(shop: Shop, tmp_path: Path) -> None:
    """Case 12, step 3."""
    shop.start().sync()
    larger = shop.stored()
    shop.embedder.window, shop.options = 24, {"chunking": "smaller"}
    shop.start().sync()
    with shop_in(tmp_path / "fresh") as fresh:
        fresh.embedder.window, fresh.options = 24, shop.options
        shutil.copytree(shop.pages, fresh.pages, dirs_exist_ok=True)
        fresh.start().sync()
        assert len(fresh.stored()) > len(larger)
        assert shop.stored() == fresh.stored()


def test_pages_of_one_name_and_sections_of_one_text_do_not_collide(shop: Shop, shared: Path) -> None:
    """Case 13."""
    shutil.copytree(shared / "cases" / "13-id-collision" / "input", shop.pages, dirs_exist_ok=True)
    shop.start().sync()
    by_page = {path: "\n".join(p.text for p in of) for path, of in shop.publisher.live().passages_of.items()}
    assert "MARKER13-A" in by_page["team-a/restart.md"]
    assert "MARKER13-A" not in by_page["team-b/restart.md"]
    assert "MARKER13-B" in by_page["team-b/restart.md"]
    assert all(f"MARKER13-R{n}" in by_page["repeated.md"] for n in (1, 2, 3))
    ids = shop.stored()
    assert ids == shop.publisher.live().pieces.keys()
    assert shop.publisher.sync().embedded == 0
    assert shop.stored() == ids


def test_what_is_no_longer_live_is_never_found(shop: Shop) -> None:
    shop.start().sync()
    (shop.pages / "b/c.md").unlink()
    report = shop.publisher.sync()
    assert (report.runbooks, report.removed) == (1, 1)
    assert {found.path for found in shop.find("charlie third", 10)} == {"a.md"}
    assert len(shop.stored()) == 2 + 1


@pytest.mark.parametrize("how", ["empty", "missing", "all refused"])
def test_an_empty_folder_leaves_the_index_alone(shop: Shop, how: str) -> None:
    shop.start().sync()
    shutil.rmtree(shop.pages)
    if how != "missing":
        shop.pages.mkdir()
    if how == "all refused":
        shop.write({"a.md": b"\xff\xfe\x00", "b/c.md": "---\ntitle: [\n---\nx"})
    with pytest.raises(EmptyLibrary):
        shop.publisher.sync()
    assert shop.find("charlie third")[0].path == "b/c.md"
    assert len(shop.start().live().passages) == 3
    report = shop.publisher.sync(allow_empty=True)
    assert (report.runbooks, report.passages, report.removed) == (0, 0, 3)
    assert shop.stored() == set()


def test_pages_that_nobody_may_read_are_never_embedded(shop: Shop) -> None:
    shop.options = {"closed": lambda runbook: runbook.path.startswith("b/")}
    report = shop.start().sync()
    assert (report.runbooks, report.embedded) == (1, 2)
    assert not any("charlie" in text for text in shop.embedder.texts)
    assert "b/c.md" not in shop.publisher.live().runbooks
    shop.options = {"closed": lambda runbook: True}
    with pytest.raises(EmptyLibrary, match="nobody"):
        shop.start().sync()


# --- broken pages ---------------------------------------------------------------------------------------------


def test_a_page_that_broke_stays_readable_as_it_was(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    body = page("Apples", "alpha first", "bravo second")
    shop.write({"a.md": f"---\nowner: ana\n---\n{body}"})
    shop.start().sync()
    good = shop.publisher.live().runbooks["a.md"]
    shop.write({"a.md": "---\nowner: ana\n---\n"})
    with caplog.at_level(logging.WARNING):
        report = shop.publisher.sync()
    assert [(r.path, r.reason) for r in report.refused] == [("a.md", "it is empty below the front matter")]
    kept = shop.publisher.live().runbooks["a.md"]
    assert (kept.stale, kept.text) == (True, good.text)
    assert "a.md" in caplog.text
    assert shop.find("alpha first")[0].path == "a.md"
    assert shop.start().live().runbooks["a.md"].stale
    shop.write({"a.md": f"---\nowner: ana\n---\n{body}"})
    assert shop.publisher.sync().embedded == 0
    assert not shop.publisher.live().runbooks["a.md"].stale


def test_a_page_whose_access_the_fault_may_have_changed_is_closed(shop: Shop) -> None:
    shop.start().sync()
    shop.write({"a.md": b"---\naudience: dba\n---\nnot UTF-8: \xe9\xe8"})
    report = shop.publisher.sync()
    assert (report.runbooks, [r.path for r in report.refused]) == (1, ["a.md"])
    assert "a.md" not in shop.publisher.live().runbooks
    assert "alpha" not in shop.texts()


# --- the embedding model fails --------------------------------------------------------------------------------


def test_a_passing_failure_is_tried_again(shop: Shop) -> None:
    calls: list[int] = []

    def fail(texts: Sequence[str]) -> None:
        calls.append(len(texts))
        if len(calls) < 3:
            raise EmbeddingFailed("HTTP 429")

    shop.embedder.fail = fail
    assert shop.start().sync().embedded == 3
    assert calls == [5, 5, 5]


def test_a_failure_half_way_publishes_nothing_and_keeps_what_was_embedded(shop: Shop) -> None:
    shop.start().sync()
    shop.write(generated(60))

    def fail(texts: Sequence[str]) -> None:
        if len(shop.embedder.texts) >= 5 + 128:
            raise EmbeddingFailed("HTTP 500")

    shop.embedder.fail = fail
    with pytest.raises(EmbeddingFailed, match="500"):
        shop.publisher.sync()
    assert len(shop.publisher.live().passages) == 3
    assert shop.find("charlie third")[0].path == "b/c.md"
    assert len(shop.start().live().passages) == 3
    with pytest.raises(EmbeddingFailed):
        shop.publisher.sync()
    assert shop.publisher.behind
    shop.embedder.fail = lambda texts: None
    report = shop.publisher.sync()
    assert not shop.publisher.behind
    assert (report.passages, report.embedded) == (183, 180 - 128)
    assert len(shop.stored()) == 183 + 62


def test_a_refused_batch_is_split(shop: Shop) -> None:
    shop.write(generated(30))

    def refuse(texts: Sequence[str]) -> None:
        if len(texts) > 10:
            raise EmbeddingRefused("HTTP 400")

    shop.embedder.fail = refuse
    report = shop.start().sync()
    assert (report.embedded, report.gists, len(shop.embedder.texts)) == (93, 32, 93 + 32)


def test_a_passage_that_is_refused_by_itself_is_named(shop: Shop) -> None:
    def refuse(texts: Sequence[str]) -> None:
        if any("charlie" in text for text in texts):
            raise EmbeddingRefused("HTTP 400")

    shop.embedder.fail = refuse
    with pytest.raises(EmbeddingRefused, match=r"b/c\.md:1: .*HTTP 400"):
        shop.start().sync()
    assert shop.publisher.live() == Snapshot()
    assert len(shop.embedder.texts) == 2
    shop.embedder.fail = lambda texts: None
    assert shop.publisher.sync().embedded == 1


# --- another model --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimensions", [64, 96], ids=["same size", "other size"])
def test_another_model_builds_a_new_collection(shop: Shop, dimensions: int, caplog: pytest.LogCaptureFixture) -> None:
    """Case 11."""
    shop.start().sync()
    first, old = shop.embedder, shop.publisher.live().collection
    shop.embedder = CountingEmbedder("other", dimensions)
    with caplog.at_level(logging.WARNING):
        shop.start()
    assert first.fingerprint in caplog.text
    assert shop.embedder.fingerprint in caplog.text
    assert set(shop.publisher.live().runbooks) == {"a.md", "b/c.md"}
    with pytest.raises(IndexUnavailable):
        shop.find("charlie third")
    report = shop.publisher.sync()
    assert (report.passages, report.embedded) == (3, 3)
    assert shop.find("charlie third")[0].path == "b/c.md"
    new = shop.publisher.live().collection
    assert set(shop.collections()) == {old, new}
    shop.start()
    assert shop.collections() == [new]
    shop.embedder = first
    assert shop.start().sync().embedded == 0
    assert shop.find("charlie third")[0].path == "b/c.md"


def test_the_old_index_serves_while_the_new_one_is_built(shop: Shop) -> None:
    shop.start().sync()
    first = shop.embedder
    shop.embedder = CountingEmbedder("other", 64)
    shop.options = {"earlier": {first.fingerprint: first}.get}
    found: list[tuple[str, str]] = []

    def ask(texts: Sequence[str]) -> None:
        live = shop.publisher.live()
        embedder = shop.publisher.embedder_of(live)
        nearest = shop.store.query(
            live.collection, embedder.embed(["charlie third"], "query")[0], list(live.passages), 1
        )
        found.append((embedder.fingerprint, live.passages[nearest[0][0]].runbook))

    shop.embedder.fail = ask
    shop.start()
    shop.write({"b/d.md": page("Dates", "delta fourth")})
    assert shop.publisher.sync().embedded == 4
    assert found == [(first.fingerprint, "b/c.md")]
    assert shop.publisher.embedder_of(shop.publisher.live()) is shop.embedder
    assert shop.find("delta fourth")[0].path == "b/d.md"
    with pytest.raises(IndexUnavailable):
        shop.publisher.embedder_of(Snapshot(embedder="a third/1"))


def test_other_rules_for_passages_leave_the_old_index_serving(shop: Shop) -> None:
    shop.start().sync()
    shop.options = {"chunking": "other"}
    live = shop.start().live()
    assert shop.find("charlie third")[0].path == "b/c.md"
    assert shop.publisher.sync().embedded == 0
    assert shop.publisher.live().collection != live.collection
    assert shop.find("charlie third")[0].path == "b/c.md"


def test_a_build_for_another_model_that_fails_leaves_the_old_index(shop: Shop) -> None:
    shop.start().sync()
    first, old = shop.embedder, shop.publisher.live().collection
    shop.embedder = CountingEmbedder("other", 96)

    def down(texts: Sequence[str]) -> None:
        raise EmbeddingFailed("no answer in time")

    shop.embedder.fail = down
    shop.start()
    with pytest.raises(EmbeddingFailed):
        shop.publisher.sync()
    shop.embedder = first
    assert shop.start().live().collection == old
    assert shop.find("charlie third")[0].path == "b/c.md"
    assert shop.publisher.sync().embedded == 0


def test_a_model_whose_vectors_change_size_is_noticed(shop: Shop) -> None:
    shop.start().sync()
    shop.embedder = CountingEmbedder("words", 96)
    shop.embedder.__class__ = type("Renamed", (CountingEmbedder,), {"fingerprint": "words:64"})
    shop.start()
    shop.write({"a.md": page("Apples", "alpha first", "delta instead")})
    with pytest.raises(EmbeddingFailed, match="another size"):
        shop.publisher.sync()
    assert shop.publisher.sync().embedded == 3
    assert shop.find("delta instead")[0].path == "a.md"


# --- at the same time -----------------------------------------------------------------------------------------


def test_readers_see_whole_states_while_it_syncs(shop: Shop) -> None:
    shop.write({f"w{n}.md": page(f"W{n}", "version0 words") for n in range(20)})
    shop.start().sync()
    wrong: list[str] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            live = shop.publisher.live()
            versions = {p.text.split("version")[1][0] for p in live.passages.values() if p.runbook.startswith("w")}
            vector = shop.embedder.embed(["words"], "query")[0]
            found = shop.store.query(live.collection, vector, list(live.passages), 5)
            if len(versions) != 1 or len(found) != 5:
                wrong.append(f"{versions} {found}")

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for version in range(1, 5):
            shop.write({f"w{n}.md": page(f"W{n}", f"version{version} words") for n in range(20)})
            shop.publisher.sync()
    finally:
        done.set()
        asking.join()
    assert wrong == []


def test_two_syncs_at_once_do_one_after_the_other(shop: Shop) -> None:
    shop.start()
    reports = []
    threads = [threading.Thread(target=lambda: reports.append(shop.publisher.sync())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.embedded for report in reports) == [0, 0, 3]


def test_replicas_see_what_one_of_them_published(chroma_url: str, postgres_url: str, tmp_path: Path) -> None:
    urls = {"chroma_url": chroma_url, "database_url": postgres_url}
    with shop_in(tmp_path / "one", **urls) as one, shop_in(tmp_path / "two", **urls) as two:
        pages = {"a.md": page("Apples", "alpha first", "bravo second")}
        for shop in (one, two):
            shop.write(pages)
            shop.start()
        assert one.publisher.sync().embedded == 2
        assert two.publisher.sync().embedded == 0
        assert two.publisher.live() == one.publisher.live()
        one.write({"a.md": page("Apples", "alpha first", "delta instead")})
        one.publisher.sync()
        assert two.find("bravo second")[0].path == "a.md"  # the replaced passage stays for questions on their way
        assert "delta" in "".join(p.text for p in two.publisher.tend().passages.values())
        assert two.publisher.live() == one.publisher.live()
        assert two.find("delta instead")[0].path == "a.md"


def test_another_bots_collections_are_left_alone(chroma_url: str, tmp_path: Path) -> None:
    with (
        shop_in(tmp_path / "one", chroma_url=chroma_url) as one,
        shop_in(tmp_path / "two", chroma_url=chroma_url) as two,
    ):
        for shop in (one, two):
            shop.write({"a.md": page(shop.pages.parent.name, "alpha first")})
            shop.start().sync()
        one.start()
        assert one.find("alpha first")[0].title == "one"
        assert two.find("alpha first")[0].title == "two"


def test_an_index_with_other_gists_is_made_up_before_it_serves(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.library.publish.GISTS_VERSION", "0")
    shop.start().sync()
    before = shop.publisher.live()
    monkeypatch.undo()
    assert shop.start().live().collection == ""
    report = shop.publisher.sync()
    assert (report.embedded, report.gists) == (0, 0)  # the vector cache has them
    assert shop.publisher.live().collection not in ("", before.collection)
    assert shop.find("charlie third")[0].path == "b/c.md"


def test_progress_is_told_to_the_end(shop: Shop) -> None:
    told: list[tuple[str, int, int]] = []
    shop.write(generated(200))
    shop.start().sync(lambda what, done, of: told.append((what, done, of)))
    assert [t for t in told if t[0] == "reading"][-1] == ("reading", 202, 202)
    assert [t for t in told if t[0] == "cutting"][-1] == ("cutting", 202, 202)
    assert [t for t in told if t[0] == "indexing"] == [("indexing", 512, 805), ("indexing", 805, 805)]


def test_a_sync_with_a_clock_that_only_touches_files_publishes_nothing(shop: Shop) -> None:
    shop.start().sync()
    os.utime(shop.pages / "a.md")
    assert shop.publisher.sync().embedded == 0
    assert shop.publisher.live().generation == 1
