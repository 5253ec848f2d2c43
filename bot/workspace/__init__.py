"""A local Slack workspace to try the bot in, without tokens.

`Workspace` is the server with everything that can be done in it; `seed_membership()` answers who is who and where in
its seed without any server.
"""

from __future__ import annotations

from bot.workspace.seed import WorldMembership, seed_membership, seed_world
from bot.workspace.server import Workspace

__all__ = ["Workspace", "WorldMembership", "seed_membership", "seed_world"]
