"""What the tests of redaction share."""

from __future__ import annotations

import pytest

from bot.redaction import KINDS, Redactor


@pytest.fixture(scope="session")
def redactor() -> Redactor:
    """As the settings' defaults build it, with time for a slow machine."""
    return Redactor(budget_ms=60_000)


@pytest.fixture(scope="session")
def all_kinds() -> Redactor:
    """With the kinds that are off by default, too."""
    return Redactor(on=[name for name, kind in KINDS.items() if not kind.on], budget_ms=60_000)
