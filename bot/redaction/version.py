"""What clean text depends on, as one word: a page that was cleaned by other rules is cleaned again."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from bot.settings import Settings


def rules_version(settings: Settings) -> str:
    """A digest of the room's code, of what it builds on, and of the settings that decide what is masked."""
    chosen = (settings.redact_off, settings.redact_on, settings.redact_allow, settings.redact_max_chars)
    digest = sha256(repr((*map(str, chosen), version("google-re2"), version("phonenumbers"))).encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    if settings.redact_patterns:
        digest.update(settings.redact_patterns.read_bytes())
    return digest.hexdigest()[:16]
