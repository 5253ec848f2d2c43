"""606 real pages of five public collections: all that can be read is read right."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.library.load import load_library
from bot.library.models import Library

RULES = "prometheus-operator-runbooks/content/runbooks"


@pytest.fixture(scope="module")
def corpus(shared: Path) -> Library:
    return load_library(shared / "eval/dev/corpus", clean=str)


def test_what_cannot_be_read_is_named_and_the_rest_is_there(corpus: Library) -> None:
    assert len(corpus.runbooks) + len(corpus.refusals) == 606
    assert {refusal.path for refusal in corpus.refusals if "empty" not in refusal.reason} == {
        "prometheus-operator-runbooks/archetypes/default.md"
    }
    assert {Path(r.path).name for r in corpus.refusals if "empty" in r.reason} == {"_index.md"}


def test_titles_and_facts_are_read_from_every_kind_of_page(corpus: Library) -> None:
    pages = {page.path: page for page in corpus.runbooks}
    assert pages[f"{RULES}/node/NodeNetworkTransmitErrs.md"].title == "Node Network Transmit Errors"
    assert pages["promscale/docs/runbooks/PromscaleCompressionLow.md"].title == "PromscaleCompressionLow"
    owned = [page for page in corpus.runbooks if page.path.startswith("govuk")]
    assert all(page.owner.startswith(("#", "@")) and page.last_reviewed and page.review_after for page in owned)
    assert all(page.title and page.headings for page in corpus.runbooks if page.path.startswith("openshift"))


def test_every_heading_stands_on_its_line(corpus: Library) -> None:
    for page in corpus.runbooks:
        lines = page.text.split("\n")
        for _, title, line in page.headings:
            first = title.split()[0].strip("`*_[]<>")
            assert first in lines[line - 1].replace("\\", "").replace("`", ""), (page.path, line)


def test_a_section_below_an_unclosed_fence_is_a_section(corpus: Library) -> None:
    (page,) = [p for p in corpus.runbooks if p.path.endswith("PrometheusOperatorNodeLookupErrors.md")]
    assert page.headings[-1] == (2, "Mitigation", 23)
