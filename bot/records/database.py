"""The records database: SQLite in the data folder, or PostgreSQL where DATABASE_URL names one.

The other modules of this room add their tables to `metadata` and work with the engine that `open_database` gives.
Every failure of the database itself leaves here as RecordsUnavailable; a broken constraint stays SQLAlchemy's
IntegrityError, with both databases.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pg8000.dbapi  # type: ignore[import-untyped]
from sqlalchemy import Connection, Engine, ExceptionContext, MetaData, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, IntegrityError, InterfaceError, OperationalError

from bot.errors import ConfigurationError, RecordsUnavailable

metadata = MetaData()
"""Every table of the records."""

_BUSY_SECONDS = 10.0
"""How long a writer waits for another one: as long as the largest publication takes, with room to spare."""
_CREATING = 0x52424F54
"""Any number that is ours: the PostgreSQL advisory lock under which tables are created."""


def open_database(where: str | Path) -> Engine:
    """The engine for a SQLite file (its folder is made) or a database URL, with every known table in place.

    Raises ConfigurationError for a URL that can't be used, RecordsUnavailable where the database can't be had.
    """
    url, options = _sqlite(Path(where)) if isinstance(where, Path) or "://" not in where else _of_url(where)
    engine = create_engine(url, **options)
    event.listen(engine, "handle_error", _name_failure)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "checkout", _see_that_it_lives)
    create_tables(engine)
    return engine


def create_tables(engine: Engine) -> None:
    """Make the tables that are not there yet; any number of processes may do it at the same time.

    A module of records calls this again where it may have been imported after the database was opened.
    """
    with writing(engine) as connection:
        if engine.dialect.name == "postgresql":  # CREATE TABLE IF NOT EXISTS alone races with itself
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATING})
        metadata.create_all(connection)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes. With SQLite it takes the write lock at once, and waits for it:

    one that reads first and writes later fails without waiting where another wrote in between.
    """
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


def _sqlite(path: Path) -> tuple[URL, dict[str, Any]]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordsUnavailable(f"the folder {path.parent} can't be made: {error.strerror}") from error
    return URL.create("sqlite", database=str(path)), {"connect_args": {"timeout": _BUSY_SECONDS}}


def _of_url(where: str) -> tuple[URL, dict[str, Any]]:
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise ConfigurationError("DATABASE_URL can't be read", fix="postgresql://user:password@host/database") from None
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ConfigurationError("DATABASE_URL names a SQLite database that is no file", fix="sqlite:///path")
        return _sqlite(Path(url.database))
    if kind not in ("postgresql", "postgres"):
        raise ConfigurationError(f"DATABASE_URL names {kind!r}", fix="postgresql://… and sqlite:///… are understood")
    mode = url.query.get("sslmode", "")
    arguments: dict[str, Any] = {"timeout": 30}
    if mode in ("require", "verify-ca", "verify-full"):  # libpq's words; pg8000 wants a context instead
        context = ssl.create_default_context()
        context.check_hostname = mode == "verify-full"
        context.verify_mode = ssl.CERT_NONE if mode == "require" else ssl.CERT_REQUIRED
        arguments["ssl_context"] = context
    url = url.set(drivername="postgresql+pg8000").difference_update_query(["sslmode"])
    return url, {"connect_args": arguments, "pool_recycle": 1800}


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # BEGIN is ours (below): the driver's own comes too late
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _see_that_it_lives(connection: Any, _record: object, _proxy: object) -> None:
    """What `pool_pre_ping` does; but pg8000 may raise OSError for a lost connection, which that lets through."""
    try:
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        cursor.close()
        connection.rollback()
    except (OSError, pg8000.dbapi.Error) as error:
        raise DisconnectionError("the database has closed this connection") from error


def _name_failure(context: ExceptionContext) -> Exception | None:
    """Give the driver's failure our name. pg8000 has one class for all that the server says: the code tells."""
    original = context.original_exception
    if isinstance(original, OSError):
        context.is_disconnect = True
    said = original.args[0] if original.args else None
    code = str(said.get("C", "")) if isinstance(said, dict) else ""
    if code.startswith("23"):
        return IntegrityError(context.statement, None, original)
    if code.startswith(("08", "25", "28", "3D", "40", "53", "55", "57", "58", "XX")) or (
        not code
        and (
            isinstance(context.sqlalchemy_exception, OperationalError | InterfaceError)
            or isinstance(original, OSError)
            or any(words in str(original) for words in ("malformed", "not a database"))
        )
    ):
        what = said.get("M", "") if isinstance(said, dict) else original
        return RecordsUnavailable(f"the records database is unavailable: {what}")
    return None
