"""Which of Slack's events ask for something: each becomes a pointer, and what is no trigger becomes nothing.

A pointer is all that is written down before Slack gets its acknowledgement: ids, and for a command its redacted
words (DESIGN.md, rule 8). Edits, link previews, deletions, the bot's own posts and ordinary talk are no triggers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bot.answering.models import Trigger

Event = Mapping[str, Any]

_ALERT_SUBTYPES = (None, "bot_message")
_DM_SUBTYPES = (None, "file_share", "thread_broadcast")


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a question stands, and who asks."""

    trigger: Trigger
    channel: str
    ts: str = ""
    """Of the message: the alert, the mention, the one that was reacted to."""
    thread: str = ""
    """The root of the thread that the message stands in; empty outside one."""
    user: str = ""
    """The asker; empty for an alert."""
    event: str = ""
    """What tells two triggers on one message apart: a reaction's time, a command's own id."""
    text: str = ""
    """A command's redacted words."""
    response_url: str = ""
    private: bool = False

    @property
    def key(self) -> str:
        """What makes two deliveries the same trigger: a mention that also comes as a message has one key."""
        if self.trigger is Trigger.COMMAND:
            return f"command:{self.event}"
        if self.trigger is Trigger.REACTION:
            return f"reaction:{self.channel}:{self.ts}:{self.user}:{self.event}"
        return f"message:{self.channel}:{self.ts}"

    @property
    def root(self) -> str:
        """ts of the message under which the reply stands."""
        return self.thread or self.ts

    def as_record(self) -> dict[str, Any]:
        """For the records: what is not empty."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Pointer:
        """From the records."""
        return cls(**{**record, "trigger": Trigger(record["trigger"])})


def of_message(event: Event, *, bot_user: str, bot_id: str, alert_channels: Collection[str] = ()) -> Pointer | None:
    """The pointer of a `message` event: an alert-bot's post in a channel, or a person's words in the bot's DM."""
    if event.get("bot_id") == bot_id or event.get("user") == bot_user or event.get("hidden"):
        return None
    channel, ts, thread = str(event.get("channel", "")), str(event.get("ts", "")), str(event.get("thread_ts") or "")
    if not (channel and ts):
        return None
    thread = "" if thread == ts else thread
    subtype = event.get("subtype")
    if event.get("channel_type") == "im":
        if event.get("bot_id") or subtype not in _DM_SUBTYPES or not event.get("user"):
            return None
        return Pointer(Trigger.DIRECT_MESSAGE, channel, ts, thread, str(event["user"]))
    if not event.get("bot_id") or subtype not in _ALERT_SUBTYPES or thread:
        return None  # what an alert-bot says within a thread is about an alert that was answered already
    if alert_channels and channel not in alert_channels:
        return None
    return Pointer(Trigger.ALERT, channel, ts)


def of_mention(event: Event) -> Pointer | None:
    """The pointer of an `app_mention` by a person; a bot's mention is read as its post."""
    if event.get("bot_id") or not event.get("user") or event.get("edited"):
        return None
    thread = str(event.get("thread_ts") or "")
    ts = str(event["ts"])
    return Pointer(Trigger.MENTION, str(event["channel"]), ts, "" if thread == ts else thread, str(event["user"]))


def of_reaction(event: Event, *, reactions: Collection[str], bot_user: str) -> Pointer | None:
    """The pointer of a `reaction_added`, where it is one that asks for a search."""
    item = event.get("item") or {}
    user = str(event.get("user") or "")
    name = str(event.get("reaction", "")).partition("::")[0]
    if name not in reactions or item.get("type") != "message" or user in ("", bot_user):
        return None
    return Pointer(Trigger.REACTION, str(item["channel"]), str(item["ts"]), "", user, str(event.get("event_ts", "")))


def without_mention(text: str, bot_user: str) -> str:
    """The words of a mention without the bot's name; `text` is plain (`bot.slack.markup`)."""
    return re.sub(rf"\s*@{re.escape(bot_user)}\b:?\s*", " ", text).strip()
