"""Publishing with an embedding endpoint that is busy, broken, or refuses: what was embedded once is not sent again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.errors import EmbeddingFailed, EmbeddingRefused
from bot.search.embedders import OpenAIEmbedder
from tests.openai_server import OpenAIServer
from tests.publishing import Shop, generated, shop_in


class MoodyServer(OpenAIServer):
    """Answers the first requests with `moods`, refuses more than `most` texts at once, and texts with a bad word."""

    def __init__(self, *moods: int, most: int = 64, bad: str = "never there") -> None:
        self.moods, self.most, self.bad = list(moods), most, bad
        super().__init__()

    @property
    def embeddings_status(self) -> int:
        texts = self.bodies("embeddings")[-1]["input"]
        if self.moods:
            return self.moods.pop(0)
        return 400 if len(texts) > self.most or any(self.bad in text for text in texts) else 200

    @embeddings_status.setter
    def embeddings_status(self, status: int) -> None:
        """Set by the base class once."""


def use(shop: Shop, server: OpenAIServer, budget: float = 30) -> Shop:
    shop.embedder = OpenAIEmbedder(  # type: ignore[assignment]
        "text-embedding-test", api_key="k", base_url=server.base_url, budget=budget
    )
    return shop


async def test_a_busy_endpoint_is_waited_for_and_a_refused_batch_is_split(tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop:
        shop.write(generated(30))
        async with MoodyServer(429, 500, 503, most=20) as server:
            use(shop, server)
            await asyncio.to_thread(shop.start)
            report = await asyncio.to_thread(shop.publisher.sync)
            assert report.embedded == report.passages == 90
            sent = len(server.requests)
            again = await asyncio.to_thread(shop.publisher.sync)
            assert (again.embedded, len(server.requests)) == (0, sent)
            answered = [body for body in server.bodies("embeddings")[3:] if len(body["input"]) <= 20]
            assert sum(len(body["input"]) for body in answered) == 90 + report.gists
            await asyncio.to_thread(shop.stop)


async def test_a_text_that_is_refused_names_its_page_and_the_rest_is_kept(tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop:
        shop.write(generated(30))
        async with MoodyServer(bad="remedy17") as server:
            use(shop, server)
            await asyncio.to_thread(shop.start)
            with pytest.raises(EmbeddingRefused, match=r"page-0017\.md:\d+: .*HTTP 400"):
                await asyncio.to_thread(shop.publisher.sync)
            assert shop.publisher.live().collection == ""
            server.bad = "never there"
            kept = 90 - (await asyncio.to_thread(shop.publisher.sync)).embedded
            assert 0 < kept < 90
            await asyncio.to_thread(shop.stop)


async def test_an_endpoint_that_is_gone_leaves_what_is_live(tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop:
        shop.write(generated(5))
        async with MoodyServer() as server:
            use(shop, server, budget=0.5)
            await asyncio.to_thread(shop.start)
            await asyncio.to_thread(shop.publisher.sync)
            live = shop.publisher.live()
        shop.write(generated(6))
        with pytest.raises(EmbeddingFailed) as caught:
            await asyncio.to_thread(shop.publisher.sync)
        assert not isinstance(caught.value, EmbeddingRefused)
        assert shop.publisher.live() is live
        await asyncio.to_thread(shop.stop)
