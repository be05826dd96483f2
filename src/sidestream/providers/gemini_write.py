"""A request → the JSON body of Google's Gemini API (`generateContent`, streamed or not). Pure: no I/O, no clock.

Promises: the same request gives the same bytes, tools in the order of their names; a signature goes back on the
very part it came with; what came as `Vendor("gemini", …)` part goes back as it came, reasoning of anyone else
not at all; what the caller puts in `extra_body` has the last word (None there removes a field), and what it says
of `generationConfig` is joined with what stands there. It checks nothing that the service checks better. The
model is a part of the URL, not of the body; the service caches by itself.

Thinking has two forms: from Gemini 3 on, and for names without a version, a level; before it, a budget in tokens.
`off` is the least the model can do. Gemini 3 refuses a call that came back without a signature; one that another
model made never had any, and goes with the word that the service knows for that.
"""

from __future__ import annotations

import itertools
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sidestream.dialects.render import rendered
from sidestream.messages import (
    AudioPart,
    DataPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    Status,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Vendor,
)
from sidestream.providers.provider import Request, Settings

__all__ = ["body_of", "contents_of"]

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_LEVELS = {"off": "MINIMAL", "minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
_BUDGETS = {"off": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 24_576}
_PRO_LEAST = 128  # tokens the large models before version 3 cannot go below
_VERSION = re.compile(r"gemini-(\d+)")
_LEVELLED = 3  # the first version with levels, strict signatures, and pictures in a result
_FAILED: frozenset[Status] = frozenset(("error", "timeout", "refused", "cancelled", "unknown"))
_UNSIGNED = "skip_thought_signature_validator"
_PARTS = ("text", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse")
_EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
_MEDIA = "inlineData", "fileData"


def body_of(request: Request, model: str) -> dict[str, Any]:
    """The body for `model`, with or without `models/` in front of its name."""
    settings = request.settings
    said = rendered(request.messages, request.system, request.tools, request.dialect)
    opening = list(itertools.takewhile(lambda message: message.role == "system", said.messages))
    system = "\n\n".join([text for text in (said.system, *[message.text for message in opening]) if text])
    body: dict[str, Any] = {
        "systemInstruction": {"parts": [{"text": system}]} if system else None,
        "tools": _tools(said.tools),
        "toolConfig": _choice(settings.tool_choice) if said.tools else None,
        "contents": contents_of(said.messages[len(opening) :], newest=_newest(model)),
        "generationConfig": _generation(settings, model) or None,
    }
    extra = dict(settings.extra_body)
    if isinstance(extra.get("generationConfig"), Mapping) and body["generationConfig"]:
        extra["generationConfig"] = body["generationConfig"] | dict(extra["generationConfig"])
    body |= extra
    return {name: value for name, value in body.items() if value is not None}


def _newest(model: str) -> bool:
    found = _VERSION.search(model)
    return found is None or int(found[1]) >= _LEVELLED


def _tools(specs: Sequence[ToolSpec]) -> list[dict[str, Any]] | None:
    declared = [
        {"name": spec.name, "description": spec.description, "parametersJsonSchema": _EMPTY | spec.schema}
        for spec in sorted(specs, key=lambda spec: spec.name)
    ]
    return [{"functionDeclarations": declared}] if declared else None


def _choice(choice: str | None) -> dict[str, Any] | None:
    if not choice:
        return None
    named = {} if choice in _MODES else {"allowedFunctionNames": [choice]}
    return {"functionCallingConfig": {"mode": _MODES.get(choice, "ANY")} | named}


def _generation(settings: Settings, model: str) -> dict[str, Any]:
    schema = dict(settings.response) if isinstance(settings.response, Mapping) else None
    config = {
        "temperature": settings.temperature,
        "maxOutputTokens": settings.max_tokens,
        "stopSequences": list(settings.stop) or None,
        "thinkingConfig": _thinking(settings.thinking, model) if settings.thinking else None,
        "responseMimeType": "application/json" if schema is not None or settings.response == "json" else None,
        "responseJsonSchema": schema,
    }
    return {name: value for name, value in config.items() if value is not None}


def _thinking(level: str, model: str) -> dict[str, Any]:
    shown = {"includeThoughts": level != "off"}
    large = "pro" in model.split("-")
    if _newest(model):
        least = large and _LEVELS[level] == "MINIMAL"  # the large models have no level below low
        return {"thinkingLevel": "LOW" if least else _LEVELS[level]} | shown
    return {"thinkingBudget": max(_BUDGETS[level], _PRO_LEAST if large else 0)} | shown


# ---- contents


def contents_of(messages: Sequence[Message], *, newest: bool = True) -> list[dict[str, Any]]:
    """The `contents` of a body, from messages that are `rendered` already. `newest`: for Gemini 3 and later."""
    calls: dict[str, ToolCall] = {}  # by our id
    contents: list[dict[str, Any]] = []
    answers = False  # the last content is answers to calls: nothing else may stand in it
    for message in messages:
        if message.role == "assistant":
            role, parts = "model", _model(message, newest)
            calls |= {call.id: call for call in message.calls}
        elif message.role == "tool":
            role, parts = "user", list(_results(message, calls, newest))
        else:
            role, parts = "user", [said for part in message.parts for said in _part(part)]
        if not parts:
            continue
        results = message.role == "tool"
        if contents and contents[-1]["role"] == role and answers is results:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
        answers = results
    return contents


def _model(message: Message, newest: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []  # what belongs to calls that are yet to come
    called = False
    for part in message.parts:
        match part:
            case TextPart(text) if text:
                parts.append({"text": text})
            case ToolCall():
                beside = _beside(part, waiting)
                if newest and not called and "thoughtSignature" not in beside:
                    beside["thoughtSignature"] = _UNSIGNED
                called = True
                parts.append({"functionCall": _named(part.name, part.wire) | {"args": part.args}} | beside)
            case Vendor(provider="gemini", data={"functionCall": dict()}):
                waiting.append(part.data)
            case Vendor(provider="gemini", data={"text": str(text)}):
                _sign(parts, part.data, text)
            case Vendor(provider="gemini", data=dict(data)) if any(name in data for name in _PARTS):
                parts.append(data)
            case ImagePart() | FilePart() | AudioPart() | DataPart():
                parts += _part(part)
            case _:
                pass  # reasoning, what was said about an answer, and other vendors' own
    return parts


def _beside(call: ToolCall, waiting: list[dict[str, Any]]) -> dict[str, Any]:
    """What came in the same part as this call; those before it, whose calls were rejected, are let go."""
    for place, kept in enumerate(waiting):
        about = kept["functionCall"]
        if about.get("name") == call.name and (about.get("id") or "") == call.wire:
            del waiting[: place + 1]
            return {name: value for name, value in kept.items() if name != "functionCall"}
    return {}


def _sign(parts: list[dict[str, Any]], signed: dict[str, Any], text: str) -> None:
    """A text with a signature: it was said already, at the end of the text before it, and stands alone now."""
    before = parts[-1] if parts else {}
    if text and not signed.get("thought"):
        said = before.get("text")
        if not isinstance(said, str) or "thoughtSignature" in before or not said.endswith(text):
            signed = signed | {"text": ""}  # the text reads otherwise now: the signature goes alone
        else:
            parts.pop()
            if rest := said.removesuffix(text):
                parts.append(before | {"text": rest})
    parts.append(signed)


def _results(message: Message, calls: Mapping[str, ToolCall], newest: bool) -> Iterator[dict[str, Any]]:
    beside: list[dict[str, Any]] = []
    for part in message.parts:
        if not isinstance(part, ToolResult):
            beside += _part(part)
            continue
        said = [one for inner in part.parts for one in _part(inner)]
        media = [one for one in said if any(name in one for name in _MEDIA)]
        text = "\n".join([one["text"] for one in said if "text" in one])
        call = calls.get(part.call)
        answer: dict[str, Any] = _named(call.name if call else "", call.wire if call else "")
        answer["response"] = {"error" if part.status in _FAILED else "output": text}
        if media and newest:
            answer["parts"] = media
        elif media:
            beside += [{"text": f"Belongs to the result of {answer['name']}:"}, *media]
        yield {"functionResponse": answer}
    yield from beside


def _named(name: str, wire: str) -> dict[str, Any]:
    return {"id": wire, "name": name} if wire else {"name": name}


def _part(part: Part) -> Iterator[dict[str, Any]]:
    """What one part of anyone but the model becomes."""
    match part:
        case TextPart(text) if text:
            yield {"text": text}
        case ImagePart(mime, data, url) | AudioPart(mime, data, url):
            yield _media(mime, data, url)
        case FilePart(name, mime, data, _) if data and mime.startswith("text/"):
            yield {"text": f"{name}:\n{data.decode('utf-8', 'replace')}"}
        case FilePart(_, mime, data, url):
            yield _media(mime, data, url)
        case DataPart(_, value):
            yield {"text": json.dumps(value, ensure_ascii=False, default=repr)}
        case _:
            pass


def _media(mime: str, data: bytes, url: str) -> dict[str, Any]:
    if url:
        return {"fileData": {"mimeType": mime, "fileUri": url}}
    return {"inlineData": {"mimeType": mime, "data": b64encode(data).decode()}}
