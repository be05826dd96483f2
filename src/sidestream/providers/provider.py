"""What is asked of a model, and the protocol of whoever can be asked.

A provider turns one `Request` into a stream of deltas. It promises: deltas are handed on as they
arrive, exactly one `Stop` comes last, `ProviderError` is the only exception, and closing the iterator
closes the connection at once. It does not retry, run tools or keep history.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Literal, Protocol, cast

import msgspec

from sidestream.dialects.dialect import Dialect
from sidestream.errors import UsageError
from sidestream.events import AnyDelta, CallDelta, TextDelta, ThinkDelta
from sidestream.messages import Message, ToolSpec, Vendor

__all__ = [
    "Provider",
    "Request",
    "Settings",
    "ask_real_model",
    "block_real_models",
    "closable",
    "for_run",
    "meaningful",
    "opened",
]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model is to answer; None leaves the provider's default.

    `max_tokens` bounds one response; `stop` are texts that end it; `tool_choice` is `auto`, `none`,
    `required` or a tool's name; `response` is `text`, `json` (some JSON object) or a JSON Schema that the
    answer must fit; `cache`: mark what the provider may keep between requests, where it needs to be told (default:
    `auto`); `extra_body` and `extra_headers` are merged into the request last.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    thinking: Literal["off", "minimal", "low", "medium", "high"] | None = None
    tool_choice: str | None = None
    response: Literal["text", "json"] | Mapping[str, Any] | None = None
    cache: Literal["off", "auto"] | None = None
    extra_body: Mapping[str, Any] = {}
    extra_headers: Mapping[str, str] = {}


class Request(msgspec.Struct, frozen=True):
    """One request. `messages` is the dialect-neutral transcript, `system` the caller's own text, `tools`
    what is offered (empty: tools are off), `dialect` the language calls are written in. `rendered`
    (in `sidestream.dialects.render`) turns the three into what goes over the wire."""

    messages: tuple[Message, ...]
    dialect: Dialect
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    settings: Settings = Settings()


_blocked: ContextVar[bool] = ContextVar("real models are blocked", default=False)


@contextmanager
def block_real_models() -> Iterator[None]:
    """Within the block, a provider that would ask a real model raises UsageError instead."""
    token = _blocked.set(True)
    try:
        yield
    finally:
        _blocked.reset(token)


def ask_real_model(name: str) -> None:
    """Called by every provider of real models before it asks. Raises UsageError while they are blocked."""
    if _blocked.get():
        raise UsageError(f"{name} would have been asked, but real models are blocked here (block_real_models)")


class Provider(Protocol):
    """Whoever turns a request into deltas. Optional extras that the engine uses where they exist:
    `dialect` (what `dialect="auto"` means here: a name, or several), `model` (for `ModelChosen`), `for_run()` (the
    provider that answers all rounds of one run), and being an async context manager (entered for the length of a
    run and of a session, so that it must count how often it is: connection pools, child processes)."""

    def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of one response, ending in one `Stop`. Consumed under `aclosing`. Raises
        ProviderError and nothing else."""
        ...


def meaningful(delta: AnyDelta) -> bool:
    """True for what shows that a model answers: text, reasoning, a call, a part of its vendor's own. Roles and empty
    pieces, which a broken service sends too, do not."""
    match delta:
        case TextDelta() | ThinkDelta():
            return bool(delta.text)
        case CallDelta() | Vendor():
            return True
        case _:
            return False


def opened(provider: Provider) -> AbstractAsyncContextManager[Any]:
    """The provider, entered for as long as it is needed, if it is one that can be."""
    return provider if isinstance(provider, AbstractAsyncContextManager) else nullcontext()


def for_run(provider: Provider) -> Provider:
    """Who answers all rounds of one run for `provider`: itself, unless it says otherwise."""
    own = getattr(provider, "for_run", None)
    return cast("Provider", own()) if own is not None else provider


def closable(stream: AsyncIterator[AnyDelta]) -> AsyncGenerator[AnyDelta]:
    """A provider's stream, as it is if it is an async generator (as it nearly always is), else in one."""
    return cast("AsyncGenerator[AnyDelta]", stream) if hasattr(stream, "aclose") else _generator(stream)


async def _generator(stream: AsyncIterator[AnyDelta]) -> AsyncGenerator[AnyDelta]:
    async for delta in stream:
        yield delta
