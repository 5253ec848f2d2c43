"""The access policy: read strictly, the last match wins, the last good one stays in force."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.access.policy import Policy, PolicyFile, Rule, find_policy, load_policy
from bot.errors import PolicyError

GOOD = """\
audiences:
  dba:      {usergroups: ["@dba-oncall", S0DBA]}
  payments: {channels: [C0PAYMENTS], users: [U0ANA]}
  parked:   {users: []}
default: members
rules:
  - paths: "payments/**"
    audience: payments
  - paths: ["payments/open/*.md", status/**]
    audience: public
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "access.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_policy_is_read_with_its_lines(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, GOOD))
    assert policy.default == "members"
    assert policy.audiences["dba"].usergroups == ("dba-oncall", "S0DBA")
    assert policy.audiences["payments"].channels == ("C0PAYMENTS",)
    assert policy.audiences["payments"].users == ("U0ANA",)
    assert policy.audiences["parked"].empty
    assert [(rule.line, rule.audience) for rule in policy.rules] == [(7, "payments"), (9, "public")]


def test_the_last_match_wins_and_every_match_is_told(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, GOOD))
    label = policy.label("payments/open/faq.md")
    assert label.audience == "public"
    assert [reason.split(":")[1] for reason in label.reasons] == ["7", "9"]
    assert "overrides" in label.reasons[0]
    assert policy.label("payments/refunds.md").audience == "payments"
    assert policy.label("payments/open/deep/faq.md").audience == "payments"
    default = policy.label("kafka/lag.md")
    assert default.audience == "members"
    assert default.reasons == ("access.yaml:5: no rule matches; the default is members",)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", None, "is empty"),
        ("default: members\ndefault: public\n", 2, "twice"),
        ("rules: []\n", None, "no `default`"),
        ("default: everyone\n", 1, "no audience 'everyone'"),
        ("default: no\n", 1, "no audience 'no'"),
        ("default: [members]\n", 1, "one word"),
        ("default:\n", 1, "one word"),
        ("default: members\nrule: []\n", 2, "no key 'rule'"),
        ("default: members\nrules:\n  - paths: a\n    audience: dba\n", 4, "no audience 'dba'"),
        ("default: members\nrules:\n  - paths: a\n", 3, "no `audience`"),
        ("default: members\nrules:\n  - audience: members\n", 3, "no `paths`"),
        ("default: members\nrules:\n  - paths: []\n    audience: members\n", 3, "empty"),
        ("default: members\nrules:\n  - path: a\n    audience: members\n", 3, "no key 'path'"),
        ("default: members\nrules: {}\n", 2, "must be a list"),
        ("default: members\nrules:\n  - members\n", 3, "must be a mapping"),
        ("default: members\naudiences:\n  members: {users: [U0ANA]}\n", 3, "built in"),
        ("default: members\naudiences:\n  Public: {users: [U0ANA]}\n", 3, "built in"),
        ("default: members\naudiences:\n  'a b': {users: [U0ANA]}\n", 3, "can't name"),
        ("default: members\naudiences:\n  dba: {user: [U0ANA]}\n", 3, "no key 'user'"),
        ("default: members\naudiences:\n  dba:\n    users:\n      - ana\n", 5, "not a Slack id"),
        ("default: members\naudiences:\n  dba: {channels: ['#payments']}\n", 3, "not a Slack id"),
        ("default: members\naudiences: [dba]\n", 2, "must be a mapping"),
        ("default: members\nrules:\n  - {paths: /a, audience: members}\n", 3, "not a path in the runbook folder"),
        ("default: members\nrules:\n  - {paths: a/../b, audience: members}\n", 3, "not a path in the runbook folder"),
        ("default: members\nrules:\n  - {paths: '!a', audience: members}\n", 3, "not a path in the runbook folder"),
        ("default: members\nrules:\n  - {paths: payments/, audience: members}\n", 3, "empty part"),
        ("default: members\nrules:\n  - {paths: pay**, audience: members}\n", 3, "not a part of its own"),
        ("default: members\nrules:\n  - {paths: 'a/{b,c}.md', audience: members}\n", 3, "brackets"),
        ("default: members\nrules:\n  - paths: 'a\n", 4, "is not YAML"),
        ("default: members\n---\ndefault: public\n", 2, "is not YAML"),
        ("default: members\nrules: *unknown\n", 2, "is not YAML"),
        (b"default: members\n# \xff\n", 2, "not UTF-8"),
        ("default: mem\x00bers\n", None, "is not YAML"),
    ],
)
def test_a_fault_is_an_error_that_says_where(tmp_path: Path, text: str | bytes, line: int | None, problem: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(problem)) as caught:
        load_policy(written(tmp_path, text))
    assert caught.value.line == line
    assert caught.value.where.endswith("access.yaml")


def test_a_policy_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="can't be read"):
        load_policy(tmp_path / "access.yaml")


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("payments/**", "payments/refunds.md", True),
        ("payments/**", "payments/a/b/c.md", True),
        ("payments/**", "payments", False),
        ("payments/**", "paymentsx/a.md", False),
        ("payments/**", "old/payments/a.md", False),
        ("payments/**", "Payments/a.md", False),
        ("payments/**", "payments/.hidden/a.md", True),
        ("**/restore-*.md", "restore-x.md", True),
        ("**/restore-*.md", "a/b/restore-x.md", True),
        ("**/restore-*.md", "a/b/restore-x/y.md", False),
        ("a/**/b.md", "a/b.md", True),
        ("a/**/b.md", "a/x/y/b.md", True),
        ("a/**/b.md", "a/xb.md", False),
        ("**", "a/b.md", True),
        ("*", "a/b.md", False),
        ("*.md", "a.md", True),
        ("?.md", "ab.md", False),
        ("a.md", "aXmd", False),
        ("a+(b).md", "a+(b).md", True),
        ("caf\u00e9.md", "cafe\u0301.md", True),
        ("cafe\u0301.md", "caf\u00e9.md", True),
        ("a*.md", "a\nb.md", True),
    ],
)
def test_patterns_match_whole_paths(tmp_path: Path, glob: str, path: str, matches: bool) -> None:
    quoted = "'" + glob.replace("'", "''") + "'"
    policy = load_policy(written(tmp_path, f"default: members\nrules:\n  - {{paths: {quoted}, audience: nobody}}\n"))
    assert (policy.label(path).audience == "nobody") is matches


