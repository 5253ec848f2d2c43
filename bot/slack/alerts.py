"""Messages as Slack delivers them, read: into plain words, and into an Alert.

The words of an alert are often not in `text`: they stand in attachments and blocks, more than once. `flatten` brings
them into reading order, each line once; `read_alert` then decides from marks that a monitoring system sets (tags,
labelled fields, colour, emoji) and not from alarming words in prose, what kind of message it is.

Everything here is raw: redaction comes before any of it is logged, kept or searched.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from bot.answering.models import Alert, Severity
from bot.slack.markup import is_runbook_link, plain, rich_text_words

Event = Mapping[str, Any]
Status = Literal["firing", "resolved", "unknown"]

_NO_PREVIEW = "[no preview available]"
_EMOJI = re.compile(r":[a-z0-9_+\-']*[a-z_][a-z0-9_+\-']*:(?!\w)")
_MANY_LINES, _LONG_LINE = 300, 600
"""Beyond these a post is no list of labels any more, and is read less closely."""
_URL = re.compile(r"https?://[^\s<>()\"'`|]+")


# --- words --------------------------------------------------------------------------------------------------


def message_of(event: Event) -> Event:
    """The message itself: of an edit, the new version."""
    given = event.get("event")
    event = given if isinstance(given, Mapping) else event
    inner = event.get("message")
    return inner if event.get("subtype") == "message_changed" and isinstance(inner, Mapping) else event


def flatten(event: Event) -> str:
    """Everything that a person would read in a message, each line once, in reading order; no link previews."""
    seen: set[str] = set()
    lines: list[str] = []
    for piece in _pieces(message_of(event)):
        for line in piece.split("\n"):
            key = re.sub(r"[\W_]+", "", _EMOJI.sub("", line)).casefold() or line.strip()
            again = key in seen or (len(key) > 20 and len(seen) < _MANY_LINES and any(key in other for other in seen))
            if key and not again:
                seen.add(key)
                lines.append(line.rstrip())
    return "\n".join(lines)


def _pieces(message: Event) -> Iterator[str]:
    yield plain(str(message.get("text") or ""))
    for block in _dicts(message.get("blocks")):
        yield from _of_block(block)
    for attachment in _attachments(message):
        yield from _of_attachment(attachment)


def _attachments(message: Event) -> list[Event]:
    """The attachments without link previews, which are somebody else's words."""
    given = _dicts(message.get("attachments"))
    return [one for one in given if not (one.get("from_url") or one.get("original_url"))]


def _of_attachment(attachment: Event) -> Iterator[str]:
    pieces = [plain(str(attachment.get(key) or "")) for key in ("pretext", "author_name", "title", "text")]
    for field in _dicts(attachment.get("fields")):
        pieces.append(_labelled(plain(str(field.get("title") or "")), plain(str(field.get("value") or ""))))
    for block in [*_dicts(attachment.get("blocks")), *_dicts(attachment.get("message_blocks"))]:
        inner = block.get("message")
        pieces += _pieces(inner) if isinstance(inner, Mapping) else _of_block(block)
    if not any(piece.strip() for piece in pieces):
        fallback = str(attachment.get("fallback") or "")
        pieces = [] if fallback == _NO_PREVIEW else [plain(fallback)]
    yield from pieces


def _of_block(block: Event) -> Iterator[str]:
    match block.get("type"):
        case "section":
            yield _text(block.get("text"))
            for field in _dicts(block.get("fields")):
                label, _, value = _text(field).partition("\n")
                yield _labelled(label, value)
        case "header" | "markdown":
            yield _text(block.get("text"))
        case "context":
            yield "\n".join(_text(element) for element in _dicts(block.get("elements")))
        case "rich_text":
            yield rich_text_words(_dicts(block.get("elements")))
        case "table":
            rows = block.get("rows")
            for row in rows if isinstance(rows, list) else ():
                yield " | ".join(_cell(cell) for cell in _dicts(row))


def _cell(cell: Event) -> str:
    return rich_text_words(_dicts(cell.get("elements"))) if cell.get("type") == "rich_text" else _text(cell)


def _text(value: object) -> str:
    if isinstance(value, str):
        return plain(value)
    if not isinstance(value, Mapping):
        return ""
    words = str(value.get("text") or "")
    return words if value.get("type") == "plain_text" else plain(words)


