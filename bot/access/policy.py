"""The access policy: which audience each runbook is for, and by which rule.

The file is `access.yaml`; its form is in DESIGN ("Access"). It is read strictly: whatever is not understood is an error
that names the line, because a rule that is silently ignored would show pages to people who must not see them.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import yaml

from bot.access.models import BUILT_IN, MEMBERS
from bot.errors import PolicyError

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_IDS = {"users": re.compile(r"[UW][A-Z0-9]{2,}"), "channels": re.compile(r"[CG][A-Z0-9]{2,}")}
_RACY = 2.0
"""Seconds: a file that was changed this shortly before it was read may change again without a new time stamp."""


@dataclass(frozen=True, slots=True)
class Audience:
    """A named group of readers: whoever is in any of these."""

    name: str
    usergroups: tuple[str, ...] = ()
    """Ids or handles of Slack user groups."""
    users: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    """Ids of private channels: their full home members."""
    line: int = 0

    @property
    def empty(self) -> bool:
        """True where nobody can be in it."""
        return not (self.usergroups or self.users or self.channels)


@dataclass(frozen=True, slots=True)
class Rule:
    """The runbooks at these paths are for this audience."""

    paths: tuple[str, ...]
    audience: str
    line: int

    def matches(self, path: str) -> bool:
        """True if one of the patterns matches the whole path. Case counts; Unicode's composed form is compared."""
        normal = unicodedata.normalize("NFC", path)
        return any(_pattern(glob).fullmatch(normal) for glob in self.paths)


@dataclass(frozen=True, slots=True)
class Label:
    """The audience that the policy gives one path, with every rule that matched, in the file's order."""

    audience: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyWarning:
    """Something in the policy that is allowed but is probably not what its author meant."""

    line: int
    reason: str
    fix: str


@dataclass(frozen=True)
class Policy:
    """A policy that was read whole and understood."""

    default: str
    audiences: Mapping[str, Audience] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    source: str = "no policy"
    version: str = ""
    """Hash of the file."""
    default_line: int = 0
    _labels: dict[str, Label] = field(default_factory=dict, init=False, repr=False, compare=False)

    MEMBERS_ONLY: ClassVar[Policy]
    """What offline commands take where there is no policy: `members` for everything."""

    def knows(self, audience: str) -> bool:
        """True for a built-in audience or one that this policy defines."""
        return audience in BUILT_IN or audience in self.audiences

    def label(self, path: str) -> Label:
        """The audience of the runbook at `path` (relative to the runbook folder, POSIX form). The last match wins."""
        found = self._labels.get(path)
        if found is None:
            found = self._labels[path] = self._make_label(path)
        return found

    def _make_label(self, path: str) -> Label:
        matched = [rule for rule in self.rules if rule.matches(path)]
        if not matched:
            return Label(
                self.default, (f"{self._at(self.default_line)}: no rule matches; the default is {self.default}",)
            )
        *earlier, last = matched
        overridden = (
            f"{self._at(rule.line)}: {', '.join(rule.paths)} would be {rule.audience}; a later rule overrides it"
            for rule in earlier
        )
        return Label(
            last.audience, (*overridden, f"{self._at(last.line)}: {', '.join(last.paths)} is for {last.audience}")
        )

    def warnings(self, paths: Iterable[str]) -> tuple[PolicyWarning, ...]:
        """What to report of this policy over a library of these paths, by line."""
        return tuple(sorted(self._warnings(tuple(paths)), key=lambda warning: warning.line))

    def _warnings(self, paths: tuple[str, ...]) -> Iterator[PolicyWarning]:
        for audience in self.audiences.values():
            if audience.empty:
                yield PolicyWarning(
                    audience.line, f"the audience {audience.name} names nobody", "its runbooks are closed to everybody"
                )
        for rule in self.rules:
            for glob in rule.paths:
                exact, folded = _pattern(glob), _pattern(glob.casefold())
                normal = [unicodedata.normalize("NFC", path) for path in paths]
                missed = [path for path in normal if not exact.fullmatch(path) and folded.fullmatch(path.casefold())]
                if missed:
                    yield PolicyWarning(
                        rule.line, f"{glob} does not match {missed[0]}, whose case differs", "write the path as it is"
                    )
                elif not any(exact.fullmatch(path) for path in normal):
                    yield PolicyWarning(
                        rule.line, f"no runbook matches {glob}", "correct the pattern or delete the rule"
                    )

    def _at(self, line: int) -> str:
        return f"{Path(self.source).name}:{line}" if line else self.source


