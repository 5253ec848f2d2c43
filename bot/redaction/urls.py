"""Passwords in addresses: `scheme://user:password@host`, with any character in the password."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.redaction import values
from bot.redaction.rules import Hit, Rule, Text, compile_, matching

_SCHEME = compile_(r"(?i)[a-z][a-z0-9+.\-]*(?::|%3A)(?://|%2F%2F|\\/\\/)")
_REST = re.compile(r"[^\s\"'`<>]{1,2000}")
_AT_HOST = re.compile(
    r"(?:@|%40)(?=(?:\[[0-9a-fA-F:]+\]|[\w.\-]+|\$\{?\w+\}?|\{\{[^}]*\}\}|tcp\(|unix\()(?::\d+|:\$|:\{"
    r"|:<)?(?:[/?,;)\]}|.:&\\*_~]|%2F|%3A|$))"
)
_PORT = re.compile(r"\d{1,5}(?:[/?#]|%2F)")


def find(text: Text) -> Iterator[Hit]:
    """The password (or the token that stands alone) before the host of every address."""
    source, done = text.text, 0
    for scheme in _SCHEME.finditer(source):
        if scheme.end() < done:
            continue
        rest = _REST.match(source, scheme.end())
        if not rest:
            continue
        inner = source.find("://", rest.start(), rest.end())
        end = rest.end() if inner < 0 else inner
        at = _last_at(source, rest.start(), end)
        if at is None:
            continue
        done = at
        info = source[rest.start() : at]
        colon = re.search(r":|%3A", info)
        if colon is None:
            user_is_secret = values.is_random(info, 16) and not values.is_name(info)
            if user_is_secret and not values.is_placeholder(info):
                yield Hit(rest.start(), at, "token")
            continue
        secret = info[colon.end() :]
        if (
            "/" in info[: colon.start()]
            or _PORT.match(secret)
            or values.is_placeholder(secret)
            or _is_documentation(secret)
        ):
            continue
        if secret in ("x-oauth-basic", "x-access-token", "x-token-auth"):
            yield Hit(rest.start(), rest.start() + colon.start(), "token")
        else:
            yield Hit(rest.start() + colon.end(), at, "password")


def _last_at(source: str, start: int, end: int) -> int | None:
    """Where the last `@` before a host stands; a later one in the query belongs to that."""
    found = None
    for at in _AT_HOST.finditer(source, start, end):
        between = source[found : at.start()] if found is not None else ""
        if found is not None and re.match(r"(?:@|%40)[\w.\-]+\.\w+(?::\d+)?(?:/|\?|$)|(?:@|%40)[\w.\-]+:\d+/", between):
            break
        found = at.start()
    return found


def _is_documentation(secret: str) -> bool:
    return secret.lower() in {"password", "pass", "pw", "pwd", "passwd", "secret", "token", "user", "***", "xxx"}


def _is_query_secret(value: str) -> bool:
    return not values.is_placeholder(value) and not values.is_name(value) and values.is_random(value, 16)


_QUERY = matching(
    compile_(
        r"(?i)(?:[?&]|%3F|%26)(?:code|key|auth|sig|sid|s|otp|ticket|assertion|samlresponse|state_token|invite"
        r"|magic|hash|hmac|h|t|k)(?:=|%3D)([^\s&\"'`<>#|]{16,})"
    ),
    "token",
    accept=_is_query_secret,
)
_ORACLE = matching(
    compile_(r"(?i)\b(?:thin|oci8?):[\w$#]{1,40}/([^\s/@\"'`]{3,})@"),
    "password",
    accept=lambda value: not values.is_placeholder(value),
)

URLS = Rule(
    name="url-password",
    why="connection strings are what tracebacks print; the host beside the password has to stay",
    example="postgres://app:Correct-Horse-9@db-1.internal:5432/orders",
    find=find,
    words=("://", "%2f%2f", "\\/\\/"),
)
QUERY = Rule(
    "query", "links that log in: `?code=…`, `?key=…`", "GET /callback?code=4f9aB8c7D6e5F4a3B2c1", _QUERY, ("=", "%3d")
)
ORACLE = Rule(
    "oracle-url",
    "Oracle's own kind of address",
    "jdbc:oracle:thin:app/Correct9Horse@ora-1:1521/ORCL",
    _ORACLE,
    ("thin:", "oci"),
)
RULES: tuple[Rule, ...] = (URLS, QUERY, ORACLE)
