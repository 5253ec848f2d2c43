"""Passages and hits to answer from, without a library or a search."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from bot.library.models import Passage, Runbook
from bot.search.models import Hit
from tests.openai_server import OpenAIServer

PAGE = """\
# Pool exhausted

## First checks

1. Look at who holds the connections:

   ```sh
   psql -h db.shop.example -c "select state, count(*) from pg_stat_activity group by 1"
   ```

   More than 200 rows in `idle in transaction` is a leak.
2. Read the pooler's own view with `SHOW POOLS;`.
3. Do not restart the primary while a failover is running.

## Remedies

- Restart the deployment that leaks:

  ```sh
  kubectl -n shop rollout restart deployment/checkout-api
  ```

## Codes

| code | meaning | first action |
| --- | --- | --- |
| E40 | slow disk | restart the writer |
| E41 | split brain | stop and page the owner |
"""


def make_hit(text: str = PAGE, *, path: str = "db/pool.md", title: str = "Pool exhausted", start_line: int = 1) -> Hit:
    runbook = Runbook(path, title, text, version="v1", services=("checkout-db",), owner="team-db")
    passage = Passage(f"id-{path}", path, (title,), start_line, start_line + text.count("\n"), 0, text)
    return Hit(passage, runbook, 0.9, "meaning and words")


@pytest.fixture
def hit_of() -> Callable[..., Hit]:
    return make_hit


@pytest.fixture
async def openai_server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server
