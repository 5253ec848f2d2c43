"""`runbook-bot redact`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from bot.cli import app, commands  # noqa: F401  (registers every command)
from bot.errors import ConfigurationError
from bot.redaction import KINDS

PASSWORD = "Correct" + "9-Horse!"


def test_it_filters_standard_input() -> None:
    result = CliRunner().invoke(app, ["redact"], input=f"password={PASSWORD}\nhost=db-1\n")
    assert result.stdout == "password=‹password-1›\nhost=db-1\n"


def test_jsonl_gives_spans_of_the_given_text() -> None:
    given = f"pass\u200bword={PASSWORD} on db-1"
    result = CliRunner().invoke(app, ["redact", "--jsonl"], input=json.dumps({"id": "a-1", "text": given}) + "\n")
    assert json.loads(result.stdout) == {
        "id": "a-1",
        "redacted": "pass\u200bword=‹password-1› on db-1",
        "spans": [[10, 10 + len(PASSWORD), "password"]],
    }


def test_explain_says_which_rule_hit_where() -> None:
    result = CliRunner().invoke(app, ["redact", "--explain"], input=f"one\npassword={PASSWORD}\n")
    assert "2:10" in result.output
    assert "assignment" in result.output
    assert PASSWORD not in result.output


def test_kinds_are_listed() -> None:
    result = CliRunner().invoke(app, ["redact", "--kinds"])
    assert all(name in result.stdout for name in KINDS)


def test_a_line_that_is_no_json_is_named() -> None:
    result = CliRunner().invoke(app, ["redact", "--jsonl"], input='{"id": 1, "text": "x"}\nnonsense\n')
    assert isinstance(result.exception, ConfigurationError)
    assert result.exception.line == 2


def test_half_a_surrogate_pair_is_taken() -> None:
    result = CliRunner().invoke(app, ["redact", "--jsonl"], input='{"id": 1, "text": "\\ud800 ok"}\n')
    assert json.loads(result.stdout)["spans"] == []


@pytest.mark.parametrize("bad", ["{}", "[1]", '{"id": 1}', '{"id": 1, "text": 2}'])
def test_a_row_without_text_is_named(bad: str) -> None:
    result = CliRunner().invoke(app, ["redact", "--jsonl"], input=bad + "\n")
    assert isinstance(result.exception, ConfigurationError)
