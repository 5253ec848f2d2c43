"""What needs no vectors: the alert's own runbook link, a name that a page bears, a rare identifier that it contains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import numpy as np

from bot.library.names import bare, file_stem
from bot.search.index import WordsIndex
from bot.search.models import Query
from bot.search.words import Mask, Vocabulary, tokenize

LINK, NAME, IDENTIFIER, FUSED = "runbook link", "alert name", "identifier", "meaning and words"
_RARE = 3
"""Pages that may contain an identifier for it to point at them."""


@dataclass(frozen=True)
class Exact:
    """The pages (by number) that a question points at, by route. Link and name decide; an identifier only weighs in."""

    links: frozenset[int] = frozenset()
    names: frozenset[int] = frozenset()
    """Pages that claim the alert's name, or bear it as their title or file name."""
    headings: frozenset[int] = frozenset()
    """Pages that bear it as a heading only."""
    identifiers: frozenset[int] = frozenset()

    def sureness(self, page: int) -> int:
        """Pages of a higher one come first, whatever else speaks for the others: 3 link, 2 name, 1 heading, 0 none."""
        return 3 if page in self.links else 2 if page in self.names else int(page in self.headings)

    def route(self, page: int) -> str:
        """How a page was found; the surest way of several."""
        routes = ((self.links, LINK), (self.names, NAME), (self.headings, NAME), (self.identifiers, IDENTIFIER))
        for pages, route in routes:
            if page in pages:
                return route
        return FUSED


def exact_routes(query: Query, index: WordsIndex, vocabulary: Vocabulary, usable: Mask, readable: Mask) -> Exact:
    """The exact routes into the `usable` pages. Rarity is counted over the `readable` ones: what may be opened."""
    name = bare(query.alert_name)
    named = len(name) > 2

    def inside(pages: Iterable[int]) -> frozenset[int]:
        return frozenset(page for page in pages if usable[page])

    names = inside(index.pages_named.get(name, ()) if named else ())
    links = inside(_linked(query.runbook_url, index, np.flatnonzero(usable).tolist()) if query.runbook_url else ())
    return Exact(
        links=links & names or links,  # a link to a collection does not say which of its alerts
        names=names,
        headings=inside(index.pages_headed.get(name, ()) if named else ()),
        identifiers=inside(_identified(query.identifiers, index, vocabulary, readable)),
    )


def _linked(url: str, index: WordsIndex, pages: list[int]) -> list[int]:
    """The pages of the file whose path ends the link (`…/redis/memory`), else of the only one named like its last part.

    Of a collection's, the one whose heading the link names (`…/playbook#redisdown`), if one is.
    """
    parts = urlsplit(url)
    path = unquote(parts.path).strip("/").removesuffix(".md").removesuffix(".html")
    heading = bare(unquote(parts.fragment))
    if not path:
        return []
    stems = {page: index.runbooks[page].path.removesuffix(".md").removesuffix(".html") for page in pages}
    found = [page for page, stem in stems.items() if f"/{path}".endswith(f"/{stem}") or f"/{stem}".endswith(f"/{path}")]
    if not found:
        last = bare(path.rsplit("/", 1)[-1])
        found = [page for page in pages if last and bare(file_stem(index.runbooks[page].path)) == last]
        if len({index.runbooks[page].path for page in found}) > 1:
            return []
    return [page for page in found if heading and bare(index.gists[page].title) == heading] or found


def _identified(identifiers: Iterable[str], index: WordsIndex, vocabulary: Vocabulary, mask: Mask) -> set[int]:
    """The pages that contain one of the identifiers in one piece, where few do."""
    found: set[int] = set()
    for identifier in identifiers:
        tokens = tokenize(identifier)
        number = vocabulary.number(tokens[-1]) if tokens else None
        if number is None:
            continue
        holders, _ = index.pages.of(number)
        holders = holders[mask[holders]]
        if 0 < len(holders) <= _RARE:
            found.update(int(page) for page in holders)
    return found
