"""The block of settings at the head of a page: found, read, and kept as written.

python-frontmatter's handlers tell the kinds apart and split the page. Its loaders guess types, swallow pages that open
with a horizontal rule, and read an unclosed block as text without a word: the reading itself is ours.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import yaml
from frontmatter.default_handlers import BaseHandler, YAMLHandler

from bot.errors import UnreadablePage

ACCESS_LIKE = frozenset({"access", "acl", "groups", "visibility", "permissions", "allowed_groups", "readers"})
"""Keys that read like access control and are none here: `lint` reports them."""

_KNOWN = ACCESS_LIKE | {
    "title", "service", "services", "alert", "alerts", "owner", "owners", "owner_slack",
    "tag", "tags", "audience", "last_reviewed", "last_reviewed_on", "reviewed", "review_after", "review_in",
    "date", "draft", "layout", "weight", "description", "summary", "slug", "type",
    "categories", "aliases", "author", "authors", "version", "status", "severity", "team",
    "keywords", "sidebar_position", "nav_order", "parent", "permalink", "id",
}  # fmt: skip
"""Keys that people write: one of them is enough to tell settings from a paragraph between two rules."""

_LONGEST = 16_000
"""Characters of front matter: its parsers take seconds on hostile ones that are longer."""

_PLAIN_KEY = re.compile(r"[a-z][\w.-]*$")
_KEY_LINE = re.compile(r"[\"']?([A-Za-z_][\w .-]*?)[\"']?\s*(:(\s|$)|=)")


@dataclass(frozen=True, slots=True)
class Value:
    """What one key says. `items` is None where it is no word and no list of words (a table, say)."""

    items: tuple[str, ...] | None
    line: int
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The settings of a page by normalised key, and the 1-based line where its body starts."""

    values: Mapping[str, Value] = field(default_factory=dict)
    body_line: int = 1


class _Written(yaml.BaseLoader):
    """Every scalar as it is written, also one that opens with a sign that YAML keeps for itself (`@dba-oncall`)."""

    def check_plain(self) -> bool:
        return bool(super().check_plain()) or self.peek() in "@`%"


_FAST: Any = getattr(yaml, "CBaseLoader", _Written)


def compose(text: str) -> yaml.Node | None:
    """The node tree of a YAML text; every scalar stays text. Raises yaml.YAMLError."""
    try:
        return yaml.compose(text, Loader=_FAST)
    except yaml.YAMLError:
        return yaml.compose(text, Loader=_Written)


def normal_key(key: str) -> str:
    """A key whatever its case and separators: `Last reviewed` and `last-reviewed` are the same."""
    return re.sub(r"[\s-]+", "_", key.strip().casefold())


def read_front_matter(text: str) -> FrontMatter:
    """The front matter of a page (YAML between `---`, TOML between `+++`), or an empty one.

    Three dashes are also a horizontal rule: what stands between two of them is front matter only if it reads as
    settings. Raises UnreadablePage with the line where it is meant as front matter and can't be read.
    """
    handler = next((handler for handler in _HANDLERS if handler.detect(text)), None)
    if handler is None:
        return FrontMatter()
    try:
        block = handler.split(text)[0].split("\n")[1:-1]
    except ValueError:
        if _looks_meant(text.split("\n")[1:]):
            fix = f"end it with a line of its own that holds only {handler.START_DELIMITER}"
            raise UnreadablePage("the front matter is not closed", fix=fix) from None
        return FrontMatter()
    if sum(map(len, block)) > _LONGEST and _looks_meant(block):
        raise UnreadablePage(f"the front matter is longer than {_LONGEST:,} characters", fix="move text to the body")
    try:
        values = handler.read(block)
    except RecursionError:
        raise UnreadablePage("the front matter is nested too deeply", fix="write plain words and lists") from None
    return FrontMatter() if values is None else FrontMatter(values, len(block) + 3)


