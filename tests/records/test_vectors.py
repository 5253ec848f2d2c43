"""The vector cache: what goes in comes out, by text and by model."""

from __future__ import annotations

import numpy as np

from bot.records.database import open_database
from bot.records.vectors import SqlVectorCache


def test_vectors_come_back_bit_for_bit_and_by_model(database_url: str) -> None:
    engine = open_database(database_url)
    cache = SqlVectorCache(engine)
    rng = np.random.default_rng(1)
    kept = {f"{n:064x}": rng.normal(size=384).astype(np.float32) for n in range(1203)}
    cache.put("model-a", kept)
    cache.put("model-a", {})
    found = SqlVectorCache(engine).get("model-a", [*kept, "f" * 64])
    assert found.keys() == kept.keys()
    assert all((found[name] == kept[name]).all() for name in kept)
    assert cache.get("model-b", list(kept)) == {}
    assert (cache.count("model-a"), cache.count("model-b")) == (1203, 0)
    engine.dispose()


def test_the_first_vector_of_a_text_stays(database_url: str) -> None:
    engine = open_database(database_url)
    cache = SqlVectorCache(engine)
    cache.put("m", {"a": np.ones(3, np.float32)})
    cache.put("m", {"a": np.zeros(3, np.float32), "b": np.zeros(3, np.float32)})
    assert {name: vector.tolist() for name, vector in cache.get("m", ["a", "b"]).items()} == {
        "a": [1, 1, 1],
        "b": [0, 0, 0],
    }
    engine.dispose()


def test_forgetting_keeps_what_is_named_and_other_models(database_url: str) -> None:
    engine = open_database(database_url)
    cache = SqlVectorCache(engine)
    for model in ("m", "n"):
        cache.put(model, {f"t{n}": np.ones(2, np.float32) for n in range(700)})
    assert cache.forget_all_but("m", {"t3", "t600", "never seen"}) == 698
    assert set(cache.get("m", [f"t{n}" for n in range(700)])) == {"t3", "t600"}
    assert cache.count("n") == 700
    engine.dispose()
