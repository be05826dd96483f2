"""A tool called as the crew calls it, on a loop of its own."""

import asyncio
from typing import Any, NamedTuple

import pytest

from sidestream.messages import ToolCall, ToolResult
from sidestream.tools.tool import CallInfo, Context, Tool


class Answer(NamedTuple):
    result: ToolResult
    said: list[str]
    notes: list[tuple[str, Any]]


async def acall(one: Tool, args: dict[str, Any], deps: Any = None) -> Answer:
    said: list[str] = []
    notes: list[tuple[str, Any]] = []
    info = CallInfo("run", "session", "1.1", "run/1.1", 0.0)
    ctx = Context(info, deps, said.append, lambda name, data: notes.append((name, data)))
    result = await one(ToolCall("1.1", one.spec.name, args, ""), ctx)
    return Answer(result, said, notes)


@pytest.fixture
def call():
    """`call(tool, **args)`: its answer."""
    return lambda one, /, **args: asyncio.run(acall(one, args))


@pytest.fixture
def calling():
    """The same as a coroutine, for a loop that the test runs: `await calling(tool, args, deps)`."""
    return acall
