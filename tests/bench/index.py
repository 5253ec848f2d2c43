"""`python -m tests.bench.index [PAGES…]`: what it costs to build an index, to start again, and to keep it.

Prints a row for each library: the measuring data beside the checkout (where it is there), then generated ones of the
given sizes. "Of the embedder" is the share of the time that went into the embedding model itself: what is missing
to 100 % is reading, cutting and writing. A restart is a new process up to its first found passage.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from bot.library.load import load_library
from bot.library.ports import Embedder, Vectors
from bot.library.publish import Publisher
from bot.records.database import open_database
from bot.records.manifest import SqlManifest
from bot.records.vectors import SqlVectorCache
from bot.search.chroma import EmbeddedChroma
from bot.search.embedders import LocalEmbedder

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "eval" / "dev" / "corpus"

_RESTART = """
import json, re, sys, time
started = time.perf_counter()
from pathlib import Path
from tests.bench.index import publisher_for
from bot.search.embedders import LocalEmbedder
embedder = LocalEmbedder()
publisher, store = publisher_for(Path(sys.argv[1]), Path(sys.argv[2]), embedder)
live = publisher.open()
found = store.query(live.collection, embedder.embed(["disk is full"], "query")[0], list(live.passages), 4)
opened = time.perf_counter() - started
assert len(found) == 4
report = publisher.sync()
assert report.embedded == 0
memory = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps({"restart": opened, "sync": report.seconds, "memory": memory}))
publisher.close()
"""


class Timed:
    """An embedder that counts the seconds spent in it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.seconds = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str], kind: Literal["passage", "query"]) -> Vectors:
        started = time.perf_counter()
        vectors = self._embedder.embed(texts, kind)
        self.seconds += time.perf_counter() - started
        return vectors


def publisher_for(pages: Path, data: Path, embedder: Embedder) -> tuple[Publisher, EmbeddedChroma]:
    """A publisher over a folder. Redaction is left out: it has its own bench."""
    engine, store = open_database(data / "records.db"), EmbeddedChroma(data / "chroma")
    publisher = Publisher(
        load=lambda known, progress: load_library(pages, clean=str, known=known, progress=progress),
        embedder=embedder,
        store=store,
        manifest=SqlManifest(engine),
        vectors=SqlVectorCache(engine),
    )
    return publisher, store


def generate(pages: Path, count: int) -> None:
    """`count` short pages of two sections each."""
    for n in range(count):
        file = pages / f"team-{n % 40}" / f"alarm-{n:05}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"---\nservice: svc-{n % 200}\nowner: team-{n % 40}\n---\n# Alarm {n} of svc-{n % 200}\n\n"
            f"## Symptoms\n\nsvc-{n % 200} answers with E{n}; queue {n % 77} grows.\n\n"
            f"## First checks\n\n1. `kubectl -n ns-{n % 200} get pods`\n2. Look for E{n} in the log of node {n % 31}.\n"
        )


def measure(pages: Path) -> dict[str, float]:
    """One row."""
    with tempfile.TemporaryDirectory() as folder:
        data, embedder = Path(folder), Timed(LocalEmbedder())
        publisher, _ = publisher_for(pages, data, embedder)  # type: ignore[arg-type]
        publisher.open()
        report = publisher.sync()
        publisher.close()
        again = subprocess.run(
            [sys.executable, "-c", _RESTART, str(pages), str(data)], capture_output=True, text=True, check=True
        )
        size = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
        return {
            "pages": report.runbooks,
            "passages": report.passages,
            "seconds": report.seconds,
            "texts/s": (report.embedded + report.gists) / report.seconds,
            "embedder alone/s": (report.embedded + report.gists) / embedder.seconds,
            "% of the embedder": 100 * embedder.seconds / report.seconds,
            "disk MB": size / 1e6,
            **{f"{name} {'MB' if name == 'memory' else 's'}": v for name, v in json.loads(again.stdout).items()},
        }


def main(sizes: Sequence[int]) -> None:
    """Print the table."""
    rows = [measure(CORPUS)] if CORPUS.is_dir() else []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            generate(Path(folder), size)
            rows.append(measure(Path(folder)))
    print(" | ".join(rows[0]))
    for row in rows:
        print(" | ".join(f"{value:,.1f}".removesuffix(".0").rjust(len(name)) for name, value in row.items()))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [5000])
