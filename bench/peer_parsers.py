"""Other people's stream parsers on the streams of `formats.py`, beside our readers.

    python -m bench.peer_parsers --install        makes build/peer-parsers, a virtual environment of their own
    python -m bench.peer_parsers                  the table; about a minute, for some take quadratic time
    python -m bench.peer_parsers --only hermes    only the peers of these names

They are KohakuTerrarium's parser of its bracket format and SGLang's detectors (the package `llm-router-utils`),
each with only what its modules need to import. They never run in this process: a child with their Python reads
a stream as JSON and says what it took and which calls it found. Streams are fed in four characters, as a proxy
or a slow line cuts them; `whole tokens` is the same with each special token in one piece, as an engine sends
it. A run is given up after 20 seconds. What cannot be installed or imported costs only its own row.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import re
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

if "--child" not in sys.argv:  # a child has their Python, and no module of ours
    from bench import formats

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "build" / "peer-parsers"
PYTHON = HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
ALONE = ("KohakuTerrarium==2.1.8", "llm-router-utils==0.8.1")  # without what they ask for
NEEDED = ("pydantic", "openai==2.6.1", "orjson", "partial_json_parser")  # what their parsers import
SIZES = (25, 50)
CAP = 20.0  # seconds for one run
TOKEN = re.compile(r"<\|\w+\|>|</?[\w:]+>|<function=\w+>|<parameter=\w+>|\[/\w+\]|\[\w+/\]")


class Peer(NamedTuple):
    """Whose parser, its name there, and the format it reads here."""

    of: str
    name: str
    format: str

    def __str__(self) -> str:
        return f"{self.of} {self.name}"


PEERS = (
    Peer("SGLang", "hermes", "hermes"),
    Peer("SGLang", "qwen25", "hermes"),
    Peer("SGLang", "glm45", "glm45"),
    Peer("SGLang", "qwen3_coder", "qwen3_coder"),
    Peer("SGLang", "kimi_k2", "kimi_k2"),
    Peer("SGLang", "minimax-m2", "minimax_m2"),
    Peer("KohakuTerrarium", "bracket", "kohaku_bracket"),
)

# ---- the child: theirs, and no module of ours --------------------------------------

Call = tuple[str, str]  # a name, and arguments as JSON
Feed = Callable[[str], Any]


def sglang(name: str, tool: dict[str, Any]) -> tuple[Feed, Feed, Callable[[], list[Call]]]:
    """Its feed, its close, and what it found so far."""
    from llm_router_utils.sglang.srt.entrypoints.openai.protocol import Tool
    from llm_router_utils.sglang.srt.function_call.function_call_parser import FunctionCallParser

    parser = FunctionCallParser([Tool(type="function", function=tool)], name)
    items: list[Any] = []

    def feed(text: str) -> None:
        items.extend(parser.parse_stream_chunk(text)[1])

    def close(text: str) -> None:
        items.extend(parser.parse_stream_end()[1])

    def found() -> list[Call]:
        calls: list[list[Any]] = []  # index, name, arguments; a name begins a call
        for item in items:
            if item.name:
                calls.append([item.tool_index, item.name, ""])
            for call in reversed(calls):
                if call[0] == item.tool_index:
                    call[2] += item.parameters or ""
                    break
        return [(call[1], call[2]) for call in calls]

    return feed, close, found


def kohaku(name: str, tool: dict[str, Any]) -> tuple[Feed, Feed, Callable[[], list[Call]]]:
    """Its feed, its close, and what it found so far."""
    from kohakuterrarium.parsing import ParserConfig, StreamParser, extract_tool_calls

    parser = StreamParser(ParserConfig(known_tools={tool["name"]}))
    events: list[Any] = []

    def feed(text: str) -> None:
        events.extend(parser.feed(text))

    def close(text: str) -> None:
        events.extend(parser.flush())

    def found() -> list[Call]:
        return [(call.name, json.dumps(call.args)) for call in extract_tool_calls(events)]

    return feed, close, found


OPEN = {"SGLang": sglang, "KohakuTerrarium": kohaku}


def run(order: dict[str, Any]) -> dict[str, Any]:
    """One run: seconds, how much of it was fed before the cap, and the calls."""
    feed, close, found = OPEN[order["of"]](order["name"], order["tool"])
    fed, done = order["pieces"], 0
    gc.collect()
    gc.disable()
    began = time.perf_counter()
    for done, piece in enumerate(fed, 1):
        feed(piece)
        if done % 64 == 0 and time.perf_counter() - began > CAP:
            break
    if done == len(fed):
        close("")
    return {"seconds": time.perf_counter() - began, "done": done, "calls": found()}


def child() -> None:
    """Orders in, answers out, a line each."""
    for line in sys.stdin:
        print("\n" + json.dumps(run(json.loads(line))), flush=True)


# ---- the parent --------------------------------------------------------------------


def whole_tokens(text: str) -> list[str]:
    """Pieces of four characters, but each special token in one."""
    cut: list[str] = []
    position = 0
    for token in [*TOKEN.finditer(text), None]:
        start, end = token.span() if token else (len(text), len(text))
        cut += [text[at : min(at + 4, start)] for at in range(position, start, 4)]
        cut += [text[start:end]] if end > start else []
        position = end
    return cut


def answer(peer: Peer, pieces: list[str]) -> dict[str, Any]:
    """What a child says of one run; `error` where it says nothing."""
    tool = {"name": formats.WRITE.name, "description": formats.WRITE.description, "parameters": formats.WRITE.schema}
    order = json.dumps({"of": peer.of, "name": peer.name, "tool": tool, "pieces": pieces})
    command = [str(PYTHON), str(Path(__file__).resolve()), "--child"]
    try:
        said = subprocess.run(command, input=order + "\n", capture_output=True, text=True, timeout=CAP * 3, cwd=HOME)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": type(error).__name__}
    lines = [line for line in said.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"error": (said.stderr.strip().splitlines() or ["no answer"])[-1]}


def right(said: dict[str, Any], size: int) -> str:
    """How many of the stream's calls came out as they were meant, and how many came out at all."""
    if "error" in said:
        return str(said["error"])[:70]
    read = []
    for at, (name, args) in enumerate(said["calls"]):
        try:
            read.append(formats.ToolCall(str(at), name, json.loads(args), ""))
        except ValueError:
            continue
    return counted(formats.right(formats.calls_of(size), read), len(said["calls"]))


