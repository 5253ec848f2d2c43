"""The alerts that the local workspace offers to fire: each is read as what it is, and has a page that claims it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.slack.alerts import read_alert
from bot.workspace.alerts import READY_ALERTS, ReadyAlert
from bot.workspace.world import strings

RUNBOOKS = Path(__file__).resolve().parents[2] / "runbooks"


def claimed() -> set[str]:
    """Every alert name that a sample page claims."""
    lines = [line for page in RUNBOOKS.rglob("*.md") for line in page.read_text().splitlines()]
    claims = [line for line in lines if re.match(r"alerts:", line, re.IGNORECASE)]
    return {name for line in claims for name in re.findall(r"[A-Z]\w+", line.split(":", 1)[1])}


@pytest.mark.parametrize("alert", READY_ALERTS, ids=lambda alert: alert.id)
def test_a_ready_alert_is_read_as_what_it_is(alert: ReadyAlert) -> None:
    read = read_alert(alert.event)
    assert (read.is_alert and read.status == "firing") is alert.fires
    if alert.fires:
        assert claimed() & set(re.findall(r"\w+", "\n".join(strings(alert.event))))
