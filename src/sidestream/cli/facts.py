"""The commands that tell what is there: `tools`, `formats`, `doctor`, and `local pull`, which makes it so."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sidestream import __version__, dialects
from sidestream.cli.shelf import chosen
from sidestream.dialects.models import rows
from sidestream.messages import ToolSpec
from sidestream.providers import local as embedded
from sidestream.providers.choose import forms
from sidestream.providers.local.pull import bar

__all__ = ["doctor", "formats", "local", "tools"]

_EXTRAS = {"speed": ("uvloop",), "local": ("xllamacpp", "onnxruntime", "numpy")}


def _type(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "any")
    shown = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    return " or ".join(map(json.dumps, schema["enum"])) if "enum" in schema else shown


def _described(spec: ToolSpec) -> Iterator[str]:
    yield spec.name
    yield f"  {spec.description}"
    required = spec.schema.get("required") or ()
    for name, schema in spec.properties.items():
        optional = "" if name in required else ", optional"
        about = f": {schema['description']}" if schema.get("description") else ""
        yield f"    {name} ({_type(schema)}{optional}){about}"
    if spec.examples:
        yield f"  for example: {spec.examples[0]}"


def tools(given: argparse.Namespace) -> int:
    """What is on the shelf, with schemas."""
    specs = [tool.spec for tool in chosen(None)]
    if given.json:
        functions = [{"name": s.name, "description": s.description, "parameters": s.schema} for s in specs]
        print(json.dumps([{"type": "function", "function": one} for one in functions], indent=2, ensure_ascii=False))
    else:
        print("\n\n".join("\n".join(_described(spec)) for spec in specs))
    return 0


def formats(given: argparse.Namespace) -> int:
    """The dialects: each with what opens its blocks, and models that write it."""
    models: dict[str, list[str]] = {}
    for model, names in rows():
        for name in names[:1]:
            models.setdefault(name, []).append(model)
    for name in dialects.names():
        opener = next(iter(dialects.get(name).openers([ToolSpec("NAME", "", {})])), "")
        known = ", ".join(models.get(name, [])[:3])
        print(f"{name:<18}{opener.strip() or '-':<38}{known}".rstrip())
    return 0


def local(given: argparse.Namespace) -> int:
    """`local pull`: the embedded model's files."""
    weights = embedded.pull(Path(given.source) if given.source else None, bar(sys.stderr))
    print(f"the embedded model is here: {weights}", file=sys.stderr)
    return 0


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def doctor(given: argparse.Namespace) -> int:
    """What is installed, what is missing, what to do about it."""
    print(f"sidestream {__version__}, Python {platform.python_version()}, {platform.platform()}")
    print("core: " + ", ".join(f"{name} {_version(name) or 'missing'}" for name in ("msgspec", "aiohttp")))
    for extra, packages in _EXTRAS.items():
        missing = [name for name in packages if not _version(name)]
        told = f"missing {', '.join(missing)}: pip install 'sidestream[{extra}]'" if missing else "installed"
        print(f"extra {extra}: {told}")
    print(f"models: {'; '.join(forms())}")
    print(f"tools: {', '.join(tool.spec.name for tool in chosen(None))}")
    print(f"formats: {', '.join(dialects.names())}")
    print("the embedded model (local):")
    for line in embedded.doctor():
        print(f"  {line}")
    return 0
