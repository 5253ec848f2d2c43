"""Text in, clean text out: rules look at the normalised view, the longest span wins, a value has one placeholder."""

from __future__ import annotations

import html
import re
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import re2

from bot.errors import ConfigurationError, RedactionError
from bot.redaction import assignments, personal, prose, structures, urls
from bot.redaction.kinds import KINDS
from bot.redaction.rules import Hit, Rule, Search, Text, any_of, compile_
from bot.redaction.tokens import FORMATS, Format
from bot.redaction.view import View, normalise, without_breaks, without_marks
from bot.settings import Settings

RULES: tuple[Rule, ...] = (*urls.RULES, assignments.ASSIGNMENTS, *structures.RULES, *prose.RULES, *personal.RULES)
"""Every own rule, secrets before personal data."""

_PLACEHOLDER = re.compile(r"‹([a-z][a-z\-]*)-(\d{1,6})›")
_PERSONAL = frozenset(name for name, kind in KINDS.items() if not kind.secret)


@dataclass(frozen=True, slots=True)
class Span:
    """[start, end) of the given text was replaced by `placeholder`."""

    start: int
    end: int
    kind: str
    rule: str
    placeholder: str


@dataclass(frozen=True, slots=True)
class Clean:
    """Clean text, and what was found in the text as it was given."""

    text: str
    spans: tuple[Span, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds found, each once, in order."""
        return tuple(dict.fromkeys(span.kind for span in self.spans))


@dataclass
class Numbering:
    """The placeholders of one request: pass one object for all its texts, and equal values look equal."""

    placeholders: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    """Secret values that can be told by themselves, with their kind: found again wherever they stand in the request."""

    def of(self, value: str, kind: str) -> str:
        """The placeholder of a value."""
        key = unquote(value).strip()
        if key not in self.placeholders:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.placeholders[key] = f"‹{kind}-{self.counts[kind]}›"
        return self.placeholders[key]

    def reserve(self, text: str) -> None:
        """Leave out the numbers that stand in an already clean text."""
        for found in _PLACEHOLDER.finditer(text):
            self.counts[found[1]] = max(self.counts.get(found[1], 0), int(found[2]))


@dataclass(frozen=True, slots=True)
class _Found:
    """A span of the given text before it has a placeholder."""

    start: int
    end: int
    kind: str
    rule: str
    value: str


class _Clock:
    """The time that redaction may take; rules and their finds ask it."""

    def __init__(self, budget: float) -> None:
        self._end = time.monotonic() + budget

    def check(self) -> None:
        if time.monotonic() > self._end:
            raise RedactionError("redaction took longer than its time budget")


class Redactor:
    """Finds and masks secrets and personal data. Built once; safe to use from several threads."""

    def __init__(
        self,
        *,
        off: Iterable[str] = (),
        on: Iterable[str] = (),
        allow: Iterable[str] = (),
        patterns: Iterable[tuple[str, Any]] = (),
        max_chars: int = 40_000,
        budget_ms: int = 2_000,
    ) -> None:
        """`off` and `on` name kinds or rules; `patterns` are (kind, compiled) of the team's own."""
        self._off = frozenset(off) | {name for name, kind in KINDS.items() if not kind.on and name not in set(on)}
        self._allow = tuple(allow)
        self._patterns = tuple(patterns)
        self._max_chars, self._budget = max_chars, budget_ms / 1000
        self._rules = Search(
            (rule, f"(?i){any_of(rule.words)}" if rule.words else "") for rule in RULES if rule.name not in self._off
        )
        self._formats = Search((one, any_of(one.words)) for one in FORMATS if not {one.kind, one.name} & self._off)

    @classmethod
    def from_settings(cls, settings: Settings) -> Redactor:
        """The redactor that the settings describe.

        Raises ConfigurationError for an unknown kind, and for a bad pattern with its line.
        """
        known = set(KINDS) | {rule.name for rule in RULES} | {format_.name for format_ in FORMATS}
        for variable, names in (("REDACT_OFF", settings.redact_off), ("REDACT_ON", settings.redact_on)):
            if unknown := sorted(set(names) - known):
                raise ConfigurationError(
                    f"{variable} names {', '.join(unknown)}, which is no kind", fix=f"one of {', '.join(KINDS)}"
                )
        return cls(
            off=settings.redact_off,
            on=settings.redact_on,
            allow=settings.redact_allow,
            patterns=read_patterns(settings.redact_patterns) if settings.redact_patterns else (),
            max_chars=settings.redact_max_chars,
            budget_ms=settings.redact_budget_ms,
        )

    def redact(self, text: str, *, numbering: Numbering | None = None) -> Clean:
        """Clean text; what is longer than the cap is cut off, and the text says so.

        Raises RedactionError when anything fails or the time budget is exceeded: nothing may be used then.
        """
        kept = text if len(text) <= self._max_chars else _cut(text, self._max_chars)
        clean = self._guarded(kept, numbering or Numbering(), self._budget, lines=False)
        if len(kept) < len(text):
            clean = Clean(f"{clean.text} [… {len(text) - len(kept)} more characters were cut off here]", clean.spans)
        return clean

    def redact_field(self, name: str, value: str, *, numbering: Numbering | None = None) -> Clean:
        """A value that stands in a field of its own: its name decides with it (`password`: `hunter2`).

        Spans are offsets into `value`. Raises RedactionError.
        """
        label = f"{name}="
        clean = self.redact(label + value, numbering=numbering)
        if not clean.text.startswith(label):  # the name itself holds a secret: nobody needs the label then
            return self.redact(value, numbering=numbering)
        spans = (replace(one, start=one.start - len(label), end=one.end - len(label)) for one in clean.spans)
        return Clean(clean.text[len(label) :], tuple(spans))

    def clean_page(self, text: str) -> str:
        """A runbook's text, clean, with as many lines as before. Raises RedactionError."""
        return self._page(text).text

    def page_findings(self, text: str) -> list[tuple[int, str]]:
        """(line, kind) of everything that `clean_page` masks; lines count from 1. Raises RedactionError."""
        return [(text.count("\n", 0, span.start) + 1, span.kind) for span in self._page(text).spans]

    def _page(self, text: str) -> Clean:
        return self._guarded(text, Numbering(), self._budget * max(1, len(text) / self._max_chars), lines=True)

    def _guarded(self, text: str, numbering: Numbering, budget: float, *, lines: bool) -> Clean:
        try:
            return self._clean(text, numbering, _Clock(budget), lines=lines)
        except RedactionError:
            raise
        except Exception as error:  # closed, not open; the message may hold the text, so only its type is told
            raise RedactionError(f"redaction failed: {type(error).__name__}") from None

    def _clean(self, text: str, numbering: Numbering, clock: _Clock, *, lines: bool) -> Clean:
        numbering.reserve(text)
        view = normalise(text)
        found = _disjoint(self._find(view, clock))
        found = _disjoint([*found, *self._again(text, view, found, numbering, clock)])
        pieces: list[str] = []
        spans: list[Span] = []
        position = 0
        for one in found:
            placeholder = numbering.of(one.value, one.kind)
            spans.append(Span(one.start, one.end, one.kind, one.rule, placeholder))
            pieces += text[position : one.start], placeholder
            if lines:
                pieces.append("\n" * text.count("\n", one.start, one.end))
            position = one.end
        return Clean("".join((*pieces, text[position:])), tuple(spans))

    def _find(self, view: View, clock: _Clock) -> list[_Found]:
        secrets: list[_Found] = []
        people: list[_Found] = []
        placeholders = [found.span() for found in _PLACEHOLDER.finditer(view.text)]
        for name, hit in self._hits(Text(view.text), clock):
            if self._is_allowed(view.text[hit.start : hit.end]):
                continue
            for start, end in _outside(hit.start, hit.end, placeholders):
                one = _Found(*view.raw_span(start, end), hit.kind, name, view.text[start:end])
                (people if hit.kind in _PERSONAL else secrets).append(one)
        secrets += list(self._hidden_tokens(view, secrets, clock))
        # an e-mail rule would eat the host of `user:password@host`: personal data gives way
        secrets = _disjoint(secrets)
        starts = [one.start for one in secrets]
        return secrets + [one for one in people if not _touches(one, secrets, starts)]

    def _hits(self, text: Text, clock: _Clock) -> Iterator[tuple[str, Hit]]:
        for format_ in self._formats.open(text.text):
            clock.check()
            for found in format_.pattern.finditer(text.text):
                start, end = _last_group(found, format_.groups)
                if format_.accepts(text.text[start:end]):
                    yield format_.name, Hit(start, end, format_.kind)
        for rule in self._rules.open(text.text):
            clock.check()
            for hit in rule.find(text):
                clock.check()
                if hit.kind not in self._off:
                    yield rule.name, hit
        for kind, pattern in self._patterns:
            clock.check()
            for found in pattern.finditer(text.text):
                yield f"pattern:{kind}", Hit(*_last_group(found, pattern.groups), kind)

    def _hidden_tokens(self, view: View, secrets: list[_Found], clock: _Clock) -> Iterator[_Found]:
        """Vendors' tokens with marks of formatting, or a line break, in the middle."""
        for flattened, wrapped in ((without_marks(view.text), False), (without_breaks(view.text), True)):
            if not flattened.edits:
                continue
            for format_ in self._formats.open(flattened.text):
                clock.check()
                for found in (format_.unbound if wrapped else format_.pattern).finditer(flattened.text):
                    start, end = _last_group(found, format_.groups)
                    if wrapped:
                        start, end = _shortest(format_, flattened, start, end)
                    raw = view.raw_span(*flattened.raw_span(start, end))
                    # a token that was whole in its line must not take the next line with it
                    whole = wrapped and any(
                        s.start < raw[1] and raw[0] < s.end and s.rule == format_.name for s in secrets
                    )
                    if not whole and format_.accepts(flattened.text[start:end]):
                        yield _Found(*raw, format_.kind, format_.name, flattened.text[start:end])

    def _again(
        self, text: str, view: View, found: list[_Found], numbering: Numbering, clock: _Clock
    ) -> Iterator[_Found]:
        """The same secrets elsewhere: in the other half of a link, in a later text of the request, escaped."""
        for one in found:
            if _is_telling(one.value):
                numbering.known.setdefault(one.value, one.kind)
        for value, kind in numbering.known.items():
            clock.check()
            if view.edits:
                for start, end in _places(view.text, value):
                    yield _Found(*view.raw_span(start, end), kind, "known", value)
            for form in _forms(value):
                for start, end in _places(text, form):
                    yield _Found(start, end, kind, "known", value)

    def _is_allowed(self, value: str) -> bool:
        return any(
            value == allowed or (allowed.startswith("@") and value.lower().endswith(allowed.lower()))
            for allowed in self._allow
        )


def read_patterns(path: Path) -> list[tuple[str, Any]]:
    """The team's own patterns: one a line, a kind and then the expression; `#` begins a comment.

    The last group of an expression is what is masked; without a group, all of it. Raises ConfigurationError with
    the line.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the patterns can't be read: {type(error).__name__}",
            where=path,
            fix="REDACT_PATTERNS names a UTF-8 text file",
        ) from None
    patterns = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        kind, _, expression = line.strip().partition(" ")
        if not re.fullmatch(r"[a-z][a-z\-]*", kind) or not expression.strip():
            raise ConfigurationError(
                "not a kind and a pattern", where=path, line=number, fix="write `employee-id  EMP-[0-9]{6}`"
            )
        try:
            compiled = compile_(expression.strip())
        except re2.error as error:
            reason = error.args[0] if error.args else ""
            reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
            raise ConfigurationError(
                f"the pattern can't be used: {reason}",
                where=path,
                line=number,
                fix="syntax of RE2: no look-around, no back reference",
            ) from None
        if compiled.search(""):
            raise ConfigurationError(
                "the pattern matches nothing at all", where=path, line=number, fix="it must need at least one character"
            )
        patterns.append((kind, compiled))
    return patterns


def _last_group(found: Any, groups: int) -> tuple[int, int]:
    """The span of the last of `groups` that took part, or of the whole match."""
    for group in range(groups, -1, -1):
        if found.start(group) >= 0:
            break
    return found.span(group)  # type: ignore[no-any-return]


def _shortest(format_: Format, flattened: View, start: int, end: int) -> tuple[int, int]:
    """A token over line breaks ends at the first break at which it is whole: the next line is its own."""
    for at in (edit[0] for edit in flattened.edits if start < edit[0] < end):
        if (whole := format_.unbound.fullmatch(flattened.text[start:at])) is not None:
            return start, start + whole.end()
    return start, end


def _outside(start: int, end: int, placeholders: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What of [start, end) is not placeholder already."""
    for a, b in placeholders:
        if a < end and start < b:
            if start < a:
                yield start, a
            start = b
    if start < end:
        yield start, end


def _touches(one: _Found, spans: list[_Found], starts: list[int]) -> bool:
    """Whether a span overlaps any of `spans`, which are in order and apart; `starts` are theirs."""
    index = bisect_left(starts, one.end)
    return index > 0 and spans[index - 1].end > one.start


def _disjoint(found: Iterable[_Found]) -> list[_Found]:
    """Spans that overlap become one, called what the longest of them is."""
    merged: list[_Found] = []
    for one in sorted(found, key=lambda f: (f.start, -f.end)):
        if merged and one.start < merged[-1].end:
            last = merged[-1]
            longest = one if one.end - one.start > last.end - last.start else last
            if one.end > last.end:
                merged[-1] = _Found(last.start, one.end, longest.kind, longest.rule, longest.value)
        else:
            merged.append(one)
    return merged


def _is_telling(value: str) -> bool:
    """Whether a value is so much its own that every other place it stands in is the secret too."""
    return len(value) >= 12 or (len(value) >= 6 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value))


def _forms(value: str) -> tuple[str, ...]:
    """A value as it stands in text: as it is, escaped for HTML, escaped for addresses."""
    if value.isalnum() and value.isascii():
        return (value,)
    escaped = (html.escape(value), html.escape(value, quote=False), quote(value, safe=""), quote(value))
    return tuple(dict.fromkeys((value, *escaped)))


def _places(text: str, value: str) -> Iterator[tuple[int, int]]:
    """Where a value stands in a text, not as a part of a longer word."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        inside = (_is_word(text[start - 1 : start]) and _is_word(value[0])) or (
            _is_word(text[end : end + 1]) and _is_word(value[-1])
        )
        if not inside:
            yield start, end
        start = text.find(value, end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _cut(text: str, limit: int) -> str:
    """The first `limit` characters, less what would be half a word: half a secret has no form any more."""
    head = text[:limit]
    last = max(head.rfind(" ", limit - 2000), head.rfind("\n", limit - 2000))
    return head[:last] if last > 0 else head
