"""Gists: what a page is for, one for a page, and one for each section of a page that collects alerts."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from bot.library.gists import Gist, gists_of
from bot.library.load import read_page
from bot.library.models import Runbook
from bot.library.passages import cut
from bot.library.ports import Embedder

PAGE = """# Queue is full

## Meaning

The queue holds more than it may. Producers wait.

## Diagnosis

1. Count with `qctl depth`.

## Impact

Orders are late.
"""
COLLECTION = """# Storage alerts

How we keep the disks.

## DiskGone

A disk left the array.

### What to do

1. Seat it again.

## DiskSlow

Reads take long.

## `DiskFull`

No space is left.
"""


def gists(text: str, embedder: Embedder, path: str = "page.md") -> tuple[Runbook, list[Gist]]:
    runbook = read_page(path, text.encode(), clean=lambda text: text)
    return runbook, list(gists_of(runbook, cut(runbook, embedder)))


def test_a_page_has_one_gist_of_its_title_and_what_it_says_it_is_for(embedder: Embedder) -> None:
    _, [gist] = gists(PAGE, embedder)
    assert gist.text == "Queue is full. The queue holds more than it may. Producers wait. Orders are late."
    assert (gist.title, gist.runbook, gist.start_line) == ("Queue is full", "page.md", 1)


def test_a_collection_has_a_gist_for_each_alert_and_for_the_rest(embedder: Embedder) -> None:
    runbook, found = gists(COLLECTION, embedder)
    assert [gist.title for gist in found] == ["Storage alerts", "DiskGone", "DiskSlow", "DiskFull"]
    assert found[0].text == "Storage alerts. How we keep the disks."
    assert found[1].text == "DiskGone. A disk left the array. Seat it again."
    of_section = [p.headings for p in cut(runbook, embedder) if p.id in found[1].passages]
    assert of_section
    assert all("DiskGone" in headings for headings in of_section)


def test_two_alerts_are_no_collection_and_neither_are_three_in_a_long_page(embedder: Embedder) -> None:
    assert len(gists(COLLECTION.replace("## `DiskFull`", "## Full disks"), embedder)[1]) == 1
    much = "".join(f"\n## Chapter {n}\n\nWords of chapter {n}.\n" for n in range(9))
    assert len(gists(COLLECTION + much, embedder)[1]) == 1


def test_a_page_whose_heading_is_its_own_name_is_no_collection(embedder: Embedder) -> None:
    text = "---\ntitle: Disk Gone\n---\n# DiskGone\n\n## Meaning\n\nA disk left.\n\n## Diagnosis\n\nLook at it.\n"
    assert [gist.title for gist in gists(text, embedder, "alerts/DiskGone.md")[1]] == ["Disk Gone"]


@given(
    st.lists(st.sampled_from(["# A\n", "## DiskGone\n", "## DiskSlow\n", "## DiskFull\n", "### x\n", "Words. ", "\n"]))
)
def test_every_passage_belongs_to_one_gist(embedder: Embedder, parts: list[str]) -> None:
    runbook = read_page("page.md", ("# Page\n\nText.\n" + "\n".join(parts)).encode(), clean=lambda text: text)
    passages = cut(runbook, embedder)
    found = list(gists_of(runbook, passages))
    assert sorted(id for gist in found for id in gist.passages) == sorted(passage.id for passage in passages)
    assert len({gist.id for gist in found}) == len(found)
    assert all(gist.runbook == "page.md" and len(gist.text.encode()) <= 710 for gist in found)


def test_an_edit_below_the_purpose_leaves_the_gist_as_it_is(embedder: Embedder) -> None:
    edited = PAGE.replace("qctl depth", "qctl count")
    assert [c.id for c in gists(PAGE, embedder)[1]] == [c.id for c in gists(edited, embedder)[1]]


def test_a_page_without_words_has_no_gist(page: Callable[[str], Runbook]) -> None:
    assert list(gists_of(page("# Title\n\nWords.\n"), ())) == []
