"""Cards to Slack: posted, updated, or shown to one person; what Slack refuses gets a second, plainer try.

No link is unfurled. A 429 waits as long as Slack says. What can't be delivered at all is a DeliveryError with
Slack's own word for it; a place that is gone (deleted, archived, left) is told apart, for nobody is to be blamed there.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot import sentences
from bot.errors import DeliveryError
from bot.settings import Settings
from bot.slack.markup import escape
from bot.slack.render import Card
from bot.slack.rich import Json

log = logging.getLogger(__name__)

GONE = frozenset(
    {
        "thread_not_found",
        "message_not_found",
        "channel_not_found",
        "is_archived",
        "not_in_channel",
        "cant_update_message",
    }
)
"""Slack's words for a place that is not there any more, or not for us."""
UNPOSTABLE = frozenset(
    {"invalid_blocks", "msg_blocks_too_long", "msg_too_long", "invalid_blocks_format", "invalid_attachments"}
)
"""Slack's words for a card that breaks a limit."""


def slack_client(settings: Settings) -> AsyncWebClient:
    """The Web API client. Only rate limits are waited for: a post whose connection broke may have arrived already."""
    client = AsyncWebClient(
        token=settings.slack_bot_token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout=20,
        retry_handlers=[AsyncRateLimitErrorRetryHandler(max_retry_count=3)],
    )
    if on_this_machine(settings.slack_api_url):
        client.proxy = None
    return client


def on_this_machine(url: str) -> bool:
    """Whether a URL is of loopback: no proxy leads there, though Slack's SDK would ask one and ignores NO_PROXY."""
    return urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")


class Delivery:
    """Posts cards. Every method raises DeliveryError."""

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client

    async def post(self, channel: str, card: Card, *, thread: str = "") -> str:
        """Post for everybody in a channel (or, given a user's id, to that person); the ts of the message."""
        where: Json = {"channel": channel, **({"thread_ts": thread} if thread else {})}
        quiet: Json = {"unfurl_links": False, "unfurl_media": False}
        answer = await self._try(lambda content: self._client.chat_postMessage(**where, **quiet, **content), card)
        return str(answer["ts"])

    async def update(self, channel: str, message: str, card: Card) -> None:
        """Replace a message of ours."""
        await self._try(lambda content: self._client.chat_update(channel=channel, ts=message, **content), card)

    async def whisper(self, channel: str, user: str, card: Card, *, thread: str = "") -> None:
        """Show a card to one person in a channel; to one who is not (any more) in it, in their DM with the bot."""
        where: Json = {"channel": channel, "user": user, **({"thread_ts": thread} if thread else {})}
        try:
            await self._try(lambda content: self._client.chat_postEphemeral(**where, **content), card)
        except DeliveryError as error:
            if error.error not in GONE | {"user_not_in_channel"}:
                raise
            await self.post(user, card)

    async def respond(self, url: str, card: Card, *, replace: bool = False) -> None:
        """Answer through a `response_url`: only whoever asked sees it."""
        hook = AsyncWebhookClient(url, timeout=20, retry_handlers=[AsyncRateLimitErrorRetryHandler(max_retry_count=2)])

        async def send(content: Json) -> Any:
            answer = await hook.send_dict({"response_type": "ephemeral", "replace_original": replace, **content})
            if answer.status_code != 200:
                raise DeliveryError(answer.body.strip()[:80] or str(answer.status_code))
            return {}

        await self._try(send, card)

    async def _try(self, send: Callable[[Json], Awaitable[Any]], card: Card) -> Any:
        """The card; where Slack can't show it, its words alone; where it can't show those, a short note."""
        refused: DeliveryError | None = None
        for content in (_content(card), {"text": _words(card)}, {"text": escape(sentences.NOT_SHOWN)}):
            try:
                return await named(send(content))
            except DeliveryError as error:
                if error.error not in UNPOSTABLE:
                    raise
                log.warning("Slack refused a message: %s (%d blocks)", error, len(content.get("blocks", ())))
                refused = error
        assert refused is not None
        raise refused


async def named(call: Awaitable[Any]) -> Any:
    """What a call of Slack gives; its failure as a DeliveryError with Slack's own word."""
    try:
        return await call
    except SlackApiError as error:
        response = error.response
        headers = getattr(response, "headers", None) or {}
        after = headers.get("Retry-After") or headers.get("retry-after")
        word = str(response.get("error") if hasattr(response, "get") else "") or "unknown_error"
        details = response.get("response_metadata") if hasattr(response, "get") else None
        if details:
            log.warning("Slack said %s: %s", word, str(details.get("messages"))[:500])
        raise DeliveryError(word, retry_after=float(after) if after else None) from error
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise DeliveryError("unreachable") from error


def _content(card: Card) -> Json:
    return {"text": card.text, **({"blocks": list(card.blocks)} if card.blocks else {})}


def _words(card: Card) -> str:
    """A card without its blocks: every word of them, escaped once, code between fences."""
    lines = [card.text]
    for block in card.blocks:
        lines += [line for line in _lines(block) if line.strip() not in card.text]
    text = ""
    for line in lines:
        if len(text) + len(line) > 3_800:
            text += "\n…"
            break
        text += f"\n{line}" if text else line
    return text


def _lines(block: Json) -> list[str]:
    match block.get("type"):
        case "rich_text":
            return [line for element in block["elements"] for line in _rich_lines(element)]
        case "section":
            return [str(block["text"]["text"])] if "text" in block else []
        case "header":
            return [escape(str(block["text"]["text"]))]
        case "context":
            return [str(element["text"]) for element in block["elements"] if "text" in element]
        case "actions":  # no buttons, but what they would have carried: the record is found by it
            ids = [str(element["value"]).partition(":")[0] for element in block["elements"] if "value" in element]
            return [escape(sentences.named(ids[0]))] if ids else []
        case _:
            return []


def _rich_lines(element: Json) -> list[str]:
    if element["type"] == "rich_text_list":
        return [f"• {line}" for entry in element["elements"] for line in _rich_lines(entry)]
    words = escape("".join(str(inner.get("text", "")) for inner in element["elements"]))
    return [f"```{words}```"] if element["type"] == "rich_text_preformatted" else [words]
