"""A conversation as other programs keep it: OpenAI's chat messages ⇄ our transcript.

Promises: texts, images, calls and results come over whole, results stand behind their calls under the same
ids, and what cannot be read raises `UsageError` that names the message. Rejected calls and other vendors'
parts have no place in that format and are left out on the way there.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sidestream.dialects.values import arguments
from sidestream.errors import UsageError
from sidestream.messages import DataPart, ImagePart, Message, Part, TextPart, ThinkPart, ToolCall, ToolResult
from sidestream.providers.openai_write import messages_of

__all__ = ["from_openai", "to_openai"]

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def to_openai(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The transcript as chat-completions messages (JSON data)."""
    said = [Message(message.role, tuple(part for part in message.parts if not _rejected(part))) for message in messages]
    return list(messages_of("", [message for message in said if message.parts]))


def _rejected(part: Part) -> bool:
    return isinstance(part, DataPart) and part.name == "rejected"


def from_openai(history: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Chat-completions messages (JSON data) as a transcript. Raises UsageError."""
    out: list[Message] = []
    ids: dict[str, str] = {}  # the wire's id of a call → ours
    for place, item in enumerate(history):
        try:
            message = _message(item, ids)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UsageError(f"message {place} of the history cannot be read: {error!r}") from error
        if message.role == "tool" and out and out[-1].role == "tool":
            message = Message("tool", (*out.pop().parts, *message.parts))
        out.append(message)
    return out


def _message(item: Mapping[str, Any], ids: dict[str, str]) -> Message:
    role = item["role"]
    parts: list[Any] = list(_parts(item.get("content")))
    if role == "tool":
        wire = item["tool_call_id"]
        if wire not in ids:
            raise ValueError(f"no call {wire!r} before its result")
        return Message("tool", (ToolResult(ids[wire], "ok", tuple(parts)),))
    if role not in _ROLES:
        raise ValueError(f"role {role!r}; the roles are {', '.join([*_ROLES, 'tool'])}")
    thought = item.get("reasoning_content") or item.get("reasoning")
    if isinstance(thought, str) and thought:
        parts.insert(0, ThinkPart(thought))
    return Message(_ROLES[role], (*parts, *_calls(item, ids)))  # type: ignore[arg-type]


def _calls(item: Mapping[str, Any], ids: dict[str, str]) -> Iterator[ToolCall]:
    for call in item.get("tool_calls") or ():
        function, wire = call["function"], call["id"]
        raw = function.get("arguments") or ""
        ids[wire] = f"0.{len(ids) + 1}"  # rounds of a run begin at 1: these can never be met again
        yield ToolCall(ids[wire], function["name"], arguments(raw), raw, wire)


def _parts(content: Any) -> Iterator[TextPart | ImagePart]:
    if isinstance(content, str):
        yield from (TextPart(content),) if content else ()
        return
    for part in content or ():
        match part["type"]:
            case "text" | "refusal":
                yield TextPart(part[part["type"]])
            case "image_url":
                yield _image(part["image_url"]["url"])
            case kind:
                raise ValueError(f"a content part of type {kind!r}; text and image_url can be read")


def _image(url: str) -> ImagePart:
    head, comma, body = url.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64") and comma):
        return ImagePart(url=url)
    try:
        return ImagePart(head[5:-7], base64.b64decode(body, validate=True))
    except binascii.Error as error:
        raise ValueError(f"an image whose data is not base64: {error}") from error
