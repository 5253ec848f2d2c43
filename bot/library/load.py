"""The runbook folder, read: every page that can be read, and a refusal with line and remedy for every other."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from pathlib import Path

from bot.errors import EmptyLibrary, IndexingError, RedactionError, UnreadablePage
from bot.library.catalogue import catalogue_of_pages, load_catalogue
from bot.library.facts import Facts, audience_of_broken, read_facts
from bot.library.git import last_changes
from bot.library.markdown import outline
from bot.library.models import Catalogue, Change, Clean, Library, Refusal, Runbook
from bot.library.names import is_page, title_of_path

LOADER_VERSION = "1"
"""Part of `Runbook.source`: raise it when the same file would load differently."""

_OTHER_ENCODINGS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_BOM = b"\xef\xbb\xbf"

Known = Callable[[str, str], Runbook | None]
"""(path, source) → the page as it was loaded before from the very same bytes, or None."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file that is to be a page; `problem` says why it can't even be opened."""

    path: str
    file: Path
    problem: str = ""
    fix: str = ""


def load_library(
    folder: Path,
    *,
    clean: Clean,
    max_bytes: int = 1_000_000,
    max_pages: int = 20_000,
    progress: Callable[[int, int], None] | None = None,
    known: Known | None = None,
    rules: str = "",
) -> Library:
    """Every page below `folder`, redacted by `clean`, with the catalogue and each page's last commit.

    `known` spares reading (and redacting) again what did not change; `rules` names what `clean` does, so that other
    rules make every page another one. `progress` is told (done, of how many). Raises EmptyLibrary where there is no
    folder, no page or no readable page, IndexingError where there are more than `max_pages`, ConfigurationError
    where the catalogue is broken.
    """
    catalogue = load_catalogue(folder)
    library = read_folder(
        folder,
        clean=clean,
        catalogue=catalogue,
        max_bytes=max_bytes,
        max_pages=max_pages,
        progress=progress,
        known=known,
        rules=rules,
    )
    if not library.runbooks:
        first = library.refusals[0] if library.refusals else Refusal(str(folder), 1, "its files are gone", "look there")
        raise EmptyLibrary(
            f"none of the {len(library.refusals)} pages in {folder} can be read, "
            f"the first because: {first.path}:{first.line}: {first.reason} ({first.fix})"
        )
    return library


def read_folder(
    folder: Path,
    *,
    clean: Clean,
    catalogue: Catalogue | None,
    max_bytes: int,
    max_pages: int,
    progress: Callable[[int, int], None] | None = None,
    known: Known | None = None,
    rules: str = "",
) -> Library:
    """The same with a catalogue that is read already, and no error where every page is refused."""
    if not folder.is_dir():
        raise EmptyLibrary(f"{folder} is not a folder: name the folder of your Markdown runbooks (RUNBOOKS_DIR)")
    files = list(find_pages(folder))
    if not files:
        raise EmptyLibrary(f"{folder} holds no Markdown page (*.md, *.markdown)")
    if len(files) > max_pages:
        raise IndexingError(
            f"{folder} holds {len(files)} pages, more than MAX_RUNBOOKS allows ({max_pages}): "
            "name the runbook folder itself, or raise the limit"
        )
    salt = sha256(f"{LOADER_VERSION}\0{rules}\0{catalogue}".encode()).digest()
    changes = last_changes(folder)
    runbooks: list[Runbook] = []
    refusals: list[Refusal] = []
    for done, page in enumerate(files, start=1):
        read = _read(page, clean=clean, max_bytes=max_bytes, catalogue=catalogue, salt=salt, known=known)
        if isinstance(read, Runbook):
            runbooks.append(with_change(read, changes))
        elif read:
            refusals.append(read)
        if progress:
            progress(done, len(files))
    return Library(tuple(runbooks), tuple(refusals), catalogue or catalogue_of_pages(runbooks))


def find_pages(folder: Path) -> Iterator[PageFile]:
    """Every Markdown file below `folder`, sorted by path; hidden files and folders are passed by.

    A link that leads out of the folder is not followed, and is reported. (A mounted ConfigMap's files are links
    that stay inside.)
    """
    root = folder.resolve()
    found: list[PageFile] = []

    def closed(error: OSError) -> None:
        path = Path(error.filename).relative_to(root).as_posix()
        found.append(PageFile(path, root / path, f"the folder can't be read: {error.strerror}", "let the bot read it"))

    for parent, folders, names in os.walk(root, onerror=closed):
        folders[:] = (name for name in folders if not name.startswith(".") and name != "lost+found")
        for name in names:
            if name.startswith(".") or not is_page(name):
                continue
            file = Path(parent, name)
            path = file.relative_to(root).as_posix()
            found.append(_checked(path, file, root))
    yield from sorted(found, key=lambda page: page.path)


def _checked(path: str, file: Path, root: Path) -> PageFile:
    shown = path.encode("utf-8", "backslashreplace").decode("utf-8")
    if shown != path:
        return PageFile(shown, file, "the file's name is not UTF-8", "rename it")
    if file.is_symlink() and not (file.exists() and file.resolve().is_relative_to(root)):
        return PageFile(path, file, "it is a link that leads out of the runbook folder", "put the file itself there")
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return PageFile(path, file, "it is not a regular file", "put a Markdown file there")
    except OSError as error:
        return PageFile(path, file, f"it can't be opened: {error.strerror}", "let the bot read it")
    return PageFile(path, file)


