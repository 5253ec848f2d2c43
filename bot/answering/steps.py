"""The steps that stand in a passage, read from its Markdown: list items, commands, table rows, prose.

A step keeps the very lines it was read from, so that whatever quotes it can be cited word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.library.models import Passage

_MARKDOWN = MarkdownIt("commonmark").enable("table")

CHANGING = re.compile(
    r"""\b(?:kubectl\s+(?:-n\s+\S+\s+|--namespace[= ]\S+\s+|--context[= ]\S+\s+)*
            (?:delete|scale|rollout\s+(?:restart|undo|pause|resume)|drain|cordon|uncordon|apply|patch|edit|set|
               annotate|label|taint|replace|create|cp|certificate\s+approve)
        |systemctl\s+(?:restart|stop|start|reload|disable|enable|kill)|service\s+\S+\s+(?:restart|stop|start|reload)
        |helm\s+(?:upgrade|rollback|uninstall|install)|argocd\s+app\s+(?:sync|rollback|delete)
        |docker\s+(?:restart|stop|rm|kill)|terraform\s+(?:apply|destroy)|git\s+(?:push|revert|reset)
        |(?:pg_terminate_backend|pg_cancel_backend|pg_ctl|pg_switch_wal|pg_promote|pg_drop_replication_slot)\b
        |(?:DROP|DELETE|UPDATE|INSERT|TRUNCATE|ALTER|CREATE|VACUUM|REINDEX|GRANT|REVOKE)\s+[A-Za-z(]
        |redis-cli\b[^\n]*\b(?:SET|DEL|FLUSHDB|FLUSHALL|CONFIG\s+SET|EXPIRE|UNLINK|FAILOVER)\b
        |kafka-[\w-]+(?:\.sh)?\b[^\n]*(?:--alter|--delete|--create|--execute|--reset-offsets)
        |CLIENT\s+KILL|lv(?:extend|create|remove)|pgbackrest\b[^\n]*\brestore|patronictl\s+(?:failover|switchover|reinit)
        |cmctl\s+renew|rndc\s+(?:retransfer|reload|flush)|(?:PAUSE|RESUME|RECONNECT)\b
        |rm\s+-|mkfs|fdisk|resize2fs|kill(?:all)?\s+-?\d*|pkill|reboot|shutdown|truncate\s|chmod\s|chown\s|mv\s
        |curl\b[^\n]*(?:-X\s*|--request[= ])(?:POST|PUT|PATCH|DELETE))""",
    re.VERBOSE,
)
"""Commands that change something. Only for order and the mark on a check, never for permission: nothing is run."""

_CHANGING_HEADING = re.compile(
    r"\b(remed(?:y|ies)|mitigat\w*|fix(?:es)?|repair|recover\w*|restor\w*|carry|resol(?:ve|ution)|rollback)\b",
    re.IGNORECASE,
)
_CHECKING_HEADING = re.compile(
    r"\b(check\w*|diagnos\w*|investigat\w*|triage|verif\w*|first|steps?|troubleshoot\w*|look)\b",
    re.IGNORECASE,
)
_ASIDE_HEADING = re.compile(
    r"\b(background|symptoms?|meaning|impact|references?|see also|links?|related|history|context|about|overview)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to look at. `first` and `last` are 0-based lines within the passage's text, both included."""

    text: str
    """The words to show: inline Markdown, white space folded."""
    command: str | None
    reading: str
    """How to read what the command prints: the words that follow it in the same list item."""
    first: int
    last: int
    kind: str
    """"step" (list item or a command with its lead-in), "row" (of a table) or "prose"."""
    changes: bool = False
    aside: bool = False
    """Under a heading that explains rather than says what to look at."""
    checking: bool = False
    """Under a heading that says what to look at."""
    fields: tuple[tuple[str, str], ...] = field(default=())
    """(column, cell) of a table row."""


_DEEP = re.compile(r"\n*( {4,})(?:\d+[.)]|[-*+]|```|~~~)")


def parse(text: str) -> list[Token]:
    """The Markdown tokens of a text; every block token's `map` holds its lines.

    A piece of a deep list is read where it stands: by itself its indentation would make code of it.
    """
    deep = _DEEP.match(text)
    return _MARKDOWN.parse(re.sub(rf"(?m)^ {{1,{len(deep[1])}}}", "", text) if deep else text)


def code_of(tokens: Sequence[Token]) -> list[str]:
    """Every piece of code in the tokens, as its author wrote it: blocks without their last newline, then spans."""
    blocks = [t.content.rstrip("\n") for t in tokens if t.type in ("fence", "code_block")]
    spans = [c.content for t in tokens for c in t.children or () if c.type == "code_inline"]
    return blocks + spans


def steps_of(passage: Passage) -> list[Step]:
    """Every step of a passage, in the page's order. A passage of headings alone has none."""
    above = passage.context.rstrip("\n")
    tokens = parse(f"{above}\n{passage.text}" if above else passage.text)
    shift = above.count("\n") + 1 if above else 0
    heading = passage.headings[-1] if passage.headings else ""
    found: list[Step] = []
    for kind, run in _blocks(tokens):
        if kind == "heading":
            heading = run[1].content
        elif kind == "list":
            found.extend(_list_steps(run, heading))
        elif kind == "lead":
            found.append(_step(run, "step" if any(_is_command(t) for t in run) else "prose", heading))
        elif kind == "table":
            found.extend(_rows(run))
    placed = (replace(step, first=step.first - shift, last=step.last - shift) for step in found)
    return [step for step in placed if step.first >= 0 and (step.text or step.command)]


def _is_code(token: Token) -> bool:
    return token.type in ("fence", "code_block")


def _is_command(token: Token) -> bool:
    """Code to run; what a command prints is code, too, and says so or looks like it."""
    language = token.info.split()[0].casefold() if token.info.split() else ""
    return _is_code(token) and language not in ("text", "txt", "output", "log", "logs", "plaintext", "none")


def _blocks(tokens: Sequence[Token]) -> Iterator[tuple[str, list[Token]]]:
    """Top-level blocks: headings, lists, tables, and paragraphs together with the code that follows them."""
    runs: list[tuple[str, list[Token]]] = []
    i = 0
    while i < len(tokens):
        token, j = tokens[i], i + 1
        if token.nesting == 1:
            while not (tokens[j].nesting == -1 and tokens[j].level == token.level):
                j += 1
            j += 1
        run = list(tokens[i:j])
        if token.type == "heading_open":
            runs.append(("heading", run))
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            runs.append(("list", run))
        elif token.type == "table_open":
            runs.append(("table", run))
        elif token.type == "blockquote_open" or token.type == "paragraph_open":
            runs.append(("lead", run))
        elif _is_code(token):
            if runs and runs[-1][0] == "lead" and not any(_is_code(t) for t in runs[-1][1]):
                runs[-1][1].extend(run)
            else:
                runs.append(("lead", run))
        i = j
    yield from runs


def _list_steps(run: Sequence[Token], heading: str) -> Iterator[Step]:
    level = run[0].level + 1
    start = None
    for i, token in enumerate(run):
        if token.type == "list_item_open" and token.level == level:
            start = i
        elif token.type == "list_item_close" and token.level == level and start is not None:
            yield _step(run[start : i + 1], "step", heading)


def _step(run: Sequence[Token], kind: str, heading: str) -> Step:
    """One step of these tokens: the first paragraph, the first command, the words after it, the lines of all."""
    words, command, reading = "", None, ""
    lines: list[list[int]] = []
    for token in run:
        if token.type == "inline" and not words and command is None:
            words = " ".join(token.content.split())
        elif _is_command(token) and command is None:
            command = token.content.rstrip("\n")
        elif token.type == "inline" and command is None and _CODE_ONLY.fullmatch(token.content.strip()):
            command = token.content.strip().strip("`")
        elif token.type == "inline" and command and not reading and token.level > run[0].level + 1:
            reading = " ".join(token.content.split())
        else:
            continue
        lines.append(token.map or [0, 1])
    first = min((span[0] for span in lines), default=0)
    last = max((span[1] for span in lines), default=1) - 1
    return Step(
        text=words,
        command=command or None,
        reading=reading,
        first=first,
        last=last,
        kind=kind,
        # under "Remedies" a command counts as changing until somebody says otherwise
        changes=bool(
            CHANGING.search(command or words)
            or CHANGING.search(words)
            or (command and _CHANGING_HEADING.search(heading))
        ),
        aside=bool(_ASIDE_HEADING.search(heading)) and not _CHECKING_HEADING.search(heading),
        checking=bool(_CHECKING_HEADING.search(heading)) and not _CHANGING_HEADING.search(heading),
    )


_CODE_ONLY = re.compile(r"`[^`\n]+`")


def _rows(run: Sequence[Token]) -> Iterator[Step]:
    """The rows of a table under their own header."""
    header: list[str] = []
    cells: list[str] = []
    row_map: list[int] | None = None
    in_head = False
    for token in run:
        if token.type == "thead_open":
            in_head = True
        elif token.type == "thead_close":
            in_head, header, cells = False, cells, []
        elif token.type == "tr_open":
            cells, row_map = [], token.map
        elif token.type == "inline":
            cells.append(" ".join(token.content.split()))
        elif token.type == "tr_close" and not in_head and row_map and any(cells):
            pairs = tuple(zip(header, cells, strict=False))
            text = " · ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
            yield Step(
                text=text,
                command=None,
                reading="",
                first=row_map[0],
                last=row_map[1] - 1,
                kind="row",
                changes=bool(CHANGING.search(text)),
                fields=pairs,
            )
