"""The whole bot in random worlds: what stands, what reaches people, the model, records and logs is what may.

One bot runs, over its real sockets, with the real index and a model that records what it is sent. For each scenario
the workspace gets other people, places and groups, the policy file and the pages are written anew, and random
triggers come; after each one everything that anybody has seen is held against the plain definition.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from sqlalchemy import text

from bot.errors import WorkspaceRefusal
from bot.workspace.world import BOT_USER, HOME, User
from tests.access.model import CHANNELS, USERS, Plainly, pages, policies, random_move, random_world
from tests.access.whole import Whole, alert, markers, whole_bot

TOPICS = {
    "a/1.md": "zebra turbine vibration",
    "a/2.md": "walrus furnace overheating",
    "b/1.md": "pelican conveyor jammed",
    "b/2.md": "giraffe boiler leaking",
    "a/b/1.md": "otter compressor stalled",
    "a/b/2.md": "badger generator tripped",
}
MARKS = {path: f"MARK{number}X" for number, path in enumerate(TOPICS)}
PATHS = {mark: path for path, mark in MARKS.items()}
TRIGGERS = (
    "alert",
    "mention",
    "command",
    "me",
    "direct",
    "open",
    "list",
    "reaction",
    "as me",
    "button",
    "why",
    "mark",
    "gaps",
)


def page_text(path: str, audience: tuple[str, ...] | None) -> str:
    topic, mark = TOPICS[path], MARKS[path]
    own = "" if audience is None else f"audience: [{', '.join(audience)}]\n"
    return (
        f"---\ntitle: {mark} {topic}\nservice: plant\nowner: team-plant\n{own}---\n\n# {mark} {topic}\n\n"
        f"1. Look at the {topic} gauge, {mark} panel:\n\n   ```sh\n   gauge {topic.split()[0]} --panel {mark}\n   ```\n"
    )


def marks_in(value: object) -> set[str]:
    """Pages of which something stands in this."""
    return {PATHS[mark] for mark in markers(value, r"MARK\d+X")}


async def begin(bot: Whole, plainly: Plainly) -> None:
    """Another world: nobody remembers anything of the last one."""
    world = bot.workspace.world
    plainly.world.users |= {"U0ALERTS": User("U0ALERTS", "alerts", bot_id="B0ALERTS")}
    world.users, world.groups, world.channels = plainly.world.users, plainly.world.groups, plainly.world.channels
    world.ephemerals.clear()
    world.views.clear()
    world.homes.clear()
    world.seen.clear()
    bot.edge.membership._people.clear()
    bot.forget()
    await bot.edge.membership._listings.get("", fresh=True)
    with bot.parts.engine.begin() as connection:
        for table in ("answers", "events", "asked", "feedback"):
            connection.execute(text(f"DELETE FROM {table}"))
    await publish(bot, plainly)


async def publish(bot: Whole, plainly: Plainly) -> None:
    pages = {path: page_text(path, audience) for path, audience in plainly.pages.items()}
    await bot.publish(plainly.policy.as_yaml(), pages)


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[Whole], Any]], None]]:
    """Runs a coroutine with the one bot; it lives as long as the test."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        first = {"first.md": "# First\n\nWords.\n"}
        # pages of three made-up words: whatever matches is to be shown, so that access alone decides
        running = whole_bot(tmp_path, "default: members\n", first, search_line=0.02)
        bot = runner.run(stack.enter_async_context(running))
        yield lambda work: runner.run(work(bot))
        runner.run(stack.aclose())


