"""The one path with its real parts: a real Chroma on disk, the local embedding model, SQLite, a recording endpoint."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.answering.models import Answer, NoAnswer, Question, Reply, Trigger
from bot.answering.verify import fold
from bot.answering.writer import Writer
from bot.app import App, assemble
from bot.errors import IndexUnavailable, RedactionError
from bot.settings import Settings
from bot.workspace.seed import seed_membership
from tests.openai_server import OpenAIServer

PAGES = {
    "services.yaml": "services:\n  - name: checkout-db\n    aliases: [postgres]\n    owner: team-data\n"
    "  - name: payments\n    owner: team-pay\n",
    "checkout-db/pool.md": "---\ntitle: Connection pool exhausted\nservice: checkout-db\nowner: team-data\n"
    "last_reviewed: 2020-01-01\n---\n\n## First checks\n\n"
    "1. Count who holds connections when postgres says too many clients.\n\n   ```sh\n   psql -c 'select 1'\n   ```\n\n"
    "2. Look at the pool of the application for waiting clients.\n",
    "dba/restore.md": "# Restore the database\n\nService: checkout-db\n\n## Steps\n\n"
    "1. MARKERDBA: when postgres has too many clients after a restore, pause the pooler.\n"
    "2. Compare the number of clients with the limit of the pooler.\n",
    "status/page.md": "# Tell the partners\n\n1. Write on the partner status page that orders are late.\n",
}
POLICY = """\
audiences:
  dba: {usergroups: [dba-oncall]}
default: members
rules:
  - {paths: "dba/**", audience: dba}
  - {paths: "status/**", audience: public}
