"""What a format's reader costs for each chunk of four characters: one row for each format, a second table.

    python -m bench.formats                       the short selection
    python -m bench.formats --only hermes,glm45   these formats
    python -m bench.formats --all --quick         every format; two sizes, one run each, one long block
    python -m bench.formats --strict              exit code 1 if a budget is missed

A stream of N KB holds 21 calls: the content of one of them is half of it, the other half is prose with the 20
small ones in it. Where a format's calls count only on lines of their own, at the start or in one list, they are
put there: of several layouts the first is taken that, read in one piece, gives most calls back. Times are the
best of three with `gc` off; the worst feed is the largest of each feed's least time in three passes of its own,
so that only what is slow every time counts. Memory is the peak of a run by itself under `tracemalloc`: the
first half MB in four characters, the rest of the 2 MB in pieces of 1,024. A run is given up after 20 s (`inf`).
"""

from __future__ import annotations

import argparse
import gc
import platform
import re
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, repeat
from typing import Any, NamedTuple

import sidestream as ss
from sidestream.events import CallClosed, Text
from sidestream.messages import ToolCall, ToolSpec

SHORT = (
    "tinyrag", "hermes", "qwen3_coder", "glm45", "kimi_k2", "minimax_m2", "kohaku_bracket", "pythonic", "harmony",
)  # fmt: skip
APART = ("native", "openai_delta")  # providers' own calls: no text to search
SIZES = (25, 50, 100, 200)
CALLS, CHUNK, TIMES, REPEATS = 21, 4, 3, 20_000
LONG = 2 * 1_048_576
STALLED = 20.0  # seconds after which a run is given up
WIDE = {"block_chars": 400_000}  # room for the streams
OPEN = {"block_chars": 4_000_000}  # room for an unclosed block: the harder case, nothing ends it before the stream does
WRITE = ToolSpec(
    "write",
    "Write a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
    "content",
)
SENTENCE = "The quick brown fox, a < b, jumps over [1] the lazy dog, and then it goes home. "
LINE = '    total = rows[at] + limits["x"]  # a < b, and kept as it is\n'
FILLER = "a < b, rows[at] and so on; "  # nothing that could close a string or end a line
HERE = "CONTENT"
BEGINS = re.compile("<tool").search

# ---- streams ----------------------------------------------------------------------


