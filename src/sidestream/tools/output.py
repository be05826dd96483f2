"""From whatever a tool gives back, or raises, to the parts of one clean result. Pure.

Promises: every part can be encoded (lone surrogates are U+FFFD, bytes are decoded with replacement, what is
not JSON is its `repr`, and what has none is its type's name), and text is cut at exactly the bound, in the
middle, saying how much is missing. It will not cut images, files and data: they have no middle.
"""

from __future__ import annotations

import math
import reprlib
import traceback
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from sidestream.codec import scrub
from sidestream.errors import Retry
from sidestream.messages import AudioPart, DataPart, FilePart, ImagePart, TextPart, clean

__all__ = ["ResultPart", "bounded", "failure", "parts_of"]

ResultPart: TypeAlias = TextPart | ImagePart | AudioPart | FilePart | DataPart

_PARTS = (TextPart, ImagePart, AudioPart, FilePart, DataPart)
_NOT_JSON = (TypeError, ValueError, RecursionError, OverflowError)
_ERROR_CHARS = 2_000  # of what is told of one exception
_NOTHING = "(no output)"
_HIDDEN = "The tool failed. Its error is not shown."

_reprs = reprlib.Repr()  # of the standard library: survives a `__repr__` that raises
_reprs.maxother = 1 << 40


def parts_of(value: Any) -> tuple[ResultPart, ...]:
    """The parts of a tool's return value: parts as they are, text as text, anything else as JSON text."""
    if isinstance(value, _PARTS):
        return (_cleaned(value),)
    if isinstance(value, list | tuple) and any(isinstance(item, _PARTS) for item in value):
        return tuple(part for item in value for part in parts_of(item))
    return (TextPart(_text(value)),)


def _cleaned(part: ResultPart) -> ResultPart:
    match part:
        case TextPart(text):
            return TextPart(clean(text))
        case AudioPart(mime, data, url):
            return AudioPart(clean(mime), data, clean(url))
        case ImagePart(mime, data, url):
            return ImagePart(clean(mime), data, clean(url))
        case FilePart(name, mime, data, url):
            return FilePart(clean(name), clean(mime), data, clean(url))
        case DataPart(name, data):
            return DataPart(clean(name), _plain(data))


def _text(value: Any) -> str:
    match value:
        case None:
            return _NOTHING
        case bytes() | bytearray() | memoryview():
            return bytes(value).decode("utf-8", "replace")
        case float() if not math.isfinite(value):  # JSON has no word for it
            return repr(value)
    plain = _plain(value)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


def _plain(value: Any) -> Any:
    """`value` as what JSON can carry: a text where nothing else will do."""
    try:
        plain = scrub(msgspec.to_builtins(value, enc_hook=_stranger, str_keys=True))
        msgspec.json.encode(plain)
    except _NOT_JSON:
        return _shown(value)
    return plain


def _stranger(value: Any) -> Any:
    """A value that msgspec does not know: a pydantic model as its fields, another as its repr."""
    dump = getattr(type(value), "model_dump", None)
    return dump(value, mode="json") if callable(dump) else _shown(value)


def _shown(value: Any) -> str:
    return clean(_reprs.repr_instance(value, 0))


def failure(error: BaseException, errors: Literal["show", "hide"]) -> tuple[ResultPart, ...]:
    """What a model is told of an exception: a tool's own advice, or its type and message, or a fixed text."""
    if isinstance(error, Retry):
        text = f"Try differently: {_said(error) or 'these arguments do not work.'}"
    else:
        text = _HIDDEN if errors == "hide" else _named(error)
    return (TextPart(_cut(text, _ERROR_CHARS)),)


def _named(error: BaseException) -> str:
    """`Type: message`, with those of a group's members."""
    if isinstance(error, RuntimeError) and (cause := error.__cause__) is not None and _was_wrapped(cause):
        error = cause
    said = _said(error)
    if isinstance(error, BaseExceptionGroup):
        said = "; ".join([said, *(_named(one) for one in error.exceptions)])
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _was_wrapped(cause: BaseException) -> bool:
    """Whether it could not travel as it is: no coroutine raises it, or no `except Exception` sees it."""
    known = (Exception, SystemExit, KeyboardInterrupt, GeneratorExit)
    return isinstance(cause, StopIteration | StopAsyncIteration) or not isinstance(cause, known)


def _said(error: BaseException) -> str:
    """Its message; the standard library's words where its `__str__` raises."""
    return clean(str(traceback.TracebackException(type(error), error, None, compact=True)))


def _as_text_if_long(part: ResultPart, most: int) -> ResultPart:
    """Data that is longer than all text may be is cut as text: half of a value would be another value."""
    if not isinstance(part, DataPart):
        return part
    text = msgspec.json.encode(part.data).decode()
    return part if len(text) <= most else TextPart(text)


def bounded(parts: Sequence[ResultPart], most: int) -> tuple[ResultPart, ...]:
    """`parts` with at most `most` characters of text in all: the first and the last, and where the middle
    was a note of how much of it was left out."""
    parts = [_as_text_if_long(part, most) for part in parts]
    total = sum(len(part.text) for part in parts if isinstance(part, TextPart))
    if total <= most:
        return tuple(parts)
    head, note, tail = _measures(total, most)
    out: list[ResultPart] = []
    at = 0
    for part in parts:
        if not isinstance(part, TextPart):
            out.append(part)
            continue
        text, end = part.text, at + len(part.text)
        kept = text[: max(head - at, 0)]
        if at <= head < end:
            kept += note
        if end > total - tail:
            kept += text[max(total - tail - at, 0) :]
        if kept:
            out.append(TextPart(kept))
        at = end
    return tuple(out)


def _cut(text: str, most: int) -> str:
    return "".join(part.text for part in bounded((TextPart(text),), most) if isinstance(part, TextPart))


def _measures(total: int, most: int) -> tuple[int, str, int]:
    """How many characters of `total` stay in front, the note, and how many at the end: `most` in all."""
    most, note = max(most, 0), ""
    for _ in range(3):  # the number in the note lengthens it
        note = f"\n[… {total - most + len(note)} characters left out …]\n"
    keep = most - len(note)
    if keep < 0:
        return most, "", 0
    return keep - keep // 3, note, keep // 3
