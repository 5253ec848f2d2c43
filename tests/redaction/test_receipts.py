"""The private word to whoever posted a secret."""

from __future__ import annotations

from bot.redaction import KINDS, Redactor
from bot.redaction.receipts import receipt


def test_it_names_the_kinds_and_never_the_secret(redactor: Redactor) -> None:
    secret = "Correct" + "9-Horse!"
    told = receipt(redactor.redact(f"password={secret}, mail me at jane.roe@example.com").kinds)
    assert told is not None
    assert "a password" in told
    assert "rotate" in told
    assert secret not in told
    assert "e-mail" not in told


def test_personal_data_alone_needs_none() -> None:
    assert receipt(["email", "phone"]) is None
    assert receipt([]) is None


def test_several_kinds_are_listed_once() -> None:
    told = receipt(["password", "token", "password", "employee-id"])
    assert told is not None
    assert "a password, an access token and a value of the kind employee-id" in told


def test_every_kind_has_a_label() -> None:
    assert all(kind.label.split()[0] in ("a", "an", "the") for kind in KINDS.values())
