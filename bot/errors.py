"""The whole tree of failures that this program knows by name.

Every class says when it is raised. Catch `RunbookBotError` at a boundary only (a command, a Slack listener):
there a known failure becomes its `sentence`, an unknown one a reference id. `reason` is the word that stands
in `--json` output and in the records.
"""

from __future__ import annotations

from pathlib import Path


class RunbookBotError(Exception):
    """Base of every named failure. `str(error)` is for operators; it never holds text of a runbook or a message."""

    reason = "failed"


class ConfigurationError(RunbookBotError):
    """A setting, a file named by a setting, or a combination of them can't be used. Says where and what to do."""

    reason = "configuration"

    def __init__(self, problem: str, *, where: str | Path = "", line: int | None = None, fix: str = "") -> None:
        self.problem, self.where, self.line, self.fix = problem, str(where), line, fix
        place = f"{where}:{line}: " if where and line else f"{where}: " if where else ""
        super().__init__(f"{place}{problem}" + (f" ({fix})" if fix else ""))


class PolicyError(ConfigurationError):
    """The access policy doesn't parse, or names an audience that it doesn't define."""

    reason = "policy"


class IndexingError(RunbookBotError):
    """The runbooks can't be brought into the index. Nothing partial was published."""

    reason = "indexing"


class EmptyLibrary(IndexingError):
    """The folder is missing, holds no page, or every page in it was refused."""

    reason = "empty_library"


class UnreadablePage(IndexingError):
    """One page can't be read. It is reported as a `Refusal` and left out; the others are indexed."""

    reason = "unreadable_page"

    def __init__(self, problem: str, *, line: int = 1, fix: str = "") -> None:
        self.problem, self.line, self.fix = problem, line, fix
        super().__init__(f"line {line}: {problem}")


class EmbeddingFailed(IndexingError):
    """The embedding model failed or is out of reach after the retries; what was embedded is kept in the cache."""

    reason = "embedding_failed"


class EmbeddingRefused(EmbeddingFailed):
    """The endpoint refuses these very texts (too many, too long): fewer at once may pass, the same again will not."""


class IndexLocked(IndexingError):
    """Another process owns this index folder."""

    reason = "index_locked"


class FreshnessError(RunbookBotError):
    """What was found is older than what is live now, and can't be shown as current."""

    reason = "freshness"


class PermissionDenied(RunbookBotError):
    """Whoever asks may not use this here. Also the answer for a runbook that does not exist: the two are the same."""

    reason = "not_allowed"


class MembershipUnavailable(PermissionDenied):
    """Slack could not say who is a member. Counts as not a member (DESIGN.md, rule 2)."""

    reason = "access_unknown"


class RankingError(RunbookBotError):
    """The search itself failed. Never to be shown as "nothing found" (DESIGN.md, rule 6)."""

    reason = "search_unavailable"


class IndexUnavailable(RankingError):
    """The vector store is damaged, gone or out of reach."""


class IndexDamaged(IndexUnavailable):
    """What the vector store holds is not what was put there: it has to be built anew."""


class GenerationError(RunbookBotError):
    """The model gave no usable answer: `cause` tells refusal, filter, quota, time-out, bad output, … apart."""

    reason = "generation"

    def __init__(self, cause: str, message: str = "", *, retry_after: float | None = None) -> None:
        self.cause, self.retry_after = cause, retry_after
        super().__init__(message or cause)


class CitationError(RunbookBotError):
    """A check's citation is not among the passages fetched, or its words do not stand there."""

    reason = "citation"


class RedactionError(RunbookBotError):
    """Redaction failed or took too long. The request ends here, closed (DESIGN.md, rule 1)."""

    reason = "redaction_failed"


class DeliveryError(RunbookBotError):
    """Slack refused a reply. `error` is Slack's word for it (`is_archived`, `invalid_blocks`, …)."""

    reason = "delivery"

    def __init__(self, error: str, *, retry_after: float | None = None) -> None:
        self.error, self.retry_after = error, retry_after
        super().__init__(f"Slack answered {error}")


class RecordsUnavailable(RunbookBotError):
    """The records database is locked, full or out of reach."""

    reason = "records_unavailable"


class WorkspaceRefusal(RunbookBotError):
    """The local workspace refuses a request as Slack would. `error` is Slack's word for it."""

    reason = "workspace"

    def __init__(self, error: str, *, status: int = 200, messages: tuple[str, ...] = (), **more: str) -> None:
        self.error, self.status, self.messages, self.more = error, status, messages, more
        super().__init__(error)
