"""Key and value in every syntax: env, JSON (escaped too), YAML, INI, XML, HCL, code, headers, query strings, flags, tables.

One linear search finds the words that name a secret; from there on the key, the separator and the value are read by hand,
each step bounded, because passwords hold the very characters that end a value elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.redaction import values
from bot.redaction.keys import CORE, Tier, kind_of, mentions_secret, tier_of
from bot.redaction.rules import Hit, Rule, Text, compile_

_CORE = compile_(rf"(?i)(?:{CORE})")
_KEY_CHARS = re.compile(r"[\w.\-$]")
_KEY_TAIL = re.compile(r"[\w.\-]{0,80}(?:\[[\w\-]{0,20}\])?")
_SEPARATOR = re.compile(
    r"(?P<close>(?:\\{0,3}[\"'`]|%22|[\])}*_~]){0,5})"
    r"(?:[ \t]*(?P<sep>=>|:=|->|→|[?+]=|={1,3}|:{1,2}|%3[AaDd]|\|(?!\|))[ \t]*(?:[*_~`]{1,3}[ \t]+)?(?P<newline>\r?\n[ \t]*(?:```[ \t]*\r?\n?)?)?"
    r"|[ \t]{0,4}(?P<pair>[,;]?\s{0,40}-?[ \t]{0,4}\\?[\"']?(?i:value|val|secret_value|content)\\?[\"']?[ \t]{0,4}[=:][ \t]{0,4})"
    r"|(?P<tag>(?:[ \t][^<>\n]{0,100})?>)"
    r"|(?P<comma>,[ \t]*(?=\\?[\"'`]))"
    r"|(?P<space>[ \t]+))"
)
_OPENING = re.compile(r"[*_~]{0,2}(?P<delimiter>\\{0,3}[\"'`]|%22)")
_LIST = re.compile(r"[\[({][ \t]*")
_SCHEME = re.compile(
    r"(?i)(?:bearer|basic|token|apikey|api-key|digest|negotiate|ntlm|bot|splunk|genie_?key|ghost|key|hawk|oauth|bearer:|aws)[ \t]+(?=\S)"
)
_RAW_VALUE = re.compile(r"\S+")
_NEXT_PAIR = re.compile(r"[;&,|][ \t]?[\w.\-%\"'\\]{1,60}\\?[\"']?[ \t]?[=:]")
_FLAG = re.compile(r"--?[A-Za-z][\w.\-]*\Z")
_NAMED = re.compile(r"(?:name|key|id)\s?=\s?[\"'][\w.\-]*\Z")
_CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}


GLANCE = 256
"""Characters that are enough to judge an unquoted value; a hostile text has thousands of them, each in the next."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it stands in the text."""

    start: int
    end: int
    text: str
    quoted: bool


def read_value(text: str, start: int, limit: int = GLANCE) -> Value | None:
    """The value at `start`: to its closing quote, or to where an unquoted one ends, `limit` at most."""
    if opening := _OPENING.match(text, start):
        delimiter, inside = opening["delimiter"], opening.end()
        if text.startswith(delimiter * 2, opening.start("delimiter")) and delimiter in "\"'`":
            if not text.startswith(delimiter * 3, opening.start("delimiter")):
                return None  # an empty string
            delimiter *= 3
            inside += 2
        end = _closing(text, delimiter, inside)
        if end is not None:
            return Value(inside, end, text[inside:end], True)
        start = inside
    raw = _RAW_VALUE.match(text, start, start + limit)
    if not raw:
        return None
    value = _trim(raw[0], text[max(0, start - 1) : start])
    return Value(start, start + len(value), value, False) if value else None


def whole(text: str, value: Value) -> Value:
    """A value that was read at a glance, to its end: tokens are long."""
    if value.quoted or len(value.text) < GLANCE - 8:
        return value
    return read_value(text, value.start, values.MAX_VALUE) or value


