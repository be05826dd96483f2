"""How users write it. Type-checked by two checkers in strict mode, never run.

What is asserted here is part of the public API: a change that breaks a line breaks somebody's editor.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never, assert_type

import sidestream as ss
from sidestream.compose import RunContext
from sidestream.events import AnyDelta
from sidestream.providers import Request, falling_back, retrying


@dataclass
class Shop:
    stock: dict[str, int]


@ss.tool
def bare(text: str) -> str:
    """No brackets."""
    return text


@ss.tool(timeout=10, read_only=True, examples=["weather in Bern"])
async def weather(city: str) -> str:
    """With settings."""
    return city


@ss.tool(idempotent=True, group="shop", errors="hide")
async def order(article: str, ctx: ss.Context[Shop], count: int = 1) -> str:
    """With the application's own objects."""
    ctx.say("ordering")
    assert_type(ctx.deps, Shop)
    ctx.deps.stock[article] -= count
    if count > 100:
        raise ss.Retry("at most a hundred")
    return "done"


@ss.tool
async def survey(places: list[str]) -> AsyncIterator[str]:
    """Reports while it works."""
    for place in places:
        yield place


def by_hand(query: str) -> str:
    return query


SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS = [bare, weather, order, survey, ss.Tool.from_schema("by_hand", "From a schema", SCHEMA, by_hand)]


class Echo:
    """A provider is whatever has this method."""

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        yield ss.TextDelta(request.messages[-1].text)
        yield ss.Stop("end")


async def last(messages: Sequence[ss.Message], context: RunContext) -> Sequence[ss.Message]:
    return messages[-context.round :]


engines = [
    ss.Engine(model="local"),
    ss.Engine(model="http://127.0.0.1:8080/v1#my-model", tools=TOOLS, system="Be brief.", dialect="auto"),
    ss.Engine(model=Echo(), limits=ss.Limits(per_run=5), settings=ss.Settings(temperature=0.2)),
    ss.Engine(model=Echo(), tools=[order], deps=Shop({})),
    ss.Engine(model=falling_back(retrying("openai:a", retries=2), Echo(), first_token_timeout=10)),
    ss.Engine(model=Echo(), system=lambda context: f"Hello {context.deps}", transform=last),
]


def told(event: ss.AnyEvent) -> str:
    """One `match` over all events; the checker proves that none is missing."""
    match event:
        case ss.Text(text) | ss.Thinking(text):
            assert_type(text, str)
            return text
        case ss.Hidden(raw):
            return raw
        case ss.CallOpened(id, name):
            return id + name
        case ss.CallArgs(id, text) | ss.ToolOutput(id, text):
            return id + text
        case ss.CallClosed(call):
            assert_type(call, ss.ToolCall)
            return call.name
        case ss.CallRejected(_, raw, why):
            return raw + why
        case ss.ApprovalAsked(id, digest):
            return id + digest
        case ss.ToolStarted(id):
            return id
        case ss.ToolFinished(result) | ss.JobFinished(result):
            assert_type(result, ss.ToolResult)
            return result.text
        case ss.Child(_, inner):
            return told(inner)
        case ss.Said(message):
            return message.text
        case ss.RunStarted() | ss.RoundStarted() | ss.ModelChosen() | ss.Compacted() | ss.Retrying():
            return ""
        case ss.Vendor() | ss.Note() | ss.RoundFinished() | ss.RunFinished():
            return ""
        case _:
            assert_never(event)


async def use(engine: ss.Engine) -> None:
    async with engine.run("Weather in Bern?") as run:
        async for stamped in run:
            told(stamped)
        run.send("And in Basel?")
        run.cancel()
    assert_type(run.text, str)
    assert_type(run.answer, str)
    assert_type(run.usage, ss.Usage)
    messages: Sequence[ss.Message] = run.messages
    async with engine.run(list(messages), limits=ss.Limits(rounds=0)):
        pass
    assert_type(await engine.ask("Short?"), str)
    async with engine.run("Weather?", output=Shop) as typed:
        await typed.result()
    assert_type(typed.output, Shop)
    assert_type(await engine.ask("Weather?", output=Shop), Shop)
    async with engine.session("anna") as chat, chat.run("Hello") as run:
        await run.result()


def outside(engine: ss.Engine) -> str:
    return engine.run_sync("Hello")


def read(text: str) -> list[ss.ToolCall]:
    parser = ss.dialects.get("tinyrag", fences="inert").parser(TOOLS)
    events = [*parser.feed(text), *parser.close("end")]
    return [event.call for event in events if isinstance(event, ss.CallClosed)]


def keep(messages: Sequence[ss.Message]) -> list[ss.Message]:
    return ss.load_messages(ss.dump_messages(messages))
