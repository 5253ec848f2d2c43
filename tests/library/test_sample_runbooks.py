"""The runbooks that come with the project: what the bot, its local workspace and its scenarios rely on."""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bot.access.models import MEMBERS, PUBLIC, WORKSPACE
from bot.access.policy import Policy, load_policy
from bot.library.freshness import overdue
from bot.library.load import load_library
from bot.library.models import Library, Runbook

ROOT = Path(__file__).resolve().parents[2]
RUNBOOKS = ROOT / "runbooks"
PAGES = sorted(file.relative_to(RUNBOOKS).as_posix() for file in RUNBOOKS.rglob("*.md"))

TODAY = date(2026, 11, 30)
"""The day on which the pages were written: their freshness is judged by it, whenever the tests run."""

POOL_PAGE = "checkout-db/connection-pool.md"
POOL_MESSAGE = "too many clients already"

AGREED_ALERTS = {
    "CheckoutHighErrorRate",
    "CheckoutLatencyP99High",
    "PostgresTooManyConnections",
    "PostgresReplicationLagHigh",
    "PostgresDiskFillingUp",
    "KafkaConsumerLagHigh",
    "KafkaUnderReplicatedPartitions",
    "RedisMemoryHigh",
    "RedisEvictionsHigh",
    "KubeNodeNotReady",
    "KubePodCrashLooping",
    "KubePersistentVolumeFillingUp",
    "PaymentsWebhookBacklog",
    "PaymentsProviderErrors",
    "RefundsStuck",
    "IdentityLoginErrors",
    "IdentitySigningKeyExpiring",
    "CertificateExpiringSoon",
    "DnsResolutionFailing",
    "IngressHigh5xx",
}
"""The names that the local workspace's ready-made alerts use."""

CHANGES_SOMETHING = re.compile(
    r"kubectl (-n \S+ )?(delete|scale|drain|cordon|patch|set|annotate|taint|certificate|rollout (restart|undo|pause))"
    r"|pg_(terminate|cancel)_backend|pg_drop|UPDATE|CREATE|CONFIG SET|UNLINK|CLIENT KILL|PAUSE|systemctl (re)?start"
    r"|--alter|--execute|lvextend|reinit|failover|genpkey|cmctl renew"
)
ORDER = [PUBLIC, WORKSPACE, MEMBERS]
"""Built-in audiences, each within the one before it; a named audience is within all of them."""


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(RUNBOOKS, clean=lambda text: text)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(ROOT / "access.yaml")


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, library: Library) -> Runbook:
    return next(runbook for runbook in library.runbooks if runbook.path == request.param)


def sections(page: Runbook) -> dict[str, list[str]]:
    """The shell commands below each heading of the second level."""
    found: dict[str, list[str]] = {"": []}
    heading = ""
    tokens = MarkdownIt("commonmark").parse(page.text)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and token.tag == "h2" and following is not None:
            heading = following.content
            found[heading] = []
        elif token.type == "fence" and token.info == "sh":
            found[heading].append(token.content)
    return found


def links(page: Runbook) -> list[str]:
    """The pages that a page links to, relative to the runbook folder."""
    targets = re.findall(r"\]\(([^)#:\s]+)\)", page.text)
    return [posixpath.normpath(posixpath.join(posixpath.dirname(page.path), target)) for target in targets]


def test_whole_library_loads(library: Library) -> None:
    assert library.refusals == ()
    assert {runbook.path for runbook in library.runbooks} == set(PAGES)
    assert len(PAGES) >= 18


def test_catalogue_knows_every_service_and_each_has_runbooks(library: Library) -> None:
    pages = Counter(service for runbook in library.runbooks for service in runbook.services)
    assert set(pages) == {service.name for service in library.catalogue.services}
    assert len(pages) == 8 and min(pages.values()) >= 2
    assert all(service.owner and service.aliases for service in library.catalogue.services)


def test_both_shapes_are_in_use(library: Library) -> None:
    plain = [runbook for runbook in library.runbooks if runbook.text.startswith("# ")]
    assert len(plain) >= 5
    assert len(library.runbooks) - len(plain) >= 5
    assert all(runbook.last_reviewed and runbook.tags for runbook in plain)


def test_every_alert_is_claimed_once(library: Library) -> None:
    claimed = Counter(alert for runbook in library.runbooks for alert in runbook.alerts)
    assert set(claimed) == AGREED_ALERTS
    assert set(claimed.values()) == {1}


def test_one_page_is_overdue(library: Library) -> None:
    late = {runbook.path for runbook in library.runbooks if overdue(runbook, TODAY, default_days=365)}
    assert late == {"redis/evictions.md"}


def test_page_says_what_it_is(page: Runbook, library: Library) -> None:
    assert page.title and page.last_reviewed and page.last_reviewed.year == TODAY.year
    folder = page.path.split("/")[0]
    if folder in ("general", "status"):
        assert page.services == () and page.owner
    else:
        service = library.catalogue.find(folder)
        assert service is not None and page.services[0] == service.name
        assert page.owner == service.owner.split()[0]


def test_page_is_built_like_a_runbook(page: Runbook) -> None:
    found = sections(page)
    assert 60 <= len(page.text.splitlines()) <= 140
    assert {"Symptoms", "Escalation"} <= set(found) or page.path == "checkout-db/restore-from-backup.md"
    assert sum(map(len, found.values())) >= 2
    assert "Escalation" in found


def test_first_checks_only_look(page: Runbook) -> None:
    for heading in ("First checks", "Before anything else"):
        assert [c for c in sections(page).get(heading, []) if CHANGES_SOMETHING.search(c)] == []


def test_commands_are_valid_shell(page: Runbook) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash to read the commands with")
    script = "\n".join(command for commands in sections(page).values() for command in commands)
    read = subprocess.run([bash, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")


def test_hosts_are_made_up(page: Runbook) -> None:
    hosts = re.findall(r"https?://([^\s/:'\"$)]+)", page.text)
    assert [host for host in hosts if not host.endswith(".example")] == []


def test_links_lead_to_pages_that_the_same_readers_may_open(page: Runbook, policy: Policy) -> None:
    """A link is a title too: an open page must not give away that a restricted one exists."""
    own = policy.label(page.path).audience
    for target in links(page):
        assert target in PAGES
        audience = policy.label(target).audience
        assert audience == own or (audience in ORDER and own not in ORDER[: ORDER.index(audience)])


def test_policy_labels_the_pages_as_meant(policy: Policy) -> None:
    audiences = {path: policy.label(path).audience for path in PAGES}
    expected = dict.fromkeys(PAGES, MEMBERS)
    expected |= {path: "payments" for path in PAGES if path.startswith("payments/")}
    expected |= {path: PUBLIC for path in PAGES if path.startswith("status/")}
    expected |= {path: "dba" for path in PAGES if path.startswith("checkout-db/restore-")}
    expected["general/declare-incident.md"] = WORKSPACE
    assert audiences == expected
    assert set(audiences.values()) == {PUBLIC, WORKSPACE, MEMBERS, "payments", "dba"}
    assert policy.warnings(PAGES) == ()


def test_pool_page_opens_without_a_word_of_the_message(library: Library) -> None:
    page = next(runbook for runbook in library.runbooks if runbook.path == POOL_PAGE)
    body = "\n".join(page.text.split("\n")[page.body_line - 1 :])
    opening, rest = body.split("## First checks", 1)
    words = set(re.findall(r"[a-z]+", f"{page.title} {opening}".casefold()))
    assert words.isdisjoint(POOL_MESSAGE.split())
    assert POOL_MESSAGE in rest
