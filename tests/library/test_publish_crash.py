"""A sync that is killed at any point leaves the old index or the new one, whole; the next start answers from it.

A process of its own syncs over and over while the folder changes between two states; it is killed (SIGKILL) at
random moments. Between the kills, everything is read back.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.publishing import generated, page, shop_in

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


def kills(root: Path, times: int, seed: int) -> None:
    luck = random.Random(seed)
    with shop_in(root) as shop:
        shop.write(version(0))
        shop.start().sync()
        shop.stop()
        survived = {0: set(version(0))}
        current = 0
        killed = 0
        for number in range(1, times + 1):
            for path in shop.pages.rglob("*.md"):
                path.unlink()
            shop.write(version(number))
            worker = subprocess.Popen(
                [sys.executable, "-c", _SYNC, str(root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            assert worker.stdout
            assert worker.stderr
            assert worker.stdout.readline() == "opened\n", worker.stderr.read()
            try:
                worker.wait(luck.uniform(0, 0.8))
            except subprocess.TimeoutExpired:
                worker.send_signal(signal.SIGKILL)
                worker.wait()
                killed += 1
            worker.stdout.close()
            worker.stderr.close()
            live = shop.start().live()
            versions = {p.text.split("version")[1].split(" ")[0] for p in live.passages.values() if "version" in p.text}
            assert len(versions) == 1, f"a mixture of {versions}"
            current = int(versions.pop())
            assert current in (number, *survived)
            assert set(live.runbooks) == set(version(current))
            assert len(live.passages) == 2 * len(version(current))
            assert shop.store.ids(live.collection) == set(live.passages)
            some = luck.choice(sorted(live.runbooks))
            assert some in {found.path for found in shop.find(f"constant{some[-7:-3]} words {some}", 5)}
            survived = {current: set(live.runbooks)}
            shop.stop()
        assert killed >= times // 3
        shop.start().sync()
        final = shop.stored()
    with shop_in(root.with_name("fresh")) as fresh:
        fresh.write(version(times))
        fresh.start().sync()
        assert final == fresh.stored()


def test_a_few_kills_leave_old_or_new(tmp_path: Path) -> None:
    kills(tmp_path / "shop", 4, seed=1)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_fifty_kills_leave_old_or_new(tmp_path: Path) -> None:
    kills(tmp_path / "shop", 50, seed=2)
