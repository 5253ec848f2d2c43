"""Quoted checks: the passages' own steps, word for word, what looks before what changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.answering.quoted import MOST_CHECKS, quoted_checks
from bot.answering.verify import fold
from bot.search.models import Hit
from tests.answering.conftest import PAGE, make_hit


def test_a_list_item_gives_its_words_and_its_command(hit_of: Callable[..., Hit]) -> None:
    checks = quoted_checks([hit_of()], "who holds connections")
    first = checks[0]
    assert first.text == "Look at who holds the connections:"
    assert first.command == 'psql -h db.shop.example -c "select state, count(*) from pg_stat_activity group by 1"'
    assert first.reading == "More than 200 rows in `idle in transaction` is a leak."
    assert (first.citation.start_line, first.citation.end_line) == (5, 11)
    assert first.citation.quote == "\n".join(PAGE.split("\n")[4:11])


def test_what_changes_something_comes_last_and_is_marked(hit_of: Callable[..., Hit]) -> None:
    checks = quoted_checks([hit_of()], "restart deployment leaks")
    assert [check.changes for check in checks] == sorted(check.changes for check in checks)
    assert [c.command for c in checks if c.changes] == ["kubectl -n shop rollout restart deployment/checkout-api"]


def test_a_look_that_follows_a_change_stays_behind_it(hit_of: Callable[..., Hit]) -> None:
    text = "## Repair\n\n1. Stop it: `systemctl stop app` on the host.\n2. Then compare the counts of both sides.\n"
    checks = quoted_checks([hit_of(text)], "compare counts")
    assert [check.text.split()[0] for check in checks] == ["Stop", "Then"]


def test_a_piece_of_a_deep_list_is_read_as_one() -> None:
    text = "      - Look at the pods of it:\n\n        ```sh\n        kubectl get pods\n        ```\n"
    [check] = quoted_checks([make_hit(text)], "pods")
    assert (check.text, check.command) == ("Look at the pods of it:", "kubectl get pods")


def test_a_step_that_was_cut_in_two_is_read_whole() -> None:
    whole = "1. Count the sessions by state.\n\n   ```sh\n   psql -c x\n   ```\n\n   Many idle ones are a leak.\n"
    first, second = make_hit(whole), make_hit(whole)
    at = whole.index("   Many")
    first = replace(first, passage=replace(first.passage, text=whole[: at - 1], end_line=5))
    second = replace(second, passage=replace(second.passage, id="second", text=whole[at:], start=at, start_line=7))
    [check] = quoted_checks([second, first], "sessions")
    assert check.reading == "Many idle ones are a leak."
    assert check.citation.passage == first.passage.id
    assert (check.citation.start_line, check.citation.end_line) == (1, 7)


def test_what_a_command_prints_is_no_command(hit_of: Callable[..., Hit]) -> None:
    printed = "   ```text\n   FATAL: too many clients\n   ```\n"
    text = f"{printed}\n1. Look at the states.\n\n{printed}"
    [check] = quoted_checks([hit_of(text)], "too many clients")
    assert (check.text, check.command) == ("Look at the states.", None)


def test_prose_is_quoted_where_there_is_little_else(hit_of: Callable[..., Hit]) -> None:
    [check] = quoted_checks([hit_of("# T\n\nThis alert means that the disk of the host is full.\n")], "disk")
    assert check.text == "This alert means that the disk of the host is full."


def test_only_the_row_that_was_asked_for_is_quoted(hit_of: Callable[..., Hit]) -> None:
    checks = quoted_checks([hit_of()], "what do I do on E41")
    rows = [check.text for check in checks if "code:" in check.text]
    assert rows == ["code: E41 · meaning: split brain · first action: stop and page the owner"]


def test_a_cut_table_keeps_its_columns() -> None:
    lines = PAGE.rstrip("\n").split("\n")
    hit = make_hit(lines[-1], start_line=len(lines))
    object.__setattr__(hit.passage, "context", "\n".join(lines[-4:-2]))
    [check] = quoted_checks([hit], "E41")
    assert check.text == "code: E41 · meaning: split brain · first action: stop and page the owner"
    assert check.citation.start_line == check.citation.end_line == len(lines)


def test_one_runbook_does_not_crowd_out_and_is_not_crowded_out(hit_of: Callable[..., Hit]) -> None:
    other = "1. Look at the other thing over there.\n2. And at this one as well.\n3. And at a third one too.\n"
    checks = quoted_checks([hit_of(), hit_of(other, path="x.md", title="X")], "connections")
    assert len(checks) <= MOST_CHECKS
    assert checks[0].citation.runbook == "db/pool.md"


def test_the_same_step_in_a_copy_takes_one_place(hit_of: Callable[..., Hit]) -> None:
    text = "1. Look at the only step of this page.\n"
    checks = quoted_checks([hit_of(text, path="a.md"), hit_of(text, path="b.md")], "step")
    assert [check.citation.runbook for check in checks] == ["a.md"]


MARKDOWN = st.lists(
    st.one_of(
        st.sampled_from(
            ["# H", "- item `x`", "1. do `y`", "```sh", "ls -l /tmp", "```", "| a | b |", "| - | - |", "", "> q"]
        ),
        st.text(alphabet="ab c`*_|#-\\<>&[]()\n", max_size=30),
    ),
    max_size=25,
).map("\n".join)


@given(MARKDOWN)
@settings(deadline=None)
def test_whatever_the_page_every_quote_stands_in_it(text: str) -> None:
    for check in quoted_checks([make_hit(text)], "item"):
        assert fold(check.citation.quote) in fold(text)
        lines = text.split("\n")[check.citation.start_line - 1 : check.citation.end_line]
        assert fold(check.citation.quote) in fold("\n".join(lines))
        assert fold(check.reading).rstrip(" …") in fold(check.citation.quote)
        if check.command:
            assert all(line.strip() in text for line in check.command.split("\n"))
