"""Judging a value: is this a secret that somebody wrote down, or a placeholder, a reference, a status, a name?

Everything here looks at one short value; the patterns are anchored and bounded by its length.
"""

from __future__ import annotations

import re

from bot.redaction.rules import words

MAX_VALUE = 4096
"""Characters of one value that are looked at."""

_NOT_A_VALUE = words(
    """
    yes no on off true false null none nil undefined void empty blank missing required optional needed mandatory
    expired expires invalid valid wrong incorrect correct bad good ok okay failed failure fail failing passed
    success successful succeeded error denied rejected refused accepted unauthorized forbidden unknown unset set
    notset default defaults enabled disabled enable disable active inactive pending present absent found notfound
    changed unchanged reset rotated rotate rotation revoked hidden masked redacted filtered removed omitted
    encrypted decrypted hashed protected plain plaintext cleartext stored loaded loading reload refreshed refresh
    renewed created deleted updated issued generated provided supplied given sent received authentication
    authorization validation verification verified unverified mismatch match matches matched mandatory prompt
    interactive stdin file env environment vault string str text bytes byte int integer number bool boolean object
    array list dict map any char varchar optional secretstr var let const function func def return await async new
    self this not and the for from with bearer basic digest token tokens password passwords passwd secret secrets
    key keys credential credentials auth opaque standard simple strong weak medium custom internal external local
    remote static dynamic automatic auto manual managed inherit inherited trust peer ident ldap saml oauth oauth2
    oidc kerberos gssapi sso mfa totp otp md5 sha1 sha256 sha512 sha-1 sha-256 sha-512 bcrypt scrypt argon2
    argon2i argon2id pbkdf2 hmac aes aes256 aes128 rsa rsa2048 rsa4096 ecdsa ed25519 hs256 rs256 es256 jwt jwt2
    base64 base32 base58 utf8 utf-8 hex ascii plain scram-sha-256 scram-sha-512 scram-sha-1 caching_sha2_password
    mysql_native_password sha256_password aes-256-gcm aes-256-cbc x509 pkcs8 pkcs12 spnego ntlm v1 v2 v3 tbd todo
    n/a na nan inf ago bytes
    """
)
_DOC_WORDS = words(
    """
    your my our the a an some any new old current this that here there value string placeholder example sample
    dummy fake mock changeme change me replace replaceme with insert enter put set fill in goes redacted hidden
    masked password passwd pass pwd passphrase secret token key api apikey access auth client app service user
    username admin db database root private public id login credential credentials account bearer jwt github
    gitlab slack aws openai todo tbd foo bar baz qux xxx xxxx xxxxx real actual generated from vault to be it is
    real valid
    """
)
_MASK = re.compile(r"[*•xX#.\-_?…●█·—]+")
_REFERENCE_PREFIXES = tuple(
    words(
        """
        vault: op:// ssm: ssm:// arn: env: file: file:// secretref: secretsmanager: awskms: gcpkms: sops: ENC[
        ENC( AQICAHENC !vault !secret !Ref !GetAtt !Sub @Microsoft.KeyVault keyvault: kms: doppler: bitwarden:
        keychain: projects/ configmap: ref+ {% <% ${ $( %( #{ @{ https:// http:// s3:// gs:// self. this.
        process.env os.environ spec. data. var. local. module. secrets. env. inputs. steps. vars. github. .Values
        """
    )
)

