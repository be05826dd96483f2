"""`Local`: a real model on this machine, no key, no server; the tool *choice* is a router's.

A round: the router picks the tools (see `router`), `turn` plans the round, and the model, in a child
process, writes what the plan leaves open. Promises: one request at a time; leaving the stream stops the
generation; the process is gone when the last block that entered this provider is left (or, if it was never
entered, when the stream ends); `ProviderError` is all it raises, and it names the fix.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, Stop, TextDelta
from sidestream.messages import Usage
from sidestream.providers.local import files, grammar, turn
from sidestream.providers.local.child import Child
from sidestream.providers.local.router import missing, questions, route
from sidestream.providers.provider import Request

__all__ = ["Local"]

_CONTEXT = 4_096
_MOST_TOKENS = 120
_MOST_CALLS = 3


class Local:
    """The embedded model. `weights`: a GGUF file (None: the one that `sidestream local pull` fetched)."""

    dialect = "tinyrag"
    accepts: frozenset[str] = frozenset()  # it reads text

    def __init__(self, weights: str | Path | None = None, *, threads: int = 1, context: int = _CONTEXT) -> None:
        self._weights = Path(weights).expanduser() if weights is not None else None
        self._threads = threads
        self._context = context
        self._child: Child | None = None
        self._entered = 0
        self.model = self._weights.stem if self._weights else files.WEIGHTS.name.removesuffix(".gguf")

    def __repr__(self) -> str:
        return f"Local({str(self._weights) if self._weights else ''!r}, threads={self._threads})"

    # ---- the child process -----------------------------------------------------------

    def _config(self) -> dict[str, Any]:
        missing = [name for name in files.PACKAGES if importlib.util.find_spec(name) is None]
        if missing:
            raise ProviderError(files.not_installed(missing))
        if self._weights is not None and not self._weights.is_file():
            what = "is not a file" if self._weights.exists() else "does not exist"
            raise ProviderError(f"the weights {self._weights}: this path {what}")
        weights = self._weights or files.find_weights()
        if weights is None:
            raise ProviderError("the local model is not here yet: run `sidestream local pull`")
        embedder, tokenizer = files.find(files.EMBEDDER), files.find(files.TOKENIZER)
        if embedder is None or tokenizer is None:
            raise ProviderError("the local router's embedding model is not here yet: run `sidestream local pull`")
        return {
            "weights": str(weights), "embedder": str(embedder), "tokenizer": str(tokenizer),
            "kept": str(files.folder() / "examples.npz"), "threads": self._threads, "context": self._context,
        }  # fmt: skip

    async def _running(self) -> Child:
        child = self._child
        if child is not None and child.loop is not asyncio.get_running_loop():
            child.abandon()
            child = None
        if child is None or not child.alive:
            child = await Child.start(self._config())
            self._child = child
        return child

    async def load(self) -> None:
        """Wait until the models are in memory (inside `async with`). Raises ProviderError."""
        await (await self._running()).ready()

    async def __aenter__(self) -> Self:
        self._entered += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered -= 1
        if self._entered == 0 and self._child is not None:
            child, self._child = self._child, None
            await child.kill()

    # ---- one round ---------------------------------------------------------------------

    async def stream(self, request: Request, /) -> AsyncGenerator[AnyDelta, None]:
        """The deltas of one response. Consumed under `aclosing`."""
        async with self:
            child = await self._running()
            round_ = _Round(child, request)
            async with aclosing(round_.deltas()) as deltas:
                async for delta in deltas:
                    yield delta


class _Round:
    """One response: what has been said so far, and what it has cost."""

    def __init__(self, child: Child, request: Request) -> None:
        self._child = child
        self._request = request
        self._said = ""
        self._usage = Usage()
        self._finish = "stop"

    async def deltas(self) -> AsyncGenerator[AnyDelta, None]:
        request = self._request
        if request.messages and request.messages[-1].role == "tool":
            steps, messages = turn.answering(request), self._prompt(turn.told(request))
        elif steps := await self._calls():
            messages = self._prompt(turn.question(request))
        else:
            messages = turn.history(request.messages, request.system)
            steps = [turn.Write(self._open_grammar(), request.settings.max_tokens or _MOST_TOKENS)]
        opened: set[int] = set()
        for step in steps:
            match step:
                case turn.Say(text, slot):
                    self._said += text
                    yield _delta(text, slot)
                case turn.Open(slot, name):
                    opened.add(slot)
                    yield CallDelta(slot, id=f"call_{slot + 1}", name=name)
                case turn.Write():
                    async with aclosing(self._written(step, messages)) as texts:
                        async for text in texts:
                            yield _delta(text, step.slot)
                            if step.slot < 0 and turn.repeats(self._said):
                                break
        for slot in sorted(opened):
            yield CallDelta(slot, done=True)
        yield Stop("length" if self._finish == "length" else "tools" if opened else "end", self._usage)

    def _prompt(self, text: str) -> list[dict[str, str]]:
        return [*turn.history((), ""), {"role": "user", "content": text[-2_000:]}]

    def _open_grammar(self) -> str:
        """Free text; while tools are on, nothing that could be read as a call."""
        firsts = {marker[0] for marker in self._request.dialect.markers}
        return grammar.without(firsts) if self._request.tools and firsts else ""

    async def _calls(self) -> list[turn.Step]:
        """The steps of a round that calls tools; none if no tool is needed."""
        request = self._request
        text = turn.question(request)
        if not request.tools or not text.strip() or request.messages[-1].role != "user":
            return []
        asked = questions(text, request.tools)
        async with aclosing(self._child.ask("similar", texts=asked.texts, examples=asked.examples)) as said:
            table = [row async for line in said for row in line["rows"]]
        choices = route(asked, table, request.settings.tool_choice)[:_MOST_CALLS]
        return turn.lacking() if not choices and missing(asked, table) else turn.calling(request, choices)

    async def _written(self, step: turn.Write, messages: list[dict[str, str]]) -> AsyncGenerator[str, None]:
        settings = self._request.settings
        so_far = [{"role": "assistant", "content": self._said}] if self._said else []
        body: dict[str, Any] = {
            "messages": [*messages, *so_far], "max_tokens": step.most, "stream": True, "cache_prompt": True,
            "stream_options": {"include_usage": True}, "temperature": settings.temperature or 0.0,
            **({"grammar": step.grammar} if step.grammar else {"repeat_penalty": 1.1}),
            **({"stop": list(settings.stop)} if settings.stop and not step.grammar else {}),
            **settings.extra_body,
        }  # fmt: skip
        async with aclosing(self._child.ask("chat", body=body)) as said:
            async for line in said:
                if text := line.get("text"):
                    self._said += text
                    yield text
                if "done" in line:
                    self._count(line)

    def _count(self, line: dict[str, Any]) -> None:
        used = line.get("usage") or {}
        cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        self._usage += Usage(used.get("prompt_tokens", 0), used.get("completion_tokens", 0), cached)
        self._finish = line["finish"]


def _delta(text: str, slot: int) -> AnyDelta:
    return TextDelta(text) if slot < 0 else CallDelta(slot, args=text)
