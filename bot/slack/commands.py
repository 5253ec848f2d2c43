"""What somebody typed after `/runbook`: a question, or one of a few words that do something else.

A first word is a subcommand only if the rest fits it: `open` takes one name, `list`, `gaps` and `help` take nothing,
and everything else is a question. `find …` is always one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a command asks for."""

    HELP = "help"
    LIST = "list"
    OPEN = "open"
    SYNC = "sync"
    ACCESS = "access"
    GAPS = "gaps"
    QUESTION = "question"
    PRIVATE_QUESTION = "me"


@dataclass(frozen=True, slots=True)
class Command:
    """A parsed command; `rest` is what belongs to it."""

    kind: Kind
    rest: str = ""
    user: str = ""
    """Of `access`: whose."""


_PERSON = re.compile(r"^<?@?(?P<id>[UWCDG][A-Z0-9]{2,})(?:\|[^>]*)?>?\s+(?P<page>\S.*)$")
_QUOTED = re.compile(r"^[\"“'`](?P<name>[^\"”'`]+)[\"”'`]$")


def parse(text: str) -> Command:
    """Read what stands behind `/runbook`. Takes Slack's raw text."""
    text = text.strip()
    first, _, rest = text.partition(" ")
    rest = rest.strip()
    match first.casefold():
        case "" | "help" | "?" if not rest:
            return Command(Kind.HELP)
        case "list" if not rest:
            return Command(Kind.LIST)
        case "sync" if not rest:
            return Command(Kind.SYNC)
        case "gaps" if not rest:
            return Command(Kind.GAPS)
        case "me" if rest:
            return Command(Kind.PRIVATE_QUESTION, rest)
        case "find" if rest:
            return Command(Kind.QUESTION, rest)
        case "open" if rest and (name := _name(rest)):
            return Command(Kind.OPEN, name)
        case "access" if found := _PERSON.match(rest):
            return Command(Kind.ACCESS, found["page"].strip(), found["id"])
        case _:
            return Command(Kind.QUESTION, text)


def _name(rest: str) -> str:
    """The one name that `rest` is: a word, or words in quotes; "" for anything longer, which is a question."""
    quoted = _QUOTED.match(rest)
    return quoted["name"].strip() if quoted else rest if " " not in rest else ""
