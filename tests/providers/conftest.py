"""A loopback server that says exactly the bytes it is told, and remembers what it was asked.

No test may leave anything behind: the server's exit looks for tasks, `nothing_unclosed` for sockets and
sessions (their warnings are errors, once they are collected).
"""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from sidestream.events import AnyDelta
from sidestream.messages import Message, TextPart
from sidestream.providers.provider import Provider, Request, Settings

HANG, RESET, HANG_UP = "hang", "reset", "hang up"
Step = bytes | float | str


class Asked(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any


def head(*lines: str, status: str = "200 OK", kind: str = "text/event-stream") -> bytes:
    extra = "".join(f"{line}\r\n" for line in lines)
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{extra}\r\n".encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def record(**delta: Any) -> bytes:
    finish = delta.pop("finish", None)
    body = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
LAST = b"0\r\n\r\n"


def streamed(*pieces: Step, end: Sequence[Step] = (LAST,)) -> list[Step]:
    """A chunked answer: bytes become chunks, the other steps stand."""
    said = [chunk(piece) if isinstance(piece, bytes) else piece for piece in pieces]
    return [head("Transfer-Encoding: chunked"), *said, *end]


def sized(body: bytes, *lines: str, status: str = "200 OK", kind: str = "application/json") -> list[Step]:
    return [head(f"Content-Length: {len(body)}", *lines, status=status, kind=kind) + body]


class Server:
    """Answers one request after the other with the next plan: bytes are sent, numbers slept."""

    def __init__(self, *plans: Sequence[Step]) -> None:
        self.plans = list(plans)
        self.asked: list[Asked] = []
        self.connections = 0
        self.busy = asyncio.Event()  # a request has come
        self.gone = asyncio.Event()  # a client hung up
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"left behind: {left}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.gone.set()
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.append(Asked(first.split()[1], headers, json.loads(body)))
        self.busy.set()
        for step in self.plans.pop(0):
            match step:
                case bytes():
                    writer.write(step)
                    await writer.drain()
                    await asyncio.sleep(0)
                case "hang":
                    await reader.read()
                    return False
                case "reset":
                    raw: socket.socket = writer.get_extra_info("socket")
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                    return False
                case "hang up":
                    return False
                case _:
                    await asyncio.sleep(float(step))
        return True


class Native:
    """As much of a dialect as a provider needs to see."""

    name = "native"
    markers = None


def ask(text: str = "hi", **settings: Any) -> Request:
    return Request((Message("system", (TextPart(text),)),), Native(), settings=Settings(**settings))  # type: ignore[arg-type]


async def heard(provider: Provider, request: Request | None = None) -> tuple[list[AnyDelta], Exception | None]:
    """Everything the provider says, and how it failed."""
    said: list[AnyDelta] = []
    try:
        async for delta in provider.stream(request or ask()):
            said.append(delta)
    except Exception as error:
        return said, error
    return said, None


class Wire:
    """What a test needs to be the other end; one name to ask a fixture for."""

    HANG, RESET, HANG_UP, DONE, LAST = HANG, RESET, HANG_UP, DONE, LAST
    Server, Native = Server, Native
    head, chunk, record = staticmethod(head), staticmethod(chunk), staticmethod(record)
    streamed, sized = staticmethod(streamed), staticmethod(sized)
    ask, heard = staticmethod(ask), staticmethod(heard)


@pytest.fixture
def wire() -> type[Wire]:
    return Wire


@pytest.fixture(autouse=True)
def nothing_unclosed() -> Iterator[None]:
    yield
    gc.collect()
