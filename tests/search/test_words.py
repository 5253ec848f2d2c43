"""Words, pairs of them, and BM25 over what is allowed."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.search.thesaurus import Thesaurus, general_thesaurus
from bot.search.words import Postings, Vocabulary, merged, spoken, stem, tokenize

TEXTS = st.lists(
    st.lists(st.sampled_from(["disk", "full", "pod", "node", "restart", "dns"]), min_size=1, max_size=8), min_size=1
)


def test_an_identifier_gives_its_parts_its_neighbours_and_itself() -> None:
    assert {"kube", "api", "down", "kubeapi", "kubeapidown"} <= set(tokenize("KubeAPIDown"))
    assert "kubeapi" in tokenize("KubeAPI has disappeared")
    assert {"kafka", "lag"} <= set(tokenize("kafka_consumer_lag"))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("usage is above 85%", {"85"}),
        ("HTTP 503 from 10.0.0.1:9100 for 12m", {"503"}),
        ("it isn't the disk's", {"disk"}),
        ("5xx of IPv4", {"5xx", "ipv4"}),
    ],
)
def test_numbers_stay_where_they_say_something(text: str, kept: set[str]) -> None:
    assert kept <= set(tokenize(text))
    assert not {"10", "9100", "isn", "it"} & set(tokenize(text))


@given(st.text())
def test_any_text_gives_words_without_a_fault(text: str) -> None:
    assert all(tokenize(text))
    spoken(text)


@given(TEXTS, st.data())
def test_scores_are_those_of_the_allowed_texts_alone(texts: list[list[str]], data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    vocabulary = Vocabulary()
    everything = Postings([vocabulary.bag(words) for words in texts])
    inside = [words for words, allowed in zip(texts, mask, strict=True) if allowed]
    alone = Postings([vocabulary.bag(words) for words in inside])
    query = {n: 1.0 for word in ("disk", "dns") if (n := vocabulary.number(word)) is not None}
    whole = np.ones(len(inside), dtype=bool)
    masked = everything.bm25(everything.weigh(query, mask), mask)
    assert np.allclose(masked[mask], alone.bm25(alone.weigh(query, whole), whole), atol=1e-6)
    assert not masked[~mask].any()


def test_bm25_is_the_textbooks() -> None:
    texts = [["disk", "disk", "full"], ["pod"], ["disk", "pod", "node", "dns"]]
    vocabulary = Vocabulary()
    postings = Postings([vocabulary.bag(words) for words in texts])
    mask = np.ones(3, dtype=bool)
    number = vocabulary.number("disk")
    assert number is not None
    found = postings.bm25(postings.weigh({number: 1.0}, mask), mask)
    mean = np.mean([len(words) for words in texts])
    idf = math.log1p((3 - 2 + 0.5) / (2 + 0.5))
    expected = [
        idf * words.count("disk") * 2.2 / (words.count("disk") + 1.2 * (0.25 + 0.75 * len(words) / mean))
        for words in texts
    ]
    assert np.allclose(found, expected, atol=1e-6)


@given(TEXTS)
def test_bags_merge_as_their_texts_do(texts: list[list[str]]) -> None:
    vocabulary = Vocabulary()
    numbers, counts = merged([vocabulary.bag(words) for words in texts])
    expected = Counter(word for words in texts for word in words)
    assert dict(zip(numbers, counts, strict=True)) == {vocabulary.number(w): c for w, c in expected.items()}


def test_pairs_keep_small_words_and_learn_nothing_from_a_question() -> None:
    vocabulary = Vocabulary()
    numbers, _ = vocabulary.pairs(spoken("has run out of space"))
    assert set(vocabulary.known_pairs(spoken("out of space"))) <= set(numbers.tolist())
    assert len(vocabulary.known_pairs(spoken("out of space"))) == 2
    assert not vocabulary.known_pairs(spoken("zebra of stripes"))
    assert vocabulary.number(stem("zebra")) is None


def test_other_words_go_the_way_that_the_entry_says() -> None:
    thesaurus = Thesaurus([["zombie", "defunct"], {"say": ["no space left"], "mean": ["disk full"]}])
    assert set(thesaurus.others("a defunct process")) == {stem("zombie")}
    assert set(thesaurus.others("no space left on device")) == {"disk", "full"}
    assert not thesaurus.others("disk full")


def test_the_longer_phrase_speaks_and_what_is_said_is_not_repeated() -> None:
    thesaurus = Thesaurus([["read only", "readonly"], {"say": ["read"], "mean": ["query"]}])
    assert set(thesaurus.others("volume is read only")) == {stem("readonly")}
    assert set(thesaurus.others("a read took long")) == {stem("query")}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("<defunct> processes", "zombie"),
        ("ENOSPC", "space"),
        ("the PVC", "claim"),
        ("too many clients already", "connection"),
        ("out of memory", "oom"),
        ("ImagePullBackOff", "waiting"),
        ("502 bad gateway", "5xx"),
        ("cert runs out", "expire"),
    ],
)
def test_the_general_thesaurus_knows_what_people_on_call_say(said: str, meant: str) -> None:
    assert stem(meant) in general_thesaurus().others(said)


def test_other_words_come_in_the_order_of_the_file() -> None:
    thesaurus = Thesaurus([["down", "unreachable", "offline"], {"say": ["down"], "mean": ["outage"]}])
    assert list(thesaurus.others("it is down")) == [stem(word) for word in ("unreachable", "offline", "outage")]