def _closing(text: str, delimiter: str, start: int) -> int | None:
    """Where the closing quote stands, on the same line or close by; None if it never comes."""
    position = start
    limit = min(len(text), start + values.MAX_VALUE)
    line = text.find("\n", start, limit)
    while (found := text.find(delimiter, position, limit)) >= 0:
        if 0 <= line < found:
            return None
        slashes = 0
        while found - slashes > start and text[found - slashes - 1] == "\\":
            slashes += 1
        if slashes % 2 == 0 or delimiter.startswith("\\"):
            return found
        position = found + 1
    return None


def _trim(value: str, before: str) -> str:
    """An unquoted value without what belongs to the text around it."""
    if (tag := value.find("</")) >= 0:
        value = value[:tag]
    for stop in ("%26", "%22", '\\"', "\\'", "\\n", "\\r", "\\t"):
        if (at := value.find(stop)) > 0 and not (stop == "%26" and not re.match(r"%26[\w.\-]+%3[dD]", value[at:])):
            value = value[:at]
    if pair := _NEXT_PAIR.search(value):
        value = value[: pair.start()]
    for mark in "\"'`":
        at = value.find(mark)
        if at > 0 and (at + 1 == len(value) or value[at + 1] in ",;:)]}>|&. "):
            value = value[:at]
    while value:
        last = value[-1]
        if last in ",;:" or (last in "\"'`" and value.count(last) % 2) or (last == "." and not value.endswith("..")) or (last in _CLOSES and value.count(last) > value.count(_CLOSES[last])) or (last in "*_~|" and (before == last or last == "|")):
            value = value[:-1]
        else:
            break
    return value


def accepts(tier: Tier, value: str, *, quoted: bool, loose: bool) -> bool:
    """Whether `value` under a key of this tier is a secret. `loose`: unquoted after a colon or a spaced sign, where prose may stand."""
    if values.is_placeholder(value) or values.is_status(value) or len(value) < 3:
        return False
    if (
        (not quoted
        and values.is_reference(value))
        or (quoted
        and values.is_reference(value)
        and ("/" in value or "(" in value))
    ):
        return False
    if " " in value and (values.is_sentence(value) or tier not in ("password", "short")):
        return False
    if tier == "password":
        if value.isdigit():
            return len(value) >= 4
        if loose and not quoted:
            inner = value.rstrip("!?.")
            return not (values.is_place(value) and values.is_name(value)) and (
                any(c.isdigit() for c in value)
                or any(not c.isalnum() and c not in "-_./:,()'\"" for c in inner)
                or values.is_random(value)
            )
        return True
    if tier == "short":
        return not values.is_name(value) and (
            values.is_password_like(value) or (quoted and len(value) >= 6) or (not loose and not value.isalnum())
        )
    if values.is_place(value) and not values.is_random(value, 32):
        return False
    if tier == "secret":
        if values.is_uuid(value) or values.is_word_with_digits(value):
            return True
        return (
            not values.is_name(value)
            and len(value) >= 6
            and (values.is_random(value, 8) or values.is_password_like(value))
        )
    if tier == "token":
        if values.is_word_with_digits(value):
            return not loose
        return (
            values.is_uuid(value)
            or (not values.is_name(value)
            and (values.is_random(value, 8) or (quoted and values.is_password_like(value))))
        )
    return (
        values.is_uuid(value)
        or (not value.startswith("0x")
        and len(value) >= 16
        and not values.is_name(value)
        and values.is_random(value, 16))
    )


def find(text: Text) -> Iterator[Hit]:
    """Every value that stands beside a key which names a secret."""
    done = 0
    for found in _CORE.finditer(text.text):
        if found.start() < done:
            continue
        hits, done = _read(text.text, found.start(), found.end())
        yield from hits


