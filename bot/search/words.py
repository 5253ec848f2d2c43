"""The words half of the search: tokens, and BM25 whose statistics are counted over the allowed texts only.

Document frequency, their number and their mean length are taken under the mask of what these readers may open, so
that no score tells anything about a page that they may not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from threading import Lock

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Scores = NDArray[np.float32]
Bag = tuple[NDArray[np.int64], NDArray[np.float32]]
"""The words of one text: their numbers, ascending, and how often each stands there."""

_WORD = re.compile(
    r"[A-Za-z][A-Za-z0-9]*(?:[_'’][A-Za-z0-9]+)*|\d+[A-Za-z]+\w*|(?<![\d.])(?:[1-5]\d\d|\d{1,3}(?= ?%))(?![\d.]\d)"
)
_RUN = re.compile(r"[A-Za-z]+|\d+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+[a-z]*|[A-Z]+")
_JOINTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[-_.]")
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
_stemming = Lock()
"""The stemmer keeps the word in hand in itself: two threads at once get each other's stems, or an IndexError."""


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The stem of a lower-case English word."""
    with _stemming:
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


def parted(names: str) -> str:
    """`names` in lower case, every identifier in its parts: `tokenize` then gives no wholes and no neighbours."""
    return _JOINTS.sub(" ", names).lower()


def spoken(text: str) -> list[str]:
    """Every word of `text` as it is spoken, small words and numbers too, identifiers in their parts: for `pairs`."""
    return [part for match in _RUN.finditer(text) for part in _spoken_parts(match[0])]


@lru_cache(maxsize=200_000)
def _spoken_parts(run: str) -> tuple[str, ...]:
    return tuple(stem(part.casefold()) for part in _PARTS.findall(run) or (run,))


class Vocabulary:
    """Numbers of tokens. Grows; never forgets (a number stands in cached bags)."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, token: str) -> int | None:
        """The number of a token that some text has."""
        return self._numbers.get(token)

    def bag(self, tokens: Iterable[str]) -> Bag:
        """Count tokens, numbering the new ones."""
        numbers = self._numbers
        return _counted(np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64))

    def pairs(self, tokens: Sequence[str]) -> Bag:
        """Count the pairs of neighbours: whole phrases that an alert and its page share tell siblings apart."""
        numbers = self._numbers
        row = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], dtype=np.int64)
        return _counted((row[:-1] << 32) | row[1:])

    def known_pairs(self, tokens: Sequence[str]) -> set[int]:
        """The numbers of the pairs in `tokens` whose words are known; learns nothing."""
        numbers = [self._numbers.get(token) for token in tokens]
        return {(a << 32) | b for a, b in pairwise(numbers) if a is not None and b is not None}


class Postings:
    """An inverted index over texts, in numpy: for each word the texts that have it, and how often."""

    def __init__(self, bags: Sequence[Bag]) -> None:
        """Of `bags`, one a text."""
        terms = np.concatenate([numbers for numbers, _ in bags]) if bags else np.zeros(0, np.int64)
        counts = np.concatenate([count for _, count in bags]) if bags else np.zeros(0, np.float32)
        texts = np.repeat(np.arange(len(bags), dtype=np.int32), [len(numbers) for numbers, _ in bags])
        order = np.argsort(terms, kind="stable")
        self._texts, self._counts = texts[order], counts[order]
        self._terms, starts = np.unique(terms[order], return_index=True)
        self._starts = np.append(starts, len(terms))
        self.lengths: Scores = np.array([count.sum() for _, count in bags], dtype=np.float32)

    def of(self, word: int) -> tuple[NDArray[np.int32], Scores]:
        """The texts that have a word, and how often each does."""
        at = int(np.searchsorted(self._terms, word))
        if at == len(self._terms) or self._terms[at] != word:
            return self._texts[:0], self._counts[:0]
        span = slice(self._starts[at], self._starts[at + 1])
        return self._texts[span], self._counts[span]

    def stands_in(self, word: int, mask: Mask) -> bool:
        """Whether a text of the mask has the word."""
        return bool(mask[self.of(word)[0]].any())

    def weigh(self, query: Mapping[int, float], mask: Mask) -> dict[int, float]:
        """The weight of each word of `query` times its rarity within the mask; only words that stand there."""
        total = int(mask.sum())
        weighed = {}
        for word, weight in query.items():
            if inside := int(mask[self.of(word)[0]].sum()):
                weighed[word] = weight * rarity(inside, total)
        return weighed

    def bm25(self, weighed: Mapping[int, float], mask: Mask, *, k1: float = 1.2, b: float = 0.75) -> Scores:
        """A score for each text, 0 outside the mask. `weighed`: what `weigh` gave."""
        scores = np.zeros(len(self.lengths), dtype=np.float32)
        if not mask.any():
            return scores
        norm = k1 * (1 - b + b * self.lengths / (float(self.lengths[mask].mean()) or 1.0))
        for word, weight in weighed.items():
            texts, counts = self.of(word)
            scores[texts] += np.float32(weight * (k1 + 1)) * counts / (counts + norm[texts])
        scores[~mask] = 0
        return scores


def rarity(having: int, total: int) -> float:
    """How much a word tells that `having` of `total` texts have (Robertson and Sparck Jones, never negative)."""
    return math.log1p((total - having + 0.5) / (having + 0.5))


def merged(bags: Iterable[Bag]) -> Bag:
    """One bag of several."""
    parts = list(bags)
    numbers, where = np.unique(np.concatenate([n for n, _ in parts]), return_inverse=True)
    return numbers, np.bincount(where, weights=np.concatenate([c for _, c in parts])).astype(np.float32)


def _counted(row: NDArray[np.int64]) -> Bag:
    numbers, counts = np.unique(row, return_counts=True)
    return numbers, counts.astype(np.float32)
