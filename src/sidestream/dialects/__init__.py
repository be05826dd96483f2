"""The languages that models write calls in: `get` one by name, or several to be read at once.

    parser = sidestream.dialects.get("tinyrag").parser(tools)

is a reader on its own, without I/O. A format's name is that of its row; `native` means providers' own calls.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from sidestream.dialects.dialect import Dialect, StreamParser
from sidestream.dialects.language import Language, WrittenFormat
from sidestream.dialects.tags import TINYRAG
from sidestream.errors import UsageError

__all__ = ["Dialect", "StreamParser", "get", "names"]

_FORMATS: dict[str, WrittenFormat | None] = {"native": None, "openai_delta": None, "tinyrag": TINYRAG}


def names() -> list[str]:
    """The names `get` knows, sorted."""
    return sorted(_FORMATS)


def get(name: str | Sequence[str], **options: Any) -> Language:
    """The dialect of this name, or of these names read at once (the first one writes). `options` are its
    parsers' defaults (see `block.Options`) and `evidence_chars`. Raises UsageError."""
    wanted = [name] if isinstance(name, str) else list(name)
    formats = []
    for one in wanted:
        if one not in _FORMATS:
            near = difflib.get_close_matches(str(one), _FORMATS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise UsageError(f"no dialect named {one!r}{hint} There are: {', '.join(names())}")
        row = _FORMATS[one]
        if row is not None and row not in formats:
            formats.append(row)
    bound = {"evidence_chars": options.pop("evidence_chars")} if "evidence_chars" in options else {}
    return Language(formats, options, **bound)
