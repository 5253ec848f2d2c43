# ruff: noqa: E501
"""The search over the sample runbooks, in a real index with the real local model; and over small made-up libraries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bot.access.models import Place, PlaceKind
from bot.answering.classify import classify
from bot.errors import EmbeddingFailed, IndexUnavailable
from bot.library.load import load_library
from bot.library.models import Snapshot
from bot.library.ports import Embedder
from bot.library.publish import Publisher
from bot.records.database import open_database
from bot.records.manifest import SqlManifest
from bot.records.vectors import SqlVectorCache
from bot.search.chroma import EmbeddedChroma
from bot.search.embedders import LocalEmbedder
from bot.search.models import Findings, Query
from bot.search.search import Search
from tests.conftest import ROOT

QUESTIONS = [json.loads(line) for line in (Path(__file__).parent / "questions.jsonl").read_text().splitlines()]
MADE_UP = {
    "alerts/QueueStuck.md": "# QueueStuck\n\n## Meaning\n\nMessages are not taken from the queue.\n\n## Diagnosis\n\n1. Count them:\n\n```sh\nqctl depth\n```\n",
    "alerts/copy/QueueStuck.md": "# QueueStuck\n\n## Meaning\n\nMessages are not taken from the queue.\n\n## Diagnosis\n\n1. Count them all:\n\n```sh\nqctl depth\n```\n",
    "alerts/worker.md": "---\ntitle: Worker trouble\nalerts: [WorkerGone, WorkerLost]\nservice: worker\n---\n\nThe worker left.\n\n```sh\nworkerctl ps\n```\n",
    "playbooks.md": "# Playbooks\n\n## LeaseExpired\n\nA lease ran out. Renew with `leasectl renew`.\n\n## TapeJammed\n\nThe tape is jammed, error ZX-4711. Run `tapectl eject`.\n",
    "docs/queues.md": "# About queues\n\nA queue holds messages until a worker takes them. Messages wait in the queue.\n",
    "secret/vault.md": "# VaultSealed\n\nThe vault is sealed with quorum keys. Unseal the vault. Messages in the queue QueueStuck WorkerGone.\n",
}  # fmt: skip


class Library:
    """One folder, published, and a search over it."""

    def __init__(self, pages: Path, data: Path, embedder: Embedder) -> None:
        self.engine = open_database(data / "records.db")
        self.store = EmbeddedChroma(data / "chroma")
        self.publisher = Publisher(
            load=lambda known, progress: load_library(pages, clean=str, known=known, progress=progress),
            embedder=embedder,
            store=self.store,
            manifest=SqlManifest(self.engine),
            vectors=SqlVectorCache(self.engine),
        )
        self.publisher.open()
        self.publisher.sync()
        self.search = Search(self.publisher.live, self.store, embedder)

    @property
    def live(self) -> Snapshot:
        return self.publisher.live()

    def ask(self, text: str, *, without: str = "", **more: object) -> Findings:
        place = Place("C0", PlaceKind.PUBLIC)
        _, query = classify(text, alert=None, hint=None, channel=place, catalogue=self.live.catalogue)
        return self.find(query, without=without, **more)

    def find(self, query: Query, *, without: str = "", **more: object) -> Findings:
        allowed = {path for path in self.live.runbooks if not without or not path.startswith(without)}
        return self.search.find(query, allowed, **more)  # type: ignore[arg-type]

    def close(self) -> None:
        self.publisher.close()
        self.store.close()
        self.engine.dispose()


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, embedder: LocalEmbedder) -> Iterator[Library]:
    library = Library(ROOT / "runbooks", tmp_path_factory.mktemp("sample"), embedder)
    yield library
    library.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, embedder: LocalEmbedder) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("small")
    for path, text in MADE_UP.items():
        (folder / "pages" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "pages" / path).write_text(text)
    library = Library(folder / "pages", folder / "data", embedder)
    yield library
    library.close()


def first(found: Findings) -> str:
    return found.ranked[0].runbook.path


@pytest.mark.parametrize("row", [r for r in QUESTIONS if r["expected"]], ids=lambda row: row["query"][:40])
def test_a_question_in_other_words_finds_its_page_and_is_answered(sample: Library, row: dict[str, list[str]]) -> None:
    found = sample.ask(str(row["query"]))
    assert first(found) in row["expected"]
    assert found.hits
    assert found.hits[0].runbook.path == first(found)


@pytest.mark.parametrize("row", [r for r in QUESTIONS if not r["expected"]], ids=lambda row: row["query"][:40])
def test_what_no_page_answers_is_left_unanswered(sample: Library, row: dict[str, str]) -> None:
    assert sample.ask(row["query"]).hits == ()


def test_hits_are_at_most_four_passages_of_the_best_page_and_its_neighbours(sample: Library) -> None:
    found = sample.ask("FATAL: sorry, too many clients already")
    assert 1 < len(found.hits) <= 4
    assert len({hit.passage.id for hit in found.hits}) == len(found.hits)
    assert sum(hit.runbook.path == first(found) for hit in found.hits) >= 2
    assert any("```" in hit.passage.text for hit in found.hits)
    assert len(sample.ask("too many clients already", limit=1).hits) == 1


@pytest.mark.parametrize("url", ["https://wiki.example/alerts/worker", "https://git.example/x/alerts/worker.md#L3"])
def test_the_alerts_own_link_comes_first(small: Library, url: str) -> None:
    found = small.find(Query(text="messages wait in the queue", runbook_url=url))
    assert first(found) == "alerts/worker.md"
    assert found.ranked[0].route == "runbook link"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("WorkerGone", "alerts/worker.md"),
        ("QueueStuck", "alerts/QueueStuck.md"),
        ("TapeJammed", "playbooks.md"),
        ("Worker trouble", "alerts/worker.md"),
    ],
)
def test_a_name_that_is_claimed_or_borne_decides(small: Library, name: str, path: str) -> None:
    found = small.ask(f"[FIRING:1] {name} (prod critical)\nMessages wait in the queue.", without="secret")
    assert Path(first(found)).name == Path(path).name
    assert found.ranked[0].route == "alert name"
    assert found.hits


def test_the_passage_under_the_alerts_own_heading_comes_first(small: Library) -> None:
    found = small.ask("[FIRING:1] TapeJammed (prod)\nLease, lease, renew the lease.")
    assert "tapectl" in found.hits[0].passage.text


def test_a_rare_identifier_leads_to_its_page(small: Library) -> None:
    found = small.ask("what does ZX-4711 mean?")
    assert first(found) == "playbooks.md"
    assert found.ranked[0].route == "identifier"


def test_the_same_page_twice_takes_one_place(small: Library) -> None:
    paths = [hit.runbook.path for hit in small.ask("messages are not taken from the queue").ranked]
    assert sum(path.endswith("QueueStuck.md") for path in paths) == 1


def test_level_pages_come_in_the_same_order_every_time(small: Library) -> None:
    orders = {tuple(hit.runbook.path for hit in small.ask("queue worker lease tape").ranked) for _ in range(5)}
    assert len(orders) == 1


def test_a_service_narrows_and_where_it_gives_nothing_the_rest_is_searched(sample: Library) -> None:
    inside = sample.find(Query(text="memory is nearly full, keys are evicted", service="redis"))
    assert inside.scope == "service"
    assert {hit.runbook.path.split("/")[0] for hit in inside.hits} == {"redis"}
    outside = sample.find(Query(text="consumer group of the orders topic lags behind", service="identity"))
    assert outside.scope == "all"
    assert outside.hits[0].runbook.path == "kafka/consumer-lag.md"
    general = sample.find(Query(text="how do I declare an incident?", service="redis"))
    assert general.scope == "general"
    assert sample.find(Query(text="declare an incident", service="redis", wider=True)).scope == "all"


def test_a_page_that_is_not_allowed_leaves_no_trace_in_any_score(
    small: Library, tmp_path: Path, embedder: LocalEmbedder
) -> None:
    folder = tmp_path / "pages"
    for path, text in MADE_UP.items():
        if not path.startswith("secret"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    alone = Library(folder, tmp_path / "data", embedder)
    try:
        for text in ("unseal the vault with quorum keys", "QueueStuck", "messages in the queue", "VaultSealed"):
            masked, absent = small.ask(text, without="secret"), alone.ask(text)
            assert [h.runbook.path for h in masked.ranked] == [h.runbook.path for h in absent.ranked]
            assert np.allclose([h.score for h in masked.ranked], [h.score for h in absent.ranked], atol=1e-5)
            assert not any(hit.runbook.path.startswith("secret") for hit in (*masked.ranked, *masked.hits))
    finally:
        alone.close()


COLLECTION = (
    "# Storage\n\nHow disks are kept.\n\n"
    "## DiskGone\n\nA disk left the array.\n\n1. Seat the disk again: `diskctl seat`\n\n"
    "## DiskSlow\n\nReads of the array take long.\n\n1. Look for rebuilds: `diskctl rebuilds`\n\n"
    "## DiskWorn\n\nThe flash cells are worn out.\n\n1. Order a new one: `diskctl wear`\n"
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, embedder: LocalEmbedder) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("collection")
    (folder / "pages").mkdir()
    (folder / "pages" / "storage.md").write_text(COLLECTION)
    (folder / "pages" / "tapes.md").write_text("# Tapes\n\nTapes are read by a robot, which may jam.\n")
    library = Library(folder / "pages", folder / "data", embedder)
    yield library
    library.close()


@pytest.mark.parametrize(
    "query",
    [
        Query(text="Reads of the array take long."),
        Query(text="Something is wrong.", alert_name="DiskSlow"),
        Query(text="A disk left the array.", runbook_url="https://wiki.example/storage#diskslow"),
        Query(text="Is it gone?", alert_name="DiskSlow", runbook_url="https://wiki.example/storage"),
    ],
    ids=["its words", "its name", "a link to it", "a link to the file"],
)
def test_of_a_collection_the_section_that_is_meant_answers(collection: Library, query: Query) -> None:
    found = collection.find(query)
    assert [hit.runbook.path for hit in found.ranked].count("storage.md") == 1
    assert found.hits
    assert all("DiskSlow" in hit.passage.headings for hit in found.hits if hit.runbook.path == "storage.md")


def test_of_a_collection_another_section_answers_when_asked_again(collection: Library) -> None:
    before = collection.find(Query(text="A disk left the array, or reads take long."))
    shown = frozenset(hit.passage.id for hit in before.hits)
    after = collection.find(Query(text="A disk left the array, or reads take long.", wider=True), exclude=shown)
    assert after.ranked[0].runbook.path == "storage.md"
    assert after.ranked[0].passage.headings[-1] != before.hits[0].passage.headings[-1]


def test_what_may_not_be_opened_takes_no_place_among_the_nearest(tmp_path: Path, embedder: LocalEmbedder) -> None:
    """The few that may not be opened are looked up with the rest: here they are all nearer than what may be."""
    pages = tmp_path / "pages"
    for n in range(60):
        (pages / "secret").mkdir(parents=True, exist_ok=True)
        (pages / "secret" / f"boiler-{n}.md").write_text(f"# Boiler {n}\n\nThe boiler leaks, number {n}.\n")
    (pages / "lift.md").write_text("# Lift\n\nThe lift is stuck between floors.\n")
    library = Library(pages, tmp_path / "data", embedder)
    try:
        found = library.ask("the boiler leaks", without="secret")
        assert [hit.runbook.path for hit in found.ranked] == ["lift.md"]
        assert found.hits == ()
    finally:
        library.close()


def test_excluded_passages_are_not_shown_again(small: Library) -> None:
    before = small.ask("the tape is jammed")
    assert before.hits
    after = small.ask("the tape is jammed", exclude=frozenset(hit.passage.id for hit in before.hits))
    assert not {hit.passage.id for hit in before.hits} & {hit.passage.id for hit in (*after.hits, *after.ranked)}


def test_nothing_readable_is_nothing_found(small: Library) -> None:
    assert small.search.find(Query(text="queue"), set()).ranked == ()


def test_an_alert_of_ten_thousand_characters_still_finds_its_page(sample: Library) -> None:
    dump = "\n".join(f"label_{n} = value-{n * 7919:x}" for n in range(500))
    found = sample.ask(f"[FIRING:1] KafkaConsumerLagHigh (prod)\nThe consumer group is behind.\n{dump}")
    assert first(found) == "kafka/consumer-lag.md"
    assert found.hits


def test_an_edited_page_is_searched_at_once(tmp_path: Path, embedder: LocalEmbedder) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.md").write_text("# Alpha\n\nThe boiler leaks. Close the valve.\n")
    (pages / "b.md").write_text("# Beta\n\nThe fan is loud.\n")
    library = Library(pages, tmp_path / "data", embedder)
    try:
        assert first(library.ask("boiler leaks")) == "a.md"
        (pages / "a.md").write_text("# Alpha\n\nThe lift is stuck.\n")
        (pages / "b.md").write_text("# Beta\n\nThe boiler leaks.\n")
        library.publisher.sync()
        assert first(library.ask("boiler leaks")) == "b.md"
    finally:
        library.close()


def test_a_failure_is_never_nothing_found(small: Library, embedder: LocalEmbedder) -> None:
    class Broken:
        fingerprint = "broken"

        def embed(self, texts: list[str], kind: str) -> np.ndarray:
            raise EmbeddingFailed("gone")

    with pytest.raises(EmbeddingFailed):
        Search(small.publisher.live, small.store, Broken()).find(Query(text="queue"), set(small.live.runbooks))  # type: ignore[arg-type]
    with pytest.raises(IndexUnavailable):
        Search(Snapshot, small.store, embedder).find(Query(text="queue"), {"a.md"})
