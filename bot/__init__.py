"""The runbook bot: cited next checks from a team's own runbooks, in the thread where they are needed."""

__version__ = "0.1.0"