def calls_of(size: int) -> list[ToolCall]:
    """The calls of a stream of so many KB: the one in the middle has half of it as its content."""
    calls = []
    for at in range(CALLS):
        content = f"value = {at}"
        if at == CALLS // 2:
            half = size * 512
            content = "start\n" + (LINE * (half // len(LINE) + 1))[: half - 10] + "\nend"
        calls.append(ToolCall(str(at + 1), "write", {"path": f"src/part_{at}.py", "content": content}, ""))
    return calls


def prose_of(chars: int) -> list[str]:
    """About so many characters of whole sentences, as what stands before, between and after the calls."""
    each = max(1, round(chars / (CALLS + 1) / len(SENTENCE)))
    return [SENTENCE * each] * (CALLS + 1)


def woven(prose: list[str], blocks: list[str], before: str, after: str) -> str:
    parts = [f"{text}{before}{block}{after}" for text, block in zip(prose, blocks, strict=False)]
    return "".join(parts) + prose[-1]


def layouts(blocks: list[str], size: int) -> Iterator[tuple[str, str]]:
    """Ways to put the blocks into prose, each with its name."""
    prose = prose_of(size * 1024 - sum(map(len, blocks)))
    rest = "\n" + "".join(prose)
    yield "in prose", woven(prose, blocks, "", "")
    yield "on lines", woven(prose, blocks, "\n", "\n")
    for word, between in (("in a row", ""), ("row of lines", "\n"), ("row by ;", "; ")):
        yield word, between.join(blocks) + rest
        yield f"{word}, last", "".join(prose) + "\n" + between.join(blocks)
    bare = [block.strip() for block in blocks]
    if all(block[0] + block[-1] == "[]" for block in bare):
        whole = "[" + ", ".join(block[1:-1] for block in bare) + "]"
        yield "in one list", whole + rest
        yield "in one list, last", "".join(prose) + "\n" + whole


def shape(call: ToolCall) -> tuple[str, dict[str, Any]]:
    return call.name, call.args


def right(wanted: Sequence[ToolCall], found: Sequence[ToolCall]) -> int:
    """How many of the wanted calls were found as they were meant."""
    left = [shape(call) for call in found]
    count = 0
    for call in wanted:
        if shape(call) in left:
            left.remove(shape(call))
            count += 1
    return count


def read(language: Any, text: str, chunk: int = 0) -> list[ToolCall]:
    """The calls in a text, in one piece or in chunks."""
    parser = language.parser([WRITE])
    events = [event for piece in (pieces(text, chunk) if chunk else [text]) for event in parser.feed(piece)]
    return [event.call for event in (*events, *parser.close()) if isinstance(event, CallClosed)]


def pieces(text: str, chunk: int = CHUNK) -> list[str]:
    return [text[at : at + chunk] for at in range(0, len(text), chunk)]


def blocks_of(language: Any, size: int) -> list[str]:
    return [language.write(call) for call in calls_of(size)]


def layout_for(language: Any) -> str:
    """The layout that gives most calls back (the first of such)."""
    best, most, wanted = "in prose", -1, calls_of(SIZES[0])
    for word, text in layouts(blocks_of(language, SIZES[0]), SIZES[0]):
        count = right(wanted, read(language, text))
        if count > most:
            best, most = word, count
        if count == CALLS:
            break
    return best


def stream(name: str, size: int, layout: str = "") -> str:
    """The stream of a format at so many KB."""
    language = ss.dialects.get(name, **WIDE)
    return dict(layouts(blocks_of(language, size), size))[layout or layout_for(language)]


# ---- measuring --------------------------------------------------------------------


@contextmanager
def quiet() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(parser: Any, fed: Iterator[str]) -> float:
    """Seconds of feeding all and closing; infinite where it stalls."""
    feed = parser.feed
    with quiet():
        began = time.perf_counter()
        while batch := list(islice(fed, 1024)):
            for piece in batch:
                feed(piece)
            if time.perf_counter() - began > STALLED:
                return float("inf")
        parser.close()
        return time.perf_counter() - began


class Floor:
    """The least that a reader can do: it looks whether anything begins here, and says it is text."""

    def feed(self, text: str) -> list[Text]:
        return [] if BEGINS(text) else [Text(text)]

    def close(self) -> list[Text]:
        return []


def per_chunk(language: Any, text: str, times: int) -> float:
    """Microseconds for each chunk, the best of so many runs."""
    fed = pieces(text)
    return min(seconds(language.parser([WRITE]), iter(fed)) for _ in range(times)) / len(fed) * 1e6


def worst_feed(language: Any, text: str, times: int = TIMES) -> float:
    """Milliseconds of the worst single feed (or close), by each one's least time in several passes."""
    fed, now, least = pieces(text), time.perf_counter, []
    for _ in range(times):
        parser, spent = language.parser([WRITE]), []
        with quiet():
            for piece in fed:
                before = now()
                parser.feed(piece)
                spent.append(now() - before)
            before = now()
            parser.close()
            spent.append(now() - before)
        least = [min(pair) for pair in zip(least, spent, strict=True)] if least else spent
    return max(least) * 1000


def heads(language: Any, quick: bool) -> list[str]:
    """Beginnings that nothing closes: a call up to its content, and an opener alone."""
    block = language.write(ToolCall("1", "write", {"path": "a.py", "content": HERE}, ""))
    return [block.partition(HERE)[0], *(() if quick else language.markers[:1])]


def long_text(head: str) -> str:
    return head + FILLER * (LONG // len(FILLER))


def peak(language: Any, head: str) -> float:
    """MB that reading an unclosed block of 2 MB takes at most."""
    text, half = long_text(head), LONG // 4
    fed = [*pieces(text[:half]), *pieces(text[half:], 1024)]
    parser = language.parser([WRITE])
    tracemalloc.start()
    for piece in fed:
        parser.feed(piece)
    parser.close()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1_048_576


def openers(language: Any) -> float:
    """Seconds for 20,000 of one opener after another; the worst of them."""
    return max(
        (seconds(language.parser([WRITE]), iter(pieces(marker * REPEATS))) for marker in language.markers),
        default=0.0,
    )


# ---- the table --------------------------------------------------------------------


class Cost(NamedTuple):
    """One format's row, unformatted; `note` is the layout, or why there are no numbers."""

    name: str
    each: dict[int, float] = {}
    worst: float = 0
    calls: int = 0
    unclosed: float = 0
    memory: float = 0
    repeated: float = 0
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.each[max(self.each)] / self.each[min(self.each)]

    def missed(self) -> list[str]:
        """The budgets it misses, by column."""
        if not self.each:
            return ["no numbers"]
        held = {
            "µs": self.each[max(self.each)] <= 1, "ratio": self.ratio <= 1.3, "worst": self.worst <= 2,
            "calls": self.calls == CALLS, "2 MB": self.unclosed < 1, "memory": self.memory < 8,
            "openers": self.repeated < 1,
        }  # fmt: skip
        return [word for word, ok in held.items() if not ok]

    def cells(self) -> list[str]:
        if not self.each:
            return [self.name, *repeat("-", len(SIZES) + 6), self.note]
        marks = self.missed()
        numbers = {
            "ratio": f"×{self.ratio:.2f}", "worst": f"{self.worst:.2f} ms", "calls": f"{self.calls} of {CALLS}",
            "2 MB": f"{self.unclosed:.2f} s", "memory": f"{self.memory:.1f} MB", "openers": f"{self.repeated:.2f} s",
        }  # fmt: skip
        sizes = [shown(self.each.get(size), last=size == SIZES[-1]) for size in SIZES]
        return [self.name, *sizes, *(text + "!" * (word in marks) for word, text in numbers.items()), self.note]


def shown(each: float | None, *, last: bool) -> str:
    """The budget is for the longest stream; in shorter ones calls stand closer."""
    return "-" if each is None else f"{each:.2f}" + "!" * (last and each > 1)


def measured(name: str, quick: bool = False) -> Cost:
    """The row of one format. What fails costs only its own row."""
    try:
        return costs(name, quick)
    except Exception as error:
        return Cost(name, note=f"{type(error).__name__}: {error}"[:60])


def costs(name: str, quick: bool) -> Cost:
    language, wide = ss.dialects.get(name, **WIDE), ss.dialects.get(name, **OPEN)
    layout, times = layout_for(language), 1 if quick else TIMES
    sizes = (SIZES[0], SIZES[-1]) if quick else SIZES
    streams = {size: stream(name, size, layout) for size in sizes}
    last, begun = streams[sizes[-1]], heads(language, quick)
    each = {size: per_chunk(language, text, times) for size, text in streams.items()}
    if max(each.values()) == float("inf"):
        return Cost(name, note=f"gave up after {STALLED:.0f} s")
    calls, at_once = (right(calls_of(sizes[-1]), read(language, last, chunk)) for chunk in (CHUNK, 0))
    unclosed = max(seconds(wide.parser([WRITE]), iter(pieces(long_text(head)))) for head in begun)
    return Cost(
        name,
        each,
        worst_feed(language, last),
        calls,
        unclosed,
        peak(wide, begun[0]) if unclosed < STALLED else unclosed,
        openers(language),
        layout + f"; in one piece {at_once} of {CALLS}" * (at_once != calls),
    )


HEADS = [
    "format", *(f"{size} KB" for size in SIZES), "200:25", "worst feed", "calls", "2 MB unclosed", "its memory",
    "20,000 openers", "layout",
]  # fmt: skip
BUDGET = ["budget", *repeat("", len(SIZES) - 1), "≤ 1 µs", "≤ ×1.3", "≤ 2 ms", "all", "< 1 s", "< 8 MB", "< 1 s", ""]


def grid(lines: list[list[str]]) -> str:
    """Lines of cells under their heads, in columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([rows[0], "-" * max(map(len, rows)), *rows[1:]])


def table(rows: Sequence[Cost]) -> str:
    """The table, and what missed its budget."""
    missed = [f"{row.name} ({', '.join(marks)})" for row in rows if (marks := row.missed())]
    end = f"\nmissed (!): {'; '.join(missed)}" if missed else ""
    lines = grid([HEADS, BUDGET, *(row.cells() for row in rows)])
    fed = pieces("".join(prose_of(SIZES[-1] * 1024)))
    least = min(seconds(Floor(), iter(fed)) for _ in range(TIMES)) / len(fed) * 1e6
    return f"a reader alone, µs for a chunk of {CHUNK} characters; the floor is {least:.2f} µs\n\n{lines}{end}"


def section(wanted: Sequence[str] = (), quick: bool = False) -> list[Cost]:
    """The rows of these formats (of the short selection where none is named)."""
    rows = []
    for name in wanted or [name for name in SHORT if name in ss.dialects.names()]:
        print(f"measuring: {name}", file=sys.stderr)
        rows.append(measured(name, quick))
    return rows


def every() -> list[str]:
    return [name for name in ss.dialects.names() if name not in APART]


def main() -> int:
    options = argparse.ArgumentParser(description="what reading a format costs, one table")
    options.add_argument("--only", default="", metavar="NAMES", help="these formats, separated by commas")
    options.add_argument("--all", action="store_true", help="every format")
    options.add_argument("--quick", action="store_true", help="two sizes, one run each")
    options.add_argument("--strict", action="store_true", help="exit code 1 if a budget is missed")
    given = options.parse_args()
    wanted = [name.strip() for name in given.only.split(",") if name.strip()] or (every() if given.all else [])
    if unknown := [name for name in wanted if name not in every()]:
        options.error(f"no format {unknown[0]!r}; there are {', '.join(every())}")
    rows = section(wanted, given.quick)
    print(f"Python {platform.python_version()}, {platform.machine()}\n")
    print(table(rows))
    return int(given.strict and any(row.missed() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
