"""Two replicas on one PostgreSQL: each event goes to either, each trigger is answered once, work changes hands."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bot.records.events import LEASE


def alert(number: int) -> dict[str, str]:
    text = f"[FIRING:1] TooManyClients{number} postgres has too many clients"
    return {"type": "message", "bot_id": "B0ALERTS", "text": text}


async def test_each_trigger_is_answered_once(start: Any, workspace: Any, postgres_url: str) -> None:
    replicas = [await start(database=postgres_url, refire_minutes=0) for _ in range(2)]
    await workspace.connected(2)
    posted = [workspace.post_alert(alert(number)) for number in range(8)]
    mentioned = [workspace.post(who, "incidents", "@runbook latency of checkout") for who in ("ben", "ana", "pia")]
    for ts in posted[:3]:
        workspace.react("ben", "incidents", ts)
    for _ in range(3):
        for bot in replicas:
            await bot.quiet()
    for bot in replicas:  # and everything once more, to the one that may not have had it
        for ts in (*posted, *mentioned):
            message = {**workspace.message("incidents", ts), "channel": "C0INCIDENTS", "channel_type": "channel"}
            await bot.edge._message(message)
            await bot.edge._mention({**message, "type": "app_mention"})
        await bot.quiet()
    assert all(bot.path.asked for bot in replicas), "both had work"
    counts = [len(workspace.thread("incidents", ts)) for ts in posted]
    assert counts == [2, 2, 2, 1, 1, 1, 1, 1]
    assert [len(workspace.thread("incidents", ts)) for ts in mentioned] == [1, 1, 1]


async def test_what_one_left_behind_the_other_takes_up_after_its_lease(
    start: Any, workspace: Any, postgres_url: str
) -> None:
    first = await start(database=postgres_url)
    first.path.gate = asyncio.Event()
    ts = workspace.post_alert(alert(1))
    await first.until(lambda: first.path.asked)
    second = await start(database=postgres_url, connect=False)
    await second.quiet()
    assert second.path.asked == [], "the first is still at it, for all that the second knows"
    await first.edge._socket.close_async()
    for task in list(first.edge.desk._tasks):
        task.cancel()
    now = second.edge.desk._events._clock()
    second.edge.desk._events._clock = lambda: now + LEASE + 1
    await second.edge.desk._take_up()
    await second.quiet()
    assert len(workspace.thread("incidents", ts)) == 1 and len(second.path.asked) == 1


async def test_buttons_work_on_whichever_replica_gets_the_click(start: Any, workspace: Any, postgres_url: str) -> None:
    first = await start(database=postgres_url)
    ts = workspace.post_alert(alert(1))
    await first.quiet()
    await first.edge._socket.close_async()
    second = await start(database=postgres_url)
    await workspace.connected()
    await workspace.click("ben", "incidents", workspace.thread("incidents", ts)[0]["ts"], "open_0")
    await second.quiet()
    assert "Look at the pool" in json.dumps(workspace.view("ben"))
