"""Git facts, from a real checkout: the last commit of each page, and silence where there is none."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.library.git import last_changes
from bot.library.load import load_library

Folder = Callable[..., Path]


def git(folder: Path, *arguments: str, day: str = "2024-05-01") -> str:
    who = {"GIT_AUTHOR_NAME": "Ana Ö", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "c"}
    when = {"GIT_AUTHOR_DATE": f"{day}T10:00:00Z", "GIT_COMMITTER_DATE": f"{day}T10:00:00Z"}
    plain = {"GIT_COMMITTER_EMAIL": "c@example.org", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    environment = {"PATH": os.environ["PATH"], **who, **when, **plain}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(folder: Folder) -> Path:
    """A repository whose runbooks lie in a folder below its root, changed over three days."""
    root = folder(
        {"docs/a.md": "# A", "docs/sub/ü b.md": "# B", "docs/old.md": "# Old\n\nlong enough", "other.md": "# O"}
    )
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    (root / "docs/a.md").write_text("# A2")
    git(root, "commit", "-qam", "second", day="2024-06-02")
    git(root, "mv", "docs/old.md", "docs/new.md")
    git(root, "commit", "-qm", "third", day="2024-07-03")
    (root / "docs/uncommitted.md").write_text("# U")
    return root


def test_each_page_has_its_last_commit(checkout: Path) -> None:
    library = load_library(checkout / "docs", clean=str)
    changes = {page.path: page.change for page in library.runbooks}
    assert {path: change and str(change.at.date()) for path, change in changes.items()} == {
        "a.md": "2024-06-02",
        "new.md": "2024-07-03",
        "sub/ü b.md": "2024-05-01",
        "uncommitted.md": None,
    }
    assert changes["new.md"] is not None
    assert changes["new.md"].commit == git(checkout, "rev-parse", "HEAD")
    assert changes["new.md"].author == "Ana Ö"


def test_git_is_asked_a_fixed_number_of_times(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: calls.append(a) or run(*a, **k))  # type: ignore[func-returns-value]
    for i in range(30):
        (checkout / f"docs/{i}.md").write_text("x")
    assert last_changes(checkout / "docs")
    assert len(calls) == 2
    assert last_changes(checkout / "docs")
    assert len(calls) == 3


def test_the_environment_of_a_git_hook_does_not_lead_astray(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert "a.md" in last_changes(checkout / "docs")


def test_a_shallow_clone_does_not_lend_its_date_to_old_pages(checkout: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{checkout}", "shallow")
    assert set(last_changes(tmp_path / "shallow" / "docs")) == {"new.md"}


def test_without_a_checkout_a_commit_or_git_there_are_no_facts(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder({"a.md": "# A"})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert last_changes(root) == {}
    git(root, "init", "-q")
    assert last_changes(root) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert last_changes(root) == {}
