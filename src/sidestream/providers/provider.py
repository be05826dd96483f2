"""What is asked of a model, and the protocol of whoever can be asked.

A provider turns one `Request` into a stream of deltas. It promises: deltas are handed on as they
arrive, exactly one `Stop` comes last, `ProviderError` is the only exception, and closing the iterator
closes the connection at once. It does not retry, run tools or keep history.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol

import msgspec

from sidestream.dialects.dialect import Dialect
from sidestream.errors import UsageError
from sidestream.events import AnyDelta
from sidestream.messages import Message, ToolSpec

__all__ = ["Provider", "ask_real_model", "block_real_models", "Request", "Settings"]


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
    `dialect` (a name: what `dialect="auto"` means here), `model` (for `ModelChosen`), and being an async
    context manager (entered for the length of a run and of a session, so that it must count how often it is:
    connection pools, child processes)."""

    def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of one response, ending in one `Stop`. Consumed under `aclosing`. Raises
        ProviderError and nothing else."""
        ...
