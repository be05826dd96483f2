"""Runs admitted calls: a task each, its deadline, its hooks, its answer. Every call is answered once.

`start` begins a tool within one loop turn, `answer` gives a call that does not run its result, `settle`
waits for all, `cancel` answers what is open at once, `leave` waits for what will not stop and counts what
was abandoned. A deadline is kept from outside the tool's own task, so a tool that swallows cancellation
cannot hold it. The crew decides nothing about admission and nothing about rounds.

One of the few places with a broad catch, named in tests/test_house.py: what a stranger's tool raises becomes its
result.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias, get_args

import msgspec

from sidestream.codec import encode
from sidestream.errors import UsageError
from sidestream.events import AnyEvent, Note, ToolFinished, ToolOutput, ToolStarted
from sidestream.gate import Limits, Refusal
from sidestream.messages import Status, TextPart, ToolCall, ToolResult, clean
from sidestream.tools.output import bounded, failure, parts_of
from sidestream.tools.threads import running_threads
from sidestream.tools.tool import AnyTool, CallInfo, Context

__all__ = ["After", "Before", "Crew"]

Before: TypeAlias = Callable[[ToolCall], Awaitable[ToolCall | str]]
"""A hook before a tool runs: the call to run, or a string that refuses it."""
After: TypeAlias = Callable[[ToolResult], Awaitable[ToolResult]]
"""A hook after a tool ran: the result to give (redaction)."""


_STATUSES = frozenset(get_args(Status))


class _Job(NamedTuple):
    """One call on its way: `tool` is the task of the tool itself, `watch` the one that answers."""

    call: ToolCall
    tool: asyncio.Task[ToolResult]
    watch: asyncio.Task[None]


class Crew:
    """The tools of one run. `emit` takes events at once; `barrier` returns when they are safe (None: nothing is
    kept, so there is nothing to wait for); `broken` is called with what a hook of ours raised."""

    def __init__(
        self,
        *,
        run: str,
        session: str,
        emit: Callable[[AnyEvent], None],
        limits: Limits,
        deps: Any = None,
        before: Before | None = None,
        after: After | None = None,
        barrier: Callable[[], Awaitable[None]] | None = None,
        broken: Callable[[BaseException], None],
    ) -> None:
        self._run, self._session, self._told, self._limits, self._deps = run, session, emit, limits, deps
        self._before, self._after, self._barrier, self._broken = before, after, barrier, broken
        self._jobs: dict[str, _Job] = {}
        self._waiting: dict[str, list[ToolCall]] = {}  # first call → the calls that repeat it
        self._results: dict[str, ToolResult] = {}
        self._leaving: dict[asyncio.Task[ToolResult], str] = {}  # → the call it was for

    def start(self, call: ToolCall, tool: AnyTool) -> None:
        """Run an admitted call beside whatever else is going on."""
        loop = asyncio.get_running_loop()
        traits = tool.traits
        seconds = self._limits.tool_timeout if traits.timeout is None else traits.timeout
        began = loop.time()
        self._emit(ToolStarted(call.id))
        info = CallInfo(self._run, self._session, call.id, f"{self._run}/{call.id}", began + seconds)
        own = ToolCall(call.id, call.name, copy.deepcopy(call.args), call.raw, call.wire)  # theirs to change
        work = self._work(own, tool, Context(info, self._deps, self._say_of(call.id), self._note_of(call.id)))
        inner = loop.create_task(work, name=f"tool {call.name} {call.id}")
        watch = loop.create_task(self._watch(call, inner, began, seconds), name=f"watch {call.id}")
        self._jobs[call.id] = _Job(call, inner, watch)

    def answer(self, call: ToolCall, refusal: Refusal) -> None:
        """Answer a call that does not run: at once, or as soon as the call it repeats has its result."""
        if refusal.first in self._jobs:
            self._waiting.setdefault(refusal.first, []).append(call)
        elif refusal.first:
            self._repeat(call, self._results[refusal.first])
        else:
            self._finish(_said(call.id, refusal.status, refusal.why))

    @property
    def busy(self) -> bool:
        """True while a call is open."""
        return bool(self._jobs)

    async def settle(self) -> None:
        """Wait until every call is answered."""
        while self._jobs:
            await asyncio.wait([job.watch for job in self._jobs.values()])

    def cancel(self) -> None:
        """Answer every open call `cancelled`, now; the tools are told, and not waited for."""
        for job in list(self._jobs.values()):
            job.watch.cancel()
            self._stop(job)
            del self._jobs[job.call.id]
            self._finish(_said(job.call.id, "cancelled", "The call was cancelled."))

    async def leave(self) -> None:
        """Wait up to `grace` for tools that were told to stop; count those that did not in a `Note`."""
        self.cancel()
        loop = asyncio.get_running_loop()
        until = loop.time() + self._limits.grace
        if self._leaving:
            await asyncio.wait(list(self._leaving), timeout=self._limits.grace)
        threads = await running_threads(f"{self._run}/", until - loop.time())
        calls = {*self._leaving.values(), *(label.removeprefix(f"{self._run}/") for label in threads)}
        if calls:
            self._emit(Note("abandoned", {"calls": sorted(calls)}))

    # ---- one call

    async def _work(self, call: ToolCall, tool: AnyTool, ctx: Context[Any]) -> ToolResult:
        """The tool itself, between its hooks; gives a result whatever the tool does."""
        if self._barrier is not None and not (tool.traits.read_only or tool.traits.idempotent):
            await self._barrier()
        if self._before is not None:
            changed = await self._before(call)
            if isinstance(changed, str):
                return _said(call.id, "refused", changed)
            if not isinstance(changed, ToolCall):
                raise UsageError(f"the hook `before` must return a ToolCall or a text, got {changed!r}")
            call = changed
        result = await self._guarded(call, tool, ctx)
        if self._after is None:
            return result
        result = await self._after(result)
        if not isinstance(result, ToolResult):
            raise UsageError(f"the hook `after` must return a ToolResult, got {result!r}")
        return ToolResult(call.id, result.status, bounded(parts_of(result.parts), self._most(tool)))

    def _most(self, tool: AnyTool) -> int:
        return self._limits.result_chars if tool.traits.max_output is None else tool.traits.max_output

    async def _guarded(self, call: ToolCall, tool: AnyTool, ctx: Context[Any]) -> ToolResult:
        most = self._most(tool)
        try:
            value = await tool(call, ctx)
            if isinstance(value, ToolResult):
                if value.status not in _STATUSES:
                    raise ValueError(f"the tool gave a result with the status {value.status!r}")
                return ToolResult(call.id, value.status, bounded(parts_of(value.parts), most))
            return ToolResult(call.id, "ok", bounded(parts_of(value), most))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return _said(call.id, "error", "The tool cancelled itself.")
        except BaseException as error:
            return ToolResult(call.id, "error", bounded(failure(error, tool.traits.errors), most))

    async def _watch(self, call: ToolCall, inner: asyncio.Task[ToolResult], began: float, seconds: float) -> None:
        """Answer the call when its tool ends or its time is up."""
        done, _ = await asyncio.wait({inner}, timeout=seconds)
        took = asyncio.get_running_loop().time() - began
        job = self._jobs.pop(call.id)
        if not done:
            self._stop(job)
            result = _said(call.id, "timeout", f"The tool took longer than {seconds:g} s and was stopped.")
        elif inner.cancelled():
            result = _said(call.id, "cancelled", "The tool's task was cancelled.")
        elif (bug := inner.exception()) is not None:
            result = _said(call.id, "error", "A hook of this application failed.")
            self._broken(bug)
        else:
            result = inner.result()
        self._finish(ToolResult(call.id, result.status, result.parts, round(took, 6)))

    def _finish(self, result: ToolResult) -> None:
        self._results[result.call] = result
        self._emit(ToolFinished(result))
        for call in self._waiting.pop(result.call, ()):
            self._repeat(call, result)

    def _repeat(self, call: ToolCall, first: ToolResult) -> None:
        self._finish(ToolResult(call.id, "duplicate", first.parts))

    def _stop(self, job: _Job) -> None:
        if not job.tool.done():
            job.tool.cancel()
            self._leaving[job.tool] = job.call.id
            job.tool.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[ToolResult]) -> None:
        self._leaving.pop(task, None)
        if not task.cancelled():
            task.exception()  # it was answered long ago; nobody is left to hear of it

    def _emit(self, event: AnyEvent) -> None:
        """Tell of it. What a watch or a journal raises is a bug of the application's, never of the tool's."""
        try:
            self._told(event)
        except BaseException as bug:
            self._broken(bug)

    def _say_of(self, call: str) -> Callable[[str], None]:
        def say(text: str) -> None:
            if call in self._jobs:  # an answered call says no more
                self._emit(ToolOutput(call, clean(str(text))))

        return say

    def _note_of(self, call: str) -> Callable[[str, Any], None]:
        def note(name: str, data: Any) -> None:
            if call in self._jobs:
                self._emit(Note(clean(str(name)), msgspec.json.decode(encode(data))))

        return note


def _said(call: str, status: Status, text: str) -> ToolResult:
    return ToolResult(call, status, (TextPart(clean(text)),))
