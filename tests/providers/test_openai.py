"""The chat-completions provider against a real HTTP server on loopback, with everything that goes wrong there."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from email.utils import formatdate
from typing import Any

import pytest

from sidestream.errors import ProviderError, UsageError
from sidestream.events import Stop, TextDelta
from sidestream.messages import Usage
from sidestream.providers.endpoint import endpoint
from sidestream.providers.openai import OpenAI
from sidestream.providers.provider import block_real_models

KEY = "sk-very-secret-key-0123456789"


def model(url: str, **settings: Any) -> OpenAI:
    return OpenAI("m", base_url=url, **({"api_key": KEY} | settings))


async def test_deltas_arrive_one_by_one_and_the_request_says_what_it_must(wire: Any) -> None:
    plan = wire.streamed(
        wire.record(role="assistant", content=""),
        wire.record(content="Hel"),
        wire.record(content="lo"),
        wire.record(finish="stop"),
        b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n',
        wire.DONE,
    )
    async with wire.Server(plan) as server:
        said, failed = await wire.heard(model(server.url, headers={"X-Team": "blue"}), wire.ask("hi", temperature=0.5))
    assert failed is None
    assert said == [TextDelta("Hel"), TextDelta("lo"), Stop("end", Usage(3, 2))]
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["x-team"] == "blue"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "hi"}],
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_a_delta_is_handed_on_before_the_next_byte_arrives(wire: Any) -> None:
    async with wire.Server(wire.streamed(wire.record(content="a"), wire.HANG)) as server:
        async with aclosing(model(server.url).stream(wire.ask())) as deltas:
            assert await asyncio.wait_for(anext(deltas), 5) == TextDelta("a")
        await asyncio.wait_for(server.gone.wait(), 1)  # closing the iterator has closed the socket


async def test_cancelling_the_reader_closes_the_socket(wire: Any) -> None:
    for plan in ([wire.HANG], wire.streamed(wire.record(content="a"), wire.HANG)):
        async with wire.Server(plan) as server:
            task = asyncio.create_task(wire.heard(model(server.url)))
            await asyncio.wait_for(server.busy.wait(), 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(server.gone.wait(), 1)


BODY = {"error": {"message": f"the key {KEY} is no good\n  really", "type": "x"}}


@pytest.mark.parametrize(
    ("status", "lines", "body", "retryable", "after", "words"),
    [
        (
            "429 Slow",
            ["Retry-After: 7"],
            b'{"error":{"message":"too many tokens per minute"}}',
            True,
            7.0,
            "tokens",
        ),
        ("429 Slow", ["Retry-After: 0.5", "retry-after-ms: 250"], b"", True, 0.25, "no reason given"),
        ("429 Slow", ["Retry-After: soon"], b"slow", True, None, "slow"),
        ("500 Oh", [], b'{"detail":"boom"}', True, None, "boom"),
        ("503 Oh", [], b"<html><title>Bad gateway</title></html>", True, None, "an HTML page (Bad gateway)"),
        ("529 Oh", [], b'{"message":"overloaded"}', True, None, "overloaded"),
        ("408 Oh", [], b"", True, None, "no reason"),
        ("400 Bad", [], b'[{"error":{"message":"context too long"}}]', False, None, "context too long"),
        ("401 Who", [], b'{"error":"no"}', False, None, "OPENAI_API_KEY"),
        ("403 No", [], b'{"error":"no"}', False, None, "what it may do"),
        ("404 No", [], b'{"error":{"message":"model not found"}}', False, None, "base URL"),
        ("422 No", [], b'{"detail":[{"msg":"field required"}]}', False, None, "field required"),
        ("302 Go", ["Location: http://elsewhere/v1"], b"", False, None, "redirects to http://elsewhere/v1"),
    ],
)
async def test_a_refusal_says_what_it_is_and_what_to_do(
    wire: Any, status: str, lines: list[str], body: bytes, retryable: bool, after: float | None, words: str
) -> None:
    async with wire.Server(wire.sized(body, *lines, status=status)) as server:
        said, failed = await wire.heard(model(server.url))
    assert said == []
    assert isinstance(failed, ProviderError)
    assert (failed.status, failed.retryable, failed.retry_after) == (int(status[:3]), retryable, after)
    assert words in str(failed)
    assert f"{server.url}/chat/completions answered {status[:3]}" in str(failed)
    assert len(server.asked) == 1


async def test_retry_after_as_a_date_counts_from_the_servers_own_clock(wire: Any) -> None:
    now = time.time() - 86_400  # its clock is a day behind
    lines = [f"Date: {formatdate(now, usegmt=True)}", f"Retry-After: {formatdate(now + 30, usegmt=True)}"]
    async with wire.Server(wire.sized(b"", *lines, status="429 Slow")) as server:
        _, failed = await wire.heard(model(server.url))
    assert failed.retry_after == 30


async def test_the_key_is_in_no_error_no_repr_and_no_log(wire: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sidestream.providers")
    echo = f'{{"error":{{"message":"key {KEY} or sk-another-123456 is wrong {"x" * 900}"}}}}'.encode()
    async with wire.Server(wire.sized(echo, status="401 Who"), wire.streamed(b"data: " + echo + b"\n\n")) as server:
        url = server.url.replace("http://", "http://me:pass-word@") + "?key=also-secret"
        for provider in (model(server.url), model(url)):
            _, failed = await wire.heard(provider, wire.ask(f"my key is {KEY}"))
            shown = f"{failed} {provider!r} {caplog.text}"
            assert "***" in str(failed)
            assert len(str(failed)) < 800
            for secret in (KEY, "another", "pass-word", "also-secret"):
                assert secret not in shown
    assert "POST" in caplog.text
    assert "is wrong" in caplog.text


FAULTS: dict[str, tuple[list[Any], list[Any], bool, str]] = {
    "hang before the headers": (["hang"], [], True, "no answer in 0.2 s"),
    "headers, then silence": ([b"HEAD", "hang"], [], True, "nothing came for"),
    "a stall in the middle": ([b"HEAD", b"a", "hang"], ["a"], True, "nothing came for"),
    "a reset within a record": ([b"HEAD", b"a", b"CUT", "reset"], ["a"], True, "connection broke"),
    "closed within a record": ([b"HEAD", b"a", b"CUT", "hang up"], ["a"], True, "broke in the middle"),
    "closed between records": ([b"HEAD", b"a", "hang up"], ["a"], True, "broke in the middle"),
    "closed at once": (["hang up"], [], True, "closed before an answer"),
    "a chunk size that is none": ([b"HEAD", b"a", b"zzzz\r\n", "hang"], ["a"], True, "nothing came for"),
    "no HTTP": ([b"hello, who is there?\r\n\r\n", "hang up"], [], False, "does not speak HTTP"),
    "garbage for a stream": ([b"HEAD", b"RAW", b"END"], [], False, "holds no record; it begins: garbage"),
    "no record at all": ([b"HEAD", b"END"], [], True, "an empty answer"),
}  # fmt: skip


def steps(plan: list[Any], wire: Any) -> list[Any]:
    record = wire.record(content="a")
    names = {
        b"HEAD": wire.head("Transfer-Encoding: chunked"),
        b"a": wire.chunk(record),
        b"CUT": wire.chunk(record[:30]),
        b"RAW": wire.chunk(b"garbage"),
        b"END": wire.LAST,
    }
    return [names.get(step, step) for step in plan]


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_goes_wrong_on_the_wire(wire: Any, fault: str) -> None:
    plan, texts, retryable, words = FAULTS[fault]
    async with wire.Server(steps(plan, wire)) as server:
        short = {"first_token_timeout": 0.2, "idle_timeout": 0.1} if "hang" in plan else {}
        provider = model(server.url, **short)
        said, failed = await wire.heard(provider)
        if "hang" in plan:
            await asyncio.wait_for(server.gone.wait(), 1)
    assert said == [TextDelta(text) for text in texts]
    assert isinstance(failed, ProviderError), failed
    assert words in str(failed)
    assert failed.retryable is retryable


async def test_what_arrived_before_a_failure_is_not_lost_on_a_slow_reader(wire: Any) -> None:
    many = b"".join(wire.chunk(wire.record(content=f"{n} ")) for n in range(50))
    plan = [
        wire.head("Transfer-Encoding: chunked") + wire.chunk(wire.record(content="first ")),
        0.01,
        many,
        wire.RESET,
    ]
    async with wire.Server(plan) as server:
        said = []
        with pytest.raises(ProviderError):  # noqa: PT012 - the loop is what is tested
            async for delta in model(server.url).stream(wire.ask()):
                said.append(delta)
                if len(said) == 1:
                    await asyncio.sleep(0.05)  # all the rest, and the reset, arrive meanwhile
    assert len(said) == 51


async def test_a_broken_chunk_in_the_same_packet_as_good_ones(wire: Any) -> None:
    good = wire.chunk(wire.record(content="a")) + wire.chunk(wire.record(content="b"))
    plan = [wire.head("Transfer-Encoding: chunked"), 0.01, good + b"zz\r\n", wire.HANG]
    async with wire.Server(plan) as server:
        said, failed = await wire.heard(model(server.url, idle_timeout=0.1))
    assert said == [TextDelta("a"), TextDelta("b")]
    assert isinstance(failed, ProviderError)


ENDS: dict[str, list[Any]] = {
    "as it should": [b"HEAD", b"a", b"STOP", b"DONE", b"END"],
    "no [DONE]": [b"HEAD", b"a", b"STOP", b"END"],
    "no [DONE], and cut after the finish": [b"HEAD", b"a", b"STOP", "hang up"],
    "no [DONE], and silence after the finish": [b"HEAD", b"a", b"STOP", "hang"],
    "no finish reason": [b"HEAD", b"a", b"DONE", b"END"],
    "neither, but a whole body": [b"HEAD", b"a", b"END"],
    "[DONE], and the connection stays open": [b"HEAD", b"a", b"STOP", b"DONE", "hang"],
    "[DONE], then reset": [b"HEAD", b"a", b"DONE", "reset"],
}


@pytest.mark.parametrize("end", ENDS)
async def test_ways_to_end(wire: Any, end: str) -> None:
    names = {b"STOP": wire.chunk(wire.record(finish="stop")), b"DONE": wire.chunk(wire.DONE)}
    plan = [names.get(step, step) for step in steps(ENDS[end], wire)]
    async with wire.Server(plan) as server:
        said, failed = await wire.heard(model(server.url, idle_timeout=0.2))
    assert failed is None
    assert said == [TextDelta("a"), Stop("end")]


async def test_a_body_without_length_must_say_itself_that_it_is_whole(wire: Any) -> None:
    text, stop = wire.record(content="a"), wire.record(finish="stop")
    for body, whole in ((text + stop, True), (text + wire.DONE, True), (text, False)):
        async with wire.Server([wire.head("Connection: close"), body, wire.HANG_UP]) as server:
            said, failed = await wire.heard(model(server.url))
        assert said == [TextDelta("a"), Stop("end")][: 1 + whole]
        assert whole or "cut" in str(failed)


async def test_a_slow_drip_of_single_bytes_with_keep_alives_is_read(wire: Any) -> None:
    body = b": hello\r\n\r\n" + wire.record(content="Zürich").replace(b"\n", b"\r\n") + wire.DONE
    drip = [step for n in range(len(body)) for step in (body[n : n + 1], 0.0)]
    drip[4:4] = [0.15, 0.0]
    drip[12:12] = [0.15, 0.0]  # longer than the first wait together, each shorter
    async with wire.Server(wire.streamed(*drip)) as server:
        said, failed = await wire.heard(model(server.url, first_token_timeout=0.25, idle_timeout=0.25))
    assert failed is None
    assert said == [TextDelta("Zürich"), Stop("end")]


async def test_time_spent_by_a_slow_reader_is_no_time_out(wire: Any) -> None:
    plan = wire.streamed(wire.record(content="a"), wire.record(content="b"), 0.03, wire.record(content="c"), wire.DONE)
    async with wire.Server(plan) as server:
        said = []
        async for delta in model(server.url, first_token_timeout=0.15, idle_timeout=0.15).stream(wire.ask()):
            said.append(delta)
            await asyncio.sleep(0.2 if len(said) < 3 else 0)
    assert said == [TextDelta("a"), TextDelta("b"), TextDelta("c"), Stop("end")]


async def test_endless_keep_alives_end_with_the_total_time(wire: Any) -> None:
    plan = wire.streamed(*[b": ping\n\n", 0.01] * 100)
    async with wire.Server(plan) as server:
        said, failed = await wire.heard(model(server.url, total_timeout=0.05))
    assert said == []
    assert "no end in 0.05 s" in str(failed)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/plain"])
async def test_a_plain_json_answer_to_a_stream_request(wire: Any, kind: str) -> None:
    body = b'{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}'
    async with wire.Server(wire.sized(body, kind=kind)) as server:
        said, failed = await wire.heard(model(server.url))
    assert failed is None
    assert said == [TextDelta("whole"), Stop("end")]


async def test_a_web_page_is_told_from_an_answer(wire: Any) -> None:
    async with wire.Server(wire.sized(b"\n<!DOCTYPE html><html>", kind="text/html")) as server:
        said, failed = await wire.heard(model(server.url))
    assert said == []
    assert "a web page" in str(failed)
    assert failed.retryable is False


async def test_requests_of_one_run_share_a_connection_and_loners_do_not(wire: Any) -> None:
    plan = wire.streamed(wire.record(content="a"), wire.DONE)
    async with wire.Server(*[plan] * 6) as server:
        provider = model(server.url)
        async with provider, provider:
            for _ in range(3):
                assert (await wire.heard(provider))[1] is None
        assert server.connections == 1
        async with provider:
            assert (await wire.heard(provider))[1] is None
        assert server.connections == 2
        for _ in range(2):
            assert (await wire.heard(provider))[1] is None
        assert server.connections == 4


async def test_many_streams_of_one_provider_at_a_time(wire: Any) -> None:
    plan = wire.streamed(wire.record(content="a"), 0.005, wire.record(content="b"), wire.DONE)
    async with wire.Server(*[plan] * 40) as server:
        provider = model(server.url)
        all_said = await asyncio.gather(*[wire.heard(provider) for _ in range(40)])
    assert all(said == ([TextDelta("a"), TextDelta("b"), Stop("end")], None) for said in all_said)


def test_one_provider_in_several_event_loops(wire: Any) -> None:
    provider = OpenAI("m", base_url="http://127.0.0.1:9/v1", api_key="")

    async def once() -> None:
        async with wire.Server(wire.streamed(wire.record(content="a"), wire.DONE)) as server, provider:
            provider._at = endpoint(server.url, "/chat/completions")
            assert (await wire.heard(provider))[0] == [TextDelta("a"), Stop("end")]

    asyncio.run(once())
    asyncio.run(once())


async def test_nobody_there(wire: Any) -> None:
    async with wire.Server() as server:
        url = server.url
    said, failed = await wire.heard(model(url))
    assert said == []
    assert failed.retryable is True
    assert "is the server running" in str(failed)


async def test_a_header_that_cannot_be_sent_is_an_error_not_a_second_header(wire: Any) -> None:
    async with wire.Server(wire.streamed(wire.DONE)) as server:
        _, failed = await wire.heard(model(server.url), wire.ask(extra_headers={"X-A": "1\r\nX-B: 2"}))
        assert isinstance(failed, ProviderError)
        with pytest.raises(UsageError, match="header"):
            model(server.url, headers={"X-A": "1\r\nX-B: 2"})
        with pytest.raises(UsageError, match="header"):
            model(server.url, api_key="key\r\nX-B: 2")
    assert server.asked == []


async def test_a_blocked_real_model_is_not_asked(wire: Any) -> None:
    async with wire.Server() as server:
        with block_real_models():
            said, failed = await wire.heard(model(server.url))
    assert (said, server.connections) == ([], 0)
    assert isinstance(failed, UsageError)
    assert KEY not in str(failed)


async def test_no_key_no_header_and_the_environments_key_by_default(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = wire.streamed(wire.DONE)
    async with wire.Server(plan, plan, plan) as server:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        await wire.heard(OpenAI("m", base_url=server.url))
        monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment\n")
        await wire.heard(OpenAI("m", base_url=server.url))
        await wire.heard(OpenAI("m", base_url=server.url, api_key=""))
    keys = [asked.headers.get("authorization") for asked in server.asked]
    assert keys == [None, "Bearer from-the-environment", None]


async def test_proxies_of_the_environment_are_ignored(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with wire.Server(wire.streamed(wire.DONE)) as server:
        assert (await wire.heard(model(server.url)))[1] is None


@pytest.mark.parametrize(
    ("base_url", "posts_to", "shown"),
    [
        ("http://h/v1/", "http://h/v1/chat/completions", "http://h/v1"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions", "http://h/v1"),
        ("http://u:pw@h:8/v1", "http://u:pw@h:8/v1/chat/completions", "http://h:8/v1"),
        (
            "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            "https://x.openai.azure.com/openai/deployments/d",
        ),
    ],
)
def test_base_urls(base_url: str, posts_to: str, shown: str) -> None:
    provider = model(base_url)
    assert provider._at.url == posts_to
    assert repr(provider) == f"OpenAI('m', base_url={shown!r})"
    carried = provider._exchange._key_header(KEY)
    assert ("api-key" in carried) == ("azure" in base_url)
    assert ("Authorization" in carried) == ("azure" not in base_url and "@" not in base_url)


@pytest.mark.parametrize("base_url", ["", "h/v1", "ftp://h/v1", "http://", "http://h:port/v1", "http://[::1/v1"])
def test_what_is_no_base_url(base_url: str) -> None:
    with pytest.raises(UsageError, match="is not a URL"):
        OpenAI("m", base_url=base_url)


def test_a_model_must_be_named() -> None:
    with pytest.raises(UsageError, match="model must be named"):
        OpenAI("")


KEY = "SECRETKEY-topsecret-123"


@pytest.mark.parametrize(
    "said",
    [
        f'data: {{"choices": oops {KEY}}}\n\n',
        f'event: error\ndata: {{"message":"x {KEY}"}}\n\n',
        f'data: {{"choices":[{{"finish_reason":"error","error":{{"message":"{KEY}"}}}}]}}\n\n',
        f'data: {{"error":{{"message":"overloaded {KEY}"}}}}\n\n',
        f'{{"error":{{"message":"{KEY}"}}}}',
        f"your key {KEY} is bad",
    ],
)
async def test_an_answer_that_repeats_the_key_does_not_bring_it_out(wire: Any, said: str) -> None:
    async with wire.Server(wire.sized(said.encode(), kind="text/event-stream")) as server:
        _, failed = await wire.heard(OpenAI("m", base_url=server.url, api_key=KEY))
    assert isinstance(failed, ProviderError)
    assert KEY not in str(failed)
    assert "***" in str(failed)


async def test_a_key_that_was_asked_for_and_is_refused_is_asked_for_once_more(wire: Any) -> None:
    keys = iter(["old-key-1", "new-key-2", "never"])

    async def key() -> str:
        return next(keys)

    good = wire.streamed(wire.record(content="a"), wire.DONE)
    async with wire.Server(wire.sized(b"{}", status="401 Unauthorized"), good, good) as server:
        provider = model(server.url, api_key=key)
        assert await wire.heard(provider) == ([TextDelta("a"), Stop("end")], None)
        assert await wire.heard(provider) == ([TextDelta("a"), Stop("end")], None)
    sent = [asked.headers["authorization"] for asked in server.asked]
    assert sent == ["Bearer old-key-1", "Bearer new-key-2", "Bearer new-key-2"]


async def test_a_key_that_was_given_and_is_refused_is_refused(wire: Any) -> None:
    async with wire.Server(wire.sized(b"{}", status="401 Unauthorized")) as server:
        said, failed = await wire.heard(model(server.url))
    assert (said, failed.status) == ([], 401)


async def test_an_answer_in_one_piece_gives_the_same_deltas(wire: Any) -> None:
    body = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}'
    async with wire.Server(wire.sized(body)) as server:
        said, failed = await wire.heard(model(server.url, stream=False))
    assert (said, failed) == ([TextDelta("Hello"), Stop("end")], None)
    assert server.asked[0].body["stream"] is False
    assert "stream_options" not in server.asked[0].body
