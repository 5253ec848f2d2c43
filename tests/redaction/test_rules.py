"""The rules on labelled lines: the shared set, our own, log lines, hostile text, the cases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.redaction import RULES, Numbering, Redactor
from bot.redaction.tokens import FORMATS
from tests.bench import hostile, lines, logs
from tests.bench.redaction import measure


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_finds_its_own_example(rule: Any) -> None:
    only = Redactor(
        off=[other.name for other in RULES if other.name != rule.name] + [f.name for f in FORMATS],
        on=["position", "name"],
    )
    assert only.redact(rule.example).spans, rule.example


def test_names_of_rules_are_unique() -> None:
    names = [rule.name for rule in RULES] + [format_.name for format_ in FORMATS]
    assert len(names) == len(set(names))


def rate(figures: dict[str, tuple[int, int]], group: str) -> float:
    good, total = figures[group]
    return good / total


def test_the_shared_set_is_covered(shared: Path, all_kinds: Redactor) -> None:
    rows = [json.loads(line) for line in (shared / "redaction" / "dev.jsonl").read_text("utf-8").splitlines()]
    figures, wrong = measure(rows, all_kinds)
    assert rate(figures, "secrets") >= 0.99, wrong
    assert rate(figures, "personal") >= 0.97, wrong
    assert rate(figures, "harmless") >= 0.99, wrong
    assert rate(figures, "keep") == 1, wrong


def test_our_own_lines_are_covered(redactor: Redactor) -> None:
    figures, wrong = measure(lines.rows(seed=11), redactor)
    assert rate(figures, "secrets") >= 0.99, wrong
    assert rate(figures, "personal") >= 0.97, wrong
    assert rate(figures, "harmless") >= 0.99, wrong
    assert rate(figures, "keep") >= 0.99, wrong


def test_log_lines_are_left_alone(redactor: Redactor) -> None:
    touched = [(line, clean) for line in logs.harmless(1_000, seed=3) if (clean := redactor.redact(line)).spans]
    assert len(touched) <= 1, touched


@pytest.mark.long
def test_five_thousand_log_lines_are_left_alone(redactor: Redactor) -> None:
    touched = [line for line in logs.harmless(5_000) if redactor.redact(line).spans]
    assert len(touched) < 5, touched


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_is_taken(redactor: Redactor, name: str) -> None:
    redactor.redact(hostile.TEXTS[name])


def test_case_39_harmless_words_and_ids_stay(shared: Path, redactor: Redactor) -> None:
    folder = shared / "cases" / "39-over-redaction"
    for line in (folder / "must-stay.txt").read_text().splitlines():
        assert redactor.redact(line).text == line
        assert redactor.redact(f":rotating_light: *[FIRING:1]* checkout\n{line}\n<https://x.example|Open>").spans == ()
    page = (folder / "input" / "token-bucket.md").read_text()
    assert redactor.clean_page(page) == page


def strings(value: Any) -> Iterator[str]:
    """Every piece of text of an event, a field with its title."""
    if isinstance(value, dict):
        if {"title", "value"} <= value.keys():
            yield f"{value['title']}: {value['value']}"
        else:
            yield from (text for inner in value.values() for text in strings(inner))
    elif isinstance(value, list):
        yield from (text for inner in value for text in strings(inner))
    elif isinstance(value, str):
        yield value


def test_case_40_secrets_split_by_slacks_markup_are_found(shared: Path, redactor: Redactor) -> None:
    event = json.loads((shared / "cases" / "40-secret-split-by-links" / "event.json").read_text())["event"]
    numbering = Numbering()
    cleaned = [redactor.redact(text, numbering=numbering).text for text in strings(event)]
    everything = "\n".join(cleaned).replace("\u200b", "")
    assert "s3cretpw" not in everything
    assert "hunter2" not in everything
    assert "db01.example.com" in cleaned_text(cleaned)
    assert "postgres://app:" in everything


def cleaned_text(cleaned: list[str]) -> str:
    return next(text for text in cleaned if "cannot log in" in text)


def test_the_texts_of_real_alerts_lose_nothing(shared: Path, redactor: Redactor) -> None:
    posts = sorted((shared / "slack" / "alerts").glob("*.json"))
    assert posts
    for post in posts:
        for text in strings(json.loads(post.read_text())):
            assert not redactor.redact(text).spans, (post.name, text)


def test_no_real_looking_token_stands_in_the_rules() -> None:
    for rule in RULES:
        assert not re.search(r"AKIA[A-Z0-9]{16}|ghp_\w{36}|xox[bp]-\d{10}", rule.example)
