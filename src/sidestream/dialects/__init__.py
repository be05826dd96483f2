"""The languages that models write calls in: `get` one by name, or several to be read at once.

    parser = sidestream.dialects.get("tinyrag").parser(tools)

is a reader on its own, without I/O. A format's name is that of its row; `native` means providers' own calls.
"""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Sequence
from typing import Any

from sidestream.dialects.dialect import Dialect, StreamParser
from sidestream.dialects.format import Format
from sidestream.dialects.formats import FORMATS
from sidestream.dialects.language import Language
from sidestream.dialects.models import formats_of
from sidestream.errors import UsageError
from sidestream.events import CallClosed, CallRejected, Text

__all__ = ["Dialect", "StreamParser", "get", "names", "new_nonce", "seen"]

_NONCE_BYTES = 8
_FORMATS: dict[str, Format | None] = {"native": None, "openai_delta": None, **FORMATS}


def names() -> list[str]:
    """The names `get` knows, sorted."""
    return sorted(_FORMATS)


def new_nonce() -> str:
    """Hexadecimal digits that nobody can guess."""
    return secrets.token_hex(_NONCE_BYTES)


def get(name: str | Sequence[str], *, model: str = "", nonce: bool | str = False, **options: Any) -> Language:
    """The dialect of this name, or of these names read at once (the first one writes). `"auto"` stands for `native`
    and the formats that `model` is known to write. `nonce`: blocks count only with an unguessable attribute that the
    taught text asks for (True makes one up). `options` are its parsers' defaults (see `block.Options`) and
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
    secret = new_nonce() if nonce is True else nonce or ""
    return Language(formats, options, native=native, nonce=secret, **bound)


def seen(text: str, specs: Sequence[Any] = (), **options: Any) -> str:
    """The name of the format that `text` is written in, as far as its calls tell; `""` if none is found in it. A
    format wins by the most whole calls, then by the fewest blocks that it cannot read."""
    best, found = (0, 0, 0), ""
    for name, row in FORMATS.items():
        parser = Language([row], options).parser(specs)
        events = [*parser.feed(text), *parser.close("end")]
        calls = sum(isinstance(event, CallClosed) for event in events)
        broken = sum(isinstance(event, CallRejected) and event.why != "quoted" for event in events)
        plain = sum(len(event.text) for event in events if isinstance(event, Text))
        if (calls + broken and (calls, -broken, -plain) > best) or (not found and calls + broken):
            best, found = (calls, -broken, -plain), name
    return found


def _row(name: str) -> Format | None:
    if name not in _FORMATS:
        near = difflib.get_close_matches(str(name), _FORMATS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise UsageError(f"no dialect named {name!r}{hint} There are: auto, {', '.join(names())}")
    return _FORMATS[name]
