"""The one path (DESIGN.md): a Question goes in, a Reply comes out, whatever the trigger.

redact → classify → who will read this? → retrieve → write → verify. For each readership search runs once, the
writer once, the check once. Nothing here knows Slack.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import quote

from bot import sentences
from bot.access.decisions import Access
from bot.access.models import PlaceKind, Readership
from bot.answering.classify import classify
from bot.answering.models import (
    Alert,
    Answer,
    Check,
    Incident,
    Match,
    NoAnswer,
    Question,
    Reason,
    Reply,
)
from bot.answering.quoted import quoted_checks
from bot.answering.verify import supported, verify
from bot.answering.writer import Writer
from bot.clock import Clock
from bot.errors import CitationError, GenerationError, IndexingError, RankingError, RedactionError
from bot.library.freshness import overdue
from bot.library.models import Catalogue, Live, Runbook, Snapshot
from bot.redaction import Numbering, Redactor
from bot.search.models import Findings, Hit, Query
from bot.search.search import Search

log = logging.getLogger(__name__)

EXCERPT = 300
"""Characters of a passage that a Match shows."""
ASKED = 4_000
"""Characters of a question that are kept on record."""


@dataclass(frozen=True)
class Clean:
    """A question after redaction: the only form that anything behind it sees."""

    text: str
    alert: Alert | None
    context: tuple[str, ...]
    kinds: frozenset[str] = frozenset()
    """Kinds of secret that were found."""


@dataclass(frozen=True)
class Answering:
    """The path with its parts."""

    redactor: Redactor
    access: Access
    search: Search
    live: Live
    writer: Writer | None = None
    runbook_url: str = ""
    review_after: int = 365
    today: Callable[[], date] = field(default=lambda: datetime.now(UTC).date())

    async def reply(self, question: Question) -> Reply:
        """Everything that this question leads to.

        Known failures become a NoAnswer with their reason; only a fault of the program raises.
        """
        clock = Clock()
        try:
            with clock.step("redact"):
                clean = await asyncio.to_thread(self.clean, question)
        except RedactionError:
            log.exception("redaction failed: the request ends here")
            failed = NoAnswer(incident=Incident(summary=""), reason="redaction_failed")
            return Reply(private=failed) if _alone(question) else Reply(thread=failed)
        with clock.step("access"):
            place, asker = await self._readers(question)
        thread = await self._outcome(question, clean, place, clock.ms) if place else None
        if asker is None:
            return Reply(thread=thread)
        if place is None:
            return Reply(private=await self._outcome(question, clean, asker, clock.ms))
        return Reply(thread=thread, private=await self._rest(question, clean, place, asker, thread))

    def clean(self, question: Question) -> Clean:
        """The question's clean text; one numbering, so that the same secret has the same name everywhere.

        Blocking. Raises RedactionError.
        """
        numbering = Numbering()
        kinds: set[str] = set()

        def redact(text: str) -> str:
            found = self.redactor.redact(text, numbering=numbering)
            kinds.update(span.kind for span in found.spans)
            return found.text

        def label(name: str, value: str) -> str:
            """Judged together with its name: `password` says what `swordfish` alone does not."""
            found = self.redactor.redact_field(name, value, numbering=numbering)
            kinds.update(span.kind for span in found.spans)
            return found.text

        text = redact(question.text)
        alert = question.alert
        if alert:
            words = {name: redact(value) for name, value in alert if isinstance(value, str)}
            labels = {redact(name): label(name, value) for name, value in alert.labels.items()}
            alert = Alert.model_validate({**alert.model_dump(), **words, "labels": labels})
        return Clean(text, alert, tuple(redact(part) for part in question.context), frozenset(kinds))

    def readable(self, readership: Readership) -> dict[str, Runbook]:
        """The live runbooks that all of this readership may open, by path."""
        snapshot = self.live()
        allowed = self.access.readable(readership, snapshot.runbooks.values())
        return {path: runbook for path, runbook in snapshot.runbooks.items() if path in allowed}

    def find_runbook(self, name: str, readership: Readership) -> Runbook | None:
        """The one runbook of this path, file name, title or alert that the readers may open; None for any other.

        Only what they may open is looked at, so that "no such" and "not yours" take the same way and time.
        """
        wanted = name.strip().strip("`\"'").casefold()
        readable = self.readable(readership)
        for key in (_path_names, _title_names):
            found = [r for r in readable.values() if wanted in key(r)]
            if len(found) == 1:
                return found[0]
        return None

    def url(self, runbook: str, start: int, end: int) -> str | None:
        """The link to a page's lines, from the template of the settings."""
        if not self.runbook_url:
            return None
        return (
            self.runbook_url.replace("{path}", quote(runbook)).replace("{start}", str(start)).replace("{end}", str(end))
        )

    # --- who will read this? ------------------------------------------------------------------------------

    async def _readers(self, question: Question) -> tuple[Readership | None, Readership | None]:
        """The place's readership and the asker's; None where nothing of that kind is to be answered."""
        place = question.place
        asker = await self.access.of_person(question.asker) if question.asker else None
        if asker and _alone(question):
            return None, asker
        if place.kind is PlaceKind.ELSEWHERE:
            return None, None
        if place.kind is PlaceKind.DM:
            # whoever writes there is its only reader: one reply, where they wrote
            return (asker, None) if asker else (None, None)
        return await self.access.of_place(place), asker

    # --- one outcome ----------------------------------------------------------------------------------------

    async def _outcome(
        self,
        question: Question,
        clean: Clean,
        readers: Readership,
        before: Mapping[str, float],
        *,
        only: Callable[[Runbook], bool] | None = None,
    ) -> Answer | NoAnswer:
        """What these readers get. `only` narrows what may be cited, not what the statistics are taken over."""
        clock = Clock()
        clock.ms.update(before)
        snapshot = self.live()
        readable = self.readable(readers)
        catalogue = _shown(snapshot.catalogue, readable.values())
        with clock.step("classify"):
            incident, query = classify(
                clean.text,
                alert=clean.alert,
                hint=question.service,
                channel=question.place,
                catalogue=catalogue,
                context=clean.context,
                wider=question.wider,
            )
        common: dict[str, Any] = {
            "incident": incident,
            "asked": clean.text[:ASKED],
            "alert": query.alert_name,
            "query": query.text,
            "audiences": readers.audiences,
            "access_reasons": readers.reasons,
            "private_to": readers.private_to,
            "owner": _owner(incident, catalogue),
        }

        def no_answer(reason: Reason, **more: Any) -> NoAnswer:
            return NoAnswer(reason=reason, timings_ms=clock.ms, **common, **more)

        notices: tuple[str, ...] = () if readers.checked else (sentences.ACCESS_NOT_CHECKED,)
        if not readers.audiences:
            return no_answer("access_unknown" if not readers.checked else "not_allowed")
        if not query.text.strip():
            return no_answer("empty_question")
        exclude = question.exclude
        if only:
            exclude |= {
                p.id for p in snapshot.passages.values() if p.runbook in readable and not only(readable[p.runbook])
            }
        try:
            with clock.step("search"):
                findings = await asyncio.to_thread(
                    self.search.find, query, readable.keys(), exclude=exclude, limit=question.limit
                )
        except (RankingError, IndexingError) as error:
            log.exception("the search failed")
            return no_answer(error.reason)  # type: ignore[arg-type]
        clock.ms.update({f"search.{name}": ms for name, ms in findings.timings_ms.items()})
        hits = [hit for hit in findings.hits if hit.runbook.path in readable]
        if not hits:
            closest = findings.ranked[0] if question.asker and findings.ranked else None
            return no_answer(
                "nothing_found" if readers.checked else "access_unknown",
                notices=notices,
                closest=closest and _match(closest),
            )
        checks, written_by, explanation, review = await self._write(incident, query, hits, clock)
        if not checks:
            return no_answer("nothing_found", notices=notices, closest=_match(hits[0]) if question.asker else None)
        checks = self._linked(checks)
        notices += self._notices(checks, hits, findings, incident, snapshot)
        return Answer(
            checks=tuple(checks),
            written_by=written_by,
            explanation=explanation,
            needs_human_review=review,
            matches=tuple(_match(hit) for hit in hits),
            notices=notices,
            timings_ms=clock.ms,
            **common,
        )

    async def _rest(
        self, question: Question, clean: Clean, place: Readership, asker: Readership, thread: Answer | NoAnswer | None
    ) -> Answer | NoAnswer | None:
        """What only the asker may read, from a search and a prompt of its own: once, and only if it cites something.

        Where their rights could not be looked up in full they are told so, whatever was found (DESIGN.md, "Access").
        """
        if not asker.checked:
            return await self._outcome(question, clean, asker, {})
        here, theirs = self.readable(place), self.readable(asker)
        if theirs.keys() <= here.keys():
            return None
        rest = await self._outcome(question, clean, asker, {}, only=lambda runbook: runbook.path not in here)
        return rest if isinstance(rest, Answer) else None

    async def _write(
        self, incident: Incident, query: Query, hits: Sequence[Hit], clock: Clock
    ) -> tuple[list[Check], str, str, bool]:
        """Checks worded by the model where there is one and they can be verified; the quoted ones otherwise."""
        if self.writer:
            try:
                with clock.step("write"):
                    written = await self.writer.write(incident, hits)
            except GenerationError as error:
                log.warning("the model gave no checks (%s): quoting instead", error.cause)
            else:
                with clock.step("verify"):
                    checks = self._verified(written.draft.claims(written.ids), hits)
                if checks:
                    texts = [hit.passage.text for hit in hits] + [incident.summary]
                    explanation = self._scrubbed(supported(written.draft.explanation, texts))
                    return checks, self.writer.model, explanation, written.draft.needs_human_review
                log.warning("none of the model's checks could be verified: quoting instead")
        with clock.step("quote"):
            return quoted_checks(hits, query.text), "quoted", "", False

    def _verified(self, claims: Sequence[Any], hits: Sequence[Hit]) -> list[Check]:
        passages = {hit.passage.id: hit.passage for hit in hits}
        runbooks = {hit.runbook.path: hit.runbook for hit in hits}
        checks = []
        for claim in claims[:20]:
            try:
                check = verify(claim, passages, runbooks)
            except CitationError as error:
                log.info("a check was dropped: %s", error)
                continue
            checks.append(check.model_copy(update={"text": self._scrubbed(check.text)}))
        return sorted(checks, key=lambda check: check.changes)

    def _scrubbed(self, text: str) -> str:
        """A model's words pass redaction on the way back, too."""
        return self.redactor.redact(text).text if text else text

    def _linked(self, checks: Sequence[Check]) -> list[Check]:
        linked = []
        for check in checks:
            at = check.citation
            url = self.url(at.runbook, at.start_line, at.end_line)
            linked.append(check.model_copy(update={"citation": at.model_copy(update={"url": url})}))
        return linked

    def _notices(
        self, checks: Sequence[Check], hits: Sequence[Hit], findings: Findings, incident: Incident, snapshot: Snapshot
    ) -> tuple[str, ...]:
        notices = []
        if incident.service and findings.scope != "service":
            notices.append(sentences.searched_wider(incident.service, findings.scope))
        for path in dict.fromkeys(check.citation.runbook for check in checks):
            runbook = snapshot.runbooks.get(path) or next(hit.runbook for hit in hits if hit.runbook.path == path)
            since = overdue(runbook, self.today(), self.review_after)
            if since:
                notices.append(sentences.overdue(runbook.title, since, runbook.owner))
            if runbook.stale:
                notices.append(sentences.last_good_version(runbook.title, runbook.owner))
        return tuple(notices)