def _labelled(label: str, value: str) -> str:
    label, value = label.strip(), value.strip()
    if not (label and value):
        return label or value
    return f"{label.rstrip(':')}: {value}"


def _dicts(value: object) -> list[Event]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


# --- alerts -------------------------------------------------------------------------------------------------

_FIRING_TAG = re.compile(
    r"(?i)\[(?:firing|alert(?:ing)?|trigger(?:ed)?|problem|critical|crit|warn(?:ing)?|error|down|fatal|"
    r"sev-?\d|p[0-5])\b[^\]]*\]"
)
_FIRING_HEAD = re.compile(
    r"(?i)^\W*(?:(?:re-?)?triggered|problem|alarm|firing|fired|critical|alert(?:ing)?|escalated|down|outage)\b"
    r"\W*(?:[:#\-–—|]|\bfor\b|\bon\b|$)|"
    r"(?i:^\W*(?:new alert|incident (?:opened|triggered|created|started))\b)|"
    r"(?i:\balarm\b.{0,80}\btriggered\b)|(?i:\bin alarm\b)|"
    r"^\W*(?-i:PROBLEM|ALARM|CRITICAL|WARNING|DOWN|UNKNOWN|FATAL|ALERT)\b|"
    r"\bis (?-i:DOWN|UNREACHABLE|CRITICAL|FIRING|FAILING|LATE)\b"
)
_ONGOING = re.compile(r"(?i)\b(?:is (?:active|firing|alerting|ongoing)|needs attention|violation opened)\b")
_RESOLVED_TAG = re.compile(r"(?i)\[[^\]]*\b(?:resolved|ok|recover(?:ed|y)|up|closed|normal)\b[^\]]*\]")
_RESOLVED_HEAD = re.compile(
    r"(?i)^\W*(?:(?:auto-?)?resolved|recover(?:ed|y)|ok|cleared|closed|back to normal|up)\b\W*(?:[:#\-–—|]|$)|"
    r"\bis (?-i:UP|OK)\b|"
    r"\b(?:has been resolved|(?:is|was) resolved|has recovered|is back (?:up|online|to normal)|returned to normal)\b"
)
_GOOD_NEWS = re.compile(
    r"(?i)\b(?:succe(?:ss|ssful|ssfully|eded)|passed|deployed|released|synced|rolled out|now running|"
    r"completed|merged|published|is healthy|finished)\b"
)
_BAD_NEWS = re.compile(
    r"(?i)\b(?:degraded|crash(?:ing|ed|es|loop\w*)?|unreachable|unavailable|unhealthy|timed? ?out|\w*error|"
    r"\w*exception|fail(?:ed|ing|ure|s)?|down|exceed(?:ed|s)?|above|below|threshold|oomkilled|outage|lag(?:ging)?|"
    r"too (?:many|high|low|slow)|is (?:high|low|full)|high|low|expir(?:ed|es|ing)|refused|dropped|stuck|missing)\b"
)
_FIRING_STATES = {
    "firing", "alarm", "alerting", "triggered", "problem", "down", "degraded", "critical", "open", "active", "new",
    "escalating", "error", "unhealthy", "outofsync", "failed", "warning", "warn", "p1", "p2",
}  # fmt: skip
_RESOLVED_STATES = {
    "resolved", "ok", "normal", "up", "recovered", "recovery", "closed", "inactive", "healthy", "cleared",
}  # fmt: skip
_STATE_LABELS = ("status", "state", "currentstate", "newstate", "newstatevalue", "alertstate", "healthstatus", "health")
_SERVICE_LABELS = (
    "service", "servicename", "affectedservice", "impactedservice", "app", "appname", "application", "applicationname",
    "kubernetesapp", "appkubernetesioname", "component", "project", "monitorname", "system",
)  # fmt: skip
_WORKLOAD_LABELS = ("deployment", "statefulset", "daemonset", "workload", "pod", "container", "job", "consumergroup")
_NAME_LABELS = ("alertname", "alarmname", "alert", "monitor", "rulename", "problem", "check", "incident", "title")
_MONITORING_LABELS = ("severity", "urgency", "level", "alertpriority")
"""Labels that tickets do not have, as they have a priority."""
_SEVERITY_LABELS = ("severity", "priority", "urgency", "level", "alertpriority", "prio", "impact")
_CRITICAL = (
    "critical", "crit", "fatal", "emergency", "disaster", "page", "sev0", "sev1", "p0", "p1", "high", "highest",
    "major", "urgent",
)  # fmt: skip
_WARNING = (
    "warning", "warn", "minor", "average", "medium", "moderate", "error", "err", "sev2", "sev3", "p2", "p3",
)  # fmt: skip
_INFO = ("info", "information", "informational", "low", "lowest", "notice", "debug", "sev4", "sev5", "p4", "p5")
_SEVERITIES: dict[str, Severity] = {
    **dict.fromkeys(_CRITICAL, "critical"),
    **dict.fromkeys(_WARNING, "warning"),
    **dict.fromkeys(_INFO, "info"),
}

