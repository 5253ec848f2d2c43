"""Key and value in every syntax: env, JSON (escaped too), YAML, INI, XML, HCL, code, headers, queries, flags, tables.

One linear search finds the words that name a secret; from there on the key, the separator and the value are read by
hand, each step bounded, because passwords hold the very characters that end a value elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.redaction import values
from bot.redaction.keys import CORE, Tier, kind_of, may_hold_secret, tier_of
from bot.redaction.rules import Hit, Rule, Text, compile_, words

GLANCE = 256
"""Characters that are enough to judge an unquoted value; a hostile text has thousands of them, each in the next."""

_CORE = compile_(rf"(?i)(?:{CORE})")

# --- keys ---------------------------------------------------------------------------------------------------

_KEY_HEAD = re.compile(r"[\w.\-$]*")
_KEY_TAIL = re.compile(r"[\w.\-]{0,80}(?:\[[\w\-]{0,20}\])?")
_FLAG = re.compile(r"--?[A-Za-z][\w.\-]*\Z")
_QUERY_KEYS = frozenset({"key", "auth", "sig", "sid", "code"})


@dataclass(frozen=True, slots=True)
class _Key:
    """A key as it stands in the text: [left, right)."""

    left: int
    right: int
    name: str
    before: str
    """The few characters on its left."""

    @property
    def in_query(self) -> bool:
        return self.before.endswith(("?", "&", "%26", "%3F"))

    @property
    def is_flag(self) -> bool:
        """`--password`, `-storepass`."""
        return bool(_FLAG.match(self.name)) and self.before[-1:] in ("", *" \t\n\"'`([=,|")

    @property
    def tier(self) -> Tier | None:
        tier = tier_of(self.name.lstrip("-$"))
        return "random" if tier is None and self.in_query and self.name.lower() in _QUERY_KEYS else tier


def _key(text: str, start: int, end: int) -> _Key:
    head = _KEY_HEAD.match(text[max(0, start - 80) : start][::-1])
    left = start - (head.end() if head else 0)
    tail = _KEY_TAIL.match(text, end)
    right = tail.end() if tail else end
    return _Key(left, right, text[left:right].strip("."), text[max(0, left - 10) : left])


# --- separators ---------------------------------------------------------------------------------------------

_SEPARATOR = re.compile(
    r"(?P<close>(?:\\{0,3}[\"'`]|%22|[\])}*_~]){0,5})(?:"
    r"[ \t]*(?P<sign>=>|:=|->|→|[?+]=|={1,3}|:{1,2}|%3[AaDd]|\|(?!\|)|\((?=[^()\s]{6,60}\)))"
    r"[ \t]*(?:[*_~`]{1,3}[ \t]+)?"
    r"(?P<newline>\r?\n[ \t]*(?:```[ \t]*\r?\n?)?)?"
    # the value stands in a field of its own: {"name": "DB_PASSWORD", "value": "…"}
    r"|[ \t]{0,4}(?P<pair>[,;]?\s{0,40}-?[ \t]{0,4}\\?[\"']?(?i:value|val|secret_value|content)\\?[\"']?[ "
    r"\t]{0,4}[=:][ \t]{0,4}"
    r"|;s:\d+:|[ \t]\.[ \t](?=\"))"
    r"|(?P<tag>(?:[ \t][^<>\n]{0,150})?>)"
    r"|(?P<comma>,[ \t]*(?=\\?[\"'`]))"
    r"|(?P<space>[ \t]+))"
)
_NAMED = re.compile(r"(?:name|key|id)\s?=\s?[\"'][\w.\-]*\Z")
_IN_TABLE = re.compile(r"\|[ \t*`]*\Z")


def _separates(separator: re.Match[str], key: _Key, text: str) -> bool:
    """Whether what follows the key makes it a key here."""
    sign = separator["sign"]
    if separator["space"] is not None:
        return key.is_flag
    if separator["tag"] is not None:
        return key.before.endswith(("<", ":")) or bool(_NAMED.search(text[max(0, key.left - 80) : key.left]))
    if separator["comma"] is not None:
        return bool(separator["close"]) and key.before.endswith(('("', "('", '["', "['"))
    if sign == "|":
        return bool(_IN_TABLE.search(key.before))
    # not the user of an address, not an ARN, not the checksum of a Kubernetes Secret
    return not key.before.endswith(("//", "checksum/")) and not (sign == ":" and key.before.endswith(":"))


# --- values -------------------------------------------------------------------------------------------------

_OPENING = re.compile(r"[*_~]{0,2}(?:[fbruFBRUN@]{1,2}(?=[\"']))?(?P<delimiter>\\{0,3}[\"'`]|%22)")
_WRAPPED = re.compile(
    r"\(?(?:Some|Just|Right|Ok|Secret|SecretStr|SecretString|SecureString|String|Sensitive|Password"
    r"|ConvertTo-SecureString|new [A-Z]\w+)"
    r"(?:[ (]{1,3}|\.of\()(?=[\"'])"
)
_LIST = re.compile(r"\[[ \t]*")
_RAW_VALUE = re.compile(r"\S+")
_NEXT_PAIR = re.compile(r"[;&,|][ \t]?[\w.\-%\"'\\]{1,60}\\?[\"']?[ \t]?[=:]")
_ENCODED_PAIR = re.compile(r"%26[\w.\-]+%3[dD]")
_CLOSES = {")": "(", "]": "[", "}": "{", ">": "<"}


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
        if delimiter in "\"'`" and text.startswith(delimiter, inside):
            if not text.startswith(delimiter * 2, inside):
                return None  # an empty string
            delimiter *= 3
            inside += 2
        end = _closing(text, delimiter, inside)
        if end is not None:
            return Value(inside, end, text[inside:end], True)
        start = inside
    raw = _RAW_VALUE.match(text, start, start + limit)
    value = _trim(raw[0], text[max(0, start - 1) : start]) if raw else ""
    return Value(start, start + len(value), value, False) if value else None


def whole(text: str, value: Value) -> Value:
    """A value that was read at a glance, to its end: tokens are long."""
    if value.quoted or len(value.text) < GLANCE - 8:
        return value
    return read_value(text, value.start, values.MAX_VALUE) or value


def _closing(text: str, delimiter: str, start: int) -> int | None:
    """Where the closing quote stands, on the same line; None if it never comes."""
    limit = min(len(text), start + values.MAX_VALUE)
    line = text.find("\n", start, limit)
    limit = limit if line < 0 else line
    position = start
    while (found := text.find(delimiter, position, limit)) >= 0:
        slashes = 0
        while found - slashes > start and text[found - slashes - 1] == "\\":
            slashes += 1
        if slashes % 2 == 0 or delimiter.startswith("\\"):
            return found
        position = found + 1
    return None


def _trim(value: str, before: str) -> str:
    """An unquoted value without what belongs to the text around it."""
    for stop in ("</", ")](", "%22", '\\"', "\\'", "\\n", "\\r", "\\t"):
        if (at := value.find(stop)) > 0 or (stop == "</" and at == 0):
            value = value[:at]
    for pair in (_NEXT_PAIR, _ENCODED_PAIR):
        if following := pair.search(value):
            value = value[: following.start()]
    for mark in "\"'`":
        at = value.find(mark)
        if at > 0 and (at + 1 == len(value) or value[at + 1] in ",;:)]}>|&. "):
            value = value[:at]
    while value:
        last = value[-1]
        if (
            last in ",;:"
            or (last in "\"'`" and value.count(last) % 2)
            or (last == "." and not value.endswith(".."))
            or (last in _CLOSES and value.count(last) > value.count(_CLOSES[last]))
            or (last in "*_~|" and before == last)
            or last == "|"
        ):
            value = value[:-1]
        else:
            break
    return value


# --- judging ------------------------------------------------------------------------------------------------


def accepts(tier: Tier, value: str, *, quoted: bool, loose: bool) -> bool:
    """Whether `value` under a key of this tier is a secret.

    `loose`: it stands unquoted after a colon or a spaced sign, where prose may stand as well.
    """
    if len(value) < 3 or values.is_placeholder(value) or values.is_status(value):
        return False
    if values.is_reference(value) and (not quoted or "/" in value or "(" in value):
        return False
    if " " in value and (tier not in ("password", "short") or values.is_sentence(value)):
        return False
    if tier == "password":
        return _accepts_password(value, prose=loose and not quoted)
    if tier == "short":
        if values.is_name(value) or (loose and values.is_word_in_case(value)):
            return False
        return values.is_password_like(value) or (len(value) >= 6 if quoted else not loose and not value.isalnum())
    if values.is_uuid(value):
        return True
    if values.is_name(value) or (values.is_place(value) and not values.is_random(value, 32)):
        return False
    if tier == "secret":
        return len(value) >= 6 and (
            values.is_random(value, 8) or values.is_password_like(value) or values.is_word_with_digits(value)
        )
    if tier == "token":
        if values.is_word_with_digits(value):
            return not loose
        return values.is_random(value, 8) or (quoted and values.is_password_like(value))
    return not value.startswith("0x") and values.is_random(value, 16)


def _accepts_password(value: str, *, prose: bool) -> bool:
    if value.isdigit():
        return len(value) >= 4
    if not prose:
        return True
    inner = value.rstrip("!?.")
    return not (values.is_place(value) and values.is_name(value)) and (
        any(c.isdigit() for c in value)
        or any(not c.isalnum() and c not in "-_./:,()'\"" for c in inner)
        or values.is_random(value)
    )


# --- the rule -----------------------------------------------------------------------------------------------

_SCHEME = re.compile(
    r"(?i)[\"']?(?:bearer|basic|token|api-?key|digest|negotiate|ntlm|bot|splunk|genie_?key|ghost|key|hawk|oauth"
    r"|aws|hmac)"
    r"[ \t]+(?=\S)"
)
_ANY_SCHEME = re.compile(r"[\"']?[A-Za-z][\w\-]{1,24}[ \t]+(?=[^\s=]{16})")
_PARAMETER = re.compile(r"[A-Za-z]+=")
_NESTED = re.compile(r"([A-Za-z_][\w\-]{2,39})[=:](?=\S)")
_ARROW = re.compile(r"\\?[\"'`]?[ \t]{1,3}(?:->|=>|→)[ \t]{1,3}")
_BASE64 = re.compile(r"[\w+/\-]+={1,2}")


def find(text: Text) -> Iterator[Hit]:
    """Every value that stands beside a key which names a secret."""
    source, done = text.text, 0
    for found in _CORE.finditer(source):
        if found.start() < done:
            continue
        key = _key(source, found.start(), found.end())
        done = key.right
        hit = _beside(source, key)
        if hit is not None:
            yield hit
            later = successor(source, hit)
            if later is not None:
                yield later
            done = max(done, (later or hit).end)


def _beside(text: str, key: _Key) -> Hit | None:
    """The secret that stands beside this key, if one does."""
    tier = key.tier
    separator = _SEPARATOR.match(text, key.right)
    if separator is None or (tier is None and not may_hold_secret(key.name)) or not _separates(separator, key, text):
        return None
    position = separator.end()
    if separator["sign"] and (opened := _LIST.match(text, position)):
        position = opened.end()
    if tier in ("token", "random", "secret"):
        scheme = _SCHEME.match(text, position)
        if scheme is None and key.name.lower().endswith("authorization"):
            scheme = _ANY_SCHEME.match(text, position)
        if scheme is not None:
            return _after_scheme(text, scheme.end(), scheme[0])
    if wrapped := _WRAPPED.match(text, position):
        position = wrapped.end()
    if (nested := _NESTED.match(text, position)) and tier_of(nested[1]):
        return None  # `secret: token=…`: the inner key has it
    value = read_value(text, position)
    if value is None or (key.is_flag and separator["space"] and value.text.startswith("-")):
        return None
    if separator["newline"] and not _is_alone(text, tier, value):
        return None
    if separator["sign"] == "(":  # as a call looks
        secret = tier == "password" and values.is_password_like(value.text)
    elif tier is None:
        secret = values.is_striking(value.text)
    elif key.name.lower() == "key" and not key.in_query and values.is_hex(value.text):
        secret = False  # a fingerprint
    else:
        loose = _is_loose(separator, key)
        spoken = separator["space"] is not None and not value.quoted and value.text.isalpha() and value.text.islower()
        secret = not spoken and accepts(tier, value.text, quoted=value.quoted, loose=loose)
    if not secret:
        return None
    value = whole(text, value)
    return Hit(value.start, value.end, kind_of(tier or "token", key.name))


def successor(text: str, hit: Hit) -> Hit | None:
    """What a secret was changed to: `"old" -> "new"`."""
    arrow = _ARROW.match(text, hit.end)
    value = read_value(text, arrow.end()) if arrow else None
    if value is None or not accepts("password", value.text, quoted=value.quoted, loose=True):
        return None
    return Hit(value.start, value.end, hit.kind)


def _is_loose(separator: re.Match[str], key: _Key) -> bool:
    """Whether prose may stand in place of an unquoted value: not in JSON, not after a flag."""
    if separator["pair"] is not None or key.is_flag:
        return False
    if separator["sign"] == ":" and any(mark in separator["close"] for mark in "\"'"):
        return False
    return separator["sign"] in (":", "::", "|", "->", "→") or " " in separator[0]


def _is_alone(text: str, tier: Tier | None, value: Value) -> bool:
    """Whether a value on the next line can only belong to the key above."""
    return (
        tier == "password" and values.is_password_like(value.text) and text[value.end : value.end + 1] not in (":", "=")
    )


def _after_scheme(text: str, start: int, scheme: str) -> Hit | None:
    """`Authorization: Bearer …`: the token after the scheme."""
    value = read_value(text, start, values.MAX_VALUE)
    if value is None or len(value.text) < 8:
        return None
    if values.is_placeholder(value.text) or values.is_status(value.text) or values.is_name(value.text):
        return None
    if _PARAMETER.match(value.text[:24]) and not _BASE64.fullmatch(value.text):
        return None  # parameters: `Digest username="…"`; each is a key of its own
    return Hit(value.start, value.end, "password" if "basic" in scheme.lower() else "token")


ASSIGNMENTS = Rule(
    name="assignment",
    why="most leaked passwords stand in key=value of some syntax, and no library reads them all",
    example='DB_PASSWORD=Correct-Horse-9 and {"clientSecret": "Battery-Staple-77"}',
    find=find,
    words=words(
        "pass paas pasw pssw pwd pw psw kennwort contras senha mdp wacht parola has senord пapoль 密 パス 비밀 secret "
        "token key cred auth sess sid cookie sig jwt bearer psk hmac mnemonic master pat salt pepper assertion csrf "
        "xsrf saml code"
    ),
)