Policy.MEMBERS_ONLY = Policy(default=MEMBERS)


class PolicyFile:
    """The policy in force: read again whenever the file changes. Calling it gives the policy.

    A file that can't be read any more, or doesn't parse, leaves the last good policy in force: `problem` is then the
    error, and it is logged once. Raises PolicyError when there is no good policy to begin with.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: PolicyError | None = None
        self._state = self._stat()
        self._policy = load_policy(path)

    def __call__(self) -> Policy:
        state = self._stat()
        if state != self._state or self._state is None:
            self._state = state
            self._reload()
        return self._policy

    def _stat(self) -> tuple[int, int, int] | None:
        """What changes when the file does; None where that can't be told, so that the file has to be read."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        young = time.time() - found.st_mtime < _RACY
        return None if young else (found.st_mtime_ns, found.st_size, found.st_ino)

    def _reload(self) -> None:
        try:
            raw = _read(self.path)
            same = _version(raw) == self._policy.version
            policy = self._policy if same else _parse(self.path, raw)
        except PolicyError as error:
            if str(error) != str(self.problem):
                log.error("The access policy can't be used; the last good one stays in force: %s", error)
            self.problem = error
            return
        if self.problem is not None or not same:
            log.info("The access policy was read again: %s, %d rules", policy.source, len(policy.rules))
        self.problem, self._policy = None, policy


def find_policy(access_file: Path | None, runbooks: Path) -> Path | None:
    """The policy's file: the one that was named, else `access.yaml` beside the runbook folder, if there is one."""
    if access_file is not None:
        return access_file
    beside = runbooks.resolve().parent / "access.yaml"
    return beside if beside.is_file() else None


def load_policy(path: Path) -> Policy:
    """Read a policy. Raises PolicyError with the file, the line and what to do."""
    return _parse(path, _read(path))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PolicyError(f"can't be read: {error.strerror}", where=path) from None


