"""Marks, the lines that are made from them, and gaps: through a real database."""

from __future__ import annotations

import json
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine
from typer.testing import CliRunner

from bot import sentences
from bot.access.decisions import by_audience
from bot.access.policy import Policy
from bot.answering.models import Answer, Check, Citation, Incident, NoAnswer
from bot.cli import app
from bot.errors import ConfigurationError
from bot.library.load import load_library
from bot.library.models import Runbook, Snapshot
from bot.records.answers import Answers, Kept
from bot.records.asked import Questions, key_of, normalised, question_of
from bot.records.database import open_database
from bot.records.feedback import WHOLE, Feedback, Mark
from bot.records.gaps import gaps
from bot.records.labels import TIER, WRONG, labelled
from bot.records.manifest import SqlManifest
from bot.records.memory import Before, Memory

PAGES = ("db/pool.md", "db/restore.md", "kafka/lag.md")
OWNERS = {"checkout-db": "team-data", "kafka": "team-streaming"}


def owner(service: str) -> str:
    return OWNERS.get(service, "")


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    opened = open_database(tmp_path / "records.db")
    yield opened
    opened.dispose()


@pytest.fixture
def either(database_url: str) -> Any:
    """SQLite and PostgreSQL: for what the two do differently."""
    opened = open_database(database_url)
    yield opened
    opened.dispose()


def check(page: str) -> Check:
    at = Citation(runbook=page, title=page, start_line=1, end_line=1, quote="Look.", passage=page)
    return Check(text="Look.", citation=at)


def keep(
    engine: Engine,
    id: str,
    asked: str,
    *pages: str,
    service: str | None = None,
    alert: str = "",
    query: str = "",
    reason: str = "nothing_found",
    **kept: Any,
) -> str:
    """Record a reply as the Slack edge does: an answer from these pages, or none."""
    common: dict[str, Any] = {
        "id": id, "asked": asked, "alert": alert, "query": query, "incident": Incident(summary=asked, service=service),
    }  # fmt: skip
    outcome = Answer(checks=tuple(map(check, pages)), **common) if pages else NoAnswer(reason=reason, **common)
    values: dict[str, Any] = {"trigger": "command", "channel": "C1", "thread": id, "message": id, "asker": "U1"}
    record = Kept(id=id, outcome=outcome.model_dump(mode="json"), **{**values, **kept})
    Answers(engine).keep(record)
    Questions(engine).keep(record)
    return id


def lines(engine: Engine, live: tuple[str, ...] = PAGES) -> list[dict[str, Any]]:
    return labelled(Feedback(engine).everything(), Answers(engine).get, live)


def in_vain(engine: Engine, user: str = "", present: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    asked = Questions(engine).since(0)
    return [(g.name, g.count) for g in gaps([a for a in asked if not user or a.visible(user, present)], owner)]


# --- marks --------------------------------------------------------------------------------------------------


def test_a_person_has_one_word_for_each_subject(either: Engine) -> None:
    feedback = Feedback(either)
    for mark in (
        Mark("a", "U1", "helpful"),
        Mark("a", "U1", "helpful"),
        Mark("a", "U2", "helpful"),
        Mark("a", "U2", "wrong"),
        Mark("a", "U1", "done", 2),
        Mark("a", "U1", "helped", 2),
        Mark("a", "U1", "ruled_out", 1),
        Mark("a", "U1", "", 1),
        Mark("b", "U1", "wrong"),
    ):
        feedback.say(mark)
    said = {(m.person, m.number): m.word for m in feedback.of(["a"])}
    assert said == {("U1", WHOLE): "helpful", ("U2", WHOLE): "wrong", ("U1", 2): "helped"}
    assert len(feedback.everything()) == 4 and feedback.of([]) == []


def test_the_same_word_again_keeps_its_time(engine: Engine) -> None:
    now = [1.0]
    feedback = Feedback(engine, clock=lambda: now[0])
    feedback.say(Mark("a", "U1", "helpful"))
    now[0] = 2.0
    feedback.say(Mark("a", "U1", "helpful"))
    assert [m.at for m in feedback.of(["a"])] == [1.0]
    feedback.say(Mark("a", "U1", "wrong"))
    assert [(m.at, m.word) for m in feedback.of(["a"])] == [(2.0, "wrong")]


def test_pressing_at_the_same_time_keeps_one_row(either: Engine) -> None:
    feedback, together, failures = Feedback(either), threading.Barrier(6), []

    def press(word: str) -> None:
        together.wait()
        try:
            feedback.say(Mark("a", "U1", word))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=press, args=(word,)) for word in ("helpful", "wrong") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and len(feedback.of(["a"])) == 1


