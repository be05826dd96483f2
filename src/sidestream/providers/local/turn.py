"""What one round of the embedded model consists of: text that is certain, and text that the model writes.

A round is a list of steps. `Say` is text the plan leaves no choice about (a block's markup, a tool's
result): it is not sampled, only read by the model before it goes on. `Write` is written by the model under
a grammar. `Open` begins a call in the native dialect; steps with its slot are the call's arguments.
Promises: pure; calls are written by the request's own dialect; an answer carries each result verbatim, or
the failure and its reason, and no other fact. It talks to no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from sidestream.dialects.inert import neutralise
from sidestream.messages import Message, TextPart, ToolCall, ToolResult
from sidestream.providers.local import grammar
from sidestream.providers.local.router import Choice
from sidestream.providers.provider import Request

__all__ = ["Open", "Say", "Step", "Write", "answering", "calling", "history", "pending", "question", "told"]

_SHOWN = 1_200  # characters of a result in an answer
_SHORT = 80  # a result that fits into a sentence
_REASON = 300  # characters of a failure's reason
_MEMORY = 3_000  # characters of earlier conversation the model reads
_SYSTEM = "You are a helpful assistant. Answer briefly."
_EXCEPTION = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception): ")  # the message says more than the class


_SENTENCE = re.compile(r"[^.!?]+[.!?]")
_SHORTEST = 12  # characters; a shorter sentence may well be said twice


class Say(NamedTuple):
    """Certain text."""

    text: str
    slot: int = -1


class Write(NamedTuple):
    """Text the model writes under `grammar`, at most `most` tokens."""

    grammar: str
    most: int = 48
    slot: int = -1


class Open(NamedTuple):
    """A native call begins."""

    slot: int
    name: str


Step: TypeAlias = Say | Write | Open


def question(request: Request) -> str:
    """The text of the last user message."""
    return next((message.text for message in reversed(request.messages) if message.role == "user"), "")


def pending(request: Request) -> list[tuple[ToolCall | None, ToolResult]]:
    """The results that the last message brings, each with its call; empty if it is a person's turn."""
    if not request.messages or request.messages[-1].role != "tool":
        return []
    calls = {call.id: call for message in request.messages for call in message.calls}
    found = [part for part in request.messages[-1].parts if isinstance(part, ToolResult)]
    return [(calls.get(result.call), result) for result in found]


def history(messages: Sequence[Message], system: str) -> list[dict[str, str]]:
    """The conversation as plain text, the oldest left out where it is too long. Calls are not shown: a
    small model would imitate them."""
    kept: list[dict[str, str]] = []
    room = _MEMORY
    for message in reversed(messages):
        text = "".join(part.text for part in message.parts if isinstance(part, TextPart)).strip()
        if message.role == "tool" or not text:
            continue
        room -= len(text)
        if room < 0 and kept:
            break
        text = text[-_MEMORY:]
        if kept and kept[-1]["role"] == message.role:
            kept[-1]["content"] = f"{text}\n\n{kept[-1]['content']}"
        else:
            kept.append({"role": message.role, "content": text})
    return [{"role": "system", "content": system or _SYSTEM}, *reversed(kept)]


def calling(request: Request, choices: Sequence[Choice]) -> list[Step]:
    """A short sentence and a block for each call."""
    steps: list[Step] = []
    for slot, (spec, offers) in enumerate(choices):
        steps.append(Write(grammar.sentence(f"{spec.name.replace('_', ' ')}: {spec.description}")))
        native = request.dialect.name == "native"
        slot = slot if native else -1
        texts = [
            json.dumps(args, ensure_ascii=False)
            if native
            else request.dialect.write(ToolCall(id="", name=spec.name, args=args, raw=""))
            for args in offers
        ]
        head, middles, tail = grammar.fork(texts)
        steps += [Open(slot, spec.name)] if native else [Say("\n")]
        steps.append(Say(head, slot))
        if middles:
            most = max(map(len, middles)) + 8
            steps += [Write(f"root ::= {grammar.any_of(middles)}", most, slot), Say(tail, slot)]
        steps.append(Say("\n"))
    return steps[:-1]


def repeats(said: str) -> bool:
    """True if the sentence that has just ended was said before: a small model then goes on for ever."""
    if not said.rstrip().endswith((".", "!", "?")):
        return False
    *before, last = [part.strip() for part in _SENTENCE.findall(said)] or [""]
    return len(last) > _SHORTEST and last in before


def lacking() -> list[Step]:
    """The whole answer where only a tool that is not here could know: nothing is made up."""
    return [Write(grammar.regret(), most=12), Say("I have no tool here that could find that out or do it.")]


def answering(request: Request) -> list[Step]:
    """The closing answer: one paragraph for each result."""
    steps: list[Step] = []
    for at, (call, result) in enumerate(found := pending(request)):
        steps += [Say("\n")] if at else []
        name = call.name if call else "tool"
        if result.status in ("ok", "duplicate"):
            about = neutralise(_about(call), request.dialect.markers) if len(found) > 1 else ""
            steps += [Say(about)] if about else []
            steps += _told(neutralise(result.text.strip(), request.dialect.markers), bool(about))
        else:
            steps += [
                Write(grammar.regret(), most=12),
                Say(neutralise(_failed(name, result), request.dialect.markers)),
            ]
    return steps or [
        Write(grammar.regret(), most=12),
        Say("I could not carry that out: the call could not be read."),
    ]


def _about(call: ToolCall | None) -> str:
    """Which of several requests a result answers: what was asked of the tool, else its name."""
    if call is None:
        return ""
    value = str(next(iter(call.args.values()), ""))
    plain = 0 < len(value) <= _SHORT and "\n" not in value
    shown = value.rstrip(".") if plain else call.name.replace("_", " ")
    return f"For {shown}, "


def _told(text: str, follows: bool) -> list[Step]:
    if not text:
        return [Say("the tool ran and returned nothing." if follows else "The tool ran and returned nothing.")]
    short = len(text) <= _SHORT and "\n" not in text and text[-1] not in ".!?"
    shown = _cut(text, _SHOWN)
    lead = Write(grammar.lead(short, follows), most=24)
    return [lead, Say(f"{shown}." if short else shown)]


_STATES: Mapping[str, str] = {
    "timeout": "it ran out of time",
    "refused": "it was not allowed",
    "cancelled": "it was cancelled",
    "unknown": "it is not known whether it ran",
}


def _failed(name: str, result: ToolResult) -> str:
    """What is said of a result that is none."""
    reason = _cut(_EXCEPTION.sub("", " ".join(result.text.split())), _REASON).rstrip(".")
    if result.status == "running":
        return f"there is no result of {name} yet: it is still running."
    state = _STATES.get(result.status, "")
    why = f"{state} ({reason})" if state and reason else state or reason or "it gave no reason"
    return f"I could not get an answer from {name}: {why}."


def _cut(text: str, most: int) -> str:
    """`text`, cut at a word where it is too long, and marked so."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(" ", 1)[0].rstrip() + " …"


def told(request: Request) -> str:
    """The question with the results, as the model reads them before it introduces them."""
    lines = [f"({_cut(' '.join(result.text.split()), _SHORT)})" for _, result in pending(request)]
    return "\n".join([question(request)[-600:], *lines])
