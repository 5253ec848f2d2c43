"""Secrets in sentences: "the root password on db-1 is …", "creds for grafana: admin / …", "use … as the token"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.redaction import values
from bot.redaction.assignments import Value, accepts, read_value, successor
from bot.redaction.rules import Hit, Rule, Text, compile_, hit_of, matching, words

_NOUN = compile_(
    r"(?i)\b(?:(?P<password>pass(?:word|phrase|code|wd|wort)?s?|pwd?s?|passwort|kennwort|contraseña|contrasena"
    r"|senha|mot de passe|mdp|wachtwoord|parola|"
    r"has(?:ł|l)o|l(?:ö|o)senord|пapoль|密码|密碼|パスワード|비밀번호"
    r"|log[- ]?in(?:s)?|root pw|psk|pre-?shared key|(?:wpa\d?"
    r"|wi-?fi|wlan|network)[ _-]key)|"
    r"(?P<token>(?:api|app|application|access|secret|private|signing|encryption|auth|deploy|license|service|master|ssh|live|prod"
    r"|shared)[ _-]?keys?|tokens?|secrets?|bearer|webhook secret)|(?P<key>keys?)|"
    r"(?P<creds>cred(?:ential)?s?|(?:logg|sign)(?:ed|ing) in|logins?"
    r"|user(?:name)?\s?/\s?pass(?:word)?|user and pass(?:word)?|basic auth"
    r"|accounts?))\b"
)
_VERB = re.compile(
    r"\b(?:(?:is|was)(?:[ \t]+(?:now|still|set to|changed to|reset to|currently|just|probably))?|are|were|be|ist"
    r"|war|lautet|es|est|era|é|är|jest|to|as|from|with|using|via)\b:?[ \t]*|[:=→]\s{0,3}|->[ \t]*|[ \t]-{1,2}[ \t]"
    r"|[(][ \t]*|,[ \t]*(?=[\"'`])"
)
_ADJACENT = re.compile(r"[ \t]{1,3}")
_SENTENCE_END = re.compile(r"[.!?;][ \t\n]|[<{}\[\]]|(?<![-=])>|\n\n|\n(?=[^\n]{0,40}[:=])")
_PAIR = re.compile(r"(?P<user>[\w.@+\\\-]{1,60})(?:[ \t]?[/:|][ \t]?|[ \t]*,[ \t]*|[ \t]+)(?P<secret>\S{5,200})")
_PLAIN_WORD = re.compile(r"[\w\-/.']+")
_OPENS = re.compile(r"\((?:the|my|our|a|its|new|old|temp|temporary|root|admin|db|prod|staging|api|)\Z")
_STRIKING = re.compile(r"[0-9!@#$%^*+=?~]")
_BAD = re.compile(
    r"(?i)\b(?:invalid|incorrect|bad|wrong|unknown|revoked|expired|leaked|exposed|compromised|rejected"
    r"|unauthorized|malformed|unrecognized|deprecated)[ \t]+"
    r"(?:\w+[ \t]+){0,2}(?:key|token|secret|credentials?|signature|password)s?(?:[ \t]+(?:provided|supplied|given"
    r"|used|found|received))?[ \t]*[:=]?[ \t]*[\"'`(\[]?"
)
_CODE = compile_(
    r"(?i)\b(?:otp|one[- ]time (?:pass)?(?:code|word)|passcode|2fa(?: code)?|mfa code|totp(?: code)?|verification "
    r"code|security code|auth(?:entication)? code|confirmation code|(?:alarm|door|gate|access|entry|unlock"
    r"|conference|meeting|bridge|dial-in|host) (?:code|pin)|"
    r"backup codes?|recovery codes?|pin|pin code|cvv2?|cvc2?|card code)\b[\"'`*]*[ \t]{0,3}(?:is|was|[:=]|for "
    r"[\w.@\-]+ is|->)[ \t]*[\"'`*]*(\d{3,8}|\d{3}[ \-]\d{3}|[A-Z0-9]{4,5}-[A-Z0-9]{4,5}(?:-[A-Z0-9]{4,5})*)\b"
)
_MNEMONIC = compile_(
    r"(?i)\b(?:passphrase|seed(?: phrase)?|mnemonic|recovery phrase|pass phrase)\b[^\n:=]{0,40}(?:[:=]"
    r"|\bis\b)\s*[\"'`]?((?:[a-z]{3,12}[ \-]){3,30}[a-z]{3,12})\b"
)


def find(text: Text) -> Iterator[Hit]:
    """Values that a sentence calls a password, a token or a login."""
    source = text.text
    done = 0
    for noun in _NOUN.finditer(source):
        if noun.start() < done:
            continue
        if _LONGER.match(source, noun.end()) or source[noun.end() : noun.end() + 1] == "=":
            continue
        if (
            source[max(0, noun.start() - 1) : noun.start()] in _GLUE
            or "://" in source[max(0, noun.start() - 60) : noun.start()].split(" ")[-1]
        ):
            # a part of a longer word (`the db-token …`) or of an address
            if (value := _made_up_after(source, noun.end())) is not None:
                yield Hit(value.start, value.end, "token")
            continue
        kind = next(name for name, group in _GROUPS if noun.start(group) >= 0)
        stop = min(len(source), noun.end() + 120)
        end = _SENTENCE_END.search(source, noun.end(), stop)
        stop = end.start() + 1 if end else stop
        if _STRIKING.search(source, noun.end(), stop):
            for hit in _after(source, noun.end(), stop, kind):
                yield hit
                later = successor(source, hit)
                if later is not None:
                    yield later
                done = (later or hit).end
        if kind != "creds" and (earlier := _before(source, noun.start(), kind)):
            yield earlier
    for bad in _BAD.finditer(source):
        value = read_value(source, bad.end())
        if value and value.text != "for" and _is_made_up(value.text, 16):
            yield Hit(value.start, value.end, "token")


_LONGER = re.compile(r"[-_./@][A-Za-z0-9]")
_GLUE = ("-", "_", ".", "/", "$", "@", "&", "?")
_GROUPS = (("password", 1), ("token", 2), ("key", 3), ("creds", 4))
_KIND = {"password": "password", "token": "token", "key": "key", "creds": "password"}


def _made_up_after(source: str, start: int) -> Value | None:
    """What stands right after a word, if a machine made it up."""
    adjacent = _ADJACENT.match(source, start)
    value = read_value(source, adjacent.end()) if adjacent else None
    return value if value and len(value.text) >= 12 and _is_disorderly(value.text) else None


def _before(source: str, start: int, kind: str) -> Hit | None:
    """`… is the new root password`, `use … as the token`, `… (the admin password)`: the value stands before."""
    begin = max(0, start - 160)
    lead = source[begin:start]
    if not _STRIKING.search(lead):
        return None
    spoken = lead.split()
    for index in range(len(spoken) - 1, max(0, len(spoken) - 6), -1):
        word = spoken[index]
        if word in ("is", "was", "as") or _OPENS.match(word):
            value = spoken[index - 1].strip("\"'`(*_")
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
    # "pass" is a verb as well
    is_verb = source[start - 5 : start].lower().endswith("pass") and not source[start - 5 : start - 4].isalpha()
    for verb in _VERB.finditer(source, start, stop):
        between = source[start : verb.start()]
        if (
            _OTHER_KEY.search(between)
            or (is_verb and (between.strip() or verb[0][0] not in "iw:=-"))
            or (verb[0][0] in ":=-(," and between.strip() and not _OF_WHAT.match(between))
        ):
            break
        starts.append(verb.end())
    for position in starts:
        value = read_value(source, position)
        if value is None or (is_verb and value.text == value.text.lower() and value.text.isalnum()):
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
        at_once = adjacent is not None and position == adjacent.end()
        if (at_once or is_verb) and not value.quoted and values.is_word_in_case(value.text):
            continue  # `login Page2`, `pass TestLogin1`
        if kind != "creds" and _is_spoken(value.text, kind, quoted=value.quoted):
            yield Hit(value.start, value.end, _KIND[kind])
            return


_OTHER_KEY = re.compile(r"[=\"{}\[\]|]|:\S|, ")
_OF_WHAT = re.compile(
    r"(?i)[*_`]*[ \t]*(?:\(|(?:(?:has been|was|got|is)[ \t]+)?(?:changed|reset|updated|rotated|set|now)\b"
    r"|(?:for|on|of|to|at|in|from|by|used|as|until|we|i|you|which|that|it|für|auf|von|zu|im"
    r"|am|de|del|da|do|pour|sur|para|per|di|voor|na|till|w|do)\b|[*_`]+\Z|\Z)"
)
_NO_USER = words(
    """
    the a an for on in at to of and or is was are with by from http https error code status
    """
)


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
        or (values.is_uuid(value) and kind != "token")
    ):
        return False
    if kind == "key" and values.is_hex(value) and (len(value) not in (32, 64) or value != value.lower()):
        return False  # a fingerprint
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
        or any(mark in value for mark in ("://", "(", "@"))
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
        *words(
            "pass pw kennwort contrase senha mdp wacht parola has senord пapoль 密 パス 비밀 login key token "
            "secret bearer cred user auth account psk"
        ),
        "log in",
        "logged in",
        "signed in",
        "ing in",
        "log-in",
    ),
)
_CODE_AT_ONCE = compile_(r"(?i)\b(?:otp|passcode|2fa code|mfa code|totp|verification code)[ \t]+[\"'`*]*(\d{4,8})\b")
_PAIR_OF_FIELDS = compile_(
    r"(?i)\b(?:u|usr|user|login|username|id)[ \t]?[:=][ \t]?[^\s,;]{1,60}[\s,;/|]+(?:p|pw|pass|pwd)[ \t]?[:=][ "
    r"\t]?[\"'`]?([^\s\"'`]{4,100})"
)
_ACCOUNT = compile_(
    r"(?:^|[\s\"'`(<])(?:admin|administrator|root|user|ops|deploy|sa|svc(?:[_-]\w{1,20})?|ci(?:-\w{1,10})?|guest|backup"
    r"|postgres|app|test|service|jenkins|grafana|elastic|oracle|ubuntu|ec2-user)[ ]?[:/][ "
    r"]?([^\s\"'`<>/]{6,60})(?:[\s\"'`)>]|$)"
)


def _is_account_password(value: str) -> bool:
    value = value.rstrip(".,;:)")
    return values.is_password_like(value) and values.is_disorderly(value)


_ADMIN = compile_(
    r"(?:^|[\s\"'`(<])(?:admin|administrator|root|sa|ops|deploy|user):"
    r"([A-Z][a-z]+\d{3,6}|[a-z]+[-_.][a-z]+-\d{3,6})(?:[\s\"'`)>,.]|$)"
)


def _find_accounts(text: Text) -> Iterator[Hit]:
    for found in _ACCOUNT.finditer(text.text):
        if _is_account_password(found[1]):
            yield hit_of(found, "password")
    for found in _ADMIN.finditer(text.text):
        yield hit_of(found, "password")


def _find_codes(text: Text) -> Iterator[Hit]:
    for pattern in (_CODE, _CODE_AT_ONCE):
        for found in pattern.finditer(text.text):
            yield hit_of(found, "code")


PAIR_OF_FIELDS = Rule(
    "user-and-password",
    "u: and p: in one line",
    "u: admin p: Correct-Horse-9",
    matching(_PAIR_OF_FIELDS, "password", accept=lambda v: accepts("password", v, quoted=False, loose=True)),
    ("p:", "p=", "w:", "w=", "d:", "d=", "s:", "s="),
)
_LABELLED = compile_(
    r"(?i)(?:^|[^a-z])[a-z]{0,12}(?:id|user(?:name)?|login|account|usr|benutzer|[\p{Hangul}]{2,3})"
    r"\)?[ ]?(?:[/,&|+:(]|and)?[ ]?"
    r"(?:pw|pwd|p/w|pass(?:word|wd)?|passwd|kennwort|passwort)\)?(?:/port)?[ ]?(?:for [\w.\-]{1,40}[ ]?)?"
    r"(?:[:=(\-]|->|=>|is|are|[ ]){1,3}[ ]?\(?(?:[\w.\-]{1,40}:)?[ ]?[\w.@+\-]{2,60}"
    r"(?:[ ]?/{1,2}[ ]?|[ ]?[:,(|][ ]?|[ ])([^\s,()/]{4,60})"
)
_AT_HOST = compile_(
    r"(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?|[\w.\-]+@[\w.\-]+)(?: [\w:\-]{1,20})?[ ]?(?:\(|-{1,2}>[ ]?|[ ]\(?)"
    r"[a-z][\w.\-]{1,30}/{1,2}([^\s/(),]{8,40})(?:[\s),]|$)"
)
_NO_ALPHABET = compile_(
    r"(?i)(?:(?:비밀번호|비번|암호|패스워드|密码|密碼|口令|パスワード|暗証番号|пapoль|пapoля|\bp/w)[^\x00-\x7f]{0,6}"
    r"|\b(?:pw|password)[^\x00-\x7f]{1,6})[ ]?[:=(\-]{0,2}[ ]?[\"'`]?([!-~]{4,60})"
)


def _is_disorderly(value: str) -> bool:
    mixed = value != value.lower() and value != value.upper() and any(c.isdigit() for c in value)
    return mixed and len(value) >= 8 and values.is_password_like(value)


def _is_pairs_secret(value: str) -> bool:
    return values.is_password_like(value.rstrip(".;:")) or _is_disorderly(value)


LABELLED = Rule(
    "labelled-pair",
    "`id/pw: user/secret`, as people write it in chats",
    "ID/PW: app/Correct9Horse",
    matching(_LABELLED, "password", accept=_is_pairs_secret),
    ("pw", "pass", "p/w", "kennwort"),
)
AT_HOST = Rule(
    "host-pair",
    "an address, and in brackets the account with its password",
    "10.0.0.7 (root/Correct9Horse)",
    matching(_AT_HOST, "password", accept=_is_disorderly),
    ("/",),
)
NO_ALPHABET = Rule(
    "password-word",
    "words for a password that other words lean on without a space",
    "비밀번호는 Correct9Horse",
    matching(_NO_ALPHABET, "password", accept=_is_pairs_secret),
    ("비", "암호", "패스", "密", "口令", "パス", "暗証", "пapoл", "p/w", "pw는", "pw은", "password은", "password는"),
)
_USED = compile_(
    r"(?i)\b(?:use|try|with|using|enter|type|typing)\s+[\"'`]?([^\s\"'`]{6,60})[\"'`]?\s+(?:to|for)\s+"
    r"(?:log(?:ging)? ?(?:in|on)|login|sign(?:ing)? in|connect|authenticate|unlock|get in)\b"
)


def _is_used(value: str) -> bool:
    return values.is_password_like(value) and (values.is_disorderly(value) or sum(c.isdigit() for c in value) >= 3)


USED = Rule(
    "used-to-log-in",
    "what somebody should log in with",
    "use Correct9-Horse77 to log in",
    matching(_USED, "password", accept=_is_used),
    ("to log", "to sign", "to connect", "to auth", "to unlock", "to get in", "for log", "for sign"),
)
ACCOUNT = Rule(
    "account",
    "an account's name and its password in one word",
    "admin:Correct9Horse77",
    _find_accounts,
    words(
        "admin root user ops deploy sa svc ci guest backup postgres app test service jenkins grafana elastic "
        "oracle ubuntu"
    ),
)
CODES = Rule(
    "one-time-code",
    "a code that is still valid opens the door",
    "the OTP is 493027",
    _find_codes,
    ("otp", "one-time", "one time", "passcode", "code", "pin", "cvv", "cvc", "2fa"),
)


def _mnemonics(text: Text) -> Iterator[Hit]:
    for found in _MNEMONIC.finditer(text.text):
        if not values.has_stop_words(found[1]) or len(found[1].split()) >= 12:
            yield hit_of(found, "password")


MNEMONICS = Rule(
    "passphrase",
    "passphrases and wallets' seeds are plain words",
    "passphrase: correct horse battery staple",
    _mnemonics,
    ("phrase", "seed", "mnemonic"),
)
RULES: tuple[Rule, ...] = (PROSE, PAIR_OF_FIELDS, LABELLED, AT_HOST, NO_ALPHABET, USED, ACCOUNT, CODES, MNEMONICS)
