"""A sync that is killed at any point leaves the old index or the new one, whole; the next start answers from it.

A process of its own syncs over and over while the folder changes between two states; it is killed (SIGKILL) at
random moments. Between the kills, everything is read back.
"""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.publishing import Shop, generated, page, shop_in

PAGES = 120

_SYNC = """
import sys
from pathlib import Path
from tests.publishing import Shop

shop = Shop(Path(sys.argv[1]))
publisher = shop.start()
print("opened", flush=True)
publisher.sync()
print("synced", flush=True)
publisher.close()
"""


def version(number: int) -> dict[str, str | bytes]:
    """All pages in one version: half of their passages change with it, and a few pages come and go."""
    pages = {
        path: page(path, f"constant{path[-7:-3]} words", f"version{number} of {path[-7:-3]}")
        for path in generated(PAGES)
    }
    return dict(list(pages.items())[number % 5 :])


def sync_in_a_process(root: Path, seconds: float) -> tuple[bool, float]:
    """Sync in a process of its own, killed so long after it opened the index. Whether it was, and how long it lived."""
    command = [sys.executable, "-c", _SYNC, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stdout
        assert worker.stderr
        if worker.stdout.readline() != "opened\n":
            pytest.fail(worker.stderr.read())
        opened = time.monotonic()
        try:
            assert worker.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            worker.send_signal(signal.SIGKILL)
            return True, seconds
        return False, time.monotonic() - opened


def replace_pages(shop: Shop, number: int) -> None:
    for path in shop.pages.rglob("*.md"):
        path.unlink()
    shop.write(version(number))


def kills(root: Path, times: int, seed: int) -> None:
    luck = random.Random(seed)
    current = killed = 0
    with shop_in(root) as shop:
        shop.write(version(0))
        _, whole = sync_in_a_process(root, 600)
        for number in range(1, times + 1):
            replace_pages(shop, number)
            was_killed, lived = sync_in_a_process(root, luck.uniform(0, whole))
            killed += was_killed
            whole = whole if was_killed else max(lived, whole * 0.8)  # how long a sync takes here now
            live = shop.start().live()
            versions = {int(v) for p in live.passages.values() for v in re.findall(r"version(\d+) of", p.text)}
            assert len(versions) == 1, f"a mixture of {versions}"
            assert versions <= {current, number}
            current = versions.pop()
            assert set(live.runbooks) == set(version(current))
            assert len(live.passages) == 2 * len(live.runbooks)
            assert shop.store.ids(live.collection) == live.pieces.keys()
            some = luck.choice(sorted(live.runbooks))
            assert some in {found.path for found in shop.find(f"constant{some[-7:-3]} words {some}", 5)}
            shop.stop()
        assert killed >= times // 3
        shop.start().sync()
        final = shop.stored()
    with shop_in(root.with_name("fresh")) as fresh:
        fresh.write(version(times))
        fresh.start().sync()
        assert final == fresh.stored()


def test_a_few_kills_leave_old_or_new(tmp_path: Path) -> None:
    kills(tmp_path / "shop", 2, seed=1)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_fifty_kills_leave_old_or_new(tmp_path: Path) -> None:
    kills(tmp_path / "shop", 50, seed=2)