def _read(text: str, start: int, end: int) -> tuple[list[Hit], int]:
    """What stands beside the key around [start, end), and where to go on."""
    left = start
    while left > 0 and start - left < 80 and _KEY_CHARS.match(text[left - 1]):
        left -= 1
    tail = _KEY_TAIL.match(text, end)
    right = tail.end() if tail else end
    key = text[left:right].strip(".")
    separator = _SEPARATOR.match(text, right)
    if not separator:
        return [], right
    if text[max(0, left - 2) : left] == "//":
        return [], right  # the user of an address
    if (separator["sep"] == ":" and text[max(0, left - 1) : left] == ":") or text.endswith("checksum/", 0, left):
        return [], right  # an ARN, the checksum of a Kubernetes Secret
    in_query = (left > 0 and text[left - 1] in "?&") or text[max(0, left - 3) : left] in ("%26", "%3F")
    flag = bool(_FLAG.match(key)) and (left == 0 or text[left - 1] in " \t\n\"'`([=,|")
    tier = tier_of(key.lstrip("-$"))
    if tier is None and in_query and key.lower() in {"key", "auth", "sig", "sid", "code"}:
        tier = "random"
    if tier is None and not mentions_secret(key):
        return [], right
    if separator["space"] is not None and not flag:
        return [], right
    if (
        separator["tag"] is not None
        and text[max(0, left - 1) : left] not in ("<", ":")
        and not _NAMED.search(text[max(0, left - 80) : left])
    ):
        return [], right
    if separator["comma"] is not None and not separator["close"]:
        return [], right
    if separator["sep"] == "|" and not re.search(r"\|[ \t*`]*$", text[max(0, left - 8) : left]):
        return [], right
    position = separator.end()
    bracket = _LIST.match(text, position)
    if bracket and separator["sep"] and text[position] == "[":
        position = bracket.end()
    scheme = _SCHEME.match(text, position + (1 if text[position : position + 1] in "\"'" else 0))
    if scheme and tier in ("token", "random", "secret"):
        return _after_scheme(text, scheme.end(), key), right
    value = read_value(text, position)
    if value is None:
        return [], right
    if flag and value.text.startswith("-") and separator["space"]:
        return [], right
    if separator["newline"] and (
        tier != "password"
        or not values.is_password_like(value.text)
        or re.match(r"[^\n]*[:=]", text[position : value.end])
    ):
        return [], right
    loose = (
        separator["sep"] in (":", "::", "|", "->", "→")
        or (" " in separator[0]
        and not flag
        and separator["pair"] is None)
    )
    json = separator["sep"] == ":" and any(mark in separator["close"] for mark in "\"'")
    if tier is None:
        striking = values.is_random(value.text, 16) and not values.is_hex(value.text) and not values.is_uuid(value.text)
        if (
            not striking
            or values.is_placeholder(value.text)
            or values.is_reference(value.text)
            or values.is_place(value.text)
            or values.is_name(value.text)
        ):
            return [], right
        value = whole(text, value)
        return [Hit(value.start, value.end, "token")], right
    if not accepts(tier, value.text, quoted=value.quoted, loose=loose and not json):
        return [], right
    value = whole(text, value)
    return [Hit(value.start, value.end, kind_of(tier, key))], max(right, value.end)


def _after_scheme(text: str, start: int, key: str) -> list[Hit]:
    """`Authorization: Bearer …`: the token after the scheme."""
    value = read_value(text, start, values.MAX_VALUE)
    if (
        value is None
        or values.is_placeholder(value.text)
        or values.is_status(value.text)
        or len(value.text) < 8
        or values.is_name(value.text)
    ):
        return []
    if (
        "=" in value.text[:24]
        and re.match(r"[A-Za-z]+=", value.text)
        and not re.fullmatch(r"[\w+/\-]+={1,2}", value.text)
    ):
        return []  # parameters: `Digest username="…"`; each is a key of its own
    return [Hit(value.start, value.end, "password" if text[start - 6 : start].lower().startswith("basic") else "token")]


ASSIGNMENTS = Rule(
    name="assignment",
    why="most leaked passwords stand in key=value of some syntax, and no library reads them all",
    example='DB_PASSWORD=Correct-Horse-9 and {"clientSecret": "Battery-Staple-77"}',
    find=find,
    words=(
        "pass", "pwd", "pw", "psw", "kennwort", "contras", "senha", "mdp", "mot de", "wacht", "parola", "has", "senord", "пapoль", "密", "パス", "비밀",
        "secret", "token", "key", "cred", "auth", "sess", "sid", "cookie", "sig", "jwt", "bearer", "psk", "hmac", "mnemonic", "master",
        "pat", "salt", "pepper", "assertion", "conn",
    ),
)  # fmt: skip
