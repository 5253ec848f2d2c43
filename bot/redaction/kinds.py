"""The kinds of things that are masked: what each is called in a placeholder, to people, and whether it is on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of secret or of personal data."""

    name: str
    """As in the placeholder `‹name-1›`, in `REDACT_OFF` and `REDACT_ON`."""
    label: str
    """To a person: "a password"."""
    secret: bool = True
    """A secret must be rotated once it was posted; personal data can't be."""
    on: bool = True
    """Masked unless switched off."""


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("password", "a password"),
        Kind("password-hash", "the hash of a password"),
        Kind("token", "an access token"),
        Kind("key", "a secret key"),
        Kind("private-key", "a private key"),
        Kind("session", "a session cookie or id"),
        Kind("signature", "a signed link"),
        Kind("webhook", "a webhook address that anybody can post to"),
        Kind("code", "a one-time code or PIN"),
        Kind("email", "an e-mail address", secret=False),
        Kind("phone", "a phone number", secret=False),
        Kind("card", "a card number", secret=False),
        Kind("bank-account", "a bank account", secret=False),
        Kind("birth-date", "a date of birth", secret=False),
        Kind("national-id", "an identity number", secret=False),
        Kind("ip", "a person's IP address", secret=False),
        Kind("position", "a position", secret=False, on=False),
        Kind("name", "a person's name", secret=False, on=False),
    )
}