# --- labelled lines -----------------------------------------------------------------------------------------


def test_a_ticked_check_names_its_page_and_not_the_others(engine: Engine) -> None:
    keep(engine, "a", "Too many clients", "db/pool.md", "db/restore.md", service="checkout-db")
    Feedback(engine).say(Mark("a", "U1", "helpful"))
    Feedback(engine).say(Mark("a", "U1", "helped", 1))
    Feedback(engine).say(Mark("a", "U1", "ruled_out", 2))
    [line] = lines(engine)
    assert line.pop("id").startswith("feedback-")
    assert line == {
        "tier": TIER,
        "query": "Too many clients",
        "service": "checkout-db",
        "expected": ["db/pool.md"],
        "source": "command",
    }


def test_a_thumb_names_every_page_that_the_answer_cites(engine: Engine) -> None:
    keep(engine, "a", "Too many clients", "db/pool.md", "db/restore.md", "db/pool.md")
    Feedback(engine).say(Mark("a", "U1", "helpful"))
    assert lines(engine)[0]["expected"] == ["db/pool.md", "db/restore.md"]


def test_wrong_is_a_negative_and_never_invents_an_answer(engine: Engine) -> None:
    keep(engine, "a", "Too many clients", "db/restore.md")
    Feedback(engine).say(Mark("a", "U1", "wrong"))
    [line] = lines(engine)
    assert (line["tier"], line["expected"], line["not_expected"]) == (WRONG, [], ["db/restore.md"])
    # somebody asks again, in other letters, and finds the right one: the two are one line
    keep(engine, "b", "too MANY clients!", "db/pool.md")
    Feedback(engine).say(Mark("b", "U2", "helped", 1))
    [line] = lines(engine)
    assert (line["tier"], line["expected"], line["not_expected"]) == (TIER, ["db/pool.md"], ["db/restore.md"])


def test_wrong_runbook_spares_the_check_that_the_same_person_ticked(engine: Engine) -> None:
    keep(engine, "a", "Too many clients", "db/pool.md", "db/restore.md")
    Feedback(engine).say(Mark("a", "U1", "wrong"))
    Feedback(engine).say(Mark("a", "U1", "helped", 1))
    [line] = lines(engine)
    assert (line["expected"], line["not_expected"]) == (["db/pool.md"], ["db/restore.md"])


@pytest.mark.parametrize(
    ("words", "expected", "wrong"),
    [
        (("helpful", "wrong"), None, None),
        (("helpful", "wrong", "helpful"), ["db/pool.md"], []),
        (("wrong", "wrong", "helpful"), [], ["db/pool.md"]),
    ],
)
def test_more_voices_win_and_a_draw_says_nothing(engine: Engine, words: Any, expected: Any, wrong: Any) -> None:
    keep(engine, "a", "Too many clients", "db/pool.md")
    for number, word in enumerate(words):
        Feedback(engine).say(Mark("a", f"U{number}", word))
    found = lines(engine)
    assert [(line["expected"], line.get("not_expected", [])) for line in found] == (
        [] if expected is None else [(expected, wrong)]
    )


def test_done_and_ruled_out_are_no_labels(engine: Engine) -> None:
    keep(engine, "a", "Too many clients", "db/pool.md")
    Feedback(engine).say(Mark("a", "U1", "done", 1))
    Feedback(engine).say(Mark("a", "U2", "ruled_out", 1))
    assert lines(engine) == []


def test_marks_that_lead_nowhere_make_no_line(engine: Engine) -> None:
    keep(engine, "a", "Too many clients", "db/pool.md")
    Feedback(engine).say(Mark("gone", "U1", "helpful"))
    Feedback(engine).say(Mark("a", "U1", "helped", 7))
    assert lines(engine) == []


def test_pages_that_are_gone_are_no_labels(engine: Engine) -> None:
    keep(engine, "a", "Too many clients", "db/old.md", "db/pool.md")
    keep(engine, "b", "Disk is full", "db/old.md")
    for id in "ab":
        Feedback(engine).say(Mark(id, "U1", "helpful"))
    assert [line["expected"] for line in lines(engine)] == [["db/pool.md"]]


