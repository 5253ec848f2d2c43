"""The records database: both kinds behave the same, and every failure of theirs has our name."""

from __future__ import annotations

import gc
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, select, text
from sqlalchemy.exc import IntegrityError

import bot.records.manifest
import bot.records.vectors  # noqa: F401  (their tables)
from bot.errors import ConfigurationError, RecordsUnavailable
from bot.records.database import create_tables, open_database, writing

_things = Table("things", MetaData(), Column("id", Integer, primary_key=True), Column("word", String, nullable=False))


def test_two_processes_may_make_the_tables_at_once(database_url: str) -> None:
    engines = [open_database(database_url)]
    with writing(engines[0]) as connection:
        for table in ("live_runbooks", "manifest", "vectors"):
            connection.execute(text(f"DROP TABLE {table}"))
    engines += [open_database(database_url) for _ in range(3)]
    failures: list[BaseException] = []

    def make(number: int) -> None:
        try:
            create_tables(engines[number])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=make, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for engine in engines:
        engine.dispose()
    assert failures == []


def test_a_broken_constraint_is_an_integrity_error_with_both(database_url: str) -> None:
    engine = open_database(database_url)
    with writing(engine) as connection:
        _things.create(connection)
        connection.execute(insert(_things).values(id=1, word="a"))
    with pytest.raises(IntegrityError), writing(engine) as connection:
        connection.execute(insert(_things).values(id=1, word="b"))
    with engine.connect() as connection:
        assert connection.scalars(select(_things.c.word)).all() == ["a"]
    engine.dispose()


def test_writers_that_read_first_wait_for_each_other(database_url: str) -> None:
    engine = open_database(database_url)
    with writing(engine) as connection:
        _things.create(connection)
        connection.execute(insert(_things).values(id=1, word="0"))
    lost: list[BaseException] = []

    def count_up() -> None:
        try:
            for _ in range(20):
                with writing(engine) as connection:
                    row = connection.execute(select(_things.c.word).with_for_update()).one()
                    connection.execute(_things.update().values(word=str(int(row.word) + 1)))
        except BaseException as error:
            lost.append(error)

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with engine.connect() as connection:
        assert (lost, connection.scalar(select(_things.c.word))) == ([], "80")
    engine.dispose()


def test_a_locked_file_is_records_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.records.database._BUSY_SECONDS", 0.05)
    engine = open_database(tmp_path / "records.db")
    other = sqlite3.connect(tmp_path / "records.db")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(RecordsUnavailable, match="locked"), writing(engine):
        pass
    other.close()
    engine.dispose()


@pytest.mark.parametrize("content", [b"this is no database at all, whatever its name says\n" * 40, b"\0" * 8192])
def test_a_file_that_is_no_database_is_records_unavailable(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "records.db").write_bytes(content)
    with pytest.raises(RecordsUnavailable):
        open_database(tmp_path / "records.db")


def test_a_truncated_file_is_records_unavailable(tmp_path: Path) -> None:
    file = tmp_path / "records.db"
    engine = open_database(file)
    with writing(engine) as connection:
        _things.create(connection)
        connection.execute(insert(_things), [{"id": n, "word": "word" * 200} for n in range(400)])
    engine.dispose()
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size // 2)
    with pytest.raises(RecordsUnavailable):
        engine = open_database(file)
        with engine.connect() as connection:
            connection.execute(select(_things)).all()


def test_a_folder_that_cannot_be_made_is_records_unavailable(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(RecordsUnavailable):
        open_database(tmp_path / "data" / "records.db")


def test_a_server_that_is_not_there_is_records_unavailable() -> None:
    with pytest.raises(RecordsUnavailable):
        open_database("postgresql://bot@127.0.0.1:1/nothing")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_that_lost_our_connections_is_asked_again(postgres_url: str) -> None:
    engine, other = open_database(postgres_url), open_database(postgres_url)
    with engine.connect() as connection:
        ours = connection.scalar(text("SELECT pg_backend_pid()"))
    with other.connect() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": ours})
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 1")) == 1
    engine.dispose()
    other.dispose()
    gc.collect()  # pg8000 leaves the socket of a broken connection to the garbage collector, which complains here


@pytest.mark.parametrize("url", ["mysql://somewhere/x", "sqlite://", "postgresql://host:port/x", "://"])
def test_a_url_of_another_kind_says_what_is_understood(url: str) -> None:
    with pytest.raises(ConfigurationError, match="DATABASE_URL"):
        open_database(url)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_connection_that_breaks_in_use_is_records_unavailable_and_not_used_again(postgres_url: str) -> None:
    engine, other = open_database(postgres_url), open_database(postgres_url)
    with pytest.raises(RecordsUnavailable), engine.connect() as connection:
        ours = connection.scalar(text("SELECT pg_backend_pid()"))
        with other.connect() as killer:
            killer.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": ours})
        for _ in range(50):
            connection.execute(text("SELECT 1"))
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 1")) == 1
    engine.dispose()
    other.dispose()
    gc.collect()
