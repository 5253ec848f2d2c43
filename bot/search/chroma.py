"""The vector store: Chroma, embedded in this process or as a server.

Chroma's own failures leave here as IndexUnavailable, or as IndexDamaged where only building anew helps. Embedded,
one process owns the folder: two clients on one folder answer from stale state or hang, so a lock says who is it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import chromadb
import httpx
import numpy as np
from chromadb.api.client import Client
from chromadb.api.collection_configuration import CreateHNSWConfiguration
from chromadb.config import Settings as ChromaSettings
from chromadb.errors import InternalError, InvalidArgumentError, NotFoundError
from filelock import FileLock, Timeout

from bot.errors import ConfigurationError, IndexDamaged, IndexLocked, IndexUnavailable, RunbookBotError
from bot.library.ports import Vectors
from bot.settings import Settings

_AT_ONCE = 2000
"""Rows of one `get`: more fail with "too many SQL variables" somewhere above."""
_GRAPH: CreateHNSWConfiguration = {
    "space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 600,
}  # fmt: skip
"""Chroma's own values miss 1 in 30 of the nearest 60 of 2,100 passages of pages made from one template, these none."""
_FETCHED = 20
"""Of so many stored vectors the graph looks at one in the time in which one is fetched: few of many are fetched all."""
_SAMPLE = 5
_PATIENCE = 20.0
"""Seconds that a Chroma server may take for one request; writing the largest batch takes a few."""
_CONNECT = 5.0
_PASSING = ("disk is full", "no space left", "is locked", "timed out", "timeout", "unavailable", "rate limit")
"""What Chroma's internal errors say where nothing is damaged."""
_SAME = 0.999
"""A cosine from which on two vectors count as one: Chroma stores float32."""


class ChromaStore:
    """A VectorStore on a Chroma client; `EmbeddedChroma` and `ChromaServer` open it. Safe to use from threads."""

    private = False
    """Others may have collections on a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, collection: str, embedder: str) -> None:
        """Make the collection if it is not there."""
        with _named():
            self._client.get_or_create_collection(
                collection,
                embedding_function=None,
                metadata={"embedder": embedder},
                configuration={"hnsw": _GRAPH},
            )

    def add(self, collection: str, ids: Sequence[str], vectors: Vectors, documents: Sequence[str]) -> None:
        """Write these; an id that is there already is overwritten."""
        with _named():
            held, size = self._held(collection), self._client.get_max_batch_size()
            for start in range(0, len(ids), size):
                end = start + size
                held.upsert(
                    ids=list(ids[start:end]), embeddings=vectors[start:end], documents=list(documents[start:end])
                )

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Forget these ids; unknown ones are no error."""
        with _named():
            held = self._held(collection)
            for start in range(0, len(ids), _AT_ONCE):
                held.delete(ids=list(ids[start : start + _AT_ONCE]))

    def ids(self, collection: str) -> set[str]:
        """Every id in the collection; empty if there is no such collection."""
        found: set[str] = set()
        with _named():
            if collection not in self.collections():
                return found
            held = self._held(collection)
            while page := held.get(include=[], limit=_AT_ONCE, offset=len(found))["ids"]:
                found.update(page)
        return found

    def query(self, collection: str, vector: Vectors, ids: Sequence[str] | None, limit: int) -> list[tuple[str, float]]:
        """The nearest of `ids` (and of no others), best first, with their cosine similarity (-1 to 1).

        None: the nearest of all that is stored. Raises IndexDamaged where one of `ids` has no vector: less than was
        asked for is no answer.
        """
        if not collection:
            raise IndexUnavailable("there is no complete index for this embedding model yet")
        wanted = limit if ids is None else min(limit, len(ids))
        if wanted < 1:
            return []
        with _named():
            held = self._held(collection)
            if ids is not None and len(ids) * _FETCHED < held.count():
                return self._exact(held, vector, ids)[:wanted]
            found = held.query(
                query_embeddings=vector[None, :],
                ids=None if ids is None else list(ids),
                n_results=wanted,
                include=["distances"],
            )
            distances = found["distances"] or [[]]
            ranked = [(name, 1.0 - float(far)) for name, far in zip(found["ids"][0], distances[0], strict=True)]
            if ids is not None and len(ranked) < wanted:  # the graph can lose its way where a filter leaves few of many
                ranked = self._exact(held, vector, ids)[:wanted]
        if ids is not None and not {name for name, _ in ranked} <= set(ids):
            raise IndexDamaged("the index returned passages that were not asked for")
        return ranked

    def check(self, collection: str, ids: Collection[str]) -> None:
        """See that each of `ids` has its vector and that stored vectors find themselves.

        Every vector is fetched before any is searched for: a fetch notices damage by which a search would crash.
        """
        names = list(ids)
        with _named():
            held = self._held(collection)
            for start in range(0, len(names), _AT_ONCE):
                _, vectors = _fetch(held, names[start : start + _AT_ONCE])
                norms = np.linalg.norm(vectors, axis=1)
                if not np.isfinite(norms).all() or not norms.all():
                    raise IndexDamaged("the index holds vectors that are none")
            sample = names[:: max(1, len(names) // _SAMPLE)][:_SAMPLE]
            lost = 0
            for name in sample:
                _, vectors = _fetch(held, [name])
                lost += self.query(collection, vectors[0], names, 10)[0][1] < _SAME
            if sample and lost == len(sample):  # the search is not exact: to miss now and then is no damage
                raise IndexDamaged("stored passages do not find themselves")

    def collections(self) -> list[str]:
        """Names of all collections."""
        with _named():
            return [held.name for held in self._client.list_collections(limit=10_000)]

    def drop(self, collection: str) -> None:
        """Remove a collection; an unknown one is no error."""
        with _named():
            try:
                self._client.delete_collection(collection)
            except NotFoundError:
                return

    def reset(self) -> None:
        """Nothing to do here: a new collection is built under another name."""

    def close(self) -> None:
        """Let go of the client."""
        self._client.close()

    def _held(self, collection: str) -> chromadb.Collection:
        return self._client.get_collection(collection, embedding_function=None)

    def _exact(self, held: chromadb.Collection, vector: Vectors, ids: Sequence[str]) -> list[tuple[str, float]]:
        ranked: list[tuple[str, float]] = []
        for start in range(0, len(ids), _AT_ONCE):
            names, vectors = _fetch(held, ids[start : start + _AT_ONCE])
            near = vectors @ vector / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector))
            ranked += zip(names, map(float, near), strict=True)
        return sorted(ranked, key=lambda pair: -pair[1])


