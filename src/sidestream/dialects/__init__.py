"""The languages that models write calls in: `get` one by name, or several to be read at once.

    parser = sidestream.dialects.get("tinyrag").parser(tools)

is a reader on its own, without I/O. A format's name is that of its row; `native` means providers' own calls.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from sidestream.dialects.dialect import Dialect, StreamParser
from sidestream.dialects.format import Format
from sidestream.dialects.formats import FORMATS
from sidestream.dialects.language import Language
from sidestream.dialects.models import formats_of
from sidestream.errors import UsageError

__all__ = ["Dialect", "StreamParser", "get", "names"]

_FORMATS: dict[str, Format | None] = {"native": None, "openai_delta": None, **FORMATS}


def names() -> list[str]:
    """The names `get` knows, sorted."""
    return sorted(_FORMATS)


def get(name: str | Sequence[str], *, model: str = "", **options: Any) -> Language:
    """The dialect of this name, or of these names read at once (the first one writes). `"auto"` stands for `native`
    and the formats that `model` is known to write. `options` are its parsers' defaults (see `block.Options`) and
    `evidence_chars`. Raises UsageError."""
    wanted = [name] if isinstance(name, str) else list(name)
    if "auto" in wanted:
        at = wanted.index("auto")
        wanted[at : at + 1] = ["native", *formats_of(model)]
    formats: list[Format] = []
    for one in wanted:
        row = _row(one)
        if row is not None and row not in formats:
            formats.append(row)
    native = not wanted or _FORMATS[wanted[0]] is None
    bound = {"evidence_chars": options.pop("evidence_chars")} if "evidence_chars" in options else {}
    return Language(formats, options, native=native, **bound)


def _row(name: str) -> Format | None:
    if name not in _FORMATS:
        near = difflib.get_close_matches(str(name), _FORMATS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UsageError(f"no dialect named {name!r}{hint} There are: auto, {', '.join(names())}")
    return _FORMATS[name]
