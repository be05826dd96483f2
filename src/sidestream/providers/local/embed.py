"""Sentence embeddings: all-MiniLM-L6-v2 (int8) on onnxruntime.

Promises: one unit vector per text, the same whatever else is asked with it; a text asked for twice is
computed once, and what is `kept` (tools' examples) survives in a file. Only the worker process imports
this file, with its two heavy packages. It will not download anything and knows nothing of tools.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import onnxruntime  # type: ignore[import-not-found,import-untyped,unused-ignore]

from sidestream.providers.local.wordpiece import WordPiece

__all__ = ["Embedder"]

_MOST_KEPT = 5_000


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


class Embedder:
    """Texts to unit vectors, about 4 ms a short text. `kept` is the file that remembers examples."""

    def __init__(self, model: Path, tokenizer: Path, threads: int = 1, kept: Path | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._names = {entry.name for entry in self._session.get_inputs()}
        self._tokens = WordPiece.load(tokenizer)
        self._file = kept
        self._known: dict[str, Any] = self._load()

    def _load(self) -> dict[str, Any]:
        if self._file is None:
            return {}
        try:
            with numpy.load(self._file, allow_pickle=False) as data:
                return dict(zip(json.loads(str(data["keys"])), data["vectors"], strict=True))
        except (OSError, ValueError, KeyError):
            return {}

    def _save(self) -> None:
        if self._file is None or len(self._known) > _MOST_KEPT:
            return
        part = self._file.with_name(f"{self._file.name}.{os.getpid()}.npz")
        try:
            numpy.savez(part, keys=json.dumps(list(self._known)), vectors=numpy.stack(list(self._known.values())))
            part.replace(self._file)
        except OSError:
            part.unlink(missing_ok=True)  # a cache that cannot be written costs time, nothing else

    def _compute(self, text: str) -> Any:
        ids = numpy.array([self._tokens.encode(text)], dtype=numpy.int64)
        feeds = {
            "input_ids": ids,
            "attention_mask": numpy.ones_like(ids),
            "token_type_ids": numpy.zeros_like(ids),
        }
        hidden = numpy.asarray(self._session.run(None, {name: feeds[name] for name in self._names})[0])[0]
        mean = hidden.mean(axis=0)
        return (mean / max(float(numpy.linalg.norm(mean)), 1e-12)).astype(numpy.float32)

    def embed(self, texts: Sequence[str], keep: bool = False) -> Any:
        """One row per text; `keep` remembers them."""
        keys = [_key(text) for text in texts]
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        rows = {key: self._compute(text) for key, text in fresh.items()}
        if keep and rows:
            self._known.update(rows)
            self._save()
        return numpy.stack([rows[key] if key in rows else self._known[key] for key in keys])

    def similar(self, texts: Sequence[str], examples: Sequence[str]) -> list[list[float]]:
        """Cosines: one row per text, one column per example."""
        if not texts or not examples:
            return [[] for _ in texts]
        table: list[list[float]] = (self.embed(texts) @ self.embed(examples, keep=True).T).tolist()
        return table
