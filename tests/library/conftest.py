"""What the tests of the library share: folders of pages, and the real local tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.library.load import load_library, read_page
from bot.library.models import Library, Runbook
from bot.library.ports import Embedder
from bot.search.embedders import LocalEmbedder


def keep(text: str) -> str:
    """A redaction that finds nothing."""
    return text


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The local model: its tokenizer says what fits."""
    return LocalEmbedder()


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes pages (path to text or bytes) below a new folder and returns it."""

    def write(pages: dict[str, str | bytes]) -> Path:
        root = tmp_path / "pages"
        for path, content in pages.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return write


@pytest.fixture
def load(folder: Callable[..., Path]) -> Callable[..., Library]:
    """Loads pages that are written just now."""

    def load_pages(pages: dict[str, str | bytes], **options: object) -> Library:
        return load_library(folder(pages), **{"clean": keep, **options})  # type: ignore[arg-type]

    return load_pages


@pytest.fixture
def page() -> Callable[[str], Runbook]:
    """One page out of its text."""
    return lambda text: read_page("page.md", text.encode(), clean=keep)
