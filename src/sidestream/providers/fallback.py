"""Ask the next model when one does not answer: `falling_back(a, b, …)` is a provider too.

It promises: a model is left only before its first meaningful delta, so that nothing is said twice; reasons to leave
it are an error, an answer without a word, and silence for `first_token_timeout` (roles and empty pieces are silence);
who answers is told as `ModelChosen` and answers all rounds of its run from then on. Models are opened when they are
first needed, and closed with the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import Any

from sidestream.dialects.models import formats_of
from sidestream.errors import FirstTokenTimeoutError, ProviderError, UsageError
from sidestream.events import AnyDelta, ModelChosen, Retrying, Stop
from sidestream.providers.choose import choose
from sidestream.providers.provider import Provider, Request, closable, for_run, meaningful, opened

__all__ = ["FallingBack", "falling_back"]


def falling_back(*models: str | Provider, first_token_timeout: float = 30.0) -> FallingBack:
    """The first of `models` (names or providers) that answers. Each gets `first_token_timeout` seconds to say
    something, and again after each `Retrying` of its own. Raises UsageError."""
    if len(models) < 2:
        raise UsageError("falling_back takes two models or more: falling_back('anthropic:…', 'openai:…')")
    if not first_token_timeout > 0:
        raise UsageError(f"first_token_timeout must be above 0, got {first_token_timeout!r}")
    return FallingBack([choose(model) for model in models], first_token_timeout)


class FallingBack:
    """What `falling_back` makes. `model` is the first one's name; the formats of all are read."""

    name = "falling_back"

    def __init__(self, providers: Sequence[Provider], patience: float) -> None:
        self._providers, self._patience = list(providers), patience
        self._stacks: list[AsyncExitStack] = []
        self.model: str = getattr(providers[0], "model", "")
        self.dialect = _languages(providers)

    def __repr__(self) -> str:
        return f"falling_back({', '.join(map(repr, self._providers))})"

    def for_run(self) -> _Choice:
        """One run's choice."""
        return _Choice([for_run(provider) for provider in self._providers], self._patience)

    async def __aenter__(self) -> FallingBack:
        """Keeps the first one's connections: it is the one that is nearly always asked."""
        stack = AsyncExitStack()
        try:
            await stack.enter_async_context(opened(self._providers[0]))
        except ProviderError:
            pass  # said when it is asked
        self._stacks.append(stack)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stacks.pop().aclose()

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """One answer, chosen for itself. Raises ProviderError."""
        async with self.for_run() as choice, aclosing(choice.stream(request)) as deltas:
            async for delta in deltas:
                yield delta


class _Choice:
    """Whoever answers one run. To be entered once."""

    name = "falling_back"

    def __init__(self, providers: list[Provider], patience: float) -> None:
        self._left, self._patience = providers, patience  # those that can still be asked; one, once it is chosen
        self._chosen = False
        self._stack = AsyncExitStack()
        self._open: list[Provider] = []

    async def __aenter__(self) -> _Choice:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def stream(self, request: Request, /) -> AsyncGenerator[AnyDelta]:
        """The deltas of the first that answers. Raises ProviderError: the chosen one's own, or, if nobody answered,
        one that tells of all."""
        errors: list[ProviderError] = []
        for place, provider in enumerate(list(self._left), 1):
            last = place == len(self._left)
            try:
                async with aclosing(self._asked(provider, request, may_be_empty=last)) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except ProviderError as error:
                if self._chosen or (last and not errors):
                    raise
                errors.append(error)
            except UsageError as error:  # this one cannot be told what is to be said
                if self._chosen or last:
                    raise
                errors.append(ProviderError(str(error)))
            if not last:
                yield Retrying(place, 0.0, f"{errors[-1]}; the next model is asked")
        told = "; ".join(map(str, errors))
        passing = any(error.retryable for error in errors)
        raise ProviderError(
            f"none of {len(errors)} models answered: {told}", status=errors[-1].status, retryable=passing
        )

    async def _asked(self, provider: Provider, request: Request, *, may_be_empty: bool) -> AsyncGenerator[AnyDelta]:
        if provider not in self._open:
            await self._stack.enter_async_context(opened(provider))
            self._open.append(provider)
        async with aclosing(closable(provider.stream(request))) as deltas:
            if not self._chosen:
                async with aclosing(self._beginning(provider, deltas)) as first:
                    async for delta in first:
                        if isinstance(delta, Stop) and not may_be_empty:
                            raise ProviderError(f"{_who(provider)} answered without a word", retryable=True)
                        yield delta
            async for delta in deltas:
                yield delta

    async def _beginning(self, provider: Provider, deltas: AsyncGenerator[AnyDelta]) -> AsyncGenerator[AnyDelta]:
        """Its deltas up to the first that counts, which locks the choice; or up to its end."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._patience
        while True:
            limit = asyncio.timeout_at(deadline)
            try:
                async with limit:
                    delta = await anext(deltas, None)
            except TimeoutError:
                if not limit.expired():
                    raise
                silence = f"{_who(provider)} said nothing for {self._patience:g} s"
                raise FirstTokenTimeoutError(silence) from None
            if delta is None:
                return
            if isinstance(delta, Retrying):
                deadline = clock() + delta.delay + self._patience
            if isinstance(delta, ModelChosen):
                continue  # told below, by whoever chooses last
            if meaningful(delta):
                self._left, self._chosen = [provider], True
                yield ModelChosen(getattr(provider, "name", _who(provider)), str(getattr(provider, "model", "")))
                yield delta
                return
            yield delta


def _who(provider: Provider) -> str:
    name = str(getattr(provider, "name", type(provider).__name__.lower()))
    model = str(getattr(provider, "model", ""))
    return f"{name} {model}".strip()


def _languages(providers: Sequence[Provider]) -> list[str]:
    """What all of them may answer in, the first one's own in front."""
    names: list[str] = []
    for provider in providers:
        wanted: Any = getattr(provider, "dialect", "auto")
        for name in [wanted] if isinstance(wanted, str) else list(wanted):
            names += ["native", *formats_of(getattr(provider, "model", ""))] if name == "auto" else [name]
    return list(dict.fromkeys(names))
