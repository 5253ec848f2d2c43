"""Front matter: found where it is meant, left alone where it is a rule, kept as written, refused with its line."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import UnreadablePage
from bot.library.facts import parse_date, parse_days, read_facts
from bot.library.frontmatter import read_front_matter


def values(text: str) -> dict[str, tuple[str, ...] | None]:
    return {key: value.items for key, value in read_front_matter(text).values.items()}


def test_every_scalar_keeps_its_written_meaning() -> None:
    text = (
        "---\nservice: no\nversion: 1.10\nid: 0123\nat: 12:30\nday: 2024-05-01\nowner:\nnone: ~\nquoted: '~'\n"
        "oncall: @dba\nlist: [on, @x, 0x1F]\nmore:\n  - 1_000\n  - `code`\ntick: `psql`\n---\nbody\n"
    )
    assert values(text) == {
        "service": ("no",),
        "version": ("1.10",),
        "id": ("0123",),
        "at": ("12:30",),
        "day": ("2024-05-01",),
        "owner": (),
        "none": (),
        "quoted": ("~",),
        "oncall": ("@dba",),
        "list": ("on", "@x", "0x1F"),
        "more": ("1_000", "`code`"),
        "tick": ("`psql`",),
    }


def test_the_body_starts_on_the_line_after_the_fence() -> None:
    assert read_front_matter("---\ntitle: A\n---\nbody").body_line == 4
    assert read_front_matter("---   \ntitle: A\n...\nbody").body_line == 4
    assert read_front_matter("# Heading\n\n---\ntitle: A\n---\n").body_line == 1


def test_empty_front_matter_is_front_matter() -> None:
    assert read_front_matter("---\n---\nbody").body_line == 3


@pytest.mark.parametrize(
    "text",
    [
        "---\nNever restart both brokers at the same time.\n---\n\n# Restart\n",
        "---\n\nWarning: never restart the primary by hand\n\n---\n\n# Restart\n",
        "---\nNote: do this first\n---\ntext",
        "---\n\n# A heading after a rule\n",
        "---\n- one\n- two\n---\ntext",
        "---\n> quoted: *text* with [a link](x): y\n---\n",
        "+++\nplain words\n+++\n",
        "----\ntitle: A\n----\n",
    ],
)
def test_a_rule_at_the_top_is_not_front_matter(text: str) -> None:
    front = read_front_matter(text)
    assert (front.body_line, dict(front.values)) == (1, {})


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("---\ntitle: A\n# no end\n", 1, "not closed"),
        ("---\ntitle: A\nservice: b: c\n---\n", 3, "YAML"),
        ("---\ntitle: 'A\n---\n", 2, "YAML"),
        ("---\ntitle: A\n\tservice: b\n---\n", 3, "YAML"),
        ("---\ntitle: A\nservice: x\nTitle: B\n---\n", 4, "twice"),
        ("+++\ntitle = 'A'\nservice = \n+++\n", 3, "TOML"),
        ("+++\ntitle = 'A'\n", 1, "not closed"),
        ("---\ntitle: " + "[" * 15_000 + "\n---\n", 1, "nested"),
        ("+++\ntitle = " + "[" * 15_000 + "\n+++\n", 1, "nested"),
        ("---\ntitle: A\ntext: " + "x" * 20_000 + "\n---\n", 1, "longer"),
    ],
)
def test_what_is_meant_as_front_matter_is_refused_with_its_line(text: str, line: int, word: str) -> None:
    with pytest.raises(UnreadablePage) as caught:
        read_front_matter(text)
    assert caught.value.line == line
    assert word in caught.value.problem
    assert caught.value.fix


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("---\ntitle: A\nlast_reviewed: 2024-02-30\n---\nx", 3),
        ("---\ntitle: A\nlast_reviewed: soon\n---\nx", 3),
        ("---\nreview_after: often\n---\nx", 2),
        ("---\ntitle: A\nservice: {name: x}\n---\nx", 3),
        ("---\nalerts:\n  - name: A\n---\nx", 2),
        ("---\nowner: !dba team\n---\nx", 2),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(UnreadablePage) as caught:
        read_facts(text)
    assert caught.value.line == line


def test_a_value_of_a_key_that_nobody_reads_may_be_anything() -> None:
    facts = read_facts("---\ntitle: A\nlinks: {dashboard: d1}\ndate: {{ .Date }}\nmenu:\n  after: !x y\n---\nx")
    assert facts.title == "A"


def test_toml_keeps_its_written_meaning() -> None:
    facts = read_facts(
        "+++\ntitle = \"A\"\nservices = ['a', 'b']\ntags = 'x, y'\nlast_reviewed = 2024-05-01\nreview_after = 90\n"
        "owner = 'dba'\n+++\nbody"
    )
    assert (facts.title, facts.services, facts.tags, facts.owner) == ("A", ("a", "b"), ("x", "y"), "dba")
    assert (str(facts.last_reviewed), facts.review_after, facts.body_line) == ("2024-05-01", 90, 9)


def test_lists_and_strings_are_both_lists() -> None:
    facts = read_facts("---\nservice: a, b\nalerts: [X, 'Y, with comma', X]\ntags: one\naudience: sre\n---\nx")
    assert facts.services == ("a", "b")
    assert facts.alerts == ("X", "Y, with comma")
    assert facts.tags == ("one",)
    assert facts.audience == ("sre",)


@pytest.mark.parametrize(
    ("text", "audience"),
    [
        ("---\ntitle: A\n---\nx", None),
        ("---\ntitle: A\naudience:\n---\nx", ()),
        ("---\naudience: []\n---\nx", ()),
        ("---\naudience: [a, b]\n---\nx", ("a", "b")),
        ("# A\nAudience: dba\n\nx", ("dba",)),
        ("---\naudience: a\n---\n# A\nAudience: b\n\nx", ("a", "b")),
        ("---\naudience: a\n---\n# A\nAudience:\n\nx", ()),
        ("# A\n\nThe audience of this page is everyone.", None),
    ],
)
def test_the_pages_own_audience_only_narrows(text: str, audience: tuple[str, ...] | None) -> None:
    assert read_facts(text).audience == audience


def test_plain_pages_state_their_facts_below_the_heading() -> None:
    facts = read_facts(
        "# Disk full\n\n**Service:** checkout-db\n- Owner: team `data`\n*Alerts*: A, B\n__Tags__: x\\\n"
        "> Last reviewed: 3 May 2024\n\nOwner: somebody else\n"
    )
    assert (facts.services, facts.owner, facts.alerts, facts.tags) == (
        ("checkout-db",),
        "team `data`",
        ("A", "B"),
        ("x",),
    )
    assert str(facts.last_reviewed) == "2024-05-03"


def test_plain_facts_end_where_the_text_begins() -> None:
    facts = read_facts("Title\n=====\nService: a\n\nSome text.\n\nOwner: b\n")
    assert (facts.services, facts.owner) == (("a",), "")
    assert read_facts("# T\n\nOwner: a\n\n## Service\n\nService: b\n").services == ()
    assert read_facts("# T\n\n```\nService: b\n```\n").services == ()


def test_a_plain_date_that_cannot_be_read_is_remarked_and_not_refused() -> None:
    facts = read_facts("# T\nLast reviewed: last spring\n\nx")
    assert facts.last_reviewed is None
    assert facts.remarks[0][0] == 2


def test_days_and_dates() -> None:
    assert [parse_days(text) for text in ("90", "3 months", "1 year", "2 weeks", "10 days", "never")] == [
        90, 90, 365, 14, 10, None,
    ]  # fmt: skip
    assert {str(parse_date(text)) for text in ("2024-05-01", "2024/05/01", "1 May 2024", "May 1, 2024")} == {
        "2024-05-01"
    }
    assert str(parse_date("2024-05-01T10:00:00Z")) == "2024-05-01"
    assert parse_date("01/02/2024") is None  # the first of February, or the second of January?


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    for opener in ("---\n", "+++\n", ""):
        whole = f"{opener}{text}\n{opener}body"
        try:
            front = read_front_matter(whole)
        except UnreadablePage as refusal:
            assert 1 <= refusal.line <= whole.count("\n") + 1
        else:
            assert 1 <= front.body_line <= whole.count("\n") + 2


_words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=30).map(
    str.strip
)


@given(st.dictionaries(st.sampled_from(["title", "owner", "team", "version"]), _words.filter(bool), min_size=1))
def test_what_yaml_writes_as_text_is_read_as_that_text(settings: dict[str, str]) -> None:
    text = "---\n" + yaml.safe_dump(settings, allow_unicode=True, width=10_000) + "---\nbody\n"
    assert values(text) == {key: (value,) for key, value in settings.items()}
