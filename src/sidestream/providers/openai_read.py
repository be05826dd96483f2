"""The bytes of a chat completion → deltas. Pure: no I/O, no clock.

Promises: each delta as soon as its record is whole; exactly one `Stop`, last (usage comes after the
finish reason, so it is held until then); nothing that arrived is lost before an error is raised. Read
as they come from OpenAI, vLLM, llama.cpp, Ollama, LM Studio, OpenRouter, Azure and proxies before them:
fields unknown, null, missing or of another JSON type; a streamed or a plain JSON answer, told apart by the
first byte. Choices beyond the first are not read, arguments are never repaired.

When is an answer whole? After `[DONE]`; after a finish reason, however the connection ends (unless it is
one of those servers that give one with every record); and, with neither, if the body ended as HTTP framed
it (last chunk, or Content-Length). Else it was cut: ProviderError. A body without any record is no answer:
ProviderError.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, Stop, StopReason, TextDelta, ThinkDelta
from sidestream.messages import Usage, Vendor
from sidestream.providers.failure import hide, reported
from sidestream.providers.sse import Records

__all__ = ["NAME", "Answer", "deltas_of"]

NAME = "openai"  # whose `Vendor` parts are ours

_STOPS: dict[str, StopReason] = {  # all others: "end"
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "safety": "filter",
}
_BROKEN = frozenset(("error", "abort"))  # finish reasons of OpenRouter and vLLM for an answer that failed


class _Said(msgspec.Struct, gc=False):
    content: Any = None
    reasoning_content: Any = None  # DeepSeek, llama.cpp, vLLM
    reasoning: Any = None  # OpenRouter, Ollama, newer vLLM
    reasoning_details: Any = None  # OpenRouter
    refusal: Any = None
    tool_calls: Any = None
    function_call: Any = None  # before tool_calls


class _Choice(msgspec.Struct, gc=False):
    index: Any = 0
    delta: _Said | None = None
    message: _Said | None = None
    finish_reason: Any = None
    error: Any = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: Any = None
    x_groq: Any = None  # Groq: its usage is in there
    error: Any = None
    message: Any = None  # an error object without its `error`


_decode = msgspec.json.Decoder(_Chunk).decode


def _texts(content: Any) -> list[tuple[bool, str]]:
    """(is it reasoning, its text) of content that is a list of parts, or one part."""
    match content:
        case str():
            return [(False, content)]
        case list():
            return [piece for part in content for piece in _texts(part)]
        case {"thinking": inner}:
            return [(True, text) for _, text in _texts(inner)]
        case {"text": str(text)} | {"refusal": str(text)} | {"summary": str(text)}:
            return [(False, text)]
        case _:
            return []


def _thought(said: _Said) -> str:
    """The reasoning of one record; servers that give it under two names give the same twice."""
    for field in (said.reasoning_content, said.reasoning, said.reasoning_details):
        if field and (text := "".join([text for _, text in _texts(field)])):
            return text
    return ""


def _number(value: Any, *path: str) -> int:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return int(value) if isinstance(value, (int, float)) and value > 0 else 0


def _usage(value: dict[str, Any]) -> Usage:
    return Usage(
        input=_number(value, "prompt_tokens"),
        output=_number(value, "completion_tokens"),
        cached=_number(value, "prompt_tokens_details", "cached_tokens")
        or _number(value, "prompt_cache_hit_tokens"),  # DeepSeek
        reasoning=_number(value, "completion_tokens_details", "reasoning_tokens"),
    )


class _Slots:
    """Which call a fragment belongs to, where the server does not say it by `index`."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._last = 0
        self._next = 0

    def of(self, index: Any, call_id: str, position: int, several: bool) -> int:
        """By index, else by id, else by the place in its list, else the last one."""
        if isinstance(index, str) and index.isdecimal():
            index = int(index)
        if isinstance(index, int):
            slot = index
        elif call_id:
            slot = self._ids.get(call_id, self._next)
        else:
            slot = position if several else self._last
        if call_id:
            self._ids.setdefault(call_id, slot)
        self._last, self._next = slot, max(self._next, slot + 1)
        return slot


