"""Nothing secret is logged, by whichever handler and whoever's logger."""

from __future__ import annotations

import io
import logging
import logging.handlers
import queue
import sys
import threading
from collections.abc import Iterator

import pytest

from bot.redaction import Redactor, logs
from bot.settings import Settings

OWN = "-".join(["xapp", "own", "secret", "of", "the", "bot"])
PASSWORD = "Correct" + "9-Horse!"


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    logs.install(Redactor(budget_ms=60_000), [OWN])
    yield
    logs.uninstall()


def stream_handler(out: io.StringIO) -> logging.Handler:
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    return handler


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    out = io.StringIO()
    handler = stream_handler(out)
    logger = logging.getLogger("somebody.elses")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield out
    logger.removeHandler(handler)


def test_messages_arguments_and_exceptions_are_masked(stream: io.StringIO) -> None:
    logger = logging.getLogger("somebody.elses.library")
    logger.warning("connecting with password=%s", PASSWORD)
    try:
        raise ValueError(f"cannot log in: postgres://app:{PASSWORD}@db-1:5432/orders with {OWN}")
    except ValueError:
        logger.exception("failed for %s", OWN)
    text = stream.getvalue()
    assert PASSWORD not in text
    assert OWN not in text
    assert "connecting with password=‹password-1›" in text
    assert "@db-1:5432/orders" in text
    assert "ValueError" in text


def test_a_handler_that_is_added_later_and_one_with_its_own_format_are_masked() -> None:
    out = io.StringIO()

    class Own(logging.StreamHandler[io.StringIO]):
        def emit(self, record: logging.LogRecord) -> None:
            self.stream.write(f"<{self.format(record)}>")

    logger = logging.getLogger("later")
    logger.addHandler(handler := Own(out))
    logger.error("token %s", OWN)
    logger.removeHandler(handler)
    assert out.getvalue() == f"<token {logs.OWN}>"


def test_a_queue_takes_masked_records() -> None:
    records: queue.Queue[logging.LogRecord] = queue.Queue()
    logger = logging.getLogger("queued")
    logger.addHandler(handler := logging.handlers.QueueHandler(records))
    logger.error("password=%s", PASSWORD)
    logger.removeHandler(handler)
    assert records.get().getMessage() == "password=‹password-1›"


def test_a_broken_log_call_prints_no_arguments(stream: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    alone = logging.Logger("alone")  # outside of the tree: pytest's own handler raises where a log call is broken
    alone.addHandler(stream_handler(stream))
    alone.error("number %d", PASSWORD)
    told = capsys.readouterr().err
    assert "could not be written" in told
    assert PASSWORD not in told + stream.getvalue()


def test_a_line_that_cannot_be_checked_is_withheld(stream: io.StringIO) -> None:
    logs.install(Redactor(budget_ms=-1), [OWN])
    logging.getLogger("somebody.elses").error("password=%s", PASSWORD)
    assert stream.getvalue().strip() == logs.WITHHELD


def test_uncaught_exceptions_are_masked(capsys: pytest.CaptureFixture[str]) -> None:
    error = RuntimeError(f"password={PASSWORD} {OWN}")
    sys.excepthook(RuntimeError, error, None)
    thread = threading.Thread(target=lambda: (_ for _ in ()).throw(error))
    thread.start()
    thread.join()
    told = capsys.readouterr().err
    assert told.count("RuntimeError: password=‹password-1›") == 2
    assert OWN not in told


def test_passwords_in_the_settings_addresses_are_the_bots_own_secrets() -> None:
    settings = Settings(database_url="postgresql+pg8000://bot:s%40fe-enough@db-1/records")
    assert settings.secrets == ("s%40fe-enough", "s@fe-enough")
