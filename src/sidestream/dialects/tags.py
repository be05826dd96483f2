"""The tag family: `<tool name="N"><child>value</child>…</tool>`. One machine; a format is a row.

What it reads (see docs/reference/tinyrag.md): `<tool` and white space, attributes in double, single or no
quotes of which `name` counts, `>` or `/>`; then child elements: the row's `values` (which go to the
argument of that name or to the tool's main one), one JSON element, or elements named like an argument; then
`</tool>`. A value ends at its closing tag only if another tag follows, and may hold CDATA. It promises the
laws of `sidestream.testing`; a block is rejected at the first character that cannot be right, one inside
another never runs, and nothing is repaired. What is not yet a block with a name is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import ClassVar, Literal

import msgspec

from sidestream.dialects.block import Block, Options, Pieces
from sidestream.dialects.inert import Escape
from sidestream.dialects.scan import Balance
from sidestream.dialects.tag_head import read_head
from sidestream.dialects.tag_skim import BLANKS, CLOSER, CLOSER_BEGUN, Skim
from sidestream.dialects.tag_skim import State as Skimming
from sidestream.dialects.tag_writer import teach, write
from sidestream.dialects.values import arguments, decode_entities, typed
from sidestream.events import AnyEvent, CallClosed, CallOpened
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["TINYRAG", "TagFormat"]


class TagFormat(msgspec.Struct, frozen=True):
    """A row: the outer `tag`, the elements for the main argument, those whose body is JSON, and those
    never decoded."""

    name: str
    tag: str
    values: tuple[str, ...]
    json: tuple[str, ...]
    verbatim: tuple[str, ...]
    hold: int = 256  # characters of an opening tag that may be held back

    nonce: str = ""
    sure: bool = True
    place: Literal["", "line", "start"] = ""

    @property
    def markers(self) -> tuple[str, ...]:
        """The markers that may begin a block."""
        return tuple(f"<{self.tag}{blank}" for blank in " \t\r\n")

    @property
    def enders(self) -> tuple[str, ...]:
        """What closes a block; a rejected one's text goes there, whatever its name."""
        return ("</",)

    def openers(self, specs: Mapping[str, ToolSpec]) -> tuple[str, ...]:
        """The same, whatever the tools."""
        return self.markers

    def claims(self, text: str, position: int, specs: Mapping[str, ToolSpec]) -> bool | None:
        """True if an opening tag stands there, or what tries to be one."""
        kind = read_head(text, position, self.tag, self.hold, self.nonce).kind
        return None if kind == "more" else kind != "text"

    def open(self, specs: Mapping[str, ToolSpec], new_id: Callable[[], str], options: Options) -> Block:
        """A reader for the block that begins at an opener."""
        return _TagBlock(self, specs, new_id, options)

    def signed(self, nonce: str) -> TagFormat:
        """The same with a nonce that every opening tag must have."""
        return msgspec.structs.replace(self, nonce=nonce)

    def wire(self, name: str, call_id: str) -> str:
        """Ids are not written."""
        return call_id

    def write(self, call: ToolCall, escape: Escape) -> str:
        """The call as text: elements where every argument is a text that reads back as itself, else JSON."""
        return write(call, escape, tag=self.tag, ambiguous=self.values, json=self.json, nonce=self.nonce)

    def teach(self, specs: Sequence[ToolSpec]) -> str:
        """What a model must be told to write this format."""
        return teach(specs, tag=self.tag, nonce=self.nonce)


TINYRAG = TagFormat(
    name="tinyrag",
    tag="tool",
    values=("query", "url", "source", "input"),
    json=("arguments", "args"),
    verbatim=("source",),
)


class State(Enum):
    """Where in a block the stream is."""

    HEAD = auto()  # in the opening tag: nothing is certain
    BODY = auto()  # between children
    VALUE = auto()  # in a child's text
    CDATA = auto()
    AFTER = auto()  # behind a child's closing tag that counts only if a tag follows
    JSON = auto()
    JSON_END = auto()
    SKIM = auto()  # rejected as nested: text until the outer block is over


