"""The words half of the search: tokens, and BM25 whose statistics are counted over the allowed texts only.

Document frequency, their number and their mean length are taken under the mask of what these readers may open, so
that no score tells anything about a page that they may not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Scores = NDArray[np.float32]
Bag = tuple[NDArray[np.int32], NDArray[np.float32]]
"""The words of one text: their numbers, ascending, and how often each stands there."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_'’][A-Za-z0-9]+)*|\d+[A-Za-z]+\w*|(?<![\d.])(?:[1-5]\d\d|\d{1,3}(?= ?%))(?![\d.]\d)")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+[a-z]*|[A-Z]+")
_STOP_WORDS = """
    a about after again all also am an and any are as at be because been before being both but by can could did do
    does doing done each for from further had has have having he her here him his how i if in into is it its itself
    just me more most my myself no nor not now of off on once only or other our out over own same she should so some
    such than that the their them then there these they this those through to too under until up us very was we were
    what when where which while who whom why will with would you your yours please see may might must shall per via
    s t re ve ll d m don isn aren wasn doesn didn won hasn haven couldn shouldn wouldn can't cannot
    ca wo"""
_STOP = frozenset(_STOP_WORDS.split())
_stemmer = snowballstemmer.stemmer("english")


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The stem of a lower-case English word."""
    return str(_stemmer.stemWord(word))


@lru_cache(maxsize=200_000)
def _tokens_of(word: str) -> tuple[str, ...]:
    """A word, its parts where it is an identifier, without the words that say nothing."""
    lower = word.casefold().replace("’", "'").removesuffix("'s").removesuffix("n't").removesuffix("'")
    if lower in _STOP:
        return ()
    parts = [part.casefold() for part in _PARTS.findall(word)] if not lower.isalpha() or lower != word else []
    if len(parts) <= 1:
        return (stem(lower),)
    whole = stem(re.sub(r"[\W_]", "", lower))
    pairs = [first + second for first, second in pairwise(parts)] if len(parts) > 2 else []
    return (*(stem(part) for part in parts if part not in _STOP and len(part) > 1), *map(stem, pairs), whole)


def tokenize(text: str) -> list[str]:
    """The stems of `text`, in order. An identifier gives its parts, neighbours together, and itself in one piece.

    So `KubeAPI` finds `KubeAPIDown`, and "backoff" `CrashLoopBackOff`. Of numbers, HTTP codes and percentages stay.
    """
    return [token for match in _WORD.finditer(text) for token in _tokens_of(match[0])]


class Vocabulary:
    """Numbers of tokens. Grows; never forgets (a number stands in cached bags)."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, token: str) -> int | None:
        """The number of a token that some text has."""
        return self._numbers.get(token)

    def bag(self, tokens: Iterable[str]) -> Bag:
        """Count tokens, numbering the new ones."""
        numbers = self._numbers
        counts = Counter(numbers.setdefault(token, len(numbers)) for token in tokens)
        order = sorted(counts)
        return np.array(order, dtype=np.int32), np.array([counts[n] for n in order], dtype=np.float32)


class Postings:
    """An inverted index over texts, in numpy: for each word the texts that have it, and how often."""

    def __init__(self, bags: Sequence[Bag], words: int) -> None:
        """Of `bags`, one a text; `words`: size of the vocabulary."""
        sizes = np.array([len(numbers) for numbers, _ in bags], dtype=np.int64)
        terms = np.concatenate([numbers for numbers, _ in bags]) if bags else np.zeros(0, np.int32)
        counts = np.concatenate([count for _, count in bags]) if bags else np.zeros(0, np.float32)
        texts = np.repeat(np.arange(len(bags), dtype=np.int32), sizes)
        order = np.argsort(terms, kind="stable")
        self._texts, self._counts = texts[order], counts[order]
        self._starts = np.searchsorted(terms[order], np.arange(words + 1))
        self.lengths: Scores = np.array([count.sum() for _, count in bags], dtype=np.float32)

    def of(self, word: int | None) -> tuple[NDArray[np.int32], Scores]:
        """The texts that have a word, and how often each does."""
        if word is None or word + 1 >= len(self._starts):
            return self._texts[:0], self._counts[:0]
        span = slice(self._starts[word], self._starts[word + 1])
        return self._texts[span], self._counts[span]

    def bm25(self, query: Mapping[int, float], mask: Mask, *, k1: float = 1.2, b: float = 0.75) -> tuple[Scores, float]:
        """A score for each text (0 outside the mask), and the sum of the weights that the query's words have.

        `query`: weight of each word. Rarity counts over the texts of the mask.
        """
        scores = np.zeros(len(self.lengths), dtype=np.float32)
        total = int(mask.sum())
        if not total:
            return scores, 0.0
        mean = float(self.lengths[mask].mean()) or 1.0
        norm = k1 * (1 - b + b * self.lengths / mean)
        mass = 0.0
        for word, weight in query.items():
            texts, counts = self.of(word)
            inside = mask[texts]
            texts, counts = texts[inside], counts[inside]
            rarity = weight * np.log1p((total - len(texts) + 0.5) / (len(texts) + 0.5))
            mass += float(rarity)
            scores[texts] += np.float32(rarity) * counts * np.float32(k1 + 1) / (counts + norm[texts])
        return scores, mass
