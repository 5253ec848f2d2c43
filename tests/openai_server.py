"""An OpenAI-compatible server on loopback that records what it was sent and answers as it is told."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

Reply = web.Response | dict[str, Any] | str
"""A whole response, a completion's body, or the content of its only message."""


class OpenAIServer:
    """`chat` is called with the request's body and gives the reply; embeddings are a hash of each text's words."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.chat: Callable[[dict[str, Any]], Reply | Awaitable[Reply]] = lambda body: "{}"
        self.embeddings_status = 200
        self.dimensions = 64
        self.base_url = ""
        self._runner: web.AppRunner | None = None

    @property
    def sent(self) -> str:
        """Everything that ever arrived, as one text: for greps."""
        return json.dumps(self.requests, ensure_ascii=False)

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """The bodies of one kind: "chat" or "embeddings"."""
        return [body for name, body in self.requests if name == kind]

    async def __aenter__(self) -> OpenAIServer:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._runner
        await self._runner.cleanup()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(("chat", body))
        reply = self.chat(body)
        if isinstance(reply, Awaitable):
            reply = await reply
        if isinstance(reply, web.Response):
            return reply
        return web.json_response(completion(reply) if isinstance(reply, str) else reply)

    async def _embeddings(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(("embeddings", body))
        if self.embeddings_status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self.embeddings_status)
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        await asyncio.sleep(0)
        data = [{"object": "embedding", "index": i, "embedding": self._vector(t)} for i, t in enumerate(texts)]
        return web.json_response({"object": "list", "data": data, "model": body["model"], "usage": {"total_tokens": 1}})

    def _vector(self, text: str) -> list[float]:
        vector = [0.01] * self.dimensions
        for word in text.lower().split():
            digest = hashlib.sha256(word.strip(".,:;`*#").encode()).digest()
            vector[int.from_bytes(digest[:4], "big") % self.dimensions] += 1.0
        return vector


def completion(content: str | None, *, finish: str = "stop", refusal: str | None = None) -> dict[str, Any]:
    """A chat completion's body with one choice."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }  # fmt: skip
