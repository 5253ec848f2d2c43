"""The private word to whoever posted a secret: which kinds, and to rotate them; never the secret itself."""

from __future__ import annotations

from collections.abc import Iterable

from bot import sentences
from bot.redaction.kinds import KINDS


def secret_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Those of `kinds` that are secrets (own patterns included): what a receipt is worth sending for."""
    return tuple(kind for kind in dict.fromkeys(kinds) if kind not in KINDS or KINDS[kind].secret)


def receipt(kinds: Iterable[str]) -> str | None:
    """The text of the receipt for the kinds found in one message; None where no secret was in it."""
    labels = [KINDS[kind].label if kind in KINDS else f"a value of the kind {kind}" for kind in secret_kinds(kinds)]
    if not labels:
        return None
    listed = labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"
    return sentences.RECEIPT.format(kinds=listed)
