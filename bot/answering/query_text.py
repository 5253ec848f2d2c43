"""What of a message is worth searching for: its words without the values of the moment.

An alert carries, beside the few words that its author wrote, what the template filled in: instance names, pod hashes,
addresses, numbers, label dumps, links. They differ at every firing, stand in no runbook, and drown the words. Each
rule says which kind of alert it helps; none knows a product or a page.
"""

from __future__ import annotations

import re

from bot.answering.alert_text import strip_markup
from bot.answering.models import Alert

LONGEST = 1_500
"""Characters that are searched for: a longer message repeats itself or is a log."""
_READ = 4 * LONGEST
"""Characters that are looked at to get there."""

_LEFTOVERS = re.compile(
    r"(?:(?<![\w-])[\w-]{1,40} ?[=:] ?)?‹[^‹›\n]{1,60}›"  # what redaction left of a secret
    r"|\{\{.{0,300}?\}\}|<no value>|\[no value\]|\$\{[^}\n]{0,300}\}|%\{[^}\n]{0,300}\}|\$labels\.\w+"  # of templates
)
_NOISE_LINE = re.compile(
    # what Grafana, Alertmanager templates, Datadog and Zabbix append below the words
    r"^(?:\W*(?:value|values|labels|annotations|source|silence|dashboard|panel|details|generator(?:url)?|graph|link|"
    r"tags|notified|event time|opdata|fingerprint|starts? ?at|ends? ?at|since|started|time|host|instance|pod|node|job|"
    r"namespace|cluster|container|endpoint|prometheus|receiver|region|account|severity|priority|status|state|old state|"
    r"current state|alertname|alert name|team|env|environment|runbook|runbook_url|playbook|notes_url|grafana_folder|"
    r"assigned|urgency|events?|event tags|short id|link to alarm|first seen|release|repository|application details|"
    r"time \(utc\)|alarm name)\s*[:=].*"
    r"|\W*(?:firing|resolved|triggered)\W*|the monitor was last triggered at .*|@[\w-]+"
    r"|\W*[a-z][\w.-]*\s?=\s?\S.*)$",  # a label as `name = value`
    re.IGNORECASE,
)
_FIELD = re.compile(
    # what the same templates write before the words: the words stay
    r"^\W*(?:alert|(?:alarm |trigger )?description|(?:alarm )?reason|message|problem|summary|text|title|subject|"
    r"service|project|application|component|health status|(?:re-?)?triggered(?: #\d+)?|firing|resolved)\s*:\s+",
    re.IGNORECASE,
)
_CALLS = re.compile(r"@(?:channel|here|everyone)\b")
_VALUES = (
    re.compile(r"https?://\S+|\bhttps?:/\S+"),
    re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE),  # UUID
    re.compile(
        r"\b(?:\d{4}[-./]\d\d[-./]\d\d|\d\d/\d\d/\d\d(?:\d\d)?)(?:[T ]\d\d:\d\d(?::\d\d)?\S*)?"
        r"|\b\d\d:\d\d(?::\d\d)?(?: ?UTC)?\b"
    ),  # time
    re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?(?::\d+)?\b"),  # address, port
    re.compile(r"\bip-\d+(?:-\d+){3}[\w.-]*(?::\d+)?|\bi-[0-9a-f]{8,}\b"),  # machines of cloud providers
    re.compile(
        r"(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,8}(?:internal|local|net|com|io|org|example|prod|lan|cluster)\b"
        r"(?::\d+)?(?![\w/])"
    ),  # host
    re.compile(r"(?<![\w-])[a-z][a-z0-9-]{0,60}-[0-9a-f]{8}-[a-z0-9]{4}\b"),  # a machine of a node pool
    re.compile(r"(?<=[a-z0-9])-[0-9a-f]{7,10}-[a-z0-9]{5}\b|(?<=[a-z])-[0-9a-f]{8,10}\b"),  # the hash of a pod
    re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b"),  # commit, digest
    re.compile(r"(?<![\w/.-])(?:[a-z][a-z0-9]*-)+(?:[a-z]{0,3}\d+)\b(?![-\w/])"),  # node-b-07, prod-eu1
    # A number as measured. A whole one is often the threshold, which the page names too, and tells siblings apart.
    re.compile(r"(?<![\w./-])[-+]?\d+(?:[.,]\d+)+ ?(?:[kKMGT]i?B?\b|%|ms\b|s\b)?"),
)
_GONE = "\x00"
"""Where a value was, while its sentence is being cleaned."""
_REMAINS = re.compile(
    r"(?:\b(?:on|in|at|for|from|of|by|to|with|via|since)(?: the)?"
    r"(?: (?:cluster|node|host|instance|pod|namespace|server|device|machine|endpoint|job))? )?"
    rf"[(\"'`]?{_GONE}[\"'`)]?(?:[/:]{_GONE})*"
)
"""What led to a value and says nothing without it: "on cluster …", "(…)"."""
_IDENTIFIER = re.compile(
    r"\b(?:[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+(?:[A-Z][a-z0-9]+)+|E[A-Z]{4,}"
    r"|[A-Z]{2,}[-_]\d+|[A-Z]{2,}(?:_[A-Z0-9]+)+|SQLSTATE ?\w{5}|exit code \d+|[45]\d\d)\b"
)


def worth_searching(text: str, alert: Alert | None) -> str:
    """The words of `text` (clean) to search for: those of the alert's name, summary and description, values removed.

    Never empty where `text` has a word: if every rule together leaves nothing, the text stays as it is.
    """
    if alert is None:
        kept = strip_markup(text)
    else:
        prose = [alert.labels[key] for key in ("summary", "description", "reason") if alert.labels.get(key)]
        rest = alert.summary.split("\n")
        lines = [line for line in rest if not _is_title(line, alert) and not _NOISE_LINE.match(line)]
        lines = [_CALLS.sub("", _FIELD.sub("", line)) for line in lines]
        if prose:  # named fields hold the words; other lines stay where they are sentences
            lines = [
                *prose,
                *(line for line in lines if ":" not in line[:40] and not any(line in p or p in line for p in prose)),
            ]
        kept = "\n".join([alert.name, *lines])
    cleaned = without_values(kept[:_READ])
    return (cleaned or " ".join(text.split()))[:LONGEST]


def without_values(text: str) -> str:
    """`text` without template leftovers, label dumps, links, hosts, hashes, addresses, times and measured numbers."""
    for pattern in (_LEFTOVERS, *_VALUES):
        text = pattern.sub(_GONE, text)
    text = _REMAINS.sub(" ", text)
    lines = (re.sub(r"\s+([.,;:)])", r"\1", " ".join(line.split())) for line in text.split("\n"))
    lines = (line.strip(" -,;:=") for line in lines)
    return "\n".join(dict.fromkeys(line for line in lines if re.search(r"[^\W\d_]{2}", line)))


def identifiers_in(text: str) -> tuple[str, ...]:
    """Error codes, metric names, CamelCase words and the like, each once, in order."""
    return tuple(dict.fromkeys(match[0] for match in _IDENTIFIER.finditer(text[: 10 * LONGEST])))


def _is_title(line: str, alert: Alert) -> bool:
    """The line that the name was read from: its other words are values of labels."""
    return bool(alert.name) and alert.name in line and (line.startswith("[") or line.upper().startswith("PROBLEM"))
