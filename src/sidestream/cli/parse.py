"""`sidestream parse`: the events in a text, one line of JSON each. No model, no tools run.

For `native` the text may be JSON lines: our deltas, a provider's `delta` objects, or whole records of a chat
completion stream (with or without `data:`). Promises: any `--chunks` gives the same events, once adjacent
text is merged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sidestream import dialects
from sidestream.cli.arguments import pairs
from sidestream.codec import decode, encode
from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta, Note, Stop
from sidestream.providers.openai_read import Answer, deltas_of

__all__ = ["parse"]

_NATIVE = ("native", "openai_delta")


def _read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error
    return data.decode("utf-8", "replace")


def _tools(name: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(_read(name))
    except json.JSONDecodeError as error:
        raise UsageError(f"{name} is not JSON: {error}") from error
    schemas = found if isinstance(found, list) else [found]
    if not all(isinstance(schema, dict) for schema in schemas):
        raise UsageError(f"{name} must hold OpenAI tool schemas: a list of objects")
    return schemas


def _options(given: list[str]) -> dict[str, Any]:
    """Values as JSON where they are JSON, else as they stand."""
    found: dict[str, Any] = {}
    for key, value in pairs(given, "--option").items():
        try:
            found[key] = json.loads(value)
        except json.JSONDecodeError:
            found[key] = value
    return found


def _records(text: str) -> list[tuple[int, Any]] | None:
    """The JSON values of `text`, each with its line; None if it is just text."""
    start = text.lstrip()[:5]
    if start.startswith("["):
        try:
            return [(1, value) for value in json.loads(text)]
        except json.JSONDecodeError:
            return None
    if not start.startswith(("{", "data:")):
        return None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        body = line.strip().removeprefix("data:").strip()
        if not body or body == "[DONE]" or line.startswith((":", "event:")):
            continue
        try:
            found.append((number, json.loads(body)))
        except json.JSONDecodeError as error:
            raise UsageError(f"line {number} is not a JSON object: {error}") from error
    return found


def _deltas(records: list[tuple[int, Any]]) -> Iterator[AnyDelta]:
    answer = Answer()
    for number, record in records:
        try:
            match record:
                case {"type": str()}:
                    yield decode(json.dumps(record), delta=True)
                case {"choices": _}:
                    out: list[AnyDelta] = []
                    answer.feed(b"data: " + json.dumps(record).encode() + b"\n\n", out)
                    yield from out
                case dict():
                    yield from deltas_of(record, answer)
                case _:
                    raise UsageError("an object is needed")
        except (UsageError, ProviderError) as error:
            raise UsageError(f"line {number} is no delta: {error}") from error


def _feeds(text: str, formats: Sequence[str], size: int) -> Iterator[str | AnyDelta]:
    records = _records(text) if set(formats) <= set(_NATIVE) else None
    if records is not None:
        yield from _deltas(records)
    elif size:
        yield from (text[at : at + size] for at in range(0, len(text), size))
    else:
        yield text


def parse(given: argparse.Namespace) -> int:
    """Do it."""
    if given.chunks < 0:
        raise UsageError(f"--chunks must be 0 (all at once) or more, got {given.chunks}")
    formats = [name.strip() for name in given.format.split(",")]
    tools = _tools(given.tools) if given.tools else []
    options, text = _options(given.option), _read(given.file)
    if formats == ["auto"]:
        formats = [dialects.seen(text, tools, **options) or "native"]
        print(encode(Note("format", formats[0])).decode())
    reader = dialects.get(formats, **options).parser(tools)
    stop = given.stop
    for feed in _feeds(text, formats, given.chunks):
        if isinstance(feed, Stop):
            stop = stop or feed.reason
        for event in reader.feed(feed):
            print(encode(event).decode())
    for event in reader.close(stop or "end"):
        print(encode(event).decode())
    return 0
