"""Other words for the same thing: `data/thesaurus.yaml`, looked up in a question's stems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import yaml

from bot.search.words import tokenize

Phrase = tuple[str, ...]


class Thesaurus:
    """Phrases, as stems, with the phrases that may be said instead."""

    def __init__(self, entries: Sequence[Sequence[str] | Mapping[str, Sequence[str]]]) -> None:
        """Of the file's entries: a list is mutual, a mapping goes from what people say to what they mean."""
        self._meant: dict[Phrase, set[Phrase]] = {}
        for entry in entries:
            if isinstance(entry, Mapping):
                said, meant = _phrases(entry["say"]), _phrases(entry["mean"])
            else:
                said = meant = _phrases(entry)
            for phrase in said:
                self._meant.setdefault(phrase, set()).update(other for other in meant if other != phrase)
        self._longest = max(map(len, self._meant), default=0)

    def others(self, tokens: Sequence[str]) -> dict[str, float]:
        """Words that are meant beside `tokens` (stems, in order), each with a weight up to 1.

        The words of a longer phrase weigh less each; where phrases overlap, the longer one speaks.
        """
        found: dict[str, float] = {}
        present = set(tokens)
        start = 0
        while start < len(tokens):
            for length in range(min(self._longest, len(tokens) - start), 0, -1):
                if meant := self._meant.get(tuple(tokens[start : start + length])):
                    for phrase in meant:
                        for word in phrase:
                            if word not in present:
                                found[word] = max(found.get(word, 0.0), len(phrase) ** -0.5)
                    start += length - 1
                    break
            start += 1
        return found


@cache
def general_thesaurus() -> Thesaurus:
    """The one of operations, from the data file."""
    text = (files("bot.search") / "data" / "thesaurus.yaml").read_text(encoding="utf-8")
    return Thesaurus(yaml.safe_load(text))


def _phrases(words: Sequence[str]) -> list[Phrase]:
    return [phrase for word in words if (phrase := tuple(tokenize(word)))]
