"""Blocks and views: what Slack takes passes, what it refuses is named with its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.workspace.limits import block_problems, view_problems

Json = dict[str, Any]


def words(most: int, *, plain: bool = False) -> st.SearchStrategy[Json]:
    text = st.text(st.characters(codec="utf-8"), min_size=1, max_size=min(most, 40))
    at_the_limit = st.just("x" * most)
    kinds = ["plain_text"] if plain else ["plain_text", "mrkdwn"]
    return st.builds(lambda kind, text: {"type": kind, "text": text}, st.sampled_from(kinds), text | at_the_limit)


buttons = st.builds(
    lambda text, value: {"type": "button", "text": text, "value": value},
    words(75, plain=True),
    st.text(min_size=1, max_size=30) | st.just("v" * 2000),
)
good_blocks = st.one_of(
    st.builds(lambda text: {"type": "section", "text": text}, words(3000)),
    st.builds(lambda fields: {"type": "section", "fields": fields}, st.lists(words(2000), min_size=1, max_size=10)),
    st.builds(lambda text, one: {"type": "section", "text": text, "accessory": one}, words(3000), buttons),
    st.builds(lambda text: {"type": "header", "text": text}, words(150, plain=True)),
    st.builds(lambda parts: {"type": "context", "elements": parts}, st.lists(words(200), min_size=1, max_size=10)),
    st.builds(lambda parts: {"type": "actions", "elements": parts}, st.lists(buttons, min_size=1, max_size=25)),
    st.just({"type": "divider"}),
    st.builds(
        lambda text: {
            "type": "rich_text",
            "elements": [{"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}],
        },
        st.text(min_size=1),
    ),
)


@settings(deadline=None)
@given(st.lists(good_blocks, max_size=50))
def test_blocks_within_the_limits_are_taken(blocks: list[Json]) -> None:
    assert block_problems(blocks) == ()


def section(text: str = "x", kind: str = "mrkdwn", **more: Any) -> Json:
    return {"type": "section", "text": {"type": kind, "text": text}} | more


def button(**more: Any) -> Json:
    return {"type": "button", "text": {"type": "plain_text", "text": "Open"}} | more


def actions(*elements: Json, **more: Any) -> Json:
    return {"type": "actions", "elements": list(elements)} | more


def preformatted(*leaves: Json) -> Json:
    return {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": list(leaves)}]}


BAD: dict[str, tuple[list[Any], str]] = {
    "too many blocks": ([{"type": "divider"}] * 51, "/blocks]"),
    "long section": ([section("x" * 3001)], "/blocks/0/text/text]"),
    "empty section": ([section("")], "/blocks/0/text/text]"),
    "section without words": ([{"type": "section"}], "/blocks/0]"),
    "eleven fields": ([{"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}] * 11}], "/blocks/0/fields]"),
    "long field": (
        [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 2001}]}],
        "/blocks/0/fields/0/text]",
    ),
    "long header": ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "/blocks/0/text/text]"),
    "mrkdwn header": ([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}], "/blocks/0/text/type]"),
    "eleven in context": ([{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}], "/elements]"),
    "no actions": ([actions()], "/blocks/0/elements]"),
    "twenty-six actions": ([actions(*[button()] * 26)], "/blocks/0/elements]"),
    "long label": ([actions(button(text={"type": "plain_text", "text": "x" * 76}))], "/elements/0/text/text]"),
    "long value": ([actions(button(value="x" * 2001))], "/elements/0/value]"),
    "long url": ([actions(button(url="https://" + "x" * 3000))], "/elements/0/url]"),
    "long action id": ([actions(button(action_id="x" * 256))], "/elements/0/action_id]"),
    "same action id twice": ([actions(button(action_id="a"), button(action_id="a"))], "/blocks/0]"),
    "long block id": ([section(block_id="x" * 256)], "/blocks/0/block_id]"),
    "same block id twice": ([section(block_id="b"), section(block_id="b")], "/blocks/1/block_id]"),
    "style": ([actions(button(style="warning"))], "/elements/0/style]"),
    "unknown block": ([{"type": "carpet"}], "/blocks/0/type]"),
    "unknown key": ([section(colour="red")], "invalid additional property: colour"),
    "not an object": (["words"], "/blocks/0/type]"),
    "input in a message": ([{"type": "input"}], "/blocks/0/type]"),
    "long markdown": ([{"type": "markdown", "text": "x" * 12_001}], "/blocks/0/text]"),
    "markdown together": ([{"type": "markdown", "text": "x" * 7_000}] * 2, "/blocks/1/text]"),
    "empty rich text": ([preformatted({"type": "text", "text": ""})], "/elements/0/elements/0/text]"),
    "mention in preformatted": ([preformatted({"type": "user", "user_id": "U1"})], "/elements/0/elements/0/type]"),
}


@pytest.mark.parametrize("name", BAD)
def test_blocks_beyond_a_limit_are_refused_with_their_place(name: str) -> None:
    blocks, where = BAD[name]
    assert any(where in problem for problem in block_problems(blocks)), block_problems(blocks)


def test_something_else_than_a_list_is_refused() -> None:
    assert block_problems({"type": "section"})


def modal(**more: Any) -> Json:
    return {"type": "modal", "title": {"type": "plain_text", "text": "A page"}, "blocks": [section()]} | more


@settings(deadline=None)
@given(st.lists(good_blocks, max_size=20))
def test_views_within_the_limits_are_taken(blocks: list[Json]) -> None:
    assert view_problems(modal(blocks=blocks)) == ()


@pytest.mark.parametrize(
    "view",
    [
        modal(title={"type": "plain_text", "text": "x" * 25}),
        modal(private_metadata="x" * 3001),
        modal(blocks=[{"type": "divider"}] * 101),
        modal(blocks=[{"type": "markdown", "text": "no markdown in modals"}]),
        modal(type="window"),
        {"type": "modal", "title": {"type": "plain_text", "text": "x"}},
        None,
    ],
)
def test_views_beyond_a_limit_are_refused(view: Any) -> None:
    assert view_problems(view)


def test_an_input_needs_a_submit_button() -> None:
    entry = {
        "type": "input",
        "label": {"type": "plain_text", "text": "Note"},
        "element": {"type": "plain_text_input", "action_id": "note"},
    }
    assert view_problems(modal(blocks=[entry]))
    assert view_problems(modal(blocks=[entry], submit={"type": "plain_text", "text": "Save"})) == ()
