"""`serve`, `try` and `run`: the bot in Slack, in a local workspace, or in whichever there is."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import SecretStr

from bot.cli import AccessOption, DataOption, RunbooksOption, app, console, settings_of
from bot.errors import ConfigurationError
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.app import App
    from bot.slack.listeners import SlackEdge

PortOption = Annotated[int, typer.Option("--port", help="Port of the local workspace; 0 takes a free one.")]


@app.command()
def serve(
    http: Annotated[bool, typer.Option("--http", help="Take events by HTTP (PORT) instead of Socket Mode.")] = False,
    runbooks: RunbooksOption = None,
    access: AccessOption = None,
    data: DataOption = None,
) -> None:
    """Serve Slack. Needs SLACK_BOT_TOKEN, and SLACK_APP_TOKEN or, with --http, SLACK_SIGNING_SECRET."""
    settings = settings_of(runbooks, access, data, level="INFO")
    _run(_serve(settings, http=http))


@app.command("try")
def try_(
    port: PortOption = 8899,
    runbooks: RunbooksOption = None,
    access: AccessOption = None,
    data: DataOption = None,
) -> None:
    """Try the bot in a local stand-in for Slack, in the browser, without any token."""
    _run(_try(settings_of(runbooks, access, data, level="INFO"), port))


@app.command()
def run(
    port: PortOption = 8899,
    runbooks: RunbooksOption = None,
    access: AccessOption = None,
    data: DataOption = None,
) -> None:
    """Run the bot: in Slack where there are tokens, otherwise in a local workspace."""
    settings = settings_of(runbooks, access, data, level="INFO")
    if settings.slack_bot_token.get_secret_value():
        _run(_serve(settings, http=not settings.slack_app_token.get_secret_value()))
    else:
        _run(_try(settings, port))


def _run(work: Awaitable[None]) -> None:
    """Run until it ends, or until this process is told to stop; then let what is under way end."""

    async def until_told() -> None:
        task = asyncio.ensure_future(work)
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            console.print("stopped", style="dim")

    asyncio.run(until_told())


async def _serve(settings: Settings, *, http: bool) -> None:
    from bot.app import serving
    from bot.cli.index import progress_bar

    needed = {"SLACK_BOT_TOKEN": settings.slack_bot_token}
    needed |= (
        {"SLACK_SIGNING_SECRET": settings.slack_signing_secret}
        if http
        else {"SLACK_APP_TOKEN": settings.slack_app_token}
    )
    for name, value in needed.items():
        if not value.get_secret_value():
            raise ConfigurationError(f"{name} is not set", fix="see docs/slack.md, or try it without: runbook-bot try")
    with progress_bar() as progress:
        async with serving(settings, progress) as (parts, edge):
            await (_serve_http(parts, edge) if http else _serve_socket(edge))


async def _serve_socket(edge: SlackEdge) -> None:
    await edge.connect()
    console.print("connected to Slack by Socket Mode", style="green")
    await asyncio.Event().wait()


async def _serve_http(parts: App, edge: SlackEdge) -> None:
    from aiohttp import web

    async def health(request: web.Request) -> web.Response:
        live = parts.publisher.live()
        state = {"healthy": bool(live.collection), "runbooks": len(live.runbooks), "generation": live.generation}
        return web.json_response(state, status=200 if live.collection else 503)

    site = edge.app.web_app(path="/slack/events", port=parts.settings.port)
    site.router.add_get("/health", health)
    runner = web.AppRunner(site, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=parts.settings.port).start()
        console.print(f"listening on port {parts.settings.port}: /slack/events, /health", style="green")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


async def _try(settings: Settings, port: int) -> None:
    from bot.app import serving
    from bot.cli.index import progress_bar
    from bot.workspace.server import Workspace

    async with Workspace(port) as workspace:
        local = settings.model_copy(
            update={
                "slack_bot_token": SecretStr(workspace.bot_token),
                "slack_app_token": SecretStr(workspace.app_token),
                "slack_api_url": workspace.api_url,
                # the channel begins empty at every start: what was answered before it is no re-fire
                "refire_minutes": 0,
                "admins": settings.admins or ("U0BEN",),
            }
        )
        with progress_bar() as progress:
            async with serving(local, progress) as (_, edge):
                workspace.why = _why(edge)
                await edge.connect()
                await workspace.connected()
                typer.echo(f"The bot is in a local stand-in for Slack: {workspace.address}")
                await asyncio.Event().wait()


def _why(edge: SlackEdge) -> Callable[[dict[str, Any]], Awaitable[list[str]]]:
    """Why the bot said what it said in one of its messages: for the local workspace's side panel alone."""

    async def why(message: dict[str, Any]) -> list[str]:
        ids = dict.fromkeys(_values(message.get("blocks") or []))
        for id in ids:
            kept = await asyncio.to_thread(edge.desk.answers.get, id.split(":")[0])
            if kept is not None:
                outcome = kept.outcome
                found = [
                    f"{match['title']}, lines {match['start_line']}–{match['end_line']}: "
                    f"{match['route']}, score {match['score']:.2f}"
                    for match in outcome.get("matches", ())
                ]
                return [*outcome.get("access_reasons", ()), f"searched for: {outcome.get('query', '')}", *found]
        return []

    return why


def _values(blocks: object) -> list[str]:
    if isinstance(blocks, dict):
        own = [blocks["value"]] if isinstance(blocks.get("value"), str) else []
        return own + [value for inner in blocks.values() for value in _values(inner)]
    return [value for inner in blocks for value in _values(inner)] if isinstance(blocks, list) else []
