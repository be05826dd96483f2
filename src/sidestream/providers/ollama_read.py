"""The bytes of an answer of Ollama's own API (`/api/chat`) → deltas. Pure: no I/O, no clock.

Promises: each delta as soon as its line is whole; exactly one `Stop`, last; nothing that arrived is lost before an
error is raised; a stream of lines and an answer in one piece, which is a single line, say the same. Reasoning comes
apart from text, in `message.thinking`. A call comes whole, in one line: one delta, in a slot of its own; the
service's `index` is not asked, because versions count it anew in every line. Unknown fields are passed over.

When is an answer whole? With the line that says `"done": true`, which carries the reason and the counts; the service
always sends it, so an answer that ends without one was cut, however well HTTP framed it: ProviderError.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, Stop, StopReason, TextDelta, ThinkDelta
from sidestream.messages import Usage
from sidestream.providers.failure import reported
from sidestream.providers.intake import Intake, loaded, unreadable
from sidestream.providers.lines import Lines

__all__ = ["NAME", "Answer"]

NAME = "ollama"

_STOPS: dict[str, StopReason] = {"length": "length"}  # all others (stop, load, unload): "end", or "tools"
_MOST = 1e15  # tokens; beyond it a number is no count


class _Message(msgspec.Struct, gc=False):
    content: Any = None
    thinking: Any = None
    tool_calls: Any = None


class _Line(msgspec.Struct, gc=False):
    message: _Message | None = None
    done: Any = None
    done_reason: Any = None
    prompt_eval_count: Any = None
    eval_count: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Line).decode


def _number(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 < value < _MOST else 0


class Answer:
    """Reads one answer: `feed` its bytes, then `end`; both append deltas to `out`, and raise ProviderError
    only after what came before the failure was appended. `limit`: bytes of one line."""

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        self.ended = False  # `Stop` was said
        self._intake = Intake(limit, Lines(limit))
        self._calls = 0

    @property
    def quiet(self) -> bool:
        """True once nothing is to come: what ends an answer is its last line."""
        return self.ended

    def feed(self, data: bytes, out: list[AnyDelta]) -> None:
        """The next bytes of the body."""
        for payload in self._intake.feed(data):
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
        if not self.ended:
            self._intake.whole(finished=False, framed=False, broken=broken)

    def _read(self, payload: bytes, out: list[AnyDelta]) -> None:
        """One line."""
        if self.ended:
            return
        try:
            line = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            try:
                line = msgspec.convert(loaded(payload), _Line)
            except msgspec.ValidationError as error:
                raise unreadable(payload) from error
        said = line.message
        if said is not None:
            if said.thinking and isinstance(said.thinking, str):
                out.append(ThinkDelta(said.thinking))
            if said.content and isinstance(said.content, str):
                out.append(TextDelta(said.content))
            if said.tool_calls and isinstance(said.tool_calls, list):
                for call in said.tool_calls:
                    self._call(call, out)
        if line.error:
            raise reported(line.error)
        if line.done is True:
            self._stop(line, out)

    def _call(self, call: Any, out: list[AnyDelta]) -> None:
        match call:
            case {"function": dict(function)}:
                name, args, call_id = function.get("name"), function.get("arguments"), call.get("id")
            case _:
                return
        if not isinstance(args, str):  # an object; some proxies send its text
            args = json.dumps({} if args is None else args, ensure_ascii=False)
        out.append(
            CallDelta(
                slot=self._calls,
                id=call_id if isinstance(call_id, str) else "",
                name=name if isinstance(name, str) else "",
                args=args,
                done=True,
            )
        )
        self._calls += 1

    def _stop(self, line: _Line, out: list[AnyDelta]) -> None:
        natural: StopReason = "tools" if self._calls else "end"
        reason = _STOPS.get(line.done_reason, natural) if isinstance(line.done_reason, str) else natural
        counted = line.prompt_eval_count is not None or line.eval_count is not None
        usage = Usage(_number(line.prompt_eval_count), _number(line.eval_count)) if counted else None
        out.append(Stop(reason, usage))
        self.ended = True
