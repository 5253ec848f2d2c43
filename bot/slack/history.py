"""Messages fetched again from Slack: what a pointer, a reaction or a button leads back to. Raw, never kept."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import DeliveryError
from bot.slack.delivery import GONE, named

Message = Mapping[str, Any]

_MOST_LATER = 20
"""Later messages of a thread that count as context."""


class History:
    """Reads single messages and threads. Raises DeliveryError where Slack can't be asked."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def message(self, channel: str, ts: str) -> Message | None:
        """The message with this ts, in the channel or in a thread; None where it is gone or out of sight."""
        found = await self._messages(
            self._client.conversations_history(channel=channel, latest=ts, inclusive=True, limit=1)
        )
        if not found or found[0].get("ts") != ts:
            found = await self._messages(
                self._client.conversations_replies(channel=channel, ts=ts, latest=ts, inclusive=True, limit=1)
            )
        return next((m for m in found if m.get("ts") == ts and m.get("subtype") != "tombstone"), None)

    async def later(self, channel: str, thread: str, after: str) -> Sequence[Message]:
        """A thread's messages after a moment, oldest first, at most twenty."""
        found = await self._messages(
            self._client.conversations_replies(channel=channel, ts=thread, oldest=after, limit=200)
        )
        return [m for m in found if str(m.get("ts", "")) > after][-_MOST_LATER:]

    async def _messages(self, call: Awaitable[Any]) -> list[Message]:
        try:
            answer = await named(call)
        except DeliveryError as error:
            if error.error in GONE:
                return []
            raise
        return list(answer.get("messages") or ())
