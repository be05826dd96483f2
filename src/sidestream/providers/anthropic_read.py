"""The bytes of an answer of Anthropic's Messages API → deltas. Pure: no I/O, no clock.

Promises: each delta as soon as its record is whole; exactly one `Stop`, last; nothing that arrived is lost
before an error is raised; a streamed answer and a plain one say the same. Arguments are handed on as they are
generated (also while they are no JSON yet) and never repaired. Unknown events, blocks and fields do no harm.

What the model must get back as it was comes as `Vendor("anthropic", block)` the moment its block ends, so that
it stands in the transcript where it was said: thinking with its signature, redacted thinking, tools that the
service ran and their results, a text with its citations (after the text itself), and who called a tool where
that was not the model itself. Why an answer was refused is a `stop_details` block, which is not sent back.

`pause_turn` (the service stopped in the middle of its own tools) is `length`: the answer is cut by a limit, and
no call in it is certain; the next request sends it back and the model goes on. A call without any argument
text is believed only once something follows that no limit could have cut off.

When is an answer whole? After `message_stop`; after a stop reason, however the connection ends; and with
neither, if the body ended as HTTP framed it and no block is open. Else it was cut: ProviderError.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, Stop, StopReason, TextDelta, ThinkDelta
from sidestream.messages import Usage, Vendor
from sidestream.providers.failure import reported
from sidestream.providers.intake import Intake, loaded, unreadable

__all__ = ["NAME", "Answer"]

NAME = "anthropic"  # whose `Vendor` parts are ours

_STOPS: dict[str, StopReason] = {  # all others: "end"
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "filter",
}
_STATUS = {  # an error's type → the HTTP status it has where it is an answer of its own
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_MOST = 1e15  # tokens; beyond it a number is no count
_OWN = frozenset(("text", "thinking", "tool_use", "server_tool_use"))  # blocks whose pieces are all known


class _Record(msgspec.Struct, gc=False):
    """One event of a stream, or a whole message."""

    type: Any = None
    index: Any = None
    delta: Any = None
    content_block: Any = None
    message: Any = None
    usage: Any = None
    error: Any = None
    content: Any = None
    stop_reason: Any = None
    stop_details: Any = None


_decode = msgspec.json.Decoder(_Record).decode


class _Block:
    """One content block while it is read: `data` as it began, `said` the pieces that came since."""

    __slots__ = ("citations", "data", "kind", "said")

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.kind = _text(data.get("type"))
        self.said: list[str] = []
        citations = data.get("citations")
        self.citations: list[Any] = list(citations) if isinstance(citations, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(usage: dict[str, Any], *path: str) -> int:
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return int(value) if isinstance(value, (int, float)) and 0 < value < _MOST else 0


def _usage(usage: dict[str, Any]) -> Usage:
    """The service counts what came from its cache, and what went into it, beside the input."""
    cached = _number(usage, "cache_read_input_tokens")
    return Usage(
        input=_number(usage, "input_tokens") + _number(usage, "cache_creation_input_tokens") + cached,
        output=_number(usage, "output_tokens"),
        cached=cached,
        reasoning=_number(usage, "output_tokens_details", "thinking_tokens"),
    )


def _failed(error: Any) -> ProviderError:
    about = error if isinstance(error, dict) else {"message": str(error)}
    kind = about.get("type")
    status = _STATUS.get(kind, 0) if isinstance(kind, str) else 0
    return reported({"code": status} | about if status else about)


class Answer:
    """Reads one answer: `feed` its bytes, then `end`; both append deltas to `out`, and raise ProviderError
    only after what came before the failure was appended. `limit`: bytes of one record, or of a plain
    JSON answer."""

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        self.ended = False  # `Stop` was said
        self.finish = ""  # the stop reason
        self.quiet = False  # it came: only the end mark is to come
        self._intake = Intake(limit)
        self._blocks: dict[int, _Block] = {}  # those that have not ended
        self._last = 0  # the newest block's index
        self._doubtful: int | None = None  # a call that ended without a word: cut, or without arguments
        self._usage: dict[str, Any] = {}
        self._called = False

    @property
    def begun(self) -> bool:
        """A record was read."""
        return self._intake.begun

    @property
    def finished(self) -> bool:
        """The stop reason is known."""
        return bool(self.finish)

    def feed(self, data: bytes, out: list[AnyDelta]) -> None:
        """The next bytes of the body."""
        for payload in self._intake.feed(data):
            if not self.ended:
                self._read(payload, out)

    def end(self, out: list[AnyDelta], *, framed: bool, broken: ProviderError | None = None) -> None:
        """No more bytes. `framed`: the body ended as HTTP said it would; `broken`: why it did not."""
        if self.ended:
            return
        try:
            for payload in self._intake.close():
                self._read(payload, out)
        except ProviderError:
            if not broken:
                raise
        if self.ended:
            return
        self._intake.whole(finished=self.finished, framed=framed and not self._blocks, broken=broken)
        self._stop(out)

    def _read(self, payload: bytes, out: list[AnyDelta]) -> None:
        """One record."""
        try:
            record = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            if payload.strip() in (b"", b"[DONE]"):  # a proxy's own end mark
                return
            record = _odd(payload)
        match record.type:
            case "content_block_delta":
                self._add(record, out)
            case "content_block_start" if isinstance(record.content_block, dict):
                self._last = record.index if isinstance(record.index, int) else self._last + 1
                self._begin(self._last, record.content_block, out)
            case "content_block_stop":
                self._close(record.index if isinstance(record.index, int) else self._last, out)
            case "message_start" if isinstance(record.message, dict):
                self._count(record.message.get("usage"))
            case "message_delta":
                self._count(record.usage)
                self._finish(record.delta if isinstance(record.delta, dict) else {}, out)
            case "message_stop":
                self._stop(out)
            case "message" if isinstance(record.content, list):
                self._whole(record, out)
            case _ if record.error:
                raise _failed(record.error)
            case _:
                pass  # a ping, or an event of a later version

    def _begin(self, index: int, data: dict[str, Any], out: list[AnyDelta]) -> None:
        self._believe(out)
        block = self._blocks[index] = _Block(data)
        match data:
            case {"type": "text", "text": str(text)} if text:
                block.said.append(text)
                out.append(TextDelta(text))
            case {"type": "thinking", "thinking": str(text)} if text:
                block.said.append(text)
                out.append(ThinkDelta(text))
            case {"type": "tool_use"}:
                self._call(index, data, out)

    def _call(self, index: int, data: dict[str, Any], out: list[AnyDelta]) -> None:
        self._called = True
        caller, family = data.get("caller"), data.get("toolset_name")
        by_another = isinstance(caller, dict) and caller.get("type") != "direct"
        if by_another or family:
            kept = {key: data[key] for key in ("type", "id", "caller", "toolset_name") if data.get(key) is not None}
            out.append(Vendor(NAME, kept))
        out.append(CallDelta(index, _text(data.get("id")), _text(data.get("name"))))

    def _add(self, record: _Record, out: list[AnyDelta]) -> None:
        """A piece of a block."""
        index = record.index if isinstance(record.index, int) else self._last
        delta = record.delta if isinstance(record.delta, dict) else {}
        block = self._blocks.get(index)
        if block is None:  # a server that does not announce its blocks
            block = self._blocks[index] = _Block({"type": "thinking" if "thinking" in delta else "text"})
        match delta.get("type"):
            case "text_delta" if text := _text(delta.get("text")):
                block.said.append(text)
                out.append(TextDelta(text))
            case "input_json_delta" if text := _text(delta.get("partial_json")):
                block.said.append(text)
                if block.kind == "tool_use":
                    out.append(CallDelta(index, args=text))
            case "thinking_delta" if text := _text(delta.get("thinking")):
                block.said.append(text)
                out.append(ThinkDelta(text))
            case "signature_delta" if text := _text(delta.get("signature")):
                block.data["signature"] = text
            case "citations_delta" if "citation" in delta:
                block.citations.append(delta["citation"])
            case _ if block.kind not in _OWN:  # a block of a later version: its pieces join what it began with
                _join(block.data, delta)
            case _:
                pass

    def _close(self, index: int, out: list[AnyDelta]) -> None:
        """A block has ended."""
        block = self._blocks.pop(index, None)
        if block is None:
            return
        said, data = "".join(block.said), block.data
        match block.kind:
            case "text":
                if block.citations:
                    out.append(Vendor(NAME, data | {"text": said, "citations": block.citations}))
            case "thinking":
                if data.get("signature"):
                    out.append(Vendor(NAME, data | {"thinking": said}))
            case "tool_use" if said:
                out.append(CallDelta(index, done=True))
            case "tool_use" if data.get("input"):
                args = json.dumps(data["input"], ensure_ascii=False)
                out.append(CallDelta(index, args=args, done=True))
            case "tool_use":
                self._doubtful = index
            case kind if kind:
                if (whole := _with_input(data, said)) is not None:
                    out.append(Vendor(NAME, whole))

    def _believe(self, out: list[AnyDelta]) -> None:
        if self._doubtful is not None:
            out.append(CallDelta(self._doubtful, done=True))
            self._doubtful = None

    def _count(self, usage: Any) -> None:
        """Later counts replace earlier ones; null says nothing."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _finish(self, delta: dict[str, Any], out: list[AnyDelta]) -> None:
        if not (reason := _text(delta.get("stop_reason"))):
            return
        self.finish, self.quiet = reason, True
        if details := delta.get("stop_details"):
            out.append(Vendor(NAME, {"type": "stop_details", "details": details}))
        if _STOPS.get(reason, "end") in ("end", "tools"):
            self._believe(out)

    def _whole(self, message: _Record, out: list[AnyDelta]) -> None:
        """A plain answer: the same blocks, each at once."""
        cut = _STOPS.get(_text(message.stop_reason)) == "length"
        blocks = [block for block in message.content if isinstance(block, dict)]
        for index, data in enumerate(blocks):
            self._begin(index, data, out)
            if not (cut and index == len(blocks) - 1 and data.get("type") == "tool_use"):
                self._close(index, out)  # the last call of a cut answer is not whole, whatever stands in it
        self._count(message.usage)
        self._finish({"stop_reason": message.stop_reason, "stop_details": message.stop_details}, out)
        self._stop(out)

    def _stop(self, out: list[AnyDelta]) -> None:
        natural: StopReason = "tools" if self._called else "end"
        reason = _STOPS.get(self.finish, "end") if self.finish else natural
        out.append(Stop(reason, _usage(self._usage) if self._usage else None))
        self.ended = True


def _odd(payload: bytes) -> _Record:
    """A record that the strict decoder refused: bytes that are no UTF-8, lone surrogates."""
    try:
        return msgspec.convert(loaded(payload), _Record)
    except msgspec.ValidationError as error:
        raise unreadable(payload) from error


def _join(data: dict[str, Any], delta: dict[str, Any]) -> None:
    for name, value in delta.items():
        before = data.get(name)
        if name != "type":
            data[name] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _with_input(data: dict[str, Any], said: str) -> dict[str, Any] | None:
    """A block the service filled itself; None if its arguments were cut, so that it cannot be sent back."""
    if not said:
        return data
    try:
        return data | {"input": json.loads(said)}
    except (ValueError, RecursionError):
        return None