_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\d|[@*?])(?::?-[^}]*)?|\$\{.*|%[A-Z_]+%|![A-Z_]+!|\$env:\w+|\$\$\w+")
_FORMAT = re.compile(r"%[-+0-9.]*[a-zA-Z]|%\(\w+\)s|\{\w*(?:[:!.]\w*)*\}|:[a-z_]\w*|@[a-zA-Z_]\w*|\?+|\\[a-z]")
_BRACKETED = re.compile(r"[\[(<{]+[ ]?[A-Za-z_*.\-][\w .\-:/|,'\"*@]*[\])>}]*")
_MASKED_PART = re.compile(r"[*•●█]{3,}|…|\.{3,}|(?i:x{5,})")
_MUSTACHE = re.compile(r"\{\{-?[\s\w.$|\"'()\-]*\}{0,2}")
_DONE = re.compile(r"(?:‹[a-z\-]+-\d+›[.,;:)]*)+")
_NOT_WORDS = re.compile(r"\d{2}|[!@#$%^&+=]")
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+\-]+[/\\]*)+|(?:[\w.\-]+/){2,}[\w.\-]*")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z_]*\d?(?:(?:\.|->|::)[A-Za-z_][A-Za-z_]*\d?)+(?:[(\[].*)?")
_CALL = re.compile(r"\(?[A-Za-z_][\w.:]*(?:\(.*|\[[\"'\w].*)")
_GENERIC = re.compile(r"[A-Z][a-z]\w*\[\w")
_SCREAMING = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_MEASURE = re.compile(
    r"(?i)[<>=~+-]*\d+(?:[.,]\d+)*(?:-\d+)?(?:\s?(?:ns|us|µs|ms|s|sec|secs|m|min|h|hr|d|days?|%|x|b|kb?|mb?|gb?|tb?|[kmgt]i?b?|bytes?|chars?))?"
)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?|\d\d?:\d\d(?::\d\d.*)?|\d\d?/\w{2,3}/\d{4}.*")
_DIGIT = re.compile(r"[0-9]")
_UUID = re.compile(r"(?i)\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?")
_HEX = re.compile(r"(?i)(?:0x)?[0-9a-f]+")
_ADDRESS = re.compile(r"\[?(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]*::?[0-9a-fA-F:]+)\]?(?::\d+|/\d+)?")
_HOST = re.compile(
    r"(?i)[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?)+(?::\d+)?(?:/[\w/.\-]*)?"
)
_VERSION = re.compile(r"(?i)v?\d+(?:\.\d+)+(?:[-+.~]?[\w.]+)*")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_./:][a-z0-9]+)*")
_CAMEL = re.compile(r"(?:[A-Z]\d)?[A-Z]*[a-z]+\d?(?:[A-Z]+[a-z]+)+[A-Z]?\d{0,3}")
_WORD_IN_CASE = re.compile(r"[A-Z]?[a-z]+\d{0,2}")
_IDENTIFIER = re.compile(r"[a-z]+(?:_[a-z]+)+")
_TICKET = re.compile(r"[A-Z]{1,8}[-#_]?\d+(?:[-.]\d+)*")
_JOINTS = re.compile(r"[-_/.:]")
_WORDS_IN_ONE = re.compile(r"[A-Z]?[a-z]{4,}[A-Z][a-z]{4,}")
_TEMPLATE = re.compile(r"\{[\w.\[\]()]*\}")
_WORDS_AND_DIGITS = re.compile(r"[a-z]{3,}(?:[-_.][a-z]{3,})*[-_.]\d{3,}")
_STOP = words(
    """
    is are was be been the a an of for to at in on not must should can could with and or has have it its by least
    as from this that when please no your failed missing required invalid expired user using
    """
)


def is_placeholder(value: str) -> bool:
    """True for what stands where a secret would: `${X}`, `<password>`, `****`, `your-token-here`, empty."""
    text = value.strip(" \t\"'`,;").lstrip("*_~\\") or value.strip(" \t\"'`,;")
    if not text or len(text) > MAX_VALUE:
        return not text
    if text.startswith(_REFERENCE_PREFIXES) or _MASK.fullmatch(text) or _MASKED_PART.search(text[:200]):
        return True
    if _MUSTACHE.fullmatch(text) or _DONE.fullmatch(text):
        return True
    if "{" in text and len(_TEMPLATE.sub("", text)) < min(6, len(text)):
        return True
    if _VARIABLE.fullmatch(text):
        # `$ecret99` is a password, `$TOKEN` and `$token` are variables
        return not (text[1:].isalnum() and any(c.isdigit() for c in text[2:]) and text[1:2].islower())
    if _FORMAT.fullmatch(text) or (text[0] in "[(<{" and _BRACKETED.fullmatch(text)):
        return True
    if len(text) > 100 or _NOT_WORDS.search(text):
        return False
    words = [word.lower() for word in _WORDS.findall(text)]
    return bool(words) and all(word in _DOC_WORDS for word in words if not word.isdigit())


def is_reference(value: str) -> bool:
    """True for code, a path or the name of a variable that leads to the secret."""
    if len(value) > 300:
        return False
    if _PATH.fullmatch(value):
        return not any(
            is_striking(part) or (len(part) >= 20 and is_hex(part)) for part in re.split(r"[/\\]", value)
        ) and not _is_base64(value)
    return bool(
        _DOTTED.fullmatch(value)
        or _SCREAMING.fullmatch(value)
        or _GENERIC.match(value)
        or _IDENTIFIER.fullmatch(value)
        or "()" in value
        or (_CALL.fullmatch(value) and value[-1] in "()[]{}\"',;")
    )


def _is_base64(value: str) -> bool:
    """True for base64 with slashes in it: its parts are in disorder."""
    joined = re.sub(r"[^A-Za-z0-9]", "", value)
    return "." not in value and len(joined) >= 24 and is_random(joined, 24) and _changes(joined) >= len(joined) / 3


def is_status(value: str) -> bool:
    """True for a word that says something about a secret, a number with a unit, a moment, an algorithm."""
    if len(value) > 60:
        return False
    text = value.strip(" .,;:!?()[]{}\"'").lower()
    return (
        text in _NOT_A_VALUE
        or bool(_MEASURE.fullmatch(text) and len(re.sub(r"\D", "", text)) < 4)
        or bool(_MOMENT.fullmatch(text))
    )


def is_sentence(value: str) -> bool:
    """True for words about something; a passphrase of plain words is not one."""
    words = value.lower().split()
    return len(words) > 1 and (
        bool(_STOP & set(words)) or len(words) > 12 or any(word.strip(".,") in _NOT_A_VALUE for word in words)
    )


def has_stop_words(value: str) -> bool:
    """True where a sentence speaks: `the`, `is`, `for`."""
    return bool(_STOP & set(value.lower().split()))


