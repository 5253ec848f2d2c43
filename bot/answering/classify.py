"""Classifies a question without a model, and builds the search from the chosen fields.

Deterministic: labels and fields of the alert, then names and aliases of the catalogue, then the channel's default
service. Two services that are named alike are none: never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot import sentences
from bot.access.models import Place
from bot.answering.alert_text import read_alert_text, read_severity
from bot.answering.models import Alert, Category, Incident, Severity
from bot.answering.query_text import identifiers_in, worth_searching
from bot.library.models import Catalogue, Service
from bot.search.models import Query

_LONGEST_SUMMARY = 300
_LONGEST_EVIDENCE = 120
_SERVICE_FIELDS = ("service", "app", "component", "project", "job", "namespace", "host")

_TELLING: dict[Category, str] = {
    "security": r"""certificates?|certs?|tls|ssl|x509|cve|vulnerabilit\w+|credentials?|unauthori[sz]ed|forbidden|401|403
        |ddos|botnet|intrusion|signing keys?|virus\w*|malware|permission denied|mitm|token expir\w+""",
    "database": r"""postgres\w*|mysql|mariadb|mongo\w*|databases?|db|sql|replication|replicas? lag|wal|pgbouncer
        |deadlocks?|too many clients|connection pool|slow quer\w+|vacuum|etcd|quorum""",
    "deploy": r"""deploy\w*|roll ?outs?|rolling|release|upgrad\w+|rollback|image ?pull\w*|helm|argo\w*|out ?of ?sync
        |since the last version|canary""",
    "network": r"""dns|network\w*|packets?|conntrack|tcp|routes?|routing|vpn|mtu|interface|connection refused|servfail
        |name resolution|nxdomain|unreachable|load ?balancers?|ingress""",
    "saturation": r"""disks?|inodes?|space|memory|ram|oom\w*|cpu|throttl\w+|quota|capacity|full|file ?descriptors?
        |file handles?|saturat\w+|overcommit\w*|fill\w* up|evict\w+|limits?|no space left""",
    "latency": r"""latency|slow\w*|p9[059]|99th|percentile|response times?|takes? too long|taking too long|duration\w*
        |lag\w*|behind|delay\w*""",
    "data": r"""backups?|snapshots?|restore|corrupt\w*|data loss|stale|inconsisten\w+|duplicat\w+|out of date
        |missing data""",
    "errors": r"errors?|5xx|50[0-9]|exceptions?|fail(?:s|ed|ing|ures?)?|rejected|crash\w*|panic\w*",
    "availability": r"""down|unavailable|unreachable|not (?:running|responding|ready|available)|absent|disappeared
        |offline|outage|health ?checks?|restart\w*|crash ?loop\w*|dead|can'?t reach|unhealthy|degraded""",
}
_CATEGORIES = {
    category: re.compile(r"\b(?:" + "".join(line.strip() for line in words.split("\n")) + r")\b", re.IGNORECASE)
    for category, words in _TELLING.items()
}
_ENVIRONMENT = re.compile(
    r"\b(?:prod(?:uction)?|staging|stage|dev(?:elopment)?|test|qa|uat|sandbox|preprod)(?:[-\w]*)\b", re.IGNORECASE
)


def classify(
    text: str,
    *,
    alert: Alert | None,
    hint: str | None,
    channel: Place,
    catalogue: Catalogue,
    context: Sequence[str] = (),
    wider: bool = False,
) -> tuple[Incident, Query]:
    """What `text` (clean) is about, and the search for it.

    `alert` is what was read out of an alert-bot's message; an alert that a person pasted is read here. `context` is
    more of the thread: it is searched only where the text itself says too little. The incident's service is a name of
    the catalogue or None.
    """
    if alert is None:
        pasted = read_alert_text(text)
        alert = pasted if pasted.is_alert else None
    words = worth_searching(text, alert)
    if len(words.split()) < 3 and context:
        words = "\n".join([words, *(worth_searching(each, None) for each in context)]).strip()
    service, confidence, evidence, missing = _service(text, alert, hint, channel, catalogue)
    category, telling = _category(alert.name if alert else "", words)
    if telling:
        evidence.append(_line_with(text, telling))
    if category == "other":
        missing.append(sentences.MISSING_SYMPTOM)
    if not (alert and alert.labels.get("environment")) and not _ENVIRONMENT.search(text):
        missing.append(sentences.MISSING_ENVIRONMENT)
    incident = Incident(
        summary=_shortened(_summary(text, alert, words), _LONGEST_SUMMARY),
        category=category,
        severity=alert.severity if alert else _severity(text),
        service=service.name if service else None,
        confidence=round(confidence if category != "other" else confidence * 0.8, 2),
        evidence=tuple(dict.fromkeys(_cut(piece, _LONGEST_EVIDENCE) for piece in evidence if piece)),
        missing_information=tuple(missing),
    )
    query = Query(
        text=words,
        alert_name=alert.name if alert else "",
        runbook_url=(alert.runbook_url or "") if alert else "",
        identifiers=identifiers_in(f"{alert.name}\n{words}" if alert else words),
        service=incident.service,
        wider=wider,
    )
    return incident, query