_LINE_LABEL = re.compile(
    r"^[\s•*●◦\-–>|]*(?P<key>[A-Za-z][\w .()/\-]{0,40}?)\s*(?P<sep>=|:(?=\s|$)|:\s*(?=`))\s*(?P<value>\S.*)$"
)
_INLINE_LABEL = re.compile(r"(?<![\w?&/.])(?P<key>[A-Za-z_][\w.\-/]*)=(?P<value>\"[^\"\n]*\"|[^\s,;\"{}()\[\]]+)")
_TAG = re.compile(r"(?<![\w/])(?P<key>[a-z][\w.\-]*):(?P<value>[\w.\-/]+)(?=[,\s}\])]|$)")
_CHAIN_LABEL = re.compile(
    r"(?:^|\s{2,})(?P<key>[A-Za-z][\w]*(?: [A-Za-z]\w*){0,2}):\s+(?P<value>\S+(?: \S+)*?)(?=\s{2,}|$)"
)
_POD_HASH = re.compile(r"-(?:[0-9a-f]{6,10}-[a-z0-9]{5}|[a-z0-9]{5}|\d+)$")
_TITLE_NOISE = re.compile(
    r"(?i)^(?:[^\w\[/(]*(?:\[[^\]]*\]|(?:(?:re-?)?triggered|resolved|problem|recovered|recovery|alarm|alert|ok|firing|critical|"
    r"warning|down|up)(?=\s*[:#\-–\[]))[\s:\-–|]*)+"
)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)+|[a-z][a-z0-9]{2,}", re.ASCII)
_CAMEL = re.compile(r"^[A-Z][A-Za-z0-9]*[a-z0-9][A-Z][a-z0-9]+[A-Za-z0-9]*$")
_SENDER = re.compile(
    r"(?i)(?:[\w.]+ ){0,3}(?:alerts?|notifications?|monitoring)|nagios|icinga|zabbix|grafana|prometheus"
)
"""A title that says only who sends: "Uptime Kuma Alert"."""
_METRIC_TAIL = re.compile(
    r"(?i)(?:[-_. ](?:[2345]xx|errors?|latency|cpu|mem(?:ory)?|disk|high|low|alarm|alert|p\d\d|rate|count|usage|"
    r"utili[sz]ation|unhealthy|hosts?|down|depth|age|lag|health|status|requests?|throttles?))+$"
)
_NO_SERVICE = re.compile(
    r"(?i)firing|resolved|alerting|ok|p\d|critical|warning|down|up|details|has|is|prod(?:uction)?|stag(?:e|ing)|dev|test|live"
)
_SAYS_SERVICE = (
    re.compile(r"^\W*\[(?P<name>[a-z][\w.\-]*[a-z0-9])\]"),
    re.compile(r"(?i)\bapplication (?P<name>[a-z0-9][\w.\-]*[a-z0-9])\b"),
    re.compile(r"(?i)\bservice[ :]+[`\"']?(?P<name>[a-z][\w.]*-[\w.\-]*[a-z0-9])\b"),
    re.compile(r"(?i)\bpod (?:[a-z0-9\-]+/)?(?P<pod>[a-z][a-z0-9\-]*[a-z0-9])\b"),
)