class Answer:
    """Reads one answer: `feed` its bytes, then `end`; both append deltas to `out`, and raise ProviderError
    only after what came before the failure was appended. `limit`: bytes of one record, or of a plain
    JSON answer."""

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        self.ended = False  # `Stop` was said
        self.begun = False  # a record was read
        self.finish = ""  # the finish reason
        self.finished = False  # it is to be believed: nothing was said after it
        self.quiet = False  # and it came alone: only usage and the end mark are to come
        self._repeats = False  # text came after a finish reason: one that comes with text says nothing
        self._limit = limit
        self._records = Records(limit)
        self._body: list[bytes] | None = None  # pieces of a plain JSON answer
        self._size = 0  # bytes in them
        self._head = b""  # what came before the first record, in part
        self._usage: Usage | None = None
        self._slots = _Slots()
        self._called = False
        self._halves: dict[str, str] | None = None  # high surrogates that wait for their other half

    def feed(self, data: bytes, out: list[AnyDelta]) -> None:
        """The next bytes of the body."""
        if self._body is not None:
            self._body.append(data)
            self._size += len(data)
            if self._size > self._limit:
                raise ProviderError(f"the provider sent an answer of more than {self._limit} bytes")
            return
        if not self.begun and not self._opens(data):
            return
        for payload in self._records.feed(data):
            if not self.ended:
                self._read(payload, out)

    def end(self, out: list[AnyDelta], *, framed: bool, broken: ProviderError | None = None) -> None:
        """No more bytes. `framed`: the body ended as HTTP said it would; `broken`: why it did not."""
        if self.ended:
            return
        try:
            for payload in [b"".join(self._body)] if self._body is not None else self._records.close():
                self._read(payload, out)
        except ProviderError:
            if not broken:
                raise
        if self.ended:
            return
        if not self.finished and broken:
            raise broken
        if not self.begun:
            began = hide(self._head.decode("utf-8", "replace").strip())
            raise ProviderError(
                f"the provider's answer holds no record; it begins: {began}"
                if began
                else "the provider sent an empty answer",
                retryable=not began,
            )
        if not (self.finished or framed or self._body is not None):
            raise ProviderError("the answer was cut: no finish reason, no [DONE]", retryable=True)
        self._stop(out)

    def _opens(self, data: bytes) -> bool:
        """Still before the first record: is this a stream at all? `{` opens plain JSON, `<` a web page."""
        self._head = (self._head + data[:200])[:200]
        first = self._head.lstrip()[:1]
        if first == b"{":
            self._body, self._size = [data], len(data)
        elif first == b"<":
            raise ProviderError(
                "the provider answered with a web page, not with a stream: is the base URL right? (most end in /v1)"
            )
        return self._body is None

    def _stop(self, out: list[AnyDelta]) -> None:
        if self._halves:
            out += [TextDelta("\ufffd") for where in self._halves if where == "text"]
        reason = _STOPS.get(self.finish, "end") if self.finish else ("tools" if self._called else "end")
        out.append(Stop(reason, self._usage))
        self.ended = True

    def _read(self, payload: bytes, out: list[AnyDelta]) -> None:
        """One record."""
        try:
            chunk = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = self._odd(payload)
            if found is None:
                if payload.strip() == b"[DONE]":
                    self.begun = True
                    self._stop(out)
                return
            chunk = found
        self.begun = True
        for choice in chunk.choices or ():
            if choice.index:
                continue
            before = len(out)
            if choice.delta is not None:
                self._say(choice.delta, False, out)
            elif choice.message is not None:
                self._say(choice.message, True, out)
            if choice.finish_reason or self.finish:
                self._finish(choice.finish_reason, len(out) > before)
            if choice.error:
                raise reported(choice.error)
        if chunk.usage and isinstance(chunk.usage, dict):
            self._usage = _usage(chunk.usage)
        elif isinstance(chunk.x_groq, dict) and isinstance(chunk.x_groq.get("usage"), dict):
            self._usage = _usage(chunk.x_groq["usage"])
        if chunk.error or (chunk.message and chunk.choices is None):
            raise reported(chunk.error or json.loads(payload))
        if self.finish in _BROKEN:
            raise ProviderError(f"the provider gave up its answer (finish reason {self.finish})", retryable=True)

    def _finish(self, reason: Any, said: bool) -> None:
        """A record with a finish reason, or after one; `said`: it held something of the answer, too."""
        self._repeats = self._repeats or (said and bool(self.finish))
        if reason:
            self.finish = str(reason).lower()
        if reason or said:
            self.finished = bool(reason) and not (said and self._repeats)
            self.quiet = bool(reason) and not said

    def _odd(self, payload: bytes) -> _Chunk | None:
        """A record the fast decoder refuses: None for the end mark or nothing; lone surrogates, bad UTF-8."""
        if payload.strip() in (b"[DONE]", b""):
            return None
        try:
            chunk = msgspec.convert(json.loads(payload.decode("utf-8", "replace")), _Chunk)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            shown = hide(payload[:200].decode("utf-8", "replace"))
            raise ProviderError(f"the provider sent a record that cannot be read: {shown}") from error
        if self._halves is None:
            self._halves = {}
        return chunk

    def _say(self, said: _Said, whole: bool, out: list[AnyDelta]) -> None:
        """The deltas of one `delta` or, if `whole`, one `message`."""
        if said.reasoning_content or said.reasoning or said.reasoning_details:
            if thought := _thought(said):
                out.append(ThinkDelta(self._paired("think", thought)))
            sealed = [part for part in said.reasoning_details or () if isinstance(part, dict) and "data" in part]
            if sealed:
                out.append(Vendor(NAME, {"reasoning_details": sealed}))
        content = said.content
        if content:
            for thinks, text in ((False, content),) if type(content) is str else _texts(content):
                text = text if self._halves is None else self._paired("text", text)
                if text:
                    out.append(ThinkDelta(text) if thinks else TextDelta(text))
        if said.refusal and isinstance(said.refusal, str):
            out.append(TextDelta(self._paired("text", said.refusal)))
        calls = said.tool_calls
        if calls and isinstance(calls, list):
            for position, call in enumerate(calls):
                if isinstance(call, dict):
                    self._call(call, position, len(calls) > 1, whole, out)
        if isinstance(said.function_call, dict):
            self._call({"index": 0, "function": said.function_call}, 0, False, whole, out)

    def _call(self, call: dict[str, Any], position: int, several: bool, whole: bool, out: list[AnyDelta]) -> None:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name, args, call_id = function.get("name"), function.get("arguments"), call.get("id")
        call_id = "" if call_id is None else str(call_id)
        slot = self._slots.of(call.get("index"), call_id, position, several)
        if args is None:
            args = ""
        elif not isinstance(args, str):  # an object instead of its text: whole by nature
            args, whole = json.dumps(args, ensure_ascii=False), True
        if self._halves is not None:
            args = self._paired(str(slot), args)
        name = name if isinstance(name, str) else ""
        if call_id or name or args:
            self._called = True
            out.append(CallDelta(slot, call_id, name, args, whole))

    def _paired(self, where: str, text: str) -> str:
        """`text` with a surrogate pair made whole that was cut between two records."""
        if self._halves is None or not text:
            return text
        half = self._halves.pop(where, "")
        text = half + text
        if "\ud800" <= text[-1] <= "\udbff":
            self._halves[where], text = text[-1], text[:-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if half else text


def deltas_of(delta: dict[str, Any], answer: Answer | None = None) -> list[AnyDelta]:
    """The deltas of one `delta` object as it stands in a record, alone or as the next one of `answer`; a
    `finish_reason` in it (or beside it, in a record) becomes the `Stop`. Raises ProviderError."""
    answer = answer or Answer()
    out: list[AnyDelta] = []
    choice = {"delta": delta, "finish_reason": delta.get("finish_reason")}
    answer.feed(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n", out)
    if answer.finish:
        answer.end(out, framed=True)
    return out
