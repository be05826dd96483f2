"""The bytes of an answer of OpenAI's Responses API → deltas. Pure: no I/O, no clock.

Promises: each delta as soon as its record is whole; exactly one `Stop`, last; nothing that arrived is lost before
an error is raised, and nothing is said twice: a text or arguments that come in pieces, again when their part is
done, again when their item is done and once more in the last record are handed on once, whichever of the four a
server leaves out. A streamed answer and a plain one say the same. Arguments are never repaired. Unknown events,
items and fields do no harm. Parts of a reasoning summary are set apart by a blank line.

What the model must get back as it was comes as `Vendor("openai-responses", item)` the moment its item ends, so
that it stands in the transcript where it was said: reasoning with its encrypted content, tools that the service
ran, a message with a phase or citations (after its text), and who called a tool where that was not the model
itself (before the call). A refusal is text, and the answer that holds it stops with `filter`.

When is an answer whole? After `response.completed` or `response.incomplete`, and only then; else it was cut:
ProviderError. A call is done when its item is, unless the item says that it is incomplete; one without any
argument text only if the item says that it is complete: a limit may have cut it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, Stop, StopReason, TextDelta, ThinkDelta
from sidestream.messages import Usage, Vendor
from sidestream.providers.failure import reported
from sidestream.providers.intake import Intake, loaded, unreadable

__all__ = ["NAME", "Answer"]

NAME = "openai-responses"  # whose `Vendor` parts are ours

_CUTS: dict[str, StopReason] = {  # why an answer is incomplete; all others: "length"
    "content_filter": "filter",
}
_ENDS = frozenset(("completed", "incomplete"))  # states of a response that is an answer
_WORSE = frozenset(("incomplete", "failed"))  # states that are believed over the name of the record they stand in
_STATUS = {  # an error's code, or its type → the HTTP status it has where it is an answer of its own
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "server_is_overloaded": 503,
    "service_unavailable_error": 503,
    "slow_down": 503,
    "vector_store_timeout": 504,
    "context_length_exceeded": 400,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
}
_MOST = 1e15  # tokens; beyond it a number is no count
_BREAK = "\n\n"  # between parts of a summary


class _Record(msgspec.Struct, gc=False):
    """One event of a stream."""

    type: Any = None
    delta: Any = None
    output_index: Any = None
    content_index: Any = None
    summary_index: Any = None
    text: Any = None
    refusal: Any = None
    arguments: Any = None
    item: Any = None
    response: Any = None
    error: Any = None
    code: Any = None
    message: Any = None


_decode = msgspec.json.Decoder(_Record).decode


class _Item:
    """One output item while it is read: `said` its texts, or its arguments, as they were handed on."""

    __slots__ = ("closed", "heard", "key", "opened", "part", "said")

    def __init__(self) -> None:
        self.key = ""  # the id it goes by
        self.said: list[str] = []
        self.part: int | None = None  # the part that is being said
        self.heard: set[int] = set()  # all parts of which something was said; of a summary: -1, -2, …
        self.opened = False  # a call: its name was handed on
        self.closed = False


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(usage: dict[str, Any], *path: str) -> int:
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return int(value) if isinstance(value, (int, float)) and 0 < value < _MOST else 0


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    return Usage(
        input=_number(usage, "input_tokens"),
        output=_number(usage, "output_tokens"),
        cached=_number(usage, "input_tokens_details", "cached_tokens"),
        reasoning=_number(usage, "output_tokens_details", "reasoning_tokens"),
    )


def _failed(error: Any) -> ProviderError:
    if not isinstance(error, dict):
        return reported(error)
    about: dict[str, Any] = error
    words = (_text(about.get("code")), _text(about.get("type")))
    status = next((_STATUS[word] for word in words if word in _STATUS), 0)
    return reported(about | {"code": status} if status else about)


def _key(item: dict[str, Any]) -> str:
    """The id an item goes by, in all of its records."""
    return _text(item.get("call_id")) or _text(item.get("id"))


def _parts(parts: Any) -> list[dict[str, Any]]:
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _texts(parts: Any) -> list[str]:
    """What the parts of a message, of reasoning or of its summary say."""
    return [text for part in _parts(parts) if (text := _text(part.get("text")) or _text(part.get("refusal")))]


def _place(index: Any) -> int:
    return index if type(index) is int and index > 0 else 0


def _part(record: _Record) -> int:
    """Which part of its item a record is about; those of a summary are -1, -2, …"""
    index = record.summary_index
    return -1 - _place(index) if index is not None else _place(record.content_index)


def _turn(item: _Item, part: int) -> int:
    """From now on this part of the item is being said."""
    item.part = part
    item.heard.add(part)
    return part


def _rest(item: _Item, whole: str) -> str:
    """What of the whole was not said yet; nothing if it reads otherwise than the pieces, which are believed."""
    said = "".join(item.said)
    return whole[len(said) :] if whole.startswith(said) else ""


def _odd(payload: bytes) -> _Record:
    """A record that the strict decoder refused: bytes that are no UTF-8, lone surrogates."""
    try:
        return msgspec.convert(loaded(payload), _Record)
    except msgspec.ValidationError as error:
        raise unreadable(payload) from error


class Answer:
    """Reads one answer: `feed` its bytes, then `end`; both append deltas to `out`, and raise ProviderError
    only after what came before the failure was appended. `limit`: bytes of one record, or of a plain
    JSON answer."""

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        self.ended = False  # `Stop` was said
        self._intake = Intake(limit)
        self._items: dict[int, _Item] = {}  # by their place in the output
        self._last = 0  # the newest item's place
        self._called = self._refused = False

    @property
    def begun(self) -> bool:
        """A record was read."""
        return self._intake.begun

    @property
    def quiet(self) -> bool:
        """True once only an end mark may come: this API has none, its last record ends the answer."""
        return self.ended

    def feed(self, data: bytes, out: list[AnyDelta]) -> None:
        """The next bytes of the body."""
        for payload in self._intake.feed(data):
            if not self.ended:
                self._read(payload, out)

    def end(self, out: list[AnyDelta], *, framed: bool, broken: ProviderError | None = None) -> None:
        """No more bytes. `framed`: the body ended as HTTP said it would, which proves nothing here: only the last
        record does; `broken`: why it did not."""
        if self.ended:
            return
        payloads: list[bytes] = []
        try:
            for payload in (payloads := self._intake.close()):
                self._read(payload, out)
        except ProviderError:
            if not broken:
                raise
        if not self.ended:
            self._intake.whole(finished=False, framed=False, broken=broken)
            raise unreadable(payloads[0] if payloads else b"")  # plain JSON that is no answer

    def _read(self, payload: bytes, out: list[AnyDelta]) -> None:
        """One record."""
        try:
            record = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            if payload.strip() in (b"", b"[DONE]"):  # a proxy's own end mark
                return
            record = _odd(payload)
        kind = record.type
        if kind == "response.output_text.delta":
            self._say(record, out)
        elif isinstance(kind, str) and kind in _READERS:
            _READERS[kind](self, record, out)
        elif kind is None:
            self._plain(payload, out)
        elif record.error and not str(kind).startswith("response."):
            raise _failed(record.error)

    # ---- pieces

    def _at(self, record: _Record) -> _Item:
        """The item a record is about; it may not have been announced."""
        index = record.output_index
        if type(index) is not int:
            index = self._last
        self._last = index
        item = self._items.get(index)
        if item is None:
            item = self._items[index] = _Item()
        return item

    def _say(self, record: _Record, out: list[AnyDelta]) -> None:
        """A piece of text."""
        text = record.delta
        if type(text) is str and text:
            item = self._at(record)
            if record.content_index != item.part or item.part is None:
                _turn(item, _place(record.content_index))
            item.said.append(text)
            out.append(TextDelta(text))

    def _refuse(self, record: _Record, out: list[AnyDelta]) -> None:
        self._refused = True
        self._say(record, out)

    def _think(self, record: _Record, out: list[AnyDelta]) -> None:
        """A piece of reasoning, or of its summary."""
        text = record.delta
        if type(text) is str and text:
            item, part = self._at(record), _part(record)
            if part != item.part or item.part is None:
                text = _BREAK + text if _turn(item, part) < 0 and item.said else text
            item.said.append(text)
            out.append(ThinkDelta(text))

    def _argue(self, record: _Record, out: list[AnyDelta]) -> None:
        """A piece of a call's arguments."""
        text = record.delta
        if type(text) is str and text:
            item = self._at(record)
            if not item.closed:
                item.said.append(text)
                self._called = True
                out.append(CallDelta(self._last, args=text))

    def _whole_part(self, record: _Record, out: list[AnyDelta]) -> None:
        """A part is done, and came without pieces: it is a piece itself."""
        item = self._at(record)
        if _part(record) not in item.heard and not item.closed:
            record.delta = record.text if record.refusal is None else record.refusal
            _READERS[_text(record.type).removesuffix("done") + "delta"](self, record, out)

    def _whole_arguments(self, record: _Record, out: list[AnyDelta]) -> None:
        """Arguments are done; those that are no JSON object wait for their item, which says if they were cut."""
        item, args = self._at(record), _text(record.arguments)
        self._argued(item, self._last, args, item.opened and args.rstrip().endswith("}"), out)

    # ---- items

    def _begin(self, record: _Record, out: list[AnyDelta]) -> None:
        if isinstance(data := record.item, dict):
            known = self._at(record)
            if known.key != _key(data) if known.key else known.closed:  # another item in the same place
                self._items[self._last] = known = _Item()
            known.key = _key(data)
            if data.get("type") == "function_call":
                self._open(known, self._last, data, out)

    def _done(self, record: _Record, out: list[AnyDelta]) -> None:
        if isinstance(data := record.item, dict):
            self._close(self._at(record), self._last, data, out)

    def _open(self, item: _Item, index: int, data: dict[str, Any], out: list[AnyDelta]) -> None:
        """A call begins, with its name."""
        name = _text(data.get("name"))
        if item.opened or not (name or _key(data)):
            return
        self._called = True
        item.opened = bool(name)
        caller = data.get("caller")
        if (isinstance(caller, dict) and caller.get("type") != "direct") or data.get("namespace"):
            kept = ("type", "call_id", "caller", "namespace")
            out.append(Vendor(NAME, {field: data[field] for field in kept if data.get(field) is not None}))
        out.append(CallDelta(index, _key(data), name))

    def _close(self, item: _Item, index: int, data: dict[str, Any], out: list[AnyDelta]) -> None:
        """An item is whole: what was not said of it yet is said now."""
        item.key = item.key or _key(data)
        kind = data.get("type")
        if item.closed:
            return
        if kind == "function_call":
            self._open(item, index, data, out)
            args, status = _text(data.get("arguments")), data.get("status")
            whole = status == "completed" or (status != "incomplete" and bool(args.strip() or item.said))
            self._argued(item, index, args, whole, out)
            return
        item.closed = True
        if kind == "message":
            parts = _parts(data.get("content"))
            self._refused = self._refused or any(part.get("refusal") for part in parts)
            if rest := _rest(item, "".join(_texts(parts))):
                out.append(TextDelta(rest))
            if data.get("phase") or any(part.get("annotations") for part in parts):
                out.append(Vendor(NAME, data))
            return
        if kind == "reasoning":
            summary = _BREAK.join(_texts(data.get("summary")))
            if rest := _rest(item, summary + "".join(_texts(data.get("content")))):
                out.append(ThinkDelta(rest))
        if isinstance(kind, str):
            out.append(Vendor(NAME, data))

    def _argued(self, item: _Item, index: int, args: str, whole: bool, out: list[AnyDelta]) -> None:
        """All arguments of a call. `whole`: and they are certain."""
        if item.closed:
            return
        rest = _rest(item, args)
        item.said += [rest] if rest else []
        item.closed = whole
        if rest or whole:
            self._called = True
            out.append(CallDelta(index, args=rest, done=whole))

    # ---- the end

    def _plain(self, payload: bytes, out: list[AnyDelta]) -> None:
        """A record without a type: a whole response, or an error object."""
        match loaded(payload):
            case {"output": list()} as response:
                self._finish(response, _text(response.get("status")) or "completed", out)
            case {"error": error} if error:
                raise _failed(error)
            case _:
                pass

    def _last_record(self, record: _Record, out: list[AnyDelta]) -> None:
        response = record.response if isinstance(record.response, dict) else {}
        state = _text(response.get("status"))
        self._finish(response, state if state in _WORSE else _text(record.type).rpartition(".")[2], out)

    def _finish(self, response: dict[str, Any], state: str, out: list[AnyDelta]) -> None:
        """A response that has ended: what was not said of its items is said, then it stops."""
        silent = not self._items
        places = {item.key: index for index, item in self._items.items() if item.key}
        for position, data in enumerate(_parts(response.get("output"))):
            index = position if silent else places.get(_key(data))
            if index is not None:
                self._close(self._items.setdefault(index, _Item()), index, data, out)
        if response.get("error") or state == "failed":
            raise _failed(response.get("error"))
        if state not in _ENDS:
            raise ProviderError(
                f"the answer is not finished (status {state}): it cannot be asked for in the background"
            )
        reason: StopReason = "tools" if self._called else "filter" if self._refused else "end"
        if state == "incomplete":
            details = response.get("incomplete_details")
            reason = _CUTS.get(_text(details.get("reason")) if isinstance(details, dict) else "", "length")
        out.append(Stop(reason, _usage(response.get("usage"))))
        self.ended = True

    def _fail(self, record: _Record, out: list[AnyDelta]) -> None:
        raise _failed(record.error or {"code": record.code, "message": record.message})


_READERS: dict[str, Callable[[Answer, _Record, list[AnyDelta]], None]] = {
    "response.output_text.delta": Answer._say,
    "response.function_call_arguments.delta": Answer._argue,
    "response.reasoning_summary_text.delta": Answer._think,
    "response.reasoning_text.delta": Answer._think,
    "response.refusal.delta": Answer._refuse,
    "response.output_text.done": Answer._whole_part,
    "response.refusal.done": Answer._whole_part,
    "response.reasoning_summary_text.done": Answer._whole_part,
    "response.reasoning_text.done": Answer._whole_part,
    "response.function_call_arguments.done": Answer._whole_arguments,
    "response.output_item.added": Answer._begin,
    "response.output_item.done": Answer._done,
    "response.completed": Answer._last_record,
    "response.incomplete": Answer._last_record,
    "response.failed": Answer._last_record,
    "error": Answer._fail,
}
