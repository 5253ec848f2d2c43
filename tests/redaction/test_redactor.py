"""Placeholders, spans, pages, settings: what the rest of the bot relies on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ConfigurationError, RedactionError
from bot.redaction import Numbering, Redactor
from bot.redaction.redactor import _PLACEHOLDER
from bot.settings import Settings

PASSWORD = "Correct" + "9-Horse!"
OTHER = "Battery" + "7-Staple?"
TOKEN = "ghp" + "_" + "a1B2c3D4e5F6" * 3


def test_equal_values_get_equal_placeholders_and_others_do_not(redactor: Redactor) -> None:
    clean = redactor.redact(f"password={PASSWORD} host=db-1\npassword={OTHER}\nold_password: {PASSWORD}")
    assert clean.text == "password=‹password-1› host=db-1\npassword=‹password-2›\nold_password: ‹password-1›"
    assert [span.placeholder for span in clean.spans] == ["‹password-1›", "‹password-2›", "‹password-1›"]


def test_one_numbering_serves_all_texts_of_a_request(redactor: Redactor) -> None:
    numbering = Numbering()
    redactor.redact(f"password={PASSWORD}", numbering=numbering)
    assert (
        redactor.redact(f"pw: {OTHER}, pw: {PASSWORD}", numbering=numbering).text
        == "pw: ‹password-2›, pw: ‹password-1›"
    )


def test_a_value_once_found_is_found_again_without_its_name(redactor: Redactor) -> None:
    numbering = Numbering()
    redactor.redact(f"password={PASSWORD}", numbering=numbering)
    assert (
        redactor.redact(f"{PASSWORD} does not work either", numbering=numbering).text
        == "‹password-1› does not work either"
    )


def test_spans_are_offsets_into_the_given_text(redactor: Redactor) -> None:
    text = f"“quoted” &amp; pass\u200bword=<https://{TOKEN}|{TOKEN}> {PASSWORD}"
    for span in redactor.redact(text + f" password={PASSWORD}").spans:
        assert text[: span.start] in text
    clean = redactor.redact(f"pass\u200bword={PASSWORD[:5]}\u200b{PASSWORD[5:]} on db-1")
    assert [(span.start, span.end) for span in clean.spans] == [(10, 10 + len(PASSWORD) + 1)]


def test_clean_text_is_left_as_it_is(redactor: Redactor) -> None:
    once = redactor.redact(f"password={PASSWORD}\nAuthorization: Bearer {TOKEN}\nmail to jane.roe@example.com")
    again = redactor.redact(once.text)
    assert again.text == once.text
    assert not again.spans


def test_new_secrets_beside_old_placeholders_get_new_numbers(redactor: Redactor) -> None:
    assert redactor.redact(f"password=‹password-1› then password={PASSWORD}").text.endswith("password=‹password-2›")


def test_a_placeholder_beside_a_secret_hides_nothing(redactor: Redactor) -> None:
    clean = redactor.redact(f"password=‹password-1›{PASSWORD}")
    assert PASSWORD not in clean.text
    assert clean.text.startswith("password=‹password-1›")


def test_a_text_over_the_cap_is_cut_between_words_and_says_so() -> None:
    clean = Redactor(max_chars=100).redact("word " * 19 + f"password={PASSWORD}")
    assert clean.text.startswith("word word")
    assert "characters were cut off here" in clean.text
    assert "Correct" not in clean.text


def test_a_failure_inside_closes_and_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> None:
        raise ValueError(text)

    monkeypatch.setattr("bot.redaction.redactor.normalise", broken)
    with pytest.raises(RedactionError) as caught:
        Redactor().redact(f"password={PASSWORD}")
    assert PASSWORD not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_budget_that_is_used_up_closes() -> None:
    with pytest.raises(RedactionError, match="time budget"):
        Redactor(budget_ms=-1).redact(f"password={PASSWORD}")  # type: ignore[arg-type]


def test_a_field_is_judged_with_its_name(redactor: Redactor) -> None:
    clean = redactor.redact_field("Password", PASSWORD)
    assert clean.text == "‹password-1›"
    assert [(span.start, span.end) for span in clean.spans] == [(0, len(PASSWORD))]
    assert redactor.redact_field("pod", "api-7d9c5b6f4d-x2k8q").text == "api-7d9c5b6f4d-x2k8q"
    assert redactor.redact_field(f"password={PASSWORD} x", "plain words").text == "plain words"


# --- pages --------------------------------------------------------------------------------------------------


def test_a_page_keeps_its_lines(redactor: Redactor) -> None:
    key = "-----BEGIN " + "PRIVATE KEY-----\n" + "QUJDREVGR0hJSktMTU5P\n" * 4 + "-----END " + "PRIVATE KEY-----"
    page = f"# Restore\n\n```\n{key}\n```\n\npassword: {PASSWORD}\n"
    clean = redactor.clean_page(page)
    assert clean.count("\n") == page.count("\n")
    assert clean.split("\n")[11] == "password: ‹password-1›"
    assert redactor.page_findings(page) == [(4, "private-key"), (12, "password")]


def test_a_page_is_never_cut() -> None:
    page = "line\n" * 1000 + f"password: {PASSWORD}\n"
    assert Redactor(max_chars=100, budget_ms=1_000).clean_page(page).endswith("password: ‹password-1›\n")


PLACEHOLDERS = r"""
psql -c "alter user report password '<password>'"
export TOKEN=$TOKEN
password: {{ .Values.db.password }}
curl -u $USER:$PASS https://nexus.shop.internal
postgres://user:password@localhost:5432/db
mysql -u root -p
vault login <your-token>
kubectl create secret generic db --from-literal=password="$PW"
Authorization: Bearer <token>
api_key: YOUR_API_KEY_HERE
password: changeme
oc patch pod web-1 -p '{"metadata":{"finalizers":null}}'
"""


@pytest.mark.parametrize("line", PLACEHOLDERS.strip().split("\n"))
def test_placeholders_of_documentation_stay(redactor: Redactor, line: str) -> None:
    assert redactor.clean_page(line) == line


# --- settings -----------------------------------------------------------------------------------------------


def test_kinds_are_switched_off_and_on() -> None:
    line = "jane.roe@example.com at lat=52.520365"
    assert Redactor().redact(line).text == "‹email-1› at lat=52.520365"
    assert Redactor(off=["email"], on=["position"]).redact(line).text == "jane.roe@example.com at lat=‹position-1›"


def test_an_unknown_kind_is_an_error_at_start() -> None:
    with pytest.raises(ConfigurationError, match="REDACT_OFF names passwrods"):
        Redactor.from_settings(Settings(redact_off=("passwrods",)))


def test_allowed_values_stay() -> None:
    allowing = Redactor(allow=[PASSWORD, "@shop.example"])
    assert allowing.redact(f"password={PASSWORD} for jane@shop.example").spans == ()
    assert allowing.redact(f"password={OTHER} for jane@other.example").kinds == ("password", "email")


def test_own_patterns_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "patterns"
    file.write_text("# staff\nemployee-id  EMP-[0-9]{6}\n\nticket  ref ([A-Z]{3}\\d+)\n")
    own = Redactor.from_settings(Settings(redact_patterns=file))
    assert own.redact("EMP-123456 see ref ABC77").text == "‹employee-id-1› see ref ‹ticket-1›"


@pytest.mark.parametrize("bad", ["employee-id EMP-[0-9", "employee-id (?=x)y", "only-a-kind", "empty x*", "BAD KIND x"])
def test_a_bad_pattern_is_an_error_with_its_line(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "patterns"
    file.write_text(f"# one\ngood  EMP-[0-9]+\n{bad}\n")
    with pytest.raises(ConfigurationError) as caught:
        Redactor.from_settings(Settings(redact_patterns=file))
    assert caught.value.line == 3


# --- anything at all ----------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *(
            "password",
            "token",
            "=",
            '"',
            "'",
            "`",
            "\\",
            "<",
            ">",
            "|",
            "mailto:",
            "https://",
            "@",
            "a.b",
            "&lt;",
            "&amp;",
        ),
        *("“", "x1Y2z3", "Bearer ", "Cookie: ", "eyJ", "AKIA", "*", "_", "é", "\n", " ", ": ", "\u200b", "\ud800"),
        *("\x1b[31m", "-----BEGIN PRIVATE KEY-----", "+44 20 7946 0018", "mysql -p", "4242 4242 4242 4242", "data:"),
        *("kind: Secret", "curl -u a:b", "identified by", r"\u0026", "‹password-1›", "пароль"),
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join))


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_no_text_raises_and_spans_say_what_was_replaced(text: str) -> None:
    redactor = Redactor(budget_ms=60_000)
    clean = redactor.redact(text)
    rebuilt, position = "", 0
    for span in clean.spans:
        assert position <= span.start < span.end <= len(text)
        rebuilt += text[position : span.start] + span.placeholder
        position = span.end
        assert _PLACEHOLDER.fullmatch(span.placeholder)
    assert rebuilt + text[position:] == clean.text
    json.dumps(clean.text)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_pages_of_any_text_keep_their_lines(text: str) -> None:
    assert Redactor(budget_ms=60_000).clean_page(text).count("\n") == text.count("\n")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_a_known_token_is_masked_whatever_stands_around_it(before: str, after: str) -> None:
    assert TOKEN not in Redactor(budget_ms=60_000).redact(f"{before} {TOKEN} {after}").text