_CHILD = re.compile(
    r"<([A-Za-z_][\w.-]{0,63})(?:\s{1,4}name\s{0,4}=\s{0,4}(?:\"([^\"<>]{0,64})\"|'([^'<>]{0,64})'))?\s{0,4}(/?)>"
)
_CHILD_BEGUN = re.compile(
    r"<(?:[A-Za-z_][\w.-]{0,63}(?:\s{1,4}(?:n(?:a(?:m(?:e\s{0,4}(?:=\s{0,4}"
    r"(?:\"[^\"<>]{0,64}|'[^'<>]{0,64}|(?:\"[^\"<>]{0,64}\"|'[^'<>]{0,64}')\s{0,4}/?)?)?)?)?)?)?|\s{0,4}/)?)?\Z"
)
_CDATA = "<![CDATA["
_SIGN = re.compile("<")
_TAG_BEGINS = re.compile(r"<(?:/?[A-Za-z_])")
_WITH_END = frozenset('{["')


class _TagBlock(Block):
    """One block while it is read. A method a state; each gives the index it came to, or -1 for "more"."""

    def __init__(
        self, row: TagFormat, specs: Mapping[str, ToolSpec], new_id: Callable[[], str], options: Options
    ) -> None:
        super().__init__(new_id, options)
        self._row, self._specs = row, specs
        self._state = State.HEAD
        self._spec: ToolSpec | None = None
        self._args: dict[str, object] = {}
        self._child = self._key = ""
        self._segments: list[str] = []  # of the open value: finished, as they count
        self._pieces = Pieces()  # of its current segment, as they came
        self._maybe: list[str] = []  # a closing tag and what followed, until it is known to be one
        self._skim: Skim | None = None
        self._balance = Balance()
        self._json = Pieces()
        self._special = re.compile(rf"<(?:/|!\[CDATA\[|{row.tag}\s)")

    def _step(self, text: str, position: int, out: list[AnyEvent]) -> int:
        after = self._steps[self._state](self, text, position, out)
        self.plain = _SIGN if self._state is State.VALUE else None
        return after

    def add(self, text: str) -> list[AnyEvent] | None:
        """See Block.add; in a value."""
        added = super().add(text)
        if added is not None:
            self._pieces.append(text)
        return added

    # ---- the opening tag

    def _head(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """All of the opening tag at once: nothing of it is taken before it is whole."""
        head = read_head(text, position, self._row.tag, self._row.hold, self._row.nonce)
        if head.kind == "more":
            return -1
        if head.kind == "text":
            return self.refute(position)
        self.take(text[position : head.end])
        if head.name:
            self.name, self._spec = head.name, self._specs.get(head.name)
            out.append(CallOpened(self.id, head.name))
        if head.kind == "broken":
            return self._spoil("malformed", head.end, out, Skimming.HEAD)
        empty = text[head.end - 2] == "/"
        if not head.name:
            return self._spoil("missing_name", head.end, out, None if empty else Skimming.INSIDE)
        self._state = State.BODY
        return self._whole(head.end, out) if empty else head.end

    # ---- between children

    def _body(self, text: str, position: int, out: list[AnyEvent]) -> int:
        blanks = BLANKS.match(text, position)
        start = blanks.end() if blanks else position
        if start > position:
            self.body(text[position:start], out)
        if start == len(text):
            return start
        closer = CLOSER.match(text, start)
        if closer and closer[1] == self._row.tag:
            self.take(closer[0])
            return self._whole(closer.end(), out)
        child = _CHILD.match(text, start)
        if child and child[1] != self._row.tag:
            return self._open_child(child, out)
        if (begins := self._opener_at(text, start)) is not False:
            return self._nested(start, out) if begins else (-1 if start == position else start)
        if CLOSER_BEGUN.match(text, start) or _CHILD_BEGUN.match(text, start):
            return -1 if start == position else start
        return self._spoil("malformed", start, out)

    def _open_child(self, child: re.Match[str], out: list[AnyEvent]) -> int:
        name, double, single, empty = child.groups()
        given = double if double is not None else single
        if given is not None and name != "param":
            return self._spoil("malformed", child.start(), out)
        self.body(child[0], out)
        self._child = name
        properties = self._spec.properties if self._spec else {}
        if given is None and name in self._row.json and name not in properties:
            self._state, self._balance, self._json = State.JSON, Balance(stop="<"), Pieces()
            return self._close_json(child.end(), out) if empty else child.end()
        key = given if given is not None else name
        if given is None and name in self._row.values and name not in properties:
            key = (self._spec.bare if self._spec else "") or name
        self._key, self._segments, self._pieces, self._state = key, [], Pieces(), State.VALUE
        return self._close_value(child.end(), out) if empty else child.end()

    # ---- a child's text

    def _value(self, text: str, position: int, out: list[AnyEvent]) -> int:
        found = text.find("<", position)
        if found < 0:
            return self._more_value(text[position:], len(text), out)
        special = self._special.search(text, found)
        end = special.start() if special else self._begun_at(text, found)
        if end > position:
            return self._more_value(text[position:end], end, out)
        if special is None:
            return -1
        if text.startswith(_CDATA, end):
            self.body(_CDATA, out)
            self._end_segment(verbatim=False)
            self._state = State.CDATA
            return end + len(_CDATA)
        if (begins := self._opener_at(text, end)) is not False:
            return self._nested(end, out) if begins else -1
        closer = CLOSER.match(text, end)
        if closer is None:
            if CLOSER_BEGUN.match(text, end):
                return -1
            return self._more_value(text[end : end + 1], end + 1, out)
        if closer[1] == self._row.tag:
            self.take(closer[0])
            return self._spoil("malformed", closer.end(), out, None)
        if closer[1] != self._child:
            return self._more_value(closer[0], closer.end(), out)
        self.body(closer[0], out)
        self._maybe, self._state = [closer[0]], State.AFTER
        return closer.end()

    def _more_value(self, piece: str, end: int, out: list[AnyEvent]) -> int:
        self.body(piece, out)
        self._pieces.append(piece)
        return end

    def _begun_at(self, text: str, start: int) -> int:
        """Where the end of `text` begins something special; `len(text)` if nowhere."""
        last = text.rfind("<", max(start, len(text) - len(_CDATA)))
        if last < 0:
            return len(text)
        tail = text[last:]
        longest = (_CDATA, "</", f"<{self._row.tag} ")
        return last if any(marker.startswith(tail) for marker in longest) else len(text)

    def _cdata(self, text: str, position: int, out: list[AnyEvent]) -> int:
        end = text.find("]]>", position)
        stop = end if end >= 0 else len(text) - (2 if text.endswith("]]") else 1 if text.endswith("]") else 0)
        if stop > position:
            self.body(text[position:stop], out)
            self._pieces.append(text[position:stop])
            return stop
        if end < 0:
            return -1
        self.body("]]>", out)
        self._end_segment(verbatim=True)
        self._state = State.VALUE
        return end + 3

    def _after(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """Behind `</child>`: it was the end if a tag follows, and part of the value if not."""
        blanks = BLANKS.match(text, position)
        start = blanks.end() if blanks else position
        if start > position:
            self.body(text[position:start], out)
            self._maybe.append(text[position:start])
        if _TAG_BEGINS.match(text, start):
            return self._close_value(start, out)
        if start == len(text) or text[start:] in ("<", "</"):
            return -1 if start == position else start
        self._pieces.append("".join(self._maybe))
        self._state = State.VALUE
        return start

    def _end_segment(self, *, verbatim: bool) -> None:
        """Entities may be cut between pieces, never between a segment and CDATA."""
        text, self._pieces = str(self._pieces), Pieces()
        decodes = self.options.entities != "verbatim" and not verbatim and self._child not in self._row.verbatim
        self._segments.append(decode_entities(text) if decodes else text)

    def _close_value(self, end: int, out: list[AnyEvent]) -> int:
        self._end_segment(verbatim=False)
        text = "".join(self._segments)
        self._state = State.BODY
        return self._argument(self._key, typed(self.options.restored(text), self._key, self._spec), end, out)

    def _argument(self, key: str, value: object, end: int, out: list[AnyEvent]) -> int:
        if key in self._args or not key:
            return self._spoil("malformed", end, out)
        self._args[key] = value
        return end

    # ---- a JSON child

    def _in_json(self, text: str, position: int, out: list[AnyEvent]) -> int:
        end = self._balance.feed(text, position)
        if self._balance.root not in _WITH_END:
            return self._json_word(text, position, out)
        piece = text[position:] if end < 0 else text[position:end]
        self.body(piece, out)
        self._json.append(piece)
        if self._balance.broken:
            over = f"</{self._row.tag}>" in str(self._json)
            return self._spoil("invalid_json", end, out, None if over else Skimming.INSIDE)
        if end < 0:
            return len(text)
        self._state = State.JSON_END
        return end

    def _json_word(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """A root without an end of its own (`null`, a number, nothing) goes to the next tag."""
        end = text.find("<", position)
        piece = text[position:] if end < 0 else text[position:end]
        if piece:
            self.body(piece, out)
            self._json.append(piece)
        if end >= 0:
            self._state = State.JSON_END
        return len(text) if end < 0 else end

    def _json_end(self, text: str, position: int, out: list[AnyEvent]) -> int:
        blanks = BLANKS.match(text, position)
        start = blanks.end() if blanks else position
        if start > position:
            self.body(text[position:start], out)
            return start
        closer = CLOSER.match(text, start)
        if closer and closer[1] == self._child:
            self.body(closer[0], out)
            return self._close_json(closer.end(), out)
        if CLOSER_BEGUN.match(text, start):
            return -1
        return self._spoil("invalid_json", start, out)

    def _close_json(self, end: int, out: list[AnyEvent]) -> int:
        self._state = State.BODY
        try:
            found = arguments(str(self._json))
        except ValueError:
            return self._spoil("invalid_json", end, out)
        if found.keys() & self._args.keys():
            return self._spoil("malformed", end, out)
        self._args.update(self.options.restored(found))
        return end

    # ---- the end

    def _whole(self, end: int, out: list[AnyEvent]) -> int:
        out.append(CallClosed(ToolCall(self.id, self.name, self._args, self.raw())))
        return self.finish(end)

    def _opener_at(self, text: str, position: int) -> bool | None:
        """True if a block begins there, None if it may yet, False if it is only text."""
        if not text.startswith(self._row.markers, position):
            return False
        kind = read_head(text, position, self._row.tag, self._row.hold, self._row.nonce).kind
        return None if kind == "more" else kind != "text"

    def _nested(self, position: int, out: list[AnyEvent]) -> int:
        return self._spoil("nested", position, out, Skimming.HEAD, inner=True)

    def _spoil(
        self,
        why: str,
        end: int,
        out: list[AnyEvent],
        rest: Skimming | None = Skimming.INSIDE,
        *,
        inner: bool = False,
        carry: str = "",
    ) -> int:
        """It is not a call, and what is left of it (from where `rest` says; None: nothing) is text."""
        self.reject(why, end, out)
        if rest is not None:
            row = self._row
            self._skim = Skim(row.tag, row.markers, row.hold, rest, inner=inner, carry=carry)
            self._state, self.done = State.SKIM, False
        return end

    def overflow(self, held: str, end: int, out: list[AnyEvent]) -> int:
        """Too long: `held` may have been the beginning of the closing tag."""
        self.take(held)
        return self._spoil("too_long", end, out, carry=held if held.startswith("<") else "")

    def _skimming(self, text: str, position: int, out: list[AnyEvent]) -> int:
        assert self._skim is not None
        end = self._skim.step(text, position, out)
        return self.finish(end) if self._skim.done else end

    _steps: ClassVar = {
        State.HEAD: _head,
        State.BODY: _body,
        State.VALUE: _value,
        State.CDATA: _cdata,
        State.AFTER: _after,
        State.JSON: _in_json,
        State.JSON_END: _json_end,
        State.SKIM: _skimming,
    }
