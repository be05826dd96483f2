"""A model that always says the same: chat completions over SSE on loopback, for the bench. Runs as a process.

    python bench/server.py            prints the port it listens on

The base URL of a run is `http://127.0.0.1:PORT/RUN/PLAN/v1`; PLAN is `-` or `key=value,…` over the fields of
`Plan`. The default turn: one role record, 40 texts, two calls of `slow` in 5 records each, 60 texts, the end,
20 ms apart; then 20 texts once the results are there. `GET /RUN/log` gives what left when, in the clock that
`time.monotonic` reads in every process of this machine.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

now = time.monotonic
BURST = 64  # records in one write when they are not spaced


@dataclass(frozen=True)
class Plan:
    """A turn. `gap`: milliseconds between records (0: as fast as they go); `pieces`: records of one call's
    arguments; `size`: characters of an extra argument of the last call, sent four at a time; `format`:
    `native` or `tinyrag`; `final`: texts of the answer."""

    before: int = 40
    calls: int = 2
    pieces: int = 4
    size: int = 0
    after: int = 60
    final: int = 20
    gap: float = 20
    tool: str = "slow"
    format: str = "native"

    @classmethod
    def read(cls, text: str) -> Plan:
        types = {field.name: type(field.default) for field in fields(cls)}
        stated = [item.split("=", 1) for item in text.split(",") if "=" in item]
        return cls(**{name: types[name](value) for name, value in stated})


def slices(text: str, count: int) -> list[str]:
    step = -(-len(text) // count)
    return [text[at : at + step] for at in range(0, len(text), step)]


def record(delta: dict[str, Any], finish: str | None = None) -> bytes:
    whole = {
        "id": "turn", "object": "chat.completion.chunk", "created": 1, "model": "bench",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }  # fmt: skip
    return b"data: " + json.dumps(whole).encode() + b"\n\n"


Step = tuple[bytes, str]  # a record, and the word to log once it has left


def call(plan: Plan, number: int) -> Iterator[Step]:
    """One call; its last piece is logged as `whole NUMBER`."""
    key, last = str(number), number == plan.calls - 1
    if plan.format == "tinyrag":
        *pieces, end = slices(f'<tool name="{plan.tool}"><query>{key}</query></tool>', plan.pieces + 1)
        yield from ((record({"content": piece}), "") for piece in pieces)
        yield record({"content": end}), f"whole {key}"
        return
    if last and plan.size:
        filler = ["abc "] * (plan.size // 4)
        pieces = [f'{{"key": "{key}", "note": "', *filler, '"}']
    else:
        pieces = slices(json.dumps({"key": key}), plan.pieces)
    head = {"index": number, "id": f"call_{key}", "type": "function"}
    yield record({"tool_calls": [{**head, "function": {"name": plan.tool, "arguments": ""}}]}), ""
    for at, piece in enumerate(pieces, 1):
        word = f"whole {key}" if at == len(pieces) else ""
        yield record({"tool_calls": [{"index": number, "function": {"arguments": piece}}]}), word


def steps(plan: Plan, answering: bool) -> Iterator[Step]:
    """One response."""
    yield record({"role": "assistant", "content": ""}), ""
    if answering or not plan.calls:
        count = plan.final if answering else plan.before
        yield from ((record({"content": f"f{n} "}), "text") for n in range(count))
        yield record({}, "stop"), ""
    else:
        yield from ((record({"content": f"t{n} "}), "text") for n in range(plan.before))
        for number in range(plan.calls):
            yield from call(plan, number)
        yield from ((record({"content": f"p{n} "}), "text") for n in range(plan.after))
        yield record({}, "tool_calls" if plan.format == "native" else "stop"), ""
    yield b"data: [DONE]\n\n", ""


class Server(asyncio.Protocol):
    """One connection, kept alive."""

    logs: dict[str, list[tuple[str, float]]] = {}
    kept: dict[tuple[Plan, bool], list[Step]] = {}

    def __init__(self) -> None:
        self.buffer = b""
        self.task: asyncio.Task[None] | None = None
        self.room = asyncio.Event()
        self.room.set()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def pause_writing(self) -> None:
        self.room.clear()

    def resume_writing(self) -> None:
        self.room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.room.set()
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, split, rest = self.buffer.partition(b"\r\n\r\n")
        if not split:
            return
        lines = head.decode("latin-1").split("\r\n")
        length = next((int(x.split(":")[1]) for x in lines[1:] if x.lower().startswith("content-length")), 0)
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        path = lines[0].split(" ")[1].strip("/").split("/")
        if path[-1] == "log":
            self.answer(json.dumps(self.logs.get(path[0], [])).encode())
        else:
            self.task = asyncio.get_running_loop().create_task(self.turn(path[0], path[1], rest[:length]))

    def answer(self, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)

    async def turn(self, run: str, text: str, body: bytes) -> None:
        plan, messages = Plan.read(text), json.loads(body)["messages"]
        answering = any(message["role"] == "assistant" for message in messages)
        key = (plan, answering)
        if key not in self.kept:
            self.kept[key] = list(steps(plan, answering))
        log = self.logs.setdefault(run, [])
        log.append(("request", now()))
        head = b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
        self.transport.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n")
        await (self.spaced if plan.gap else self.rushed)(self.kept[key], plan.gap / 1000, log)
        self.transport.write(b"0\r\n\r\n")
        log.append(("end", now()))

    async def spaced(self, steps: list[Step], gap: float, log: list[tuple[str, float]]) -> None:
        began = now()
        for number, (data, word) in enumerate(steps):
            wait = began + number * gap - now()
            if wait > 0:
                await asyncio.sleep(wait)
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
            if word:
                log.append((word, now()))

    async def rushed(self, steps: list[Step], gap: float, log: list[tuple[str, float]]) -> None:
        for at in range(0, len(steps), BURST):
            await self.room.wait()
            part = steps[at : at + BURST]
            self.transport.write(b"".join([b"%x\r\n%b\r\n" % (len(data), data) for data, _ in part]))
            await asyncio.sleep(0)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    try:
        run(main())
    except KeyboardInterrupt:
        pass
