# ruff: noqa: E501
"""What `eval` counts, and `eval` itself from its file to its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli import app, commands  # noqa: F401  (registers `eval`)
from bot.errors import ConfigurationError
from bot.evaluation import (
    Ranked,
    Result,
    Row,
    auroc,
    figures,
    fitted_line,
    grouped,
    misses,
    read_rows,
    summary,
    with_line,
)  # fmt: skip

PAGES = {
    "disk.md": "# Disk full\n\n## Checks\n\n1. Look at what is full:\n\n```sh\ndf -h\n```\n",
    "dns.md": "# DnsFailing\n\nNames do not resolve, SERVFAIL.\n\n## Checks\n\n1. Ask the resolver:\n\n```sh\ndig +short shop\n```\n",
}  # fmt: skip
ROWS: list[dict[str, Any]] = [
    {"id": "a", "tier": "posted", "query": "[FIRING:1] DnsFailing (prod)\nNames do not resolve.", "expected": ["dns.md"]},
    {"id": "b", "tier": "asked", "query": "the disk is full", "expected": ["disk.md", "gone.md"], "expected_heading": "Checks"},
    {"id": "c", "tier": "asked", "query": "names do not resolve: SERVFAIL", "expected": ["disk.md"], "service": "dns"},
    {"id": "d", "query": "who brings cake on friday?", "expected": []},
    {"id": "e", "tier": "feedback_wrong", "query": "the disk is full", "expected": [], "not_expected": ["disk.md"]},
]  # fmt: skip


def result(expected: list[str], *ranked: tuple[str, float], answered: bool = True, **more: Any) -> Result:
    row = Row(query="q", expected=tuple(expected), **more)
    pages = tuple(Ranked(path=path, score=score, route="meaning and words") for path, score in ranked)
    return Result(row=row, ranked=pages, answered=answered, ms=10.0, parts={"search": 5.0})


def test_hits_count_the_ranking_and_answers_the_decision() -> None:
    found = figures(
        [
            result(["a"], ("a", 0.9), ("b", 0.2)),
            result(["a", "b"], ("x", 0.5), ("b", 0.4), answered=False),
            result(["a"], ("x", 0.5), answered=False),
            result(["a"], ("x", 0.9), ("y", 0.8), ("z", 0.7), ("a", 0.6)),
        ]
    )
    assert found == {"n": 4, "hit@1": 0.25, "hit@3": 0.5, "mrr": round((1 + 0.5 + 0 + 0.25) / 4, 4), "unanswered": 0.5}
    assert figures([result([], ("x", 0.9)), result([], answered=False)]) == {"n": 2, "answered": 0.5}


def test_the_area_is_the_chance_of_the_right_order() -> None:
    assert auroc([result(["a"], ("a", 0.9)), result(["a"], ("a", 0.4)), result([], ("x", 0.5))]) == 0.5
    assert auroc([result(["a"], ("a", 0.5)), result([], ("x", 0.5))]) == 0.5
    assert auroc([result(["a"], ("a", 0.9))]) is None


def test_the_fitted_line_lets_few_unanswerable_questions_through() -> None:
    rows = [result([], ("x", n / 100)) for n in range(40)] + [result(["a"], ("a", 0.6 + n / 100)) for n in range(20)]
    line = fitted_line(rows)
    decided = with_line(rows, line)
    assert figures([r for r in decided if not r.row.expected])["answered"] <= 0.05
    assert figures([r for r in decided if r.row.expected])["unanswered"] == 0
    with pytest.raises(ConfigurationError, match="expected"):
        fitted_line([result(["a"], ("a", 0.5))])


def test_misses_show_the_surest_first() -> None:
    rows = [
        result(["a"], ("x", 0.4)),
        result(["a"], ("a", 0.9)),
        result([], ("x", 0.8)),
        result([], ("x", 0.1), answered=False),
    ]
    assert [miss.score for miss in misses(rows, 5)] == [0.8, 0.4]
    assert len(misses(rows, 1)) == 1


def test_figures_are_grouped_by_what_was_asked_for() -> None:
    rows = [result(["a"], ("a", 1), source="x"), result(["a"], ("b", 1), source="y"), result(["a"], ("a", 1))]
    assert {name: found["hit@1"] for name, found in grouped(rows, "source").items()} == {"-": 1, "x": 1, "y": 0}


@pytest.mark.parametrize(
    ("line", "word"),
    [("{", ":2: "), ('{"expected": []}', "query"), ('{"query": "q", "expected": "a.md"}', "expected")],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str, word: str) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "q", "expected": ["a.md"]}\n' + line)
    with pytest.raises(ConfigurationError) as caught:
        read_rows(file)
    assert word in str(caught.value)
    assert ":2: " in str(caught.value)


def test_a_file_without_questions_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text("\n\n")
    with pytest.raises(ConfigurationError, match="no questions"):
        read_rows(tmp_path / "q.jsonl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    (folder / "pages").mkdir()
    for path, text in PAGES.items():
        (folder / "pages" / path).write_text(text)
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return folder


def run(folder: Path, *options: str) -> str:
    where = [str(folder / "q.jsonl"), "--runbooks", str(folder / "pages"), "--data", str(folder / "data")]
    done = CliRunner().invoke(app, ["eval", *where, *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_eval_prints_the_figures_of_every_tier_as_json(folder: Path) -> None:
    report = json.loads(run(folder, "--json"))
    assert report["tiers"]["posted"] == {"n": 1, "hit@1": 1, "hit@3": 1, "mrr": 1, "unanswered": 0}
    assert report["tiers"]["asked"]["hit@1"] == 0.5
    assert report["tiers"]["asked"]["hit@3"] == 1
    assert report["tiers"]["asked"]["heading"] == 1
    assert report["tiers"]["noanswer"] == {"n": 1, "answered": 0}
    assert set(report["tiers"]["feedback_wrong"]) == {"n", "wrong again"}
    assert report["auroc"] == 1
    assert set(report["ms"]) == {"p50", "p95"}


def test_eval_compares_shows_misses_and_fits_a_line(folder: Path) -> None:
    text = run(folder, "--compare", "--misses", "3", "--calibrate", "--by", "service")
    for word in ("words alone", "meaning alone", "wanted: disk.md", "SEARCH_LINE="):
        assert word in text


def test_a_summary_holds_the_median_of_each_part() -> None:
    assert summary([result(["a"], ("a", 1))] * 3)["parts_ms"] == {"search": 5.0}


WANTED = {"posted": (0.92, 0.97), "noname": (0.90, 0.96), "noname_strict": (0.60, 0.78), "paraphrase": (0.50, 0.70)}


ROUNDING = 0.015
"""The model's int8 weights give slightly other vectors on another processor: two questions of the smallest tier."""


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_on_the_606_pages_the_wanted_figures_are_reached(shared: Path, tmp_path: Path) -> None:
    pages, queries = shared / "eval" / "dev" / "corpus", shared / "eval" / "dev" / "queries.jsonl"
    command = ["eval", str(queries), "--runbooks", str(pages), "--data", str(tmp_path / "data"), "--json"]
    found = json.loads(CliRunner().invoke(app, command, catch_exceptions=False).stdout)
    for tier, (first, three) in WANTED.items():
        assert found["tiers"][tier]["hit@1"] >= first - ROUNDING
        assert found["tiers"][tier]["hit@3"] >= three - ROUNDING
    assert found["tiers"]["noanswer"]["answered"] <= 0.05 + ROUNDING
    answerable = [figures for tier, figures in found["tiers"].items() if tier != "noanswer"]
    assert sum(f["n"] * f["unanswered"] for f in answerable) / sum(f["n"] for f in answerable) <= 0.10 + ROUNDING