def _looks_meant(block: list[str]) -> bool:
    """Whether lines after an opening fence read like settings: the first of them is `key: …` with a likely key."""
    first = next((line for line in block if line.strip() and not line.startswith("#")), "")
    match = _KEY_LINE.match(first)
    if match is None:
        return False
    return normal_key(match[1]) in _KNOWN or bool(block[0].strip() and _PLAIN_KEY.match(match[1]))


def _read_yaml(block: list[str]) -> dict[str, Value] | None:
    try:
        node = compose("\n".join(block))
    except yaml.YAMLError as error:
        if not _looks_meant(block):
            return None
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it is not YAML"
        raise UnreadablePage(
            f"the front matter is not valid YAML: {problem}",
            line=min((mark.line if mark else 0) + 2, len(block) + 1),
            fix="put quotes around the value, or correct the indentation",
        ) from None
    if node is None:
        return None if any(line.strip() for line in block) else {}
    if not isinstance(node, yaml.MappingNode):
        return None
    values: dict[str, Value] = {}
    keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    known = any(normal_key(key) in _KNOWN for key in keys)
    if not known and not (block[0].strip() and all(_PLAIN_KEY.match(key) for key in keys)):
        return None
    for key, value in node.value:
        line = key.start_mark.line + 2
        if not isinstance(key, yaml.ScalarNode):
            continue
        name = normal_key(key.value)
        if name in values:
            raise UnreadablePage(f"`{name}` stands twice in the front matter", line=line, fix="keep one of them")
        values[name] = Value(_yaml_items(value), line, isinstance(value, yaml.SequenceNode))
    return values


def _yaml_items(node: yaml.Node) -> tuple[str, ...] | None:
    if isinstance(node, yaml.ScalarNode):
        if node.tag.startswith("!"):
            return None
        empty = node.style is None and node.value in ("", "~", "null")
        return () if empty else (node.value,)
    if isinstance(node, yaml.SequenceNode):
        items = [_yaml_items(item) if isinstance(item, yaml.ScalarNode) else None for item in node.value]
        return None if any(item is None for item in items) else tuple(word for item in items if item for word in item)
    return None


def _read_toml(block: list[str]) -> dict[str, Value] | None:
    try:
        table = tomllib.loads("\n".join(block), parse_float=str)
    except tomllib.TOMLDecodeError as error:
        if not _looks_meant(block):
            return None
        found = re.search(r"at line (\d+)", str(error))
        raise UnreadablePage(
            f"the front matter is not valid TOML: {re.sub(r' *[(]at .*', '', str(error))}",
            line=int(found[1]) + 1 if found else len(block) + 1,
            fix="correct the line, or use YAML between --- lines",
        ) from None
    values = {}
    for key, value in table.items():
        start = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]")
        line = next((i for i, text in enumerate(block) if start.match(text)), 0) + 2
        items = tuple(map(_toml_word, value)) if isinstance(value, list) else (_toml_word(value),)
        words = None if None in items else tuple(word for word in items if word)
        values[normal_key(key)] = Value(words, line, isinstance(value, list))
    return values


def _toml_word(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, str | int) else None


class _Yaml(YAMLHandler):
    """Between `---` lines, or up to `...`; four dashes are a rule."""

    FM_BOUNDARY = re.compile(r"(?:\A---|(?<=\n)(?:---|\.\.\.))[^\S\n]*$", re.MULTILINE)
    read = staticmethod(_read_yaml)


class _Toml(BaseHandler):
    """Between `+++` lines. The package's own handler wants a TOML library; Python has one."""

    FM_BOUNDARY = re.compile(r"^\+\+\+[^\S\n]*$", re.MULTILINE)
    START_DELIMITER = END_DELIMITER = "+++"
    read = staticmethod(_read_toml)


_HANDLERS: tuple[_Yaml | _Toml, ...] = (_Yaml(), _Toml())