class EmbeddedChroma(ChromaStore):
    """Chroma in this process, in a folder that is this process's alone.

    The files lie in numbered subfolders of which the last one counts: Chroma keeps a client for a path for as long
    as the process lives, whatever became of the files, so a path is never used twice.
    """

    private = True

    def __init__(self, folder: Path) -> None:
        """Take the folder. Raises IndexLocked where another process has it, IndexUnavailable where it can't be used.

        Files that were not closed properly are looked through in a process of their own first: on some kinds of
        damage Chroma does not fail but takes the process down.
        """
        self._folder = folder
        self._damage: IndexDamaged | None = None
        """What was found at the start: the first `check` says it."""
        with _named():
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / "lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise IndexLocked(_who_has(folder)) from None
            (folder / "owner").write_text(str(os.getpid()), encoding="ascii")
            self._number = max((int(sub.name) for sub in folder.iterdir() if sub.name.isdecimal()), default=1)
        try:
            if self._files.exists() and not self._closed_properly() and not _survives(self._files):
                raise IndexDamaged("the files of the index can't be read")
            super().__init__(_embedded(self._files))
        except IndexDamaged as error:
            self.reset()
            self._damage = error
        except BaseException:
            self._lock.release()
            raise
        self._stamp.unlink(missing_ok=True)

    def check(self, collection: str, ids: Collection[str]) -> None:
        """The same, and that the files are still there: an open client goes on answering from removed ones."""
        damage, self._damage = self._damage, None
        if damage and collection not in self.collections():
            raise damage
        if not (self._files / "chroma.sqlite3").exists():
            raise IndexDamaged("the files of the index are gone")
        super().check(collection, ids)

    def reset(self) -> None:
        """Move the damaged files aside, in the place of the last that were, and begin with none.

        Raises IndexUnavailable, with everything left as it is, where the disk has no room for another index: then
        that is what is wrong.
        """
        with _named():
            aside = self._folder / "damaged"
            shutil.rmtree(aside, ignore_errors=True)
            size = sum(file.stat().st_size for file in self._files.rglob("*") if file.is_file())
            if (free := shutil.disk_usage(self._folder).free if self._folder.exists() else size) < size:
                raise IndexUnavailable(f"the disk of {self._folder} is full: {free:,} bytes are left")
            if hasattr(self, "_client"):
                self._client.close()
            if self._files.exists():
                self._files.rename(aside)
            self._number += 1
            self._files.mkdir(parents=True)
            self._client = _embedded(self._files)

    def close(self) -> None:
        """Let go of the files and of the lock."""
        if not self._lock.is_locked:
            return
        super().close()
        with suppress(OSError):  # without the stamp the next start looks more closely, that is all
            self._stamp.write_text(_state_of(self._files), encoding="ascii")
        self._lock.release()

    @property
    def _files(self) -> Path:
        return self._folder / str(self._number)

    @property
    def _stamp(self) -> Path:
        return self._folder / "closed"

    def _closed_properly(self) -> bool:
        return self._stamp.exists() and self._stamp.read_text(encoding="ascii") == _state_of(self._files)


