"""The server answers its own page and Slack's client, and no other site's page."""

from __future__ import annotations

import aiohttp
import pytest

from bot.workspace import Workspace

FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "evil.example:80"},
    {"Host": "127.0.0.1:1"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_foreign_hosts_and_origins_are_refused_everywhere(workspace: Workspace, headers: dict[str, str]) -> None:
    async with aiohttp.ClientSession() as session:
        for method, path in (
            ("GET", "/"),
            ("GET", "/static/app.js"),
            ("GET", "/page/live?as=U0BEN"),
            ("POST", "/page/do"),
            ("POST", "/api/auth.test"),
            ("GET", "/link/?ticket=x"),
            ("POST", "/response/x"),
        ):
            async with session.request(method, workspace.address + path, headers=headers) as response:
                assert response.status == 403, (path, headers)


async def test_the_page_s_own_requests_pass(workspace: Workspace) -> None:
    own = {"Origin": workspace.address, "Sec-Fetch-Site": "same-origin"}
    local = {"Host": f"localhost:{workspace.port}", "Origin": f"http://localhost:{workspace.port}"}
    async with aiohttp.ClientSession() as session:
        for headers in (own, local, {}):
            async with session.get(workspace.address, headers=headers) as response:
                assert response.status == 200
                policy = response.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy and "unsafe" not in policy
        async with session.ws_connect(f"{workspace.address}/page/live?as=U0BEN", headers=own) as socket:
            state = await socket.receive_json(timeout=5)
            assert state["kind"] == "state" and state["me"] == "U0BEN"


async def test_a_form_of_another_site_can_do_nothing(workspace: Workspace) -> None:
    async with aiohttp.ClientSession() as session:
        said = '{"do":"say","as":"U0BEN","channel":"C0INCIDENTS","text":"x"}'
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            async with session.post(
                workspace.address + "/page/do", data=said, headers={"Content-Type": kind}
            ) as response:
                assert response.status == 415
    assert workspace.messages("incidents") == []


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e%2fserver.py", "/static/..%5cserver.py", "/x"])
async def test_no_other_file_is_served(workspace: Workspace, path: str) -> None:
    from yarl import URL

    async with (
        aiohttp.ClientSession() as session,
        session.get(URL(workspace.address + path, encoded=True)) as response,
    ):
        assert response.status in (400, 404)


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ("[]", 400, "invalid_arguments"),
        ("no json", 400, "invalid_arguments"),
        ('{"do":"dance","as":"U0BEN"}', 400, "invalid_arguments"),
        ('{"do":"say","as":"U0RUNBOT","channel":"C0INCIDENTS","text":"x"}', 200, "user_not_found"),
        ('{"do":"say","as":"U0GIL","channel":"C0INCIDENTS","text":"x"}', 200, "not_in_channel"),
        ('{"do":"say","as":"U0BEN","channel":"C0INCIDENTS","text":"/invite x"}', 200, "unknown_command"),
        ('{"do":"say","as":"U0BEN","channel":"C0INCIDENTS","text":" "}', 200, "no_text"),
        ('{"do":"fire","as":"U0BEN","channel":"C0PAYMENTS","alert":"chat"}', 200, "not_in_channel"),
        ('{"do":"why","as":"U0BEN","channel":"C0INCIDENTS","ts":"1.2"}', 200, "message_not_found"),
    ],
)
async def test_what_the_page_may_not_do_is_named(workspace: Workspace, body: str, status: int, error: str) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            workspace.address + "/page/do", data=body, headers={"Content-Type": "application/json"}
        ) as response,
    ):
        assert response.status == status
        assert (await response.json())["error"] == error


async def test_a_person_s_live_page_gets_only_what_they_can_see(workspace: Workspace) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{workspace.address}/page/live?as=U0GIL") as socket,
    ):
        state = await socket.receive_json(timeout=5)
        assert {channel["name"] for channel in state["channels"]} == {"storefront"}
        workspace.post("ana", "payments", "not for gil")
        workspace.post("ben", "incidents", "not for gil")
        workspace.post("ben", "storefront", "for gil")
        told = await socket.receive_json(timeout=5)
        assert told["message"]["text"] == "for gil"
