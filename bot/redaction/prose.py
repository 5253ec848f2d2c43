"""Secrets in sentences: "the root password on db-1 is …", "creds for grafana: admin / …", "use … as the token"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.redaction import values
from bot.redaction.assignments import read_value
from bot.redaction.rules import Hit, Rule, Text, compile_

_NOUN = compile_(
    r"(?i)\b(?:(?P<password>pass(?:word|phrase|code|wd|wort)?s?|pwd?s?|passwort|kennwort|contraseña|contrasena|senha|mot de passe|mdp|wachtwoord|parola|"
    r"has(?:ł|l)o|l(?:ö|o)senord|пapoль|密码|密碼|パスワード|비밀번호|log[- ]?in(?:s)?|root pw)|"
    r"(?P<token>(?:api|access|secret|private|signing|encryption|auth|deploy|license|service|master|ssh|live|prod|shared)[ _-]?keys?|tokens?|secrets?|bearer|webhook secret)|(?P<key>keys?)|"
    r"(?P<creds>cred(?:ential)?s?|logins?|user(?:name)?\s?/\s?pass(?:word)?|user and pass(?:word)?|basic auth|accounts?))\b"
)
_VERB = re.compile(
    r"\b(?:(?:is|was)(?:[ \t]+(?:now|still|set to|changed to|reset to|currently|just|probably))?|are|were|be|ist|war|lautet|es|est|era|é|är|jest|to|as|from|with|using|via)\b:?[ \t]*|[:=→]\s{0,3}|->[ \t]*|[ \t]-{1,2}[ \t]|[(][ \t]*|,[ \t]*(?=[\"'`])"
)
_ADJACENT = re.compile(r"[ \t]{1,3}")
_SENTENCE_END = re.compile(r"[.!?;][ \t\n]|[<>{}\[\]]|\n\n|\n(?=[^\n]{0,40}[:=])")
_PAIR = re.compile(r"(?P<user>[\w.@+\\\-]{1,60})(?:[ \t]?[/:|][ \t]?|[ \t]*,[ \t]*|[ \t]+)(?P<secret>\S{5,200})")
_PLAIN_WORD = re.compile(r"[\w\-/.']+")
_OPENS = re.compile(r"\((?:the|my|our|a|its|new|old|temp|temporary|root|admin|db|prod|staging|api|)\Z")
_STRIKING = re.compile(r"[0-9!@#$%^*+=?~]")
_BAD = re.compile(
    r"(?i)\b(?:invalid|incorrect|bad|wrong|unknown|revoked|expired|leaked|exposed|compromised|rejected|unauthorized|malformed|unrecognized|deprecated)[ \t]+"
    r"(?:\w+[ \t]+){0,2}(?:key|token|secret|credentials?|signature|password)s?(?:[ \t]+(?:provided|supplied|given|used|found|received))?[ \t]*[:=]?[ \t]*[\"'`(\[]?"
)
_CODE = compile_(
    r"(?i)\b(?:otp|one[- ]time (?:pass)?(?:code|word)|passcode|2fa(?: code)?|mfa code|totp(?: code)?|verification code|security code|auth(?:entication)? code|confirmation code|"
    r"backup code|recovery code|pin|pin code|cvv2?|cvc2?|card code)\b[\"'`*]*[ \t]{0,3}(?:is|was|[:=]|for [\w.@\-]+ is|->)[ \t]*[\"'`*]*(\d{3,8}|\d{3}[ \-]\d{3}|[A-Z0-9]{4,5}-[A-Z0-9]{4,5}(?:-[A-Z0-9]{4,5})*)\b"
)
_MNEMONIC = compile_(
    r"(?i)\b(?:passphrase|seed(?: phrase)?|mnemonic|recovery phrase|pass phrase)\b[^\n:=]{0,40}(?:[:=]|\bis\b)\s*[\"'`]?((?:[a-z]{3,12}[ \-]){3,30}[a-z]{3,12})\b"
)


def find(text: Text) -> Iterator[Hit]:
    """Values that a sentence calls a password, a token or a login."""
    source = text.text
    done = 0
    for noun in _NOUN.finditer(source):
        if noun.start() < done:
            continue
        if (
            source[max(0, noun.start() - 1) : noun.start()] in _GLUE
            or "://" in source[max(0, noun.start() - 60) : noun.start()].split(" ")[-1]
        ):
            continue  # a part of a longer word or of an address
        if _LONGER.match(source, noun.end()) or source[noun.end() : noun.end() + 1] == "=":
            continue
        kind = noun.lastgroup or "token"
        stop = min(len(source), noun.end() + 120)
        end = _SENTENCE_END.search(source, noun.end(), stop)
        stop = end.start() + 1 if end else stop
        if _STRIKING.search(source, noun.end(), stop):
            for hit in _after(source, noun.end(), stop, kind):
                yield hit
                done = hit.end
        if kind != "creds" and (earlier := _before(source, noun.start(), kind)):
            yield earlier
    for bad in _BAD.finditer(source):
        value = read_value(source, bad.end())
        if value and value.text != "for" and _is_made_up(value.text, 16):
            yield Hit(value.start, value.end, "token")


_LONGER = re.compile(r"[-_./@][A-Za-z0-9]")
_GLUE = ("-", "_", ".", "/", "$", "@", "&", "?")
_KIND = {"password": "password", "token": "token", "key": "key", "creds": "password"}


def _before(source: str, start: int, kind: str) -> Hit | None:
    """`… is the new root password`, `use … as the token`, `… (the admin password)`: the value stands before."""
    begin = max(0, start - 160)
    lead = source[begin:start]
    if not _STRIKING.search(lead):
        return None
    words = lead.split()
    for index in range(len(words) - 1, max(0, len(words) - 6), -1):
        word = words[index]
        if word in ("is", "was", "as") or _OPENS.match(word):
            value = words[index - 1].strip("\"'`(*_")
            if "'" in value or not _is_spoken(value, kind, quoted=False):
                return None
            at = begin + lead.rfind(value)
            return Hit(at, at + len(value), _KIND[kind])
        if not _PLAIN_WORD.fullmatch(word):
            return None
    return None


def _after(source: str, start: int, stop: int, kind: str) -> Iterator[Hit]:
    """What follows the noun at once, or after a verb; between them stand words, not other keys and values."""
    adjacent = _ADJACENT.match(source, start)
    starts = [adjacent.end()] if adjacent else []
    for verb in _VERB.finditer(source, start, stop):
        between = source[start : verb.start()]
        if _OTHER_KEY.search(between) or (verb[0][0] in ":=-(," and between.strip() and not _OF_WHAT.match(between)):
            break
        starts.append(verb.end())
    for position in starts:
        value = read_value(source, position)
        if value is None:
            continue
        if kind == "creds" or (kind == "password" and not (adjacent and position == adjacent.end())):
            pair = _PAIR.match(source, value.start)
            if (
                pair
                and (kind == "creds" or "/" in pair[0])
                and not values.is_status(pair["user"])
                and pair["user"].lower() not in _NO_USER
            ):
                secret = read_value(source, pair.start("secret"))
                if (
                    secret
                    and _is_spoken(secret.text, "password", quoted=secret.quoted)
                    and not _is_path_pair(pair[0], secret.text)
                ):
                    yield Hit(secret.start, secret.end, "password")
                    return
        if kind != "creds" and _is_spoken(value.text, kind, quoted=value.quoted):
            yield Hit(value.start, value.end, _KIND[kind])
            return


_OTHER_KEY = re.compile(r"[=\"{}\[\]|]|:\S|, ")
_OF_WHAT = re.compile(
    r"(?i)[*_`]*[ \t]*(?:\(|(?:for|on|of|to|at|in|from|by|used|as|until|we|i|you|which|that|it|für|auf|von|zu|im|am|de|del|da|do|pour|sur|para|per|di|voor|na|till|w|do)\b|[*_`]+\Z|\Z)"
)
_NO_USER = frozenset(["the", "a", "an", "for", "on", "in", "at", "to", "of", "and", "or", "is", "was", "are", "with", "by", "from", "http", "https", "error", "code", "status"])


def _is_path_pair(pair: str, secret: str) -> bool:
    return "/" in secret.strip("/") or pair.startswith(("http", "/"))


def _is_spoken(value: str, kind: str, *, quoted: bool) -> bool:
    """Whether a value that a sentence points at is what the sentence says."""
    value = value.rstrip(".,;:)") if not quoted else value
    if (
        values.is_placeholder(value)
        or " " in value
        or len(value) < 5
        or "://" in value
        or value.startswith(("@", "#", "<", "(", "--", "/", "."))
    ):
        return False
    if (
        "=" in value[1:-2]
        or value.endswith("()")
        or values.is_place(value)
        or (values.is_uuid(value)
        and kind != "token")
    ):
        return False
    if kind in ("token", "key"):
        return (values.is_uuid(value) and kind == "token") or _is_made_up(value, 12)
    if (
        quoted
        and not values.is_name(value)
        and not values.is_status(value)
        and not values.is_reference(value)
        and values.is_random(value, 6)
    ):
        return True
    return values.is_password_like(value)


def _is_made_up(value: str, length: int) -> bool:
    value = value.strip("\"'`().,;:[]")
    if (
        values.is_name(value)
        or values.is_place(value)
        or values.is_reference(value)
        or values.is_placeholder(value)
        or "://" in value
    ):
        return False
    if ":" in value or ("/" in value and not values.is_random(value.replace("/", ""), 32)):
        return False
    return values.is_random(value, length)


PROSE = Rule(
    "prose",
    "people tell each other passwords in plain words",
    "the root password on db-1 is Correct-Horse-9!, please rotate",
    find,
    (
        "pass", "pw", "kennwort", "contrase", "senha", "mdp", "wacht", "parola", "has", "senord", "пapoль", "密", "パス", "비밀", "login", "log in", "log-in",
        "key", "token", "secret", "bearer", "cred", "user", "auth", "account",
    ),
)  # fmt: skip
CODES = Rule(
    "one-time-code",
    "a code that is still valid opens the door",
    "the OTP is 493027",
    lambda text: (Hit(*found.span(1), "code") for found in _CODE.finditer(text.text)),
    ("otp", "one-time", "one time", "passcode", "code", "pin", "cvv", "cvc", "2fa"),
)


def _mnemonics(text: Text) -> Iterator[Hit]:
    for found in _MNEMONIC.finditer(text.text):
        if not values.has_stop_words(found[1]) or len(found[1].split()) >= 12:
            yield Hit(*found.span(1), "password")


MNEMONICS = Rule(
    "passphrase",
    "passphrases and wallets' seeds are plain words",
    "passphrase: correct horse battery staple",
    _mnemonics,
    ("phrase", "seed", "mnemonic"),
)
RULES: tuple[Rule, ...] = (PROSE, CODES, MNEMONICS)
