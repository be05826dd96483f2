"""A conversation: the history that one run leaves to the next, one live run at a time.

`History` is what the engine keeps of a session (in memory; with a journal it is read from there first),
`Session` the handle a user holds. A session's history is the fold of its runs in order, so what a cut run
had said by then is in it. It runs nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

from sidestream.dialects import new_nonce
from sidestream.dialects.evidence import words
from sidestream.dialects.inert import Untrusted
from sidestream.errors import UsageError
from sidestream.events import Journal
from sidestream.fold import fold
from sidestream.messages import DataPart, FilePart, Message, TextPart, ToolResult
from sidestream.run import Run

__all__ = ["History", "Session"]


class History:
    """What is known of one session: its transcript, and the untrusted text that was in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.messages: list[Message] = []
        self.untrusted = Untrusted()
        self.nonce = new_nonce()  # what this session's blocks must carry, where they must
        self._live = ""
        self._folded: set[str] = set()  # the runs whose events are in `messages`

    def check(self) -> None:
        """Raises UsageError while a run of this session is going on."""
        if self._live:
            raise UsageError(f"session {self.name!r} has a live run ({self._live}); leave it first, or use run.send")

    def claim(self, run: str) -> None:
        """`run` is the live one from now on. Raises UsageError while there is another."""
        self.check()
        self._live = run

    async def load(self, run: str, journal: Journal | None) -> Sequence[Message]:
        """The transcript that `run` goes on from."""
        if journal is not None and self.name:
            before = len(self.messages)
            for info in await journal.runs(self.name):
                if info.run != run and info.run not in self._folded:
                    stamped = [event async for event in journal.after(info.run, 0)]
                    self.messages = fold(stamped, self.messages)
                    self._folded.add(info.run)
            self.distrust(self.messages[before:])
        self._folded.add(run)
        return self.messages

    def distrust(self, messages: Sequence[Message]) -> None:
        """Remember what users and tools said in these: no block may be taken from it."""
        for message in messages:
            if message.role in ("user", "tool"):
                others = [part for part in message.parts if isinstance(part, TextPart | FilePart | DataPart)]
                self.untrusted.add(words(others))
                for part in message.parts:
                    if isinstance(part, ToolResult):
                        self.untrusted.add(words(part.parts))

    def end(self, messages: list[Message]) -> None:
        """The live run is over and left this transcript."""
        self.messages, self._live = messages, ""


class Session:
    """A conversation of one engine, entered with `async with`. Raises UsageError for a second live run."""

    def __init__(
        self,
        history: History,
        start: Callable[..., Run],
        ask: Callable[..., Any],
        opened: AbstractAsyncContextManager[Any],
    ) -> None:
        self._history, self._start, self._ask, self._opened = history, start, ask, opened

    @property
    def name(self) -> str:
        """The session's name."""
        return self._history.name

    @property
    def messages(self) -> list[Message]:
        """The transcript of all runs that have ended."""
        return list(self._history.messages)

    def run(self, input: str | Message | Sequence[Message], **options: Any) -> Run:
        """The next run; options as of `Engine.run`."""
        return self._start(input, session=self.name, **options)

    async def ask(self, input: str | Message | Sequence[Message], **options: Any) -> str:
        """The answer of the next run. Raises RunError."""
        answer: str = await self._ask(input, session=self.name, **options)
        return answer

    async def __aenter__(self) -> Session:
        await self._opened.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.__aexit__(kind, error, trace)
