"""What is wrong or worth a look in a runbook folder, for those who write the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from bot.errors import ConfigurationError
from bot.library.catalogue import load_catalogue
from bot.library.facts import Facts, read_facts
from bot.library.freshness import overdue, reviewed
from bot.library.frontmatter import ACCESS_LIKE
from bot.library.load import decode, find_pages, read_folder
from bot.library.models import Catalogue, Clean, Library, Runbook

_markdown = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to put right. An "error" leaves the page (or the whole library) out; a "warning" does not."""

    path: str
    line: int
    reason: str
    fix: str
    severity: Literal["error", "warning"] = "warning"


@dataclass(frozen=True, slots=True)
class _Page:
    """A page with what only its raw file tells: every key of its front matter, and what could not be read."""

    runbook: Runbook
    file: Path
    facts: Facts

    def line_of(self, *keys: str) -> int:
        """The line of the first of these front matter keys; 1 where none is there."""
        return next((line for key, line in self.facts.keys if key in keys), 1)


_FOUND = "redaction found a secret or personal data here: readers see a placeholder"


def lint(
    folder: Path,
    *,
    clean: Clean,
    max_bytes: int,
    max_pages: int,
    review_after: int,
    today: date,
    knows_audience: Callable[[str], bool] | None = None,
) -> tuple[Library, tuple[Finding, ...]]:
    """What was read, and every finding in the order of path and line.

    `knows_audience` is the access policy's. Raises EmptyLibrary where there is no folder or no page, IndexingError
    where there are more than `max_pages`.
    """
    findings: list[Finding] = []
    catalogue: Catalogue | None = None
    try:
        catalogue = load_catalogue(folder)
    except ConfigurationError as error:
        findings.append(Finding(Path(error.where).name, error.line or 1, error.problem, error.fix, "error"))
    library = read_folder(folder, clean=clean, catalogue=catalogue, max_bytes=max_bytes, max_pages=max_pages)
    findings += (Finding(r.path, r.line, r.reason, r.fix, "error") for r in library.refusals)
    pages = list(_pages(folder, library))
    for page in pages:
        findings += _metadata(page, library.catalogue)
        findings += _reviews(page, review_after, today)
        findings += _access(page, knows_audience)
        findings += _broken_links(page)
        findings += (
            Finding(page.runbook.path, line, _FOUND, "move it out of the page, or allow it with REDACT_ALLOW")
            for line in page.runbook.redacted_lines
        )
    findings += _shared_alerts(pages)
    return library, tuple(sorted(findings, key=lambda f: (f.path, f.line, f.reason)))


def _pages(folder: Path, library: Library) -> Iterator[_Page]:
    files = {page.path: page.file for page in find_pages(folder)}
    for runbook in library.runbooks:
        if file := files.get(runbook.path):
            yield _Page(runbook, file, read_facts(decode(file.read_bytes())))


def _metadata(page: _Page, catalogue: Catalogue) -> Iterator[Finding]:
    runbook = page.runbook
    known = [catalogue.find(name) for name in runbook.services]
    if not runbook.services:
        yield Finding(runbook.path, 1, "it names no service", "add `service:`, unless it is for every service")
    if not runbook.owner and not any(service and service.owner for service in known):
        yield Finding(runbook.path, page.line_of("owner"), "it has no owner", "add `owner:`")
    for name, service in zip(runbook.services, known, strict=True):
        if service is None:
            yield Finding(
                runbook.path,
                page.line_of("service", "services"),
                f"the catalogue knows no service {name!r}",
                "add it to services.yaml, or correct the name",
            )
    for line, remark in page.facts.remarks:
        yield Finding(runbook.path, line, remark, "correct the line")


def _reviews(page: _Page, review_after: int, today: date) -> Iterator[Finding]:
    line = page.line_of("last_reviewed", "last_reviewed_on", "reviewed")
    if reviewed(page.runbook) is None:
        yield Finding(page.runbook.path, line, "nobody knows when it was last reviewed", "add `last_reviewed:`")
    if due := overdue(page.runbook, today, review_after):
        owner = f" by {page.runbook.owner}" if page.runbook.owner else ""
        yield Finding(
            page.runbook.path, line, f"its review{owner} was due on {due}", "review it and set `last_reviewed:`"
        )


def _access(page: _Page, knows_audience: Callable[[str], bool] | None) -> Iterator[Finding]:
    for key, line in page.facts.keys:
        if key in ACCESS_LIKE:
            yield Finding(
                page.runbook.path, line, f"`{key}:` restricts nothing", "use `audience:`, or a rule in access.yaml"
            )
    line, audience = page.line_of("audience"), page.runbook.audience
    if audience == ():
        yield Finding(page.runbook.path, line, "an empty `audience:` closes it to everybody", "name an audience")
    for name in audience or ():
        if knows_audience and not knows_audience(name):
            yield Finding(
                page.runbook.path,
                line,
                f"the policy defines no audience {name!r}, so nobody may read it",
                "define it in access.yaml, or correct the name",
            )


def _broken_links(page: _Page) -> Iterator[Finding]:
    """Links to files beside the page that are not there. Site paths (`/…`) and anchors are not looked into."""
    lines = page.runbook.text.split("\n")
    body = "\n".join(lines[page.runbook.body_line - 1 :])
    for token in _markdown.parse(body):
        for child in token.children or ():
            target = str(child.attrGet("href") or child.attrGet("src") or "")
            if not token.map or _resolves(page.file, target):
                continue
            start, end = (line + page.runbook.body_line for line in token.map)
            shown = unquote(target)
            at = next((n for n in range(start, end) if target in lines[n - 1] or shown in lines[n - 1]), start)
            yield Finding(page.runbook.path, at, f"the link to {shown} leads nowhere", "correct the link")


def _resolves(page: Path, target: str) -> bool:
    """Whether a link's target is there, or is none of ours to judge. Sites drop `.md` or write `.html` for it."""
    try:
        url = urlsplit(target)
    except ValueError:
        return True
    if url.scheme or url.netloc or not url.path or url.path.startswith("/") or "{" in target:
        return True
    file = page.parent / unquote(url.path)
    stem = file.with_suffix("") if file.suffix in (".html", ".htm") else file
    candidates = (file, *(Path(f"{name}{suffix}") for name in (file, stem) for suffix in (".md", ".markdown")))
    try:
        return any(candidate.exists() for candidate in candidates)
    except (OSError, ValueError):  # a name that no file can have
        return False


def _shared_alerts(pages: list[_Page]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for page in pages:
        for alert in page.runbook.alerts:
            other = first.setdefault(alert.casefold(), page.runbook.path)
            if other != page.runbook.path:
                yield Finding(
                    page.runbook.path,
                    page.line_of("alert", "alerts"),
                    f"the alert {alert} is claimed by {other} too",
                    "name it on one page, and link from the other",
                )
