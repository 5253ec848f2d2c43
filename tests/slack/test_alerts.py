"""Alert-bots' posts in the shapes in which Slack delivers them, and what is not an alert."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bot.slack.alerts import flatten, read_alert
from bot.slack.markup import escape, plain

NAMES = [
    "alertmanager_custom_text_firing",
    "alertmanager_default_firing",
    "alertmanager_default_resolved",
    "argocd_health_degraded",
    "cloudwatch_notify_slack_alarm",
    "datadog_monitor_triggered_unverified",
    "grafana_firing",
    "grafana_resolved",
    "non_alert_argocd_app_deployed",
    "non_alert_chat_bot_joke",
    "non_alert_circleci_job_succeeded",
    "pagerduty_triggered_unverified",
    "robusta_crashloop",
    "sentry_issue_alert",
    "uptime_kuma_down",
    "zabbix_problem",
    "zabbix_resolved_message_changed",
]


def test_every_shared_post_is_among_the_names(shared: Path) -> None:
    assert sorted(NAMES) == sorted(path.stem for path in (shared / "slack" / "alerts").glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_shared_post_is_read_as_expected(shared: Path, name: str) -> None:
    from bot.cli import (
        app,
        commands,  # noqa: F401  (registers read-alert)
    )

    path = shared / "slack" / "alerts" / f"{name}.json"
    expect = json.loads(path.read_text())["expect"]
    ran = CliRunner().invoke(app, ["read-alert", str(path), "--json"])
    read = json.loads(ran.stdout)
    assert {key: read[key] for key in ("is_alert", "status", "service")} == {
        key: expect[key] for key in ("is_alert", "status", "service")
    }
    assert all(phrase in read["summary"] for phrase in expect["key_phrases"])


def post(text: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "message", "bot_id": "B1", "text": text, **more}


def attached(words: str = "", /, **attachment: Any) -> dict[str, Any]:
    return post(words, attachments=[attachment])


def fields(**values: str) -> list[dict[str, str]]:
    return [{"title": title.replace("_", " "), "value": value} for title, value in values.items()]


def rich(text: str) -> dict[str, Any]:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": {"type": "plain_text", "text": text}}


FIRING = [
    (post("PROBLEM - db07/disk is CRITICAL: DISK CRITICAL - free space: / 2%"), None),
    (post("*[ALERT]* service=checkout latency is above 2s"), "checkout"),
    (attached(color="danger", title="Kafka under-replicated partitions", text="service: kafka"), "kafka"),
    (attached(color="a30200", title="High CPU on web-3", fields=fields(Severity="critical")), None),
    (post(":rotating_light: redis-cache is down"), None),
    (post(blocks=[header("🔴 Incident triggered: payments 5xx")]), None),
    (post('ALARM: "orders-cpu" in EU (Ireland)'), None),
    (attached("[Triggered] [P1] Error rate on identity", fields=fields(service="identity")), "identity"),
    (post("DOWN: api.example.com (https) is down since 14:02 UTC"), None),
    (post("“nightly-backup” is DOWN (last ping 3 hours ago)"), None),
    (post("🔴 Incident started: payments-api returned 503"), None),
    (post("Fired: Sev1 Azure Monitor Alert cpu-high on vm-orders-1"), None),
    (post("⚠️ WARNING redis-session memory 91%"), None),
    (post("Elastic rule 'CPU' is active: cpu usage 97% exceeded threshold"), None),
    (attached(title="Incident for checkout-db is ongoing", color="d00000", text="CPU is above 0.9"), None),
    (attached(title="[production] 10th occurrence: TypeError: undefined", color="e74c3c"), None),
    (attached(color="danger", text="Job `checkout-deploy` build #412 FAILURE after 3 min"), None),
    (attached(blocks=[rich("[FIRING:1] PodCrashLooping checkout (shop critical)")]), "checkout"),
]


@pytest.mark.parametrize(("event", "service"), FIRING)
def test_other_senders_alerts_fire(event: dict[str, Any], service: str | None) -> None:
    alert = read_alert(event)
    assert alert.is_alert and alert.status == "firing" and alert.name
    assert service is None or alert.service == service


@pytest.mark.parametrize(
    "event",
    [
        post("RECOVERY - db07/disk is OK"),
        post("Resolved: disk space is low"),
        attached(color="good", title="[OK] p99 latency", text="back to normal"),
        attached(color="2eb886", title="Recovered: error rate on identity"),
        post("#1834 has been resolved"),
        post("UP: api.example.com is up again after 4 minutes"),
        post("“nightly-backup” is UP"),
        attached(title="orders-cpu", fields=fields(Old_State="ALARM", Current_State="OK")),
    ],
)
def test_other_senders_resolved_ones_are_resolved(event: dict[str, Any]) -> None:
    assert read_alert(event).status == "resolved"


@pytest.mark.parametrize(
    "event",
    [
        post("Deployed checkout 2.41.0 to production"),
        post("ana merged pull request #12: fix the error when the pool is down"),
        post("Reminder: the critical incident review is at 15:00"),
        attached("Build #812 passed", color="good", text="fix failing test"),
        attached("<https://jira.example/OPS-1|OPS-1> Fix failing test", color="2684ff", fields=fields(Priority="High")),
        post("Renovate: update dependency aiohttp to v3.14 (critical security fix)"),
        post(":tada: Release 3.1 is out! Fixes a crash when the pool was down"),
        post("Terraform plan: 2 to add, 0 to change, 1 to destroy"),
        post("On-call is now <@U1> for *checkout*"),
        post("Good morning! Lunch is high on the list."),
        post("Standup notes: we fixed the outage, latency is down"),
        attached(from_url="https://x.example", title="[FIRING:1] Somebody else's alert", color="danger"),
        post(),
    ],
)
def test_ordinary_posts_are_no_alerts(event: dict[str, Any]) -> None:
    assert not read_alert(event).is_alert


def test_runbook_links_are_found_in_text_labels_and_buttons() -> None:
    url = "https://wiki.example/p/42"
    named = post("[FIRING:1] X", attachments=[{"text": f"Runbook: <{url}|:book:>"}])
    button = {"type": "button", "url": url, "text": {"type": "plain_text", "text": "Runbook"}}
    pressed = post("[FIRING:1] X", blocks=[{"type": "actions", "elements": [button]}])
    assert [
        read_alert(e).runbook_url for e in (named, pressed, post("[FIRING:1] X <https://grafana.example|graph>"))
    ] == [url, url, None]


def test_words_stand_once_and_in_reading_order() -> None:
    more = {"pretext": "before", "author_name": "who", "title": "what", "text": "lag is high", "fallback": "what: lag"}
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "*lag is high*"}}
    event = post("Alert\nlag is high", blocks=[section], attachments=[{**more, "fields": fields(Host="db1")}])
    assert flatten(event) == "Alert\nlag is high\nbefore\nwho\nwhat\nHost: db1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("R&amp;D &lt;b&gt; &amp;lt;", "R&D <b> &lt;"),
        ("*bold* _it_ ~s~ snake_case_name *.log *a*b", "bold it s snake_case_name *.log *a*b"),
        ("`*not bold* &lt;x&gt;` and ```a_b_c *d*```", "*not bold* <x> and a_b_c *d*"),
        ("<https://x.example/a?b=1&amp;c|the graph> <https://x.example>", "the graph https://x.example"),
        ("<https://r.example/runbooks/a|how to>", "how to (https://r.example/runbooks/a)"),
        ("<mailto:a@b.example|a@b.example> <@U1|ana> <#C1|ops>", "a@b.example @ana #ops"),
        ("<!channel> <!subteam^S1|@dba> <b> <", "@channel @dba <b> <"),
        ("&gt; quoted", "quoted"),
    ],
)  # fmt: skip
def test_markup_is_undone(text: str, words: str) -> None:
    assert plain(text) == words


@settings(max_examples=300, deadline=None)
@given(st.text("a <>&;*_`|@#!:/\n.", max_size=80))
def test_escaped_words_come_back_unless_they_are_marks(text: str) -> None:
    plain(text)
    if not set(text) & set("*_~`>\n"):
        assert plain(escape(text)) == text


KEYS = ["type", "text", "blocks", "attachments", "elements", "fields", "title", "value", "message", "color", "url"]
KINDS = ["section", "header", "context", "rich_text", "rich_text_section", "rich_text_list", "table", "actions"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(KINDS) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)
OUTER = ["text", "blocks", "attachments", "message", "subtype", "event"]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(OUTER), JSON, max_size=5))
def test_no_event_breaks_the_reading(event: dict[str, Any]) -> None:
    assert isinstance(read_alert(event).summary, str)


def test_a_long_hostile_post_is_read_in_time() -> None:
    for text in (
        "*" * 40_000,
        "[" * 40_000,
        "<" * 40_000,
        "a=" * 20_000,
        ":a" * 20_000,
        "a: " * 13_000,
        "_a " * 13_000,
    ):
        read_alert(post(text, attachments=[{"text": text}]))