def decode(raw: bytes) -> str:
    """A page's bytes as text: UTF-8, with or without BOM, line ends `\\n`. Raises UnreadablePage for anything else."""
    for bom, name in _OTHER_ENCODINGS.items():
        if raw.startswith(bom):
            raise UnreadablePage(f"it is {name}, not UTF-8", fix="save it as UTF-8")
    if b"\x00" in raw:
        line = raw[: raw.index(b"\x00")].count(b"\n") + 1
        raise UnreadablePage("it holds NUL bytes: UTF-16 or not text at all", line=line, fix="save it as UTF-8")
    try:
        text = raw.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UnreadablePage(
            "it is not UTF-8 (Windows-1252 or Latin-1, by the look of it)", line=line, fix="save it as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_page(path: str, raw: bytes, *, clean: Clean, catalogue: Catalogue | None = None, source: str = "") -> Runbook:
    """One page out of its bytes. Raises UnreadablePage, also where redaction failed (closed, not open)."""
    text = decode(raw)
    facts = read_facts(text)
    if not any(line.strip() for line in text.split("\n")[facts.body_line - 1 :]):
        below = " below the front matter" if facts.body_line > 1 else ""
        raise UnreadablePage(f"it is empty{below}", line=facts.body_line, fix="write the page, or delete it")
    try:
        shown = clean(text)
    except RedactionError:
        raise UnreadablePage(
            "it could not be checked for secrets", fix="shorten it, or look for very long lines"
        ) from None
    redacted = _differing_lines(text, shown)
    if redacted and redacted[0] < facts.body_line:
        facts = _clean_facts(facts, clean)
    blocks = outline(shown, facts.body_line)
    headings = tuple((b.level, b.title, b.line + 1) for b in blocks if b.kind == "heading" and b.title)
    return Runbook(
        path=path,
        title=facts.title or _first_title(headings) or title_of_path(path),
        text=shown,
        version=sha256(shown.encode()).hexdigest()[:32],
        body_line=facts.body_line,
        services=_catalogue_names(facts.services, catalogue),
        alerts=facts.alerts,
        owner=facts.owner,
        tags=facts.tags,
        last_reviewed=facts.last_reviewed,
        review_after=facts.review_after,
        audience=facts.audience,
        headings=headings,
        redacted_lines=redacted,
        source=source,
    )


def _first_title(headings: tuple[tuple[int, str, int], ...]) -> str:
    """The first heading of level one; without one, the first of any level."""
    return min(headings, key=lambda heading: heading[0] > 1, default=(0, "", 0))[1]


def with_change(runbook: Runbook, changes: Mapping[str, Change]) -> Runbook:
    """The page with its last commit, where there is one."""
    change = changes.get(runbook.path)
    return runbook if change == runbook.change else replace(runbook, change=change)


def last_good(good: Runbook, refusal: Refusal) -> Runbook | None:
    """The last good version of a page whose file is broken now, for reading; None where it must be closed.

    The fault may have changed who may read it: an audience that the broken file names narrows further, one that
    can't be read closes the page.
    """
    if refusal.audience == ():
        return None
    audience = good.audience if refusal.audience is None else (*(good.audience or ()), *refusal.audience)
    return replace(good, stale=True, audience=audience)


def _read(
    page: PageFile, *, clean: Clean, max_bytes: int, catalogue: Catalogue | None, salt: bytes, known: Known | None
) -> Runbook | Refusal | None:
    """A page, or why not; None where the file has gone since the folder was listed."""
    if page.problem:
        return Refusal(page.path, 1, page.problem, page.fix, audience=())
    try:
        with page.file.open("rb") as stream:
            raw = stream.read(max_bytes + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Refusal(page.path, 1, f"it can't be opened: {error.strerror}", "let the bot read it", audience=())
    try:
        if len(raw) > max_bytes:
            raise UnreadablePage(
                f"it is larger than MAX_RUNBOOK_BYTES allows ({max_bytes:,} bytes)", fix="split it, or raise the limit"
            )
        source = blake2b(raw, key=salt, digest_size=16).hexdigest()
        before = known(page.path, source) if known else None
        return before or read_page(page.path, raw, clean=clean, catalogue=catalogue, source=source)
    except UnreadablePage as error:
        try:
            audience = audience_of_broken(decode(raw))
        except UnreadablePage:
            audience = ()
        return Refusal(page.path, error.line, error.problem, error.fix, audience)


def _differing_lines(before: str, after: str) -> tuple[int, ...]:
    """1-based lines that redaction changed. Raises UnreadablePage if it did not keep the lines apart."""
    if before == after:
        return ()
    old, new = before.split("\n"), after.split("\n")
    if len(old) != len(new):
        raise UnreadablePage("redaction changed the number of its lines", fix="report this as a fault")
    return tuple(number for number, (a, b) in enumerate(zip(old, new, strict=True), start=1) if a != b)


def _clean_facts(facts: Facts, clean: Clean) -> Facts:
    """Facts whose lines held a secret. They are read from the raw page, because a mask may not be valid YAML."""

    def each(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(clean, words))

    return replace(
        facts,
        title=clean(facts.title),
        owner=clean(facts.owner),
        services=each(facts.services),
        alerts=each(facts.alerts),
        tags=each(facts.tags),
    )


def _catalogue_names(services: tuple[str, ...], catalogue: Catalogue | None) -> tuple[str, ...]:
    """Services by their catalogue names; one that the catalogue does not know stays as it is written."""
    if catalogue is None:
        return services
    found = ((catalogue.find(name), name) for name in services)
    return tuple(dict.fromkeys(service.name if service else name for service, name in found))
