"""Server-sent events: bytes in, the `data` of each record out. No I/O, no clock, no decoding.

Promises: the same records however the bytes are cut, each as soon as its blank line is there; line ends
`\\n`, `\\r\\n` and `\\r`, comments, a byte order mark and multi-line data as in the WHATWG specification;
cost linear in what was fed; nothing kept but the unfinished record, and that within a limit. Beyond the
specification: a last record without its blank line counts at `close`, and the field `error` (older
llama.cpp servers) counts as `data`. Field names `event`, `id` and `retry` are read over: no chat
service says anything in them that its data does not say too.
"""

from __future__ import annotations

from sidestream.errors import ProviderError

__all__ = ["Records"]

_BOM = b"\xef\xbb\xbf"
_ENDS = b"\r\n"
_AROUND = len(b"\xef\xbb\xbferror: ")  # the most a line has beside its data
_CARRIES = frozenset((b"data", b"error"))


class Records:
    """Splits one stream. `limit`: the most bytes of data one record may have (16 MiB: far above any
    argument, far below what hurts)."""

    __slots__ = ("_after_cr", "_data", "_failed", "_first", "_held", "_limit", "_line", "_size")

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        self._limit = limit
        self._line: list[bytes] = []  # pieces of the line that has not ended
        self._held = 0  # bytes in them
        self._data: list[bytes] = []  # data lines of the record that has not ended
        self._size = 0  # bytes in them
        self._after_cr = False  # the last byte was a \r: a \n right after it is part of the same line end
        self._first = True  # no line has ended yet: a byte order mark may stand in front
        self._failed: ProviderError | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """The data of every record that `data` completes, in order. Raises ProviderError for a record
        beyond the limit, but first returns what came whole before it."""
        if self._failed:
            raise self._failed
        out = self._fast(data) if not (self._line or self._data or self._after_cr) else self._resumed(data)
        if self._failed and not out:
            raise self._failed
        return out

    def close(self) -> list[bytes]:
        """The stream has ended: the last record, if its blank line is missing. Raises ProviderError."""
        out: list[bytes] = []
        self._lines(b"\n\n", out)
        if self._failed:
            raise self._failed
        return out

    def _fast(self, data: bytes) -> list[bytes]:
        """Between two records: what nearly every packet is, `data: …` and a blank line, or that with the name of an
        event before it, some times over."""
        out: list[bytes] = []
        plain = data.replace(b"\r\n", b"\n") if b"\r" in data else data
        end = plain.rfind(b"\n\n") + 2
        if plain.startswith((b"data: ", b"event: ")) and 2 <= end <= self._limit and b"\r" not in plain:
            if plain.startswith(b"data"):
                lines, found = 2, plain[6 : end - 2].split(b"\n\ndata: ")
            else:
                named = plain[7 : end - 2].split(b"\n\nevent: ")
                lines, found = 3, [one.partition(b"\ndata: ")[2] for one in named]
            clear = lines == 2 or all(found)  # a named record may have no data
            if clear and plain.count(b"\n", 0, end) == lines * len(found):  # nothing else stands between them
                self._first = False
                if end < len(plain):
                    self._lines(plain[end:], found)
                return found
        self._lines(data, out)
        return out

    def _resumed(self, data: bytes) -> list[bytes]:
        """Within a record: line by line to its end, then fast."""
        out: list[bytes] = []
        head = data.find(b"\n\n") + 2
        if not 2 <= head < len(data):
            head = len(data)
        self._lines(data[:head], out)
        data = data[head:]
        if not data:
            return out
        if self._line or self._data or self._after_cr:
            self._lines(data, out)
            return out
        return out + self._fast(data)

    def _lines(self, data: bytes, out: list[bytes]) -> None:
        if self._failed or not data:
            return
        if self._after_cr and data[0] == 10:
            data = data[1:]
        self._after_cr = data.endswith(b"\r")
        for line in data.splitlines(keepends=True):
            whole = line.rstrip(_ENDS)
            self._held += len(whole)
            if self._held - _AROUND > self._limit:
                self._fail()
                return
            if line[-1] not in _ENDS:
                self._line.append(line)
                return
            if self._line:
                self._line.append(whole)
                whole = b"".join(self._line)
                self._line = []
            self._held = 0
            self._take(whole, out)
            if self._failed:
                return

    def _take(self, line: bytes, out: list[bytes]) -> None:
        """One whole line: a field of the record, or the blank line that ends it."""
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                out.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data, self._size = [], 0
            return
        name, _, value = line.partition(b":")
        if name in _CARRIES:
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._size += len(value) + 1
            if self._size - 1 > self._limit:
                self._fail()

    def _fail(self) -> None:
        self._line, self._data = [], []  # let go of it
        self._failed = ProviderError(f"the provider sent a record of more than {self._limit} bytes")
