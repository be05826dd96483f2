"""From a model's name to its provider: the one place that knows which providers there are.

A row of the table names a provider by "module:attribute", loaded when it is first chosen (the one lazy
import of the core): choosing one never loads another. To add a provider, add its file and its row.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from sidestream.errors import UsageError
from sidestream.providers.provider import Provider

__all__ = ["choose", "forms"]


class _Row(NamedTuple):
    """`form` as users type it, `target` what makes it, `read` the model's whole name → keyword arguments,
    `install` what brings the packages it needs."""

    form: str
    target: str
    read: Callable[[str], Mapping[str, Any]]
    install: str = "sidestream"


def _rest(name: str, form: str) -> str:
    rest = name.partition(":")[2]
    if not rest:
        raise UsageError(f"model {name!r} is incomplete; the form is {form}")
    return rest


def _endpoint(name: str) -> dict[str, Any]:
    url, _, model = name.partition("#")
    if not model:
        raise UsageError(f"model {name!r} does not say which model: write {url}#MODEL, its name after a #")
    return {"model": unquote(model), "base_url": url}


def _named(name: str) -> dict[str, Any]:
    return {"model": _rest(name, f"{name.partition(':')[0]}:NAME")}


def _local(name: str) -> dict[str, Any]:
    _, colon, path = name.partition(":")
    return {"weights": Path(_rest(name, "local:PATH.gguf")).expanduser()} if colon or path else {}


def _script(name: str) -> dict[str, Any]:
    return {"path": Path(_rest(name, "script:FILE")).expanduser()}


_ENDPOINT = _Row("http://HOST:PORT/v1#MODEL (or https)", "sidestream.providers.openai:OpenAI", _endpoint)
_TABLE: dict[str, _Row] = {  # what stands before the first colon → its row
    "http": _ENDPOINT,
    "https": _ENDPOINT,
    "openai": _Row("openai:NAME", "sidestream.providers.openai:OpenAI", _named),
    "responses": _Row("responses:NAME", "sidestream.providers.responses:Responses", _named),
    "anthropic": _Row("anthropic:NAME", "sidestream.providers.anthropic:Anthropic", _named),
    "gemini": _Row("gemini:NAME", "sidestream.providers.gemini:Gemini", _named),
    "ollama": _Row("ollama:NAME", "sidestream.providers.ollama:Ollama", _named),
    "local": _Row("local, local:PATH.gguf", "sidestream.providers.local:Local", _local, "sidestream[local]"),
    "script": _Row("script:FILE", "sidestream.providers.script:Script.replay", _script),
}


def forms() -> list[str]:
    """The forms a model's name can have, for help texts."""
    return list(dict.fromkeys(row.form for row in _TABLE.values()))


def choose(model: str | Provider) -> Provider:
    """The provider of this name; a provider is handed back as it is. Raises UsageError for a name of no
    known form (it lists them), and where a package is missing (it says which extra brings it)."""
    if not isinstance(model, str):
        if callable(getattr(model, "stream", None)):
            return model
        raise UsageError(f"a model is a name or has a method `stream`, got {type(model).__name__}")
    prefix = model.partition(":")[0]
    row = _TABLE.get(prefix)
    if row is None or (prefix.startswith("http") and "://" not in model):
        near = difflib.get_close_matches(prefix, _TABLE, 1)
        hint = f"did you mean {near[0]}:…? " if near else f"did you mean openai:{model}? " if model else ""
        raise UsageError(f"no provider for model {model!r}; {hint}There are: {'; '.join(forms())}")
    provider: Provider = _load(model, row)(**row.read(model))
    return provider


def _load(model: str, row: _Row) -> Callable[..., Any]:
    module, _, path = row.target.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"model {model!r} needs a package that is not installed ({error.name or error}): "
            f"pip install '{row.install}'"
        ) from error
    for name in path.split("."):
        found = getattr(found, name)
    made: Callable[..., Any] = found
    return made