def read_alert(event: Event) -> Alert:
    """What a message says as an alert. `is_alert` is False for deploy notices, successes and talk."""
    message = message_of(event)
    text = flatten(event)
    labels = _labels(message, text)
    titles = _titles(message, text)
    status, is_alert = _kind(message, titles, labels)
    summary = "\n".join(re.sub(r"[ \t]{2,}", " ", _EMOJI.sub("", line)).strip() for line in text.split("\n"))
    alert = Alert(is_alert=is_alert, status=status, summary=summary, labels=labels, runbook_url=_runbook(message, text))
    if not is_alert:
        return alert
    return alert.model_copy(
        update={
            "service": _service(titles, text, labels),
            "name": _name(titles, labels),
            "severity": _severity(titles, labels),
        }
    )


def _key(label: str) -> str:
    return re.sub(r"[\W_]+", "", label).casefold()


def _first(labels: Mapping[str, str], wanted: Iterable[str]) -> str:
    known = {_key(label): value for label, value in reversed(list(labels.items()))}
    return next((known[key] for key in wanted if known.get(key)), "")


def _labels(message: Event, text: str) -> dict[str, str]:
    """Every `label: value`, `label = value` and `key:value` tag, in reading order; the first of a name wins."""
    labels: dict[str, str] = {}

    def add(key: str, value: str) -> None:
        value = value.strip().strip("`\"'*").strip()
        if value and not value.startswith("//"):
            labels.setdefault(key.strip().strip("*_`"), value)

    for field in (f for a in _attachments(message) for f in _dicts(a.get("fields"))):
        add(plain(str(field.get("title") or "")), _EMOJI.sub("", plain(str(field.get("value") or ""))))
    for raw in text.split("\n")[:_MANY_LINES]:
        line = _EMOJI.sub("", raw)[:_LONG_LINE]
        chain = list(_CHAIN_LABEL.finditer(line))
        if len(chain) > 1:
            for found in chain:
                add(found["key"], found["value"])
        elif whole := _LINE_LABEL.match(line):
            add(whole["key"], whole["value"])
        for pattern in (_INLINE_LABEL, _TAG):
            for found in pattern.finditer(_URL.sub("", line)):
                add(found["key"], found["value"])
    return labels


def _titles(message: Event, text: str) -> list[str]:
    """The lines that say what the message is about: titles, headers, and the first lines."""
    titles = [plain(str(a.get("title") or "")) for a in _attachments(message)]
    blocks = [*_dicts(message.get("blocks"))]
    for attachment in _attachments(message):
        blocks += _dicts(attachment.get("blocks"))
    titles += [_text(block.get("text")) for block in blocks if block.get("type") == "header"]
    first = [line for line in text.split("\n") if line.strip()][:3]
    return [title[:_LONG_LINE] for title in dict.fromkeys([*titles, *first]) if title.strip()][:20]


def _hue(message: Event) -> Literal["bad", "good", ""]:
    """What the bars beside the attachments say; Slack delivers `danger` as `a30200`, `good` as `2eb886`."""
    for attachment in _attachments(message):
        colour = str(attachment.get("color") or "").lstrip("#")
        colour = {"danger": "a30200", "warning": "daa038", "good": "2eb886"}.get(colour, colour)
        if not re.fullmatch(r"[0-9a-fA-F]{6}", colour):
            continue
        hue, saturation, value = colorsys.rgb_to_hsv(*(int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)))
        if saturation > 0.3 and value > 0.2:
            degrees = hue * 360
            return "bad" if degrees < 55 or degrees > 325 else "good" if 80 < degrees < 175 else ""
    return ""


_BAD_EMOJI = re.compile(
    r":(?:rotating_light|red_circle|fire|exclamation|bangbang|warning|x|no_entry\w*|sos|boom|siren\w*|alert\w*):|[🚨🔴🔥❗❌⚠]"
)
_GOOD_EMOJI = re.compile(
    r":(?:white_check_mark|heavy_check_mark|large_green_circle|green_heart|tada|rocket):|[✅🟢🎉🚀]"
)


