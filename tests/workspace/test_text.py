"""What a composer sends, and how an app's text is stored."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.workspace.limits import block_problems
from bot.workspace.text import escape, normalised, typed

PEOPLE = {"ben": "U0BEN", "runbook": "U0RUNBOT"}
pieces = [*"ab &<>`@*|#!\n", "@ben", "https://x.example/a?b=c&d", "```"]
typing = st.lists(st.sampled_from(pieces), max_size=40).map("".join)


@settings(deadline=None)
@given(typing)
def test_typed_words_mention_only_people_that_exist(text: str) -> None:
    words, blocks = typed(text, PEOPLE.get)
    alive = words.replace("<@U0BEN>", "").replace("<http", "")
    assert "<@" not in alive and "<!" not in alive and "<#" not in alive
    assert block_problems(blocks) == ()


def test_typed_words_become_text_and_rich_text() -> None:
    words, (block,) = typed("hi @ben see https://x.example?a=1&b=2 `a<b` ```\nlog & line\n``` @nobody", PEOPLE.get)
    assert words == ("hi <@U0BEN> see <https://x.example?a=1&amp;b=2> `a&lt;b` ```log &amp; line``` @nobody")
    kinds = [[leaf["type"] for leaf in part["elements"]] for part in block["elements"]]
    assert kinds == [["text", "user", "text", "link", "text", "text", "text"], ["text"], ["text"]]


@settings(deadline=None)
@given(st.text(max_size=60))
def test_escaped_text_is_stored_as_it_is(text: str) -> None:
    assert normalised(escape(text)) == escape(text)


def test_an_app_s_unescaped_text_is_escaped_once_and_its_tokens_live() -> None:
    given_text = "a & b &lt; c < d <@U0BEN> <!channel> <https://x.example|x> <b>bold</b>"
    assert normalised(given_text) == (
        "a &amp; b &lt; c &lt; d <@U0BEN> <!channel> <https://x.example|x> &lt;b&gt;bold&lt;/b&gt;"
    )