def _alone(question: Question) -> bool:
    """Whether the asker alone is answered."""
    return bool(question.asker) and (question.private or question.place.kind is PlaceKind.ELSEWHERE)


def _path_names(runbook: Runbook) -> Collection[str]:
    path = runbook.path.casefold()
    stem = path.rsplit("/", 1)[-1].split(".", 1)[0]
    return {path, path.removesuffix(".md"), stem}


def _title_names(runbook: Runbook) -> Collection[str]:
    return {runbook.title.casefold(), *(alert.casefold() for alert in runbook.alerts)}


def _shown(catalogue: Catalogue, readable: Collection[Runbook]) -> Catalogue:
    """The catalogue that these readers may know: one read from pages holds no service of a page they may not open."""
    if not catalogue.derived:
        return catalogue
    names = {name.casefold() for runbook in readable for name in runbook.services}
    return Catalogue(tuple(s for s in catalogue.services if s.name.casefold() in names), derived=True)


def _owner(incident: Incident, catalogue: Catalogue) -> str | None:
    service = incident.service and catalogue.find(incident.service)
    return (service.owner or None) if service else None


def _match(hit: Hit) -> Match:
    passage, runbook = hit.passage, hit.runbook
    return Match(
        id=passage.id,
        runbook=runbook.path,
        title=runbook.title,
        service=runbook.services[0] if runbook.services else None,
        score=round(hit.score, 4),
        start_line=passage.start_line,
        end_line=passage.end_line,
        start_index=passage.start,
        excerpt=passage.text[:EXCERPT],
        route=hit.route,
    )
