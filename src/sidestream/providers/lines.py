"""JSON lines: bytes in, whole lines out. No I/O, no clock, no decoding.

Promises: the same lines however the bytes are cut, each as soon as its line end (`\\n` or `\\r\\n`) is there; blank
lines, which some services send to keep a connection open, are left out; a last line without its end counts at
`close`; cost linear in what was fed; nothing kept but the unfinished line, and that within a limit. What a line
says is not its business.
"""

from __future__ import annotations

from sidestream.errors import ProviderError

__all__ = ["Lines"]

_CR = 13


class Lines:
    """Splits one stream. `limit`: the most bytes one line may have, without its end."""

    __slots__ = ("_failed", "_held", "_limit", "_line")

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        self._limit = limit
        self._line: list[bytes] = []  # pieces of the line that has not ended
        self._held = 0  # bytes in them
        self._failed: ProviderError | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Every line that `data` completes, in order. Raises ProviderError for a line beyond the limit, but first
        returns what came whole before it."""
        if self._failed:
            raise self._failed
        first, *rest = data.split(b"\n")
        self._hold(first)
        if not rest:
            out = []
        else:
            out = self._whole([b"".join(self._line), *rest[:-1]])
            self._line, self._held = [], 0
            self._hold(rest[-1])
        if self._failed and not out:
            raise self._failed
        return out

    def close(self) -> list[bytes]:
        """The stream has ended: the last line, if its end is missing. Raises ProviderError."""
        out = [] if self._failed else self._whole([b"".join(self._line)])
        self._line, self._held = [], 0
        if self._failed:
            raise self._failed
        return out

    def _whole(self, lines: list[bytes]) -> list[bytes]:
        """Those that say something; none from the first that is too long on."""
        for place, line in enumerate(lines):
            if self._failed or len(line) - line.endswith(b"\r") > self._limit:
                self._fail()
                lines = lines[:place]
                break
        return [said for line in lines if (said := line.strip())]

    def _hold(self, piece: bytes) -> None:
        """More of the line that has not ended: a `\\r` at its end may be part of the line's end."""
        if piece and not self._failed:
            self._line.append(piece)
            self._held += len(piece)
            if self._held - (piece[-1] == _CR) > self._limit:
                self._fail()

    def _fail(self) -> None:
        self._line, self._held = [], 0  # let go of it
        self._failed = ProviderError(f"the provider sent a record of more than {self._limit} bytes")
