# ruff: noqa: E501
"""What is read out of alerts' plain text, what a question is about, and what is searched for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import sentences
from bot.access.models import Place, PlaceKind
from bot.answering.alert_text import read_alert_text, strip_markup
from bot.answering.classify import classify
from bot.answering.models import Incident
from bot.answering.query_text import LONGEST, identifiers_in, without_values, worth_searching
from bot.library.models import Catalogue, Service
from bot.search.models import Query

CATALOGUE = Catalogue(
    (
        Service("checkout", ("cart api",), channels=("C0SHOP",)),
        Service("checkout-db", ("postgres", "pgbouncer")),
        Service("redis", ("cart cache",)),
        Service("payments", channels=("C0PAY", "C0BOTH")),
        Service("kafka", channels=("C0BOTH",)),
    )
)


def ask(text: str, *, hint: str | None = None, channel: str = "C0NONE", **more: object) -> tuple[Incident, Query]:
    place = Place(channel, PlaceKind.PUBLIC)
    return classify(text, alert=None, hint=hint, channel=place, catalogue=CATALOGUE, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name", "status", "severity", "service"),
    [
        ("[FIRING:2] HighErrorRate checkout (prod-eu1 critical)", "HighErrorRate", "firing", "critical", "checkout"),
        ("[RESOLVED] HighErrorRate (prod warning)", "HighErrorRate", "resolved", "warning", None),
        ("[FIRING:1, RESOLVED:2] DiskFull", "DiskFull", "firing", "unknown", None),
        ("PROBLEM - db-3.prod / mysql replication lag is CRITICAL", "mysql replication lag", "firing", "critical", None),
        ("** RECOVERY Service Alert: db-3/disk is OK **", "disk", "resolved", "unknown", None),
        ("Problem: Disk space is low (used > 90%)", "Disk space is low (used > 90%)", "firing", "unknown", None),
        ("Resolved in 5m: Disk space is low", "Disk space is low", "resolved", "unknown", None),
        ("Triggered: [P2] search-api error rate is high", "search-api error rate is high", "firing", "critical", None),
        ("Triggered #20418: Replication lag above 300s", "Replication lag above 300s", "firing", "unknown", None),
        ('ALARM: "cart-api-5xx" in EU (Ireland)', "cart-api-5xx", "firing", "unknown", "cart-api"),
        ("[website] [🔴 Down] connect ECONNREFUSED", "website Down", "firing", "unknown", "website"),
        ("[shipping-web] TimeoutError: no answer in 3000ms", "TimeoutError: no answer in 3000ms", "firing", "unknown", "shipping-web"),
        ("alertname: KafkaLag\nseverity: page\nservice: orders\nlag is above 10000", "KafkaLag", "firing", "critical", "orders"),
    ],
)  # fmt: skip
def test_an_alert_is_read_whatever_system_wrote_it(
    text: str, name: str, status: str, severity: str, service: str | None
) -> None:
    alert = read_alert_text(text)
    assert alert.is_alert
    assert (alert.name, alert.status, alert.severity, alert.service) == (name, status, severity, service)


@pytest.mark.parametrize(
    "text",
    [
        "morning all, who's covering on-call today?",
        "Why did the pager break up with the server? Too many *critical* alerts, and it was always *down*.",
        "Job Succeeded.\nProject: checkout\nCommit Message: stop paging on a failed probe",
        "Application inventory is now running new version of deployments manifests.",
        "",
    ],
)
def test_what_is_no_alert_is_not_taken_for_one(text: str) -> None:
    assert not read_alert_text(text).is_alert


def test_fields_and_the_runbook_link_are_read() -> None:
    alert = read_alert_text(
        "[FIRING:1] LagHigh\n*Description:* behind\n*Runbook:* <https://wiki.example/kafka/lag|:book:>\n"
        "environment: `production`  level: `error`\nTags: env:prod, service:search-api, team:x"
    )
    assert alert.runbook_url == "https://wiki.example/kafka/lag"
    assert alert.labels["environment"] == "production"
    assert alert.service == "search-api"


@given(st.text(alphabet=st.sampled_from("ab :=-*`<>|[](){}\n/%0123.@_#")))
def test_no_text_breaks_the_reader(text: str) -> None:
    alert = read_alert_text(text)
    worth_searching(text, alert if alert.is_alert else None)
    assert strip_markup(strip_markup(text)) == strip_markup(strip_markup(strip_markup(text)))


def test_values_of_the_moment_are_not_searched_for() -> None:
    text = (
        "Pod auth-84b5d6c9f7-tq8rn on ip-10-0-142-17:9100 (10.2.3.4) uses 93.5% of memory, see "
        "https://graph.example/x?y since 2026-11-30 08:41:07, trace 0f8fad5b-d9cb-469f-a165-70867728950e {{ $labels.x }}"
    )
    left = without_values(text)
    assert "Pod auth" in left
    assert "of memory" in left
    for gone in ("84b5d6c9f7", "142-17", "10.2", "93.5", "graph.example", "2026", "0f8fad5b", "labels"):
        assert gone not in left


def test_label_dumps_and_what_redaction_left_are_not_searched_for() -> None:
    _, query = ask(
        "[FIRING:1] DiskFull (prod)\nThe disk is full.\nSource: http://x.example\npassword=‹password-1›\nhost: a"
    )
    assert query.text.split("\n") == ["DiskFull", "The disk is full."]


def test_a_long_alert_is_cut_and_a_text_of_values_alone_stays() -> None:
    assert len(ask("[FIRING:1] X\n" + "all work and no play. " * 500)[1].text) <= LONGEST
    assert ask("10.0.0.1:9100")[1].text == "10.0.0.1:9100"


def test_identifiers_are_error_codes_and_names() -> None:
    found = identifiers_in("CrashLoopBackOff after ECONNREFUSED, ORA-00060, node_disk_io and HTTP 503")
    assert found == ("CrashLoopBackOff", "ECONNREFUSED", "ORA-00060", "node_disk_io", "503")


@pytest.mark.parametrize(
    ("text", "channel", "service"),
    [
        ("[FIRING:1] X\nservice: redis\nthe cart api waits for postgres", "C0NONE", "redis"),
        ("pgbouncer refuses clients", "C0NONE", "checkout-db"),
        ("checkout-db is slow", "C0NONE", "checkout-db"),
        ("redis and kafka are slow", "C0SHOP", None),
        ("everything is slow", "C0SHOP", "checkout"),
        ("everything is slow", "C0BOTH", None),
        ("everything is slow", "C0NONE", None),
        ("rediscover the cart apis", "C0NONE", None),
    ],
)
def test_the_service_is_named_or_the_channels_and_never_a_guess(text: str, channel: str, service: str | None) -> None:
    incident, query = ask(text, channel=channel)
    assert incident.service == query.service == service


def test_a_hint_wins_and_an_unknown_one_is_said() -> None:
    assert ask("redis is slow", hint="Postgres")[0].service == "checkout-db"
    incident, _ = ask("redis is slow", hint="nonsense")
    assert incident.service is None
    assert sentences.MISSING_UNKNOWN_SERVICE in incident.missing_information


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("p99 latency of search is above 2 s, responses are slow", "latency"),
        ("no space left on the disk of web-1", "saturation"),
        ("certificate expires in 3 days, TLS", "security"),
        ("replication of postgres stopped", "database"),
        ("names do not resolve: DNS SERVFAIL", "network"),
        ("the rollout of the new release is stuck", "deploy"),
        ("last night's backup is corrupt", "data"),
        ("5xx errors and exceptions", "errors"),
        ("the site is down, unreachable from outside, outage", "availability"),
        ("who brings cake?", "other"),
    ],
)
def test_the_category_is_one_of_the_list(text: str, category: str) -> None:
    assert ask(text)[0].category == category


def test_evidence_stands_in_the_text_and_what_is_missing_is_said() -> None:
    text = "[FIRING:1] DiskFull\nno space left on the disk of the search box, the index cannot be written " + "x " * 90
    incident, _ = ask(text)
    assert incident.evidence
    assert all(piece in text and len(piece) <= 120 for piece in incident.evidence)
    assert sentences.MISSING_SERVICE in incident.missing_information
    assert sentences.MISSING_ENVIRONMENT in incident.missing_information
    assert sentences.MISSING_ENVIRONMENT not in ask("disk full in production")[0].missing_information


def test_a_threads_words_are_searched_where_the_question_says_too_little() -> None:
    assert "disk" in ask("same again", context=("the disk is full",))[1].text
    assert "disk" not in ask("the redis cache evicts keys", context=("the disk is full",))[1].text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "Filesystem has less than 5% space left, 3.81% at ip-10-0-142-17:9100.",
            "Filesystem has less than 5% space left,.",
        ),
        ("The API is burning too much error budget on cluster prod-eu1.", "The API is burning too much error budget."),
        ("The store in namespace pay-eu1 has not synced since 2026-11-30T02:10:00Z.", "The store has not synced"),
        ("Node node-b-07 is unreachable.", "Node is unreachable."),
    ],
)
def test_thresholds_stay_and_no_preposition_is_left_without_its_value(text: str, left: str) -> None:
    assert without_values(text) == left


def test_of_a_templates_fields_the_words_are_searched_for() -> None:
    text = (
        "[FIRING:1] KafkaLag\nAlert: The consumer group is behind @here\nDescription: Messages pile up.\nDetails:\n"
        "• alertname: KafkaLag\n• service: orders-indexer\n• severity: critical\nFiring\nEvent tags: component: storage"
    )
    alert = read_alert_text(text)
    found = worth_searching(text, alert).split("\n")
    assert found[0] == "KafkaLag"
    assert set(found[1:]) == {"The consumer group is behind", "Messages pile up.", "orders-indexer"}
