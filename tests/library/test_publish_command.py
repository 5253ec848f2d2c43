"""`runbook-bot sync`, as it is typed, with the local model: its JSON is a contract, and so is what costs nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bot.records.database import open_database
from bot.records.manifest import SqlManifest

PAGE = "# {title}\n\nService: checkout\n\n## First checks\n\n1. Run `kubectl get pods` and look for {word}.\n"


def run(data: Path, pages: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bot", "sync", "--runbooks", str(pages), "--data", str(data), *more]
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    return subprocess.run(command, capture_output=True, text=True, env=clean)


def sync(data: Path, pages: Path, *more: str) -> dict[str, Any]:
    ended = run(data, pages, "--json", *more)
    assert ended.returncode == 0, ended.stderr
    report: dict[str, Any] = json.loads(ended.stdout)
    return report


@pytest.mark.timeout(300)
def test_the_json_is_the_contract_and_an_empty_folder_an_error(tmp_path: Path) -> None:
    pages, data = tmp_path / "pages", tmp_path / "data"
    pages.mkdir()
    for title, word in (("Pool exhausted", "restarts"), ("Disk full", "evictions")):
        (pages / f"{title}.md").write_text(PAGE.format(title=title, word=word))
    (pages / "broken.md").write_text("---\ntitle: [\n---\ntext\n")
    first = sync(data, pages)
    assert set(first) == {"runbooks", "passages", "embedded", "gists", "unchanged", "removed", "refused", "seconds"}
    assert (first["runbooks"], first["embedded"], first["unchanged"]) == (2, first["passages"], 0)
    assert [set(refusal) for refusal in first["refused"]] == [{"path", "line", "reason", "fix"}]
    assert first["refused"][0]["path"] == "broken.md"
    again = sync(data, pages)
    assert (again["embedded"], again["unchanged"], again["removed"]) == (0, first["passages"], 0)
    shutil.rmtree(pages)
    ended = run(data, pages, "--json")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "error: " in ended.stderr
    assert "Traceback" not in ended.stderr
    engine = open_database(data / "records.db")
    assert len(SqlManifest(engine).read().passages) == first["passages"]
    engine.dispose()


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_the_606_pages(tmp_path: Path, shared: Path) -> None:
    pages, data = tmp_path / "pages", tmp_path / "data"
    shutil.copytree(shared / "eval" / "dev" / "corpus", pages)
    files = {file.relative_to(pages).as_posix() for file in pages.rglob("*.md")}
    first = sync(data, pages)
    refused = {refusal["path"] for refusal in first["refused"]}
    assert all(refusal["line"] and refusal["reason"] and refusal["fix"] for refusal in first["refused"])
    engine = open_database(data / "records.db")
    live = SqlManifest(engine).read()
    engine.dispose()
    assert set(live.runbooks) == files - refused
    assert first["runbooks"] == len(live.runbooks)
    assert len(refused) < 20

    assert sync(data, pages)["embedded"] == 0

    largest = max(live.passages_of, key=lambda path: len(live.passages_of[path]))
    with (pages / largest).open("a", encoding="utf-8") as stream:
        stream.write("\n\nAsk the zebra about the quota.\n")
    edited = sync(data, pages)
    assert 1 <= edited["embedded"] <= 2 < len(live.passages_of[largest])

    for number, path in enumerate(sorted(live.runbooks)[::60]):
        (pages / path).rename(pages / f"moved-{number}.md")
    moved = sync(data, pages)
    assert (moved["embedded"], moved["runbooks"]) == (0, first["runbooks"])
