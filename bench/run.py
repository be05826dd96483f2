"""The bench: one command, one table, and a second one of the formats' readers. A missed budget is named at
the end; with `--strict` it is exit code 1.

    python bench/run.py                    everything, about three minutes
    python bench/run.py chunk parser       only these measures
    python bench/run.py formats --all      the readers of every format; without `--all`, a short selection
    python bench/run.py --strict           exit code 1 if a budget is missed

Peers are measured beside us when `PEERS` names them: `PEERS="name=PYTHON …"` runs `peer_NAME.py` of the
folder `PEERS_DIR` with that Python, one after the other, against the `fake_llm.py` in the same folder. Such a
script takes `--mode latency|throughput --port N` and prints one line of JSON. A peer that fails costs only
its own row.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import formats
from measures import MEASURES, Bench, Row
from peers import rows_of_peers

HERE = Path(__file__).resolve().parent
FORMATS = "formats"


@contextmanager
def server(script: Path, *arguments: str) -> Iterator[str]:
    """The first line that a server process says, while it runs."""
    command = [sys.executable, str(script), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.terminate()


def table(rows: list[Row]) -> str:
    heads = Row("measure", "sidestream", "beside", "budget")
    shown = [[*row[:4], {True: "ok", False: "MISSED", None: ""}[row.ok]] for row in (heads, *rows)]
    widths = [max(len(line[at]) for line in shown) for at in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in shown]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def measured(wanted: list[str]) -> list[Row]:
    rows: list[Row] = []
    with server(HERE / "server.py") as port:
        for name in wanted:
            print(f"measuring: {name}", file=sys.stderr)
            rows += asyncio.run(MEASURES[name](Bench(int(port))))
    if named := os.environ.get("PEERS"):
        rows += rows_of_peers(named, os.environ.get("PEERS_DIR", ""))
    return rows


def main() -> int:
    known = [*MEASURES, FORMATS]
    options = argparse.ArgumentParser(description="the numbers, one table; the readers of formats, another")
    options.add_argument("measures", nargs="*", metavar="MEASURE", help=f"of {', '.join(known)}")
    options.add_argument("--all", action="store_true", help="the readers of every format, not of a few")
    options.add_argument("--strict", action="store_true", help="exit code 1 if a budget is missed")
    given = options.parse_args()
    wanted = given.measures or known
    if unknown := [name for name in wanted if name not in known]:
        options.error(f"no measure {unknown[0]!r}; there are {', '.join(known)}")
    warnings.simplefilter("ignore")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    missed = False
    if numbers := [name for name in wanted if name != FORMATS]:
        rows = measured(numbers)
        print(f"\n{table(rows)}")
        if late := [row for row in rows if row.ok is False]:
            print(f"\nmissed:\n{table(late)}\non a busy machine, run it again")
        missed = bool(late)
    if FORMATS in wanted:
        costs = formats.section(formats.every() if given.all else ())
        print(f"\n{formats.table(costs)}")
        missed = missed or any(cost.missed() for cost in costs)
    return int(given.strict and missed)


if __name__ == "__main__":
    sys.exit(main())
