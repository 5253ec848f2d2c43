"""Case 16: a damaged index is unavailable, or is built anew without the embedding model; it never finds nothing.

Each damage is done to a whole index of 2,600 passages while nobody has it open. One of them takes a process that
searches it down: that is why files that were not closed properly are looked through in a process of their own.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bot.errors import IndexDamaged, IndexLocked, IndexUnavailable, RecordsUnavailable
from bot.search.chroma import EmbeddedChroma
from tests.publishing import Shop, generated, page, shop_in

PAGES = 867


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of 2,601 passages, closed properly."""
    root = tmp_path_factory.mktemp("whole")
    with shop_in(root) as shop:
        shop.write(generated(PAGES))
        shop.start().sync()
    return root


@pytest.fixture
def shop(whole: Path, tmp_path: Path) -> Iterator[Shop]:
    root = tmp_path / "shop"
    with shop_in(root) as made:
        shutil.copytree(whole, root, dirs_exist_ok=True)
        yield made


def segments(chroma: Path) -> list[Path]:
    return [folder for folder in chroma.glob("*/*") if folder.is_dir()]


def each(name: str, do: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage(chroma: Path) -> None:
        files = [folder / name for folder in segments(chroma)]
        assert files
        for file in files:
            do(file)

    return damage


def halve(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def scramble(file: Path) -> None:
    file.write_bytes(np.random.default_rng(0).bytes(file.stat().st_size))


def rename_segments(chroma: Path) -> None:
    for folder in segments(chroma):
        folder.rename(folder.with_name(folder.name + "-gone"))


def database(do: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda chroma: do(chroma / "1" / "chroma.sqlite3")


DAMAGE = {
    "a: the vectors' folder is renamed": rename_segments,
    "b: half of the vectors is gone": each("data_level0.bin", halve),
    "c: the links are gone": each("link_lists.bin", Path.unlink),
    "d: the database is text": database(lambda file: file.write_text("hello\n" * 999) and None),
    "the vectors are noise": each("data_level0.bin", scramble),
    "the list of ids is cut": each("index_metadata.pickle", halve),
    "half of the database is gone": database(halve),
    "the database is gone": database(Path.unlink),
    "everything is gone": lambda chroma: shutil.rmtree(chroma),
}
QUICK = ("a: the vectors' folder is renamed", "the vectors are noise")


@pytest.mark.parametrize(
    "damage",
    [pytest.param(damage, id=name, marks=[] if name in QUICK else pytest.mark.long) for name, damage in DAMAGE.items()],
)
def test_a_damaged_index_is_built_anew_without_embedding(
    shop: Shop, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    damage(shop.chroma)
    with caplog.at_level(logging.WARNING):
        live = shop.start().live()
    assert len([record for record in caplog.records if "built anew" in record.message]) == 1
    caplog.clear()
    assert len(live.passages) == 3 * PAGES
    assert shop.find("alarm77 symptom77 first")[0].title == "Alarm77"
    assert shop.embedder.texts == []
    assert shop.publisher.sync().embedded == 0
    assert shop.stored() == live.pieces.keys()
    assert not caplog.records


@pytest.mark.long
def test_a_lost_vector_cache_is_made_up_by_embedding(shop: Shop) -> None:
    shop.make()
    shop.cache.forget_all_but(shop.embedder.fingerprint, ())
    shop.stop()
    rename_segments(shop.chroma)
    shop.start()
    assert len(shop.embedder.texts) == (3 + 1) * PAGES
    assert shop.find("alarm77 symptom77 first")[0].title == "Alarm77"


def test_the_folder_goes_away_while_it_runs(tmp_path: Path) -> None:
    """Case 16 e."""
    with shop_in(tmp_path) as shop:
        shop.write({"a.md": page("Apples", "alpha first")})
        shop.start().sync()
        shutil.rmtree(shop.chroma)
        assert shop.find("alpha first")[0].path == "a.md"  # the open files still answer, rightly
        shop.write({"b.md": page("Berries", "bravo second")})
        report = shop.publisher.sync()
        assert (report.passages, report.embedded) == (2, 1)
        assert shop.find("bravo second")[0].path == "b.md"
        assert shop.stored() == shop.publisher.live().pieces.keys()


@pytest.mark.parametrize("by", ["sync", "tend"])
def test_damage_while_it_runs_is_mended(tmp_path: Path, by: str) -> None:
    with shop_in(tmp_path) as shop:
        shop.write(generated(10))
        shop.start().sync()
        live = shop.publisher.live()
        shop.store.delete(live.collection, list(live.passages)[:5])
        with pytest.raises(IndexUnavailable):
            shop.find("alarm7 symptom7 first")
        before = len(shop.embedder.texts)
        getattr(shop.publisher, by)()
        assert shop.find("alarm7 symptom7 first")[0].title == "Alarm7"
        mended = shop.publisher.live()
        assert (mended.passages, len(shop.embedder.texts)) == (live.passages, before)
        assert mended.generation > live.generation
        assert shop.publisher.tend() is mended


@pytest.mark.long
def test_only_the_last_damaged_files_are_kept(tmp_path: Path) -> None:
    with shop_in(tmp_path) as shop:
        shop.write({"a.md": page("Apples", "alpha first")})
        for _ in range(2):
            shop.start().sync()
            shop.stop()
            for file in shop.chroma.glob("*/chroma.sqlite3"):
                file.write_text("hello")
        shop.start()
        names = {entry.name for entry in shop.chroma.iterdir() if entry.is_dir()}
        assert len(names) == 2
        assert "damaged" in names


def test_a_full_disk_publishes_nothing_and_moves_nothing_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shop_in(tmp_path) as shop:
        shop.write({"a.md": page("Apples", "alpha first")})
        shop.start().sync()
        before = shop.publisher.live()
        shop.write({"a.md": page("Apples", "bravo second")})

        def full(*_: object) -> None:
            raise IndexUnavailable("the index failed: InternalError: database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(shop.store, "add", full)
            with pytest.raises(IndexUnavailable, match="full"):
                shop.publisher.sync()
        assert shop.publisher.live() is before
        assert shop.find("alpha first")[0].path == "a.md"
        with monkeypatch.context() as patch:
            patch.setattr(shop.manifest, "publish", lambda *_: (_ for _ in ()).throw(RecordsUnavailable("full")))
            with pytest.raises(RecordsUnavailable):
                shop.publisher.sync()
        assert shop.publisher.live() is before
        assert shop.publisher.sync().embedded == 0
        assert "bravo" in shop.texts()
        assert not (shop.chroma / "damaged").exists()


def test_a_second_process_is_refused_with_what_to_do(tmp_path: Path) -> None:
    store = EmbeddedChroma(tmp_path / "chroma")
    script = "import sys, pathlib, bot.search.chroma as c; c.EmbeddedChroma(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(tmp_path / "chroma")]
    second = subprocess.run(command, capture_output=True, text=True)
    assert second.returncode != 0
    assert f"IndexLocked: process {os.getpid()} is using the index" in second.stderr
    assert "CHROMA_URL" in second.stderr
    with pytest.raises(IndexLocked, match="stop it, or name another folder"):
        EmbeddedChroma(tmp_path / "chroma")
    store.close()
    EmbeddedChroma(tmp_path / "chroma").close()


def test_the_lock_of_a_killed_process_does_not_stay(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from bot.search.chroma import EmbeddedChroma
EmbeddedChroma(Path({str(tmp_path / "chroma")!r}))
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -9
    EmbeddedChroma(tmp_path / "chroma").close()


def test_a_folder_that_cannot_be_made_is_index_unavailable(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(IndexUnavailable) as caught:
        EmbeddedChroma(tmp_path / "data" / "chroma")
    assert not isinstance(caught.value, IndexDamaged)