def _version(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _parse(path: Path, raw: bytes) -> Policy:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PolicyError("is not UTF-8", where=path, line=raw[: error.start].count(b"\n") + 1) from None
    return _Reader(path).policy(text, _version(raw))


class _Reader:
    """Walks YAML's node graph and not plain values: nodes have lines, and every scalar stays as it was written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def policy(self, text: str, version: str) -> Policy:
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise self.error(f"is not YAML: {error.problem}", mark.line + 1 if mark else None) from None
        except yaml.YAMLError as error:
            raise self.error(f"is not YAML: {error}".splitlines()[0]) from None
        if root is None:
            raise self.error("is empty", fix="it needs at least `default:`")
        top = self.mapping(root, "the policy", {"audiences", "default", "rules"})
        if "default" not in top:
            raise self.error("has no `default`", fix="for instance `default: members`")
        audiences = self.audiences(top["audiences"]) if "audiences" in top else {}
        rules = [self.rule(node, audiences) for node in self.sequence(top["rules"], "rules")] if "rules" in top else []
        return Policy(
            default=self.audience_name(top["default"], audiences),
            audiences=audiences,
            rules=tuple(rules),
            source=str(self.path),
            version=version,
            default_line=_line(top["default"]),
        )

    def audiences(self, node: yaml.Node) -> dict[str, Audience]:
        return {name: self.audience(name, value) for name, value in self.mapping(node, "audiences").items()}

    def audience(self, name: str, node: yaml.Node) -> Audience:
        line = _line(node)
        if name.casefold() in BUILT_IN:
            raise self.error(f"{name} is built in and can't be defined", line, "choose another name")
        if not _NAME.fullmatch(name):
            raise self.error(f"{name!r} can't name an audience", line, "use letters, digits, - and _")
        given = self.mapping(node, f"the audience {name}", {"usergroups", "users", "channels"})
        for key, form in _IDS.items():
            for value, at in self.words(given.get(key), key):
                if not form.fullmatch(value):
                    raise self.error(
                        f"{value!r} under {key} is not a Slack id", at, "names can change hands: give the id"
                    )
        return Audience(
            name=name,
            usergroups=tuple(value.removeprefix("@") for value, _ in self.words(given.get("usergroups"), "usergroups")),
            users=tuple(value for value, _ in self.words(given.get("users"), "users")),
            channels=tuple(value for value, _ in self.words(given.get("channels"), "channels")),
            line=line,
        )

    def rule(self, node: yaml.Node, audiences: Mapping[str, Audience]) -> Rule:
        given = self.mapping(node, "a rule", {"paths", "audience"})
        for key in ("paths", "audience"):
            if key not in given:
                raise self.error(f"the rule has no `{key}`", _line(node))
        globs = self.words(given["paths"], "paths")
        if not globs:
            raise self.error("the rule's `paths` is empty", _line(given["paths"]))
        return Rule(
            paths=tuple(self.glob(value, line) for value, line in globs),
            audience=self.audience_name(given["audience"], audiences),
            line=_line(node),
        )

    def glob(self, value: str, line: int) -> str:
        """A pattern that means the same to everybody who reads it; anything else is refused."""
        segments = value.split("/")
        if value.startswith(("/", "./", "!")) or ".." in segments or "\\" in value:
            raise self.error(f"{value!r} is not a path in the runbook folder", line, "write it as lint prints paths")
        if "" in segments:
            raise self.error(f"{value!r} has an empty part", line, "for a whole folder write folder/**")
        if any("**" in segment and segment != "**" for segment in segments):
            raise self.error(f"in {value!r}, ** is not a part of its own", line, "write folder/** or folder/*")
        if set(value) & set("[]{}"):
            raise self.error(f"{value!r} uses brackets", line, "only *, ? and ** are special; use ? or two patterns")
        return unicodedata.normalize("NFC", value)

    def audience_name(self, node: yaml.Node, audiences: Mapping[str, Audience]) -> str:
        name = self.scalar(node, "an audience")
        if name not in BUILT_IN and name not in audiences:
            known = ", ".join((*BUILT_IN, *sorted(audiences)))
            raise self.error(f"there is no audience {name!r}", _line(node), f"known are {known}")
        return name

    def words(self, node: yaml.Node | None, what: str) -> list[tuple[str, int]]:
        """One word or a list of words, each with its line."""
        if node is None:
            return []
        nodes = [node] if isinstance(node, yaml.ScalarNode) else self.sequence(node, what)
        return [(self.scalar(item, what), _line(item)) for item in nodes]

    def scalar(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise self.error(f"{what} must be one word", _line(node))
        return str(node.value)

    def sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(f"{what} must be a list", _line(node))
        return list(node.value)

    def mapping(self, node: yaml.Node, what: str, allowed: set[str] | None = None) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self.error(f"{what} must be a mapping of names to values", _line(node))
        found: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self.scalar(key_node, f"a key of {what}")
            if key in found:
                raise self.error(f"{key} is given twice", _line(key_node), "keep one of them")
            if allowed is not None and key not in allowed:
                raise self.error(
                    f"{what} has no key {key!r}", _line(key_node), f"known are {', '.join(sorted(allowed))}"
                )
            found[key] = value
        return found

    def error(self, problem: str, line: int | None = None, fix: str = "") -> PolicyError:
        return PolicyError(problem, where=self.path, line=line, fix=fix)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


@lru_cache(maxsize=4096)
def _pattern(glob: str) -> re.Pattern[str]:
    """`*` and `?` stay within one part of the path, `**` is any number of parts; leading dots are nothing special."""
    *folders, name = glob.split("/")
    head = "".join("(?:[^/]+/)*" if part == "**" else _part(part) + "/" for part in folders)
    return re.compile(head + (".+" if name == "**" else _part(name)), re.DOTALL)


def _part(part: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)) for char in part)
