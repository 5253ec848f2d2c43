"""What `lint` finds, in the folder and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bot.cli.commands  # noqa: F401  (registers every command)
from bot.cli import app
from bot.errors import EmptyLibrary
from bot.library.lint import Finding, lint

Folder = Callable[..., Path]

GOOD = "---\ntitle: Good\nservice: db\nowner: dba\nlast_reviewed: 2024-05-01\n---\nSee [the other](sub/other.md).\n"
OTHER = "---\nservice: db\nowner: dba\nlast_reviewed: 2024-05-01\n---\n[up](../good.html#x), [site](/x), [web](https://x.org)\n"


def findings(root: Path, **options: object) -> list[tuple[str, int, str]]:
    """(path, line, reason) of what is found."""
    return [(f.path, f.line, f.reason) for f in found(root, **options)]


def found(root: Path, **options: object) -> tuple[Finding, ...]:
    given = {"clean": str, "max_bytes": 10_000, "max_pages": 50, "review_after": 365, "today": date(2024, 6, 1)}
    return lint(root, **{**given, **options})[1]  # type: ignore[arg-type]


def test_a_good_folder_has_no_findings(folder: Folder) -> None:
    assert findings(folder({"good.md": GOOD, "sub/other.md": OTHER})) == []


@pytest.mark.parametrize(
    ("page", "line", "reason"),
    [
        (GOOD.replace("service: db", "x: y"), 1, "names no service"),
        (GOOD.replace("owner: dba", "owner:"), 4, "no owner"),
        (GOOD.replace("owner: dba", "x: y"), 1, "no owner"),
        (GOOD.replace("2024-05-01", "2023-05-01"), 5, "review by dba was due on 2024-04-30"),
        (GOOD.replace("last_reviewed", "noted"), 1, "nobody knows when"),
        (GOOD.replace("title: Good", "access: [dba]"), 2, "`access:` restricts nothing"),
        (GOOD.replace("title: Good", "Visibility: dba"), 2, "`visibility:` restricts nothing"),
        (GOOD.replace("title: Good", "audience: []"), 2, "closes it to everybody"),
        (GOOD.replace("title: Good", "audience: typo"), 2, "no audience 'typo'"),
        (GOOD.replace("service: db", "service: typo"), 3, "no service 'typo'"),
        (GOOD + "\n![shot](shots/a%20b.png)\n", 9, "shots/a b.png leads nowhere"),
        (GOOD + "\ntext\n[gone](gone.md)\n", 10, "gone.md leads nowhere"),
        ("# A\nService: db\nOwner: dba\nLast reviewed: May\n\nx", 4, "not a date"),
        (GOOD + "\nthe s3cr3t\n", 9, "secret"),
    ],
)
def test_each_fault_is_found_with_its_line(folder: Folder, page: str, line: int, reason: str) -> None:
    root = folder({"bad.md": page, "sub/other.md": OTHER, "good.md": GOOD, "services.yaml": "db: {}"})
    every = findings(root, knows_audience={"dba"}.__contains__, clean=lambda text: text.replace("s3cr3t", "[secret]"))
    assert next(f for f in every if reason in f[2])[:2] == ("bad.md", line)
    assert {f[0] for f in every} == {"bad.md"}


def test_an_alert_that_two_pages_claim_is_found(folder: Folder) -> None:
    page = GOOD.replace("title: Good", "alerts: [Same]").replace("sub/other.md", "")
    assert findings(folder({"a.md": page, "b.md": page.replace("Same", "same")})) == [
        ("b.md", 2, "the alert same is claimed by a.md too")
    ]


def test_the_catalogues_owner_is_an_owner(folder: Folder) -> None:
    root = folder(
        {"a.md": GOOD.replace("owner: dba", "x: y"), "sub/other.md": OTHER, "services.yaml": "db: {owner: dba}"}
    )
    (root / "a.md").rename(root / "good.md")
    assert findings(root) == []


def test_refused_pages_and_a_broken_catalogue_are_errors(folder: Folder) -> None:
    root = folder({"a.md": GOOD, "sub/other.md": OTHER, "b.md": "", "c.md": b"\xff\xfe", "services.yaml": "db: words"})
    errors = [f for f in found(root) if f.severity == "error"]
    assert [(f.path, f.line) for f in errors] == [("b.md", 1), ("c.md", 1), ("services.yaml", 1)]
    assert all(f.reason and f.fix for f in errors)


def test_every_page_refused_is_a_list_and_no_page_an_error(folder: Folder, tmp_path: Path) -> None:
    assert len(findings(folder({"a.md": "", "b.md": ""}))) == 2
    with pytest.raises(EmptyLibrary):
        findings(tmp_path / "nowhere")


def test_the_command_prints_findings_and_says_by_its_status_whether_a_page_is_lost(folder: Folder) -> None:
    root = folder({"good.md": GOOD, "sub/other.md": OTHER, "bad.md": "---\ntitle: [\n---\nx"})
    result = CliRunner().invoke(app, ["lint", str(root), "--json"])
    assert result.exit_code == 1
    (bad,) = [f for f in json.loads(result.stdout) if f["severity"] == "error"]
    assert (bad["path"], bad["line"]) == ("bad.md", 2)
    assert set(bad) == {"path", "line", "reason", "fix", "severity"}
    (root / "bad.md").unlink()
    result = CliRunner().invoke(app, ["lint", str(root)])
    assert result.exit_code == 0
    assert "good.md:5: warning: its review by dba was due" in result.stdout


def test_the_command_reports_rules_that_match_nothing(folder: Folder) -> None:
    root = folder({"good.md": GOOD, "sub/other.md": OTHER})
    policy = root.parent / "access.yaml"
    policy.write_text("default: members\nrules:\n  - paths: 'gone/**'\n    audience: nobody\n")
    result = CliRunner().invoke(app, ["lint", str(root), "--access", str(policy)])
    assert result.exit_code == 0
    assert "access.yaml:3: warning: no runbook matches gone/**" in result.stdout