class Scenario:
    """One world, with its triggers and moves."""

    def __init__(self, draw: Any, bot: Whole) -> None:
        self.draw, self.bot, self.workspace = draw, bot, bot.workspace
        world = random_world(draw)
        for channel in world.channels.values():
            channel.messages = {}
        self.plainly = Plainly(world, draw(policies), draw(pages))

    async def run(self, rounds: int, triggers: int) -> None:
        await begin(self.bot, self.plainly)
        self.kept = 0
        for number in range(rounds):
            if number:
                await self.move()
                await self.press()
            for _ in range(triggers):
                await self.trigger(self.draw(st.sampled_from(TRIGGERS)))

    async def move(self) -> None:
        """Something happens; afterwards nothing stands that may not stand now."""
        what = random_move(self.draw, self.workspace, self.plainly, self.bot.folder / "access.yaml")
        await self.bot.quiet()
        if what in ("policy", "pages"):
            await publish(self.bot, self.plainly)
        self.bot.forget()  # not every change comes with an event
        await self.bot.edge.desk.standing.check()
        await self.bot.quiet()
        for channel in CHANNELS:
            if BOT_USER in self.workspace.world.channels[channel].members:  # elsewhere it can't change its words
                standing = marks_in(self.workspace.bot_messages(channel))
                assert standing <= self.plainly.place_reads(channel), (channel, standing)
        self.seen = self.counts()

    def counts(self) -> dict[str, int]:
        return {user: len(self.workspace.seen_by(user)) for user in USERS}

    async def trigger(self, kind: str) -> None:
        """One trigger by one person in one place; everything that comes of it is held against the definition."""
        draw, workspace = self.draw, self.workspace
        channels = [id for id in CHANNELS if BOT_USER in workspace.world.channels[id].members]
        channel = draw(st.sampled_from(channels if channels and draw(mostly) else CHANNELS))
        user = draw(st.sampled_from(USERS))
        stands = sorted(self.plainly.place_reads(channel))
        path = draw(st.sampled_from(stands if stands and draw(mostly) else sorted(self.plainly.pages)))
        place, who = workspace.world.channels[channel], workspace.world.users[user]
        present = user in place.members and not who.bot_id and not who.deleted
        home = who.team == HOME
        joined = BOT_USER in place.members
        note(f"{kind}: {user} in {channel} about {path}")
        here, theirs = self.plainly.place_reads(channel), self.plainly.person_reads(user)
        self.seen, requests, lines = self.counts(), len(self.bot.model.requests), len(self.bot.log.lines)
        words = f"{TOPICS[path]} gauge"
        reached: Callable[[], object] = object
        act: Awaitable[Any] | None = None
        done = False
        match kind:
            case "alert" if joined:
                ts = workspace.post_alert(alert("PlantAlert", words), channel)
                reached = lambda: self.reaches(path in here, path, workspace.thread(channel, ts))  # noqa: E731
                done = True
            case "mention" if joined and present:
                ts = workspace.post(user, channel, f"<@{BOT_USER}> {words}")
                reached = lambda: self.answered(path, here, theirs, channel, ts, user)  # noqa: E731
                done = True
            case "command" | "me" if present and home:
                act = workspace.slash(user, channel, ("find " if kind == "command" else "me ") + words)
                reached = lambda: self.reaches(path in here | theirs, path, self.new(user))  # noqa: E731
            case "direct" if home and not who.bot_id and not who.deleted:
                workspace.post(user, f"D0{user}", words)
                reached = lambda: self.reaches(path in theirs, path, self.new(user))  # noqa: E731
                done = True
            case "open" if present and home:
                act = workspace.slash(user, channel, f"open {path}")
                reached = lambda: self.reaches(path in theirs, path, self.new(user))  # noqa: E731
            case "list" if present and home:
                act = workspace.slash(user, channel, "list")
                reached = lambda: self.exactly(theirs, self.new(user))  # noqa: E731
            case "why" if present and home:
                act = workspace.slash(user, channel, f"access {user} {path}")
            case "reaction" if present and joined and place.messages:
                with suppress(WorkspaceRefusal):  # they may have put it there before
                    workspace.react(user, channel, draw(st.sampled_from(sorted(place.messages))))
                done = True
            case "as me" if present:
                act = self.click(user, workspace.bot_messages(channel), "as_me")
            case "button" if not who.bot_id and not who.deleted:
                alone = [*workspace.ephemerals(user), *workspace.bot_messages(f"D0{user}")]
                act = self.click(user, [*alone, *(workspace.bot_messages(channel) if present else [])], "open_0")
            case "mark" if not who.bot_id and not who.deleted:
                alone = [*workspace.ephemerals(user), *workspace.bot_messages(f"D0{user}")]
                visible = workspace.world.can_read(who, place)  # a public channel: also without being in it
                act = self.mark(user, [*alone, *(workspace.bot_messages(channel) if visible else [])], theirs)
            case "gaps" if present and home:
                act = workspace.slash(user, channel, "gaps")
                reached = lambda: self.known(user, self.new(user))  # noqa: E731
        if act is not None:
            await act
        if act is None and not done:
            return
        await self.bot.quiet()
        self.sound(channel, user, here, theirs, requests, lines)
        reached()

    async def press(self) -> None:
        """Whoever can see an Open button, whatever has happened since it was put there, presses it."""
        world = self.workspace.world
        seen = [
            (user.id, channel.id, card)
            for user in map(world.user, USERS)
            if not user.bot_id and not user.deleted
            for channel in world.channels.values()
            if world.can_read(user, channel)
            for card in [*self.workspace.bot_messages(channel.id), *self.workspace.ephemerals(user.id)]
            if card.get("channel", channel.id) == channel.id and '"open_0"' in json.dumps(card)
        ]
        if not seen:
            return
        user, channel, card = self.draw(st.sampled_from(seen))
        note(f"open: {user} in {channel}")
        theirs = self.plainly.person_reads(user)
        self.seen, requests, lines = self.counts(), len(self.bot.model.requests), len(self.bot.log.lines)
        await self.click(user, [card], "open_0")
        await self.bot.quiet()
        self.sound(channel, user, self.plainly.place_reads(channel), theirs, requests, lines)

    async def click(self, user: str, cards: list[dict[str, Any]], action: str) -> dict[str, Any] | None:
        """Press a button of one of these cards, however old, if there is one with it; which card that was."""
        found = [card for card in cards if f'"{action}"' in json.dumps(card)]
        if not found:
            return None
        card: dict[str, Any] = dict(self.draw(st.sampled_from(found)))
        place = card.get("channel") or self.place_of(card["ts"])
        await self.workspace.click(user, place, card["ts"], action)
        return card

    async def mark(self, user: str, cards: list[dict[str, Any]], theirs: set[str]) -> None:
        """Say that an answer helped: taken of whoever is there and may read all that it quotes, and of nobody else."""
        with self.bot.parts.engine.begin() as connection:
            connection.execute(text("DELETE FROM feedback"))
        card = await self.click(user, cards, "say_helpful")
        if card is None:
            return
        await self.bot.quiet()
        buttons = [element for block in card["blocks"] for element in block.get("elements", ())]
        id = next(b["value"] for b in buttons if b.get("action_id") == "say_helpful").partition(":")[0]
        kept = self.bot.edge.desk.answers.get(id)
        assert kept is not None
        members = self.workspace.world.channels[kept.channel].members
        there = kept.private_to == user if kept.private_to else {user, BOT_USER} <= members
        quoted = {check["citation"]["runbook"] for check in kept.outcome["checks"]}
        with self.bot.parts.engine.connect() as connection:
            said = connection.execute(text("SELECT answer, person FROM feedback")).all()
        expected = [(id, user)] if there and quoted <= theirs else []
        assert [tuple(row) for row in said] == expected, (user, kept.channel, kept.private_to, quoted)

    def known(self, user: str, shown: str) -> None:
        """Gaps hold questions that the asker put or that stand where they are now, and of none of them an answer."""
        may: set[str] = set()
        with self.bot.parts.engine.connect() as connection:
            rows = connection.execute(text("SELECT channel, private_to, asker, outcome FROM answers")).all()
        for channel, private_to, asker, outcome in rows:
            members = self.workspace.world.channels[channel].members
            there = {user, BOT_USER} <= members or asker == user
            if private_to == user or (not private_to and there):
                may |= {topic for topic in TOPICS.values() if topic in outcome}
        assert {topic for topic in TOPICS.values() if topic in shown} <= may, shown
        assert not marks_in(shown), shown

    def place_of(self, ts: str) -> str:
        return next(id for id, channel in self.workspace.world.channels.items() if ts in channel.messages)

    # --- nothing that is forbidden ----------------------------------------------------------------------------

    def sound(self, channel: str, user: str, here: set[str], theirs: set[str], requests: int, lines: int) -> None:
        for reader in USERS:
            for seen in self.workspace.seen_by(reader)[self.seen[reader] :]:
                if not seen.by_bot:
                    continue
                public = seen.kind == "message" and not seen.channel.startswith("D")
                may = self.plainly.place_reads(seen.channel) if public else self.plainly.person_reads(reader)
                assert marks_in(seen.words) <= may, (reader, seen)
        for _, body in self.bot.model.requests[requests:]:
            sent = marks_in(body)
            assert sent <= here or sent <= theirs, ("sent to the model", sent)
        for line in self.bot.log.lines[lines:]:
            assert not marks_in(line), ("logged", line)
        with self.bot.parts.engine.connect() as connection:
            rows = connection.execute(
                text("SELECT channel, private_to, outcome, origin FROM answers ORDER BY at")
            ).all()
        for at, private_to, outcome, origin in rows[self.kept :]:
            may = self.plainly.person_reads(private_to) if private_to else self.plainly.place_reads(at)
            assert marks_in((outcome, origin)) <= may, ("recorded", at, private_to)
        self.kept = len(rows)

    # --- everything that is allowed ---------------------------------------------------------------------------

    def new(self, user: str) -> str:
        seen = self.workspace.seen_by(user)[self.seen[user] :]
        return json.dumps([s.payload for s in seen if s.by_bot])

    def reaches(self, allowed: bool, path: str, shown: object) -> None:
        assert (path in marks_in(shown)) is allowed, (
            f"{path} should {'not ' * (not allowed)}stand in {json.dumps(shown)}"
        )

    def exactly(self, allowed: set[str], shown: object) -> None:
        assert marks_in(shown) == allowed, shown

    def answered(self, path: str, here: set[str], theirs: set[str], channel: str, ts: str, user: str) -> None:
        self.reaches(path in here, path, self.workspace.thread(channel, ts))
        self.reaches(path in here | theirs, path, self.new(user))


mostly = st.sampled_from([True, True, True, False])


def run_scenarios(data: Any, running: Callable[..., None], rounds: int, triggers: int) -> None:
    running(lambda bot: Scenario(data.draw, bot).run(rounds, triggers))


LOOSE: Any = {
    "deadline": None,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
        HealthCheck.large_base_example,
    ],
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],  # shrinking takes minutes; the notes tell what happened
}


@settings(max_examples=5, **LOOSE)
@given(st.data())
def test_the_bot_shows_what_may_be_shown(running: Any, data: Any) -> None:
    run_scenarios(data, running, rounds=3, triggers=4)


@pytest.mark.long
@pytest.mark.timeout(7200)
@settings(max_examples=int(os.environ.get("BOT_SCENARIOS", "250")), **LOOSE)
@given(st.data())
def test_the_bot_shows_what_may_be_shown_in_many_worlds(running: Any, data: Any) -> None:
    run_scenarios(data, running, rounds=4, triggers=5)
