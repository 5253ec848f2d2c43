"""Clean text: secrets and personal data are masked before anything else sees them."""

from __future__ import annotations

from bot.redaction.kinds import KINDS, Kind
from bot.redaction.redactor import RULES, Clean, Numbering, Redactor, Span

__all__ = ["KINDS", "RULES", "Clean", "Kind", "Numbering", "Redactor", "Span"]
