"""Scores pages: what speaks for each of them, each sign a number, weighed and added up.

The signs, and the kind of question that each helps:

- meaning: a passage lies near the question (its whole, its lines) and, the less the library knows of its own words,
  near it with the thesaurus's words. Questions in other words.
- purpose: the same for the gists (`bot.library.gists`), which say what a page or its section is for. Alerts without
  a name; pages that hold many alerts.
- words: BM25 of the best passage, other words at a lower weight. Alerts, whose author often wrote the page too.
- purpose_words: the same for the gists.
- page_words: BM25 of the whole page. Questions whose words are spread over a page.
- pairs: pairs of neighbouring words, small words too. Siblings that differ in a phrase.
- title: the share of the title's and file name's words that the question says, in these or other words; cubed, for a
  title of which only a part is said tells little. Siblings, of which one is named in a sentence.
- other_words: BM25 of the thesaurus's words alone, the less the library knows of the question's own.
- likely: the page looks like one for alerts. Libraries in which runbooks stand among other documents.
- identifier: the page contains a rare identifier of the question. Error codes, metric names.
- exact: the alert's link or name leads to the page. (Such pages come first in any case.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from bot.search.index import IndexBuilder, WordsIndex
from bot.search.models import Query
from bot.search.routes import Exact
from bot.search.thesaurus import general_thesaurus
from bot.search.words import Mask, Scores, rarity, spoken, tokenize

Numbers = NDArray[np.float64]

WEIGHTS: dict[str, float] = {
    # Fitted to labelled questions of five organisations' pages: `python -m tests.bench.ranking --fit` (docs/search.md).
    "meaning": 1.75,
    "purpose": 3.15,
    "words": 0.4,
    "purpose_words": 1.2,
    "page_words": 3.5,
    "pairs": 2.7,
    "title": 2.5,
    "other_words": 12.5,
    "likely": 2.8,
    "identifier": 0.3,
    "exact": 3.55,
}
SIGNS = tuple(WEIGHTS)
_HALF = 0.5
"""Share of the question's words, by weight, that a page must say for the best one's to count in full."""
_FIFTH = 0.2
"""The same of its pairs: two of them that happen to stand somewhere are no phrase in common."""
_OTHER = 0.4
"""The weight of another word beside the word that was said."""
_SAID_OTHERWISE = 0.6
"""What a title's word counts that the question says otherwise."""
_COMMON = 0.3
"""What a word of everyday English counts among those that the library does not have."""
OTHER_MEANING = 1.2
"""How much the vector of the question in other words counts where the library knows none of its own words."""


@dataclass(frozen=True)
class WordScores:
    """What the words of a question say of every passage and page that its readers may open."""

    passages: Scores
    others: Scores
    pages: Scores
    pairs: Scores
    most_pairs: float
    """The weight that all pairs of the question would have, were they rare."""
    purposes: Scores
    """Of gists: words and other words."""
    mass: float
    """The summed weight of the question's words that the library has."""
    known: float
    """Their share in the weight of all its words, 0 to 1."""
    lacking: float
    """1 where no passage says any of the words, 0 where one says all of them often."""
    said: dict[int, float]
    """Words of the question (1) and words meant beside them (less), by number."""
    searched: int
    """How many passages the readers may open."""
    other_words: str
    """The words meant beside, for the vector."""

    @cached_property
    def mixed(self) -> Scores:
        """Words and other words of each passage together."""
        return self.passages + np.float32(_OTHER) * self.others


