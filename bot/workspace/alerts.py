"""Ready-made posts of alert bots, each in the shape in which Slack delivers its sender's messages.

The shop and its services are those of the sample runbooks. Incoming webhooks are `bot_message`s with a `username`;
present-day apps have no subtype, but a `bot_profile`. Most have nothing in `text`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bot.errors import WorkspaceRefusal
from bot.workspace.world import HOME

Json = dict[str, Any]

RED, ORANGE, GREEN = "a30200", "E97659", "2eb886"


@dataclass(frozen=True)
class ReadyAlert:
    """One post that the page offers to fire."""

    id: str
    title: str
    """What the menu says."""
    sender: str
    event: Json
    fires: bool = True
    """False for a resolved one and for plain chat: the bot has nothing to say to these."""


def _webhook(sender: str, bot_id: str, *attachments: Json, text: str = "") -> Json:
    return {
        "type": "message",
        "subtype": "bot_message",
        "text": text,
        "username": sender,
        "icons": {"emoji": ":rotating_light:"},
        "bot_id": bot_id,
        "attachments": [{"id": number, **one} for number, one in enumerate(attachments, 1)],
    }


def _app(
    sender: str, key: str, text: str, *, blocks: list[Json] | None = None, attachments: Iterable[Json] = ()
) -> Json:
    event: Json = {
        "type": "message",
        "user": f"U0{key}",
        "bot_id": f"B0{key}",
        "app_id": f"A0{key}",
        "text": text,
        "team": HOME,
        "bot_profile": {
            "id": f"B0{key}",
            "deleted": False,
            "name": sender,
            "updated": 1780000000,
            "app_id": f"A0{key}",
            "team_id": HOME,
        },
    }
    if blocks:
        event["blocks"] = [{"block_id": f"{key.lower()}{number}", **one} for number, one in enumerate(blocks)]
    numbered = [{"id": number, **one} for number, one in enumerate(attachments, 1)]
    return event | ({"attachments": numbered} if numbered else {})


def _words(text: str) -> Json:
    return {"type": "mrkdwn", "text": text, "verbatim": False}


def _section(text: str) -> Json:
    return {"type": "section", "text": _words(text)}


def _fields(**values: str) -> list[Json]:
    return [
        {"title": title.replace("_", " "), "value": value, "short": len(value) < 40} for title, value in values.items()
    ]


def _button(key: str, label: str, url: str) -> Json:
    text = {"type": "plain_text", "text": label, "emoji": True}
    return {"type": "button", "action_id": key, "text": text, "url": url}


_ALERTMANAGER = "https://alertmanager.larkspur.example/#/alerts?receiver=slack-incidents"


def _alertmanager(head: str, color: str, text: str = "") -> Json:
    attachment: Json = {
        "color": color,
        "fallback": f"{head} | <{_ALERTMANAGER}>",
        "title": head,
        "title_link": _ALERTMANAGER,
        "mrkdwn_in": ["fallback", "pretext", "text"],
    }
    return _webhook("Alertmanager", "B0ALERTS", attachment | ({"text": text} if text else {}))


READY_ALERTS: tuple[ReadyAlert, ...] = (
    ReadyAlert(
        "postgres-connections",
        "PostgreSQL refuses connections",
        "Alertmanager",
        _alertmanager(
            "[FIRING:1] PostgresTooManyConnections checkout-db (critical)",
            RED,
            "*Alert:* checkout-db refuses new sessions - `critical`\n"
            "*Description:* 197 of 200 connections are taken for 5m; clients read "
            "`FATAL: sorry, too many clients already`\n*Details:*\n  • *alertname:* `PostgresTooManyConnections`\n"
            "  • *service:* `checkout-db`\n  • *instance:* `checkout-db-0`\n  • *severity:* `critical`\n",
        ),
    ),
    ReadyAlert(
        "checkout-errors",
        "Checkout answers with errors",
        "Grafana",
        _webhook(
            "Grafana",
            "B0GRAFANA",
            {
                "color": "D63232",
                "fallback": "[FIRING:1] CheckoutHighErrorRate (checkout critical)",
                "title": "[FIRING:1] CheckoutHighErrorRate (checkout critical)",
                "title_link": "https://grafana.larkspur.example/alerting/list",
                "text": "**Firing**\n\nValue: A=6.4, C=1\nLabels:\n - alertname = CheckoutHighErrorRate\n"
                " - service = checkout\n - severity = critical\nAnnotations:\n"
                " - summary = 6.4% of checkout requests have answered 5xx for 5 minutes\n"
                "Source: https://grafana.larkspur.example/alerting/grafana/co5xx/view\n",
                "footer": "Grafana v12.2.0",
                "mrkdwn_in": ["text"],
            },
        ),
    ),
    ReadyAlert(
        "kafka-lag",
        "Orders pile up in Kafka",
        "Alertmanager",
        _alertmanager(
            "[FIRING:1] KafkaConsumerLagHigh",
            RED,
            "*Alert:* Consumer group order-fulfilment falls behind - `warning`\n"
            "*Description:* Lag on topic orders.v1 is 48,211 &gt; 10,000 for more than 10m\n"
            "*Details:*\n  • *alertname:* `KafkaConsumerLagHigh`\n  • *consumergroup:* `order-fulfilment`\n"
            "  • *service:* `kafka`\n  • *severity:* `warning`\n",
        ),
    ),
    ReadyAlert(
        "redis-memory",
        "Redis is nearly full",
        "Datadog",
        _app(
            "Datadog",
            "DATADOG",
            "",
            attachments=[
                {
                    "color": RED,
                    "fallback": "Triggered: [P2] RedisMemoryHigh on redis-cart",
                    "title": "Triggered: [P2] RedisMemoryHigh on redis-cart",
                    "title_link": "https://app.datadog.example/monitors/7710342",
                    "text": "used_memory is at 94% of maxmemory (threshold 90%) and keys are being evicted.\n"
                    "@slack-incidents\n\n`avg(last_5m):avg:redis.mem.used{service:redis} / avg:redis.mem.maxmemory"
                    "{service:redis} &gt; 0.9`",
                    "fields": _fields(Tags="env:prod, service:redis, team:platform", Notified="@slack-incidents"),
                    "mrkdwn_in": ["text"],
                }
            ],
        ),
    ),
    ReadyAlert(
        "payments-webhooks",
        "Payment webhooks wait",
        "PagerDuty",
        _app(
            "PagerDuty",
            "PAGERDUTY",
            "Triggered <https://larkspur.pagerduty.example/incidents/Q3LARK77|#31877>: "
            "PaymentsWebhookBacklog above 5000",
            attachments=[
                {
                    "color": "e01e5a",
                    "fallback": "[no preview available]",
                    "blocks": [
                        _section(
                            "*<https://larkspur.pagerduty.example/incidents/Q3LARK77|"
                            "[#31877] PaymentsWebhookBacklog above 5000>*"
                        )
                        | {"block_id": "pd1"},
                        {
                            "type": "section",
                            "block_id": "pd2",
                            "fields": [
                                _words("*Assigned:*\nPayments on-call"),
                                _words("*Service:*\n<https://larkspur.pagerduty.example/services/PPAY|payments>"),
                                _words("*Urgency:*\nHigh"),
                                _words("*Status:*\nTriggered"),
                            ],
                        },
                    ],
                }
            ],
        ),
    ),
    ReadyAlert(
        "identity-logins",
        "Logins fail",
        "Sentry",
        _app(
            "Sentry",
            "SENTRY",
            "[identity] IdentityLoginErrors: token signature could not be verified",
            blocks=[
                _section(
                    ":red_circle: <https://larkspur.sentry.example/issues/6620114/?referrer=slack|"
                    "*IdentityLoginErrors: token signature could not be verified*>"
                ),
                {"type": "context", "elements": [_words("identity.oidc.callback in verify_id_token")]},
                _section("```InvalidSignatureError: no key with kid 2026-11 in the key set (attempt 3/3)```"),
                _section("environment: `production`  level: `error`  service: `identity`"),
                {
                    "type": "context",
                    "elements": [_words("State: *New*   First Seen: *4 minutes ago*   Events: *1,204*")],
                },
                {
                    "type": "actions",
                    "elements": [_button("sentry_open", "Open", "https://larkspur.sentry.example/issues/6620114/")],
                },
            ],
        ),
    ),
    ReadyAlert(
        "ingress-5xx",
        "The ingress answers 5xx",
        "CloudWatch",
        _webhook(
            "reporter",
            "B0CLOUDWATCH",
            {
                "color": RED,
                "fallback": "Alarm IngressHigh5xx triggered",
                "text": "AWS CloudWatch notification - IngressHigh5xx",
                "fields": _fields(
                    Alarm_Name="`IngressHigh5xx`",
                    Alarm_Description="`5XX from the edge load balancer over 1% for 5 minutes`",
                    Alarm_reason="`Threshold Crossed: 3 datapoints [4.7, 5.2, 3.9] were over the threshold (1.0).`",
                    Old_State="`OK`",
                    Current_State="`ALARM`",
                ),
            },
        ),
    ),
    ReadyAlert(
        "postgres-disk",
        "The database's disk fills up",
        "Zabbix",
        _app(
            "Zabbix",
            "ZABBIX",
            "",
            attachments=[
                {
                    "color": ORANGE,
                    "fallback": "Problem: PostgresDiskFillingUp: /var/lib/postgresql is 92% full",
                    "title": "Problem: PostgresDiskFillingUp: /var/lib/postgresql is 92% full",
                    "title_link": "https://zabbix.larkspur.example/tr_events.php?triggerid=21043&amp;eventid=884120",
                    "fields": _fields(
                        Host="checkout-db-0 [10.20.4.12]",
                        Event_time="2026.11.30 08:41:07",
                        Severity="High",
                        Opdata="92.1 %",
                        Event_tags="component: storage\nservice: checkout-db",
                        Trigger_description="Free space on /var/lib/postgresql is running low.",
                    ),
                }
            ],
        ),
    ),
    ReadyAlert(
        "pod-crashloop",
        "A pod restarts again and again",
        "Robusta",
        _app(
            "Robusta",
            "ROBUSTA",
            "KubePodCrashLooping: pod checkout-6c9f7d5b8-x2k4p in namespace shop",
            blocks=[
                _section(
                    ":fire: `firing` :red_circle: `high` <https://platform.robusta.example/graphs?names=shop|"
                    "*KubePodCrashLooping: pod checkout-6c9f7d5b8-x2k4p in namespace shop*>"
                ),
                _section("*Source:* `prod-eu1`\n*Alert:* `KubePodCrashLooping`\n*Service:* `kubernetes`"),
                _section("Back-off restarting failed container: 7 restarts in 10 minutes, last exit code 137"),
            ],
        ),
    ),
    ReadyAlert(
        "certificate",
        "A certificate expires soon",
        "Uptime Kuma",
        _webhook(
            "Uptime Kuma",
            "B0UPTIMEKUMA",
            {
                "color": "e01e5a",
                "fallback": "[no preview available]",
                "blocks": [
                    {
                        "type": "header",
                        "block_id": "uk1",
                        "text": {"type": "plain_text", "text": "Uptime Kuma Alert", "emoji": True},
                    },
                    {
                        "type": "section",
                        "block_id": "uk2",
                        "fields": [
                            _words(
                                "*Message*\n[edge] [:red_circle: Down] CertificateExpiringSoon: shop.larkspur.example"
                            ),
                            _words("*Time (UTC)*\n2026-11-30 09:14:22"),
                        ],
                    },
                ],
            },
            text="Uptime Kuma Alert\n[edge] [:red_circle: Down] CertificateExpiringSoon: the certificate of "
            "shop.larkspur.example expires in 3 days <!channel>",
        ),
    ),
    ReadyAlert(
        "postgres-resolved",
        "PostgreSQL is well again (resolved)",
        "Alertmanager",
        _alertmanager("[RESOLVED] PostgresTooManyConnections checkout-db (critical)", GREEN),
        fires=False,
    ),
    ReadyAlert(
        "chat",
        "A bot's chatter (no alert)",
        "Deploys",
        _app(
            "Deploys",
            "DEPLOYS",
            "checkout 4.18.2 is out on prod-eu1. Thank you all, the critical path is short again :tada:",
        ),
        fires=False,
    ),
)


def ready_alert(key: str) -> ReadyAlert:
    """The post with this id. Raises WorkspaceRefusal `no_such_alert`."""
    for alert in READY_ALERTS:
        if alert.id == key:
            return alert
    raise WorkspaceRefusal("no_such_alert")
