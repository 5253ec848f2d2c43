"""Registers every command, in the order of `runbook-bot --help`. Heavy imports stay inside the commands."""

from __future__ import annotations

from importlib import import_module

for _family in ("serve", "ask", "index", "library", "access", "evaluate", "feedback", "alert", "text"):
    import_module(f"bot.cli.{_family}")
