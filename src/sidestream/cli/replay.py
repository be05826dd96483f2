"""`sidestream replay`: a recorded run again. What kind of recording it is, its first line says.

A recording of a model (`--record`) is recited to the same engine, and tools run again (`--tools none`: they
do not). The events of a run (`ask --json`) are shown as they stand: nothing runs.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from sidestream.cli.ask import turn
from sidestream.cli.shelf import chosen
from sidestream.cli.turn import Stage, interruptible, looped, stage, ticking, writable, write_picture
from sidestream.codec import decode
from sidestream.engine import Engine
from sidestream.errors import DecodeError, UsageError
from sidestream.events import RunFinished, Stamped
from sidestream.messages import user
from sidestream.providers.script import Script

__all__ = ["replay"]


def _events(path: str) -> list[Stamped] | None:
    """The events in the file; None if it is a recording of a model. Raises UsageError."""
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    if lines and b'"sidestream"' in lines[0]:
        return None
    events = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                stamped = decode(line)
            except DecodeError as error:
                raise UsageError(f"{path}, line {number}: neither a recording nor an event ({error})") from error
            if not isinstance(stamped, Stamped):
                raise UsageError(f"{path}, line {number}: an event without `seq` and `at`; print a run with --json")
            events.append(stamped)
    if not events:
        raise UsageError(f"{path} is empty: there is nothing to replay")
    return events


async def _shown(events: list[Stamped], on: Stage, given: argparse.Namespace) -> int:
    """The events, at their times."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    began = loop.time() - events[0].at

    def stop() -> None:
        on.view.disturbed()
        stopped.set()

    with interruptible(stop):
        async with ticking(on.view, stopped.set):
            for stamped in events:
                wait = 0.0 if given.fast else began + stamped.at - loop.time()
                if wait > 0:
                    try:
                        await asyncio.wait_for(stopped.wait(), wait)
                    except TimeoutError:
                        pass
                if stopped.is_set():
                    break
                await on.view.show(stamped)
    if not given.json and not given.no_timeline:
        on.view.say("\n" + on.drawing(events))
    await on.view.close()
    return 130 if stopped.is_set() else _code(events)


def _code(events: list[Stamped]) -> int:
    reasons = [stamped.event.reason for stamped in events if isinstance(stamped.event, RunFinished)]
    return {"provider": 1, "cancelled": 130}.get(reasons[-1], 0) if reasons else 0


def replay(given: argparse.Namespace) -> int:
    """Do it; the exit code is that of the run."""
    writable(given.timeline)
    events = _events(given.file)
    if events is None:
        script = Script.replay(given.file, 0 if given.fast else 1)
        engine = Engine(script, chosen(given.tools))
        return looped(turn(engine, [user("(a recording)")], stage(json=given.json), given))
    if given.timeline:
        write_picture(given.timeline, events)
    return looped(_shown(events, stage(json=given.json), given))
