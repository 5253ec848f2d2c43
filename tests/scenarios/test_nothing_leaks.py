"""Thirty planted secrets, in every place where Slack lets them stand: none leaves the process in any form.

Looked through: what the model and the embedding endpoint were sent, every file of the data folder, the log, and
every call to Slack.
"""

from __future__ import annotations

import base64
import html
import logging
import random
import string
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from bot.workspace.world import strings
from tests.openai_server import OpenAIServer
from tests.scenarios.conftest import Start

RANDOM = random.Random(7)


def word(alphabet: str, length: int) -> str:
    return "".join(RANDOM.choice(alphabet) for _ in range(length))


ALNUM = string.ascii_letters + string.digits


def password() -> str:
    return word(string.ascii_lowercase, 5) + word(string.digits, 3) + word(string.ascii_uppercase, 4) + "xq"


PASSWORDS = [password() for _ in range(18)]
TOKENS = [
    "gh" + "p_" + word(ALNUM, 36),
    "xo" + "xb-" + word(string.digits, 12) + "-" + word(string.digits, 12) + "-" + word(ALNUM, 24),
    "AK" + "IA" + word(string.ascii_uppercase + "234567", 16),
    "sk_" + "live_" + word(ALNUM, 24),
    "gl" + "pat-" + word(ALNUM, 20),
    "ey" + "J" + ".".join(word(ALNUM, n) for n in (34, 80, 43)),
]
PEOPLE = [f"{word(string.ascii_lowercase, 7)}.{word(string.ascii_lowercase, 6)}@customer.example" for _ in range(4)]
CARDS = ["4111" + "1111" + "1111" + "1111", "5500" + "0000" + "0000" + "0004"]
PLANTED = [*PASSWORDS, *TOKENS, *PEOPLE, *CARDS]


def disguises(secret: str) -> set[str]:
    """How it could still be told: as it is, escaped for HTML, for a URL, in base64."""
    return {
        secret,
        html.escape(secret),
        quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode().rstrip("=")[:-1],
    }


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


def text_of(words: str, kind: str = "mrkdwn") -> dict[str, Any]:
    return {"type": kind, "text": words}


def rich_line(*words: str) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": [text_of(word, "text") for word in words]}


def alert() -> dict[str, Any]:
    """An alert-bot's post whose secrets stand in text, blocks, attachments, fields, fallbacks and a file's name."""
    p, t = iter(PASSWORDS), iter(TOKENS)
    link = {"type": "link", "url": f"https://app:{next(p)}@db.example/", "text": "the database"}
    code = {"type": "rich_text_preformatted", "elements": [text_of(f"mysql -u root -p{next(p)} shop", "text")]}
    blocks = [
        {"type": "header", "text": text_of(f"DB_PASSWORD={next(p)}", "plain_text")},
        {"type": "section", "text": text_of(f"*password:* `{next(p)}` and <mailto:{PEOPLE[0]}|{PEOPLE[0]}>")},
        {"type": "section", "fields": [text_of(f"*api_key*\n{next(t)}"), text_of(f"secret: {next(p)}")]},
        {"type": "context", "elements": [text_of(f"card {CARDS[0]} of {PEOPLE[1]}")]},
        {
            "type": "rich_text",
            "elements": [
                rich_line("pass", f"word={next(p)}"),
                code,
                {"type": "rich_text_section", "elements": [link]},
            ],
        },
    ]
    attachment = {
        "color": "a30200",
        "fallback": f"password={next(p)} | <https://x.example>",
        "pretext": f"token={next(t)}",
        "author_name": f"key {next(t)}",
        "title": f"PostgresTooManyConnections pwd={next(p)}",
        "text": f"postgres://app:<mailto:{next(p)}@db01.example.com|x@db01.example.com>:5432/app",
        "fields": [
            {"title": "PGPASSWORD", "value": next(p)},
            {"title": "Summary", "value": f"secret_key: {next(t)}"},
        ],
        "footer": f"passwd: {next(p)}",
    }
    return {
        "type": "message",
        "subtype": "bot_message",
        "bot_id": "B0ALERTS",
        "username": "Prometheus",
        "text": f"[FIRING:1] PostgresTooManyConnections checkout-db password={next(p)} token {next(t)}",
        "blocks": blocks,
        "attachments": [attachment],
        "files": [{"name": f"dump-password={next(p)}.sql", "title": f"password={next(p)}"}],
    }


async def test_thirty_planted_secrets_leave_by_no_way(
    start: Start, server: OpenAIServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert len(PLANTED) == 30
    bot = await start(
        openai_model="stub",
        openai_base_url=server.base_url,
        openai_api_key=SecretStr("k" * 8),
        embedding_model="text-embedding-stub",
    )
    server.chat = lambda body: "{}"
    ts = bot.workspace.post_alert(alert(), "incidents")
    await bot.quiet()
    rest = iter([*PASSWORDS[-6:], *TOKENS[-1:], *PEOPLE[2:], CARDS[1]])
    said = [
        f"it prints password: {next(rest)} and IDENTIFIED BY '{next(rest)}'",
        f"--password={next(rest)} \u200bpass\u200bword={next(rest)}",
        f'the password is {next(rest)}, {{"password": "{next(rest)}"}}',
        f"Authorization: Bearer {next(rest)} from {next(rest)} / {next(rest)} paid by {next(rest)}",
    ]
    for words in said:
        bot.workspace.post("pia", "incidents", words, thread=ts)
    bot.workspace.react("ana", "incidents", ts)
    await bot.quiet()
    await bot.workspace.slash("ben", "incidents", f"postgres too many clients password={PASSWORDS[0]} {TOKENS[0]}")
    await bot.workspace.slash("ben", "incidents", f"me too many clients for {PEOPLE[0]} secret={PASSWORDS[1]}")
    bot.workspace.post("ben", "incidents", f"<@U0RUNBOT> too many clients, pwd={PASSWORDS[2]}", thread=ts)
    await bot.quiet()
    assert server.bodies("chat") and server.bodies("embeddings")
    assert len(bot.replies("incidents", ts)) >= 6

    calls = "\n".join(text for call in bot.workspace.calls for text in strings(call.args))
    files = b"\n".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    log = caplog.text
    left = {
        (where, secret)
        for secret in PLANTED
        for form in disguises(secret)
        for where, text in (("endpoint", server.sent), ("Slack", calls), ("log", log))
        if form in text
    } | {("files", secret) for secret in PLANTED for form in disguises(secret) if form.encode() in files}
    assert not left
