"""The manifest asks for what the features need, and whatever it subscribes to is acknowledged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from slack_bolt.request.async_request import AsyncBoltRequest

MANIFEST = yaml.safe_load((Path(__file__).resolve().parents[2] / "manifest.yaml").read_text())
NEEDED = {
    "app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "groups:history", "groups:read",
    "im:history", "im:read", "mpim:history", "mpim:read", "reactions:read", "usergroups:read", "users:read",
}  # fmt: skip
EVENTS = [name.partition(".")[0] for name in MANIFEST["settings"]["event_subscriptions"]["bot_events"]]


def test_the_scopes_are_the_least() -> None:
    assert set(MANIFEST["oauth_config"]["scopes"]["bot"]) == NEEDED


def test_the_texts_fit_slacks_limits() -> None:
    [command] = MANIFEST["features"]["slash_commands"]
    assert command["command"] == "/runbook" and len(command["usage_hint"]) <= 1_000
    assert len(MANIFEST["display_information"]["description"]) <= 140


@pytest.mark.parametrize("scope", sorted(NEEDED - {"commands", "app_mentions:read", "mpim:history", "mpim:read"}))
async def test_a_scope_that_is_missing_never_widens_what_is_shown(start: Any, workspace: Any, scope: str) -> None:
    workspace.scopes.discard(scope)
    bot = await start()
    for place in ("incidents", "storefront", "partner-acme"):
        workspace.post_alert({"type": "message", "bot_id": "B0ALERTS", "text": "[FIRING:1] Lost restore tables"}, place)
    await workspace.slash("ben", "incidents", "me restore tables from the backup")
    await bot.quiet()
    for who in ("ben", "gil", "olga"):
        assert all("MARKERDBA" not in seen.words for seen in workspace.seen_by(who))


async def dispatch(bot: Any, body: dict[str, Any]) -> int:
    request = AsyncBoltRequest(mode="socket_mode", body={"team_id": "T0HOME", "token": "x", **body})
    return int((await bot.edge.app.async_dispatch(request)).status)


@pytest.mark.parametrize("name", sorted({*EVENTS, "app_home_opened", "something_new"}))
async def test_every_event_is_acknowledged(bot: Any, name: str) -> None:
    event = {
        "type": name, "channel": "C0INCIDENTS", "user": "U0BEN", "ts": "1.1", "event_ts": "1.1", "text": "x",
        "item": {"type": "message", "channel": "C0INCIDENTS", "ts": "1.1"}, "reaction": "eyes",
        "old_channel_id": "C0OLD", "new_channel_id": "C0NEW",
    }  # fmt: skip
    if name in ("user_change", "team_join"):
        event["user"] = {"id": "U0NEW", "team_id": "T0HOME"}
    assert await dispatch(bot, {"type": "event_callback", "event_id": "Ev1", "event": event}) == 200
    await bot.quiet()


@pytest.mark.parametrize(
    "body",
    [
        {
            "type": "block_actions",
            "actions": [{"type": "button", "action_id": "elsewhere", "block_id": "b", "url": "https://x"}],
        },
        {"type": "view_submission", "view": {"callback_id": "none", "type": "modal"}},
        {"type": "view_closed", "view": {"callback_id": "none", "type": "modal"}},
        {"type": "shortcut", "callback_id": "none"},
        {"command": "/other", "channel_id": "C0INCIDENTS", "user_id": "U0BEN", "text": "help", "trigger_id": "9.9"},
    ],
)
async def test_whatever_else_is_pressed_is_acknowledged(bot: Any, body: dict[str, Any]) -> None:
    person = {"user": {"id": "U0BEN", "team_id": "T0HOME"}, "team": {"id": "T0HOME"}, "trigger_id": "1.1"}
    assert await dispatch(bot, {**person, **body}) == 200
    await bot.quiet()
