"""Search while another embedding model's index is built: with the old model, or not at all; never with both."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.errors import IndexUnavailable
from bot.search.models import Query
from bot.search.search import Search
from tests.publishing import CountingEmbedder, Shop, page, shop_in


def search_of(shop: Shop) -> Search:
    publisher = shop.publisher
    return Search(publisher.live, shop.store, shop.embedder, 0.0, embedder_of=publisher.embedder_of)


def nearest(shop: Shop) -> str:
    found = search_of(shop).find(Query("charlie third"), shop.publisher.live().runbooks)
    return found.ranked[0].runbook.path


@pytest.mark.parametrize("dimensions", [64, 96], ids=["same size", "other size"])
def test_the_old_model_searches_until_the_new_index_is_there(tmp_path: Path, dimensions: int) -> None:
    with shop_in(tmp_path) as shop:
        shop.write({"a.md": page("Apples", "alpha first"), "b.md": page("Berries", "charlie third")})
        shop.start().sync()
        old = shop.embedder
        shop.embedder = CountingEmbedder("other", dimensions)
        shop.options = {"earlier": {old.fingerprint: old}.get}
        shop.start()
        assert nearest(shop) == "b.md"
        shop.publisher.sync()
        assert nearest(shop) == "b.md"
        assert shop.publisher.embedder_of(shop.publisher.live()) is shop.embedder


def test_without_the_old_model_the_index_is_unavailable_until_then(tmp_path: Path) -> None:
    """Case 11: never results of mixed models, not even where their vectors have one size."""
    with shop_in(tmp_path) as shop:
        shop.write({"a.md": page("Apples", "alpha first"), "b.md": page("Berries", "charlie third")})
        shop.start().sync()
        shop.embedder = CountingEmbedder("other", 64)
        shop.start()
        with pytest.raises(IndexUnavailable):
            nearest(shop)
        shop.publisher.sync()
        assert nearest(shop) == "b.md"
