"""Words ⇄ JSON bytes: one encoder and one decoder for wire, journal, terminal and tests.

Promises: what is encoded decodes to an equal value, except that a lone surrogate (which no UTF-8 can
carry) comes back as U+FFFD; an unknown `type`, a wrong shape or broken JSON raises `DecodeError`.
A stamped event is one flat object: the event's own fields with `seq` and `at`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from sidestream.errors import DecodeError
from sidestream.events import AnyDelta, AnyEvent, Stamped
from sidestream.messages import Message, clean

__all__ = ["decode", "dump_messages", "encode", "load_messages", "scrub"]

T = TypeVar("T")

_encoder = msgspec.json.Encoder(enc_hook=repr)  # a tool's note may hold anything
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in (AnyEvent, AnyDelta, list[Message])
}
_stamp = msgspec.json.Decoder(msgspec.defstruct("_Stamp", [("seq", int), ("at", float)]))


def scrub(value: Any) -> Any:
    """`value` (plain JSON data) with every lone surrogate in it as U+FFFD."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key) if isinstance(key, str) else key: scrub(item) for key, item in value.items()}
        case list() | tuple():
            return [scrub(item) for item in value]
        case _:
            return value


def _encode(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(scrub(msgspec.to_builtins(value, enc_hook=repr)))


def encode(value: Any) -> bytes:
    """The JSON bytes of an event, a delta, a message or a `Stamped`; one line, no newline in it."""
    if isinstance(value, Stamped):
        body = _encode(value.event)
        return b'%s,"seq":%d,"at":%s}' % (body[:-1], value.seq, _encoder.encode(round(value.at, 6)))
    return _encode(value)


def _decode(kind: Any, data: bytes | str) -> Any:
    try:
        return _decoders[kind].decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"not one of sidestream's words: {error}") from error


def decode(data: bytes | str, *, delta: bool = False) -> Any:
    """The event in `data`: a `Stamped` where `seq` and `at` are there, the bare event where not; with
    `delta=True`, the delta. Raises DecodeError."""
    word = _decode(AnyDelta if delta else AnyEvent, data)
    if delta:
        return word
    try:
        stamp: Any = _stamp.decode(data)
    except msgspec.DecodeError:
        return word
    return Stamped(stamp.seq, stamp.at, word)


def dump_messages(messages: Sequence[Message]) -> bytes:
    """A transcript as JSON bytes; `load_messages` reads it back."""
    return _encode(list(messages))


def load_messages(data: bytes | str) -> list[Message]:
    """The transcript in `data`. Raises DecodeError."""
    loaded: list[Message] = _decode(list[Message], data)
    return loaded
