"""Reads an alert out of plain text: the forms in which the common monitoring systems write.

What Slack wraps around it (blocks, attachments, fields) is undone before, in `bot.slack.alerts`; a person who pastes
an alert into a question goes the same way. A form is a general one: the title line of Alertmanager and Grafana, of
Nagios and Icinga, of Zabbix, Datadog, PagerDuty, CloudWatch, Uptime Kuma and Sentry, and lines of `name: value`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from bot.answering.models import Alert, Severity

Status = Literal["firing", "resolved", "unknown"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SEVERITIES: dict[Severity, frozenset[str]] = {
    "critical": _words("critical crit fatal emergency disaster page high error p1 p2 sev1 sev2 major alert"),
    "warning": _words("warning warn average medium moderate minor p3 sev3 degraded"),
    "info": _words("info information informational notice none low p4 p5 sev4 sev5 debug"),
}
_FIRING = _words(
    "firing problem triggered re-triggered alarm alert down critical warning warn unknown unreachable open opened "
    "degraded failed failing"
)
_RESOLVED = _words("resolved recovery recovered ok up closed normal back succeeded")
_FAILING = re.compile(
    r"\b(?:down|degraded|fail(?:s|ed|ing|ures?)?|errors?|crash(?:ed|es|ing)?|unreachable|unavailable|timed?[ -]?out"
    r"|exceed(?:s|ed)|critical|exhausted|above|below|too (?:high|low|many|long)|not (?:running|responding|ready)"
    r"|restarting|expir(?:es|ed|ing)|stuck|lag(?:ging)?|full)\b",
    re.IGNORECASE,
)
_FINE = re.compile(
    r"\b(?:succeeded|successful(?:ly)?|passed|merged|deployed|now running|finished|completed|synced|restored)\b",
    re.IGNORECASE,
)

_MARKUP = re.compile(
    r"(?<![\w*])\*{1,2}(?=\S)([^*\n]+?)(?<=\S)\*{1,2}(?![\w*])|```|`|(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)"
)
_EMOJI = re.compile(
    r"(?<!\w):(?=[0-9_+-]*[a-z])[a-z0-9_+-]{2,60}:(?!\w)|[\U0001F300-\U0001FAFF\u2600-\u27BF\uFE0F\u2B55\u2757]"
)
_LINK = re.compile(r"<(https?://[^|<>\s]+)(?:\|([^<>]*))?>")
_MENTION = re.compile(r"<[!@#][^<>]*>")
_FIELD = re.compile(r"^\s*(?:[-•●*]\s*)?([A-Za-z][\w .()/-]{0,40}?)\s*(?::|=)\s+(\S.*?)\s*$")
_TAG = re.compile(r"(?:^|,)\s*([A-Za-z][\w.-]{0,40})\s*[:=]\s*([^,\s][^,]*?)\s*(?=,|$)")
_URL = re.compile(r"https?://[^\s<>|\"')\]]+")

_ALERTMANAGER = re.compile(
    r"^\[(FIRING|RESOLVED|ALERTING|OK|NO ?DATA|PENDING|ALERT)(?::\s*\d+)?(?:,[^\]]*)?\]\s*(.*)$", re.IGNORECASE
)
_NAGIOS = re.compile(
    r"^\W*(PROBLEM|RECOVERY|ACKNOWLEDGEMENT|FLAPPING\w*|DOWNTIME\w*)(?:\s+(?:service|host)?\s*alert)?\s*[-:]\s*"
    r"(?:(?P<host>[^\s/]+)\s*/\s*)?(?P<check>.+?)(?:\s+is\s+(?P<state>CRITICAL|WARNING|OK|UNKNOWN|DOWN|UP|UNREACHABLE))?[\s*]*$",
    re.IGNORECASE,
)
_COLON = re.compile(
    r"^\W*(Problem|Resolved|(?:Re-)?Triggered|Recovered|Alarm|Alert|OK|Warn(?:ing)?|Critical|No data|Down|Up|Firing)"
    r"(?:\s+in\s+[\dsmhd ]+|\s+on\s+\S+)?(?:\s+\[?#\d+\]?)?\s*:\s*(?P<rest>\S.*)$",
    re.IGNORECASE,
)
_ALARM = re.compile(
    r"^\W*(?P<state>ALARM|OK)?:?\s*(?:Alarm\s+)?\"?(?P<name>[\w./ -]+?)\"?\s+"
    r"(?:triggered|in ALARM|in [A-Z]{2} \(|is in state)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"^\[([^\]\n]{1,80})\]\s*\[\s*(\w+)\s*\]\s*(.*)$")
_PROJECT = re.compile(r"^\[([\w.-]{2,60})\]\s+(\S.*)$")
_PRIORITY = re.compile(r"(?<!\w)\[?(P[1-5]|SEV-?[1-5])\]?(?!\w)", re.IGNORECASE)
_LABELS = re.compile(r"\s*\(([^()]*)\)\s*$")
_IDENTIFIER = re.compile(r"^(?=.*[a-z])[A-Za-z][A-Za-z0-9]*(?:[A-Z][A-Za-z0-9]*)+$|^[A-Za-z]+(?:_[A-Za-z0-9]+)+$")
_APPLICATION = re.compile(
    r"\b(?:application|app|service|deployment)\s+([a-z][\w.-]+)\s+(?:has|is|was)\b", re.IGNORECASE
)

_POD = re.compile(r"\bpod\s+(?:[\w.-]+/)?([a-z][a-z0-9-]*?)-[a-z0-9]{6,10}-[a-z0-9]{5}\b", re.IGNORECASE)
_MEASURED = re.compile(
    r"^([a-z][a-z0-9]*(?:-[a-z0-9]+)*?)-(?:[45]xx|cpu|memory|disk|storage|latency|errors?|error-rate|throttles?|lag|health)$"
)
_LONGEST_TITLE = 400

_KEYS = {
    "alertname": "alertname", "alert name": "alertname", "alarm name": "alertname", "monitor": "alertname",
    "check": "alertname", "trigger": "alertname",
    "severity": "severity", "urgency": "severity", "priority": "severity", "level": "severity",
    "service": "service", "services": "service", "app": "app", "application": "app", "component": "component",
    "project": "project", "job": "job", "namespace": "namespace", "cluster": "cluster", "host": "host",
    "environment": "environment", "env": "environment", "status": "status", "state": "status",
    "current state": "status", "health status": "status",
    "summary": "summary", "description": "description", "alarm description": "description",
    "alarm reason": "reason", "trigger description": "description",
    "runbook": "runbook", "runbook_url": "runbook", "runbook url": "runbook", "playbook": "runbook",
    "notes_url": "runbook", "notes url": "runbook", "documentation": "runbook",
}  # fmt: skip
_PROSE = frozenset({"alertname", "summary", "description", "reason"})
_NEXT_FIELD = re.compile(r"\s+([A-Za-z]+(?: [A-Z]\w*)?):(?=\s)")
"""`environment: production level: error`: several in one line."""
_SERVICE_LABELS = ("service", "app", "project")


def strip_markup(text: str) -> str:
    """`text` without marks of Slack or Markdown, emoji and mentions; a link leaves its words, else its address."""
    text = _LINK.sub(lambda m: m[2] if m[2] and _EMOJI.sub("", m[2]).strip() else m[1], text)
    text = _MENTION.sub("", text)
    for _ in range(2):  # bold inside code, code inside bold
        text = _MARKUP.sub(lambda m: m[1] or m[2] or "", text)
    text = _EMOJI.sub("", text)
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def read_severity(word: str) -> Severity:
    """The severity that a word of some monitoring system stands for; "unknown" for every other word."""
    wanted = word.strip().strip("[]").casefold().replace("sev-", "sev")
    return next((severity for severity, words in _SEVERITIES.items() if wanted in words), "unknown")


def read_alert_text(text: str) -> Alert:
    """What an alert says, read from its plain text. `is_alert` is False where it does not read like one.

    `labels` holds what the text names (`alertname`, `severity`, `namespace`, …); values that Alertmanager lists
    without names are no labels. Never raises.
    """
    summary = strip_markup(text)
    lines = [line for line in summary.split("\n") if line]
    if not lines:
        return Alert(is_alert=False)
    labels = dict(_labels(lines))
    runbook = _runbook_url(text, labels)
    title = next(filter(None, (_title(line[:_LONGEST_TITLE]) for line in lines[:3])), None)
    status, name, service, severity = title or ("unknown", "", None, "unknown")

    name = labels.get("alertname") or name
    service = next((labels[key] for key in _SERVICE_LABELS if labels.get(key)), None) or service
    severity = next((s for s in (read_severity(labels.get("severity", "")), severity) if s != "unknown"), "unknown")
    status = status if status != "unknown" else _status(labels.get("status", ""))
    if title is None:
        loose = _loosely(lines, labels)
        if loose is None:
            return Alert(is_alert=False, summary=summary, labels=labels, service=service, runbook_url=runbook)
        status = loose if status == "unknown" else status
        service = service or _service_in_words(lines[0])
    service = service or _service_in_name(name)
    if severity == "unknown" and (priority := _PRIORITY.search("\n".join(lines[:3]))):
        severity = read_severity(priority[1])
    return Alert(
        status=status,
        severity=severity,
        service=service,
        name=name,
        summary=summary,
        labels=labels,
        runbook_url=runbook,
    )


def _title(line: str) -> tuple[Status, str, str | None, Severity] | None:
    """Status, name, service and severity of a title line in one of the known forms; None for any other line."""
    if found := _ALERTMANAGER.match(line):
        status = _status(found[1]) if found[1].casefold() not in {"alerting", "no data", "nodata"} else "firing"
        return status, *_alertmanager_name(found[2])
    if found := _NAGIOS.match(line):
        state = (found["state"] or "").casefold()
        status = "resolved" if found[1].casefold() == "recovery" or state in _RESOLVED else "firing"
        severity: Severity = "critical" if state in {"down", "unreachable"} else read_severity(state)
        return status, found["check"].strip(), None, severity
    if found := _BRACKETS.match(line):
        if (status := _status(found[2])) == "unknown":
            return None
        return status, f"{found[1]} {found[2]}", found[1], "unknown"
    if found := _ALARM.match(line):
        return "resolved" if (found["state"] or "").casefold() == "ok" else "firing", found["name"], None, "unknown"
    if found := _COLON.match(line):
        rest = _PRIORITY.sub("", found["rest"]).strip(" -:")
        status = "firing" if found[1].casefold() == "no data" else _status(found[1])
        return status, rest.strip('"'), None, read_severity(found[1])
    if (found := _PROJECT.match(line)) and re.search(r"(?:Error|Exception|Timeout|Fault)\b", found[2]):
        return "firing", found[2], found[1], "unknown"
    return None


def _alertmanager_name(rest: str) -> tuple[str, str | None, Severity]:
    """Alertmanager's title: the values of the group's labels, then in brackets those of the other common labels."""
    severity: Severity = "unknown"
    if found := _LABELS.search(rest):
        words = [read_severity(word) for word in found[1].split()]
        severity = next((s for s in words if s != "unknown"), "unknown")
        rest = rest[: found.start()]
    rest = rest.split(" | ")[0].strip()
    first, _, others = rest.partition(" ")
    if _IDENTIFIER.match(first) or not others:
        return first, others if others and " " not in others else None, severity
    return rest, None, severity


def _labels(lines: list[str]) -> Iterator[tuple[str, str]]:
    """`name: value` lines (the first of a name wins), tags in one line, and names that stand alone above a value."""
    seen: set[str] = set()

    def once(key: str, value: str) -> Iterator[tuple[str, str]]:
        name = _KEYS.get(key.strip().casefold())
        if name and name not in _PROSE:
            value, *_ = _NEXT_FIELD.split(value, maxsplit=1)
        value = value.strip().strip("\"'")
        if name and value and name not in seen and len(value) <= 500:
            seen.add(name)
            yield name, value

    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if found := _FIELD.match(line):
            if found[1].strip().casefold() in {"tags", "event tags", "labels"}:
                for tag in _TAG.finditer(found[2]):
                    yield from once(tag[1], tag[2])
                continue
            yield from once(found[1], found[2])
            for other in _NEXT_FIELD.finditer(found[2]):
                yield from once(other[1], found[2][other.end() :])
        elif line.rstrip(":").casefold() in _KEYS and after and not _FIELD.match(after):
            yield from once(line.rstrip(":"), after)


def _service_in_words(line: str) -> str | None:
    """`Application inventory has degraded`, and the workload of `pod inventory-6c9f7d5b8-x2k4p`."""
    if found := _APPLICATION.search(line):
        return found[1]
    if found := _POD.search(line):
        return found[1]
    return None


def _service_in_name(name: str) -> str | None:
    """`cart-api` of `cart-api-5xx`: alarms of cloud providers are often named after a thing and what is measured."""
    found = _MEASURED.match(name)
    return found[1] if found else None


def _runbook_url(text: str, labels: dict[str, str]) -> str | None:
    if found := _URL.search(labels.get("runbook", "")):
        return found[0]
    for line in text.split("\n"):
        if re.search(r"run-?book|playbook", line, re.IGNORECASE) and (found := _URL.search(line)):
            return found[0].rstrip(".,")
    return None


def _status(word: str) -> Status:
    wanted = word.strip().casefold()
    return "firing" if wanted in _FIRING else "resolved" if wanted in _RESOLVED else "unknown"


def _loosely(lines: list[str], labels: dict[str, str]) -> Status | None:
    """The status of a post in no known form: an alert if it has a structure and its first words tell of a fault."""
    head = " ".join(lines[:2])
    if _FINE.search(head):
        return None
    status = _status(labels.get("status", ""))
    if status == "resolved":
        return status
    first_words = {line.split()[0].strip("[]():.,").casefold() for line in lines[:3]}
    if status == "firing" or first_words & {"firing", "triggered"}:
        return "firing"
    if {"alertname", "severity"} <= labels.keys():
        return "firing"
    structured = len(labels.keys() & {"alertname", "severity", "status", "service", "host", "project", "reason"}) > 0
    return "firing" if structured and _FAILING.search(head) else None
