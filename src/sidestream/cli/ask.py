"""`sidestream ask`: one question, one turn, as it happens. `engine_of` reads the options chat shares."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from sidestream.cli.arguments import pairs
from sidestream.cli.shelf import chosen
from sidestream.cli.turn import Stage, looped, play, stage, writable, write_picture
from sidestream.engine import Engine
from sidestream.errors import UsageError
from sidestream.gate import Limits
from sidestream.messages import Message, clean
from sidestream.providers import Provider, falling_back, retrying
from sidestream.providers.script import recording

__all__ = ["ask", "engine_of", "honestly", "limits_of", "turn"]

_HONEST = "local: a real model ({}); tool choice: router + constrained decoding"


def honestly(model: str) -> str:
    """What must be said first of this model; nothing of a model that is asked freely."""
    kind, _, path = model.partition(":")
    return _HONEST.format(Path(path).stem or "SmolLM2-135M") if kind == "local" else ""


def limits_of(given: list[str]) -> Limits:
    """`--limits KEY=VALUE …`. Raises UsageError."""
    stated = pairs(given, "--limits")
    for key in stated:
        if key not in Limits.__struct_fields__:
            raise UsageError(f"no limit is named {key!r}; the limits are {', '.join(Limits.__struct_fields__)}")
    try:
        return msgspec.convert(stated, Limits, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"--limits {' '.join(given)}: write KEY=NUMBER ({error})") from error


def engine_of(given: argparse.Namespace, tools: Sequence[Any] | None = None) -> Engine:
    """The engine that the options ask for. Raises UsageError."""
    models = [retrying(model, retries=given.retries) for model in (given.model, *given.fallback)]
    provider: Provider = falling_back(*models) if given.fallback else models[0]
    if given.record:
        provider = recording(provider, given.record)
    dialect = given.dialect.split(",") if "," in given.dialect else given.dialect
    return Engine(
        provider,
        chosen(given.tools) if tools is None else tools,
        system=given.system,
        dialect=dialect,
        nonce=given.nonce,
        limits=limits_of(given.limits),
    )


def question_of(words: list[str]) -> str:
    """The question: the words, or the standard input for `-`. Raises UsageError if there is none."""
    text = sys.stdin.read() if words == ["-"] else " ".join(words)
    if not text.strip():
        raise UsageError('there is no question; say it: sidestream ask "What is 15% of 240?"')
    return clean(text)


async def turn(engine: Engine, question: str | Sequence[Message], on: Stage, given: argparse.Namespace) -> int:
    """One run of `engine`, shown, with its picture written if that was asked for."""
    run = engine.run(question)
    try:
        return await play(run, on, timeline=lambda events: bool(events) and not given.no_timeline)
    finally:
        if given.timeline:
            write_picture(given.timeline, run.events)


def ask(given: argparse.Namespace) -> int:
    """Do it; the exit code."""
    writable(given.timeline)
    question, engine, on = question_of(given.question), engine_of(given), stage(json=given.json)
    if honest := honestly(given.model):
        on.view.say(honest)
    return looped(turn(engine, question, on, given))