def test_a_line_holds_no_person_and_no_place(engine: Engine) -> None:
    keep(engine, "a", "Too many clients", "db/pool.md", channel="C0SECRET", asker="U0SOMEBODY")
    Feedback(engine).say(Mark("a", "U0ELSE", "helpful"))
    said = json.dumps(lines(engine))
    assert not any(word in said for word in ("C0SECRET", "U0SOMEBODY", "U0ELSE"))


@pytest.mark.parametrize(
    ("outcome", "question"),
    [
        ({"asked": "The pool is full", "query": "pool full"}, "The pool is full"),
        ({"asked": "what now?", "query": "what now?\nkafka consumer lag"}, "what now?\nkafka consumer lag"),
        ({"asked": "The pool is full", "query": "pool", "alert": "PoolFull"}, "PoolFull\nThe pool is full"),
        ({"asked": "[FIRING] PoolFull x", "query": "words of labels", "alert": "PoolFull"}, "[FIRING] PoolFull x"),
        ({"query": "from before it was kept"}, "from before it was kept"),
        ({}, ""),
    ],
)
def test_the_question_that_a_record_stands_for(outcome: dict[str, str], question: str) -> None:
    assert question_of(outcome) == question


@given(st.text(), st.integers(0, 10**9))
def test_normalised_is_stable_and_sees_no_numbers(text: str, number: int) -> None:
    once = normalised(text)
    assert normalised(once) == once
    assert normalised(f"{text} {number}") == normalised(f"{text} 7")


# --- gaps ---------------------------------------------------------------------------------------------------


def test_gaps_are_grouped_and_counted(either: Engine) -> None:
    for number in range(3):
        keep(either, f"q{number}", f"Why is queue {number} full?", service="kafka")
    keep(either, "a1", "[FIRING:1] PoolFull on db-1", alert="PoolFull", service="checkout-db", trigger="alert")
    keep(either, "a2", "[FIRING:3] PoolFull on db-2", alert="PoolFull", service="checkout-db", trigger="alert")
    keep(either, "a3", "[FIRING:3] PoolFull on x", alert="PoolFull", service="other", trigger="alert")
    keep(either, "other", "The search was down", reason="search_unavailable")
    keep(either, "none", "?!")
    found = [(g.name, g.is_alert, g.service, g.owner, g.count) for g in gaps(Questions(either).since(0), owner)]
    assert found == [
        ("Why is queue 2 full?", False, "kafka", "team-streaming", 3),
        ("PoolFull", True, "checkout-db", "team-data", 2),
        ("PoolFull", True, "other", "", 1),
    ]


def test_a_gap_is_closed_when_the_same_is_answered(engine: Engine) -> None:
    keep(engine, "a", "Disk is full", at=1)
    keep(engine, "b", "Disk is full", "db/pool.md", at=2)
    assert in_vain(engine) == []
    keep(engine, "c", "disk is FULL", at=3)
    assert in_vain(engine) == [("disk is FULL", 1)]


def test_a_second_search_of_an_answered_thread_is_no_gap(engine: Engine) -> None:
    keep(engine, "a", "Disk is full", "db/pool.md", thread="t", at=1)
    keep(engine, "b", "Disk is full", thread="t", trigger="reaction", at=2)
    assert in_vain(engine) == []
    keep(engine, "c", "Disk is full", thread="elsewhere", trigger="reaction", at=3)
    assert in_vain(engine) == [("Disk is full", 1)]


def test_old_questions_are_left_out(engine: Engine) -> None:
    keep(engine, "a", "Disk is full", at=100)
    keep(engine, "b", "Queue is full", at=200)
    assert [a.answer for a in Questions(engine).since(150)] == ["b"]


def test_who_may_know_of_a_question(engine: Engine) -> None:
    keep(engine, "open", "Disk is full", channel="C1", asker="U1")
    keep(engine, "elsewhere", "Queue is full", channel="C2", asker="U2")
    keep(engine, "alone", "Pool is full", channel="C1", asker="U1", private_to="U1")
    assert in_vain(engine, "U3", ()) == []
    assert in_vain(engine, "U3", ("C1",)) == [("Disk is full", 1)]
    assert {name for name, _ in in_vain(engine, "U1", ("C1",))} == {"Disk is full", "Pool is full"}
    assert in_vain(engine, "U2", ()) == [("Queue is full", 1)]


