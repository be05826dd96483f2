"""The bytes of an answer of Google's Gemini API → deltas. Pure: no I/O, no clock.

Promises: each delta as soon as its record is whole; exactly one `Stop`, last; nothing that arrived is lost
before an error is raised; `streamGenerateContent` (as events or as one JSON list) and `generateContent` say the
same. A call comes whole, in one part: one delta, in a slot of its own. Candidates beyond the first are not read.

What the model must get back as it was comes as `Vendor("gemini", part)`: a part with a signature (after the text
it repeats; before the call it belongs to, then without the arguments), code that the service ran and its result,
images. What it says about its answer (`groundingMetadata` and the like) comes as `Vendor` too, and is not sent
back.

When is an answer whole? After a finish reason, however the connection ends (unless it is one of the models that
give one with every record); without one, if the body ended as HTTP framed it, or the prompt was blocked. Else it
was cut: ProviderError. A finish reason that says the model failed (a malformed call …) is a ProviderError.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, Stop, StopReason, TextDelta, ThinkDelta
from sidestream.messages import Usage, Vendor
from sidestream.providers.failure import complaint, reported
from sidestream.providers.intake import Intake, loaded, unreadable

__all__ = ["NAME", "Answer"]

NAME = "gemini"  # whose `Vendor` parts are ours

_STOPS: dict[str, StopReason] = {  # all others: "end", or "tools" if calls were made
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "LANGUAGE": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "IMAGE_SAFETY": "filter",
    "IMAGE_PROHIBITED_CONTENT": "filter",
    "IMAGE_RECITATION": "filter",
    "ESCALATION": "filter",
    "MODEL_ARMOR": "filter",
    "PUP_LIMITED_DISABLED": "filter",
}
_FAILED = {  # finish reason → may the same request succeed later?
    "MALFORMED_FUNCTION_CALL": True,
    "MALFORMED_RESPONSE": True,
    "UNEXPECTED_TOOL_CALL": True,
    "TOO_MANY_TOOL_CALLS": True,
    "MISSING_THOUGHT_SIGNATURE": False,
    "IMAGE_OTHER": True,
    "NO_IMAGE": True,
    "OTHER": True,
}
_MOST = 1e15  # tokens; beyond it a number is no count
_ABOUT = ("groundingMetadata", "urlContextMetadata", "citationMetadata")


class _Content(msgspec.Struct, gc=False):
    parts: Any = None


class _Candidate(msgspec.Struct, rename="camel", gc=False):
    index: Any = None
    content: _Content | None = None
    finish_reason: Any = None
    finish_message: Any = None
    grounding_metadata: Any = None
    url_context_metadata: Any = None
    citation_metadata: Any = None


class _Chunk(msgspec.Struct, rename="camel", gc=False):
    candidates: list[_Candidate] | None = None
    usage_metadata: Any = None
    prompt_feedback: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Chunk).decode


def _number(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name)
    return int(value) if isinstance(value, (int, float)) and 0 < value < _MOST else 0


def _usage(usage: dict[str, Any]) -> Usage:
    """The service counts thoughts beside the answer, and what its own tools found beside the prompt."""
    thoughts = _number(usage, "thoughtsTokenCount")
    return Usage(
        input=_number(usage, "promptTokenCount") + _number(usage, "toolUsePromptTokenCount"),
        output=_number(usage, "candidatesTokenCount") + thoughts,
        cached=_number(usage, "cachedContentTokenCount"),
        reasoning=thoughts,
    )


def _failed(error: Any) -> ProviderError:
    failure = reported(error)
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        match detail:
            case {"retryDelay": str(delay)} if delay.removesuffix("s").replace(".", "", 1).isdecimal():
                failure.retry_after = float(delay.removesuffix("s"))
    return failure


class Answer:
    """Reads one answer: `feed` its bytes, then `end`; both append deltas to `out`, and raise ProviderError
    only after what came before the failure was appended. `limit`: bytes of one record, or of a plain
    JSON answer."""

    def __init__(self, limit: int = 16 * 1024 * 1024) -> None:
        self.ended = False  # `Stop` was said
        self.finish = ""  # the finish reason
        self.finished = False  # it is to be believed: nothing was said after it
        self.quiet = False  # and it came alone: nothing is to come
        self._repeats = False  # text came after a finish reason: one that comes with text says nothing
        self._intake = Intake(limit)
        self._usage: dict[str, Any] | None = None  # the last one: every record counts anew
        self._calls = 0

    @property
    def begun(self) -> bool:
        """A record was read."""
        return self._intake.begun

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
        self._intake.whole(finished=self.finished, framed=framed, broken=broken)
        natural: StopReason = "tools" if self._calls else "end"
        out.append(Stop(_STOPS.get(self.finish, natural), None if self._usage is None else _usage(self._usage)))
        self.ended = True

    def _read(self, payload: bytes, out: list[AnyDelta]) -> None:
        """One record; a plain answer may be a list of them."""
        try:
            self._take(_decode(payload), out)
        except (msgspec.DecodeError, UnicodeDecodeError):
            if payload.strip() in (b"", b"[DONE]"):  # a proxy's own end mark
                return
            value = loaded(payload)
            for item in value if isinstance(value, list) else [value]:
                try:
                    chunk = msgspec.convert(item, _Chunk)
                except msgspec.ValidationError as error:
                    raise unreadable(payload) from error
                self._take(chunk, out)

    def _take(self, chunk: _Chunk, out: list[AnyDelta]) -> None:
        for candidate in chunk.candidates or ():
            if candidate.index:
                continue
            before = len(out)
            parts = candidate.content.parts if candidate.content is not None else None
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, dict):
                    self._say(part, out)
            said = len(out) > before
            if candidate.grounding_metadata or candidate.url_context_metadata or candidate.citation_metadata:
                _tell_about(candidate, out)
            if candidate.finish_reason or self.finish:
                self._finish(candidate, said)
        if isinstance(chunk.usage_metadata, dict):
            self._usage = chunk.usage_metadata
        if isinstance(chunk.prompt_feedback, dict) and chunk.prompt_feedback.get("blockReason") and not self.finish:
            self.finish, self.finished, self.quiet = "SAFETY", True, True
        if chunk.error:
            raise _failed(chunk.error)

    def _say(self, part: dict[str, Any], out: list[AnyDelta]) -> None:
        """The deltas of one part."""
        text, signed = part.get("text"), bool(part.get("thoughtSignature"))
        if isinstance(text, str):
            if text:
                out.append(ThinkDelta(text) if part.get("thought") is True else TextDelta(text))
        elif isinstance(call := part.get("functionCall"), dict):
            self._call(part, call, out)
            return
        else:
            signed = signed or any(value for name, value in part.items() if name != "thought")
        if signed:
            out.append(Vendor(NAME, part))

    def _call(self, part: dict[str, Any], call: dict[str, Any], out: list[AnyDelta]) -> None:
        name, call_id, args = call.get("name"), call.get("id"), call.get("args")
        beside = {key: value for key, value in part.items() if key != "functionCall"}
        if beside:
            bare = {key: value for key, value in call.items() if key != "args"}
            out.append(Vendor(NAME, {"functionCall": bare} | beside))
        out.append(
            CallDelta(
                slot=self._calls,
                id=call_id if isinstance(call_id, str) else "",
                name=name if isinstance(name, str) else "",
                args=json.dumps({} if args is None else args, ensure_ascii=False),
                done=True,
            )
        )
        self._calls += 1

    def _finish(self, candidate: _Candidate, said: bool) -> None:
        """A record with a finish reason, or after one; `said`: it held something of the answer, too."""
        reason = candidate.finish_reason
        reason = reason if isinstance(reason, str) and reason != "FINISH_REASON_UNSPECIFIED" else ""
        self._repeats = self._repeats or (said and bool(self.finish))
        if reason:
            self.finish = reason
        if reason or said:
            self.finished = bool(reason) and not (said and self._repeats)
            self.quiet = bool(reason) and not said
        if reason in _FAILED:
            why = complaint(candidate.finish_message)[:500]
            text = f"the provider gave up its answer (finish reason {reason}){': ' + why if why else ''}"
            raise ProviderError(text, retryable=_FAILED[reason])


def _tell_about(candidate: _Candidate, out: list[AnyDelta]) -> None:
    found = (candidate.grounding_metadata, candidate.url_context_metadata, candidate.citation_metadata)
    out += [Vendor(NAME, {name: value}) for name, value in zip(_ABOUT, found, strict=True) if value]
