"""Anthropic's Messages API: recorded answers cut anywhere say the same, and a request becomes the body the API
takes. Where the vendor's own SDK is installed, it judges both: it types the bodies and reads the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream import dialects
from sidestream.dialects.reader import Reader
from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallClosed, CallDelta, CallRejected, RoundStarted, Stop, TextDelta, ThinkDelta
from sidestream.fold import Fold
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
from sidestream.providers.anthropic_read import Answer
from sidestream.providers.anthropic_write import MAX_TOKENS, body_of
from sidestream.providers.openai_write import bytes_of
from sidestream.providers.provider import Request, Settings

# ---- answers -------------------------------------------------------------------------


def event(kind: str, **fields: Any) -> bytes:
    body = json.dumps({"type": kind} | fields, ensure_ascii=False)
    return f"event: {kind}\ndata: {body}\n\n".encode()


def begin(index: int, kind: str, **fields: Any) -> bytes:
    return event("content_block_start", index=index, content_block={"type": kind} | fields)


def piece(index: int, kind: str, **fields: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": f"{kind}_delta"} | fields)


def close(index: int) -> bytes:
    return event("content_block_stop", index=index)


def finish(reason: str | None, **usage: Any) -> bytes:
    return event(
        "message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 7} | usage
    )


def message(*content: Any, reason: str = "end_turn") -> bytes:
    return json.dumps(
        {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": content,
            "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 7},
        },
        indent=1,
    ).encode()  # fmt: skip


START = event(
    "message_start",
    message={
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    },
)  # fmt: skip
PING, END = event("ping"), event("message_stop")
USED = Usage(11, 7)
SIGNED = {"type": "thinking", "thinking": "Hm, ok.", "signature": "c2ln"}
FOUND = {"type": "web_search_result", "url": "https://h", "title": "T", "encrypted_content": "e", "page_age": None}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rain"}}
RESULT = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [FOUND]}
CITATION = {
    "type": "web_search_result_location", "url": "https://h", "title": "T", "encrypted_index": "i", "cited_text": "wet",
}  # fmt: skip
CITED = {"type": "text", "text": "It rains.", "citations": [CITATION]}
SCRIPT = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}

ROWS: dict[str, tuple[bytes, list[AnyDelta]]] = {
    "text": (
        START + begin(0, "text", text="") + PING + piece(0, "text", text="Zürich ") + piece(0, "text", text="😀")
        + close(0) + finish("end_turn") + END,
        [TextDelta("Zürich "), TextDelta("😀"), Stop("end", USED)],
    ),
    "thinking with its signature, two calls whose arguments come in pieces": (
        START + begin(0, "thinking", thinking="", signature="")
        + piece(0, "thinking", thinking="Hm, ") + piece(0, "thinking", thinking="ok.")
        + piece(0, "signature", signature="c2ln") + close(0)
        + begin(1, "text", text="") + piece(1, "text", text="Let me.") + close(1)
        + begin(2, "tool_use", id="toolu_a", name="f", input={}) + piece(2, "input_json", partial_json="")
        + piece(2, "input_json", partial_json='{"x": "a') + piece(2, "input_json", partial_json='\\n"}') + close(2)
        + begin(3, "tool_use", id="toolu_b", name="g", input={}) + piece(3, "input_json", partial_json='{"y": [1]}') + close(3)
        + finish("tool_use", output_tokens=9, output_tokens_details={"thinking_tokens": 4}) + END,
        [
            ThinkDelta("Hm, "), ThinkDelta("ok."), Vendor("anthropic", SIGNED), TextDelta("Let me."),
            CallDelta(2, "toolu_a", "f"), CallDelta(2, args='{"x": "a'), CallDelta(2, args='\\n"}'), CallDelta(2, done=True),
            CallDelta(3, "toolu_b", "g"), CallDelta(3, args='{"y": [1]}'), CallDelta(3, done=True),
            Stop("tools", Usage(11, 9, 0, 4)),
        ],
    ),
    "thinking that is kept to itself, and redacted thinking": (
        START + begin(0, "thinking", thinking="", signature="") + piece(0, "signature", signature="c2ln") + close(0)
        + begin(1, "redacted_thinking", data="eHg=") + close(1)
        + begin(2, "text", text="") + piece(2, "text", text="a") + close(2) + finish("end_turn") + END,
        [
            Vendor("anthropic", {"type": "thinking", "thinking": "", "signature": "c2ln"}),
            Vendor("anthropic", {"type": "redacted_thinking", "data": "eHg="}),
            TextDelta("a"), Stop("end", USED),
        ],
    ),
    "a tool of the service, its result, and a text that cites it": (
        START + begin(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={})
        + piece(0, "input_json", partial_json='{"query": ') + piece(0, "input_json", partial_json='"rain"}') + close(0)
        + begin(1, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[FOUND]) + close(1)
        + begin(2, "text", text="") + piece(2, "text", text="So: ") + close(2)
        + begin(3, "text", text="", citations=[]) + piece(3, "citations", citation=CITATION)
        + piece(3, "text", text="It ") + piece(3, "text", text="rains.") + close(3)
        + finish("end_turn", input_tokens=20, cache_read_input_tokens=5, cache_creation_input_tokens=3) + END,
        [
            Vendor("anthropic", SEARCH), Vendor("anthropic", RESULT), TextDelta("So: "),
            TextDelta("It "), TextDelta("rains."), Vendor("anthropic", CITED), Stop("end", Usage(28, 7, 5)),
        ],
    ),
    "a call made by a script of the service": (
        START + begin(0, "tool_use", id="toolu_a", name="f", input={}, caller=SCRIPT)
        + piece(0, "input_json", partial_json="{}") + close(0) + finish("tool_use") + END,
        [
            Vendor("anthropic", {"type": "tool_use", "id": "toolu_a", "caller": SCRIPT}),
            CallDelta(0, "toolu_a", "f"), CallDelta(0, args="{}"), CallDelta(0, done=True), Stop("tools", USED),
        ],
    ),
    "calls without arguments are believed once something follows": (
        START + begin(0, "tool_use", id="a", name="f", input={}) + piece(0, "input_json", partial_json="") + close(0)
        + begin(1, "tool_use", id="b", name="f", input={}, caller={"type": "direct"}) + close(1)
        + finish("tool_use") + END,
        [
            CallDelta(0, "a", "f"), CallDelta(0, done=True), CallDelta(1, "b", "f"), CallDelta(1, done=True),
            Stop("tools", USED),
        ],
    ),
    "a call that was cut before its first argument is never done": (
        START + begin(0, "tool_use", id="a", name="f", input={}) + close(0) + finish("max_tokens") + END,
        [CallDelta(0, "a", "f"), Stop("length", USED)],
    ),
    "arguments that stand in the beginning of their block": (
        START + begin(0, "tool_use", id="a", name="f", input={"x": "ä"}) + close(0) + finish("tool_use") + END,
        [CallDelta(0, "a", "f"), CallDelta(0, args='{"x": "ä"}', done=True), Stop("tools", USED)],
    ),
    "texts that stand in the beginning of their block": (
        START + begin(0, "thinking", thinking="t", signature="s") + close(0) + begin(1, "text", text="a") + close(1)
        + finish("end_turn") + END,
        [
            ThinkDelta("t"), Vendor("anthropic", {"type": "thinking", "thinking": "t", "signature": "s"}), TextDelta("a"),
            Stop("end", USED),
        ],
    ),
    "a block of a later version, and events nobody knows": (
        START + event("weather", index=0) + begin(0, "compaction", content=None) + piece(0, "compaction", content="sum")
        + piece(0, "compaction", content="mary") + close(0) + piece(9, "glitter", sparkle=1) + finish("end_turn") + END,
        [Vendor("anthropic", {"type": "compaction", "content": "summary"}), Stop("end", USED)],
    ),
    "a tool of the service whose arguments were cut cannot go back": (
        START + begin(0, "server_tool_use", id="s", name="web_search", input={}) + piece(0, "input_json", partial_json='{"q')
        + close(0) + finish("max_tokens") + END,
        [Stop("length", USED)],
    ),
    "a refusal says why": (
        START + event("message_delta", delta={"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "bio"}},
                      usage={"output_tokens": 7}) + END,
        [
            Vendor("anthropic", {"type": "stop_details", "details": {"type": "refusal", "category": "bio"}}),
            Stop("filter", USED),
        ],
    ),
    "blocks without announcement, index or end": (
        event("content_block_delta", delta={"type": "text_delta", "text": "a"}) + finish(None) + finish("end_turn"),
        [TextDelta("a"), Stop("end", Usage(0, 7))],
    ),
    "nothing but a start": (START, [Stop("end", Usage(11, 1))]),
    "a proxy's own end mark": (finish("end_turn") + b"data: [DONE]\n\n", [Stop("end", Usage(0, 7))]),
    "odd types everywhere": (
        event("message_start", message=None) + event("content_block_start", index="0", content_block=7)
        + event("content_block_delta", index=None, delta=[1]) + event("message_delta", delta=None, usage=[1])
        + event("content_block_stop") + END,
        [Stop("end")],
    ),
    "bytes that are no UTF-8, half an emoji": (
        START + begin(0, "text", text="") + b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\xf0\x9f"}}\n\n'
        + b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}\n\n' + close(0) + finish("end_turn") + END,
        [TextDelta("a\ufffd"), TextDelta("\ufffd"), Stop("end", USED)],
    ),
    "a plain answer": (
        message(SIGNED, {"type": "text", "text": "So: "}, SEARCH, RESULT, CITED,
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "g", "input": {}}, reason="tool_use"),
        [
            ThinkDelta("Hm, ok."), Vendor("anthropic", SIGNED), TextDelta("So: "), Vendor("anthropic", SEARCH),
            Vendor("anthropic", RESULT), TextDelta("It rains."), Vendor("anthropic", CITED),
            CallDelta(5, "a", "f"), CallDelta(5, args='{"x": 1}', done=True),
            CallDelta(6, "b", "g"), CallDelta(6, done=True), Stop("tools", USED),
        ],
    ),
    "a plain answer that was cut in a call": (
        message({"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}, reason="max_tokens"),
        [CallDelta(0, "a", "f"), Stop("length", USED)],
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


@given(st.sampled_from(sorted(ROWS)), st.lists(st.integers(1, 2000), unique=True))
def test_random_cuts(row: str, cuts: list[int]) -> None:
    data, expected = ROWS[row]
    assert read(data, sorted(cut for cut in cuts if cut < len(data))) == (expected, "")


@pytest.mark.parametrize("row", ROWS)
def test_a_delta_comes_as_soon_as_its_record_is_whole(row: str) -> None:
    data, expected = ROWS[row]
    answer, out = Answer(), list[AnyDelta]()
    for record in data.split(b"\n\n")[:-1]:
        before = len(out)
        answer.feed(record + b"\n\n", out)
        if b"text_delta" in record or (b"input_json_delta" in record and b'""' not in record and b"server" not in data):
            assert len(out) == before + 1
    assert out == expected[: len(out)]
    assert answer.ended == data.endswith(END)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "end"), ("stop_sequence", "end"), ("tool_use", "tools"), ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"), ("pause_turn", "length"), ("refusal", "filter"), ("new_one", "end"),
    ],
)  # fmt: skip
def test_stop_reasons(reason: str, expected: str) -> None:
    assert read(START + finish(reason) + END, [])[0] == [Stop(expected, USED)]  # type: ignore[arg-type]
    assert read(message(reason=reason), [])[0] == [Stop(expected, USED)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "status", "retryable"),
    [
        ("overloaded_error", 529, True), ("api_error", 500, True), ("rate_limit_error", 429, True),
        ("timeout_error", 504, True), ("invalid_request_error", 400, False), ("authentication_error", 401, False),
        ("permission_error", 403, False), ("billing_error", 402, False), ("not_found_error", 404, False),
        ("request_too_large", 413, False), ("new_error", 0, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("streamed", [True, False])
def test_an_error_comes_after_all_that_came_before_it(kind: str, status: int, retryable: bool, streamed: bool) -> None:
    error = {"type": kind, "message": "Oh no"}
    before = START + begin(0, "text", text="a") if streamed else b""
    failure = event("error", error=error) if streamed else json.dumps({"type": "error", "error": error}).encode()
    answer, out = Answer(), list[AnyDelta]()

    def fed() -> None:
        for at in range(len(before + failure)):
            answer.feed((before + failure)[at : at + 1], out)
        answer.end(out, framed=True)

    with pytest.raises(ProviderError, match="Oh no") as caught:
        fed()
    assert out == ([TextDelta("a")] if streamed else [])
    assert (caught.value.status, caught.value.retryable) == (status, retryable)


BROKEN = ProviderError("the wire broke", retryable=True)
TEXT = START + begin(0, "text", text="a")


@pytest.mark.parametrize(
    ("data", "end", "expected", "error"),
    [
        (TEXT + close(0), {"framed": False}, [TextDelta("a")], "the answer was cut"),
        (TEXT + close(0), {"framed": True}, [TextDelta("a"), Stop("end", Usage(11, 1))], ""),
        (TEXT, {"framed": True}, [TextDelta("a")], "the answer was cut"),
        (TEXT, {"framed": False, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (TEXT + close(0)[:-9], {"framed": True, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (TEXT + close(0) + finish("end_turn"), {"framed": False, "broken": BROKEN}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT + finish("end_turn"), {"framed": False}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT + b'data: {"type":', {"framed": True}, [TextDelta("a")], "cannot be read"),
        (b"data: [1]\n\n", {}, [], "cannot be read: [1]"),
        (b"data: {oops\n\n", {}, [], "cannot be read: {oops"),
        (b"", {}, [], "the provider sent an empty answer"),
        (b": ping\n\n", {}, [], "holds no record; it begins: : ping"),
        (b"<!doctype html>", {}, [], "a web page"),
        (b'{"type":"message",', {}, [], "cannot be read"),
        (b'{"type":"message",', {"framed": False, "broken": BROKEN}, [], "the wire broke"),
    ],
)  # fmt: skip
def test_when_an_answer_is_whole(data: bytes, end: dict[str, Any], expected: list[AnyDelta], error: str) -> None:
    out, said = read(data, [], **end)
    assert out == expected
    assert error in said
    assert bool(said) == bool(error)


def test_only_the_end_mark_is_to_come_after_the_stop_reason_and_nothing_after_the_end_mark() -> None:
    answer, out = Answer(), list[AnyDelta]()
    answer.feed(TEXT, out)
    assert not answer.quiet
    answer.feed(close(0) + finish("end_turn"), out)
    assert (answer.quiet, answer.ended, answer.begun) == (True, False, True)
    answer.feed(END + TEXT + END, out)
    answer.end(out, framed=True)
    assert out == [TextDelta("a"), Stop("end", USED)]


def test_records_and_plain_answers_have_a_limit() -> None:
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        Answer(10).feed(b"data: 12345678901\n\n", [])
    answer = Answer(10)
    answer.feed(b'{"a', [])
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        answer.feed(b'":1234567}', [])


WORDS = st.sampled_from(
    [
        "type",
        "index",
        "delta",
        "content_block",
        "message",
        "usage",
        "error",
        "content",
        "stop_reason",
        "input",
        "id",
        "name",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_start",
        "message_delta",
        "message",
        "text",
        "thinking",
        "tool_use",
        "server_tool_use",
        "text_delta",
        "input_json_delta",
        "signature",
        "citations",
        "caller",
        "citations_delta",
        "signature_delta",
        "partial_json",
        "input_tokens",
        "output_tokens_details",
        "code",
        "status",
    ]
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(1e300) | st.text(max_size=3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(ODD, max_size=4), st.booleans())
def test_whatever_a_server_sends_it_is_deltas_or_a_provider_error(values: list[Any], plain: bool) -> None:
    data = b"".join(
        [json.dumps(value).encode() if plain else b"data: " + json.dumps(value).encode() + b"\n\n" for value in values]
    )
    out, error = read(data, [])
    assert [delta for delta in out if isinstance(delta, Stop)] == ([] if error else out[-1:])


# ---- requests ------------------------------------------------------------------------

WEATHER = ToolSpec("weather", "Current weather.", {"properties": {"city": {"type": "string"}}, "required": ["city"]})
CLOCK = ToolSpec("clock", "The time.", {})
MARK = {"cache_control": {"type": "ephemeral"}}
NEW, OLD = "claude-opus-4-8", "claude-haiku-4-5-20251001"


def body(
    *messages: Message, dialect: str = "native", model: str = NEW, cache: Any = "off", **request: Any
) -> dict[str, Any]:
    settings = Settings(**({"cache": cache} | request.pop("settings", {})))
    said = body_of(Request(messages, dialects.get(dialect), settings=settings, **request), model)
    assert json.loads(bytes_of(said)) == said  # nothing in it but JSON
    return said


def texts(*said: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in said]


def test_the_whole_of_a_plain_request() -> None:
    assert body(user("Hi"), assistant("Hello."), user("Bye"), system="Be brief.") == {
        "model": NEW,
        "max_tokens": MAX_TOKENS,
        "system": texts("Be brief."),
        "messages": [
            {"role": "user", "content": texts("Hi")},
            {"role": "assistant", "content": texts("Hello.")},
            {"role": "user", "content": texts("Bye")},
        ],
        "stream": True,
    }


def test_tools_stand_in_the_order_of_their_names_with_a_schema_each() -> None:
    said = body(user("Hi"), tools=(WEATHER, CLOCK))
    assert bytes_of(said) == bytes_of(body(user("Hi"), tools=(CLOCK, WEATHER)))
    assert said["tools"] == [
        {
            "name": "clock",
            "description": "The time.",
            "input_schema": {"type": "object", "properties": {}},
            "eager_input_streaming": True,
        },
        {
            "name": "weather",
            "description": "Current weather.",
            "input_schema": {"type": "object"} | WEATHER.schema,
            "eager_input_streaming": True,
        },
    ]
    request = Request((user("Hi"),), dialects.get("native"), tools=(CLOCK,))
    assert "eager_input_streaming" not in body_of(request, NEW, eager=False)["tools"][0]


FIRST = ToolCall("2.1", "weather", {"city": "Zürich"}, '{"city": "Zurich"}', "toolu_a")
SECOND = ToolCall("2.2", "clock", {}, "{}", "functions.clock:0")
THIRD = ToolCall("2.3", "clock", {"n": 1}, "", "toolu_a")
ROUND = (
    user("Hi"),
    Message(
        "assistant", (ThinkPart("Hm, ok."), Vendor("anthropic", SIGNED), TextPart("Let me see."), FIRST, SECOND, THIRD)
    ),
    Message(
        "tool",
        (
            ToolResult("2.1", "ok", (TextPart("rain"), ImagePart("image/jpeg", b"\xff\xd8"))),
            ToolResult("2.2", "timeout", (TextPart("too slow"),)),
            ToolResult("2.3", "ok"),
            DataPart("rejected", {"id": "2.4", "name": "clock", "raw": "{", "why": "truncated"}),
        ),
    ),
)


def test_a_round_goes_back_with_its_thinking_its_ids_and_results_first() -> None:
    _, answer, told = body(*ROUND, user("And?"), tools=(WEATHER, CLOCK))["messages"]
    assert answer == {
        "role": "assistant",
        "content": [
            SIGNED,
            *texts("Let me see."),
            {"type": "tool_use", "id": "toolu_a", "name": "weather", "input": {"city": "Zürich"}},
            {"type": "tool_use", "id": "functions_clock_0", "name": "clock", "input": {}},
            {"type": "tool_use", "id": "call_2_3", "name": "clock", "input": {"n": 1}},
        ],
    }
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9g="}}
    assert told["role"] == "user"
    first, second, third, *rest = told["content"]
    assert first == {"type": "tool_result", "tool_use_id": "toolu_a", "content": [*texts("rain"), picture]}
    assert (second["tool_use_id"], second["is_error"]) == ("functions_clock_0", True)
    assert "too slow" in second["content"][0]["text"]
    assert third == {"type": "tool_result", "tool_use_id": "call_2_3"}
    assert [block["type"] for block in rest] == ["text", "text"]  # the rejected call, and what the user said
    assert rest[1]["text"] == "And?"


def test_results_stand_first_even_behind_what_a_user_said() -> None:
    said = body(*ROUND[:2], user("Wait"), *ROUND[2:], tools=(WEATHER,))["messages"]
    assert [block["type"] for block in said[2]["content"]] == ["tool_result"] * 3 + ["text"] * 2


@pytest.mark.parametrize("status", ["error", "timeout", "refused", "cancelled", "unknown"])
def test_a_failed_result_says_so(status: Any) -> None:
    said = body(*ROUND[:2], Message("tool", (ToolResult("2.1", status, (TextPart("x"),)),)), tools=(WEATHER,))
    assert said["messages"][2]["content"][0]["is_error"] is True


@pytest.mark.parametrize("status", ["ok", "duplicate", "running"])
def test_a_result_that_did_not_fail_does_not(status: Any) -> None:
    said = body(*ROUND[:2], Message("tool", (ToolResult("2.1", status, (TextPart("x"),)),)), tools=(WEATHER,))
    assert "is_error" not in said["messages"][2]["content"][0]


def test_with_tools_off_those_that_were_called_are_named_and_may_not_be_called() -> None:
    said = body(*ROUND, settings={"tool_choice": "required"})
    assert [tool["name"] for tool in said["tools"]] == ["clock", "weather"]
    assert said["tool_choice"] == {"type": "none"}
    assert "tools" not in body(user("Hi"))


def blocks_of(*parts: Any) -> list[dict[str, Any]]:
    sent = body(user("Hi"), Message("assistant", parts), user("Go"))["messages"]
    return sent[1]["content"] if sent[1:2] and sent[1]["role"] == "assistant" else []


REDACTED = {"type": "redacted_thinking", "data": "eHg="}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((ThinkPart("x"), TextPart("a")), texts("a")),
        ((Vendor("openai", {"type": "thinking"}), TextPart("a")), texts("a")),
        ((Vendor("anthropic", REDACTED), Vendor("anthropic", SIGNED), TextPart("a")), [REDACTED, SIGNED, *texts("a")]),
        ((TextPart("a"), Vendor("anthropic", SIGNED)), texts("a")),
        ((TextPart(" "), Vendor("anthropic", SIGNED)), []),
        ((Vendor("anthropic", {"type": "stop_details", "details": {}}), TextPart("a")), texts("a")),
        (
            (Vendor("anthropic", SEARCH), Vendor("anthropic", RESULT), TextPart("So: It rains."), Vendor("anthropic", CITED)),
            [SEARCH, RESULT, *texts("So: "), CITED],
        ),
        ((TextPart("It rains."), Vendor("anthropic", CITED), TextPart("b")), [CITED, *texts("b")]),
        ((TextPart("changed"), Vendor("anthropic", CITED)), texts("changed")),
        ((TextPart("a"), Vendor("anthropic", SEARCH)), texts("a")),  # the service never finished it
        (
            (
                Vendor("anthropic", {"type": "tool_use", "id": "toolu_a", "caller": SCRIPT}),
                Vendor("anthropic", {"type": "tool_use", "id": "toolu_lost", "caller": SCRIPT}),
                FIRST,
            ),
            [{"type": "tool_use", "id": "toolu_a", "name": "weather", "input": {"city": "Zürich"}, "caller": SCRIPT}],
        ),
    ],
)  # fmt: skip
def test_what_the_service_gave_goes_back_as_it_came(parts: Any, expected: list[dict[str, Any]]) -> None:
    assert blocks_of(*parts) == expected


def test_a_tool_of_the_service_that_waits_for_ours_stays() -> None:
    answer = Message("assistant", (Vendor("anthropic", SEARCH), FIRST))
    told = Message("tool", (ToolResult("2.1", "ok", (TextPart("rain"),)),))
    assert body(user("Hi"), answer, told)["messages"][1]["content"][0] == SEARCH
    paused = body(user("Hi"), Message("assistant", (Vendor("anthropic", SEARCH),)))
    assert paused["messages"][1]["content"] == [SEARCH]


def test_neighbours_of_one_role_become_one_message() -> None:
    said = body(user("a"), user("b"), assistant("c"), assistant("d"), system("New rules."), user("e"))
    assert said["messages"] == [
        {"role": "user", "content": texts("a", "b")},
        {"role": "assistant", "content": texts("c", "d")},
        {"role": "user", "content": texts("New rules.", "e")},
    ]


def test_system_messages_that_open_a_conversation_join_the_system_text() -> None:
    assert body(system("A"), system("B"), user("Hi"), system="S")["system"] == texts("S\n\nA\n\nB")


def test_images_files_and_sounds() -> None:
    parts = (
        TextPart("Look:"),
        TextPart(""),
        ImagePart("image/jpeg", b"\xff\xd8"),
        ImagePart(url="https://h/i.png"),
        FilePart("i.webp", "image/webp", b"\xff\xd8"),
        FilePart("a.pdf", "application/pdf", b"%PDF"),
        FilePart("", "application/pdf", url="https://h/a.pdf"),
        FilePart("a.txt", "text/plain", "Hä?".encode()),
        FilePart("a.bin", "application/octet-stream", b"123"),
        AudioPart("audio/wav", b"RIFF"),
        DataPart("place", {"lat": 1}),
    )
    (message,) = body(Message("user", parts))["messages"]
    jpeg = {"type": "base64", "media_type": "image/jpeg", "data": "/9g="}
    assert message["content"] == [
        *texts("Look:"),
        {"type": "image", "source": jpeg},
        {"type": "image", "source": {"type": "url", "url": "https://h/i.png"}},
        {"type": "image", "source": jpeg | {"media_type": "image/webp"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            "title": "a.pdf",
        },
        {"type": "document", "source": {"type": "url", "url": "https://h/a.pdf"}},
        *texts(
            "a.txt:\nHä?",
            "(a.bin, application/octet-stream: 3 bytes; its content cannot be shown here)",
            "(sound, audio/wav: 4 bytes; it cannot be heard here)",
            '{"lat": 1}',
        ),
    ]


ADAPTIVE = {"type": "adaptive", "display": "summarized"}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "object", "additionalProperties": True}, "b": {"type": "array"}},
}
CLOSED = {
    "type": "object", "additionalProperties": False,
    "properties": {"a": {"type": "object", "additionalProperties": False}, "b": {"type": "array"}},
}  # fmt: skip

SETTINGS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"temperature": 0.0}, NEW, {}),
    ({"temperature": 0.0}, "claude-opus-4-6", {"temperature": 0.0}),
    ({"temperature": 0.0}, "my-model", {"temperature": 0.0}),
    ({"temperature": 0.0, "thinking": "off"}, OLD, {"temperature": 0.0, "thinking": {"type": "disabled"}}),
    ({"max_tokens": 5}, NEW, {"max_tokens": 5}),
    ({"stop": ("a", "b")}, NEW, {"stop_sequences": ["a", "b"]}),
    ({"tool_choice": "auto"}, NEW, {"tool_choice": {"type": "auto"}}),
    ({"tool_choice": "none"}, NEW, {"tool_choice": {"type": "none"}}),
    ({"tool_choice": "required"}, NEW, {"tool_choice": {"type": "any"}}),
    ({"tool_choice": "clock"}, NEW, {"tool_choice": {"type": "tool", "name": "clock"}}),
    ({"thinking": "off", "temperature": 1.0}, NEW, {"thinking": {"type": "disabled"}}),
    ({"thinking": "minimal"}, NEW, {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
    ({"thinking": "low"}, NEW, {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
    ({"thinking": "medium", "temperature": 1.0}, NEW, {"thinking": ADAPTIVE, "output_config": {"effort": "medium"}}),
    ({"thinking": "high"}, "claude-sonnet-4-6", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
    ({"thinking": "high"}, "my-model", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
    ({"thinking": "high"}, "claude-sonnet-5", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
    ({"thinking": "off"}, OLD, {"thinking": {"type": "disabled"}}),
    ({"thinking": "minimal"}, OLD, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    ({"thinking": "low", "temperature": 1.0}, OLD, {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
    ({"thinking": "medium"}, "claude-3-7-sonnet-20250219", {"thinking": {"type": "enabled", "budget_tokens": 10240}}),
    ({"thinking": "high"}, "claude-opus-4@20250514", {"thinking": {"type": "enabled", "budget_tokens": 16000}}),
    ({"thinking": "high", "max_tokens": 1500}, OLD, {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 1500}),
    ({"thinking": "high", "max_tokens": 1024}, OLD, {"max_tokens": 1024}),
    ({"response": SCHEMA}, NEW, {"output_config": {"format": {"type": "json_schema", "schema": CLOSED}}}),
    ({"response": "text"}, NEW, {}),
    ({"response": "json"}, NEW, {"system": texts("Answer with one JSON object and nothing else.")}),
    ({"extra_body": {"temperature": 1, "metadata": {}}, "temperature": 0.5}, NEW, {"temperature": 1, "metadata": {}}),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "model", "expected"), SETTINGS)
def test_settings(settings: dict[str, Any], model: str, expected: dict[str, Any]) -> None:
    plain = body(user("Hi"), tools=(CLOCK,), model=model)
    assert body(user("Hi"), tools=(CLOCK,), model=model, settings=settings) == plain | expected


def test_none_in_extra_body_takes_a_field_away() -> None:
    assert "stream" not in body(user("Hi"), settings={"extra_body": {"stream": None}})


def test_with_a_budget_an_answer_that_began_without_thinking_goes_on_without() -> None:
    bare = (user("Hi"), Message("assistant", (FIRST,)), Message("tool", (ToolResult("2.1", "ok", (TextPart("x"),)),)))
    assert "thinking" not in body(*bare, model=OLD, tools=(WEATHER,), settings={"thinking": "low"})
    assert "thinking" in body(*ROUND, model=OLD, tools=(WEATHER,), settings={"thinking": "low"})
    assert "thinking" in body(*bare, model=NEW, tools=(WEATHER,), settings={"thinking": "low"})


@pytest.mark.parametrize("cache", [None, "auto"])
def test_four_places_at_most_are_marked_for_the_cache(cache: Any) -> None:
    said = body(*ROUND, assistant("Wet."), user("So?"), system="S", tools=(WEATHER, CLOCK), cache=cache)
    assert said["system"] == [texts("S")[0] | MARK]
    assert [MARK.items() <= tool.items() for tool in said["tools"]] == [False, True]
    marked = [[MARK.items() <= block.items() for block in message["content"]] for message in said["messages"]]
    assert marked == [[False], [False] * 5, [False, False, False, True], [False], [True]]
    assert json.dumps(said).count("cache_control") == 4
    assert "cache_control" not in json.dumps(body(*ROUND, system="S", tools=(WEATHER,)))


def test_a_text_dialect_goes_through_the_system_text_and_plain_messages() -> None:
    said = body(*ROUND, dialect="tinyrag", tools=(WEATHER,), system="Be brief.", settings={"tool_choice": "required"})
    assert "tools" not in said
    assert "tool_choice" not in said
    assert said["system"][0]["text"].startswith("Be brief.")
    assert '<tool name="weather">' in said["messages"][1]["content"][1]["text"]
    assert "rain" in said["messages"][2]["content"][0]["text"]


# ---- there and back ------------------------------------------------------------------


def folded(deltas: list[AnyDelta], tools: tuple[ToolSpec, ...] = ()) -> list[Message]:
    """What the transcript holds of an answer."""
    reader: Reader = dialects.get("native").parser(tools)
    fold, stop = Fold(), "end"
    fold.add(RoundStarted(1))
    for delta in deltas:
        stop = delta.reason if isinstance(delta, Stop) else stop
        for item in reader.feed(delta):
            fold.add(item)
    for item in reader.close(stop):
        fold.add(item)
    return fold.messages


@pytest.mark.parametrize(
    "row",
    [
        "thinking with its signature, two calls whose arguments come in pieces",
        "thinking that is kept to itself, and redacted thinking",
        "a tool of the service, its result, and a text that cites it",
        "a plain answer",
    ],
)
def test_an_answer_that_was_read_is_written_as_it_was(row: str) -> None:
    (answer,) = folded(ROWS[row][1])
    sent = body(user("Hi"), answer, user("Go"))["messages"][1]["content"]
    again = json.dumps({"type": "message", "content": sent, "stop_reason": "end_turn"}).encode()
    assert folded(read(again, [])[0]) == [answer]
    assert [block["type"] for block in sent if block["type"] != "text"] == [
        part.data["type"] if isinstance(part, Vendor) else "tool_use"
        for part in answer.parts
        if isinstance(part, ToolCall) or (isinstance(part, Vendor) and part.data["type"] != "text")
    ]


def test_a_call_that_was_cut_never_runs() -> None:
    for row in ("a call that was cut before its first argument is never done", "a plain answer that was cut in a call"):
        reader = dialects.get("native").parser([ToolSpec("f", "", WEATHER.schema)])
        events = [item for delta in ROWS[row][1] for item in reader.feed(delta)] + reader.close("length")
        assert not [item for item in events if isinstance(item, CallClosed)]
        assert [item for item in events if isinstance(item, CallRejected)]


# ---- the vendor's own SDK --------------------------------------------------------------


def plain(value: Any) -> Any:
    """A validated value with everything lazy in it read, and so validated."""
    if hasattr(value, "model_dump"):  # some blocks may go back as the SDK's own answers
        return value.model_dump()
    match value:
        case str() | bytes():
            return value
        case Mapping():
            return {name: plain(item) for name, item in value.items()}
        case Iterable():
            return [plain(item) for item in value]
        case _:
            return value


BODIES: dict[str, dict[str, Any]] = {
    "a round": body(*ROUND, user("So?"), tools=(WEATHER, CLOCK), system="S", cache="auto"),
    "with tools off": body(*ROUND),
    "what the service gave": body(
        user("Hi"),
        Message("assistant", (Vendor("anthropic", REDACTED), Vendor("anthropic", SEARCH), Vendor("anthropic", RESULT),
                              TextPart("It rains."), Vendor("anthropic", CITED),
                              Vendor("anthropic", {"type": "tool_use", "id": "toolu_a", "caller": SCRIPT}), FIRST)),
        Message("tool", (ToolResult("2.1", "ok", (FilePart("a.pdf", "application/pdf", b"%PDF"),)),)),
        tools=(WEATHER,),
    ),
    "files": body(Message("user", (ImagePart(data=b"x"), ImagePart(url="https://h/i"), FilePart("a", "application/pdf", b"x"),
                                   FilePart("a", "application/pdf", url="https://h/a")))),
} | {
    f"{settings} for {model}": body(user("Hi"), tools=(CLOCK,), model=model, settings=settings)
    for settings, model, _ in SETTINGS
    if "extra_body" not in settings
}  # fmt: skip


@pytest.mark.parametrize("row", BODIES)
def test_the_sdk_types_the_body(row: str) -> None:
    params = pytest.importorskip("anthropic.types.message_create_params")
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(params.MessageCreateParamsStreaming)
    sent = {name: value for name, value in BODIES[row].items() if name != "temperature"}  # for older models only
    assert without_nulls(plain(adapter.validate_python(sent))) == without_nulls(sent)


SDK_ROWS = [row for row, (data, _) in ROWS.items() if data.startswith(START) and data.endswith(END)
            and not row.startswith(("a block of a later", "bytes that are no", "a tool of the service whose"))]  # fmt: skip


@pytest.mark.parametrize("row", SDK_ROWS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_sdk_reads_the_same_from_the_same_bytes(row: str) -> None:
    anthropic, httpx = pytest.importorskip("anthropic"), pytest.importorskip("httpx2")
    data, deltas = ROWS[row]
    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=data))
    with (
        httpx.Client(transport=transport) as http,
        anthropic.Anthropic(api_key="k", http_client=http) as client,
        client.messages.stream(model=NEW, max_tokens=9, messages=[{"role": "user", "content": "Hi"}]) as stream,
    ):
        said = stream.get_final_message()
    blocks = [block.model_dump(exclude_none=True) for block in said.content]
    assert "".join([delta.text for delta in deltas if isinstance(delta, TextDelta)]) == "".join(
        [block["text"] for block in blocks if block["type"] == "text"]
    )
    assert "".join([delta.text for delta in deltas if isinstance(delta, ThinkDelta)]) == "".join(
        [block["thinking"] for block in blocks if block["type"] == "thinking"]
    )
    kept = [
        json.loads(json.dumps(d.data)) for d in deltas if isinstance(d, Vendor) and d.data["type"] != "stop_details"
    ]
    assert [without_nulls(item) for item in kept if item["type"] not in ("tool_use", "text")] == [
        {name: value for name, value in block.items() if name not in ("parsed_output",)}
        for block in blocks
        if block["type"] not in ("text", "tool_use")
    ]
    calls = [part for message in folded(deltas) for part in message.calls]
    if said.stop_reason == "tool_use":
        assert [(call.wire, call.name, call.args) for call in calls] == [
            (block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"
        ]
    stop = deltas[-1]
    assert isinstance(stop, Stop)
    assert stop.usage is not None
    assert stop.usage.output == said.usage.output_tokens
    cached = said.usage.cache_read_input_tokens or 0
    assert stop.usage.input == said.usage.input_tokens + cached + (said.usage.cache_creation_input_tokens or 0)
    assert stop.usage.cached == cached


def without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {name: without_nulls(item) for name, item in value.items() if item is not None}
        case list():
            return [without_nulls(item) for item in value]
        case _:
            return value
