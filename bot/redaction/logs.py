"""No secret in a log: whatever a handler writes is masked after it was formatted, whoever logged it.

A filter on the root logger does not see the records of other loggers, and a formatter is per handler; so the one place
that every handler goes through is changed: `logging.Handler.format`. It holds for handlers that are added later too.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterable
from types import TracebackType
from urllib.parse import quote

from bot.redaction.redactor import Redactor

WITHHELD = "[a log line was withheld: it could not be checked for secrets]"
OWN = "‹own-secret›"

_format = logging.Handler.format
_excepthook = sys.excepthook
_threadhook = threading.excepthook


class Mask:
    """Masks one line: the bot's own secrets always, the rest by the redactor; what can't be checked is withheld."""

    def __init__(self, redactor: Redactor, secrets: Iterable[str] = ()) -> None:
        forms = {
            form
            for secret in secrets
            if len(secret) >= 4
            for form in (secret, quote(secret, safe=""), repr(secret)[1:-1])
        }
        self._own = sorted(forms, key=len, reverse=True)
        self._redactor = redactor

    def __call__(self, line: str) -> str:
        """The line without secrets; never raises."""
        try:
            for secret in self._own:
                line = line.replace(secret, OWN)
            return self._redactor.redact(line).text
        except Exception:  # a log line must not end a request, and must not leave unchecked
            return WITHHELD


def install(redactor: Redactor, secrets: Iterable[str] = ()) -> None:
    """Mask every record on every handler of this process, and uncaught exceptions; again: another mask."""
    mask = Mask(redactor, secrets)

    def format_(self: logging.Handler, record: logging.LogRecord) -> str:
        return mask(_format(self, record))

    def handle_error(self: logging.Handler, record: logging.LogRecord) -> None:
        # the library's own prints the message and its arguments
        if logging.raiseExceptions and sys.stderr:
            sys.stderr.write(f"a log line of {record.name} could not be written: {sys.exc_info()[0]!r}\n")

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            _excepthook(kind, error, trace)
        else:
            sys.stderr.write(mask("".join(traceback.format_exception(kind, error, trace))))

    def threadhook(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None and not issubclass(arguments.exc_type, SystemExit):
            excepthook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    logging.Handler.format = format_  # type: ignore[method-assign]
    logging.Handler.handleError = handle_error  # type: ignore[method-assign]
    sys.excepthook = excepthook
    threading.excepthook = threadhook


_handle_error = logging.Handler.handleError


def uninstall() -> None:
    """Undo `install` (for tests)."""
    logging.Handler.format = _format  # type: ignore[method-assign]
    logging.Handler.handleError = _handle_error  # type: ignore[method-assign]
    sys.excepthook = _excepthook
    threading.excepthook = _threadhook
