"""Where tools come from: those given by hand, then ordered sources; the first to claim a name has it.

A source is anything that can be entered to give tools: plugins, servers, other machines. Promises: two tools
given by hand under one name are refused at once; no source takes a name from them; a source that fails costs
only its own tools, a tool without a usable name only itself, and what went wrong is in `failed`; sources are
closed in reverse order, also when a run is cancelled. It will not run tools.

One of the few places with a broad catch, named in tests/test_house.py: what a stranger's source raises must not end
a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, NamedTuple, Protocol, TypeAlias

from sidestream.errors import UsageError
from sidestream.messages import ToolSpec
from sidestream.tools.output import failure
from sidestream.tools.tool import AnyTool, named, tool

__all__ = ["Fetched", "Shelf", "Shelvable", "ToolSource"]


class ToolSource(Protocol):
    """Tools that must be fetched: entered for a run, closed with it."""

    async def __aenter__(self) -> Sequence[AnyTool]: ...

    async def __aexit__(self, kind: Any, error: Any, trace: Any, /) -> object: ...


Shelvable: TypeAlias = AnyTool | ToolSource | Callable[..., Any]
"""What can be put on a shelf: a tool, a source, or a function to make a tool of."""


class Fetched(NamedTuple):
    """One opening of a shelf: the tools by name, and each source that failed with what it said."""

    tools: Mapping[str, AnyTool]
    failed: Sequence[tuple[str, str]]

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools' specs by name: the same text in every request, which providers cache."""
        return tuple(one.spec for _, one in sorted(self.tools.items()))


class Shelf:
    """Tools and sources, for any number of runs: `open` is one run's use of it. Raises UsageError."""

    def __init__(self, items: Iterable[Shelvable]) -> None:
        if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
            raise UsageError(f"tools must be a list, not {items!r}")
        self._tools: dict[str, AnyTool] = {}
        self._sources: list[ToolSource] = []
        for item in items:
            self._put(item)

    def _put(self, item: Any) -> None:
        if isinstance(item, type):
            raise UsageError(f"{item.__name__} is a class; give an instance of it")
        if hasattr(item, "__aenter__") and hasattr(item, "__aexit__"):
            self._sources.append(item)
            return
        if not hasattr(item, "spec"):
            if not callable(item):
                raise UsageError(f"not a tool, a source or a function: {str(item)[:80]!r}")
            item = tool(item)
        name = _name(item)
        if name in self._tools:
            raise UsageError(f"two tools are named {name!r}; give one another with @tool(name=…)")
        self._tools[name] = item

    def open(self) -> _Opening:
        """The tools, for the length of an `async with`: gives `Fetched`."""
        return _Opening(self._tools, self._sources)


class _Opening:
    """Sources entered, and left in reverse."""

    def __init__(self, tools: Mapping[str, AnyTool], sources: Sequence[ToolSource]) -> None:
        self._sources, self._stack = sources, AsyncExitStack()
        self._fetched = dict(tools)
        self._failed: list[tuple[str, str]] = []

    async def __aenter__(self) -> Fetched:
        try:
            for source in self._sources:
                self._claim(source, await self._enter(source))
        except BaseException:  # we are cancelled
            await self._stack.aclose()
            raise
        return Fetched(self._fetched, self._failed)

    async def _enter(self, source: ToolSource) -> Any:
        try:
            found = await source.__aenter__()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._fail(source, error)
        except (Exception, SystemExit, GeneratorExit) as error:
            self._fail(source, error)
        else:
            self._stack.push_async_exit(_Leaving(source, self._fail).leave)
            return found
        return ()

    def _claim(self, source: ToolSource, found: Any) -> None:
        """The tools whose names are free; a stranger may give anything."""
        try:
            for one in found:
                try:
                    self._fetched.setdefault(_name(one), one)
                except Exception as error:
                    self._fail(source, error)
        except Exception as error:
            self._fail(source, error)

    def _fail(self, source: ToolSource, error: BaseException) -> None:
        name = getattr(source, "name", "")
        told = failure(error, "show")
        text = " ".join(getattr(part, "text", "") for part in told)
        self._failed.append((name if isinstance(name, str) and name else type(source).__name__, text))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)


class _Leaving:
    """A source's way out: it may fail, and it may not swallow what ended the run."""

    def __init__(self, source: ToolSource, fail: Callable[[ToolSource, BaseException], None]) -> None:
        self._source, self._fail = source, fail

    async def leave(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._source.__aexit__(kind, error, trace)
        except asyncio.CancelledError as cancelled:
            task = asyncio.current_task()
            if cancelled is error or (task is not None and task.cancelling()):
                raise
            self._fail(self._source, cancelled)
        except (Exception, SystemExit, GeneratorExit) as failed:
            if failed is not error:
                self._fail(self._source, failed)


def _name(item: Any) -> str:
    """The name of what calls itself a tool. Raises UsageError."""
    spec, traits = getattr(item, "spec", None), getattr(item, "traits", None)
    if not isinstance(spec, ToolSpec) or traits is None or not callable(item):
        raise UsageError(f"not a tool: {type(item).__name__!r} must have spec and traits, and be callable")
    return named(spec.name)
