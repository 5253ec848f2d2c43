"""The workspace's page in a real browser: what a person sees and does, and that nothing in a message is markup."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace import Workspace
from bot.workspace.world import Channel

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

Json = dict[str, Any]
Opens = Callable[[str], Awaitable["Page"]]


@pytest.fixture
async def opens(workspace: Workspace, chromium: Browser) -> Opens:
    """Opens the page for somebody, as `ben/incidents`; any script error or refused load fails the test."""

    async def opened(who: str) -> Page:
        page = await chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
        await page.goto(f"{workspace.address}/#{who}")
        await page.wait_for_selector("#people button")
        return page

    troubles: list[str] = []
    opened.troubles = troubles  # type: ignore[attr-defined]
    return opened


@pytest.fixture
async def bot(workspace: Workspace) -> AsyncWebClient:
    return AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)


HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>"\'><svg onload=window.pwned=1>'


def hostile_blocks() -> list[Json]:
    words = {
        "type": "mrkdwn",
        "text": f"{HOSTILE} <javascript:alert(1)|go> <https://x.example|{HOSTILE[:20]}> `{HOSTILE}`",
    }
    plain = {"type": "plain_text", "text": HOSTILE[:70]}
    leaves = [
        {"type": "text", "text": HOSTILE, "style": {"bold": True, "code": True}},
        {"type": "link", "url": "javascript:window.pwned=1", "text": HOSTILE},
        {"type": "user", "user_id": HOSTILE},
        {"type": "emoji", "name": HOSTILE},
    ]
    section = {"type": "rich_text_section", "elements": leaves}
    image = {"type": "image", "image_url": "https://x.example/x.png", "alt_text": HOSTILE}
    markdown = (
        f"# {HOSTILE}\n\n[go](javascript:window.pwned=1) **{HOSTILE}**\n\n|a|b|\n|-|-|\n|{HOSTILE}|x|\n\n> {HOSTILE}"
    )
    button = {
        "type": "button",
        "text": plain,
        "url": "javascript:window.pwned=1",
        "action_id": HOSTILE,
        "value": HOSTILE,
    }
    return [
        {"type": "section", "text": words, "fields": [words, plain]},
        {"type": "header", "text": plain},
        {"type": "context", "elements": [words, image]},
        {"type": "rich_text", "elements": [
            section,
            {"type": "rich_text_preformatted", "elements": leaves[:2]},
            {"type": "rich_text_quote", "elements": leaves},
            {"type": "rich_text_list", "style": "bullet", "elements": [section]},
        ]},
        {"type": "markdown", "text": markdown},
        {"type": "actions", "elements": [
            button, {"type": "static_select", "action_id": "s", "options": [{"text": plain, "value": HOSTILE}]},
        ]},
    ]  # fmt: skip


async def test_nothing_in_a_message_becomes_markup(workspace: Workspace, bot: AsyncWebClient, opens: Opens) -> None:
    alert = {"title": HOSTILE, "title_link": "javascript:window.pwned=1", "text": HOSTILE, "pretext": HOSTILE,
             "color": "red;background:url(x)", "author_name": HOSTILE, "footer": HOSTILE, "fallback": HOSTILE,
             "fields": [{"title": HOSTILE, "value": HOSTILE, "short": True}]}  # fmt: skip
    workspace.post_alert(
        {"type": "message", "subtype": "bot_message", "username": HOSTILE, "text": HOSTILE, "attachments": [alert]}
    )
    workspace.post("ben", "incidents", HOSTILE)
    workspace.rename("random", HOSTILE)
    await bot.chat_postMessage(channel="C0INCIDENTS", text="x", blocks=hostile_blocks())
    await bot.chat_postEphemeral(channel="C0INCIDENTS", user="U0BEN", text="x", blocks=hostile_blocks())
    workspace.why = lambda message: [HOSTILE]
    workspace.interactions.open_view(
        workspace.world.user("ben"),
        {"type": "modal", "title": {"type": "plain_text", "text": HOSTILE[:24]}, "blocks": hostile_blocks()},
    )
    page = await opens("ben/incidents")
    await page.wait_for_selector("#modal .block")
    await page.evaluate("document.querySelector('#modal .plain').click()")
    await page.wait_for_selector("#modal", state="hidden")
    await page.hover("#messages .alone")
    await page.click("#messages .alone .ask-why")
    await page.wait_for_selector("#reasons li")
    found = await page.evaluate(
        """() => ({
            pwned: window.pwned ?? null,
            scripts: [...document.scripts].length,
            images: [...document.images].filter((one) => !one.src.endsWith("/static/icon.svg")).length,
            svgs: document.querySelectorAll("svg").length,
            handlers: [...document.querySelectorAll("*")]
                .filter((one) => [...one.attributes].some((a) => a.name.startsWith("on"))).length,
            links: [...document.links].map((one) => new URL(one.href).protocol),
            shown: document.querySelector("#messages").textContent.split("<script>window.pwned=1</script>").length - 1,
            reason: document.querySelector("#reasons li").textContent,
        })"""
    )
    assert found["pwned"] is None and found["images"] == found["svgs"] == found["handlers"] == 0
    assert found["scripts"] == 1 and set(found["links"]) <= {"http:", "https:"}
    assert found["shown"] > 10 and found["reason"] == HOSTILE
    assert opens.troubles == []  # type: ignore[attr-defined]


async def test_each_person_has_their_own_screen(workspace: Workspace, bot: AsyncWebClient, opens: Opens) -> None:
    workspace.post("ana", "payments", "of payments alone")
    await bot.chat_postEphemeral(channel="C0PAYMENTS", user="U0PIA", text="for pia alone")
    page = await opens("pia/payments")
    await page.wait_for_selector("text=for pia alone")
    assert await page.locator("#messages .alone .only").inner_text() == "👁 Only visible to you"
    assert await page.locator("text=of payments alone").count() == 1

    await page.click("#people button:has-text('ana')")
    await page.wait_for_selector("#people button[aria-pressed=true]:has-text('ana')")
    assert await page.locator("text=of payments alone").count() == 1
    assert await page.locator("text=for pia alone").count() == 0

    await page.click("#people button:has-text('gil')")
    await page.wait_for_selector("#people button[aria-pressed=true]:has-text('gil')")
    assert await page.locator("#channels .label").all_inner_texts() == ["storefront"]
    assert "payments alone" not in await page.content()
    assert "Slack" in await page.locator("#standin").inner_text()


def card(value: str) -> list[Json]:
    button = {"type": "button", "action_id": "open", "text": {"type": "plain_text", "text": "Open"}, "value": value}
    return [
        {"type": "section", "text": {"type": "mrkdwn", "text": "*Look* at `a &amp;&amp; b`"}},
        {"type": "actions", "elements": [button]},
    ]


async def test_an_incident_from_alert_to_modal(workspace: Workspace, bot: AsyncWebClient, opens: Opens) -> None:
    app = AsyncApp(client=bot)
    pressed: list[Json] = []

    @app.event("message")
    async def on_message(event: Json, say: Any) -> None:
        if event.get("bot_id") not in (None, "B0RUNBOT"):
            await say(text="card", blocks=card("record-1"), thread_ts=event["ts"])

    @app.event("reaction_added")
    async def on_reaction(event: Json, client: AsyncWebClient) -> None:
        item = event["item"]
        await client.chat_postMessage(
            channel=item["channel"], thread_ts=item["ts"], text=f"searched: {event['reaction']}"
        )

    @app.command("/runbook")
    async def on_command(ack: Any, respond: Any, command: Json) -> None:
        await ack()
        await respond(f"asked: {command['text']}")

    @app.action("open")
    async def on_open(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        pressed.append(body)
        entry = {
            "type": "input",
            "block_id": "note",
            "label": {"type": "plain_text", "text": "Note"},
            "element": {"type": "plain_text_input", "action_id": "words"},
        }
        view = {
            "type": "modal",
            "callback_id": "page",
            "title": {"type": "plain_text", "text": "The page"},
            "submit": {"type": "plain_text", "text": "Save"},
            "blocks": [*card("record-2")[:1], entry],
        }
        await client.views_open(trigger_id=body["trigger_id"], view=view)

    @app.view("page")
    async def on_save(ack: Any, body: Json) -> None:
        pressed.append(body)
        await ack()

    handler = AsyncSocketModeHandler(app, workspace.app_token)
    await handler.connect_async()
    await workspace.connected()
    workspace.why = lambda message: [f"{message['channel']} is public", "members: allowed"]

    page = await opens("ben/incidents")
    await page.click("#fire summary")
    await page.click("[data-alert=kafka-lag]")
    answer = page.locator("#thread .by-bot").nth(1)
    await answer.wait_for()
    assert await answer.locator("strong").inner_text() == "Look"
    assert await answer.locator("code").inner_text() == "a && b"
    await page.wait_for_selector("#reasons li >> text=members: allowed")
    assert await page.locator("#messages .replies").inner_text() == "💬 1 reply"

    await answer.locator("[data-action=open]").click()
    await page.wait_for_selector("dialog[open] >> text=The page")
    await page.fill("dialog [data-action=words]", "seen")
    await page.click("dialog button:has-text('Save')")
    await page.wait_for_selector("dialog", state="hidden")
    assert pressed[0]["actions"][0]["value"] == "record-1" and pressed[0]["user"]["id"] == "U0BEN"
    assert pressed[1]["view"]["state"]["values"]["note"]["words"]["value"] == "seen"

    await page.fill("#words", "/runbook kafka lag")
    await page.press("#words", "Enter")
    await page.wait_for_selector("#messages .alone >> text=asked: kafka lag")
    await page.fill("#words", "orders are <slow> & *late*")
    await page.press("#words", "Enter")
    mine = page.locator("#messages .message", has_text="orders are <slow> & *late*")
    await mine.wait_for()
    await mine.hover()
    await mine.locator("[aria-label='React with mag_right']").click()
    await page.wait_for_selector("#thread >> text=searched: mag_right")
    await page.fill("#answer", "/runbook not in threads")
    await page.press("#answer", "Enter")
    await page.wait_for_selector(".toast.on >> text=no slash commands in threads")
    await page.press("#answer", "Escape")
    await page.wait_for_selector("#panel", state="hidden")
    assert opens.troubles == []  # type: ignore[attr-defined]
    await handler.close_async()


async def test_the_page_tells_when_no_bot_is_there(workspace: Workspace, opens: Opens) -> None:
    workspace.socket_mode.ack_timeout = 0.1
    page = await opens("ben/incidents")
    await page.fill("#words", "/runbook help")
    await page.press("#words", "Enter")
    await page.wait_for_selector(".toast.on >> text=The bot is not connected")
    assert "dispatch_failed" in await page.locator("#messages .alone").inner_text()


async def test_places_can_be_joined_and_the_bot_invited(workspace: Workspace, opens: Opens) -> None:
    page = await opens("ben/random")
    await page.click("text=Invite the bot")
    await workspace.until(lambda: "U0RUNBOT" in workspace.world.channel("random").members)
    workspace.add_channel(Channel("C0NEW", "new-place"))
    await page.click("#channels button:has-text('new-place')")
    assert await page.locator("#words").is_disabled()
    await page.click("#facts button:has-text('Join')")
    await page.wait_for_selector("#words:enabled")
    assert workspace.world.channel("new-place").members == {"U0BEN"}


async def test_nothing_overflows_on_any_width(workspace: Workspace, bot: AsyncWebClient, opens: Opens) -> None:
    ts = workspace.post_alert("ingress-5xx")
    long = [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 400 + " `" + "y" * 300 + "`"}}, *card("r")]
    await bot.chat_postMessage(channel="C0INCIDENTS", thread_ts=ts, text="x", blocks=long)
    page = await opens("ben/incidents")
    await page.click("#messages .replies")
    await page.wait_for_selector("#thread .by-bot")
    for width in (1280, 900, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        wide = await page.evaluate(
            """() => [...document.querySelectorAll("#messages, #thread, #composer, header")]
                .filter((one) => one.offsetWidth)
                .filter((one) => one.scrollWidth > one.clientWidth + 1
                    || one.getBoundingClientRect().right > innerWidth + 1)
                .map((one) => one.id || one.tagName)"""
        )
        assert wide == [], width
