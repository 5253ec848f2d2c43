"""What a rule is: a small entry with a name, why it exists, an example, and a function that finds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

import re2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hit:
    """[start, end) of the view holds something of this kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which secrets or personal data stand in text."""

    name: str
    why: str
    example: str
    """A text that the rule finds something in; not a real secret."""
    find: Callable[[Text], Iterable[Hit]]
    words: Collection[str] = ()
    """Lower-case; the rule is skipped where none of them is in the text. Empty: it always runs."""


@dataclass(frozen=True)
class Text:
    """The text that rules look at."""

    text: str

    @cached_property
    def lower(self) -> str:
        """In lower case, for the words that rules wait for; its offsets are not those of `text`."""
        return self.text.lower()

    def has(self, words: Collection[str]) -> bool:
        """True where one of these words is in the text, or none is asked for."""
        return not words or any(word in self.lower for word in words)


class Search(Generic[T]):
    """Which of many things are worth looking at in a text: one linear pass over it answers for all of them."""

    def __init__(self, entries: Iterable[tuple[T, str]]) -> None:
        """`entries` are things with the pattern that tells that they are worth it; an empty one always is."""
        self._entries: list[tuple[T, int]] = []
        self._set = re2.Set.SearchSet(_options())
        self._set.Add(
            ""
        )  # always in the text: a search without it has failed, and that must not pass for "nothing there"
        for entry, pattern in entries:
            self._entries.append((entry, self._set.Add(pattern) if pattern else 0))
        self._set.Compile()

    def open(self, text: str) -> Iterator[T]:
        """Those whose pattern is in `text`, in their order. Raises RuntimeError when the search fails."""
        seen = set(self._set.Match(text) or ())
        if 0 not in seen:
            raise RuntimeError("the search for words failed")
        return (entry for entry, number in self._entries if number in seen)


def words(text: str) -> frozenset[str]:
    """A set of words out of a text of them."""
    return frozenset(text.split())


def any_of(words: Iterable[str]) -> str:
    """The pattern of any of these words; empty without words."""
    return "|".join(re2.escape(word) for word in sorted(words))


@lru_cache(maxsize=1)
def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return options


def compile_(pattern: str) -> Any:
    """A pattern of the linear-time engine. Raises re2.error for what it can't take."""
    return re2.compile(pattern, _options())


def hit_of(found: Any, kind: str, group: int = 1) -> Hit:
    """What a group of a match holds."""
    start, end = found.span(group)
    return Hit(start, end, kind)


def matching(
    pattern: Any, kind: str, group: int = 1, accept: Callable[[str], bool] = bool
) -> Callable[[Text], Iterator[Hit]]:
    """A finder: every match of the compiled `pattern` whose `group` is accepted."""

    def find(text: Text) -> Iterator[Hit]:
        for found in pattern.finditer(text.text):
            if found.start(group) >= 0 and accept(found[group]):
                yield hit_of(found, kind, group)

    return find
