"""What the path ended in, as a card: Block Kit within Slack's limits, with the buttons that lead further.

Words of runbooks, alerts and models go into rich_text or are escaped once; commands are shown byte for byte or not at
all. What does not fit is counted, never dropped in silence. Buttons carry the record's id and an index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot import sentences
from bot.answering.models import Answer, Check, Citation, NoAnswer, Outcome
from bot.records.answers import Target
from bot.records.feedback import WHOLE, Mark
from bot.slack import rich
from bot.slack.markup import escape
from bot.slack.rich import Json

OPEN, AS_ME, SAY = "open", "as_me", "say"
"""Action ids; `open` is followed by the button's index and `say` by a word, for they must differ within a message."""

MOST_BLOCKS = 46
MOST_CHARS = 10_500
"""Of all texts in one card: Slack refuses about 13,000, and we promise 12,000."""
_MOST_TEXT, _MOST_QUOTE, _MOST_COMMAND, _MOST_NOTICES, _MOST_OPEN = 1_200, 900, 3_000, 6, 5
_MOST_NAMED, _MOST_OPTIONS = 3, 100
_OPTIONS_OF_A_CHECK = 70
"""Characters of what can be said of one check, at most."""


@dataclass(frozen=True, slots=True)
class Card:
    """A message: `text` for notifications and screen readers (mrkdwn, escaped), and its blocks."""

    text: str
    blocks: tuple[Json, ...] = ()


def targets(outcome: Outcome) -> tuple[Target, ...]:
    """What the Open buttons open: each cited runbook once, at its first citation; a near miss where it is one."""
    if isinstance(outcome, Answer):
        found: dict[str, Target] = {}
        for check in outcome.checks:
            at = check.citation
            found.setdefault(at.runbook, Target(at.runbook, at.start_line, at.end_line))
        return tuple(found.values())[:_MOST_OPEN]
    closest = outcome.closest if isinstance(outcome, NoAnswer) else None
    return (Target(closest.runbook, closest.start_line, closest.end_line),) if closest else ()


def card(
    outcome: Answer | NoAnswer, *, direct_links: bool = True, searchable: bool = True, marks: Sequence[Mark] = ()
) -> Card:
    """The card of an Answer or a NoAnswer. `searchable`: with the "Search as me" button.

    `marks` is what was said of the answer so far, for those who read this very card.
    """
    if isinstance(outcome, Answer):
        return _answer(outcome, marks, direct_links=direct_links, searchable=searchable)
    return _no_answer(outcome, searchable=searchable)


def taken_back(id: str, count: int) -> Card:
    """What stands where a card stood that not everybody in the place may read any more: only its Open buttons."""
    names = [f"{sentences.OPEN} {index + 1}" if count > 1 else sentences.OPEN for index in range(count)]
    buttons = [button(name, f"{OPEN}_{index}", f"{id}:{index}") for index, name in enumerate(names)]
    text = mrkdwn(sentences.TAKEN_BACK)
    return Card(sentences.TAKEN_BACK, (text, *([actions(buttons)] if buttons else [])))


def note(sentence: str, *more: Json) -> Card:
    """One sentence of ours, and what follows it."""
    return Card(rich.cut(escape(sentence), 3_900), (mrkdwn(sentence), *more))


def help_card() -> Card:
    """What can be asked, and how. The only mrkdwn that is not escaped: it is ours."""
    section = {"type": "section", "text": {"type": "mrkdwn", "text": sentences.HELP, "verbatim": True}}
    return Card(sentences.HELP, (section,))


# --- blocks -------------------------------------------------------------------------------------------------


def mrkdwn(sentence: str) -> Json:
    """A section with a sentence that is not ours to format: escaped, cut at Slack's limit."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": _fitting(sentence or " ", 3_000), "verbatim": True}}


def context(*lines: str) -> Json:
    """Small print, escaped."""
    elements = [{"type": "mrkdwn", "text": _fitting(line, 2_000), "verbatim": True} for line in lines if line]
    return {"type": "context", "elements": elements[:10]}


def button(text: str, action: str, value: str) -> Json:
    """A button; `value` is a record's id and at most an index."""
    label = {"type": "plain_text", "text": rich.cut(text, 75), "emoji": False}
    return {"type": "button", "text": label, "action_id": action, "value": value}


