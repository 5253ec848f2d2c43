"""A runbook folder, an index and a publisher over them, with an embedding model that counts what it is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tenacity import wait_none

from bot.library.load import load_library
from bot.library.models import Runbook
from bot.library.ports import Vectors, VectorStore
from bot.library.publish import Publisher
from bot.records.database import open_database
from bot.records.manifest import SqlManifest
from bot.records.vectors import SqlVectorCache
from bot.search.chroma import ChromaServer, EmbeddedChroma

_WORD = re.compile(r"\w+|[^\w\s]")


class CountingEmbedder:
    """Vectors by the words of a text: the same words, the same vector, other words, another. Notes what it embeds."""

    def __init__(self, name: str = "words", dimensions: int = 64, window: int = 128) -> None:
        self.name, self.dimensions, self.window = name, dimensions, window
        self.texts: list[str] = []
        self.fail: Callable[[Sequence[str]], None] = lambda texts: None

    @property
    def fingerprint(self) -> str:
        return f"{self.name}:{self.dimensions}"

    def count_tokens(self, text: str) -> int:
        return len(_WORD.findall(text)) + 2

    def embed(self, texts: Sequence[str], kind: Literal["passage", "query"]) -> Vectors:
        if kind == "passage":
            self.fail(texts)
            self.texts += texts
        rows = np.array([sum(map(self._vector, re.findall(r"\w+", text.lower())), self._vector("")) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    @lru_cache(maxsize=100_000)  # noqa: B019
    def _vector(self, word: str) -> np.ndarray:
        seed = int.from_bytes(blake2b(f"{self.name} {word}".encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).normal(size=self.dimensions)


class Shop:
    """One folder of runbooks with one index. `start` begins a process: what was open before is closed."""

    def __init__(self, root: Path, *, chroma_url: str = "", database_url: str = "") -> None:
        self.pages, self.data = root / "pages", root / "data"
        self.pages.mkdir(parents=True, exist_ok=True)
        self.chroma_url, self.database_url = chroma_url, database_url
        self.embedder = CountingEmbedder()
        self.options: dict[str, Any] = {}
        self._open: list[Callable[[], None]] = []

    def write(self, pages: dict[str, str | bytes]) -> None:
        for path, content in pages.items():
            file = self.pages / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def make(self) -> Publisher:
        """A publisher that is not opened yet."""
        engine = open_database(self.database_url or self.data / "records.db")
        self._open.append(engine.dispose)
        self.store: VectorStore = ChromaServer(self.chroma_url) if self.chroma_url else EmbeddedChroma(self.chroma)
        self._open.append(self.store.close)
        self.manifest, self.cache = SqlManifest(engine), SqlVectorCache(engine)
        self.publisher = Publisher(
            load=lambda known, progress: load_library(self.pages, clean=str, known=known, progress=progress),
            embedder=self.embedder,
            store=self.store,
            manifest=self.manifest,
            vectors=self.cache,
            wait=wait_none(),
            **self.options,
        )
        self._open.append(self.publisher.close)
        return self.publisher

    def start(self) -> Publisher:
        self.stop()
        publisher = self.make()
        publisher.open()
        return publisher

    def stop(self) -> None:
        while self._open:
            self._open.pop()()

    @property
    def chroma(self) -> Path:
        return self.data / "chroma"

    def collections(self) -> list[str]:
        """Those of this shop: others may be on the same server."""
        return [name for name in self.store.collections() if self.manifest.namespace in name]

    def stored(self) -> set[str]:
        """The ids in the live collection, after what is not needed any more was forgotten."""
        self.start()
        return self.store.ids(self.publisher.live().collection)

    def find(self, words: str, limit: int = 3) -> list[Runbook]:
        """The pages of the nearest passages."""
        live = self.publisher.live()
        vector = self.embedder.embed([words], "query")[0]
        found = self.store.query(live.collection, vector, list(live.passages), limit)
        return [live.runbooks[live.passages[name].runbook] for name, _ in found]

    def texts(self) -> str:
        """Every live passage."""
        return "\n".join(passage.text for passage in self.publisher.live().passages.values())


@contextmanager
def shop_in(root: Path, **options: str) -> Iterator[Shop]:
    shop = Shop(root, **options)
    try:
        yield shop
    finally:
        shop.stop()


def page(title: str, *sections: str) -> str:
    """A page with one passage a section, each full of its own words."""
    parts = [f"## Part {number}\n\n{(words + '. ') * 8}" for number, words in enumerate(sections)]
    return f"# {title}\n\n" + "\n\n".join(parts) + "\n"


def generated(count: int) -> dict[str, str | bytes]:
    """`count` pages of three passages, each with words of its own."""
    return {
        f"area{n % 7}/page-{n:04}.md": page(f"Alarm{n}", f"symptom{n} first", f"remedy{n} then", f"escalate{n} last")
        for n in range(count)
    }
