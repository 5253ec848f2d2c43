"""The plain models of the library: pages, their passages, the catalogue, and what is live.

Nothing here reads a disk or knows a store; every other room may import this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property

from bot.library.gists import Gist, gists_of


@dataclass(frozen=True, slots=True)
class Change:
    """The last commit that touched a page, where the runbook folder is a git checkout."""

    commit: str
    author: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Runbook:
    """One Markdown page.

    `text` is the whole file as it is shown: redacted once at load, line ends `\\n`, no BOM, front matter
    included, so that line numbers are the file's. `version` addresses that text; `meta_version` addresses what
    does not need embedding (services, owner, audience, ...).
    """

    path: str
    title: str
    text: str
    version: str
    body_line: int = 1
    """1-based line of `text` where the body starts (after the front matter)."""
    services: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    owner: str = ""
    tags: tuple[str, ...] = ()
    last_reviewed: date | None = None
    review_after: int | None = None
    """Days after which a review is due; None takes the setting."""
    audience: tuple[str, ...] | None = None
    """The page's own `audience:`; readers must be in all of these and in the policy's. `()` closes the page."""
    headings: tuple[tuple[int, str, int], ...] = ()
    """(level, text, line) of every heading, in order."""
    change: Change | None = None
    redacted_lines: tuple[int, ...] = ()
    """Lines on which redaction found a secret at load: `lint` reports them."""
    stale: bool = False
    """True where the file on disk is broken now and this is its last good version."""
    source: str = ""
    """Addresses the raw file, the catalogue and the loader's rules: the same `source` loads the same page."""

    def lines(self, start: int, end: int) -> str:
        """The text of lines `start` to `end`, 1-based, both included."""
        return "\n".join(self.text.split("\n")[start - 1 : end])


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a runbook that can be found by itself.

    `id` is addressed by content (page, place and text), so that two versions of a page can stand in one
    collection. `text` is verbatim `Runbook.text[start:start+len(text)]`; where a table was cut, the repeated
    header stands in `context`, never in `text`.
    """

    id: str
    runbook: str
    headings: tuple[str, ...]
    start_line: int
    end_line: int
    start: int
    text: str
    context: str = ""
    """Words that belong to the passage but stand elsewhere: a cut table's header rows."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A page, or a part of the library, that could not be read."""

    path: str
    line: int
    reason: str
    fix: str
    audience: tuple[str, ...] | None = None
    """What the broken page says of its own `audience:` now; `()` where that can't be read (see `last_good`)."""


@dataclass(frozen=True, slots=True)
class Service:
    """An entry of the catalogue (`services.yaml`)."""

    name: str
    aliases: tuple[str, ...] = ()
    owner: str = ""
    channels: tuple[str, ...] = ()
    """Ids or names of the channels whose default service this is."""


@dataclass(frozen=True)
class Catalogue:
    """Every service that is known by name, from `services.yaml` or, without one, from the pages."""

    services: tuple[Service, ...] = ()
    derived: bool = False
    """True where the services were read from the pages: then their names are as restricted as the pages."""

    @cached_property
    def _by_name(self) -> dict[str, Service]:
        names: dict[str, Service] = {}
        for service in self.services:
            for name in (service.name, *service.aliases):
                names.setdefault(name.casefold(), service)
        return names

    def find(self, name: str) -> Service | None:
        """The service with this name or alias, whatever its case."""
        return self._by_name.get(name.strip().casefold())

    def of_channel(self, channel: str) -> Service | None:
        """The service whose default channel this is (by id or name); None if two claim it: never a guess."""
        wanted = channel.lstrip("#").casefold()
        found = [s for s in self.services if wanted in {c.lstrip("#").casefold() for c in s.channels}]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class Library:
    """What one reading of the runbook folder gave."""

    runbooks: tuple[Runbook, ...]
    refusals: tuple[Refusal, ...] = ()
    catalogue: Catalogue = field(default_factory=Catalogue)


@dataclass(frozen=True)
class Snapshot:
    """What is live at one moment: an immutable whole that publishing swaps for the next one."""

    generation: int = 0
    collection: str = ""
    """Name of the Chroma collection that holds the vectors of these passages."""
    runbooks: Mapping[str, Runbook] = field(default_factory=dict)
    """By path."""
    passages: Mapping[str, Passage] = field(default_factory=dict)
    """By id."""
    catalogue: Catalogue = field(default_factory=Catalogue)
    embedder: str = ""
    """Fingerprint of the embedding model whose vectors the collection holds."""

    @cached_property
    def gists(self) -> Mapping[str, Gist]:
        """What the live pages are for, by id."""
        return {
            gist.id: gist for path, page in self.runbooks.items() for gist in gists_of(page, self.passages_of[path])
        }

    @cached_property
    def pieces(self) -> Mapping[str, Passage | Gist]:
        """Everything that has a vector in the collection, by id."""
        return {**self.passages, **self.gists}

    def pieces_of(self, path: str) -> tuple[Passage | Gist, ...]:
        """Those of one live page."""
        passages = self.passages_of[path]
        return (*passages, *gists_of(self.runbooks[path], passages))

    @cached_property
    def passages_of(self) -> Mapping[str, tuple[Passage, ...]]:
        """The live passages of each runbook, in the page's order."""
        found: dict[str, list[Passage]] = {path: [] for path in self.runbooks}
        for passage in self.passages.values():
            found[passage.runbook].append(passage)
        return {path: tuple(sorted(of, key=lambda p: p.start)) for path, of in found.items()}


Live = Callable[[], Snapshot]
"""How a room asks for what is live now."""

Clean = Callable[[str], str]
"""Text in, clean text out, with the same number of lines (redaction, injected)."""
