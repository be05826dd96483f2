"""Ask again when a model could not be asked: `retrying(provider)` is a provider too.

It promises: only what failed before its first meaningful delta is asked for again, so that nothing is ever said
twice; only what may pass by itself (`ProviderError.retryable`: 408, 409, 429, 5xx, broken connections, timeouts);
each wait is told as a `Retrying`, is bounded, and ends at once when the run is cancelled; what the service asked for
(`Retry-After`) is honoured up to a cap. All runs on one such provider share its `Health`: an outage makes no storm.
"""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta, Retrying
from sidestream.providers.choose import choose
from sidestream.providers.health import Health
from sidestream.providers.provider import Provider, Request, closable, for_run, meaningful, opened

__all__ = ["Persistent", "retrying"]


def retrying(
    model: str | Provider,
    *,
    retries: int = 3,
    delay: float = 1.0,
    factor: float = 2.0,
    cap: float = 30.0,
    jitter: float = 0.2,
    retry_after_cap: float = 60.0,
    budget: float = 0.2,
    stock: float = 10.0,
    circuit_failures: int = 10,
    circuit_seconds: float = 15.0,
    rng: Callable[[], float] = random.random,
) -> Persistent:
    """`model` (a name or a provider), asked again up to `retries` times: after `delay` seconds, each time `factor`
    times longer, at most `cap`, give or take `jitter` (a fraction; never above the cap). A `Retry-After` counts
    instead, up to `retry_after_cap` seconds. `budget`: retries per request that all runs together may use, `stock`
    how many can be saved up. After `circuit_failures` failures in a row (0: never) nobody asks for
    `circuit_seconds`, then one does. `rng` gives numbers from 0 to 1. Raises UsageError for negative numbers."""
    numbers = (retries, delay, factor, cap, jitter, retry_after_cap, budget, stock, circuit_failures, circuit_seconds)
    if any(not number >= 0 for number in numbers) or jitter > 1:
        raise UsageError("retrying takes no negative numbers, and a jitter from 0 to 1")

    def wait(attempt: int, error: ProviderError) -> float:
        if error.retry_after is not None:
            return min(error.retry_after, retry_after_cap)
        spread = 1 + jitter * (2 * rng() - 1)
        return min(delay * factor ** min(attempt - 1, 64) * spread, cap)

    health = Health(budget=budget, stock=stock, failures=circuit_failures, seconds=circuit_seconds)
    return Persistent(choose(model), retries, wait, health)


class Persistent:
    """What `retrying` makes."""

    def __init__(
        self, provider: Provider, retries: int, wait: Callable[[int, ProviderError], float], health: Health
    ) -> None:
        self._provider, self._retries, self._wait, self._health = provider, retries, wait, health
        self.name: str = getattr(provider, "name", type(provider).__name__.lower())
        self.model: str = getattr(provider, "model", "")
        self.dialect: Any = getattr(provider, "dialect", "auto")

    def __repr__(self) -> str:
        return f"retrying({self._provider!r})"

    def for_run(self) -> Persistent:
        """The same for one run: its choices are that run's own, its health is everybody's."""
        own = copy.copy(self)
        own._provider = for_run(self._provider)
        return own

    async def __aenter__(self) -> Persistent:
        await opened(self._provider).__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await opened(self._provider).__aexit__(*exc)

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of the first attempt that begins, a `Retrying` before each further one. Raises ProviderError."""
        self._health.asked()
        for attempt in range(1, self._retries + 2):
            begun = False
            try:
                async with aclosing(self._attempt(request)) as deltas:
                    async for delta in deltas:
                        begun = begun or meaningful(delta)
                        yield delta
                return
            except ProviderError as error:
                if begun or not error.retryable or attempt > self._retries or not self._health.may_retry():
                    raise
                delay = self._wait(attempt, error)
                told = Retrying(attempt, round(delay, 3), str(error))
            yield told
            await asyncio.sleep(delay)

    async def _attempt(self, request: Request) -> AsyncGenerator[AnyDelta]:
        """One request, whose outcome counts for all."""
        clock = asyncio.get_running_loop().time
        self._health.admit(clock(), self.name)
        settled = False
        try:
            async with aclosing(closable(self._provider.stream(request))) as deltas:
                async for delta in deltas:
                    if not settled and meaningful(delta):
                        settled = True
                        self._health.well()
                    yield delta
            if not settled:  # an answer without a word is one
                settled = True
                self._health.well()
        except ProviderError as error:
            settled = True
            self._health.failed(error, clock())
            raise
        finally:
            if not settled:
                self._health.left()