"""
ASK = "postgres says too many clients already"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for path, text in PAGES.items():
        (folder / "runbooks" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "runbooks" / path).write_text(text)
    (folder / "access.yaml").write_text(POLICY)
    return folder


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[App]:
    settings = Settings(
        runbooks_dir=folder / "runbooks",
        data_dir=folder / "data",
        runbook_url="https://git.example/{path}#L{start}-L{end}",
    )
    with assemble(settings, seed_membership()) as parts:
        parts.publisher.sync()
        yield parts


async def ask(app: App, text: str = ASK, *, by: str | None = "U0BEN", at: str = "C0INCIDENTS", **more: Any) -> Reply:
    place = await app.access.place(at)
    trigger = Trigger.COMMAND if by else Trigger.ALERT
    return await app.answering.reply(Question(text=text, trigger=trigger, place=place, asker=by, **more))


async def test_an_answer_quotes_the_page_with_its_lines_and_link(app: App) -> None:
    reply = await ask(app)
    assert isinstance(reply.thread, Answer)
    check = reply.thread.checks[0]
    page = app.publisher.live().runbooks[check.citation.runbook]
    assert check.citation.runbook == "checkout-db/pool.md"
    assert fold(check.citation.quote) in fold(page.lines(check.citation.start_line, check.citation.end_line))
    assert check.command == "psql -c 'select 1'"
    assert (
        check.citation.url
        == f"https://git.example/checkout-db/pool.md#L{check.citation.start_line}-L{check.citation.end_line}"
    )
    assert reply.thread.written_by == "quoted"
    assert reply.thread.incident.service == "checkout-db"
    assert reply.thread.owner == "team-data"


async def test_an_overdue_page_says_so_with_its_owner(app: App) -> None:
    reply = await ask(app)
    assert isinstance(reply.thread, Answer)
    assert any("due for review" in notice and "team-data" in notice for notice in reply.thread.notices)


async def test_the_rest_reaches_only_who_may_read_it(app: App) -> None:
    reply = await ask(app, by="U0ANA")
    assert "MARKERDBA" not in (reply.thread or reply.private).model_dump_json()  # type: ignore[union-attr]
    assert isinstance(reply.private, Answer)
    assert {check.citation.runbook for check in reply.private.checks} == {"dba/restore.md"}
    assert reply.private.private_to == "U0ANA"
    assert (await ask(app, by="U0BEN")).private is None


async def test_an_alert_has_no_asker_and_no_private_part(app: App) -> None:
    reply = await ask(app, by=None)
    assert isinstance(reply.thread, Answer)
    assert reply.private is None
    assert "MARKERDBA" not in reply.model_dump_json()


async def test_a_shared_channel_gets_public_pages_and_the_member_the_rest(app: App) -> None:
    reply = await ask(app, at="C0PARTNER")
    assert isinstance(reply.thread, NoAnswer)
    assert isinstance(reply.private, Answer)
    public = await ask(app, "orders are late, what do we write on the partner status page", at="C0PARTNER", by="U0OLGA")
    assert isinstance(public.thread, Answer)
    assert {check.citation.runbook for check in public.thread.checks} == {"status/page.md"}


async def test_where_the_bot_is_not_a_member_the_asker_alone_is_answered(app: App) -> None:
    reply = await ask(app, at="C0RANDOM")
    assert reply.thread is None
    assert isinstance(reply.private, Answer)


async def test_a_direct_message_is_one_reply(app: App) -> None:
    reply = await ask(app, by="U0ANA", at="D0ANA")
    assert isinstance(reply.thread, Answer)
    assert reply.private is None
    assert reply.thread.private_to == "U0ANA"


@pytest.mark.parametrize("nobody", ["U0NOBODY", "U0ALERTS"])
async def test_strangers_and_bots_are_told_no(app: App, nobody: str) -> None:
    reply = await ask(app, by=nobody, private=True)
    assert isinstance(reply.private, NoAnswer)
    assert reply.private.reason == "not_allowed"


async def test_what_no_page_covers_says_so_and_names_the_owner(app: App) -> None:
    reply = await ask(app, "payments: please recommend a good restaurant in Lisbon for forty people")
    assert isinstance(reply.thread, NoAnswer)
    assert reply.thread.reason == "nothing_found"
    assert reply.thread.owner == "team-pay"


async def test_a_secret_does_not_get_beyond_the_first_step(app: App) -> None:
    secret = "hunter2" + "Xy9!"
    reply = await ask(app, f"{ASK} password={secret}")
    assert secret not in reply.model_dump_json()


async def test_a_failed_redaction_ends_the_request(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RedactionError("out of time")

    monkeypatch.setattr(type(app.redactor), "redact", broken)
    reply = await ask(app)
    assert isinstance(reply.thread, NoAnswer)
    assert reply.thread.reason == "redaction_failed"
    assert ASK not in reply.model_dump_json()


async def test_a_failed_search_is_never_nothing_found(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise IndexUnavailable("gone")

    monkeypatch.setattr(app.search, "find", broken)
    reply = await ask(app)
    assert isinstance(reply.thread, NoAnswer)
    assert reply.thread.reason == "search_unavailable"


async def test_a_runbook_that_is_not_yours_and_none_are_the_same(app: App) -> None:
    ben, ana = await app.access.of_person("U0BEN"), await app.access.of_person("U0ANA")
    assert app.answering.find_runbook("restore", ben) is app.answering.find_runbook("no-such", ben) is None
    assert app.answering.find_runbook("restore", ana) is not None
    assert app.answering.find_runbook("Connection pool exhausted", ben) is not None
    assert app.answering.find_runbook("../access.yaml", ana) is None


class TestWithAModel:
    """What the model says is posted only as far as the passages say it."""

    @pytest.fixture
    async def server(self) -> AsyncIterator[OpenAIServer]:
        async with OpenAIServer() as server:
            yield server

    @pytest.fixture
    async def model(self, app: App, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
        settings = app.settings.model_copy(update={"openai_model": "stub", "openai_base_url": server.base_url})
        writer = Writer.from_settings(settings)
        assert writer
        object.__setattr__(app.answering, "writer", writer)
        yield app
        object.__setattr__(app.answering, "writer", None)
        await writer.close()

    @staticmethod
    def draft(**change: Any) -> str:
        check = {"text": "Count the connections.", "command": "psql -c 'select 1'", "source": "c1",
                 "quote": "Count who holds connections when postgres says too many clients."}  # fmt: skip
        return json.dumps({"checks": [{**check, **change}], "explanation": "", "needs_human_review": False})

    async def test_checks_that_stand_in_the_passages_are_posted(self, model: App, server: OpenAIServer) -> None:
        server.chat = lambda body: self.draft()
        reply = await ask(model)
        assert isinstance(reply.thread, Answer)
        assert reply.thread.written_by == "stub"
        assert [check.text for check in reply.thread.checks] == ["Count the connections."]

    @pytest.mark.parametrize(
        "change",
        [
            {"source": "c9"},
            {"quote": "Count who drops all connections when postgres says no."},
            {"command": "psql -c 'drop table orders'"},
            {"text": "Restart postgres on db-9."},
        ],
    )
    async def test_inventions_are_replaced_by_the_quoted_checks(
        self, model: App, server: OpenAIServer, change: dict[str, str]
    ) -> None:
        server.chat = lambda body: self.draft(**change)
        reply = await ask(model)
        assert isinstance(reply.thread, Answer)
        assert reply.thread.written_by == "quoted"
        assert reply.thread.checks[0].command == "psql -c 'select 1'"

    async def test_each_readership_has_a_prompt_of_its_own(self, model: App, server: OpenAIServer) -> None:
        server.chat = lambda body: self.draft()
        await ask(model, by="U0ANA")
        thread, private = (json.dumps(body) for body in server.bodies("chat"))
        assert "MARKERDBA" not in thread
        assert "MARKERDBA" in private
        assert "pool.md" not in private and "Connection pool exhausted" not in private

    async def test_no_secret_and_no_address_reaches_the_model(self, model: App, server: OpenAIServer) -> None:
        server.chat = lambda body: self.draft()
        token = "ghp_" + "a1B2" * 9
        await ask(model, f"{ASK} password=hunter2Xy9! {token} jane.doe@customer.example")
        assert server.requests
        for secret in ("hunter2", token, "jane.doe"):
            assert secret not in server.sent
