"""Who changed each page last, where the runbook folder is a git checkout: one log for all pages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from bot.library.models import Change

_HEADER = "\x01"
_FORMAT = f"--format={_HEADER}%H%x1f%an%x1f%cI"
_TIME_LIMIT = 60.0


def last_changes(folder: Path) -> Mapping[str, Change]:
    """The last commit of every page, by path below `folder`; empty without git, a checkout, or a first commit.

    What a shallow clone's oldest commits seem to have added is left out: their date is not the pages' date. The
    history is read once a commit, not once a sync.
    """
    where = _git(folder, "rev-parse", "--git-path", "shallow", "HEAD")
    if where is None:
        return {}
    shallow, head = where.split("\n")[:2]
    file = folder / shallow
    return _history(folder.resolve(), head, file.read_text() if file.is_file() else "")


@lru_cache(maxsize=4)
def _history(folder: Path, head: str, cut_off: str) -> Mapping[str, Change]:
    log = _git(folder, "log", "-z", _FORMAT, "--name-only", "--relative", head, "--", ".")
    changes: dict[str, Change] = {}
    current: Change | None = None
    for field in (log or "").split("\0"):
        entry = field.lstrip("\n")
        if entry.startswith(_HEADER):
            commit, author, at = entry[1:].split("\x1f")
            current = Change(commit, author, datetime.fromisoformat(at))
        elif entry and current:
            changes.setdefault(entry, current)
    return {path: change for path, change in changes.items() if change.commit not in cut_off.split()}


def _git(folder: Path, *arguments: str) -> str | None:
    """The output of a git command in `folder`; None where git or the checkout is not to be had."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    command = ["git", "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=_TIME_LIMIT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
