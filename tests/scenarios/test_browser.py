"""What a visitor sees: `runbook-bot try` as it is, its page in a real browser, the sample runbooks and policy.

Nothing here reaches into the program: the command is started, its address is read, and the rest happens on the page.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from bot.workspace.world import strings

if TYPE_CHECKING:
    from playwright.async_api import Browser, Locator, Page

ROOT = Path(__file__).resolve().parents[2]
RUNBOOKS = ROOT / "runbooks"
RESTORE = "Restore the checkout database from a backup"
RESTRICTED = [*RUNBOOKS.glob("payments/*.md"), *RUNBOOKS.glob("checkout-db/restore-*.md")]
ASKED = "restore checkout-db from the pgbackrest backup"


@pytest.fixture
async def address(tmp_path: Path, sample_index: Path) -> AsyncIterator[str]:
    """The address that `runbook-bot try` prints, once the bot is in its workspace."""
    await asyncio.to_thread(shutil.copytree, sample_index, tmp_path / "data")
    proxies = {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}
    environment = {name: value for name, value in os.environ.items() if name not in proxies}
    command = [sys.executable, "-m", "bot", "try", "--port", "0", "--data", str(tmp_path / "data")]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    log = asyncio.create_task(process.stderr.read())
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), 240)).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line or (await log).decode()
        yield found.group()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await log


def title_of(page: Path) -> str:
    text = page.read_text()
    found = re.search(r"^title: (.+)$", text, re.MULTILINE) or re.search(r"^# (.+)$", text, re.MULTILINE)
    assert found
    return found.group(1)


def traces(text: str, pages: Sequence[Path] = RESTRICTED) -> list[str]:
    """Which restricted pages a text gives away: by title, by path, or by one of their commands."""
    found = []
    for page in pages:
        commands = re.findall(r"```sh\n(.+?)\n```", page.read_text(), re.DOTALL)
        marks = [title_of(page), page.relative_to(RUNBOOKS).as_posix(), *commands]
        found += [mark for mark in marks if mark in text]
    return found


async def screen(address: str, user: str) -> str:
    """Every string on one person's screen, from the page's own connection."""
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{address}/page/live?as={user}") as socket:
        state: dict[str, Any] = await socket.receive_json(timeout=10)
    return "\n".join(strings([state["messages"], state["ephemerals"], state["views"]]))


async def become(page: Page, who: str, channel: str) -> None:
    await page.click(f"#people button:has-text('{who}')")
    await page.wait_for_selector(f"#people button[aria-pressed=true]:has-text('{who}')")
    await page.click(f"#channels button:has-text('{channel}')")
    await page.wait_for_selector(f"#name:has-text('{channel}')")


async def ask(page: Page, words: str) -> None:
    await page.fill("#words", words)
    await page.press("#words", "Enter")


def answers(page: Page) -> Locator:
    """The bot's cards in the open thread."""
    return page.locator("#thread .message", has_text="Next checks")


@pytest.mark.timeout(300)  # on a busy machine the first indexing alone takes a minute
async def test_an_incident_and_who_sees_what_of_it(address: str, chromium: Browser) -> None:
    page = await chromium.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(20_000)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    await page.goto(f"{address}/#ben/incidents")
    await page.wait_for_selector("#people button")

    # an alert is answered in its thread, with checks that stand in the runbook
    await page.click("#fire summary")
    await page.click("[data-alert=postgres-connections]")
    await answers(page).wait_for()
    source = (RUNBOOKS / "checkout-db/connection-pool.md").read_text()
    commands = await answers(page).locator("pre").all_text_contents()
    assert len(commands) >= 2
    assert all(line.strip() in source for command in commands for line in command.splitlines())
    assert title_of(RUNBOOKS / "checkout-db/connection-pool.md") in await answers(page).inner_text()
    assert "nothing was run" in await answers(page).inner_text()
    await page.wait_for_selector("#reasons li")

    # its page opens, for whoever may read it
    await answers(page).locator("button:has-text('Open')").first.click()
    await page.wait_for_selector("dialog[open] .modal-body pre")
    await page.click("dialog footer button")
    await page.wait_for_selector("dialog", state="hidden")

    # a resolved alert and a bot's chatter are not answered
    for alert in ("postgres-resolved", "chat"):
        await page.click("#fire summary")
        await page.click(f"[data-alert={alert}]")
    quiet = page.locator("#messages > .message:not(:has(.replies))")

    # a command is answered below one line that says who looks for what
    await page.click("#shut")
    await ask(page, "/runbook postgres too many clients")
    await answers(page).wait_for()
    assert "Connection pool exhausted" in await answers(page).inner_text()
    assert "postgres too many clients" in await page.locator("#thread .message").first.inner_text()
    assert await quiet.count() == 2

    # 🔎 on what a person wrote
    await page.click("#shut")
    await ask(page, "orders.v1 consumer lag grows and nobody knows why")
    mine = page.locator("#messages .message", has_text="orders.v1 consumer lag grows")
    await mine.hover()
    await mine.locator("[aria-label='React with mag_right']").click()
    await answers(page).wait_for()
    assert "kafka" in (await answers(page).inner_text()).lower()

    # a question about a restricted page: Ben gets no trace of it
    await page.click("#shut")
    await ask(page, f"/runbook {ASKED}")
    await page.wait_for_selector(f"#messages .message:has-text('{ASKED}') .replies")
    assert traces(await page.content()) == []

    # Ana, of the database's on-call, gets it for herself alone in the same public channel
    await become(page, "ana", "incidents")
    await ask(page, f"/runbook {ASKED}")
    alone = page.locator(".message.alone", has_text=RESTORE)
    await alone.wait_for()
    await alone.locator(".ask-why").click()
    await page.wait_for_selector("#reasons li >> text=/dba/")
    assert traces(await screen(address, "U0ANA"))
    for user in ("U0BEN", "U0PIA"):
        assert traces(await screen(address, user)) == [], user

    # a payments alert: nothing of it in the public channel, an answer in the team's own
    await become(page, "pia", "incidents")
    await page.click("#fire summary")
    await page.click("[data-alert=payments-webhooks]")
    await page.wait_for_selector("#messages .message:has-text('PaymentsWebhookBacklog') .replies")
    assert traces(await page.content()) == []
    await become(page, "pia", "payments")
    await page.click("#fire summary")
    await page.click("[data-alert=payments-webhooks]")
    await answers(page).wait_for()
    assert "Payment webhooks pile up" in await answers(page).inner_text()

    # a guest, and somebody of another company who has no commands and puts 🔎 on a message
    await become(page, "gil", "storefront")
    await ask(page, f"/runbook {ASKED}")
    await page.wait_for_selector(f"#messages .message:has-text('{ASKED}') .replies")
    await become(page, "olga", "partner-acme")
    await ask(page, "your order api answers our calls with 401")
    mine = page.locator("#messages .message", has_text="answers our calls with 401")
    await mine.hover()
    await mine.locator("[aria-label='React with mag_right']").click()
    await answers(page).wait_for()
    assert title_of(RUNBOOKS / "status/partner-order-api.md") in await answers(page).inner_text()
    open_to_guests = {
        "general/declare-incident.md",
        *(p.relative_to(RUNBOOKS).as_posix() for p in RUNBOOKS.glob("status/*")),
    }
    inside = [p for p in RUNBOOKS.rglob("*.md") if p.relative_to(RUNBOOKS).as_posix() not in open_to_guests]
    for user in ("U0GIL", "U0OLGA"):
        assert traces(await screen(address, user), inside) == [], user

    assert troubles == []
