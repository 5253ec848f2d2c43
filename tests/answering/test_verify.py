"""Verification: what does not stand in the passage is not shown."""

from __future__ import annotations

import pytest

from bot.answering.verify import Claimed, drop_claims, supported, verify
from bot.errors import CitationError
from tests.answering.conftest import make_hit

HIT = make_hit()
QUOTE = "Look at who holds the connections:"
PSQL = 'psql -h db.shop.example -c "select state, count(*) from pg_stat_activity group by 1"'


def checked(text: str = "See who holds the connections.", command: str | None = None, source: str = "id-db/pool.md",
            quote: str = QUOTE):  # fmt: skip
    return verify(Claimed(text, command, source, quote), {HIT.passage.id: HIT.passage}, {HIT.runbook.path: HIT.runbook})


def test_a_supported_check_gets_the_lines_where_its_quote_stands() -> None:
    check = checked(command=PSQL)
    assert check.command == PSQL
    assert (check.citation.start_line, check.citation.end_line) == (5, 5)


def test_white_space_of_a_quote_is_set_aside() -> None:
    assert checked(quote="Look at   who holds\nthe connections:").citation.start_line == 5


@pytest.mark.parametrize(
    "claim",
    [
        {"source": "c9"},
        {"quote": "Look at who drops the connections:"},
        {"quote": "1."},
        {"command": "kubectl delete namespace shop"},
        {"command": 'psql -h db.shop.example -c "select state'},  # part of a line
        {"command": PSQL + " "},
        {"text": "See who holds the connections on db2.shop.example."},
        {"text": "See who holds the connections, more than 20 is a leak."},
        {"text": "See `SHOW SERVERS;`."},
        {"text": "Look with --force at the connections."},
        {"text": "Look into /var/lib/postgresql."},
        {"text": "See https://collector.example/?q=1."},
        {"text": "Restart the primary.", "quote": "Do not restart the primary while a failover is running."},
        {"text": "Drop the connections."},
        {"text": "Drain the node first."},
    ],
)
def test_what_the_passage_does_not_say_is_dropped(claim: dict[str, str]) -> None:
    with pytest.raises(CitationError):
        checked(**claim)


def test_a_number_stands_only_as_a_whole() -> None:
    with pytest.raises(CitationError):
        checked(text="More than 20 rows is a leak.", quote="More than 200 rows in `idle in transaction` is a leak.")
    assert checked(text="More than 200 rows is a leak.", quote="More than 200 rows in `idle in transaction` is a leak.")


def test_a_denial_may_be_repeated() -> None:
    check = checked(text="Do not restart the primary.", quote="Do not restart the primary while a failover is running.")
    assert check.text == "Do not restart the primary."


@pytest.mark.parametrize(
    "claim",
    [
        "I restarted the deployment.",
        "The pods have been restarted.",
        "We have already checked the database.",
        "The cache was successfully flushed and was successfully changed.",
    ],
)
def test_no_sentence_says_that_something_was_done(claim: str) -> None:
    assert drop_claims(f"Look at the pods. {claim}") == "Look at the pods."


def test_a_claim_that_the_runbook_itself_makes_is_a_quote() -> None:
    sentence = "The pods have been restarted."
    assert drop_claims(sentence, verbatim=f"Seen before: {sentence}") == sentence


def test_an_explanation_keeps_only_its_supported_sentences() -> None:
    text = "The pool on db.shop.example is full. It has 9000 clients. I checked it."
    assert supported(text, [HIT.passage.text]) == "The pool on db.shop.example is full."
