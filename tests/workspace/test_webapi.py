"""The Web API says no where Slack does, over real HTTP and with Slack's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from bot.workspace import Workspace
from bot.workspace.world import BOT_USER, Channel, User


@pytest.fixture
async def client(workspace: Workspace) -> AsyncIterator[AsyncWebClient]:
    yield AsyncWebClient(workspace.bot_token, base_url=workspace.api_url)


async def refused(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_tokens_are_looked_at(workspace: Workspace, client: AsyncWebClient) -> None:
    def with_token(token: str) -> AsyncWebClient:
        return AsyncWebClient(token, base_url=workspace.api_url)

    assert (await client.auth_test())["user_id"] == BOT_USER
    assert await refused(with_token("xoxb-other").auth_test()) == "invalid_auth"
    assert await refused(with_token("").auth_test()) == "not_authed"
    assert await refused(with_token(workspace.app_token).auth_test()) == "not_allowed_token_type"
    assert await refused(client.apps_connections_open(app_token=workspace.bot_token)) == "not_allowed_token_type"
    assert await refused(client.api_call("chat.shout")) == "unknown_method"


@pytest.mark.parametrize(
    ("scope", "method", "args"),
    [
        ("chat:write", "chat.postMessage", {"channel": "C0INCIDENTS", "text": "x"}),
        ("channels:history", "conversations.history", {"channel": "C0INCIDENTS"}),
        ("groups:read", "conversations.members", {"channel": "C0PAYMENTS"}),
        ("users:read", "users.list", {}),
        ("usergroups:read", "usergroups.users.list", {"usergroup": "S0DBAONCALL"}),
    ],
)
async def test_scopes_are_needed(
    workspace: Workspace, client: AsyncWebClient, scope: str, method: str, args: dict[str, str]
) -> None:
    assert (await client.api_call(method, params=args))["ok"]
    workspace.scopes.discard(scope)
    with pytest.raises(SlackApiError) as caught:
        await client.api_call(method, params=args)
    assert caught.value.response["error"] == "missing_scope" and caught.value.response["needed"] == scope


async def test_what_was_never_granted_is_refused(workspace: Workspace, client: AsyncWebClient) -> None:
    ts = workspace.post("ben", "incidents", "x")
    assert await refused(client.conversations_open(users="U0BEN")) == "missing_scope"
    assert await refused(client.reactions_add(channel="C0INCIDENTS", timestamp=ts, name="eyes")) == "missing_scope"


async def test_places_where_the_bot_is_not_are_closed(workspace: Workspace, client: AsyncWebClient) -> None:
    workspace.add_channel(Channel("G0SECRET", "secret", "group", {"U0BEN"}))
    assert await refused(client.chat_postMessage(channel="C0RANDOM", text="x")) == "not_in_channel"
    assert await refused(client.conversations_history(channel="C0RANDOM")) == "not_in_channel"
    assert (await client.conversations_info(channel="C0RANDOM"))["channel"]["is_member"] is False
    for channel in ("G0SECRET", "C0NOWHERE", "incidents"):
        assert await refused(client.chat_postMessage(channel=channel, text="x")) == "channel_not_found"
        assert await refused(client.conversations_info(channel=channel)) == "channel_not_found"
        assert await refused(client.conversations_members(channel=channel)) == "channel_not_found"
    listed = await client.conversations_list(types="public_channel,private_channel,im")
    assert "G0SECRET" not in {channel["id"] for channel in listed["channels"]}


async def test_an_archived_channel_takes_nothing(workspace: Workspace, client: AsyncWebClient) -> None:
    ts = (await client.chat_postMessage(channel="C0INCIDENTS", text="x"))["ts"]
    workspace.archive("incidents")
    assert await refused(client.chat_postMessage(channel="C0INCIDENTS", text="x")) == "is_archived"
    assert await refused(client.chat_postEphemeral(channel="C0INCIDENTS", user="U0BEN", text="x")) == "is_archived"
    assert await refused(client.chat_update(channel="C0INCIDENTS", ts=ts, text="y")) == "is_inactive"


async def test_messages_that_slack_does_not_take(workspace: Workspace, client: AsyncWebClient) -> None:
    where = "C0INCIDENTS"
    assert await refused(client.api_call("chat.postMessage", json={"channel": where})) == "no_text"
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}]
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=where, text="x", blocks=blocks)
    assert caught.value.response["error"] == "invalid_blocks"
    assert "/blocks/0/text/text" in caught.value.response["response_metadata"]["messages"][0]
    many = [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 2900}}] * 5
    assert await refused(client.chat_postMessage(channel=where, text="x", blocks=many)) == "msg_blocks_too_long"
    ts = (await client.chat_postMessage(channel=where, text="x"))["ts"]
    assert await refused(client.chat_update(channel=where, ts=ts, text="x" * 4001)) == "msg_too_long"
    ben = workspace.post("ben", where, "mine")
    assert await refused(client.chat_update(channel=where, ts=ben, text="x")) == "cant_update_message"
    assert await refused(client.chat_delete(channel=where, ts=ben)) == "cant_delete_message"
    assert await refused(client.chat_update(channel=where, ts="1.2", text="x")) == "message_not_found"


async def test_threads_hang_below_roots_only(workspace: Workspace, client: AsyncWebClient) -> None:
    where, root = "C0INCIDENTS", workspace.post("ben", "incidents", "root")
    reply = (await client.chat_postMessage(channel=where, text="reply", thread_ts=root))["ts"]
    assert await refused(client.chat_postMessage(channel=where, text="x", thread_ts=reply)) == "thread_not_found"
    assert await refused(client.chat_postMessage(channel=where, text="x", thread_ts="1.2")) == "thread_not_found"
    assert await refused(client.chat_postMessage(channel=where, text="x", thread_ts="soon")) == "invalid_thread_ts"
    listed = (await client.conversations_history(channel=where))["messages"]
    assert [message["ts"] for message in listed] == [root], "replies are not in a channel's history"
    assert listed[0]["reply_count"] == 1
    thread = (await client.conversations_replies(channel=where, ts=root))["messages"]
    assert [message["ts"] for message in thread] == [root, reply]
    assert await refused(client.conversations_replies(channel=where, ts="1.2")) == "thread_not_found"
    workspace.delete("incidents", root)
    assert workspace.message("incidents", root)["subtype"] == "tombstone"


async def test_one_message_is_fetched_as_the_protocol_says(workspace: Workspace, client: AsyncWebClient) -> None:
    for text in ("one", "two", "three"):
        ts = workspace.post("ben", "incidents", text)
        if text == "two":
            wanted = ts
    found = await client.conversations_history(channel="C0INCIDENTS", latest=wanted, inclusive=True, limit=1)
    assert [message["text"] for message in found["messages"]] == ["two"] and found["has_more"]


async def test_an_update_without_blocks_keeps_the_old_ones(workspace: Workspace, client: AsyncWebClient) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "secret"}}]
    ts = (await client.chat_postMessage(channel="C0INCIDENTS", text="x", blocks=blocks))["ts"]
    await client.chat_update(channel="C0INCIDENTS", ts=ts, text="replaced")
    assert workspace.message("incidents", ts)["blocks"][0]["text"]["text"] == "secret"
    await client.chat_update(channel="C0INCIDENTS", ts=ts, text="replaced", blocks=[])
    assert "blocks" not in workspace.message("incidents", ts)


async def test_ephemerals_reach_members_and_living_threads_only(workspace: Workspace, client: AsyncWebClient) -> None:
    where, root = "C0INCIDENTS", workspace.post("ben", "incidents", "root")
    assert await refused(client.chat_postEphemeral(channel=where, user="U0GIL", text="x")) == "user_not_in_channel"
    await client.chat_postEphemeral(channel=where, user="U0BEN", text="lost", thread_ts=root)
    assert workspace.ephemerals("ben") == []
    workspace.post("ana", "incidents", "reply", thread=root)
    await client.chat_postEphemeral(channel=where, user="U0BEN", text="found", thread_ts=root)
    (alone,) = workspace.ephemerals("ben")
    assert alone["text"] == "found"
    assert await refused(client.chat_update(channel=where, ts=alone["ts"], text="x")) == "message_not_found"
    listed = (await client.conversations_replies(channel=where, ts=root))["messages"]
    assert alone["ts"] not in {message["ts"] for message in listed}


async def test_people_come_in_pages(workspace: Workspace, client: AsyncWebClient) -> None:
    for number in range(25):
        workspace.add_user(User(f"U1{number:03}", f"extra{number}"))
    seen: list[str] = []
    cursor, pages = "", 0
    while pages == 0 or cursor:
        page = await client.users_list(limit=10, cursor=cursor)
        seen += [member["id"] for member in page["members"]]
        cursor, pages = page["response_metadata"]["next_cursor"], pages + 1
    assert pages == 4 and len(seen) == len(set(seen)) == 6 + 25 + 1  # with Slackbot; Olga is of another company
    assert await refused(client.users_list(cursor="elsewhere")) == "invalid_cursor"
    assert await refused(client.users_list(limit=5000)) == "invalid_limit"
    olga = (await client.users_info(user="U0OLGA"))["user"]
    assert olga["team_id"] == "T0ACME" and olga["is_stranger"] and "deleted" not in olga
    gil = (await client.users_info(user="U0GIL"))["user"]
    assert gil["is_restricted"] and not gil["is_ultra_restricted"]


async def test_user_groups(workspace: Workspace, client: AsyncWebClient) -> None:
    (group,) = (await client.usergroups_list(include_users=True))["usergroups"]
    assert group["handle"] == "dba-oncall" and group["users"] == ["U0ANA"]
    workspace.set_group("dba-oncall", ["ana", "ben"], disabled=True)
    assert (await client.usergroups_list())["usergroups"] == []
    assert await refused(client.usergroups_users_list(usergroup="S0DBAONCALL")) == "no_such_subteam"


async def test_ordered_failures_come_and_go(workspace: Workspace, client: AsyncWebClient) -> None:
    fault = workspace.fail("chat.*", times=2, status=500)
    for _ in range(2):
        assert await refused(client.chat_postMessage(channel="C0INCIDENTS", text="x")) == "fatal_error"
    assert (await client.chat_postMessage(channel="C0INCIDENTS", text="x"))["ok"] and fault.hit == 2
    workspace.fail("users.info", -1, error="internal_error")
    assert await refused(client.users_info(user="U0BEN")) == "internal_error"
    workspace.recover()
    assert (await client.users_info(user="U0BEN"))["ok"]


async def test_a_rate_limit_is_waited_out_by_slack_s_own_handler(workspace: Workspace, client: AsyncWebClient) -> None:
    workspace.fail("chat.postMessage", status=429, retry_after=0)
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel="C0INCIDENTS", text="x")
    assert caught.value.response.status_code == 429 and caught.value.response.headers["Retry-After"] == "0"
    workspace.fail("chat.postMessage", status=429, retry_after=0)
    client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
    assert (await client.chat_postMessage(channel="C0INCIDENTS", text="x"))["ok"]
    assert [call.status for call in workspace.calls_of("chat.postMessage")] == [429, 429, 200]


async def test_posting_to_a_person_reaches_their_direct_message(workspace: Workspace, client: AsyncWebClient) -> None:
    sent = await client.chat_postMessage(channel="U0GIL", text="hello")
    assert sent["channel"] == "D0GIL" and workspace.messages("D0GIL")[0]["text"] == "hello"
    assert [seen.text for seen in workspace.seen_by("gil")] == ["hello"] and workspace.seen_by("ben") == []