def test_that_somebody_else_was_answered_privately_shows_in_nobodys_gaps(engine: Engine) -> None:
    keep(engine, "thread", "Restore a table", channel="C1", asker="UANA", at=1)
    before = in_vain(engine, "UBEN", ("C1",))
    keep(engine, "rest", "Restore a table", "db/restore.md", channel="C1", asker="UANA", private_to="UANA", at=2)
    assert in_vain(engine, "UBEN", ("C1",)) == before == [("Restore a table", 1)]
    assert in_vain(engine, "UANA", ("C1",)) == in_vain(engine) == []


def test_words_are_forgotten_with_their_message(either: Engine) -> None:
    keep(either, "a", "Disk is full", "db/pool.md", message="9.1", origin={"channel": "C1", "ts": "1.1"})
    keep(either, "b", "Disk is full", origin={"channel": "C1", "ts": "9.1"})  # "Search as me" on that card
    keep(either, "other", "Disk is full", origin={"channel": "C1", "ts": "2.2"}, thread="1.1")
    keep(either, "elsewhere", "Disk is full", origin={"channel": "C2", "ts": "1.1"}, channel="C2")
    Feedback(either).say(Mark("a", "U1", "helpful"))
    Questions(either).forget("C1", "1.1")
    assert {a.answer for a in Questions(either).since(0) if a.text} == {"other", "elsewhere"}
    assert lines(either) == []
    kept = Answers(either).get("b")
    assert kept is not None and "Disk" not in json.dumps(dict(kept.outcome))


# --- what a place remembers ---------------------------------------------------------------------------------

DAY = 86_400.0


def remembered(engine: Engine, words: str = "Disk is full", channel: str = "C1", thread: str = "now") -> Before:
    return Memory(engine, clock=lambda: 100 * DAY).of(key_of(words, ""), channel, thread)


def test_memory_counts_threads_of_the_last_week(either: Engine) -> None:
    for id, day in (("old", 92), ("a", 94), ("b", 95), ("c", 99)):
        keep(either, id, f"disk is {id and 'FULL'}", at=day * DAY)
    keep(either, "again", "Disk is full", thread="c", trigger="reaction", at=99 * DAY)
    keep(either, "here", "Disk is full", thread="now", at=99 * DAY)
    keep(either, "elsewhere", "Disk is full", channel="C2", at=99 * DAY)
    keep(either, "alone", "Disk is full", private_to="U1", at=99 * DAY)
    keep(either, "other", "Queue is full", at=99 * DAY)
    assert remembered(either) == Before(3)
    assert remembered(either, "?") == Before(0)


def test_memory_names_the_checks_of_the_last_time_that_any_helped(engine: Engine) -> None:
    keep(engine, "ancient", "Disk is full", "kafka/lag.md", at=5 * DAY)
    keep(engine, "first", "Disk is full", "kafka/lag.md", at=50 * DAY)
    keep(engine, "second", "Disk is full", "db/pool.md", "db/restore.md", "kafka/lag.md", at=60 * DAY)
    keep(engine, "third", "Disk is full", "db/pool.md", at=70 * DAY)
    feedback = Feedback(engine)
    feedback.say(Mark("ancient", "U1", "helped", 1))
    assert remembered(engine) == Before(0)
    feedback.say(Mark("first", "U1", "helped", 1))
    feedback.say(Mark("second", "U1", "helped", 3))
    feedback.say(Mark("second", "U2", "helped", 1))
    feedback.say(Mark("second", "U2", "done", 2))
    feedback.say(Mark("third", "U2", "helpful"))
    feedback.say(Mark("third", "U2", "ruled_out", 1))
    assert remembered(engine) == Before(0, (("db/pool.md", "Look."), ("kafka/lag.md", "Look.")), 60 * DAY)


