"""Faults met elsewhere, played with their own payloads: signed posts through the real app in HTTP mode."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp.test_utils import TestClient, TestServer

OURS = {
    "U0RUNBOT0": "U0RUNBOT",
    "B0RUNBOT0": "B0RUNBOT",
    "C0INC0001": "C0INCIDENTS",
    "C0SHARED1": "C0PARTNER",
    "U0ALICE00": "U0BEN",
    "U0DBA0000": "U0ANA",
    "U0OUTSIDE": "U0OLGA",
    "U0GUEST00": "U0GIL",
    "T0HOME01": "T0HOME",
    "T0PARTNER": "T0ACME",
    "ReplicaLag service=orders-db": "TooManyClients postgres has too many clients",
    "replica lag": "postgres has too many clients",
}


class Slack:
    """Sends the payloads of a case as Slack would, and lets the messages that they speak of stand in the workspace."""

    def __init__(self, client: TestClient[Any, Any], workspace: Any, shared: Path) -> None:
        self.client, self.workspace, self.shared = client, workspace, shared

    def text(self, case: str, name: str) -> str:
        [folder] = (self.shared / "cases").glob(f"{case}-*")
        text = (folder / name).read_text()
        for theirs, ours in OURS.items():
            text = text.replace(theirs, ours)
        return text

    def command(self, case: str, name: str) -> str:
        url = quote(self.workspace.address + "/response/none", safe="")
        return self.text(case, name).replace("http%3A%2F%2F127.0.0.1%3A9%2Fresponse", url)

    def stand(self, event: dict[str, Any]) -> None:
        message = {k: v for k, v in event.items() if k not in ("channel", "channel_type", "event_ts")}
        place = self.workspace.world.channel(event["channel"])
        place.messages.setdefault(event["ts"], message | {"type": "message"})

    async def send(self, body: str, *, form: bool = False, headers: dict[str, str] | None = None) -> int:
        stamp = str(int(time.time()))
        base = f"v0:{stamp}:{body}".encode()
        signature = "v0=" + hmac.new(self.workspace.signing_secret.encode(), base, hashlib.sha256).hexdigest()
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        signed = {"Content-Type": kind, "X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
        answer = await self.client.post("/slack/events", data=body, headers={**signed, **(headers or {})})
        return answer.status

    async def event(self, case: str, name: str, *, stands: bool = True, **headers: str) -> int:
        body = self.text(case, name)
        event = json.loads(body)["event"]
        if stands and event.get("subtype") in (None, "bot_message"):
            self.stand(event)
        return await self.send(body, headers=headers)


@pytest.fixture
async def running(start: Callable[..., Any], workspace: Any, shared: Path) -> AsyncIterator[tuple[Any, Slack]]:
    bot = await start(connect=False)
    async with TestClient(TestServer(bot.edge.app.web_app(path="/slack/events"))) as client:
        yield bot, Slack(client, workspace, shared)
        await bot.edge.desk.idle()


def said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


async def test_a_wrong_signature_and_an_old_one_are_refused(running: tuple[Any, Slack]) -> None:
    bot, slack = running
    body = slack.text("26", "event.json")
    assert await slack.send(body, headers={"X-Slack-Signature": "v0=00"}) == 401
    assert await slack.send(body, headers={"X-Slack-Request-Timestamp": str(int(time.time()) - 301)}) == 401
    await bot.edge.desk.idle()
    assert bot.path.asked == []


async def test_case_25_unfurls_edits_and_deletions(running: tuple[Any, Slack], workspace: Any) -> None:
    bot, slack = running
    for name in ("0-original", "1-unfurl", "2-field-sync", "3-own-unfurl", "4-deleted", "6-via-response-url"):
        assert await slack.event("25", f"{name}.json") == 200
        await bot.edge.desk.idle()
    assert len(bot.path.asked) == 1 and len(workspace.calls_of("chat.postMessage")) == 1
    # a person's edit is not answered again: a reaction asks again (documented in docs/slack.md)
    assert await slack.event("25", "5-real-edit.json") == 200
    await bot.edge.desk.idle()
    assert len(workspace.calls_of("chat.postMessage")) == 1
    assert all(question.text.strip() for question in bot.path.asked)


async def test_case_25_nothing_is_posted_under_a_deleted_message(running: tuple[Any, Slack], workspace: Any) -> None:
    bot, slack = running
    bot.path.gate = asyncio.Event()
    await slack.event("25", "0-original.json")
    await bot.until(lambda: bot.path.asked)
    await slack.event("25", "4-deleted.json")
    bot.path.gate.set()
    await bot.edge.desk.idle()
    assert workspace.calls_of("chat.postMessage") == [] and workspace.calls_of("chat.postEphemeral") == []


async def test_case_26_slow_answers_are_acknowledged_and_given_once(
    running: tuple[Any, Slack], workspace: Any, start: Callable[..., Any]
) -> None:
    bot, slack = running
    bot.path.gate = asyncio.Event()  # nothing is answered before every delivery has been acknowledged
    again = json.loads(slack.text("26", "retry-headers.json"))
    both = await asyncio.gather(slack.event("26", "event.json"), slack.event("26", "event.json"))
    third = await slack.event("26", "event.json", **again)
    mentions = [await slack.event("26", f"mention-as-{kind}.json") for kind in ("message", "app-mention")]
    body = slack.command("26", "slash-body.txt")
    commands = [await slack.send(body, form=True), await slack.send(body, form=True)]
    assert {*both, third, *mentions, *commands} == {200}
    await bot.until(lambda: len(bot.path.asked) == 3)
    bot.path.gate.set()
    await bot.edge.desk.idle()
    asked = [question.trigger for question in bot.path.asked]
    assert sorted(asked) == ["alert", "command", "mention"]
    assert len(workspace.bot_messages("incidents")) == 4, "two answers, a command's line and its answer"
    restarted = await start(connect=False)
    async with TestClient(TestServer(restarted.edge.app.web_app(path="/slack/events"))) as client:
        assert await Slack(client, workspace, slack.shared).event("26", "event.json", **again) == 200
        await restarted.edge.desk.idle()
    assert len(workspace.bot_messages("incidents")) == 4


async def test_case_26_a_repeat_after_a_failure_is_worked_on(running: tuple[Any, Slack], workspace: Any) -> None:
    bot, slack = running
    workspace.fail("chat.postMessage", error="internal_error")
    await slack.event("26", "event.json")
    await bot.edge.desk.idle()
    assert workspace.bot_messages("incidents") == []
    await slack.event("26", "event.json")
    await bot.edge.desk.idle()
    assert len(workspace.bot_messages("incidents")) == 1


async def test_case_35_outsiders_and_shared_channels(running: tuple[Any, Slack], workspace: Any) -> None:
    bot, slack = running
    for name in ("1-outsider-mention.json", "3-insider-in-shared.json", "4-alert-in-shared.json"):
        body = slack.text("35", name)
        body = body.replace("orders database failover", "restore tables from the backup")
        if name.startswith("3"):
            workspace.join("ana", "partner-acme")
        slack.stand(json.loads(body)["event"])
        assert await slack.send(body) == 200
        await bot.edge.desk.idle()
    shared_channel = said(workspace.bot_messages("partner-acme"))
    assert "MARKERDBA" not in shared_channel and "pool" not in shared_channel
    assert "MARKERDBA" in said(workspace.ephemerals("ana")), "the insider gets it privately"
    assert workspace.ephemerals("olga") == []
    body = slack.text("35", "2-guest-slash-body.txt")
    url = workspace.address + "/response/none"
    assert (
        await slack.send(body.replace("http%3A%2F%2F127.0.0.1%3A9%2Fresponse", quote(url, safe="")), form=True) == 200
    )
    await bot.edge.desk.idle()
    [listed] = workspace.calls_of("response_url")
    assert "Status page" in said(listed.args) and "pool" not in said(listed.args) and "MARKER" not in said(listed.args)


async def test_case_40_secrets_in_slacks_own_markup(
    running: tuple[Any, Slack], workspace: Any, tmp_path: Path, caplog: Any
) -> None:
    bot, slack = running
    caplog.set_level("DEBUG", "bot")
    body = json.loads(slack.text("40", "event.json"))
    root = {**body["event"], "type": "message"}
    slack.stand(root)
    mention = {**body, "event": {**root, "type": "app_mention"}}
    assert await slack.send(json.dumps(mention)) == 200
    more = {"type": "app_mention", "ts": "1760009002.000100", "thread_ts": root["ts"], "text": "<@U0RUNBOT> why?"}
    later = {**{k: v for k, v in root.items() if k not in ("blocks", "attachments")}, **more}
    slack.stand(later)
    assert await slack.send(json.dumps({**body, "event_id": "Ev2", "event": later})) == 200
    command = f"token=x&team_id=T0HOME&channel_id=C0INCIDENTS&user_id=U0BEN&command=/runbook&text={quote(root['text'])}"
    assert await slack.send(command + "&trigger_id=1.2.3", form=True) == 200
    await bot.edge.desk.idle()
    mentioned, in_thread, commanded = sorted(bot.path.asked, key=lambda question: question.trigger != "mention")
    assert "db01.example.com" in in_thread.context[0], "the root comes along"
    raw = (mentioned.text, *in_thread.context)
    clean = [bot.path.redactor.redact(text).text for text in raw] + [commanded.text]
    assert all("db01.example.com" in text and "app" in text for text in clean)
    ours = "".join(record.getMessage() for record in caplog.records if record.name.startswith("bot."))
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("records.db*")).decode("utf-8", "replace")  # noqa: ASYNC240
    sent = said([call.args for call in workspace.calls])
    for where in (ours, kept, sent, said(clean)):
        for secret in ("s3cretpw-case40", "hunter2<case40&x", "hunter2&lt;case40&amp;x", "hunter2"):
            assert secret not in where and quote(secret, safe="") not in where
