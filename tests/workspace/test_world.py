"""Who sees what, and which events tell the app of it."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.access.models import Person, Place, PlaceKind
from bot.errors import WorkspaceRefusal
from bot.workspace import Workspace, seed_membership
from bot.workspace.alerts import READY_ALERTS
from bot.workspace.limits import block_problems
from bot.workspace.world import Channel

Json = dict[str, Any]


def texts(workspace: Workspace, user: str) -> list[str]:
    return [seen.text for seen in workspace.seen_by(user)]


def events(workspace: Workspace) -> list[Json]:
    return [payload["event"] for payload in workspace.outbox.events]


def kinds(workspace: Workspace) -> list[str]:
    return [event.get("subtype") or event["type"] for event in events(workspace)]


async def test_members_and_full_members_see_a_public_channel(workspace: Workspace) -> None:
    workspace.post("ben", "storefront", "hello")
    assert {user for user in ("ben", "ana", "pia", "gil", "olga") if texts(workspace, user)} == {
        "ben", "ana", "pia", "gil",
    }  # fmt: skip
    workspace.post("ana", "payments", "card numbers")
    assert "card numbers" in texts(workspace, "pia") and "card numbers" not in texts(workspace, "ben")


async def test_an_edited_message_was_seen_as_it_was(workspace: Workspace) -> None:
    ts = workspace.post("ben", "incidents", "the old words")
    workspace.edit("incidents", ts, "the new words")
    workspace.delete("incidents", ts)
    assert texts(workspace, "ana") == ["the old words", "the new words"]
    workspace.join("gil", "incidents")
    assert texts(workspace, "gil") == []


async def test_whoever_joins_reads_the_history(workspace: Workspace) -> None:
    ts = workspace.post("ben", "incidents", "before gil")
    workspace.post("ana", "incidents", "in a thread", thread=ts)
    workspace.join("gil", "incidents")
    assert texts(workspace, "gil") == ["before gil", "in a thread"]
    workspace.leave("gil", "incidents")
    workspace.post("ben", "incidents", "after gil")
    assert "after gil" not in texts(workspace, "gil")


async def test_a_private_channel_made_public_is_read_by_everybody(workspace: Workspace) -> None:
    workspace.post("ana", "payments", "secret of payments")
    assert texts(workspace, "ben") == []
    workspace.convert("payments", private=False)
    assert "secret of payments" in texts(workspace, "ben")
    assert "secret of payments" not in texts(workspace, "gil")
    assert "channel_convert_to_public" in kinds(workspace)


async def test_the_words_of_a_card_are_found_wherever_they_stand(workspace: Workspace) -> None:
    client = AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)
    blocks = [
        {
            "type": "actions",
            "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Open"}, "value": "hidden value"}],
        }
    ]
    await client.chat_postMessage(channel="C0INCIDENTS", text="x", blocks=blocks)
    (seen,) = workspace.seen_by("ben")
    assert "hidden value" in seen.words and seen.by_bot


async def test_events_go_out_only_where_the_bot_is(workspace: Workspace) -> None:
    ts = workspace.post("ben", "random", "not for the bot")
    workspace.react("ben", "random", ts)
    workspace.join("gil", "random")
    assert events(workspace) == []
    workspace.join("runbook", "random")
    workspace.post("ben", "random", "now it is")
    workspace.leave("runbook", "random")
    workspace.post("ben", "random", "alone again")
    assert kinds(workspace) == ["member_joined_channel", "message", "channel_left"]


async def test_a_mention_comes_twice_in_a_channel_and_once_in_a_dm(workspace: Workspace) -> None:
    workspace.post("ben", "incidents", "@runbook kafka lag")
    assert kinds(workspace) == ["message", "app_mention"]
    assert {event["ts"] for event in events(workspace)} == {events(workspace)[0]["ts"]}
    workspace.post("ben", "D0BEN", "@runbook kafka lag")
    assert kinds(workspace)[2:] == ["message"] and events(workspace)[2]["channel_type"] == "im"


async def test_every_change_has_slack_s_event(workspace: Workspace) -> None:
    ts = workspace.post("ben", "incidents", "see https://x.example")
    workspace.unfurl("incidents", ts, {"title": "X", "from_url": "https://x.example"})
    workspace.edit("incidents", ts, "changed")
    workspace.delete("incidents", ts)
    workspace.join("gil", "incidents")
    workspace.share("incidents", pending=True)
    workspace.share("incidents")
    workspace.unshare("incidents")
    workspace.convert("incidents", private=True)
    workspace.rename("incidents", "fires")
    workspace.archive("fires")
    workspace.archive("fires", undo=True)
    workspace.change_id("fires", "C0FIRES")
    workspace.set_user("gil", guest=False)
    workspace.set_group("dba-oncall", ["ben"])
    workspace.open_home("ben")
    assert kinds(workspace) == [
        "message", "message_changed", "message_changed", "message_deleted", "member_joined_channel",
        "channel_shared", "channel_unshared", "channel_convert_to_private", "group_rename", "group_archive",
        "group_unarchive", "channel_id_changed", "user_change", "subteam_members_changed", "subteam_updated",
        "app_home_opened",
    ]  # fmt: skip
    unfurled, edited = events(workspace)[1:3]
    assert "edited" not in unfurled["message"] and edited["message"]["edited"]["user"] == "U0BEN"
    assert "user" not in unfurled and unfurled["previous_message"]["text"] == "see <https://x.example>"
    assert events(workspace)[13]["added_users"] == ["U0BEN"] and events(workspace)[13]["removed_users"] == ["U0ANA"]


async def test_a_shared_channel_is_marked_on_the_envelope(workspace: Workspace) -> None:
    workspace.post("olga", "partner-acme", "hello from Acme")
    payload = workspace.outbox.events[0]
    assert payload["is_ext_shared_channel"] is True and payload["event"]["user_team"] == "T0ACME"
    workspace.post("ben", "incidents", "hello")
    assert workspace.outbox.events[1]["is_ext_shared_channel"] is False


async def test_people_do_only_what_they_can(workspace: Workspace) -> None:
    ts = workspace.post("ben", "incidents", "x")
    for act in (
        lambda: workspace.post("gil", "incidents", "x"),
        lambda: workspace.react("gil", "incidents", ts),
        lambda: workspace.post("ben", "nowhere", "x"),
    ):
        with pytest.raises(WorkspaceRefusal):
            act()
    for user, channel in (("olga", "partner-acme"), ("gil", "incidents")):
        with pytest.raises(WorkspaceRefusal):
            await workspace.slash(user, channel, "help")


async def test_ready_alerts_are_of_many_senders_and_postable(workspace: Workspace) -> None:
    for alert in READY_ALERTS:
        ts = workspace.post_alert(alert.id, "incidents")
        message = workspace.message("incidents", ts)
        assert ("subtype" in message) is not ("bot_profile" in message)
        assert block_problems(message.get("blocks", [])) == ()
        for attachment in message.get("attachments", []):
            assert block_problems(attachment.get("blocks", [])) == ()
    assert len({alert.sender for alert in READY_ALERTS if alert.fires}) >= 8
    assert len({alert.id for alert in READY_ALERTS}) == len(READY_ALERTS)
    assert any(not alert.fires for alert in READY_ALERTS)
    with pytest.raises(WorkspaceRefusal):
        workspace.post_alert("no such alert")


async def test_the_seed_is_known_without_a_server() -> None:
    membership = seed_membership()
    assert await membership.person("ben") == await membership.person("@ben") == Person("U0BEN")
    assert await membership.person("gil") == Person("U0GIL", guest=True)
    assert await membership.person("U0OLGA") == Person("U0OLGA", home=False)
    assert await membership.person("nobody") is None
    assert await membership.place("#incidents") == Place(
        "C0INCIDENTS", PlaceKind.PUBLIC, name="incidents", guests=False
    )
    storefront, payments, partner, random = [
        await membership.place(name) for name in ("storefront", "C0PAYMENTS", "partner-acme", "random")
    ]
    assert storefront.guests and payments.kind is PlaceKind.PRIVATE
    assert partner.shared and random.kind is PlaceKind.ELSEWHERE
    assert (await membership.place("D0BEN")).kind is PlaceKind.DM
    assert (await membership.place("C0NOWHERE")).kind is PlaceKind.ELSEWHERE
    assert await membership.usergroup_members("dba-oncall") == {"U0ANA"}
    assert await membership.usergroup_members("S0NONE") == frozenset()
    assert "U0RUNBOT" in await membership.channel_members("incidents")


async def test_a_dm_of_two_people_is_not_the_bot_s(workspace: Workspace) -> None:
    workspace.add_channel(Channel("D0BENANA", "ana-and-ben", "im", {"U0BEN", "U0ANA"}))
    workspace.post("ben", "D0BENANA", "between us")
    assert events(workspace) == []
    assert (await workspace.membership().place("D0BENANA")).kind is PlaceKind.ELSEWHERE
