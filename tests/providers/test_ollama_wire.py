"""Ollama's own API: recorded answers cut anywhere say the same, a request becomes the body the API takes, and both
over a real HTTP server on loopback: address, headers, deltas as they come, refusals with what to do about them."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidestream as ss
from sidestream import dialects
from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta, CallDelta, Stop, TextDelta, ThinkDelta
from sidestream.messages import (
    AudioPart,
    DataPart,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ThinkPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    Vendor,
    assistant,
    system,
    user,
)
from sidestream.providers.choose import choose
from sidestream.providers.ollama import Ollama, address
from sidestream.providers.ollama_read import Answer
from sidestream.providers.ollama_write import body_of
from sidestream.providers.openai_write import bytes_of
from sidestream.providers.provider import Request, Settings, block_real_models

# ---- answers -------------------------------------------------------------------------

USED = Usage(26, 7)
COUNTS = {
    "total_duration": 4883583458, "load_duration": 1334875, "prompt_eval_count": 26,
    "prompt_eval_duration": 342546000, "eval_count": 7, "eval_duration": 4535599000,
}  # fmt: skip


def line(content: Any = "", *, done: Any = False, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content} | message
    return {"model": "qwen3:8b", "created_at": "2026-08-04T08:52:19.385406455Z", "message": said, "done": done}


def last(reason: str | None = "stop", counts: Any = COUNTS, content: Any = "", **message: Any) -> dict[str, Any]:
    return line(content, done=True, **message) | ({} if reason is None else {"done_reason": reason}) | counts


def streamed(*lines: Any) -> bytes:
    return b"".join([json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in lines])


def call(name: Any, args: Any = None, call_id: Any = None, **function: Any) -> dict[str, Any]:
    said = {"name": name} | ({} if args is None else {"arguments": args}) | function
    return {"function": said} | ({} if call_id is None else {"id": call_id})


ROWS: dict[str, tuple[bytes, list[AnyDelta]]] = {
    "text": (
        streamed(line("Zürich "), line("😀"), line("."), last()),
        [TextDelta("Zürich "), TextDelta("😀"), TextDelta("."), Stop("end", USED)],
    ),
    "a text with its end in one line": (streamed(last(content="Hi")), [TextDelta("Hi"), Stop("end", USED)]),
    "reasoning, then a text": (
        streamed(line(thinking="Hm, "), line(thinking="ok."), line("a"), last()),
        [ThinkDelta("Hm, "), ThinkDelta("ok."), TextDelta("a"), Stop("end", USED)],
    ),
    "two calls in one line": (
        streamed(line("Let me."), line(tool_calls=[call("f", {"x": "ä"}, "c1", index=0), call("g", {"y": [1, None]}, "c2", index=1)]), last()),
        [
            TextDelta("Let me."), CallDelta(0, "c1", "f", '{"x": "ä"}', True),
            CallDelta(1, "c2", "g", '{"y": [1, null]}', True), Stop("tools", USED),
        ],
    ),
    "calls over several lines, each with the index 0 or none, and a text between them": (
        streamed(
            line(tool_calls=[call("f", {"x": 1}, index=0)]), line("and"), line(tool_calls=[call("f", {}, index=0)]),
            line(tool_calls=[call("g")]), last(),
        ),
        [
            CallDelta(0, "", "f", '{"x": 1}', True), TextDelta("and"), CallDelta(1, "", "f", "{}", True),
            CallDelta(2, "", "g", "{}", True), Stop("tools", USED),
        ],
    ),
    "an answer in one piece": (
        streamed(last(content="a", thinking="t", tool_calls=[call("f", {"x": 1.5})])).rstrip(),
        [ThinkDelta("t"), TextDelta("a"), CallDelta(0, "", "f", '{"x": 1.5}', True), Stop("tools", USED)],
    ),
    "arguments as their text": (
        streamed(line(tool_calls=[call("f", '{"x":1}')]), last()),
        [CallDelta(0, "", "f", '{"x":1}', True), Stop("tools", USED)],
    ),
    "a model that was only loaded": (
        streamed({"model": "m", "created_at": "t", "message": {"role": "assistant", "content": ""}, "done_reason": "load", "done": True}),
        [Stop("end")],
    ),
    "lines that end in \\r\\n, blank lines, no last line end": (
        b"\r\n".join([json.dumps(line("a")).encode(), b"", b" ", json.dumps(line("b")).encode(), b"", json.dumps(last()).encode()]),
        [TextDelta("a"), TextDelta("b"), Stop("end", USED)],
    ),
    "nothing counted, no reason, no message": (streamed(line("a"), {"done": True}), [TextDelta("a"), Stop("end")]),
    "what comes after the end": (streamed(line("a"), last(), line("late"), {"error": "late"}), [TextDelta("a"), Stop("end", USED)]),
    "unknown fields, nulls, odd types": (
        streamed(
            {}, {"message": None, "done": None, "x": {"y": 1}}, {"message": {"images": None, "logprobs": [1]}},
            line(None, thinking=7, tool_calls="no"), line(["a"], tool_calls=[None, 7, {}, {"function": None}]),
            line("a", tool_calls=[], done="true"), line(tool_calls=[call(None, [1], 7)]),
            last(7, {"prompt_eval_count": "x", "eval_count": -1}),
        ),
        [TextDelta("a"), CallDelta(0, "", "", "[1]", True), Stop("tools", Usage())],
    ),
    "bytes that are no UTF-8, half an emoji": (
        b'{"message":{"content":"a\xf0\x9f"},"done":false}\n{"message":{"content":"\\ud83d"}}\n' + streamed(last()),
        [TextDelta("a\ufffd"), TextDelta("\ufffd"), Stop("end", USED)],
    ),
}  # fmt: skip


def read(data: bytes, cuts: list[int], **end: Any) -> tuple[list[AnyDelta], str]:
    answer, out = Answer(), list[AnyDelta]()
    try:
        for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True):
            answer.feed(data[start:stop], out)
        answer.end(out, **({"framed": True} | end))
    except ProviderError as error:
        return out, str(error)
    return out, ""


@pytest.mark.parametrize("row", ROWS)
def test_a_recorded_answer_reads_the_same_however_it_was_cut(row: str) -> None:
    data, expected = ROWS[row]
    assert read(data, []) == (expected, "")
    assert read(data, list(range(1, len(data)))) == (expected, "")
    for cut in range(1, len(data)):
        assert read(data, [cut]) == (expected, "")


@given(st.sampled_from(sorted(ROWS)), st.lists(st.integers(1, 1500), unique=True))
def test_random_cuts(row: str, cuts: list[int]) -> None:
    data, expected = ROWS[row]
    assert read(data, sorted(cut for cut in cuts if cut < len(data))) == (expected, "")


@pytest.mark.parametrize("row", ["text", "reasoning, then a text", "two calls in one line"])
def test_a_delta_comes_as_soon_as_its_line_is_whole(row: str) -> None:
    data, expected = ROWS[row]
    answer, out = Answer(), list[AnyDelta]()
    for said in data.splitlines(keepends=True):
        assert not answer.ended
        assert not answer.quiet
        before = len(out)
        answer.feed(said, out)
        assert len(out) > before
    assert (out, answer.ended, answer.quiet) == (expected, True, True)
    answer.end(out, framed=False)
    assert out == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("stop", "end"), ("length", "length"), ("load", "end"), ("unload", "end"), ("new one", "end"), (None, "end")],
)
def test_done_reasons(reason: str | None, expected: str) -> None:
    assert read(streamed(last(reason)), [])[0] == [Stop(expected, USED)]  # type: ignore[arg-type]
    said = read(streamed(line(tool_calls=[call("f")]), last(reason)), [])[0]
    assert said[-1] == Stop("tools" if expected == "end" else expected, USED)  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "bytewise"])
@pytest.mark.parametrize("error", ["Oh no", {"message": "Oh no", "code": 503}])
def test_an_error_comes_after_all_that_came_before_it(error: Any, cut: bool) -> None:
    data = streamed(line("a"), line(tool_calls=[call("f")]), {"error": error}, line("late"), last())
    answer, out = Answer(), list[AnyDelta]()
    with pytest.raises(ProviderError, match="reported an error: Oh no") as caught:  # noqa: PT012 - the feed it comes in
        for at in range(len(data)) if cut else [0]:
            answer.feed(data[at : at + 1] if cut else data, out)
    assert out == [TextDelta("a"), CallDelta(0, "", "f", "{}", True)]
    assert caught.value.retryable is isinstance(error, dict)


BROKEN = ProviderError("the wire broke", retryable=True)
TEXT, LAST = streamed(line("a")), streamed(last())


@pytest.mark.parametrize(
    ("data", "end", "expected", "error"),
    [
        (TEXT, {"framed": False}, [TextDelta("a")], "the answer was cut"),
        (TEXT, {"framed": True}, [TextDelta("a")], "the answer was cut"),
        (TEXT, {"framed": False, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (TEXT + LAST[:-9], {"framed": True}, [TextDelta("a")], "cannot be read"),
        (TEXT + LAST[:-9], {"framed": True, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (TEXT + LAST, {"framed": False, "broken": BROKEN}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT + LAST[:-1], {"framed": False}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT + b"oops\n", {}, [TextDelta("a")], "cannot be read: oops"),
        (b"[]\n", {}, [], "cannot be read: []"),
        (b'{"message":"a"}\n', {}, [], "cannot be read"),
        (b"7\n", {}, [], "cannot be read: 7"),
        (b"data: {}\n\n", {}, [], "cannot be read: data: {}"),
        (b"", {}, [], "the provider sent an empty answer"),
        (b"\n\n", {}, [], "the provider sent an empty answer"),
        (b"<!doctype html>", {}, [], "a web page"),
    ],
)  # fmt: skip
def test_when_an_answer_is_whole(data: bytes, end: dict[str, Any], expected: list[AnyDelta], error: str) -> None:
    out, said = read(data, [], **end)
    assert out == expected
    assert error in said
    assert bool(said) == bool(error)


def test_lines_have_a_limit() -> None:
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        Answer(10).feed(b'{"x": 12345678}', [])


def test_a_line_costs_a_few_microseconds() -> None:
    piece = streamed(line("word"))
    answer, out = Answer(), list[AnyDelta]()
    began = time.process_time()
    for _ in range(20_000):
        answer.feed(piece, out)
    spent = time.process_time() - began
    assert len(out) == 20_000
    assert spent / 20_000 < 30e-6  # about 2 µs; the rest is for a busy machine


WORDS = st.sampled_from(
    [
        "message", "content", "thinking", "tool_calls", "function", "name", "arguments", "id", "index", "done",
        "done_reason", "stop", "length", "prompt_eval_count", "eval_count", "error", "code",
    ]
)  # fmt: skip
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(1e300) | st.text(max_size=3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(ODD, max_size=4))
def test_whatever_a_server_sends_it_is_deltas_or_a_provider_error(values: list[Any]) -> None:
    out, error = read(b"".join([json.dumps(value).encode() + b"\n" for value in values]), [])
    assert [delta for delta in out if isinstance(delta, Stop)] == ([] if error else out[-1:])


# ---- requests ------------------------------------------------------------------------

WEATHER = ToolSpec("weather", "Current weather.", {"properties": {"city": {"type": "string"}}, "required": ["city"]})
CLOCK = ToolSpec("clock", "The time.", {})
QWEN, GPT = "qwen3:8b", "gpt-oss:20b"


def body(*messages: Message, dialect: str = "native", model: str = QWEN, **request: Any) -> dict[str, Any]:
    settings = Settings(**request.pop("settings", {}))
    said = body_of(Request(messages, dialects.get(dialect), settings=settings, **request), model)
    assert json.loads(bytes_of(said)) == said  # nothing in it but JSON
    return said


def says(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content} | more


def tool(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def test_the_whole_of_a_plain_request() -> None:
    assert body(system("Be kind."), user("Hi"), assistant("Hello."), assistant(""), user("Bye"), system="Be brief.") == {
        "model": QWEN,
        "messages": [
            says("system", "Be brief."), says("system", "Be kind."), says("user", "Hi"), says("assistant", "Hello."),
            says("user", "Bye"),
        ],
        "stream": True,
    }  # fmt: skip


CLOCK_TOOL = tool("clock", "The time.", {"type": "object", "properties": {}})
WEATHER_TOOL = tool("weather", "Current weather.", {"type": "object"} | WEATHER.schema)


def test_tools_stand_in_the_order_of_their_names_with_a_schema_each() -> None:
    said = body(user("Hi"), tools=(WEATHER, CLOCK))
    assert bytes_of(said) == bytes_of(body(user("Hi"), tools=(CLOCK, WEATHER)))
    assert said["tools"] == [CLOCK_TOOL, WEATHER_TOOL]
    assert "tools" not in body(user("Hi"))


FIRST = ToolCall("2.1", "weather", {"city": "Zürich"}, "", "c1")
SECOND = ToolCall("2.2", "clock", {}, "{}")
ROUND = (
    user("Hi"),
    Message("assistant", (ThinkPart("Hm. "), ThinkPart("So."), TextPart("Let me see."), Vendor("gemini", {"x": 1}), FIRST, SECOND)),
    Message(
        "tool",
        (
            ToolResult("2.1", "ok", (TextPart("rain"), ImagePart("image/jpeg", b"\xff\xd8"), ImagePart(url="https://h/i.png"))),
            ToolResult("2.2", "timeout", (TextPart("too slow"),)),
            DataPart("rejected", {"id": "2.4", "name": "clock", "raw": "{", "why": "truncated"}),
        ),
    ),
)  # fmt: skip


def test_a_round_goes_back_with_names_objects_and_reasoning_and_images_follow_their_results() -> None:
    _, answer, first, second, pictures, told, rest = body(*ROUND, user("And?"), tools=(WEATHER, CLOCK))["messages"]
    assert answer == {
        "role": "assistant",
        "content": "Let me see.",
        "thinking": "Hm. So.",
        "tool_calls": [
            {"id": "c1", "function": {"name": "weather", "arguments": {"city": "Zürich"}}},
            {"function": {"name": "clock", "arguments": {}}},
        ],
    }
    assert first == {
        "role": "tool",
        "content": "rain\n(something that cannot be shown here: https://h/i.png)",
        "tool_name": "weather",
        "tool_call_id": "c1",
    }
    assert second | {"content": ""} == {"role": "tool", "content": "", "tool_name": "clock"}
    assert "too slow" in second["content"]
    assert pictures == says("user", "Belongs to the result of weather:", images=["/9g="])
    assert "truncated" in told["content"] or "clock" in told["content"]
    assert rest == says("user", "And?")


def test_reasoning_goes_back_with_calls_only() -> None:
    said = body(user("Hi"), Message("assistant", (ThinkPart("Hm."), TextPart("Hello."))), user("Bye"))
    assert said["messages"][1] == says("assistant", "Hello.")


def test_images_files_and_data() -> None:
    parts = (
        TextPart("Look"),
        TextPart(":"),
        ImagePart("image/jpeg", b"\xff\xd8"),
        ImagePart("image/png", url="data:image/png;base64,aaaa"),
        FilePart("a.png", "image/png", b"\x89"),
        FilePart("a.txt", "text/plain", "Hä?".encode()),
        DataPart("place", {"lat": 1}),
    )
    assert body(Message("user", parts))["messages"] == [
        says("user", 'Look:\n\na.txt:\nHä?\n\n{"lat": 1}', images=["/9g=", "aaaa", "iQ=="])
    ]


@pytest.mark.parametrize(
    ("part", "fix"),
    [
        (ImagePart("image/png", url="https://h/i.png"), "send its bytes"),
        (ImagePart("image/png", url="data:image/svg+xml,<svg/>"), "send its bytes"),
        (FilePart("a.png", "image/png", url="https://h/i.png"), "send its bytes"),
        (FilePart("a.pdf", "application/pdf", b"%PDF"), "send its text"),
        (FilePart("a.txt", "text/plain", url="https://h/a.txt"), "send its text"),
        (AudioPart("audio/wav", b"RIFF"), "as text"),
    ],
)
def test_what_the_service_cannot_be_told_is_named_with_the_fix_or_noted_where_a_tool_gave_it(
    part: Any, fix: str
) -> None:
    with pytest.raises(UsageError, match=fix):
        body(Message("user", (part,)))
    said = body(*ROUND[:2], Message("tool", (ToolResult("2.1", "ok", (part,)),)))["messages"][2]
    assert "cannot be shown" in said["content"]


def options(**fields: Any) -> dict[str, Any]:
    return {"options": fields}


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
SETTINGS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"temperature": 0.0}, QWEN, options(temperature=0.0)),
    ({"max_tokens": 5, "stop": ("a", "b")}, QWEN, options(num_predict=5, stop=["a", "b"])),
    ({"tool_choice": "auto"}, QWEN, {}),
    ({"tool_choice": "required"}, QWEN, {}),
    ({"tool_choice": "weather"}, QWEN, {"tools": [WEATHER_TOOL]}),
    ({"thinking": "off"}, QWEN, {"think": False}),
    ({"thinking": "minimal"}, QWEN, {"think": True}),
    ({"thinking": "high"}, QWEN, {"think": True}),
    ({"thinking": "off"}, GPT, {"think": "low"}),
    ({"thinking": "minimal"}, GPT, {"think": "low"}),
    ({"thinking": "low"}, GPT, {"think": "low"}),
    ({"thinking": "medium"}, "hf.co/unsloth/gpt-oss-20b:Q4", {"think": "medium"}),
    ({"thinking": "high"}, GPT, {"think": "high"}),
    ({"response": "text", "cache": "auto"}, QWEN, {}),
    ({"response": "json"}, QWEN, {"format": "json"}),
    ({"response": SCHEMA}, QWEN, {"format": SCHEMA}),
    ({"extra_body": {"keep_alive": "10m", "think": "max"}}, QWEN, {"keep_alive": "10m", "think": "max"}),
    ({"extra_body": {"options": {"num_ctx": 16384}}}, QWEN, options(num_ctx=16384)),
    ({"extra_body": {"options": {"num_ctx": 8, "num_predict": 7}}, "max_tokens": 5}, QWEN, options(num_predict=7, num_ctx=8)),
    ({"extra_body": {"options": {"temperature": None}}, "temperature": 1.0, "max_tokens": 5}, QWEN, options(num_predict=5)),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "model", "expected"), SETTINGS)
def test_settings(settings: dict[str, Any], model: str, expected: dict[str, Any]) -> None:
    plain = body(user("Hi"), tools=(CLOCK, WEATHER), model=model)
    assert body(user("Hi"), tools=(CLOCK, WEATHER), model=model, settings=settings) == plain | expected


def test_none_takes_a_field_away() -> None:
    assert "options" not in body(user("Hi"), settings={"max_tokens": 5, "extra_body": {"options": None}})
    assert "tools" not in body(user("Hi"), tools=(CLOCK,), settings={"tool_choice": "none"})


def test_a_text_dialect_goes_through_the_system_text_and_plain_messages() -> None:
    said = body(*ROUND, dialect="tinyrag", tools=(WEATHER,), system="Be brief.", settings={"tool_choice": "required"})
    assert "tools" not in said
    assert said["messages"][0]["content"].startswith("Be brief.")
    assert '<tool name="weather">' in said["messages"][2]["content"]
    assert "thinking" not in said["messages"][2]
    assert "rain" in said["messages"][3]["content"]


# ---- the address ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        (" \t", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("10.0.0.2:80", "http://10.0.0.2:80"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("'0.0.0.0:8080'", "http://127.0.0.1:8080"),
        ("http://0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("::", "http://127.0.0.1:11434"),
        ("[::]:8080", "http://127.0.0.1:8080"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("http://[::1]:8080/x/", "http://[::1]:8080/x"),
        ("http://box", "http://box"),
        ("https://ollama.com", "https://ollama.com"),
        ("https://u:p@box:8443/ollama/", "https://u:p@box:8443/ollama"),
        ("box/ollama", "http://box:11434/ollama"),
    ],
)
def test_ollama_host_in_its_forms(monkeypatch: pytest.MonkeyPatch, said: str, url: str) -> None:
    assert address(said) == url
    monkeypatch.setenv("OLLAMA_HOST", said)
    assert Ollama("m")._at.url == url + "/api/chat"
    monkeypatch.delenv("OLLAMA_HOST")
    assert Ollama("m", base_url=said)._at.url == url + "/api/chat"
    assert Ollama("m")._at.url == "http://127.0.0.1:11434/api/chat"


def test_what_is_no_address_or_no_model_is_a_usage_error() -> None:
    for wrong in ("ftp://box", "box:port"):
        with pytest.raises(UsageError, match="base_url"):
            Ollama("m", base_url=wrong)
    with pytest.raises(UsageError, match="ollama list"):
        Ollama("")


# ---- over HTTP -----------------------------------------------------------------------

KEY = "a-very-secret-key-0123456789"


def lines(*said: Any) -> list[bytes]:
    return [streamed(one) for one in said]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def at(url: str) -> str:
    return url.removesuffix("/v1")


async def test_it_is_asked_at_its_address_and_needs_no_key(wire: Any) -> None:
    async with wire.Server(wire.streamed(*lines(line("Hel"), line("lo"), last()))) as server:
        deltas, failed = await wire.heard(Ollama(QWEN, base_url=at(server.url)), wire.ask("hi", temperature=0.5))
    assert failed is None
    assert deltas == [TextDelta("Hel"), TextDelta("lo"), Stop("end", USED)]
    (asked,) = server.asked
    assert asked.path == "/api/chat"
    assert "authorization" not in asked.headers
    assert asked.headers["accept"].startswith("application/x-ndjson")
    assert (asked.body["model"], asked.body["stream"], asked.body["options"]) == (QWEN, True, {"temperature": 0.5})


async def test_a_key_is_sent_where_it_is_safe_and_never_shown(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    body = json.dumps({"error": f"no: {KEY}"}).encode()
    async with wire.Server(wire.sized(body, status="401 No")) as server:
        provider = Ollama("m", base_url=at(server.url))
        _, failed = await wire.heard(provider)
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert "OLLAMA_API_KEY" in str(failed)
    assert KEY not in str(failed) + repr(provider)
    assert Ollama("m", base_url="http://far.example")._exchange._credential.known == ""
    monkeypatch.delenv("OLLAMA_API_KEY")
    _, failed = await wire.heard(Ollama("m", base_url="https://ollama.com"))
    assert "OLLAMA_API_KEY is not set" in str(failed)


async def test_an_answer_in_one_piece(wire: Any) -> None:
    said = json.dumps(last(content="Hi", tool_calls=[call("look", {"q": "x"})])).encode()
    async with wire.Server(wire.sized(said)) as server:
        deltas, failed = await wire.heard(Ollama("m", base_url=at(server.url), stream=False))
    assert failed is None
    assert deltas == [TextDelta("Hi"), CallDelta(0, "", "look", '{"q": "x"}', True), Stop("tools", USED)]
    assert server.asked[0].body["stream"] is False


async def test_a_delta_is_handed_on_before_the_next_byte_and_leaving_hangs_up(wire: Any) -> None:
    async with wire.Server(wire.streamed(*lines(line("a")), wire.HANG)) as server:
        async with aclosing(Ollama("m", base_url=at(server.url)).stream(wire.ask())) as deltas:
            assert await asyncio.wait_for(anext(deltas), 5) == TextDelta("a")
        await asyncio.wait_for(server.gone.wait(), 1)


@pytest.mark.parametrize(
    ("status", "error", "retryable", "fix"),
    [
        ("404 No", "model 'qwen3:8b' not found", False, "ollama pull qwen3:8b"),
        ("400 Bad", "registry/gemma does not support tools", False, 'dialect="hermes"'),
        ("400 Bad", '"gemma" does not support thinking', False, "leave Settings.thinking out"),
        ("400 Bad", "json: cannot unmarshal", False, ""),
        ("401 No", "unauthorized", False, "OLLAMA_API_KEY"),
        ("500 Oops", "model requires more system memory", True, ""),
        ("503 Busy", "server busy, please try again", True, ""),
    ],
)
async def test_refusals_say_what_to_do(wire: Any, status: str, error: str, retryable: bool, fix: str) -> None:
    async with wire.Server(wire.sized(json.dumps({"error": error}).encode(), status=status)) as server:
        deltas, failed = await wire.heard(Ollama(QWEN, base_url=at(server.url)))
    assert deltas == []
    assert isinstance(failed, ProviderError)
    assert (failed.status, failed.retryable) == (int(status[:3]), retryable)
    assert f"{error}{' - ' if fix else ''}" in str(failed)
    assert fix in str(failed)
    assert "OPENAI" not in str(failed)


async def test_nobody_there_says_how_to_start_it(wire: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        _, failed = await wire.heard(Ollama("m", base_url=f":{taken.getsockname()[1]}"))
    assert isinstance(failed, ProviderError)
    assert failed.retryable
    assert "cannot connect: is Ollama running? `ollama serve` starts it" in str(failed)


@pytest.mark.parametrize(
    ("rest", "error"),
    [(lines({"error": "model runner has stopped"}), "model runner has stopped"), ([], "the answer was cut")],
)
async def test_what_goes_wrong_in_the_stream_keeps_what_was_said(wire: Any, rest: list[bytes], error: str) -> None:
    async with wire.Server(wire.streamed(*lines(line("part")), *rest)) as server:
        deltas, failed = await wire.heard(Ollama("m", base_url=at(server.url)))
    assert deltas == [TextDelta("part")]
    assert isinstance(failed, ProviderError)
    assert error in str(failed)


async def test_it_is_chosen_by_name_and_the_name_may_hold_a_colon(wire: Any) -> None:
    provider = choose("ollama:qwen3:8b")
    assert isinstance(provider, Ollama)
    assert (provider.model, provider.name, provider.dialect) == ("qwen3:8b", "ollama", "auto")
    assert repr(provider) == "Ollama('qwen3:8b', base_url='http://127.0.0.1:11434')"
    with block_real_models():
        assert isinstance((await wire.heard(provider))[1], UsageError)


@ss.tool(read_only=True)
async def look(q: str) -> str:
    """Look it up."""
    return f"found {q}"


async def test_a_turn_with_a_tool(wire: Any) -> None:
    calls = line(thinking="Hm."), line(tool_calls=[call("look", {"q": "x"}), call("look", {"q": "y"})]), last()
    async with wire.Server(wire.streamed(*lines(*calls)), wire.streamed(*lines(line("It is x."), last()))) as server:
        engine = ss.Engine(Ollama(QWEN, base_url=at(server.url)), [look])
        async with engine.run("What is x?") as run:
            await run.result()
    assert (run.answer, run.reason, run.usage) == ("It is x.", "done", USED + USED)
    first, second = [asked.body for asked in server.asked]
    assert first["tools"][0]["function"]["name"] == "look"
    answer, one, two = second["messages"][-3:]
    assert answer["thinking"] == "Hm."
    assert [said["function"]["arguments"] for said in answer["tool_calls"]] == [{"q": "x"}, {"q": "y"}]
    assert (one["role"], one["tool_name"]) == ("tool", "look")
    assert "found x" in one["content"]
    assert "found y" in two["content"]
