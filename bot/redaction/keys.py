"""Reading a key: does `DB_PASSWORD_PROD` hold a secret, `password_min_length` or `max_tokens` not?

A key is cut into words; what decides is the last one that says something.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from bot.redaction.rules import words

Tier = Literal["password", "short", "secret", "token", "random"]
"""How a value has to look under such a key.

`password`: nearly anything; `short` (`pass`, `pw`: other meanings too): no counters; `secret` (an API key, a client
secret): no plain name; `token`: made up by a machine, eight characters; `random`: the same, sixteen.
"""

CORE = (
    "passwords?|paasword|pasword|passowrd|passwrod|passord|pssword|passwort|"
    "passphrases?|passcode|passwd|passw|passwrd|pass|pwd|pswd|psw|pw|kennwort|contrase(?:ñ"
    "|n)a|senha|mdp|motdepasse|"
    "mot de passe|wachtwoord|parola|has(?:ł|l)o|l(?:ö|o)senord|пapoль|密码|密碼|パスワード|비밀번호"
    "|secrets?|tokens?|keys?"
    "|keybase|"
    "credentials?|creds?|auth|authorization|authentication|apikey|session|sessid|sessionid|sess|sid|cookie"
    "|signature|sig|jwt|bearer|"
    "psk|hmac|mnemonic|requirepass|masterauth|pat|salt|pepper|assertion|csrf|xsrf|samlre(?:sponse|quest)|"
    "(?:device|authorization|oauth)_?code"
)

_PASSWORD = words(
    """
    password paasword pasword passowrd passwrod passord pssword passwort
    passphrase passcode passwd passw passwrd pwd pswd psw kennwort contraseña contrasena senha
    mdp motdepasse wachtwoord parola haslo hasło lösenord losenord пapoль 密码 密碼 パスワード 비밀번호
    requirepass masterauth
    userpass userpassword dbpass dbpassword storepass keypass smtppass mypass sshpass rootpw bindpw rootpass
    adminpass userpwd dbpwd pgpassword mnemonic
    """
)
_SHORT = frozenset({"pass", "pw"})
_SECRET_BEFORE_KEY = words(
    """
    api access secret private encryption encrypt crypto signing sign master shared account storage license licence
    auth ssh hmac aes rsa client admin deploy integration app application ingest ingestion write webhook cookie
    root jwt consumer wrap wrapping kek dek unseal recovery sas subscription function functions host preshared pre
    service services user publishable restricted live cipher kms des primary secondary connection security
    personal developer rest sdk site fernet session db database decryption token identity instrumentation insert
    insights tracking bearer server management project team org backend
    """
)
_SECRET = words(
    """
    apikey secretkey accesskey privatekey authkey masterkey signingkey encryptionkey appkey apisecret clientsecret
    appsecret keybase psk pepper
    """
)
_TOKEN = words(
    """
    token jwt pat bearer auth authtoken accesstoken refreshtoken idtoken secret credential cred creds credentials
    tokens secrets passwords keys apikeys
    """
)
_RANDOM = words(
    """
    sid session sess sessid sessionid phpsessid jsessionid cookie sig signature hmac key salt authorization
    assertion authentication csrf xsrf samlresponse samlrequest
    """
)
_NEUTRAL = words(
    """
    value val text plain plaintext cleartext raw str string data b64 base64 encoded hex prod production live
    staging stage stg dev test qa uat sandbox old new current previous prev next primary secondary backup default
    temp tmp eu us ap ro rw main master confirm confirmation again base a b x y v1 v2 v3 here override field input
    env int ext internal external readonly replica global shared
    """
)
_NOT_BEFORE = words(
    """
    max min num count total cache partition sort foreign unique public idempotency object row hash map dict lookup
    sharding shard group routing message config setting feature flag metric label index pub speculative completion
    prompt input output context stop pad eos bos special next page
    continuation pagination cursor socket monkey hot don tur
    """
)
_ENDINGS: tuple[tuple[str, Tier], ...] = (
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("pwd", "password"),
    ("secret", "secret"),
    ("apikey", "secret"),
    ("secretkey", "secret"),
    ("accesskey", "secret"),
    ("privatekey", "secret"),
    ("token", "token"),
    ("sessid", "random"),
    ("sessionid", "random"),
)
_SPLIT = re.compile(r"[A-Z]+(?![a-z\x80-\uffff])|[A-Z]?[a-z\x80-\uffff]+|\d+")


@lru_cache(maxsize=4096)
def tier_of(key: str) -> Tier | None:
    """The tier of a key; None where it holds no secret."""
    words = [word.lower() for word in _SPLIT.findall(key)]
    while len(words) > 1 and (words[-1] in _NEUTRAL or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    joined = before + last
    if last == "id":
        joined = words[-2] if len(words) > 1 else ""
        if joined in {"session", "sess"}:
            return "random"
        if joined == "key" and "private" in words:
            return "random"
        return "random" if joined == "secret" else None
    if last in _PASSWORD or joined in _PASSWORD or joined == "motdepasse":
        return "password"
    if last in _SHORT:
        return "password" if before else "short"
    if last == "secret":
        return "secret" if before and before not in _NOT_BEFORE else "token"
    if last in _SECRET or joined in _SECRET:
        return "secret"
    if last == "key":
        if before in _SECRET_BEFORE_KEY:
            return "secret"
        return "random" if before in {"routing", "", "data"} else None
    if last in _TOKEN:
        return None if before in _NOT_BEFORE else "token"
    if joined in ("samlresponse", "samlrequest"):
        return "random"
    if last in _RANDOM:
        return None if before in _NOT_BEFORE else "random"
    for ending, tier in _ENDINGS:  # glued: `adminpassword`, `mysecret`
        if last.endswith(ending) and len(last) > len(ending):
            return tier
    return None


def may_hold_secret(key: str) -> bool:
    """True for other keys under which a striking value is a secret: `SECRET_STRIPE`, `STRIPE_KEY`."""
    words = [word.lower() for word in _SPLIT.findall(key)]
    if not set(words).isdisjoint({"next", "page", "continuation", "pagination", "cursor", "socket"}):
        return False
    if not set(words).isdisjoint(_PASSWORD | _SECRET | {"secret", "token", "pass"}):
        return True
    return words[-1:] in (["key"], ["code"]) and len(words) > 1 and words[-2] not in _NOT_BEFORE


def kind_of(tier: Tier, key: str) -> str:
    """The kind that a value under this key is called."""
    lowered = key.lower()
    if tier in ("password", "short"):
        return "password"
    if any(word in lowered for word in ("sess", "sid", "cookie")):
        return "session"
    if ("sig" in lowered and "sign" not in lowered) or "signature" in lowered:
        return "signature"
    if "token" in lowered or "auth" in lowered or "jwt" in lowered or "bearer" in lowered:
        return "token"
    if "key" in lowered or "secret" in lowered:
        return "key"
    return "password" if "cred" in lowered else "token"