def _kind(message: Event, titles: list[str], labels: Mapping[str, str]) -> tuple[Status, bool]:
    """The status, and whether it is an alert at all: two marks make one, a tag or a labelled state counts for two."""
    bare = [_EMOJI.sub("", title) for title in titles]
    firing = any(_FIRING_TAG.search(title) or _FIRING_HEAD.search(title) for title in bare)
    resolved = any(_RESOLVED_TAG.search(title) or _RESOLVED_HEAD.search(title) for title in bare)
    states = {word for label in _STATE_LABELS if (word := _key(_first(labels, [label])))}
    labelled_firing, labelled_resolved = bool(states & _FIRING_STATES), bool(states & _RESOLVED_STATES)
    hue = _hue(message)
    good_news = any(_GOOD_NEWS.search(title) for title in bare)
    if resolved and not any(re.search(r"(?i)\bfiring\b", title) for title in bare):
        return "resolved", True
    if labelled_resolved and not (labelled_firing or firing) and not good_news:
        return "resolved", True
    marks = 2 * firing + 2 * labelled_firing
    marks += any(_BAD_EMOJI.search(title) for title in titles)
    marks += any(_BAD_NEWS.search(title) for title in bare)
    marks += hue == "bad"
    marks += hue == "bad" and bool(labels)
    marks += any(_ONGOING.search(title) for title in bare)
    marks += bool(_first(labels, _MONITORING_LABELS)) + bool(_first(labels, ("alertname", "alarmname")))
    if hue == "good" or any(_GOOD_EMOJI.search(title) for title in titles) or (good_news and not firing):
        marks -= 2
    return ("firing", True) if marks >= 2 else ("unknown", False)


def _service(titles: list[str], text: str, labels: Mapping[str, str]) -> str | None:
    if named := _first(labels, _SERVICE_LABELS):
        return re.sub(r"\s*\(https?://\S+\)$", "", named)
    tags = _first(labels, ("tags", "eventtags", "labels"))
    if found := re.search(r"\bservice[:=]\s{0,5}([\w.\-]+)", tags + "\n" + text):
        return found[1]
    bare = [_EMOJI.sub("", title) for title in titles]
    for pattern in _SAYS_SERVICE:
        for line in bare:
            if found := pattern.search(line):
                groups = found.groupdict()
                name = groups.get("name") or _POD_HASH.sub("", groups["pod"])
                if not _NO_SERVICE.fullmatch(name):
                    return name
    if (alarm := _first(labels, ("alarmname",))) and not _CAMEL.match(alarm):
        return _METRIC_TAIL.sub("", alarm) or None
    for title in bare:  # Alertmanager's own template: the values of the group labels, then the others in brackets
        words = _TITLE_NOISE.sub("", title).partition("(")[0].split()
        if len(words) == 2 and _CAMEL.match(words[0]) and _NAME.fullmatch(words[1]):
            return words[1]
    if workload := _first(labels, _WORKLOAD_LABELS):
        return _POD_HASH.sub("", workload)
    return None


def _name(titles: list[str], labels: Mapping[str, str]) -> str:
    if named := _first(labels, _NAME_LABELS[:2]):
        return named
    bare = [
        re.sub(r"^\W*#\d+\W*", "", _TITLE_NOISE.sub("", _EMOJI.sub("", title)).strip()).strip("*~_ ")
        for title in titles
    ]
    for title in bare:
        if _CAMEL.match(first := title.split(" ")[0].rstrip(":")):
            return first
    told = [title for title in bare if title and not _SENDER.fullmatch(title)] or [title for title in bare if title]
    return re.sub(r"\s*\([^()]*\)$", "", told[0])[:200] if told else _first(labels, _NAME_LABELS)


def _severity(titles: list[str], labels: Mapping[str, str]) -> Severity:
    if severity := _SEVERITIES.get(_key(_first(labels, _SEVERITY_LABELS).split(" ")[0] or "")):
        return severity
    for title in titles:
        for word in re.findall(r"[\w\-]+", title):
            if severity := _SEVERITIES.get(_key(word)):
                if word.casefold() in ("high", "low", "error", "average", "page", "medium", "major", "minor"):
                    continue  # in a title these are mostly about a metric
                return severity
    return "unknown"


def _runbook(message: Event, text: str) -> str | None:
    for line in text.split("\n"):
        for found in _URL.finditer(line):
            if is_runbook_link(found[0], before=line[max(0, found.start() - 60) : found.start()]):
                return found[0].rstrip(".,;")
    buttons = [b for block in _dicts(message.get("blocks")) for b in _dicts(block.get("elements"))]
    for attachment in _attachments(message):
        buttons += _dicts(attachment.get("actions"))
        buttons += [b for block in _dicts(attachment.get("blocks")) for b in _dicts(block.get("elements"))]
    for button in buttons:
        url = str(button.get("url") or "")
        if url and is_runbook_link(url, _text(button.get("text"))):
            return url
    return None
