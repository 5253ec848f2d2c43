"""The cases of other people's faults that concern loading and cutting (shared/cases), on their own input files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.library.load import load_library
from bot.library.models import Library, Passage
from bot.library.passages import cut
from bot.library.ports import Embedder

Case = Callable[[str], tuple[Library, list[Passage]]]


@pytest.fixture
def case(shared: Path, embedder: Embedder) -> Case:
    """Loads and cuts the input of a case."""

    def read(folder: str) -> tuple[Library, list[Passage]]:
        library = load_library(shared / "cases" / folder, clean=str)
        return library, [passage for runbook in library.runbooks for passage in cut(runbook, embedder)]

    return read


def holders(passages: list[Passage], marker: str) -> list[Passage]:
    return [passage for passage in passages if marker in passage.text]


def test_case_03_a_rule_at_the_top_eats_nothing(case: Case) -> None:
    library, passages = case("03-leading-rule-eats-intro/input")
    for marker in ("MARKER03-A", "MARKER03-B", "MARKER03-C1", "MARKER03-C2", "MARKER03-C3"):
        assert len(holders(passages, marker)) == 1
    titles = {page.path: page.title for page in library.runbooks}
    assert titles == {
        "a-warning-box.md": "Broker restart",
        "b-warning-colon.md": "Primary restart",
        "c-rules-in-body.md": "Disk almost full",
    }


def test_case_04_values_are_as_written_and_a_bad_date_refuses_one_page(case: Case) -> None:
    library, passages = case("04-yaml-guesses-types/input")
    (page,) = [page for page in library.runbooks if page.path == "types.md"]
    assert (page.title, page.services, page.owner, page.tags) == ("2024-05-01", ("no",), "", ("disk", "pvc"))
    assert str(page.last_reviewed) == "2024-05-01"
    assert "version: 1.10\nrunbook_id: 0123" in page.text
    assert holders(passages, "MARKER04-TYPES")
    assert holders(passages, "MARKER04-NORMAL")
    assert [(r.path, r.line) for r in library.refusals] == [("bad-date.md", 3)]


def test_case_07_every_row_keeps_its_header(case: Case) -> None:
    _, passages = case("07-table-header-lost/input")
    (row,) = holders(passages, "MARKER07-E41")
    assert "| code | meaning | first action |" in row.context + row.text
    assert all(line.endswith("|") for p in passages for line in p.text.split("\n") if line.startswith("|"))


def test_case_09_the_tail_is_in_a_passage_of_its_own_size(case: Case, embedder: Embedder) -> None:
    _, passages = case("09-tail-past-model-window/input")
    (tail,) = holders(passages, "MARKER09-TAIL")
    assert embedder.count_tokens(tail.text) <= embedder.window
    assert len(passages) > 3


def test_case_12_what_is_gone_from_the_folder_is_gone_from_the_passages(case: Case) -> None:
    _, before = case("12-shrunk-renamed-removed/v1")
    _, after = case("12-shrunk-renamed-removed/v2")
    assert holders(before, "MARKER12-PART6")
    assert not holders(after, "MARKER12-PART3")
    assert not holders(after, "MARKER12-REMOVED")
    assert [p.runbook for p in holders(after, "MARKER12-RENAMED")] == ["new-name.md"]
    kept = {p.id for p in before} & {p.id for p in after}
    assert {p.text for p in after if p.id in kept} >= {p.text for p in before if "MARKER12-PART2" in p.text}


def test_case_13_same_names_and_headings_do_not_collide(case: Case) -> None:
    _, passages = case("13-id-collision/input")
    assert len({passage.id for passage in passages}) == len(passages)
    assert [p.runbook for p in holders(passages, "MARKER13-A")] == ["team-a/restart.md"]
    assert [p.runbook for p in holders(passages, "MARKER13-B")] == ["team-b/restart.md"]
    for marker in ("MARKER13-R1", "MARKER13-R2", "MARKER13-R3"):
        assert len(holders(passages, marker)) == 1
    assert case("13-id-collision/input")[1] == passages


def test_case_15_an_empty_access_list_of_the_pages_own_closes_it(shared: Path, tmp_path: Path) -> None:
    for file in (shared / "cases/15-filter-semantics-leak/input").glob("*.md"):
        (tmp_path / file.name).write_text(file.read_text().replace("access:", "audience:"))
    audiences = {page.path: page.audience for page in load_library(tmp_path, clean=str).runbooks}
    assert audiences == {"dba.md": ("dba",), "emptyacl.md": (), "noacl.md": None, "open.md": ("everyone",)}
