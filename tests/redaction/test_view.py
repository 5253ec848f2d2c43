"""The normalising view: what it shows, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.redaction.view import normalise, without_breaks, without_marks

SHOWN = [
    ("postgres://app:<mailto:pw@db.x|pw@db.x>:5432/o", "postgres://app:pw@db.x:5432/o"),
    ("<https://a.b/c?d=1&amp;e=2|https://a.b/c?d=1&amp;e=2>", "https://a.b/c?d=1&e=2"),
    ("<https://a.b/c|label>", " https://a.b/c label "),
    ("<tel:0207946|020 7946>", "tel:0207946 tel:020 7946"),
    ("<@U0ANA> <#C0X|ops> <!here>", "<@U0ANA> <#C0X|ops> <!here>"),
    ("a &lt;b&gt; &amp;lt; &quot;c&quot;", 'a <b> < "c"'),
    ("pass\u200bword\u00ad", "password"),
    ("ｐａｓｓｗｏｒｄ：x", "password:x"),
    ("“a” ‘b’ ‹password-1›", "\"a\" 'b' ‹password-1›"),
    ("\x1b[31mred\x1b[0m", "red"),
    ("pаsswоrd", "password"),  # Cyrillic а and о
    ("a \\\n   b", "a  b"),
    (r"a\u0026b", "a&b"),
    ("half \ud800 pair", "half \ufffd pair"),
]


@pytest.mark.parametrize(("given_", "shown"), SHOWN)
def test_the_view_shows_what_a_person_reads(given_: str, shown: str) -> None:
    assert normalise(given_).text == shown


PIECES = st.sampled_from(
    ["<mailto:a@b|a@b>", "<https://x|y>", "&amp;", "\u200b", "a", " ", "<", "|", ">", "\n", "*", "`", "ａ", "\\u0041"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_every_piece_of_the_view_leads_back_in_order(text: str) -> None:
    for make in (normalise, without_marks, without_breaks):
        view = make(text)
        position = 0
        for offset in range(len(view.text)):
            start, end = view.raw_span(offset, offset + 1)
            assert 0 <= start <= end <= len(text)
            assert start >= position
            position = start
        if view.text:
            start, end = view.raw_span(0, len(view.text))
            assert (start, end) == (view.raw_span(0, 1)[0], view.raw_span(len(view.text) - 1, len(view.text))[1])


@given(
    st.text(alphabet=st.characters(max_codepoint=127, exclude_characters="&<\\\x1b", min_codepoint=32), max_size=200)
)
def test_plain_text_is_its_own_view(text: str) -> None:
    view = normalise(text)
    assert view.text == text
    assert all(view.raw_span(at, at + 1) == (at, at + 1) for at in range(len(text)))