class ChromaServer(ChromaStore):
    """A Chroma server (`chroma run`, or one behind a proxy that wants a token)."""

    def __init__(self, url: str, token: str = "") -> None:
        """Connect. Raises ConfigurationError for an address that is none, IndexUnavailable where nobody answers."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ConfigurationError("CHROMA_URL is no address of a Chroma server", fix="http://host:8000")
        secure = parts.scheme == "https"
        headers = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}
        with _named():
            # Chroma's client has no time limit, can't be given one, and asks the server before one can be set.
            beat = httpx.get(f"{url.rstrip('/')}/api/v2/heartbeat", headers=headers, timeout=_CONNECT)
            beat.raise_for_status()
            client = chromadb.HttpClient(
                host=parts.hostname,
                port=parts.port or (443 if secure else 8000),
                ssl=secure,
                headers=headers,
                settings=ChromaSettings(anonymized_telemetry=False),
            )
        super().__init__(cast(Client, client))
        inside: Any = self._client
        self._sessions: list[httpx.Client] = [part._server._session for part in (inside, inside._admin_client)]
        for session in self._sessions:
            session.timeout = httpx.Timeout(_PATIENCE, connect=_CONNECT)

    def close(self) -> None:
        """Let go of the connections, which Chroma's client leaves open."""
        super().close()
        for session in self._sessions:
            session.close()


def open_store(settings: Settings) -> ChromaStore:
    """The store that the settings name: a server where there is a CHROMA_URL, else Chroma in the data folder."""
    if settings.chroma_url:
        return ChromaServer(settings.chroma_url, settings.chroma_token.get_secret_value())
    return EmbeddedChroma(settings.data_dir / "chroma")


def _embedded(path: Path) -> Client:
    with _named():
        return cast(Client, chromadb.PersistentClient(path, settings=ChromaSettings(anonymized_telemetry=False)))


def _fetch(held: chromadb.Collection, ids: Sequence[str]) -> tuple[list[str], Vectors]:
    """These ids in the order in which Chroma gives them, with their vectors. Raises IndexDamaged if any lacks one."""
    found = held.get(ids=list(ids), include=["embeddings"])
    vectors = np.asarray(found["embeddings"], dtype=np.float32)
    if set(found["ids"]) != set(ids) or len(vectors) != len(found["ids"]):
        raise IndexDamaged(f"the index lacks {len(set(ids) - set(found['ids']))} passages that it should hold")
    return found["ids"], vectors


@contextmanager
def _named() -> Iterator[None]:
    """Give Chroma's failures our names."""
    try:
        yield
    except RunbookBotError:
        raise
    except (NotFoundError, InvalidArgumentError) as error:
        raise IndexDamaged(f"the index is not what it was: {_words(error)}") from error
    except InternalError as error:
        passing = any(words in str(error).casefold() for words in _PASSING)
        raise (IndexUnavailable if passing else IndexDamaged)(f"the index failed: {_words(error)}") from error
    except Exception as error:  # Chroma raises ValueError and others where a server does not answer
        raise IndexUnavailable(f"the index is out of reach: {_words(error)}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of Chroma's Rust half, which no Exception covers
            raise IndexDamaged("the index failed inside Chroma") from error
        raise


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _who_has(folder: Path) -> str:
    try:
        owner = f"process {int((folder / 'owner').read_text(encoding='ascii'))}"
    except (OSError, ValueError):
        owner = "another process"
    return (
        f"{owner} is using the index in {folder}: stop it, or name another folder with --data; "
        "for several processes at once run a Chroma server and set CHROMA_URL"
    )


def _state_of(folder: Path) -> str:
    """A digest of what can be seen of the files without reading them."""
    facts = [
        (str(file.relative_to(folder)), file.stat().st_size, file.stat().st_mtime_ns)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    ]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _survives(folder: Path) -> bool:
    """Whether a process of its own can read every vector of these files, and search them, and live."""
    command = [sys.executable, "-m", "bot.search.chroma", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, timeout=300, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _look_through(folder: Path) -> None:
    store = ChromaStore(_embedded(folder))
    for collection in store.collections():
        store.check(collection, store.ids(collection))


if __name__ == "__main__":
    _look_through(Path(sys.argv[1]))
