"""Every setting, read once, from the environment and `.env`.

`docs/settings.md` describes each; a test fails when one is missing there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bot.errors import ConfigurationError

Words = Annotated[tuple[str, ...], NoDecode]
"""A list in one variable: separated by commas or spaces."""


class Settings(BaseSettings):
    """The settings. A field `data_dir` is read from `DATA_DIR`; an empty value counts as not set."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True)

    # Where things are
    runbooks_dir: Path = Path("runbooks")
    access_file: Path | None = None
    """None: `access.yaml` beside the runbook folder's parent, if it is there (see `bot.app`)."""
    data_dir: Path = Path("data")
    runbook_url: str = ""
    """Template of links to a page: `{path}`, `{start}`, `{end}`."""
    database_url: str = ""
    """Empty: SQLite in the data folder."""
    chroma_url: str = ""
    """Empty: Chroma embedded in this process, in the data folder."""
    chroma_token: SecretStr = SecretStr("")

    # Slack
    slack_bot_token: SecretStr = SecretStr("")
    slack_app_token: SecretStr = SecretStr("")
    slack_signing_secret: SecretStr = SecretStr("")
    slack_api_url: str = "https://slack.com/api/"
    port: int = 3000
    """Of `serve --http`."""
    reactions: Words = ("mag_right", "mag")
    alert_channels: Words = ()
    """Ids of channels in which alerts are answered; empty: every channel the bot is in."""
    admins: Words = ()
    """User ids that may use `/runbook access` and `/runbook sync`."""
    refire_minutes: int = Field(default=30, ge=0)
    """Minutes within which the same alert in the same channel gets no second answer; 0: every post is answered."""
    links: str = "direct"
    """"direct": citations link to `RUNBOOK_URL`; "open": only the Open button leads to a page."""

    # The model, if any
    openai_api_key: SecretStr = SecretStr("")
    openai_base_url: str = ""
    openai_model: str = ""
    """Empty: checks are quoted, no text goes to a model."""
    model_timeout: float = Field(default=12.0, gt=0)
    """Seconds for everything that is asked of the model for one answer, retries included."""

    # Embeddings
    embedding_model: str = ""
    """Empty: the local model. A name: that model of the OpenAI-compatible endpoint. A folder: an ONNX model."""
    embedding_timeout: float = Field(default=30.0, gt=0)

    # The library
    max_runbook_bytes: int = Field(default=1_000_000, gt=0)
    max_runbooks: int = Field(default=20_000, gt=0)
    review_after: int = Field(default=365, ge=0)
    """Days after which a page without `review_after` is overdue; 0: never."""
    watch: bool = True

    # Search
    search_line: float | None = Field(default=None, ge=0, le=1)
    """Below this calibrated score nothing is answered. None: the embedding model's own, from the table."""

    # Redaction
    redact_off: Words = ()
    redact_on: Words = ()
    redact_patterns: Path | None = None
    redact_allow: Words = ()
    redact_max_chars: int = Field(default=40_000, gt=0)
    redact_budget_ms: int = Field(default=2_000, gt=0)
    redaction_receipts: bool = True

    log_level: str = ""
    """Empty: INFO for the bot, WARNING for the other commands."""

    @field_validator("reactions", "alert_channels", "admins", "redact_off", "redact_on", "redact_allow", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret of the bot itself, to be masked in whatever is logged."""
        values = [v.get_secret_value() for v in self.__dict__.values() if isinstance(v, SecretStr)]
        for url in (self.database_url, self.chroma_url, self.openai_base_url):
            password = urlsplit(url).password or ""
            values += [password, unquote(password)]
        return tuple(dict.fromkeys(v for v in values if v))


def read_settings(**overrides: object) -> Settings:
    """The settings, with `overrides` (of the command line; None means not given) before the environment.

    Raises ConfigurationError naming the variable that can't be read.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]).upper()
        raise ConfigurationError(f"{name} can't be read: {first['msg']}", fix="see docs/settings.md") from None
