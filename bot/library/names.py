"""Names of pages: made readable where a page has no title, and made bare where names are compared."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

PAGE_SUFFIXES = (".md", ".markdown")
_EXTENSIONS = re.compile(r"(\.(md|markdown|mdown|html?|txt|erb))+$", re.IGNORECASE)
_INDEX_NAMES = {"index", "_index", "readme"}


def is_page(name: str) -> bool:
    """Whether a file of this name is a Markdown page."""
    return name.lower().endswith(PAGE_SUFFIXES)


def title_of_path(path: str) -> str:
    """A title out of a page's path: extensions off, separators to spaces, an index page named after its folder.

    >>> title_of_path("manual/restart-the-app.html.md")
    'Restart the app'
    >>> title_of_path("node/KubeNodeNotReady.md")
    'KubeNodeNotReady'
    """
    page = PurePosixPath(path)
    stem = _EXTENSIONS.sub("", page.name)
    if stem.casefold() in _INDEX_NAMES and page.parent.name:
        stem = page.parent.name
    words = " ".join(re.split(r"[-_\s]+", stem)).strip() or page.name
    return words[0].upper() + words[1:] if words == words.lower() else words


def bare(name: str) -> str:
    """A name reduced to its letters and digits: how an alert's name, a title and a file's name are compared."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def file_stem(path: str) -> str:
    """`redis` of `alerts/redis.html.md`."""
    return path.rsplit("/", 1)[-1].split(".", 1)[0]


def clip(text: str, limit: int, *, tail: bool = False) -> str:
    """At most `limit` bytes of `text` in UTF-8, from its end if `tail` says so, no character halved."""
    raw = text.encode()
    return (raw[-limit:] if tail else raw[:limit]).decode(errors="ignore").strip()