def score_words(query: Query, index: WordsIndex, builder: IndexBuilder, passages: Mask, pages: Mask) -> WordScores:
    """Look the question's words up. `passages`, `pages`: those that the readers may open; all is counted over them."""
    tokens = tokenize(query.text)
    counts: dict[str, int] = {}
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
    said: dict[int, float] = {}
    unknown = 0.0
    for token, count in counts.items():
        weight = 1 + 0.3 * float(np.log(count))
        if (number := builder.vocabulary.number(token)) is not None and index.words.stands_in(number, passages):
            said[number] = weight
        else:
            unknown += weight * (_COMMON if token in _common_words() else 1.0)
    others = general_thesaurus().others(query.text)
    meant = {
        n: w for token, w in others.items() if (n := builder.vocabulary.number(token)) is not None and n not in said
    }
    total = int(passages.sum())
    weighed = index.words.weigh(said, passages)
    mass = sum(weighed.values())
    own = index.words.bm25(weighed, passages)
    purposes = index.purposes.bm25(index.purposes.weigh(said, pages), pages)
    purposes += np.float32(_OTHER) * index.purposes.bm25(index.purposes.weigh(meant, pages), pages)
    lines = [spoken(line) for line in query.text.split("\n")]
    pairs = dict.fromkeys({pair for line in lines for pair in builder.vocabulary.known_pairs(line)}, 1.0)
    return WordScores(
        passages=own,
        others=index.words.bm25(index.words.weigh(meant, passages), passages),
        pages=index.pages.bm25(index.pages.weigh(said, pages), pages),
        most_pairs=sum(max(len(line) - 1, 0) for line in lines) * rarity(0, total),
        pairs=index.pairs.bm25(index.pairs.weigh(pairs, passages), passages, b=0.5),
        purposes=purposes,
        mass=mass or 1.0,
        known=mass / (mass + unknown * rarity(0, total)) if mass else 0.0,
        lacking=1 - min(1.0, float(own.max(initial=0)) / (mass or 1.0)),
        said={**{number: _SAID_OTHERWISE * weight for number, weight in meant.items()}, **dict.fromkeys(said, 1.0)},
        searched=total,
        other_words=" ".join(others),
    )


def signs_of(
    pages: Sequence[int], near: Scores, words: WordScores, index: WordsIndex, readable: Mask, exact: Exact
) -> Numbers:
    """The signs (columns, as `SIGNS`) of these pages. `near`: the similarity of passages, then gists."""

    def shared(scores: Scores, least: float = 0) -> Numbers:
        """Each page's share in the highest score, or in `least` where that is more."""
        found = np.maximum(scores[list(pages)].astype(np.float64), 0)
        return found / max(float(found.max(initial=0)), least, 1e-6)

    passages = len(index.passages)
    columns = {
        "meaning": shared(index.best_of_pages(near[:passages])),
        "purpose": shared(near[passages:]),
        "words": shared(index.best_of_pages(words.mixed), _HALF * words.mass),
        "purpose_words": shared(words.purposes, _HALF * words.mass),
        "page_words": shared(words.pages, _HALF * words.mass),
        "pairs": shared(index.best_of_pages(words.pairs), _FIFTH * words.most_pairs),
        "title": _titles(pages, words, index, readable) ** 3,
        "other_words": index.best_of_pages(words.others)[list(pages)] / words.mass * words.lacking,
        "likely": index.likely[list(pages)],
        "identifier": np.array([page in exact.identifiers for page in pages], float),
        "exact": np.array([exact.sureness(page) > 0 for page in pages], float),
    }
    return np.stack([np.asarray(columns[sign], float) for sign in SIGNS], axis=1)


def page_scores(signs: Numbers, only: Collection[str] = ()) -> Numbers:
    """The weighed sum of each page's signs; of `only` these, where some are named."""
    weights = [weight if not only or sign in only else 0.0 for sign, weight in WEIGHTS.items()]
    return np.asarray(signs @ np.array(weights))


@cache
def _common_words() -> frozenset[str]:
    text = (files("bot.search") / "data" / "common_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def _titles(pages: Sequence[int], words: WordScores, index: WordsIndex, readable: Mask) -> Numbers:
    total = int(readable.sum())
    weights: dict[int, float] = {}
    shares = []
    for page in pages:
        title = [int(number) for number in index.titles[page]]
        for number in title:
            if number not in weights:
                weights[number] = rarity(int(readable[index.pages.of(number)[0]].sum()), total)
        whole = sum(weights[number] for number in title)
        shares.append(sum(weights[n] * words.said.get(n, 0.0) for n in title) / whole if whole else 0.0)
    return np.array(shares)
