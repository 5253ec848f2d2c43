"""Whom `--as` and `--in` mean: the sample workspace's people and places, or those of the real Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.access.models import Membership
from bot.settings import Settings


@asynccontextmanager
async def membership_for(settings: Settings, user: str, channel: str) -> AsyncIterator[tuple[Membership, str, str]]:
    """The membership to ask, and the ids of the user and the channel in it.

    The sample workspace's names win; anything else is looked up in Slack where there is a token, and is unknown
    otherwise (then nothing is readable).
    """
    from bot.workspace.seed import seed_membership

    seed = seed_membership()
    person = await seed.person(user)
    place = await seed.place(channel)
    token = settings.slack_bot_token.get_secret_value()
    if person is not None or not token:
        yield seed, person.id if person else user, place.id
        return
    from bot.slack.delivery import slack_client
    from bot.slack.membership import SlackMembership

    yield SlackMembership(slack_client(settings)), user, channel
