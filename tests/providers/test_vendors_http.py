"""Anthropic and Gemini over a real HTTP server on loopback: address, headers, deltas as they come, refusals."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest

import sidestream as ss
from sidestream.errors import ProviderError, UsageError
from sidestream.events import CallDelta, Stop, TextDelta
from sidestream.providers.anthropic import Anthropic
from sidestream.providers.choose import choose
from sidestream.providers.gemini import Gemini
from sidestream.providers.provider import block_real_models

KEY = "a-very-secret-key-0123456789"


def event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def said(*texts: str) -> list[bytes]:
    """An answer of Claude's that says these."""
    begin = event(
        "message_start", message={"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 3}}
    )
    block = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    deltas = [event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}) for text in texts]
    return [begin, block, *deltas]


def ended(reason: str = "end_turn") -> list[bytes]:
    stop = event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 2})
    return [event("content_block_stop", index=0), stop, event("message_stop")]


def gemini(*parts: Any, finish: str = "") -> bytes:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0} | (
        {"finishReason": finish} if finish else {}
    )
    return b"data: " + json.dumps({"candidates": [candidate]}).encode() + b"\r\n\r\n"


async def test_claude_is_asked_at_its_address_with_its_headers(wire: Any) -> None:
    async with wire.Server(wire.streamed(*said("Hel", "lo"), *ended())) as server:
        provider = Anthropic("claude-x", base_url=server.url.removesuffix("/v1"), api_key=KEY)
        deltas, failed = await wire.heard(provider, wire.ask("hi", temperature=0.5))
    assert failed is None
    assert [delta for delta in deltas if isinstance(delta, TextDelta)] == [TextDelta("Hel"), TextDelta("lo")]
    assert isinstance(deltas[-1], Stop)
    (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert asked.body["stream"] is True
    assert asked.body["max_tokens"] > 0
    assert KEY not in repr(provider)


async def test_gemini_is_asked_at_its_address_with_its_headers(wire: Any) -> None:
    call = {"functionCall": {"name": "look", "args": {"q": "x"}}}
    async with wire.Server(wire.streamed(gemini({"text": "Hi"}), gemini(call, finish="STOP"))) as server:
        provider = Gemini("gemini-x", base_url=server.url, api_key=KEY)
        deltas, failed = await wire.heard(provider)
    assert failed is None
    assert deltas[0] == TextDelta("Hi")
    (found,) = [delta for delta in deltas if isinstance(delta, CallDelta)]
    assert (found.name, json.loads(found.args), found.done) == ("look", {"q": "x"}, True)
    assert deltas[-1].reason == "tools"
    (asked,) = server.asked
    assert asked.path == "/v1/models/gemini-x:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == KEY
    assert KEY not in repr(provider)


@pytest.mark.parametrize(("make", "first"), [
    (lambda url: Anthropic("c", base_url=url.removesuffix("/v1"), api_key=KEY), b"".join(said("a"))),
    (lambda url: Gemini("g", base_url=url, api_key=KEY), gemini({"text": "a"})),
])  # fmt: skip
async def test_a_delta_is_handed_on_before_the_next_byte_and_leaving_hangs_up(
    wire: Any, make: Any, first: bytes
) -> None:
    async with wire.Server(wire.streamed(first, wire.HANG)) as server:
        async with aclosing(make(server.url).stream(wire.ask())) as deltas:
            while not isinstance(delta := await asyncio.wait_for(anext(deltas), 5), TextDelta):
                pass
            assert delta == TextDelta("a")
        await asyncio.wait_for(server.gone.wait(), 1)


@pytest.mark.parametrize(("status", "retryable"), [("400 Bad", False), ("401 No", False), ("404 No", False), ("429 Slow", True), ("529 Busy", True)])  # fmt: skip
async def test_refusals_are_typed_and_show_no_key(wire: Any, status: str, retryable: bool) -> None:
    body = json.dumps({"type": "error", "error": {"type": "some_error", "message": f"no: {KEY}"}}).encode()
    async with wire.Server(*[wire.sized(body, status=status)] * 2) as server:
        for provider in (
            Anthropic("c", base_url=server.url.removesuffix("/v1"), api_key=KEY),
            Gemini("g", base_url=server.url, api_key=KEY),
        ):
            deltas, failed = await wire.heard(provider)
            assert deltas == []
            assert isinstance(failed, ProviderError)
            assert (failed.status, failed.retryable) == (int(status[:3]), retryable)
            assert KEY not in str(failed)


async def test_an_overload_in_the_stream_keeps_what_was_said(wire: Any) -> None:
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    async with wire.Server(wire.streamed(*said("part"), error)) as server:
        deltas, failed = await wire.heard(Anthropic("c", base_url=server.url.removesuffix("/v1"), api_key=KEY))
    assert TextDelta("part") in deltas
    assert failed.retryable is True


@pytest.mark.parametrize(("name", "kind"), [("anthropic:claude-x", Anthropic), ("gemini:gemini-x", Gemini)])
async def test_they_are_chosen_by_name_and_say_which_key_is_missing(
    monkeypatch: pytest.MonkeyPatch, wire: Any, name: str, kind: type
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    provider = choose(name)
    assert isinstance(provider, kind)
    _, failed = await wire.heard(provider)
    assert "_API_KEY is not set" in str(failed)
    with block_real_models():
        assert isinstance((await wire.heard(provider))[1], UsageError)


@ss.tool(read_only=True)
async def look(q: str) -> str:
    """Look it up."""
    return f"found {q}"


def claude_call(args: str) -> list[bytes]:
    start = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    pieces = [args[at : at + 5] for at in range(0, len(args), 5)]
    deltas = [
        event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": one}) for one in pieces
    ]
    return [said()[0], event("content_block_start", index=0, content_block=start), *deltas, *ended("tool_use")]


async def test_a_turn_with_a_tool_on_claude_and_its_history_on_gemini(wire: Any) -> None:
    """One transcript, two vendors: begun on one, gone on with on the other."""
    plans = [wire.streamed(*claude_call('{"q": "x"}')), wire.streamed(*said("It is x."), *ended())]
    async with wire.Server(*plans, wire.streamed(gemini({"text": "Still x."}, finish="STOP"))) as server:
        claude = Anthropic("c", base_url=server.url.removesuffix("/v1"), api_key=KEY)
        engine = ss.Engine(claude, [look])
        async with engine.run("What is x?", session="s") as run:
            await run.result()
        assert (run.answer, run.reason) == ("It is x.", "done")
        other = Gemini("g", base_url=server.url, api_key=KEY)
        async with engine.run("And now?", session="s", model=other) as run:
            await run.result()
        assert run.answer == "Still x."
    first, second, third = [asked.body for asked in server.asked]
    assert first["tools"][0]["name"] == "look"
    assert second["messages"][-1]["content"][0]["tool_use_id"] == "toolu_1"
    roles = [content["role"] for content in third["contents"]]
    assert roles == ["user", "model", "user", "model", "user"]
    assert third["contents"][1]["parts"][-1]["functionCall"]["name"] == "look"
