"""`runbook-bot access`: the decision and its reasons, of the sample workspace without any server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bot.cli.commands  # noqa: F401  (registers the commands)
from bot.cli import app
from bot.errors import UnreadablePage


@pytest.fixture
def folder(tmp_path: Path, policy_text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runbook folder with its policy beside it, and an environment without settings."""
    for name in ("SLACK_BOT_TOKEN", "ACCESS_FILE", "RUNBOOKS_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "access.yaml").write_text(policy_text)
    folder = tmp_path / "runbooks"
    (folder / "payments").mkdir(parents=True)
    (folder / "payments" / "refunds.md").write_text("# Refunds\n\nAsk the provider.\n")
    (folder / "own.md").write_text("---\ntitle: Own\naudience: [dba]\n---\n\nWords.\n")
    (folder / "broken.md").write_bytes(b"# \xff\n")
    return folder


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["access", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize(
    ("who", "runbook", "allowed"),
    [
        ("pia", "payments/refunds.md", True),
        ("U0BEN", "payments/refunds.md", False),
        ("@ana", "own.md", True),
        ("pia", "own.md", False),
        ("#payments", "payments/refunds.md", True),
        ("C0PAYMENTS", "payments/refunds.md", True),
        ("incidents", "payments/refunds.md", False),
        ("incidents", "own.md", False),
        ("#random", "status/none.md", False),
        ("olga", "status/none.md", True),
        ("U0NOBODY", "status/none.md", False),
    ],
)
def test_a_decision_is_told(folder: Path, who: str, runbook: str, allowed: bool) -> None:
    told = json.loads(run(who, runbook, "--runbooks", str(folder), "--json"))
    assert told["allowed"] is allowed
    assert told["reasons"][0].startswith("access.yaml:")
    assert told["reasons"][-1].startswith("allowed" if allowed else "not allowed")
    assert run(who, runbook, "--runbooks", str(folder)).splitlines() == told["reasons"]


def test_a_page_that_would_be_left_out_is_an_error(folder: Path) -> None:
    with pytest.raises(UnreadablePage):
        run("pia", "broken.md", "--runbooks", str(folder))


def test_no_path_leads_out_of_the_folder(folder: Path) -> None:
    (folder.parent / "outside.md").write_text("---\naudience: [dbx]\n---\n\nWords.\n")
    told = run("ben", "../outside.md", "--runbooks", str(folder))
    assert "dbx" not in told
