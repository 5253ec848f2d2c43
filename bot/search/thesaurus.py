"""Other words for the same thing: `data/thesaurus.yaml`, looked up in what a question says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import yaml

from bot.search.words import spoken, tokenize

Phrase = tuple[str, ...]


class Thesaurus:
    """Phrases, as they are spoken, with the words that may be said instead."""

    def __init__(self, entries: Sequence[Sequence[str] | Mapping[str, Sequence[str]]]) -> None:
        """Of the file's entries: a list is mutual, a mapping goes from what people say to what they mean."""
        # Ordered, and not sets: the words in their order are embedded, and one question has one answer.
        self._meant: dict[Phrase, dict[Phrase, None]] = {}
        for entry in entries:
            if isinstance(entry, Mapping):
                said, meant = entry["say"], entry["mean"]
            else:
                said = meant = entry
            for phrase in said:
                # Small words count in what is said ("out of memory" is not "memory"), and say nothing in what is meant.
                others = (tuple(tokenize(other)) for other in meant if other != phrase)
                self._meant.setdefault(tuple(spoken(phrase)), {}).update({other: None for other in others if other})
        self._longest = max(map(len, self._meant), default=0)

    def others(self, text: str) -> dict[str, float]:
        """Words (stems) that are meant beside those of `text`, each with a weight up to 1.

        The words of a longer phrase weigh less each; where phrases overlap, the longer one speaks.
        """
        found: dict[str, float] = {}
        present = tokenize(text)
        words = spoken(text)
        start = 0
        while start < len(words):
            for length in range(min(self._longest, len(words) - start), 0, -1):
                if meant := self._meant.get(tuple(words[start : start + length])):
                    self._add(meant, present, found)
                    start += length - 1
                    break
            start += 1
        for identifier in dict.fromkeys(token for token in present if token not in words):  # `ImagePullBackOff`
            self._add(self._meant.get((identifier,), ()), present, found)
        return found

    @staticmethod
    def _add(meant: Iterable[Phrase], present: Sequence[str], found: dict[str, float]) -> None:
        for phrase in meant:
            for word in phrase:
                if word not in present:
                    found[word] = max(found.get(word, 0.0), len(phrase) ** -0.5)


@cache
def general_thesaurus() -> Thesaurus:
    """The one of operations, from the data file."""
    text = (files("bot.search") / "data" / "thesaurus.yaml").read_text(encoding="utf-8")
    return Thesaurus(yaml.safe_load(text))
