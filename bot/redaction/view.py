"""The normalising view: text as a person reads it, with a map back to the text as it was given.

Slack splits and repeats what people type (`<mailto:pw@host|pw@host>`, entities), and pasted text hides more
(zero-width characters, full-width letters, smart quotes, colour codes, wrapped lines). Rules look at the view;
spans are in offsets of the given text.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Edit = tuple[int, int, str]
"""Replace [start, end) of the given text by this."""


@dataclass(frozen=True, slots=True)
class View:
    """A text made from another by edits; `raw_span` leads back."""

    text: str
    edits: tuple[tuple[int, int, int, int], ...] = ()
    """(view start, view end, raw start, raw end) of every edit, in order."""
    _starts: list[int] = field(default_factory=list)

    def raw_span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the given text that shows as [start, end) here; what is hidden inside it is included."""
        return self._raw(start, last=False), self._raw(end - 1, last=True) if end > start else self._raw(
            start, last=False
        )

    def _raw(self, offset: int, *, last: bool) -> int:
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return offset + last
        _, view_end, raw_start, raw_end = self.edits[index]
        if offset < view_end:
            return raw_end if last else raw_start
        return raw_end + offset - view_end + last


def edited(text: str, edits: Iterable[Edit]) -> View:
    """`text` with `edits` (in order, not overlapping) made."""
    pieces: list[str] = []
    kept: list[tuple[int, int, int, int]] = []
    position = length = 0
    for start, end, replacement in edits:
        pieces.append(text[position:start])
        length += start - position
        pieces.append(replacement)
        kept.append((length, length + len(replacement), start, end))
        length += len(replacement)
        position = end
    if not kept:
        return View(text)
    pieces.append(text[position:])
    return View("".join(pieces), tuple(kept), [edit[0] for edit in kept])


def _folds() -> dict[int, str]:
    """One character for one: what looks like ASCII becomes ASCII, so that offsets stay."""
    table = {0xFEE0 + code: chr(code) for code in range(0x21, 0x7F)}  # full-width forms
    table |= dict.fromkeys(map(ord, "“”„‟″«»"), '"') | dict.fromkeys(map(ord, "‘’‚‛′´"), "'")
    table |= dict.fromkeys(map(ord, "‐‑‒–—―−﹣"), "-") | {ord("："): ":", ord("﹕"): ":", ord("∶"): ":", ord("＝"): "="}
    table |= dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
    table |= dict.fromkeys((0x0B, 0x0C, 0x85, 0x2028, 0x2029), "\n")
    # letters of other alphabets that can't be told from Latin ones
    table |= {ord(a): b for a, b in zip("аеорсухіјѕԁһոѵАВЕКМНОРСТХІЅ", "aeopcyxijsdhnvABEKMHOPCTXIS", strict=True)}
    table |= {ord(a): b for a, b in zip("οαρνΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "oapvABEZHIKMNOPTYX", strict=True)}
    table |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # half a surrogate pair: no engine takes it
    return table


_FOLD = _folds()
_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    "\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\x00-\x08"
)
_EDIT = re.compile(
    rf"(?P<hidden>[{_HIDDEN}]+|\x1b\[[0-9;]{{0,20}}[A-Za-z])"
    r"|(?P<entity>&(?:amp;)?(?:amp|lt|gt|quot|apos|nbsp|#39|#x27|#34|#x22|#61|#x3[dD]|#58|#x3[aA]|#64|#x40);)"
    r"|(?P<escape>\\u00[2-7][0-9a-fA-F])"
    r"|(?P<wrap>\\\r?\n[ \t]*)"
    r"|<(?P<scheme>mailto:|tel:)?(?P<target>[a-z][a-z0-9+.\-]{1,20}://[^<>|\n]*|(?<=:)[^<>|\n]*)"
    r"(?:\|(?P<label>[^<>\n]*))?>"
)
_NEEDS = re.compile(rf"[{_HIDDEN}\x1b&\\<]")


def fold(text: str) -> str:
    """`text` with every look-alike character as ASCII; same length."""
    return text if text.isascii() else text.translate(_FOLD)


def normalise(text: str) -> View:
    """The view of `text` in which nothing hides in formatting."""
    folded = fold(text)
    return edited(folded, _normalising(folded)) if _NEEDS.search(folded) else View(folded)


def _normalising(text: str) -> Iterator[Edit]:
    position, close = 0, (-1, "")
    while found := _EDIT.search(text, position):
        start, end = found.span()
        if 0 <= close[0] < start:
            yield close[0], close[0] + 1, close[1]
            close = (-1, "")
        position = end
        if found["hidden"]:
            yield start, end, ""
        elif found["entity"]:
            yield start, end, html.unescape(html.unescape(found[0])).replace("\xa0", " ")
        elif found["escape"]:
            yield start, end, chr(int(found[0][2:], 16))
        elif found["wrap"]:
            yield start, end, " "
        else:  # a link: of two equal halves only the label stays; its inside is looked at like any text
            label, target, mail = found["label"], found["target"], bool(found["scheme"])
            same = label is not None and html.unescape(label) in {
                html.unescape(target),
                html.unescape(target).split("://")[-1],
            }
            glue = "" if mail or same else " "
            inside = found.start("label") if same else found.start("target")
            phone = found["scheme"] == "tel:"
            yield start, inside, "tel:" if phone else glue
            position, close = inside, (end - 1, glue)
            if label is not None and not same:
                bar = found.start("label") - 1
                inner = list(_normalising(text[inside:bar]))
                yield from ((inside + a, inside + b, with_) for a, b, with_ in inner)
                yield bar, bar + 1, " tel:" if phone else " "
                position = bar + 1
    if close[0] >= 0:
        yield close[0], close[0] + 1, close[1]


# each begins with what it looks for: an engine that has to look back at every place is slow
_MARKS = re.compile(r"(?:`[ \t]?`|[*~`]+)(?=[\w-])")
_BREAKS = re.compile(r"\n[ \t>]*`?(?=[\w-]{4})")
_BEFORE_BREAK = re.compile(r"[\w-]{8}(`?[ \t]?\r?)\Z")
_TOKEN_CHARACTER = re.compile(r"[\w-]")


def without_marks(text: str) -> View:
    """`text` without Slack's marks for bold, struck and code where they stand in the middle of a word."""
    marks = (m for m in _MARKS.finditer(text) if _TOKEN_CHARACTER.match(text, max(0, m.start() - 1)))
    return edited(text, ((m.start(), m.end(), "") for m in marks))


def without_breaks(text: str) -> View:
    """`text` with long words that go on in the next line in one: a client may have wrapped a token."""
    breaks = ((_BEFORE_BREAK.search(text[max(0, m.start() - 11) : m.start()]), m) for m in _BREAKS.finditer(text))
    return edited(text, ((m.start() - len(before[1]), m.end(), "") for before, m in breaks if before))
