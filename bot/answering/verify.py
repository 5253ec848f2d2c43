"""Verification: what a check says must stand in the passage that it cites (DESIGN.md, step 6 and rule 3).

A model's words pass through here before anybody sees them, and so do the quoted checks. Nothing is repaired:
what can't be found word for word is dropped, with the reason in a CitationError.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.answering.models import Check, Citation
from bot.answering.steps import CHANGING, code_of, parse
from bot.errors import CitationError
from bot.library.models import Passage, Runbook

SHORTEST_QUOTE = 12
"""Characters: a quote of less supports nothing in particular."""

_HARD = re.compile(
    r"""https?://[^\s<>)\]"'`]+                         # links
      | (?<![\w/])(?:~|\.{1,2})?/[\w.@%+~-]+(?:/[\w.@%+~-]*)*   # paths
      | (?<![\w-])--?[A-Za-z][\w-]*                     # flags
      | [A-Za-z_$][\w$]*(?:[._:/@-][\w$]+)*\d[\w$.:/@-]*  # identifiers with a digit
      | \w+(?:[_.:/@]\w+)+                              # snake_case, dotted.names, a:b, a/b
      | \b[A-Z]{2,}[A-Z0-9_]*(?:-[A-Z0-9_]+)*\b         # NAMES
      | \b[a-z]+[A-Z]\w*\b | \b[A-Z][a-z0-9]+[A-Z]\w*\b # camelCase, CamelCase
      | \d+(?:[.,]\d+)*\s?(?:%|[A-Za-zµ]{1,8}\b)?       # numbers, with their unit
    """,
    re.VERBOSE,
)
_SPAN = re.compile(r"`([^`\n]+)`")

_ACTIONS = frozenset(
    re.findall(
        r"\w+",
        """restart reboot delete drop remov kill terminat drain cordon scale rollback roll revert truncat flush purg
        wip
        disabl stop shut evict failover fail promot reset resiz reindex vacuum replac recreat rotat revok overwrit
        format deploy appl patch increas decreas rais lower chang edit set enabl skip ignor silenc acknowledg""",
    )
)
"""Stems of the verbs that tell somebody to change something."""
_ACTION = re.compile(
    rf"\b(?:{'|'.join(sorted(_ACTIONS))})(?:e|es|ed|ing|s|ping|ped|ting|ted|y|ies|ied)?\b", re.IGNORECASE
)
_NEGATION = re.compile(r"\b(?:do not|don't|don’t|never|must not|mustn't|should not|without|avoid|not)\b", re.IGNORECASE)

_CLAIM = re.compile(
    r"""\b(?:I|we|the\ bot)\s+(?:have\s+|has\s+|had\s+|already\s+|just\s+|'ve\s+)*
          (?:ran|run|executed|restarted|deleted|scaled|checked|verified|fixed|applied|changed|rolled|killed|
             confirmed|resolved|drained|performed|triggered|created|updated|stopped|started|notified|paged)\b
      | \b(?:has|have|had)\s+(?:already\s+|now\s+|just\s+|successfully\s+)*been\s+(?:successfully\s+)?
          (?:run|executed|restarted|deleted|scaled|checked|verified|fixed|applied|changed|rolled|killed|resolved|
             drained|performed|triggered|created|updated|stopped|started|notified|paged|completed)\b
      | \b(?:was|were|is|are)\s+(?:now\s+|already\s+)?(?:successfully\s+)
          (?:run|executed|restarted|deleted|scaled|fixed|applied|changed|resolved|completed)\b
      | \bsuccessfully\s+(?:ran|executed|restarted|deleted|scaled|fixed|applied|changed|resolved|completed)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A check as somebody wrote it, before it is believed."""

    text: str
    command: str | None
    source: str
    """Id of the passage it says it is from."""
    quote: str


def fold(text: str) -> str:
    """White space aside: every run of it becomes one space."""
    return " ".join(text.split())


def locate(quote: str, passage: Passage) -> tuple[int, int]:
    """The first and last line of the page (1-based) on which `quote` stands, word for word, white space aside.

    Raises CitationError where it does not stand in the passage, or is too short to support anything.
    """
    words = quote.split()
    if len("".join(words)) < SHORTEST_QUOTE and fold(quote) != fold(passage.text):
        raise CitationError("the quote is too short")
    found = re.search(r"\s+".join(re.escape(word) for word in words), passage.text)
    if not found:
        raise CitationError("the quote does not stand in the passage")
    first = passage.start_line + passage.text.count("\n", 0, found.start())
    return first, first + passage.text.count("\n", found.start(), found.end())


def check_command(command: str, passage: Passage) -> None:
    """A command must be a whole piece of the passage's code, byte for byte: a block, whole lines of one, or a span.

    Part of a line is not enough: `kubectl delete pod x` may stand there with `--dry-run` behind it, or behind a
    comment that warns of it. Raises CitationError.
    """
    for code in code_of(parse(passage.text)):
        if command == code:
            return
        lines, wanted = code.split("\n"), command.split("\n")
        for i in range(len(lines) - len(wanted) + 1):
            cut_before = i > 0 and lines[i - 1].rstrip().endswith("\\")
            if lines[i : i + len(wanted)] == wanted and not cut_before and not wanted[-1].rstrip().endswith("\\"):
                return
    raise CitationError("the command does not stand in the passage")


def check_words(text: str, quote: str, passage: Passage) -> None:
    """Every command, path, flag, identifier, number and link in `text` must stand in the passage, and whatever
    it tells the reader to change must stand in the quote, not denied there. Raises CitationError.
    """
    source = fold(f"{passage.context}\n{passage.text}")
    for span in _SPAN.findall(text):
        if not _stands(span, source):
            raise CitationError("a piece of code does not stand in the passage")
    for token in _HARD.findall(_SPAN.sub(" ", text)):
        if not _stands(token.strip().rstrip(".,:;"), source):
            raise CitationError("a name, number or link does not stand in the passage")
    if CHANGING.search(text) and not CHANGING.search(source):
        raise CitationError("a command does not stand in the passage")
    folded = fold(quote)
    for action in _ACTION.finditer(text):
        stem = _stem(action.group())
        stands = [m for m in _ACTION.finditer(folded) if _stem(m.group()) == stem]
        if not stands:
            raise CitationError("the quote does not say to do that")
        if not _denied(text, action.start()) and all(_denied(folded, m.start()) for m in stands):
            raise CitationError("the quote says not to do that")


def _stands(token: str, source: str) -> bool:
    """Whether `token` stands in `source` as a whole word (`3` does not stand in `30`, `/var` not in `/var/log`)."""
    before = r"(?<![\w.])" if token[:1].isalnum() else r"(?<![\w/.-])"
    return bool(re.search(before + re.escape(fold(token)) + r"(?![\w/-]|[.,]\d)", source)) if token else True


def _stem(word: str) -> str:
    word = word.casefold()
    return max((a for a in _ACTIONS if word.startswith(a)), key=len, default=word)


def _denied(text: str, at: int) -> bool:
    """Whether the few words before `at`, in the same sentence, deny what follows."""
    before = re.split(r"[.!?;:]\s", text[max(0, at - 40) : at])[-1]
    return bool(_NEGATION.search(before))


def drop_claims(text: str, verbatim: str = "") -> str:
    """`text` without the sentences that say that something was run or changed, unless they stand in `verbatim`."""
    source = fold(verbatim)
    kept = [s for s in _SENTENCE.split(fold(text)) if not _CLAIM.search(s) or (source and s in source)]
    return " ".join(kept)


def verify(claimed: Claimed, passages: Mapping[str, Passage], runbooks: Mapping[str, Runbook]) -> Check:
    """The check, with the line range where its quote really stands. Raises CitationError with the reason."""
    passage = passages.get(claimed.source)
    if passage is None:
        raise CitationError("the source is not among the passages fetched")
    first, last = locate(claimed.quote, passage)
    text = drop_claims(claimed.text, passage.text)
    if not text and not claimed.command:
        raise CitationError("nothing is left to check")
    check_words(text, claimed.quote, passage)
    command = claimed.command.rstrip("\n") if claimed.command and claimed.command.strip() else None
    if command:
        check_command(command, passage)
    return Check(
        text=text,
        command=command,
        changes=bool(CHANGING.search(command or "") or CHANGING.search(text)),
        citation=Citation(
            runbook=passage.runbook,
            title=runbooks[passage.runbook].title,
            start_line=first,
            end_line=last,
            quote=claimed.quote.strip("\n"),
            passage=passage.id,
        ),
    )


def supported(text: str, sources: Iterable[str]) -> str:
    """The sentences of `text` whose every name, number and link stands in one of `sources`, and that claim nothing."""
    folded = [fold(source) for source in sources]
    kept = []
    for sentence in _SENTENCE.split(drop_claims(text)):
        tokens = _SPAN.findall(sentence) + _HARD.findall(_SPAN.sub(" ", sentence))
        if all(any(_stands(t.strip().rstrip(".,:;"), source) for source in folded) for t in tokens):
            kept.append(sentence)
    return " ".join(kept)