def _service(
    text: str, alert: Alert | None, hint: str | None, channel: Place, catalogue: Catalogue
) -> tuple[Service | None, float, list[str], list[str]]:
    """The service, how sure it is, what says so, and what is missing about it."""
    if hint:
        found = catalogue.find(hint)
        return found, (1.0 if found else 0.2), [], ([] if found else [sentences.MISSING_UNKNOWN_SERVICE])
    if alert:
        named = {"service": alert.service or "", **alert.labels}
        for field in _SERVICE_FIELDS:
            if found := catalogue.find(named.get(field, "")):
                return found, 0.95, [named[field]], []
    for where, confidence in ((alert.name if alert else "", 0.85), (text, 0.75)):
        mentioned = _mentioned(where, catalogue)
        if len(mentioned) == 1:
            (name, said), *_ = mentioned.items()
            return catalogue.find(name), confidence, [said], []
        if mentioned:
            return None, 0.2, list(mentioned.values()), [sentences.MISSING_AMBIGUOUS_SERVICE]
    if found := catalogue.of_channel(channel.id) or (catalogue.of_channel(channel.name) if channel.name else None):
        return found, 0.5, [], []
    return None, 0.2, [], [sentences.MISSING_SERVICE]


def _mentioned(text: str, catalogue: Catalogue) -> dict[str, str]:
    """Names of the services that `text` names by name or alias, each with the words that do; the longest name wins."""
    names = sorted(
        ((alias, s.name) for s in catalogue.services for alias in (s.name, *s.aliases)), key=lambda n: -len(n[0])
    )
    found: dict[str, str] = {}
    for alias, name in names:
        pattern = rf"(?<![\w-]){re.escape(alias)}(?![\w-])"
        if alias and (match := re.search(pattern, text, re.IGNORECASE)):
            found.setdefault(name, match[0])
            # `checkout-db` names no `checkout`, nor does an alias inside a longer one.
            text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return found


def _category(name: str, words: str) -> tuple[Category, str]:
    """The category of which most different words stand there, and one of them; where two are level, the first named."""
    text = f"{_spaced(name)}\n{words}"
    ranked: list[tuple[int, int, Category, str]] = []
    for category, pattern in _CATEGORIES.items():
        if matches := list(pattern.finditer(text)):
            different = len({m[0].casefold() for m in matches})
            ranked.append((different, -matches[0].start(), category, matches[0][0]))
    _, _, best, word = max(ranked, default=(0, 0, "other", ""))
    return best, word


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]", " ", name)


def _summary(text: str, alert: Alert | None, words: str) -> str:
    if alert:
        return alert.labels.get("summary") or alert.labels.get("description") or alert.name or words.split("\n")[0]
    return " ".join(text.split())


def _severity(text: str) -> Severity:
    """Of a person's words: only `P1`, `sev2` and the like say it."""
    found = re.search(r"\b(p[1-5]|sev-?[1-5])\b", text, re.IGNORECASE)
    return read_severity(found[1]) if found else "unknown"


def _line_with(text: str, word: str) -> str:
    return next((line.strip() for line in text.split("\n") if word.casefold() in line.casefold()), "")


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else _cut(text, longest - 1) + "…"


def _cut(text: str, longest: int) -> str:
    """The start of `text`, to the last whole word: evidence is quoted, so nothing is added."""
    return text if len(text) <= longest else text[: longest + 1].rsplit(" ", 1)[0][:longest]