def is_name(value: str) -> bool:
    """True for the lower-case name of a resource: `orders-db-credentials`, `default-token-x7k2p`, `checkout/db`."""
    return (
        bool(_NAME.fullmatch(value))
        and not _WORDS_AND_DIGITS.fullmatch(value)
        and (any(c in value for c in "-_./:") or not any(c.isdigit() for c in value))
    )


def is_word_with_digits(value: str) -> bool:
    """True for the people's kind of password: `falcon-ember-814`, `willow_4148`."""
    return bool(_WORDS_AND_DIGITS.fullmatch(value))


def is_uuid(value: str) -> bool:
    """True for a UUID."""
    return bool(_UUID.fullmatch(value))


def is_hex(value: str) -> bool:
    """True for hexadecimal digits alone."""
    return bool(_HEX.fullmatch(value))


def is_place(value: str) -> bool:
    """True for a host, an IP address, a version."""
    return bool(
        _ADDRESS.fullmatch(value) or _VERSION.fullmatch(value) or (_HOST.fullmatch(value) and not _looks_made_up(value))
    )


def _looks_made_up(value: str) -> bool:
    return any(is_random(part, 16) for part in value.split("."))


_CHANGE = re.compile(r"[a-z](?![a-z])|[A-Z](?![A-Z])|[0-9](?![0-9])|[^A-Za-z0-9](?=[A-Za-z0-9])")
_SYMBOL = re.compile(r"[!@#$%^&*+=?~|]")
_OTHER = re.compile(r"[^\w\-./: ]")
_PARTS = re.compile(r"[-_./: ]")


def is_random(value: str, length: int = 8) -> bool:
    """True for what a machine made up: at least `length` characters with letters and digits mixed."""
    if len(value) < length:
        return False
    value = value[:256]
    upper, lower, digit = value != value.lower(), value != value.upper(), _DIGIT.search(value) is not None
    if not (upper or lower):
        return False
    if not digit:  # letters alone: only long ones of both cases that are no CamelCase
        if not (upper and lower and len(value) >= max(length, 20) and value.isalnum()):
            return False
        return not _CAMEL.fullmatch(value) and _changes(value) > len(value) / 4
    if upper and lower:
        return not (_CAMEL.fullmatch(value) or is_moment(value))
    if is_hex(value):
        return len(value) >= max(length, 12)
    if len(value) >= 6 and _OTHER.search(value):
        return True
    parts = _PARTS.split(value)
    if len(parts) > 1:
        longest = max(parts, key=len)
        return len(longest) >= 16 and is_random(longest, 16)
    return len(_DIGIT.findall(value)) >= 2 and (len(value) >= 12 or _changes(value) >= 3)


def is_striking(value: str) -> bool:
    """True for what would look like a secret anywhere: both cases and digits in disorder, twenty or more."""
    if len(value) < 20 or not _DIGIT.search(value) or value == value.lower() or value == value.upper():
        return False
    if _changes(value[:256]) < min(len(value), 256) / 3 or _WORDS_IN_ONE.search(value):
        return False
    if any(len(part) >= 4 and part.isalpha() and part[1:].islower() for part in _JOINTS.split(value)):
        return False
    return not (is_uuid(value) or is_hex(value) or is_placeholder(value) or is_reference(value) or is_place(value))


def is_word_in_case(value: str) -> bool:
    """True for a word or CamelCase with few digits at its end: `Page2`, `TestLoginV2`."""
    return bool(_WORD_IN_CASE.fullmatch(value) or _CAMEL.fullmatch(value))


def is_disorderly(value: str) -> bool:
    """True for a password that no name, tag or path looks like: a symbol, or classes that change often."""
    mixed = value != value.lower() and value != value.upper() and _DIGIT.search(value) is not None
    return mixed and (_SYMBOL.search(value) is not None or (_changes(value) >= 5 and not value[0].isdigit()))


def is_moment(value: str) -> bool:
    """True for a date or a time."""
    return bool(_MOMENT.fullmatch(value))


def _changes(value: str) -> int:
    """How often the class of character changes."""
    return len(_CHANGE.findall(value))


def is_password_like(value: str) -> bool:
    """True for what can only be a password where one is spoken of: letters with digits or symbols, no name."""
    if not 5 <= len(value) <= 200 or value.isalpha() or is_status(value) or _TICKET.fullmatch(value.strip("()[]")):
        return False
    if is_word_with_digits(value):
        return True
    upper, lower = value != value.lower(), value != value.upper()
    if not (upper or lower) or is_name(value) or is_place(value) or is_uuid(value) or is_reference(value):
        return False
    user, at, host = value.partition("@")
    if at and _NAME.fullmatch(user) and (is_place(host) or ("-" in host and _NAME.fullmatch(host))):
        return False  # `root@web-1`
    symbol = _SYMBOL.search(value)
    if not _DIGIT.search(value):
        return symbol is not None and upper and len(value.rstrip("!?.,:;)")) >= 6 and value[-1:] != symbol[0]
    return symbol is not None or (upper and lower) or (len(value) >= 6 and value.isalnum())
