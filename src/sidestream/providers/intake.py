"""The bytes of an answer's body → its JSON records, streamed (server-sent events, or JSON lines) or plain. Pure.

Promises: the first byte tells a stream of events from a plain JSON answer (`{` or `[`), and either from a web page,
which is refused; a record or a plain answer has a limit; `whole` says whether a body that has ended was an answer at
all. What a record means is not its business.

When is an answer whole? After its end mark or its finish reason, however the connection ends (the caller
says so: `finished`); without either, if the body ended as HTTP framed it, or is plain JSON. Else it was cut.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from sidestream.codec import scrub
from sidestream.errors import ProviderError
from sidestream.providers.failure import hide
from sidestream.providers.sse import Records

__all__ = ["Intake", "Splitter", "loaded", "unreadable"]

_PLAIN = (b"{", b"[")


def loaded(payload: bytes) -> Any:
    """The JSON value of a record that a strict decoder refused: bytes that are no UTF-8 and lone surrogates
    become U+FFFD. Raises ProviderError for what is no JSON."""
    try:
        return scrub(json.loads(payload.decode("utf-8", "replace")))
    except (ValueError, RecursionError) as error:
        raise unreadable(payload) from error


def unreadable(payload: bytes) -> ProviderError:
    """What to raise for a record that is not what it should be."""
    shown = hide(payload[:200].decode("utf-8", "replace"))
    return ProviderError(f"the provider sent a record that cannot be read: {shown}")


class Splitter(Protocol):
    """Cuts a stream into its records. Both raise ProviderError."""

    def feed(self, data: bytes, /) -> list[bytes]:
        """The records that `data` completes."""
        ...

    def close(self) -> list[bytes]:
        """What only the end of the stream completes."""
        ...


class Intake:
    """Takes one body: `feed` and `close` give its records. `limit`: bytes of one record, or of a plain
    answer. `lines`: what splits a body that is no stream of events, but JSON lines; a plain answer is one of them."""

    def __init__(self, limit: int, lines: Splitter | None = None) -> None:
        self.begun = False  # a record was handed out
        self._limit = limit
        self._records: Splitter = lines or Records(limit)
        self._plain = () if lines else _PLAIN
        self._body: list[bytes] | None = None  # pieces of a plain JSON answer
        self._size = 0  # bytes in them
        self._head = b""  # what came before the first record, in part

    def feed(self, data: bytes) -> list[bytes]:
        """The records that `data` completes. Raises ProviderError."""
        if self._body is not None:
            self._body.append(data)
            self._size += len(data)
            if self._size > self._limit:
                raise ProviderError(f"the provider sent an answer of more than {self._limit} bytes")
            return []
        if not self.begun and not self._opens(data):
            return []
        found = self._records.feed(data)
        if found:
            self.begun = True
        return found

    def close(self) -> list[bytes]:
        """What only the end of the body completes. Raises ProviderError."""
        found = [b"".join(self._body)] if self._body is not None else self._records.close()
        self.begun = self.begun or bool(found)
        return found

    def whole(self, *, finished: bool, framed: bool, broken: ProviderError | None) -> None:
        """Return if the body that has ended was a whole answer, else raise the ProviderError that says why not."""
        if not finished and broken:
            raise broken
        if not self.begun:
            began = hide(self._head.decode("utf-8", "replace").strip())
            raise ProviderError(
                f"the provider's answer holds no record; it begins: {began}"
                if began
                else "the provider sent an empty answer",
                retryable=not began,
            )
        if not (finished or framed or self._body is not None):
            raise ProviderError("the answer was cut: no finish reason, no end mark", retryable=True)

    def _opens(self, data: bytes) -> bool:
        """Still before the first record: is this a stream at all?"""
        self._head = (self._head + data[:200])[:200]
        first = self._head.lstrip()[:1]
        if first in self._plain:
            self._body, self._size = [data], len(data)
        elif first == b"<":
            raise ProviderError("the provider answered with a web page, not with a stream: is the base URL right?")
        return self._body is None