@pytest.mark.parametrize(
    ("times", "helped", "sentence"),
    [
        (1, [], ""),
        (2, [], "Second time here in 7 days."),
        (7, [], "7th time here in 7 days."),
        (1, [2], "Last time, on 2026-03-01, check 2 was the one that helped."),
        (3, [1, 4], "Third time here in 7 days; last time, on 2026-03-01, checks 1, 4 were the ones that helped."),
    ],
)
def test_how_memory_is_worded(times: int, helped: list[int], sentence: str) -> None:
    assert sentences.before(times, 7, helped, date(2026, 3, 1)) == sentence


# --- the commands -------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    opened = open_database(folder / "records.db")
    pages = {path: Runbook(path=path, title=path, text="x", version=path) for path in PAGES}
    SqlManifest(opened).publish(Snapshot(), Snapshot(generation=1, collection="c", runbooks=pages, embedder="m"))
    keep(opened, "a", "Too many clients", "db/pool.md", service="checkout-db")
    keep(opened, "b", "Queue is full", "kafka/lag.md", service="kafka")
    keep(opened, "c", "Disk \x1b[2J is full\nnow", service="kafka")
    Feedback(opened).say(Mark("a", "U1", "helped", 1))
    Feedback(opened).say(Mark("b", "U1", "wrong"))
    opened.dispose()
    return folder


def run(*arguments: str) -> Any:
    import bot.cli.feedback  # noqa: F401

    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result


def test_export_prints_lines_for_eval(data: Path) -> None:
    result = run("feedback", "export", "--data", str(data))
    [line] = map(json.loads, result.stdout.splitlines())
    assert (line["query"], line["expected"], line["tier"]) == ("Too many clients", ["db/pool.md"], "feedback")
    assert "1 questions have only a wrong runbook" in result.stderr
    both = run("feedback", "export", "--wrong", "--json", "--data", str(data))
    assert [line["tier"] for line in json.loads(both.stdout)] == ["feedback", "feedback_wrong"]


def test_gaps_command_names_the_owner_and_steers_no_terminal(data: Path) -> None:
    folder = data.parent / "runbooks"
    folder.mkdir()
    (folder / "services.yaml").write_text("services:\n  - {name: kafka, owner: team-streaming}\n")
    result = run("gaps", "--data", str(data), "--runbooks", str(folder))
    assert "1×" in result.stdout and "Disk [2J is full now  (kafka, team-streaming)" in result.stdout
    assert "\x1b" not in result.stdout
    [gap] = json.loads(run("gaps", "--json", "--data", str(data), "--runbooks", str(folder)).stdout)
    assert gap["count"] == 1 and gap["owner"] == "team-streaming" and gap["name"].startswith("Disk")


def test_a_draft_is_a_page_that_nobody_may_read_until_it_is_written(data: Path) -> None:
    opened = open_database(data / "records.db")
    for number in range(2):
        name = 'Pool: "full" # {x}'
        keep(opened, f"d{number}", f"[FIRING:1] {name}\nsince ever", alert=name, service="kafka", trigger="alert")
    opened.dispose()
    folder = data.parent / "runbooks"
    (folder / "kafka").mkdir(parents=True)
    (folder / "services.yaml").write_text("services:\n  - {name: kafka, owner: '@team: streaming'}\n")
    arguments = ("--data", str(data), "--runbooks", str(folder))
    page = run("gaps", "--draft", "1", *arguments).stdout
    (folder / "kafka/pool.md").write_text(page)
    (folder / "kafka/disk.md").write_text(run("gaps", "--draft", "2", *arguments).stdout)
    library = load_library(folder, clean=lambda text: text)
    assert not library.refusals
    disk, pool = library.runbooks
    assert (pool.title, pool.alerts, pool.owner) == (name, (name,), "@team: streaming")
    assert pool.services == ("kafka",) and pool.audience == disk.audience == () and "since ever" in pool.text
    assert disk.alerts == () and disk.title.startswith("Disk")
    assert by_audience(Policy.MEMBERS_ONLY, library.runbooks) == {"nobody": ["kafka/disk.md", "kafka/pool.md"]}
    import bot.cli.feedback  # noqa: F401

    result = CliRunner().invoke(app, ["gaps", "--draft", "9", *arguments])
    assert isinstance(result.exception, ConfigurationError) and "no gap number 9" in str(result.exception)


def test_commands_look_without_making_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("gaps", "--data", "nowhere", "--json").stdout == "[]\n"
    assert run("feedback", "export", "--data", "nowhere").stdout == ""
    assert not (tmp_path / "nowhere").exists()
