"""`sidestream chat`: a conversation. Lines come from a prompt on a terminal, or from a pipe; one turn a line.

Promises: Ctrl-C cuts the answer that is being written and keeps the conversation; at the prompt it leaves.
The history is the session's own, so what a cut answer had said is in it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Iterator

from sidestream.cli.ask import engine_of, honestly
from sidestream.cli.turn import loop_factory, play, stage
from sidestream.events import Stamped, ToolStarted
from sidestream.messages import Message, ToolResult, clean
from sidestream.session import Session
from sidestream.timeline import printable

__all__ = ["chat"]

_HELP = "/history shows the conversation, /quit (or Ctrl-D) leaves"


def _lines() -> Iterator[str]:
    """What is typed, line by line; with editing where the platform has it."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - input() uses it

    print(_HELP)
    while True:
        try:
            yield input("\n> " if sys.stdout.isatty() else "")
        except EOFError:
            print()
            return


def _tools_ran(events: list[Stamped]) -> bool:
    return any(isinstance(stamped.event, ToolStarted) for stamped in events)


def _told(messages: list[Message]) -> str:
    lines = []
    for message in messages:
        said = message.text.strip()
        calls = [f"[{call.name} {call.raw.strip()}]" for call in message.calls]
        results = [f"[{p.status}: {p.text}]" for p in message.parts if isinstance(p, ToolResult)]
        lines.append(f"{message.role}: {' '.join([said, *calls, *results]).strip()}")
    return printable("\n".join(lines)) or "nothing has been said yet"


async def _turn(session: Session, line: str, timelines: bool) -> int:
    return await play(session.run(line), stage(), timeline=lambda events: timelines and _tools_ran(events))


def chat(given: argparse.Namespace) -> int:
    """Do it; the exit code is that of the last turn."""
    session, code = engine_of(given).session("chat"), 0
    if honest := honestly(given.model):
        print(honest, file=sys.stdout if sys.stdout.isatty() else sys.stderr)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(session.__aenter__())
        try:
            for line in _lines():
                match line.strip():
                    case "":
                        continue
                    case "/quit" | "/exit":
                        break
                    case "/history":
                        print(_told(session.messages))
                    case str(word) if word.startswith("/") and word[1:].isalpha():
                        print(f"no command {printable(word)}: {_HELP}", file=sys.stderr)
                    case text:
                        code = runner.run(_turn(session, clean(text), not given.no_timeline))
        finally:
            runner.run(session.__aexit__(None, None, None))
    return code
