"""Whatever happens in whatever order: one trigger one answer, and nobody who asked is left without a word."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text

from bot.errors import RankingError
from bot.records.events import MOST_ATTEMPTS
from bot.workspace.delivery import NotAcknowledged

PEOPLE = {"incidents": ("ben", "ana", "pia"), "storefront": ("ben", "ana"), "payments": ("pia", "ana")}
WORDS = ["postgres has too many clients", "latency of checkout", "restore tables from the backup", "nothing like it"]
FAULTS = [
    {"method": "chat.postMessage", "error": "internal_error"},
    {"method": "chat.postMessage", "error": "invalid_blocks"},
    {"method": "chat.postMessage", "status": 429, "retry_after": 0},
    {"method": "chat.postEphemeral", "error": "internal_error"},
    {"method": "conversations.members", "status": 500},
    {"method": "conversations.history", "error": "internal_error"},
    {"method": "usergroups.list", "status": 500},
]


class World:
    """Random happenings, and what must be true of them in the end."""

    def __init__(self, seed: int, start: Any, workspace: Any) -> None:
        self.random, self.start, self.workspace = random.Random(seed), start, workspace
        self.alerts: dict[tuple[str, str], bool] = {}
        """(channel, ts) → whether it may be left without a reply: deleted, or the same alert again."""
        self.asked: list[tuple[str, str, str]] = []
        """(user, channel, ts of the message or "")"""
        self.reacted: set[tuple[str, str, str]] = set()
        self.now = time.time()
        self.bot: Any = None

    async def begin(self) -> None:
        self.bot = await self.start(refire_minutes=0)
        self.bot.edge.desk._events._clock = lambda: self.now

    def place(self) -> str:
        return self.random.choice(list(PEOPLE))

    async def step(self) -> None:
        name = self.random.choices(
            ["alert", "mention", "reaction", "slash", "edit", "delete", "again", "fault", "broken", "restart", "calm"],
            [5, 4, 3, 4, 3, 1, 4, 3, 2, 0.5, 2],
        )[0]
        await getattr(self, name)()

    async def alert(self) -> None:
        place = self.place()
        words = f"[FIRING:1] Alert{self.random.randint(0, 9)} {self.random.choice(WORDS)}"
        ts = self.workspace.post_alert({"type": "message", "bot_id": "B0ALERTS", "text": words}, place)
        self.alerts[place, ts] = False

    async def mention(self) -> None:
        place = self.place()
        user = self.random.choice(PEOPLE[place])
        ts = self.workspace.post(user, place, f"@runbook {self.random.choice(WORDS)}")
        self.asked.append((user, place, ts))

    async def reaction(self) -> None:
        if self.alerts:
            place, ts = self.random.choice(list(self.alerts))
            user = self.random.choice(PEOPLE[place])
            if not self.alerts[place, ts] and (user, place, ts) not in self.reacted:
                self.reacted.add((user, place, ts))
                self.workspace.react(user, place, ts)

    async def slash(self) -> None:
        place = self.random.choice([*PEOPLE, "random"])
        user = self.random.choice(PEOPLE.get(place, ("ben",)))
        words = self.random.choice(["", "me "]) + self.random.choice(WORDS)
        with suppress(NotAcknowledged):  # the process died in between, and Slack says so
            await self.workspace.slash(user, place, words)
            self.asked.append((user, place, ""))

    async def edit(self) -> None:
        if self.alerts:
            place, ts = self.random.choice(list(self.alerts))
            if not self.alerts[place, ts]:
                preview = {"from_url": "https://x.example", "title": "preview"}
                self.workspace.unfurl(place, ts, preview)

    async def delete(self) -> None:
        if self.alerts:
            place, ts = self.random.choice(list(self.alerts))
            if not self.alerts[place, ts]:
                self.alerts[place, ts] = True
                self.workspace.delete(place, ts)

    async def again(self) -> None:
        """Slack delivers a message once more."""
        place = self.place()
        messages = [m for m in self.workspace.messages(place) if m.get("subtype") != "tombstone"]
        if messages:
            await self.deliver(place, self.random.choice(messages))

    async def deliver(self, place: str, message: dict[str, Any]) -> None:
        kinds = [self.bot.edge._message, self.bot.edge._mention]
        channel = self.workspace.world.channel(place).id
        for kind in kinds if "<@U0RUNBOT>" in message.get("text", "") else kinds[:1]:
            if message.get("user") != "U0RUNBOT":
                await kind({**message, "channel": channel, "channel_type": "channel"})

    async def fault(self) -> None:
        self.workspace.fail(**self.random.choice(FAULTS), times=self.random.randint(1, 2))

    async def broken(self) -> None:
        self.bot.path.faults.append(self.random.choice([RankingError("busy"), ZeroDivisionError("a fault")]))

    async def restart(self) -> None:
        """The process is gone in the middle of everything."""
        self.bot.edge.desk.spawn = lambda work: work.close()  # what still comes in finds nobody
        await self.bot.edge._socket.close_async()
        tasks = list(self.bot.edge.desk._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.begin()

    async def calm(self) -> None:
        await self.bot.quiet()

    async def end(self) -> None:
        self.workspace.recover()
        self.bot.path.faults.clear()
        await self.bot.quiet()
        for place, ts in [*self.alerts, *((place, ts) for _, place, ts in self.asked if ts)]:
            if not self.alerts.get((place, ts)):  # what arrived while there was nobody comes again, a minute later
                await self.deliver(place, self.workspace.message(place, ts))
        for _ in range(4):
            await self.bot.quiet()
            self.now += 100
            await self.bot.edge.desk._take_up()
        await self.bot.quiet()

    def check(self) -> None:
        for (place, ts), excused in self.alerts.items():
            channel = self.workspace.world.channel(place).id
            kept = [
                k for k in self.bot.edge.desk.answers.of_event(f"message:{channel}:{ts}") if k.message or k.replaced
            ]
            assert len(kept) <= 1, "one trigger, one answer"
            assert excused or len(kept) == 1 or self.given_up(f"message:{channel}:{ts}"), "an alert is answered"
            shown = {k.message for k in kept}
            strays = [m for m in self.workspace.thread(place, ts) if m["ts"] not in shown and not self._other(place, m)]
            assert strays == [], strays
        for user, place, ts in self.asked:
            alone = self._alone(user, place)
            answered = [m for m in self.workspace.thread(place, ts) if m["user"] == "U0RUNBOT"] if ts else []
            rooted = any(m.get("reply_count") for m in self.workspace.bot_messages(place))
            assert alone or answered or (not ts and rooted), (user, place, ts)
            assert len(answered) <= 1

        for user, place, ts in self.reacted:
            who, channel = self.workspace.world.user(user).id, self.workspace.world.channel(place).id
            kept = [
                k
                for k in self.bot.edge.desk.answers.in_thread(channel, ts)
                if (k.trigger, k.asker) == ("reaction", who)
            ]
            assert kept or self._alone(user, place) or self.alerts[place, ts]
            assert len(kept) <= 1

    def given_up(self, key: str) -> bool:
        """After so many crashes that this may be what causes them."""
        with self.bot.edge.desk._events._engine.connect() as connection:
            query = text("SELECT attempts FROM events WHERE key = :key AND state = 'done'")
            return bool((connection.execute(query, {"key": key}).scalar() or 0) > MOST_ATTEMPTS)

    def _other(self, place: str, message: dict[str, Any]) -> bool:
        """A reply to a reaction, or what somebody else wrote."""
        kept = [k for k in self.bot.edge.desk.answers.standing() if k.message == message["ts"]]
        return message["user"] != "U0RUNBOT" or any(k.trigger == "reaction" for k in kept)

    def _alone(self, user: str, place: str) -> bool:
        channel = self.workspace.world.channel(place).id
        return any(seen.kind == "ephemeral" and seen.channel == channel for seen in self.workspace.seen_by(user))


async def play(seed: int, start: Any, workspace: Any, steps: int) -> None:
    world = World(seed, start, workspace)
    await world.begin()
    for _ in range(steps):
        await world.step()
    await world.end()
    world.check()


@pytest.mark.parametrize("seed", range(5))
async def test_any_order(seed: int, start: Any, workspace: Any) -> None:
    await play(seed, start, workspace, 40)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(1_000, 1_060))
async def test_any_order_at_length(seed: int, start: Any, workspace: Any) -> None:
    await play(seed, start, workspace, 80)
