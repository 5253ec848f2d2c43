"""`python -m tests.bench.search [PASSAGES …]`: the time of a question and its parts, as the library grows.

The passages are made of the sample runbooks' words, the vectors at random: the store and the words do not care. A
fixed question goes through the search 60 times; the first, which builds the words index, is told by itself.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bot.library.load import load_library
from bot.library.models import Passage, Runbook, Snapshot
from bot.library.passages import cut
from bot.search.chroma import EmbeddedChroma
from bot.search.embedders import LocalEmbedder
from bot.search.models import Query
from bot.search.search import Search

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = (
    "checkout answers 502 since the last release, pods keep restarting",
    "consumer group is behind, messages pile up on the topic\nLag is above the threshold for 10 minutes.",
    "no space left on the volume of the primary",
    "KubePodCrashLooping\nPod is crash looping.\nThe container waits in CrashLoopBackOff.",
)
A_PAGE = 6


def made_up(count: int, embedder: LocalEmbedder) -> tuple[dict[str, Runbook], dict[str, Passage]]:
    """`count` passages in pages of six, each a shuffle of a real passage's words."""
    real = [passage for page in load_library(ROOT / "runbooks", clean=str).runbooks for passage in cut(page, embedder)]
    rng = random.Random(1)
    runbooks: dict[str, Runbook] = {}
    passages: dict[str, Passage] = {}
    for number in range(count):
        source = rng.choice(real)
        words = source.text.split()
        rng.shuffle(words)
        path = f"page-{number // A_PAGE}.md"
        text = " ".join([*words, f"word{number % 5000}"])
        runbooks.setdefault(path, Runbook(path, f"Page {number // A_PAGE}", text, "v", services=(f"s{number % 7}",)))
        passages[f"p{number}"] = replace(source, id=f"p{number}", runbook=path, text=text, start=number % A_PAGE)
    return runbooks, passages


def main() -> None:
    embedder = LocalEmbedder()
    for count in map(int, sys.argv[1:] or ("4000", "50000")):
        runbooks, passages = made_up(count, embedder)
        live = Snapshot(1, "bench", runbooks, passages)
        rows = np.random.default_rng(0).normal(size=(len(live.pieces), embedder.dimensions)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            store = EmbeddedChroma(Path(folder))
            store.create("bench", embedder.fingerprint)
            store.add("bench", list(live.pieces), rows / np.linalg.norm(rows, axis=1, keepdims=True), [""] * len(rows))
            search = Search(lambda live=live: live, store, embedder)
            start = time.perf_counter()
            search.find(Query(text=QUESTIONS[0]), set(runbooks))
            print(f"{count} passages: first question (builds the words index) {time.perf_counter() - start:.1f} s")
            for who, share in (
                ("everything", 1.0),
                ("all but 50 pages", 1 - 50 / len(runbooks)),
                ("four pages in five", 0.8),
            ):
                allowed = set(list(runbooks)[: int(share * len(runbooks))])
                parts: dict[str, list[float]] = {}
                for n in range(60):
                    start = time.perf_counter()
                    found = search.find(Query(text=QUESTIONS[n % len(QUESTIONS)]), allowed)
                    parts.setdefault("whole", []).append((time.perf_counter() - start) * 1000)
                    for name, ms in found.timings_ms.items():
                        parts.setdefault(name, []).append(ms)
                figures = ", ".join(f"{name} {statistics.median(ms):.1f}" for name, ms in parts.items())
                print(f"  who may open {who}: {figures} (median ms)")
            store.close()


if __name__ == "__main__":
    main()
