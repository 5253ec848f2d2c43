"""Texts of 20 KB that are made to be slow."""

from __future__ import annotations

SIZE = 20_000


def _fill(piece: str) -> str:
    return (piece * (SIZE // len(piece) + 1))[:SIZE]


TEXTS: dict[str, str] = {
    "token and spaces": ("token" + " " * 4000) * 5,
    "password: and spaces": "password:" + " " * SIZE,
    "token and tabs and newlines": ("token\t\t\n" + " " * 93) * 200,
    "long fake JWT": "eyJ" + "a." * 9000,
    "many eyJ": _fill("eyJ"),
    "equals": "=" * SIZE,
    "slashes": "/" * SIZE,
    "plus and base64": _fill("ab+/"),
    "quotes": _fill("\"'`"),
    "escaped quotes": _fill('\\"'),
    "nested quotes": 'password="' * 1 + _fill('"\\"\''),
    "password, nothing else": _fill("password"),
    "password=": _fill("password="),
    "token=": _fill("token="),
    "api_key: ": _fill("api_key: "),
    "password=x": _fill("password=x1 "),
    "token: and words": _fill("token: is the "),
    "key key key": _fill("key "),
    "opened links": _fill("<a://b|"),
    "links": _fill("<mailto:a@b.c|a@b.c>"),
    "entities": _fill("&amp;"),
    "zero width": _fill("​"),
    "zero width between": _fill("a​"),
    "colons and slashes": _fill("a://b:c"),
    "addresses": _fill("a://b:c@d "),
    "at signs": _fill("a@"),
    "mail": _fill("a@b.cc "),
    "long mail": "a." * 9000 + "@b.cc",
    "digits": _fill("1234567890"),
    "digits and spaces": _fill("4111 "),
    "phone": _fill("+1 2"),
    "dots": _fill("1."),
    "begin key": _fill("-----BEGIN PRIVATE KEY-----\n"),
    "end key": _fill("-----END PRIVATE KEY-----\n"),
    "begin and base64": "-----BEGIN PRIVATE KEY-----\n" + _fill("QUJD"),
    "cookie": "Cookie: " + _fill("a=b; "),
    "secret and data": "kind: Secret\ndata:\n" + _fill("  a: b\n"),
    "commands": _fill("mysql -p -p "),
    "curl": _fill("curl -u a:b "),
    "sk-": _fill("sk-"),
    "hex": _fill("deadbeef"),
    "unicode": _fill("пароль: "),
    "surrogates": _fill("\ud800"),
    "is the password": _fill("x is the password "),
    "parentheses": _fill("(password "),
    "BEARER": _fill("Bearer "),
    "identified": _fill("identified by '"),
    "escapes": _fill("\\u0022"),
    "uuid": _fill("00000000-0000-4000-8000-000000000000 "),
    "iban": _fill("DE89 3704 "),
    "card grid": _fill("4242424242424242 "),
    "fields": _fill("name: password value: "),
    "pipes": _fill("| token | "),
    "echo": _fill("echo a | "),
}
