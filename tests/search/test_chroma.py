"""The vector store, embedded and as a server: the same tests for both. Then what damage does to each."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from bot.errors import ConfigurationError, IndexDamaged, IndexUnavailable
from bot.search.chroma import ChromaServer, ChromaStore, EmbeddedChroma
from tests.chroma_server import chroma_server
from tests.conftest import free_port

SIZE = 16


@pytest.fixture(params=["embedded", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ChromaStore]:
    if request.param == "embedded":
        made: ChromaStore = EmbeddedChroma(tmp_path / "chroma")
    else:
        made = ChromaServer(request.getfixturevalue("chroma_url"))
        for name in made.collections():
            made.drop(name)
    yield made
    made.close()


def vectors(count: int, *, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, SIZE)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def fill(store: ChromaStore, count: int, name: str = "runbooks-a") -> tuple[list[str], np.ndarray]:
    ids, rows = [f"p{n}" for n in range(count)], vectors(count)
    store.create(name, "model/1")
    store.add(name, ids, rows, [f"text {n}" for n in range(count)])
    return ids, rows


def test_a_query_finds_the_nearest_of_the_ids_and_of_no_others(store: ChromaStore) -> None:
    ids, rows = fill(store, 3000)
    allowed = ids[500:700]
    for wanted in (rows[3], rows[555], vectors(1, seed=9)[0]):
        exact = rows[500:700] @ wanted
        found = store.query("runbooks-a", wanted, allowed, 10)
        best = np.argsort(-exact)[:10]
        assert [name for name, _ in found] == [allowed[n] for n in best]
        assert [score for _, score in found] == pytest.approx([float(exact[n]) for n in best], abs=1e-4)


@pytest.mark.parametrize("share", [0.01, 0.04, 0.3, 0.9])
def test_a_long_list_of_nearest_is_complete_and_exact_at_the_top(store: ChromaStore, share: float) -> None:
    ids, rows = fill(store, 2000)
    allowed = [name for name, luck in zip(ids, np.random.default_rng(5).random(2000), strict=True) if luck < share]
    positions = {name: n for n, name in enumerate(ids)}
    for query in vectors(5, seed=3):
        found = store.query("runbooks-a", query, allowed, 200)
        exact = sorted(allowed, key=lambda name: -float(rows[positions[name]] @ query))
        assert len(found) == min(200, len(allowed))
        assert len({name for name, _ in found}) == len(found)
        assert {name for name, _ in found} <= set(allowed)
        assert [name for name, _ in found][:10] == exact[:10]


def test_without_ids_the_nearest_of_all_are_found_more_than_there_are_or_not(store: ChromaStore) -> None:
    ids, rows = fill(store, 300)
    for query in vectors(5, seed=4):
        exact = [ids[n] for n in np.argsort(-(rows @ query))]
        assert [name for name, _ in store.query("runbooks-a", query, None, 40)] == exact[:40]
        assert sorted(name for name, _ in store.query("runbooks-a", query, None, 900)) == sorted(ids)


def test_no_ids_or_no_limit_find_nothing(store: ChromaStore) -> None:
    ids, rows = fill(store, 5)
    assert store.query("runbooks-a", rows[0], [], 10) == []
    assert store.query("runbooks-a", rows[0], ids, 0) == []
    assert [name for name, _ in store.query("runbooks-a", rows[0], ["p3"], 10)] == ["p3"]


def test_an_id_without_a_vector_is_damage_and_not_less_to_find(store: ChromaStore) -> None:
    ids, rows = fill(store, 50)
    with pytest.raises(IndexDamaged):
        store.query("runbooks-a", rows[0], [*ids, "never written"], 10)
    with pytest.raises(IndexDamaged):
        store.check("runbooks-a", [*ids, "never written"])
    store.delete("runbooks-a", ["p7"])
    with pytest.raises(IndexDamaged):
        store.query("runbooks-a", rows[0], ids, 10)
    with pytest.raises(IndexDamaged):
        store.check("runbooks-a", ids)


def test_a_collection_that_is_not_there_is_no_empty_one(store: ChromaStore) -> None:
    with pytest.raises(IndexUnavailable):
        store.query("runbooks-none", vectors(1)[0], ["p1"], 3)
    with pytest.raises(IndexUnavailable):
        store.query("", vectors(1)[0], ["p1"], 3)
    with pytest.raises(IndexDamaged):
        store.check("runbooks-none", ["p1"])
    assert store.ids("runbooks-none") == set()
    store.drop("runbooks-none")


def test_a_vector_of_another_size_is_damage(store: ChromaStore) -> None:
    ids, _ = fill(store, 10)
    with pytest.raises(IndexDamaged):
        store.query("runbooks-a", np.ones(SIZE + 1, np.float32), ids, 3)
    with pytest.raises(IndexDamaged):
        store.add("runbooks-a", ["other"], np.ones((1, SIZE + 1), np.float32), ["text"])


def test_nearly_everything_deleted_leaves_the_rest_to_be_found(store: ChromaStore) -> None:
    """Case 16 f."""
    ids, rows = fill(store, 2600)
    store.delete("runbooks-a", ids[: 2600 * 95 // 100])
    rest = ids[2600 * 95 // 100 :]
    allowed = [rest[0], rest[50], rest[-1]]
    assert {name for name, _ in store.query("runbooks-a", rows[0], allowed, 10)} == set(allowed)
    assert store.ids("runbooks-a") == set(rest)
    store.check("runbooks-a", rest)
    store.delete("runbooks-a", ["never there", rest[0]])
    assert store.ids("runbooks-a") == set(rest[1:])


def test_the_last_write_of_an_id_counts(store: ChromaStore) -> None:
    ids, rows = fill(store, 20)
    store.add("runbooks-a", ["p3"], rows[4:5], ["other text"])
    found = dict(store.query("runbooks-a", rows[4], ids, 20))
    assert found["p3"] == pytest.approx(1, abs=1e-4)
    assert store.ids("runbooks-a") == set(ids)


def test_collections_stand_beside_each_other(store: ChromaStore) -> None:
    fill(store, 3, "runbooks-a")
    fill(store, 4, "runbooks-b")
    store.create("runbooks-b", "model/1")
    assert sorted(store.collections()) == ["runbooks-a", "runbooks-b"]
    store.drop("runbooks-a")
    assert store.collections() == ["runbooks-b"]
    assert len(store.ids("runbooks-b")) == 4


def test_more_than_one_page_of_ids_is_listed(store: ChromaStore) -> None:
    ids, _ = fill(store, 4100)
    assert store.ids("runbooks-a") == set(ids)
    store.check("runbooks-a", ids)


def test_a_server_that_is_not_there_is_index_unavailable() -> None:
    with pytest.raises(IndexUnavailable):
        ChromaServer(f"http://127.0.0.1:{free_port()}")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "http://host/path", "nonsense"])
def test_an_address_that_is_none_says_which_setting(url: str) -> None:
    with pytest.raises(ConfigurationError, match="CHROMA_URL"):
        ChromaServer(url)


class Recorder(BaseHTTPRequestHandler):
    """Refuses everybody, or never answers; notes the headers."""

    seen: ClassVar[list[str]] = []
    hangs = False

    def do_GET(self) -> None:
        self.seen.append(f"{self.headers['Authorization']} {self.headers['X-Chroma-Token']}")
        if self.hangs:
            self.rfile.read(1)
        self.send_response(401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("hangs", [False, True], ids=["refuses the token", "never answers"])
def test_a_server_that_does_not_let_us_in_is_index_unavailable(hangs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorder, "hangs", hangs)
    monkeypatch.setattr("bot.search.chroma._CONNECT", 0.5)
    Recorder.seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        with pytest.raises(IndexUnavailable, match="out of reach"):
            ChromaServer(f"http://127.0.0.1:{server.server_address[1]}", "a token")
        server.shutdown()
        serving.join()
    assert Recorder.seen == ["Bearer a token a token"]


def test_a_server_that_goes_away_is_index_unavailable_and_not_damage(tmp_path: Path) -> None:
    with chroma_server(tmp_path / "data", free_port()) as url:
        store = ChromaServer(url)
        ids, rows = fill(store, 10)
    for ask in (
        lambda: store.query("runbooks-a", rows[0], ids, 3),
        lambda: store.check("runbooks-a", ids),
        lambda: store.ids("runbooks-a"),
        store.collections,
    ):
        with pytest.raises(IndexUnavailable) as caught:
            ask()
        assert not isinstance(caught.value, IndexDamaged)
    store.close()