def actions(buttons: Sequence[Json]) -> Json:
    """A row of buttons."""
    return {"type": "actions", "elements": list(buttons)}


def _fitting(text: str, most: int) -> str:
    """`text` escaped, within `most` characters after escaping."""
    limit = most
    while len(escaped := escape(rich.cut(text, limit))) > most:
        limit -= max(1, (len(escaped) - most) // 5)
    return escaped


# --- answers ------------------------------------------------------------------------------------------------


def _answer(answer: Answer, marks: Sequence[Mark], *, direct_links: bool, searchable: bool) -> Card:
    head: list[Json] = [_heading(answer), *_before(answer)]
    if answer.explanation:
        head.append(rich.rich_text(rich.section(rich.inline(rich.cut(answer.explanation, 600)))))
    tail: list[Json] = []
    if answer.notices:
        tail.append(context(*(f"⚠️ {rich.cut(notice, 300)}" for notice in answer.notices[:_MOST_NOTICES])))
    tail.append(_buttons(answer, searchable))
    whole = _said(marks, WHOLE)
    last = [*([rich.rich_text(*whole)] if whole else []), context(_made(answer), *_whom(answer))]
    room = MOST_CHARS - rich.text_length([*head, *tail, *last]) - 200
    shown: list[Json] = []
    places: list[int] = []
    left_out = 0
    checks = [(place, check) for place, check in enumerate(answer.checks, 1) if check.text.strip() or check.command]
    for number, (place, check) in enumerate(checks, start=1):
        block = _check(number, check, direct_links, _said(marks, place), quoted=answer.written_by == "quoted")
        weight = rich.text_length(block) + _OPTIONS_OF_A_CHECK
        if left_out or weight > room or len(head) + len(shown) + len(tail) + len(last) + 3 > MOST_BLOCKS:
            left_out += 1
            continue
        room -= weight
        shown.append(block)
        places.append(place)
    tail += [_sayings(answer.id, places, len(marks)), *last]
    if left_out:
        shown.append(context(sentences.more_checks(left_out)))
    titles = list(dict.fromkeys(check.citation.title or check.citation.runbook for _, check in checks))
    text = sentences.checks_from(len(checks), [rich.cut(title, 100) for title in titles[:3]])
    return Card(escape(text), (*head, *shown, *(block for block in tail if block.get("elements"))))


def _heading(outcome: Outcome) -> Json:
    incident = outcome.incident
    elements = [rich.words(sentences.NEXT_CHECKS, bold=True)]
    if incident.service:
        elements += [rich.words(sentences.FOR_SERVICE), rich.words(rich.cut(incident.service, 80), code=True)]
    if incident.category != "other":
        elements.append(rich.words(f" · {incident.category}"))
    if incident.severity != "unknown":
        elements.append(rich.words(f" · {incident.severity}"))
    return rich.rich_text(rich.section(elements))


def _before(outcome: Outcome) -> list[Json]:
    return [context(f"↻ {rich.cut(outcome.before, 300)}")] if outcome.before else []


def _check(number: int, check: Check, direct_links: bool, marked: Sequence[Json], *, quoted: bool) -> Json:
    """One check. A quoted one is its own quotation; beside a model's words the runbook's own are shown."""
    text = rich.cut(check.text.strip(), _MOST_TEXT)
    opening = [rich.words(f"{number}. ", bold=True)]
    if check.changes:
        opening.append(rich.words(f"{sentences.CHANGES} ", bold=True))
    said = rich.inline(text) if text else []
    elements: list[Json] = [rich.section([*opening, *said])]
    if check.command:
        if len(check.command) <= _MOST_COMMAND:
            elements += rich.preformatted(check.command)
        else:
            elements.append(rich.section([rich.words(sentences.LONG_COMMAND, italic=True)]))
    if check.reading:
        elements.append(rich.section(rich.inline(rich.cut(check.reading, _MOST_TEXT))))
    if not (quoted or _says_it_all(check)):
        elements.append(rich.quote(rich.cut(check.citation.quote.strip(), _MOST_QUOTE)))
    elements.append(rich.section(_citation(check.citation, direct_links)))
    return rich.rich_text(*elements, *marked)


def _says_it_all(check: Check) -> bool:
    """Whether text and command already show every word of the quote."""
    shown = set(_bare(check.text)) | set(_bare(check.command or ""))
    return set(_bare(check.citation.quote)) <= shown or not check.citation.quote.strip()


def _bare(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _citation(at: Citation, direct_links: bool) -> list[Json]:
    title = rich.cut(at.title or at.runbook, 150)
    linked = direct_links and at.url and len(at.url) <= 3_000
    name = rich.link(at.url, title, italic=True) if linked and at.url else rich.words(title, italic=True)
    return [rich.words("— "), name, rich.words(sentences.lines(at.start_line, at.end_line), italic=True)]


def _buttons(outcome: Answer | NoAnswer, searchable: bool) -> Json:
    if isinstance(outcome, Answer):
        titles = {check.citation.runbook: check.citation.title for check in outcome.checks}
    else:
        titles = {outcome.closest.runbook: outcome.closest.title} if outcome.closest else {}
    buttons = [
        button(
            sentences.open_named(titles.get(target.runbook) or target.runbook),
            f"{OPEN}_{index}",
            f"{outcome.id}:{index}",
        )
        for index, target in enumerate(targets(outcome))
    ]
    if searchable:
        buttons.append(button(sentences.SEARCH_AS_ME, AS_ME, outcome.id))
    return actions(buttons)


def _sayings(id: str, places: Sequence[int], marks: int) -> Json:
    """What can be said of the answer, and of each check that is shown. A value is the record's id, a number, a word.

    The block's id changes with each mark: otherwise Slack goes on showing the option that was chosen last.
    """
    row = [
        button(sentences.HELPFUL, f"{SAY}_helpful", f"{id}:{WHOLE}:helpful"),
        button(sentences.WRONG_RUNBOOK, f"{SAY}_wrong", f"{id}:{WHOLE}:wrong"),
    ]
    options = [
        {"text": {"type": "plain_text", "text": f"{number} {label}", "emoji": False}, "value": f"{id}:{place}:{word}"}
        for number, place in enumerate(places[: _MOST_OPTIONS // len(sentences.SAY_OF_CHECK)], start=1)
        for word, label in sentences.SAY_OF_CHECK.items()
    ]
    if options:
        placeholder = {"type": "plain_text", "text": sentences.MARK_A_CHECK, "emoji": False}
        menu = {"type": "static_select", "placeholder": placeholder, "action_id": f"{SAY}_of_check", "options": options}
        row.append(menu)
    return {**actions(row), "block_id": f"{id}:{marks}"}


def _said(marks: Sequence[Mark], place: int) -> list[Json]:
    """Who said what of a check, or of the whole: a line a word."""
    lines = []
    for word, label in sentences.SAID.items():
        people = list(dict.fromkeys(mark.person for mark in marks if mark.number == place and mark.word == word))
        if people:
            elements = [rich.words(f"{label}: ")]
            for person in people[:_MOST_NAMED]:
                elements += [{"type": "user", "user_id": person}, rich.words(" ")]
            if (more := len(people) - _MOST_NAMED) > 0:
                elements.append(rich.words(f"+{more}"))
            lines.append(rich.section(elements))
    return lines


def _made(answer: Answer) -> str:
    made = sentences.QUOTED if answer.written_by == "quoted" else sentences.written_by(answer.written_by)
    return f"{made} {sentences.NEEDS_REVIEW}" if answer.needs_human_review else made


def _whom(outcome: Outcome) -> list[str]:
    return [sentences.owner(rich.cut(outcome.owner, 200))] if outcome.owner else []


def _no_answer(outcome: NoAnswer, *, searchable: bool) -> Card:
    sentence = sentences.NO_ANSWER[outcome.reason]
    blocks = [mrkdwn(sentence), *_before(outcome)]
    small = [*_whom(outcome), *(f"⚠️ {rich.cut(notice, 300)}" for notice in outcome.notices[:_MOST_NOTICES])]
    if outcome.reason == "nothing_found" and outcome.incident.service:
        small.insert(0, sentences.looked_for(rich.cut(outcome.incident.service, 80)))
    if outcome.closest:
        blocks.append(mrkdwn(sentences.closest(rich.cut(outcome.closest.title, 200))))
    row = _buttons(outcome, searchable)
    blocks += [row] if row["elements"] else []
    blocks += [context(*small)] if small else []
    return Card(escape(sentence), tuple(blocks))
