"""Imports every module that registers commands. Light modules only: heavy imports stay inside commands."""

from __future__ import annotations

import bot.cli.access  # noqa: F401
import bot.cli.index  # noqa: F401
import bot.cli.library  # noqa: F401
import bot.cli.text  # noqa: F401
