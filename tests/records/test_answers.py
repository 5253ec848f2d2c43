"""The replies on record, in SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.records.answers import Answers, Kept, Target
from bot.records.database import open_database


@pytest.fixture
def answers(database_url: str) -> Iterator[Answers]:
    engine = open_database(database_url)
    yield Answers(engine)
    engine.dispose()


def kept(id: str, **more: object) -> Kept:
    values: dict[str, object] = {
        "id": id,
        "trigger": "alert",
        "channel": "C1",
        "thread": "1.1",
        "targets": (Target("a.md", 3, 5), Target("b/c.md", 1, 1)),
        "passages": ("p1", "p2"),
        "origin": {"channel": "C1", "ts": "1.1"},
        "outcome": {"query": "‹password-1› 🔎"},
        "event": "message:C1:1.1",
        "at": 5.0,
    }
    return Kept(**{**values, **more})  # type: ignore[arg-type]


def test_what_was_kept_comes_back_whole(answers: Answers) -> None:
    answers.keep(kept("one"))
    assert answers.get("one") == kept("one") and answers.get("two") is None


def test_only_what_was_posted_for_all_stands(answers: Answers) -> None:
    for id, more in {"a": {}, "b": {"private_to": "U1"}, "c": {"channel": "C2"}, "d": {}, "e": {}}.items():
        answers.keep(kept(id, at=float(ord(id)), **more))
        if id != "d":
            answers.posted(id, message=f"2.{ord(id)}", thread="1.1")
    answers.replaced("e")
    assert [k.id for k in answers.standing()] == ["a", "c"]
    assert [k.id for k in answers.standing(["C2"])] == ["c"]
    assert [k.id for k in answers.in_thread("C1", "1.1")] == ["a", "e"]
    assert [k.id for k in answers.of_event("message:C1:1.1")] == ["a", "b", "c", "d", "e"]


def test_replies_move_with_their_channel(answers: Answers) -> None:
    answers.keep(kept("a"))
    answers.posted("a", message="2.2", thread="1.1")
    answers.moved("C1", "C9")
    assert [k.channel for k in answers.standing(["C9"])] == ["C9"] and answers.standing(["C1"]) == []
