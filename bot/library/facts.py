"""What a page says about itself: title, services, alerts, owner, tags, reviews, its own audience.

From front matter, or from `Service:` lines below the heading of a plain page; front matter wins where both say it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from bot.errors import UnreadablePage
from bot.library.frontmatter import FrontMatter, Value, normal_key, read_front_matter

_SERVICES, _ALERTS, _TAGS = ("services", "service"), ("alerts", "alert"), ("tags", "tag")
_OWNER = ("owner", "owners", "owner_slack")
_REVIEWED, _REVIEW_AFTER = ("last_reviewed", "last_reviewed_on", "reviewed"), ("review_after", "review_in")
_PLAIN_KEYS = frozenset((*_SERVICES, *_ALERTS, *_TAGS, *_OWNER, *_REVIEWED, *_REVIEW_AFTER, "audience"))
_PLAIN_LINE = re.compile(
    r"\s{0,3}(?:[-*+]\s+|>\s*)?(?:\*\*|__|\*|_)?(?P<key>[A-Za-z][A-Za-z _-]{2,20}?)(?:\*\*|__|\*|_)?\s*:"
    r"(?:\*\*|__|\*|_)?(?:\s+(?P<value>.*?))?\s*\\?$"
)
_HEADING_LINE = re.compile(r"\s{0,3}(#{1,6}(\s|$)|=+\s*$|-{2,}\s*$)")
_PLAIN_REGION = 40
"""Lines below the top of the body in which a plain page may state its facts."""

_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a page says about itself, as written. `title` is empty where it does not say."""

    body_line: int = 1
    title: str = ""
    services: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    owner: str = ""
    tags: tuple[str, ...] = ()
    last_reviewed: date | None = None
    review_after: int | None = None
    audience: tuple[str, ...] | None = None
    keys: tuple[tuple[str, int], ...] = ()
    """Every key of the front matter with its line."""
    remarks: tuple[tuple[int, str], ...] = ()
    """(line, what is wrong) of plain lines that can't be read: not worth losing a page for."""


def read_facts(text: str) -> Facts:
    """The facts of a page. Raises UnreadablePage with line and remedy where its front matter can't be understood."""
    front = read_front_matter(text)
    plain = _plain_values(text, front.body_line)
    values = {**plain, **front.values}
    remarks: list[tuple[int, str]] = []

    def words(*keys: str, split: bool = True) -> tuple[str, ...]:
        found = _first(values, keys)
        return () if found is None else _words(found[0], found[1], split=split)

    def checked(keys: tuple[str, ...], read: type[date] | type[int]) -> date | int | None:
        found = _first(values, keys)
        if found is None or not (text := " ".join(_words(*found, split=False))):
            return None
        value = parse_date(text) if read is date else parse_days(text)
        if value is None:
            problem, fix = (
                (f"`{found[0]}` is not a date", "write it as YYYY-MM-DD")
                if read is date
                else (f"`{found[0]}` is not a number of days", "write 90, or 3 months")
            )
            if found[0] in front.values:
                raise UnreadablePage(problem, line=found[1].line, fix=fix)
            remarks.append((found[1].line, f"{problem}: {fix}"))
        return value

    reviewed = checked(_REVIEWED, date)
    after = checked(_REVIEW_AFTER, int)
    return Facts(
        body_line=front.body_line,
        title=_one_line(" ".join(words("title", split=False))),
        services=words(*_SERVICES),
        alerts=words(*_ALERTS),
        owner=_one_line(", ".join(words(*_OWNER, split=False))),
        tags=words(*_TAGS),
        last_reviewed=reviewed if isinstance(reviewed, date) else None,
        review_after=after if isinstance(after, int) else None,
        audience=_audience(front, plain),
        keys=tuple((key, value.line) for key, value in front.values.items()),
        remarks=tuple(remarks),
    )


def audience_of_broken(text: str) -> tuple[str, ...] | None:
    """What a page that can't be read says of its own audience: `()` (nobody) where it says something unreadable."""
    try:
        front = read_front_matter(text)
        return _audience(front, _plain_values(text, front.body_line))
    except UnreadablePage:
        return () if "audience" in text.casefold() else None


def parse_date(text: str) -> date | None:
    """A day, written in one of the unambiguous ways; None for anything else (30 February among them)."""
    day = re.sub(r"[T ]\d\d:\d\d.*$", "", text.strip())
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(day, form).date()
        except ValueError:
            continue
    return None


def parse_days(text: str) -> int | None:
    """A number of days: `90`, `90 days`, `3 months`; None for anything else."""
    found = re.fullmatch(r"(\d{1,5})\s*(?:(day|week|month|year)s?)?", text.strip().casefold())
    return int(found[1]) * _UNIT_DAYS[found[2] or "day"] if found else None


def _first(values: Mapping[str, Value], keys: tuple[str, ...]) -> tuple[str, Value] | None:
    return next(((key, values[key]) for key in keys if key in values), None)


def _words(key: str, value: Value, *, split: bool) -> tuple[str, ...]:
    """The words of a value; one string that holds commas is a list, where `split` says so."""
    if value.items is None:
        raise UnreadablePage(
            f"`{key}` is neither a word nor a list of words", line=value.line, fix="write one word, or a list of words"
        )
    items = value.items
    if split and not value.is_list:
        items = tuple(part for item in items for part in item.split(","))
    return tuple(dict.fromkeys(word for item in items if (word := _one_line(item))))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _audience(front: FrontMatter, plain: Mapping[str, Value]) -> tuple[str, ...] | None:
    """The page's own audience; front matter and plain line both narrow. A key without a value closes the page."""
    found = [values["audience"] for values in (front.values, plain) if "audience" in values]
    if not found:
        return None
    named = [_words("audience", value, split=True) for value in found]
    return () if () in named else tuple(dict.fromkeys(name for names in named for name in names))


def _plain_values(text: str, body_line: int) -> dict[str, Value]:
    """The `Key: value` lines at the top of the body: below the first heading, before the first other text."""
    values: dict[str, Value] = {}
    lines = text.split("\n", body_line + _PLAIN_REGION)[body_line - 1 : body_line - 1 + _PLAIN_REGION]
    for number, line in enumerate(lines, start=body_line):
        if not line.strip() or _HEADING_LINE.match(line) or _is_setext_title(lines, number - body_line):
            if values and line.strip():
                break
            continue
        match = _PLAIN_LINE.match(line)
        key = normal_key(match["key"]) if match else ""
        if not match or key not in _PLAIN_KEYS:
            break
        value = re.sub(r"^`([^`]*)`$", r"\1", match["value"] or "")
        values.setdefault(key, Value((value,) if value else (), number))
    return values


def _is_setext_title(lines: list[str], index: int) -> bool:
    return index + 1 < len(lines) and re.match(r"\s{0,3}(=+|-{2,})\s*$", lines[index + 1]) is not None
