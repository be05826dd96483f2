"""One run on one view: what `ask`, `chat`, `replay` and `demo` share. Ctrl-C ends it politely, twice at once.

`stage` chooses the view for where output goes; `play` shows a run to its end and draws its timeline;
`looped` runs a coroutine on the fastest loop there is. Promises: the run is left whatever happens; what was
said stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sidestream.cli.cards import PLAIN, UNICODE, Ink
from sidestream.cli.pen import Pen
from sidestream.cli.views import Lines, Live, Plain, View
from sidestream.errors import UsageError
from sidestream.events import Stamped
from sidestream.run import Run
from sidestream.timeline import Timeline, label, svg

__all__ = [
    "Stage",
    "interruptible",
    "loop_factory",
    "looped",
    "play",
    "stage",
    "ticking",
    "writable",
    "write_picture",
]

_TICK = 0.1
_INTERRUPTED = 130


def size() -> tuple[int, int]:
    """Columns and rows of the terminal."""
    found = shutil.get_terminal_size()
    return max(20, found.columns), max(4, found.lines)


class Stage(NamedTuple):
    """A view, and what it can show."""

    view: View
    color: bool
    unicode: bool
    json: bool
    live: bool

    def drawing(self, events: list[Stamped]) -> str:
        """The timeline of these events, as this stage can show it."""
        width = min(size()[0] - 1, 110) if self.live else 100
        return Timeline.of(events).text(width, self.color, ascii_only=not self.unicode)


def _unicode(file: TextIO) -> bool:
    return (getattr(file, "encoding", None) or "").lower().replace("-", "") in ("utf8", "utf8sig")


def _one_file() -> bool:
    """True if output and errors end in the same place."""
    try:
        out, err = os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):  # no real file
        return False
    return (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)


def stage(*, json: bool = False) -> Stage:
    """The view for this output: JSON if asked, live on a terminal, else plain."""
    unicode = _unicode(sys.stdout)
    marks = UNICODE if unicode else PLAIN
    terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    logged = bool(os.environ.get("SIDESTREAM_LOG")) and sys.stderr.isatty()
    color = terminal and not os.environ.get("NO_COLOR")
    if json:
        return Stage(Lines(Pen(sys.stdout)), False, unicode, True, False)
    if terminal and not logged:
        ink = Ink.colored() if color else Ink()
        return Stage(Live(Pen(sys.stdout), size, time.monotonic, marks, ink), color, unicode, False, True)
    return Stage(Plain(Pen(sys.stdout), Pen(sys.stderr), marks, one=_one_file()), False, unicode, False, False)


@contextlib.contextmanager
def interruptible(cancel: Callable[[], None]) -> Iterator[None]:
    """Inside, the first Ctrl-C calls `cancel`, the second ends the program at once."""
    loop, asked = asyncio.get_running_loop(), 0

    def interrupted() -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            cancel()
        else:
            if sys.stdout.isatty():
                with contextlib.suppress(OSError):
                    os.write(sys.stdout.fileno(), b"\x1b[J\x1b[0m\r\n")
            os._exit(_INTERRUPTED)

    try:
        loop.add_signal_handler(signal.SIGINT, interrupted)
    except (NotImplementedError, RuntimeError, ValueError):  # not a main thread, or a system without
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextlib.asynccontextmanager
async def ticking(view: View, stop: Callable[[], None]) -> AsyncIterator[None]:
    """Inside, the view is told of time that passes, and `stop` called once nobody looks any more."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(_TICK)
            view.tick()
            if view.gone:
                stop()
                return

    task = asyncio.create_task(tick(), name="clock of the view")
    try:
        yield
    finally:
        task.cancel()


async def play(run: Run, on: Stage, *, timeline: Callable[[list[Stamped]], bool] = bool) -> int:
    """Show `run` to its end, then its timeline if `timeline(events)` says so. Gives the exit code. Raises
    BrokenPipeError if nobody looks any more."""
    view = on.view

    def cancel() -> None:
        view.disturbed()
        run.cancel()

    with interruptible(cancel):
        async with run, ticking(view, run.cancel):
            async for stamped in run.stamped():
                await view.show(stamped)
    if not on.json and run.reason != "provider" and timeline(run.events):
        view.say("\n" + on.drawing(run.events))
    await view.close()
    if run.reason == "provider":
        print(f"sidestream: no answer: {label(run.error)}", file=sys.stderr)
        return 1
    return _INTERRUPTED if run.reason == "cancelled" else 0


def write_picture(path: str, events: list[Stamped]) -> None:
    """The run's timeline as SVG. Raises UsageError if it cannot be written."""
    try:
        Path(path).write_text(svg(events), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def writable(path: str) -> None:
    """Raises UsageError, before anything is done, if no picture could be written there."""
    if path and Path(path).is_dir():
        raise UsageError(f"cannot write {path}: it is a folder; name a file in it, such as {path.rstrip('/')}/turn.svg")
    folder = Path(path).absolute().parent
    if path and not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: {folder} is no folder that can be written to")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, if it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


def looped(main: Coroutine[Any, Any, int]) -> int:
    """Run `main` and give what it gives."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)
