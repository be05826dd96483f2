"""The terminal, a door: `sidestream ask`, `chat`, `parse`, `replay` and the rest.

`main` reads the command line, does the command, and gives the exit code: 0 done, 1 failed, 2 wrong usage,
130 interrupted. Promises: a fault of the user's or of the world's is one line on stderr that names the fix,
never a traceback; a reader that goes away ends it in silence.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from sidestream.cli.arguments import parser
from sidestream.errors import SidestreamError, UsageError
from sidestream.timeline import label, printable

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says."""
    try:
        _logging()
        given = parser().parse_args(argv)
        module, _, name = given.target.partition(":")
        command: Callable[[Any], int] = getattr(importlib.import_module(f"sidestream.cli.{module}"), name)
        code = command(given)
        if sys.stdout:  # it may have been closed before we began
            sys.stdout.flush()
    except UsageError as error:
        return _said(error, 2)
    except SidestreamError as error:
        return _said(error, 1)
    except KeyboardInterrupt:
        print(file=sys.stderr)  # after the terminal's own ^C
        return 130
    except BrokenPipeError:  # whoever read us has gone; so that Python's own flush at exit stays silent:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:  # a full disk, most likely: Python's own flush at exit would say it once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        print(f"sidestream: cannot go on: {label(str(error))}", file=sys.stderr)
        return 1
    return code


def _said(error: SidestreamError, code: int) -> int:
    print(f"sidestream: {label(str(error))}", file=sys.stderr)
    return code


class _Shown(logging.Formatter):
    """What a server sent may be in it: it must not reach a terminal as it is."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _logging() -> None:
    level = os.environ.get("SIDESTREAM_LOG", "")
    if level:
        number = logging.getLevelNamesMapping().get(level.upper())
        if number is None:
            raise UsageError(f"SIDESTREAM_LOG={level!r} is no level; use debug, info, warning or error")
        shown = logging.StreamHandler()
        shown.setFormatter(_Shown("%(asctime)s %(name)s %(message)s"))
        logger = logging.getLogger("sidestream")
        logger.addHandler(shown)
        logger.setLevel(number)
