"""Owns the worker process: starts it, asks it, stops it, and never leaves it behind.

Promises: one request at a time, in the order of asking; what the worker says arrives as it is said; a
request that is left early is cancelled, and if the worker does not obey within a second it is killed;
`ProviderError` is all it raises. It is bound to the event loop it was started in. It never restarts itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sidestream.errors import ProviderError

__all__ = ["Child"]

_LINE = 64 * 1024 * 1024
_OBEY = 1.0  # seconds to honour a cancel
_LOAD = 120.0  # seconds to load the models
_SILENCE = 120.0  # seconds between two lines of one answer


class Child:
    """One worker process. `await Child.start(config)`, then `ask(...)`, at the end `await kill()`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._turn = asyncio.Lock()
        self._ready = False
        self._last = 0
        self.loop = asyncio.get_running_loop()

    @classmethod
    async def start(cls, config: Mapping[str, Any]) -> Child:
        """Start the process; it loads while we go on."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "sidestream.providers.local.worker", json.dumps(config),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL, limit=_LINE,
            )  # fmt: skip
        except OSError as error:
            raise ProviderError(f"cannot start the local model's process: {error}") from error
        return cls(process)

    @property
    def alive(self) -> bool:
        """True until it has ended."""
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def _line(self, within: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), within)
        except TimeoutError:
            await self.kill()
            raise ProviderError(f"the local model said nothing for {within:.0f} seconds", retryable=True) from None
        if not line:
            await self.kill()
            raise ProviderError(
                f"the local model's process ended (exit code {self._process.returncode});"
                " `sidestream doctor` shows what is installed",
                retryable=self._ready,
            )
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise ProviderError(f"the local model failed: {said['error']}")
        return said

    async def ready(self) -> None:
        """Wait until both models are loaded."""
        async with self._turn:
            await self._loaded()

    async def _loaded(self) -> None:
        if not self._ready:
            await self._line(_LOAD)
            self._ready = True

    async def _write(self, **fields: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(fields).encode() + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # reading says it better

    async def ask(self, op: str, **fields: Any) -> AsyncGenerator[dict[str, Any], None]:
        """What the worker answers, line by line; the last has `done`. Consumed under `aclosing`."""
        async with self._turn:
            settled = False
            try:
                await self._loaded()
                self._last += 1
                await self._write(id=self._last, op=op, **fields)
                while not settled:
                    said = await self._line(_SILENCE)
                    settled = "done" in said
                    yield said
            except ProviderError:
                settled = True
                raise
            finally:
                if not settled:
                    await self._cancel()

    async def _cancel(self) -> None:
        """End the running request; kill where that does not work at once."""
        try:
            if not self._ready:
                raise ProviderError("not loaded yet")
            await self._write(id=self._last, op="cancel")
            async with asyncio.timeout(_OBEY):
                while "done" not in await self._line(_OBEY):
                    pass
        except (ProviderError, TimeoutError):
            await self.kill()
        except BaseException:
            self._process.kill() if self.alive else None
            raise

    async def kill(self) -> None:
        """End the process now and wait until it is gone."""
        if self.alive:
            try:
                self._process.kill()
            except ProcessLookupError:
                pass
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()

    def abandon(self) -> None:
        """Kill from outside its event loop (which is closed)."""
        if self.alive:
            try:
                self._process.kill()
            except (ProcessLookupError, RuntimeError):
                pass
