"""Every setting is documented, and a bad value names its variable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.errors import ConfigurationError
from bot.settings import Settings, read_settings
from tests.conftest import ROOT


def test_every_setting_has_its_row_in_the_documentation() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(name.upper() for name in Settings.model_fields)


def test_a_bad_value_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_TIMEOUT", "soon")
    with pytest.raises(ConfigurationError, match="MODEL_TIMEOUT"):
        read_settings()


def test_lists_are_separated_by_commas_or_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMINS", "U0ANA, U0BEN U0PIA")
    assert read_settings().admins == ("U0ANA", "U0BEN", "U0PIA")


def test_an_empty_value_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", "")
    assert read_settings().data_dir == Path("data")


def test_the_bots_own_secrets_are_known_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    token = "-".join(["xoxb", "not", "a", "token"])
    monkeypatch.setenv("SLACK_BOT_TOKEN", token)
    settings = read_settings()
    assert settings.secrets == (token,)
    assert token not in repr(settings)