def counted(good: int, all_: int) -> str:
    return f"{good} of {formats.CALLS}" + (f" ({all_} read)" if all_ != good else "")


def cells(peer: Peer) -> list[str]:
    """One peer's row."""
    costs, calls = [], []
    for size in SIZES:
        fed = formats.pieces(formats.stream(peer.format, size))
        said = answer(peer, fed)
        if "error" in said:
            return [str(peer), peer.format, *"-----", said["error"][:70]]
        stopped = "" if said["done"] == len(fed) else f" (stopped at {said['done'] / len(fed):.0%})"
        costs.append(f"{said['seconds'] / said['done'] * 1e6:,.1f} µs{stopped}")
        calls.append(right(said, size))
    calls.append(right(answer(peer, whole_tokens(formats.stream(peer.format, SIZES[0]))), SIZES[0]))
    return [str(peer), peer.format, *costs, *calls, ""]


def ours(name: str) -> list[str]:
    """Our row of a format."""
    language = formats.ss.dialects.get(name, **formats.WIDE)
    costs, calls = [], []
    for size in SIZES:
        text = formats.stream(name, size)
        costs.append(f"{formats.per_chunk(language, text, formats.TIMES):,.2f} µs")
        found = formats.read(language, text, formats.CHUNK)
        calls.append(counted(formats.right(formats.calls_of(size), found), len(found)))
    return ["sidestream", name, *costs, *calls, "-", ""]


def install() -> None:
    """The environment, and in it only what is needed."""
    venv.create(HOME, with_pip=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for name in (*NEEDED, *ALONE):
        given = ["--no-deps", name] if name in ALONE else [name]
        done = subprocess.run([*pip, *given], capture_output=True, text=True)
        if done.returncode:
            print(f"{name} does not install: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)


def main() -> int:
    options = argparse.ArgumentParser(description="peers' parsers beside our readers, one table")
    options.add_argument("--install", action="store_true", help="make build/peer-parsers first")
    options.add_argument("--only", default="", metavar="NAMES", help="peers of these names, separated by commas")
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        child()
        return 0
    if given.install:
        install()
    if not PYTHON.exists():
        options.error("there is no build/peer-parsers yet: give --install")
    wanted = [name.strip() for name in given.only.split(",") if name.strip()]
    chosen = [peer for peer in PEERS if not wanted or peer.name in wanted]
    heads = ["parser", "format", *(f"{size} KB" for size in SIZES), *(f"right, {size} KB" for size in SIZES)]
    lines = [[*heads, "whole tokens", ""]]
    for name, peers in groupby(chosen, key=lambda peer: peer.format):
        print(f"measuring: {name}", file=sys.stderr)
        lines += [ours(name), *map(cells, peers)]
    print(f"Python {platform.python_version()}, {platform.machine()}; µs for a chunk of 4 characters")
    print(f"`right`: calls with their name and arguments as they were meant; a run is given up after {CAP:.0f} s\n")
    print(formats.grid(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
