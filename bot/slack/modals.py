"""Runbooks as a person opens them: a modal or a private message with the page's section, divided into parts.

Whoever presses is checked afresh, each time, before any word of the page is read: at Open, and at every further part.
"No such page" and "not yours" are the same sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot import sentences
from bot.library.models import Runbook
from bot.records.answers import Target
from bot.slack import rich
from bot.slack.render import Card, actions, button, context, mrkdwn, note
from bot.slack.rich import Json, Part

MORE = "more"
"""Action id of the buttons that lead to another part, followed by the part."""
SECTION = "s"
"""The part that opens first: the cited section."""
_VIEW, _MESSAGE = (9_000, 80), (7_500, 38)
"""Characters and blocks of one part, in a modal and in a message."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One part of a page: its blocks, and which part comes after it (None: it was the last)."""

    blocks: tuple[Json, ...]
    following: int | None
    whole: bool
    """The page has no other part."""


def checking() -> Json:
    """The modal that opens at once, while rights are looked up."""
    return _view([mrkdwn(sentences.CHECKING)])


def refused(sentence: str) -> Json:
    """The modal for whoever may not open the page, and for a page that is not there."""
    return _view([mrkdwn(sentence)])


def page_view(runbook: Runbook, target: Target, part: str, *, record: str, index: int, url: str | None) -> Json:
    """The modal with one part of a page: `part` is SECTION or a number."""
    shown = _part(runbook, target, part, _VIEW)
    value = f"{record}:{index}"
    buttons = []
    if shown.following:
        buttons.append(button(sentences.SHOW_MORE, f"{MORE}_{shown.following}", f"{value}:{shown.following}"))
    if not shown.whole and part != "0":
        label = sentences.SHOW_ALL if part == SECTION else sentences.FROM_THE_TOP
        buttons.append(button(label, f"{MORE}_0", f"{value}:0"))
    return _view([*_head(runbook, target, url), *shown.blocks, *([actions(buttons)] if buttons else [])])


def page_card(runbook: Runbook, *, opens: Json, url: str | None) -> Card:
    """The beginning of a page as a private message; `opens` is the button that leads to all of it."""
    shown = _part(runbook, Target(runbook.path), "0", _MESSAGE)
    more = [context(sentences.GOES_ON)] if shown.following is not None else []
    blocks = (*_head(runbook, None, url), *shown.blocks, *more, actions([opens]))
    return Card(note(sentences.page(rich.cut(runbook.title, 200))).text, blocks)


def _view(blocks: Sequence[Json]) -> Json:
    title = {"type": "plain_text", "text": sentences.RUNBOOK, "emoji": False}
    close = {"type": "plain_text", "text": sentences.CLOSE, "emoji": False}
    return {"type": "modal", "title": title, "close": close, "blocks": list(blocks)}


def _head(runbook: Runbook, target: Target | None, url: str | None) -> list[Json]:
    title = rich.cut(runbook.title, 200)
    named = rich.link(url, title, bold=True) if url and len(url) <= 3_000 else rich.words(title, bold=True)
    small = [f"{runbook.path}{sentences.lines(target.start, target.end)}" if target else runbook.path]
    if runbook.owner:
        small.append(sentences.owner(runbook.owner))
    if runbook.last_reviewed:
        small.append(sentences.reviewed(runbook.last_reviewed))
    return [rich.rich_text(rich.section([named])), context(" · ".join(small))]


def _part(runbook: Runbook, target: Target, part: str, most: tuple[int, int]) -> Shown:
    body = "\n".join(runbook.text.split("\n")[runbook.body_line - 1 :])
    everything = rich.parts(body)
    if everything and everything[0].block.get("text", {}).get("text") == runbook.title.strip():
        everything = everything[1:]  # it stands above already, with its link
    pages = list(_packed(everything, *most))
    if part != SECTION:
        number = min(int(part), len(pages) - 1) if pages else 0
        blocks = [p.block for p in pages[number]] if pages else [context(sentences.EMPTY_PAGE)]
        return Shown(tuple(blocks), number + 1 if number + 1 < len(pages) else None, len(pages) <= 1)
    section = next(_packed(_section(everything, target, runbook.body_line), *most), [])
    if len(pages) <= 1 and len(section) == len(everything):
        return _part(runbook, target, "0", most)
    # what follows is the first numbered part that holds something after this section
    following = next((n for n, page in enumerate(pages) if any(p.end > section[-1].end for p in page)), None)
    return Shown(tuple(p.block for p in section), following, False)


def _section(everything: Sequence[Part], target: Target, body_line: int) -> list[Part]:
    """From the heading above the cited lines to the next heading of its level."""
    first, last = target.start - body_line, target.end - body_line
    start, level = 0, 7
    for at, part in enumerate(everything):
        if part.start > first:
            break
        if part.heading:
            start, level = at, part.heading
    end = next(
        (at for at, p in enumerate(everything) if at > start and p.heading and p.heading <= level and p.start > last),
        len(everything),
    )
    return list(everything[start:end]) or list(everything)


def _packed(everything: Sequence[Part], most_chars: int, most_blocks: int) -> Iterator[list[Part]]:
    """The parts of a page in portions that Slack takes; a block that no message can hold is named instead."""
    portion: list[Part] = []
    size = 0
    for part in everything:
        weight = rich.text_length(part.block)
        if weight > most_chars:
            part = Part(context(sentences.too_long(weight)), part.start, part.end)
            weight = 100
        if portion and (size + weight > most_chars or len(portion) >= most_blocks):
            yield portion
            portion, size = [], 0
        portion.append(part)
        size += weight
    if portion:
        yield portion
