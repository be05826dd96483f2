"""A run's handle: its river of events, its transcript, and the block that bounds its life.

`emit` is a plain call that never waits: it stamps, journals, folds and appends to the river. Only the loop
that pulls the model waits, in `room`, while more than `Limits.river_chars` is unread. Leaving the block, for
any reason, stops the run and returns only when no task is left; what the body raised leaves unwrapped. The
run knows nothing of rounds or tools: `rounds.py` gives it the coroutine to drive.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

from sidestream.errors import UsageError
from sidestream.events import (
    AnyEvent,
    CallArgs,
    CallClosed,
    CallRejected,
    Journal,
    Reason,
    RoundFinished,
    RoundStarted,
    RunFinished,
    Stamped,
    Text,
    Thinking,
    ToolFinished,
    ToolOutput,
)
from sidestream.fold import Fold
from sidestream.gate import Limits
from sidestream.messages import Message, Usage, cleaned, user
from sidestream.output import Output
from sidestream.timeline import svg

__all__ = ["Run", "TypedRun", "Watch"]

T = TypeVar("T")

Watch: TypeAlias = Callable[[Stamped], None]
"""Sees every stamped event as it is emitted: telemetry, metrics."""

_LEAST = 16  # characters that any event counts as in the river


def _weight(event: AnyEvent) -> int:
    match event:
        case Text() | Thinking() | CallArgs() | ToolOutput():
            size = len(event.text)
        case CallClosed():
            size = len(event.call.raw)
        case CallRejected():
            size = len(event.raw)
        case ToolFinished():
            size = len(event.result.text)
        case _:
            size = 0
    return max(size, _LEAST)


class Run:
    """One run. Enter it, read its events, leave it."""

    def __init__(
        self,
        main: Callable[[Run], Awaitable[None]],
        *,
        id: str,
        claim: Callable[[str], None],
        limits: Limits,
        journal: Journal | None = None,
        watch: Sequence[Watch] = (),
        output: Output[Any] | None = None,
    ) -> None:
        self.id = id
        self._wanted = output
        self._claim = claim
        self._main, self._limits, self._journal, self._watch = main, limits, journal, tuple(watch)
        self._fold = Fold()
        self._said: list[list[str]] = []  # the visible text of each round
        self._log: list[Stamped] = []
        self._river: deque[Stamped] = deque()
        self._unread = 0
        self._output: dict[str, list[str]] = {}  # progress that nobody has read yet, past the mark
        self._merged: dict[str, int] = {}  # and how many characters it is
        self._reader: asyncio.Future[None] | None = None
        self._model: asyncio.Future[None] | None = None
        self._draining = False
        self._task: asyncio.Task[None] | None = None
        self._epoch = 0.0
        self._begun = self._cancelled = False
        self._bug: BaseException | None = None
        self._steering: list[Message] = []
        self._interrupted = self._deaf = False
        self.cuttable = False  # a round is going on, which `send(now=True)` may cut
        self._end: RunFinished | None = None

    # ---- what became of it

    @property
    def text(self) -> str:
        """The visible text of all rounds, joined by a blank line."""
        return "\n\n".join(text for text in map("".join, self._said) if text)

    @property
    def answer(self) -> str:
        """The visible text of the last round."""
        return "".join(self._said[-1]) if self._said else ""

    @property
    def messages(self) -> list[Message]:
        """The transcript: what came before the run and what was said in it."""
        return self._fold.messages

    @property
    def events(self) -> list[Stamped]:
        """Every event so far, with its place and time."""
        return list(self._log)

    @property
    def usage(self) -> Usage:
        """The tokens of all rounds so far."""
        finished = (stamped.event for stamped in self._log if isinstance(stamped.event, RoundFinished))
        return sum((event.usage for event in finished if event.usage is not None), Usage())

    @property
    def reason(self) -> Reason | None:
        """Why it ended; None while it goes on."""
        return self._end.reason if self._end else None

    @property
    def error(self) -> str:
        """What failed, where the reason is `provider`, or why there is no `output`."""
        return self._end.error if self._end else ""

    def _repr_html_(self) -> str:
        return svg(self._log)

    # ---- the block

    async def __aenter__(self) -> Self:
        if self._task is not None:
            raise UsageError("a run can be entered once; call engine.run again for another")
        loop = asyncio.get_running_loop()
        self._claim(self.id)
        self._epoch = loop.time()
        self._task = loop.create_task(self._drive(), name=f"run {self.id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()
        again: asyncio.CancelledError | None = None
        patience = self._limits.grace + self._limits.closing + 1
        while self._task is not None and not self._task.done():
            try:
                await asyncio.wait({self._task}, timeout=patience)
                self._task.cancel()  # a provider that will not close is told once more, each time
            except asyncio.CancelledError as cancelled:  # we are being cancelled while we clean up: clean up first
                again = cancelled
        if again is not None:
            raise again
        bug = self._failure()
        if bug is not None and error is None:
            raise bug

    async def _drive(self) -> None:
        self._begun = True
        try:
            await self._main(self)
        finally:
            self._wake(self._reader)

    def _failure(self) -> BaseException | None:
        """What ended the run although it should not have: an error of ours, or of the application's hooks."""
        if self._bug is None and self._task is not None and not self._task.cancelled():
            self._bug = self._task.exception()
        return self._bug

    # ---- events in

    def emit(self, event: AnyEvent) -> None:
        """Take `event` in: stamped, folded, there for the reader, journaled and watched. Never waits; after
        the end nothing is taken in."""
        if self._end is not None:
            return
        if self.full and isinstance(event, ToolOutput):
            self._merge(event)
            return
        if self._output:
            self._release()
        self._place(event)

    def _place(self, event: AnyEvent) -> None:
        stamped = Stamped(len(self._log) + 1, asyncio.get_running_loop().time() - self._epoch, event)
        self._log.append(stamped)
        self._fold.add(event)
        if isinstance(event, Text):
            self._said[-1].append(event.text)
        elif isinstance(event, RoundStarted):
            self._said.append([])
        elif isinstance(event, CallRejected) and not event.native:
            self._said[-1].append(event.raw)
        elif isinstance(event, RunFinished):
            self._end = event
        if not self._draining:
            self._river.append(stamped)
            self._unread += _weight(event)
        self._wake(self._reader)
        if self._journal is not None:
            self._journal.append(self.id, (stamped,))
        for watch in self._watch:
            watch(stamped)

    def _merge(self, event: ToolOutput) -> None:
        """Nobody reads: progress of one call becomes one event, of at most `progress_chars`."""
        pieces = self._output.setdefault(event.id, [])
        size = self._merged.get(event.id, 0)
        if size < self._limits.progress_chars:
            pieces.append(event.text[: self._limits.progress_chars - size])
            self._merged[event.id] = size + len(pieces[-1])

    def _release(self) -> None:
        output, self._output, self._merged = self._output, {}, {}
        for call, pieces in output.items():
            self._place(ToolOutput(call, "".join(pieces)))

    async def room(self) -> None:
        """Wait until no more than `river_chars` is unread."""
        while self.full:
            self._model = asyncio.get_running_loop().create_future()
            await self._model

    @staticmethod
    def _wake(future: asyncio.Future[None] | None) -> None:
        if future is not None and not future.done():
            future.set_result(None)

    # ---- events out

    def __aiter__(self) -> Run:
        return self

    async def __anext__(self) -> AnyEvent:
        return (await self._next()).event

    async def stamped(self) -> AsyncIterator[Stamped]:
        """The same events with their `seq` and `at`."""
        try:
            while True:
                yield await self._next()
        except StopAsyncIteration:
            return

    async def _next(self) -> Stamped:
        if self._task is None:
            raise UsageError("enter the run first: async with engine.run(…) as run")
        while not self._river:
            if self._output:
                self._release()
                continue
            if self._task.done() or self._end is not None:
                await asyncio.wait({self._task})
                if bug := self._failure():
                    raise bug
                raise StopAsyncIteration
            if self._reader is not None and not self._reader.done():
                raise UsageError("a run has one reader; give others `watch` or a journal")
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        stamped = self._river.popleft()
        self._unread -= _weight(stamped.event)
        if self._model is not None and not self.full:
            self._wake(self._model)
        return stamped

    async def result(self) -> Run:
        """Let the run go on to its end without reading it, and give it back."""
        if self._task is None:
            raise UsageError("enter the run first: async with engine.run(…) as run")
        self._draining = True
        self._river.clear()
        self._unread = 0
        self._wake(self._model)
        try:
            await asyncio.wait({self._task})
        finally:
            self._draining = False  # if we are cancelled here, the rest can still be read
        if bug := self._failure():
            raise bug
        return self

    # ---- steering

    def cancel(self) -> None:
        """Stop: the model is closed, open calls are answered `cancelled`, what was said stays."""
        if self._cancelled or self._end is not None:
            return
        self._cancelled = True
        if self._begun and self._task is not None:
            self._task.cancel()

    def abort(self, bug: BaseException) -> None:
        """A hook of the application failed: stop, and raise it where the run is read or left."""
        self._bug = self._bug or bug
        self.cancel()

    def send(self, message: str | Message, *, now: bool = False) -> None:
        """Say something more: it is heard at the next edge between rounds, or at once if `now`: then the
        response is cut, open calls are cancelled, and the model goes on from there."""
        if self._deaf or self._end is not None:
            raise UsageError("the run has ended; start another one in the same session")
        said = user(message) if isinstance(message, str) else message
        if not isinstance(said, Message) or said.role not in ("user", "system"):
            raise UsageError(f"send takes a text, or a Message of a user or the system, got {message!r:.80}")
        self._steering.append(cleaned(said))
        if now and self.cuttable and self._task is not None and not self._cancelled:
            self._interrupted = True
            self._task.cancel()

    def begin(self, before: Sequence[Message]) -> None:
        """The transcript that the run goes on from."""
        self._fold = Fold(before)

    def alive(self) -> None:
        """Raises CancelledError if the run was cancelled before it began."""
        if self._cancelled:
            raise asyncio.CancelledError

    @property
    def trouble(self) -> str:
        """What a hook of the application raised, if one did."""
        return f"{type(self._bug).__name__}: {self._bug}" if self._bug is not None else ""

    @property
    def full(self) -> bool:
        """True while more than `river_chars` is unread."""
        return self._unread > self._limits.river_chars

    def interrupted(self) -> bool:
        """True, once, if the current round was cut by `send(now=True)` and not by `cancel`."""
        was, self._interrupted = self._interrupted, False
        if not was or self._cancelled or self._task is None:
            return False
        self._task.uncancel()
        return True

    def steering(self) -> list[Message]:
        """What `send` was given since the last time."""
        given, self._steering = self._steering, []
        return given

    def deaf(self) -> None:
        """No further round will come: `send` says so from now on."""
        self._deaf = True


class TypedRun(Run, Generic[T]):
    """A run with `output=Model`."""

    @property
    def output(self) -> T:
        """The answer as a `Model`. Raises UsageError before the end, OutputError if there is none."""
        if self._wanted is None or self.reason is None:
            raise UsageError("there is an output once a run with output=Model has ended: await run.result() first")
        found: T = self._wanted.value()
        return found