def plain_match(glob: list[str], path: list[str]) -> bool:
    """What the patterns mean, part by part, the slow and obvious way."""
    if not glob:
        return not path
    first, rest = glob[0], glob[1:]
    if first == "**" and not rest:
        return bool(path)
    if first == "**":
        return any(plain_match(rest, path[skipped:]) for skipped in range(len(path) + 1))
    return bool(path) and plain_part(first, path[0]) and plain_match(rest, path[1:])


def plain_part(glob: str, name: str) -> bool:
    if not glob:
        return not name
    if glob[0] == "*":
        return any(plain_part(glob[1:], name[skipped:]) for skipped in range(len(name) + 1))
    return bool(name) and glob[0] in ("?", name[0]) and plain_part(glob[1:], name[1:])


@given(
    st.lists(st.one_of(st.just("**"), st.text("ab.*?", min_size=1, max_size=4)), min_size=1, max_size=4),
    st.lists(st.text("ab.", min_size=1, max_size=4), min_size=1, max_size=4),
)
def test_patterns_mean_what_the_plain_definition_says(glob: list[str], path: list[str]) -> None:
    if any("**" in part and part != "**" for part in glob):
        return
    assert Rule(("/".join(glob),), "nobody", 1).matches("/".join(path)) is plain_match(glob, path)


def test_rules_that_match_nothing_and_audiences_of_nobody_are_warnings(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, GOOD))
    warnings = policy.warnings(["Payments/refunds.md", "kafka/lag.md", "status/partners.md"])
    assert [(warning.line, warning.reason) for warning in warnings] == [
        (4, "the audience parked names nobody"),
        (7, "payments/** does not match Payments/refunds.md, whose case differs"),
        (9, "no runbook matches payments/open/*.md"),
    ]


def test_without_a_policy_everything_is_for_members() -> None:
    label = Policy.MEMBERS_ONLY.label("a.md")
    assert label.audience == "members"
    assert label.reasons == ("no policy: no rule matches; the default is members",)


def test_the_policy_is_found_beside_the_runbooks(tmp_path: Path) -> None:
    runbooks = tmp_path / "runbooks"
    assert find_policy(None, runbooks) is None
    path = written(tmp_path, GOOD)
    assert find_policy(None, runbooks) == path
    assert find_policy(Path("other.yaml"), runbooks) == Path("other.yaml")


def test_a_changed_policy_is_in_force_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    policy = PolicyFile(path)
    before = policy()
    assert policy() is before
    assert before.label("kafka/lag.md").audience == "members"
    # same size, and the time stamp of the file that was there: a copy tool may do that
    stat = path.stat()
    written(tmp_path, GOOD.replace("default: members", "default: nobody "))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert policy().label("kafka/lag.md").audience == "nobody"


def test_an_old_policy_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    os.utime(path, (1_000_000, 1_000_000))
    policy = PolicyFile(path)
    before = policy()
    assert policy() is before
    written(tmp_path, GOOD.replace("default: members", "default: public"))
    os.utime(path, (1_000_100, 1_000_100))
    assert policy().default == "public"


@pytest.mark.parametrize("fault", ["default: everyone\n", None])
def test_a_broken_policy_leaves_the_last_good_one_in_force_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: str | None
) -> None:
    path = written(tmp_path, GOOD)
    policy = PolicyFile(path)
    good = policy()
    if fault is None:
        path.unlink()
    else:
        written(tmp_path, fault)
    with caplog.at_level(logging.INFO):
        assert policy() is good
        assert policy() is good
    assert policy.problem is not None
    assert [record.levelname for record in caplog.records] == ["ERROR"], "said once"
    written(tmp_path, GOOD.replace("default: members", "default: workspace"))
    assert policy().default == "workspace"
    assert policy.problem is None


def test_a_broken_policy_at_the_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        PolicyFile(written(tmp_path, "default: everyone\n"))
