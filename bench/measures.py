"""What the bench measures. Each function is one measure and gives rows of the table.

Ours runs through the public face: an `Engine`, a run, its events. Times are wall time against the server's
log; costs are CPU time of this process alone (the server is another one).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import floor

import sidestream as ss

now = time.monotonic
TOOL_SECONDS = 0.6
WIDE = ss.Limits(rounds=50, per_round=500, per_run=5_000, args_chars=4_000_000, block_chars=4_000_000)


class Row(NamedTuple):
    """One line: what, ours, what it is held against, and the budget (`ok` None: there is none)."""

    what: str
    ours: str
    beside: str = ""
    budget: str = ""
    ok: bool | None = None


class Bench:
    """A server to ask, and the tools that note when they begin."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.begun: dict[str, float] = {}
        self.ended: dict[str, float] = {}

        async def slow(key: str, note: str = "") -> str:
            """Takes a while."""
            self.begun[key] = now()
            await asyncio.sleep(TOOL_SECONDS)
            self.ended[key] = now()
            return f"result of {key}"

        async def fast(key: str, note: str = "") -> str:
            """Takes no time."""
            self.begun[key] = now()
            return f"result of {key}"

        self.tools = [ss.tool(slow), ss.tool(fast)]

    def engine(self, plan: str = "-", dialect: str = "native") -> tuple[str, ss.Engine]:
        """A run's name at the server, and an engine that asks under it."""
        run = uuid.uuid4().hex[:8]
        self.begun, self.ended = {}, {}
        url = f"http://127.0.0.1:{self.port}/{run}/{plan}/v1#m"
        return run, ss.Engine(url, self.tools, dialect=dialect, limits=WIDE)

    def log(self, run: str) -> list[tuple[str, float]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{run}/log") as answer:
            return [tuple(line) for line in json.load(answer)]


async def consume(engine: ss.Engine) -> tuple[float, float, list[float]]:
    """One turn: when it began and ended, and when each text was seen."""
    began, seen = now(), []
    async with engine.run("go") as run:
        async for event in run:
            if isinstance(event, ss.Text):
                seen.append(now())
    if run.reason != "done":
        raise SystemExit(f"bench: the run ended with {run.reason}: {run.error}")
    return began, now(), seen


def of(log: list[tuple[str, float]], word: str) -> list[float]:
    return [at for what, at in log if what == word]


def gap(times: list[float]) -> float:
    return max((b - a for a, b in itertools.pairwise(times)), default=0.0)


async def turn(bench: Bench) -> list[Row]:
    """The default turn, three times: total beside ideal, and the longest silence beside the wire's."""
    totals = []
    for _ in range(3):
        run, engine = bench.engine()
        began, ended, seen = await consume(engine)
        log = bench.log(run)
        wholes = [at for what, at in log if what.startswith("whole")]
        (first, second), (end, last) = of(log, "request"), of(log, "end")
        ideal = max(end, *(at + TOOL_SECONDS for at in wholes)) - first + last - second
        lag = [mine - theirs for mine, theirs in zip(seen, of(log, "text"), strict=True)]
        totals.append((ended - began, ideal, gap(seen), gap(of(log, "text")), max(lag)))
    total, ideal, silence, wire, lag = sorted(totals)[1]
    over = (total - ideal) * 1000
    return [
        Row("turn of two 600 ms tools", f"{total * 1000:,.0f} ms", f"ideal {ideal * 1000:,.0f} ms",
            "≤ ideal + 20 ms", over <= 20),
        Row("longest silence of text in it", f"{silence * 1000:.0f} ms", f"wire {wire * 1000:.0f} ms",
            "≤ wire + 10 ms", silence <= wire + 0.01),
        Row("latest text after it left", f"{lag * 1000:.1f} ms"),
    ]  # fmt: skip


async def starts(bench: Bench) -> list[Row]:
    """200 calls, 20 in a response, the last one of each included."""
    rows = []
    for dialect in ("native", "tinyrag"):
        waits = []
        for _ in range(10):
            run, engine = bench.engine(f"calls=20,gap=4,before=5,after=5,tool=fast,format={dialect}", dialect)
            await consume(engine)
            waits += [bench.begun[w[6:]] - at for w, at in bench.log(run) if w.startswith("whole ")]
        waits.sort()
        p50, p99 = statistics.median(waits) * 1000, waits[int(len(waits) * 0.99)] * 1000
        what = f"tool start after its call is whole, {dialect}, {len(waits)} calls"
        rows.append(
            Row(what, f"p50 {p50:.2f}, p99 {p99:.2f} ms", f"worst {waits[-1] * 1000:.2f} ms", "≤ 2, ≤ 5 ms",
                p50 <= 2 and p99 <= 5)
        )  # fmt: skip
    return rows


async def cost(make: Callable[[], Awaitable[Any]], times: int = 3) -> float:
    """CPU seconds of the cheapest of so many."""
    spent = []
    for _ in range(times):
        before = time.process_time()
        await make()
        spent.append(time.process_time() - before)
    return min(spent)


async def chunks(bench: Bench) -> list[Row]:
    """Socket to consumer, beside the floor; and whether it stays the same for long answers."""
    per: dict[int, float] = {}
    for count in (5_000, 20_000):
        plan = f"calls=0,gap=0,before={count}"
        ours = await cost(lambda plan=plan: consume(bench.engine(plan)[1]))
        per[count] = ours / count * 1e6
    bare = await cost(lambda: floor.read(bench.port, "x/calls=0,gap=0,before=5000")) / 5_000 * 1e6
    short, long = per[5_000], per[20_000]
    return [
        Row("a text, socket to consumer", f"{short:.1f} µs CPU", f"floor {bare:.1f} µs: ×{short / bare:.1f}",
            "≤ 15 µs", short <= 15),
        Row("the same in an answer of 20,000", f"{long:.1f} µs CPU", f"×{long / short:.2f}", "≤ ×1.3",
            long <= short * 1.3),
    ]  # fmt: skip


async def argument(bench: Bench) -> list[Row]:
    """One argument of 1 MB in fragments of four characters."""
    size = 1_048_576
    plan = f"calls=1,before=1,after=0,final=1,gap=0,tool=fast,size={size}"
    count = size // 4
    ours = await cost(lambda: consume(bench.engine(plan)[1]), 2)
    bare = await cost(lambda: floor.read(bench.port, f"x/{plan}"), 2)
    small = await cost(lambda: consume(bench.engine(plan.replace(str(size), "65536"))[1]), 2)
    each, bare, first = ours / count * 1e6, bare / count * 1e6, small / (65_536 / 4) * 1e6
    return [
        Row("a fragment of a 1 MB argument", f"{each:.1f} µs CPU", f"floor {bare:.1f} µs: ×{each / bare:.1f}",
            "≤ 15 µs", each <= 15),
        Row("the same beside one of 64 KB", f"×{each / first:.2f}", f"{first:.1f} µs", "≤ ×1.3",
            each <= first * 1.3),
    ]  # fmt: skip


async def crowd(bench: Bench) -> list[Row]:
    """50 and 200 default turns at once in one process."""
    _, engine = bench.engine()
    began, ended, _ = await consume(engine)
    single, rows = ended - began, []
    for count in (50, 200):
        _, engine = bench.engine()
        before = time.process_time()
        async with engine:
            took = sorted(e - b for b, e, _ in await asyncio.gather(*[consume(engine) for _ in range(count)]))
        each = (time.process_time() - before) / count * 1000
        p95 = took[int(count * 0.95)]
        rows.append(
            Row(f"{count} turns at once", f"p95 {p95 * 1000:,.0f} ms, {each:.1f} ms CPU each",
                f"single {single * 1000:,.0f} ms: ×{p95 / single:.2f}", "≤ ×1.10, ≤ 8 ms",
                p95 <= single * 1.1 and each <= 8)
        )  # fmt: skip
    return rows


def feeds(text: str, **options: Any) -> tuple[float, float, int]:
    """Seconds of feeding `text` in 4 characters: all, the worst feed, and how many feeds."""
    pieces = [text[at : at + 4] for at in range(0, len(text), 4)]
    whole, worst = [], []
    for _ in range(3):
        parser = ss.dialects.get("tinyrag", **options).parser([])
        longest, began = 0.0, time.perf_counter()
        for piece in pieces:
            before = time.perf_counter()
            parser.feed(piece)
            longest = max(longest, time.perf_counter() - before)
        parser.close()
        whole.append(time.perf_counter() - began)
        worst.append(longest)
    return min(whole), min(worst), len(pieces)


async def parser(bench: Bench) -> list[Row]:
    """The reader alone, at four characters a feed."""
    prose = "The quick brown fox, a < b, jumps over [the] lazy dog. " * 4_000
    took, worst, count = feeds(prose)
    block = '<tool name="t"><query>' + "abc def " * 131_072 + "</query></tool>"
    took_block, worst_block, _ = feeds(block, block_chars=2_000_000)
    each = took / count * 1e6
    return [
        Row("reader, a chunk of prose", f"{each:.2f} µs", f"worst {worst * 1e6:.0f} µs", "≤ 1 µs", each <= 1),
        Row("reader, a block of 1 MB", f"{took_block * 1000:.0f} ms", f"worst {worst_block * 1000:.2f} ms",
            "≤ 500 ms, ≤ 5 ms", took_block <= 0.5 and worst_block <= 0.005),
    ]  # fmt: skip


def timed(*command: str) -> float:
    """Seconds of the quickest of five, the modules compiled as after any installation."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = os.path.join(tempfile.gettempdir(), "sidestream-bench-pycache")
    spent = []
    for _ in range(6):
        began = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, env=env)
        spent.append(time.perf_counter() - began)
    return min(spent)


async def beginnings(bench: Bench) -> list[Row]:
    """What importing costs, and the command."""
    bare, imported = timed("-c", "pass"), timed("-c", "import sidestream")
    helped = timed("-m", "sidestream", "--help")
    took = (imported - bare) * 1000
    return [
        Row("import sidestream", f"{took:.0f} ms", f"python alone {bare * 1000:.0f} ms", "≤ 80 ms", took <= 80),
        Row("sidestream --help", f"{helped * 1000:.0f} ms", "", "≤ 250 ms", helped <= 0.25),
    ]


MEASURES = {
    "start": starts, "turn": turn, "chunk": chunks, "argument": argument, "crowd": crowd, "parser": parser,
    "import": beginnings,
}  # fmt: skip
