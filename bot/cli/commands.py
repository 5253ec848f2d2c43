"""Imports every module that registers commands. Light modules only: heavy imports stay inside commands."""

from __future__ import annotations

import bot.cli.access
import bot.cli.alert
import bot.cli.ask
import bot.cli.feedback
import bot.cli.index
import bot.cli.library
import bot.cli.serve
import bot.cli.text  # noqa: F401
