"""Fixtures that more than one room uses."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The measuring data beside the checkout; tests that need it are skipped, visibly, where it is not."""
    if not SHARED.is_dir():
        pytest.skip("the folder shared/ is not beside this checkout")
    return SHARED
