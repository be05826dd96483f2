"""Recorded answers of chat-completions servers, fed whole, bytewise and cut anywhere: always the same deltas."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, Stop, TextDelta, ThinkDelta
from sidestream.messages import Usage, Vendor
from sidestream.providers.openai_read import Answer, deltas_of

DONE = b"data: [DONE]\n\n"


def chunk(delta: Any, finish: Any = None, **more: Any) -> bytes:
    body = {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} | more
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def call(args: Any = "", **fields: Any) -> dict[str, Any]:
    """One `tool_calls` fragment; `name` goes into its function."""
    function = {"name": fields.pop("name")} if "name" in fields else {}
    return {"tool_calls": [fields | {"function": function | {"arguments": args}}]}


USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 5},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
END = chunk({}, "stop") + DONE

ROWS: dict[str, tuple[bytes, list[AnyDelta]]] = {
    "text, usage after the finish": (
        chunk({"role": "assistant", "content": ""})
        + chunk({"content": "Zürich "})
        + chunk({"content": "😀"})
        + chunk({}, "stop")
        + b'data: {"choices":[],"usage":%b}\n\n' % json.dumps(USAGE).encode()
        + DONE,
        [TextDelta("Zürich "), TextDelta("😀"), Stop("end", Usage(11, 7, 5, 3))],
    ),
    "usage in every chunk: the last one counts": (
        chunk({"content": "a"}, usage={"prompt_tokens": 1, "completion_tokens": 1})
        + chunk({"content": "b"}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 2})
        + chunk({}, None, usage=None)
        + DONE,
        [TextDelta("a"), TextDelta("b"), Stop("end", Usage(1, 2))],
    ),
    "usage of other shapes": (
        chunk({"content": "a"}, "stop", usage={"prompt_tokens": None, "completion_tokens": "7", "prompt_cache_hit_tokens": 4}),
        [TextDelta("a"), Stop("end", Usage(cached=4))],
    ),
    "no [DONE]": (chunk({"content": "a"}) + chunk({}, "stop"), [TextDelta("a"), Stop("end")]),
    "no finish reason": (chunk({"content": "a"}) + DONE, [TextDelta("a"), Stop("end")]),
    "neither": (chunk({"content": "a"}), [TextDelta("a"), Stop("end")]),
    "nothing but a role": (chunk({"role": "assistant", "content": None}) + DONE, [Stop("end")]),
    "nothing but [DONE]": (DONE, [Stop("end")]),
    "an empty finish reason is none": (
        chunk({"content": "a"}, "") + chunk({"content": "b"}, "length") + DONE,
        [TextDelta("a"), TextDelta("b"), Stop("length")],
    ),
    "a finish reason with every record": (
        chunk({"content": "a"}, "stop") + chunk({"content": "b"}, "stop") + DONE,
        [TextDelta("a"), TextDelta("b"), Stop("end")],
    ),
    "length": (chunk({"content": "a"}, "length") + DONE, [TextDelta("a"), Stop("length")]),
    "filter": (chunk({}, "content_filter") + DONE, [Stop("filter")]),
    "an unknown finish reason": (chunk({}, "eos") + DONE, [Stop("end")]),
    "keep-alives, \\r\\n, the end without a blank line": (
        b": PROCESSING\r\n\r\n" + chunk({"content": "a"}).replace(b"\n", b"\r\n") + b": ping\r\n\r\ndata: [DONE]",
        [TextDelta("a"), Stop("end")],
    ),
    "nulls everywhere": (
        chunk({"content": None, "tool_calls": None, "refusal": None, "reasoning": None, "function_call": None})
        + b'data: {"choices":null,"usage":null,"error":null}\n\ndata: {"choices":[{"delta":null}]}\n\n'
        + END,
        [Stop("end")],
    ),
    "Azure's opening chunk, further choices, unknown fields": (
        b'data: {"choices":[],"prompt_filter_results":[{"x":1}],"object":""}\n\n'
        + b'data: {"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"},'
        + b'{"index":0,"delta":{"content":"yes","audio":{}},"logprobs":null}]}\n\n'
        + END,
        [TextDelta("yes"), Stop("end")],
    ),
    "content as parts": (
        chunk({"content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": [{"text": "t"}]}, 7]}) + END,
        [TextDelta("a"), ThinkDelta("t"), Stop("end")],
    ),
    "reasoning under three names": (
        chunk({"reasoning_content": "a"})
        + chunk({"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "text": "b"}]})
        + chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": "c"}], "content": ""})
        + chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz"}], "content": "d"})
        + END,
        [
            ThinkDelta("a"),
            ThinkDelta("b"),
            ThinkDelta("c"),
            Vendor("openai", {"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz"}]}),
            TextDelta("d"),
            Stop("end"),
        ],
    ),
    "a refusal": (chunk({"refusal": "I can't."}) + END, [TextDelta("I can't."), Stop("end")]),
    "two calls": (
        chunk({"content": "Let me."})
        + chunk(call(index=0, id="a", name="f", type="function"))
        + chunk(call('{"x":', index=0))
        + chunk(call("1}", index=0))
        + chunk(call(index=1, id="b", name="g"))
        + chunk(call("{}", index=1))
        + chunk({}, "tool_calls")
        + DONE,
        [
            TextDelta("Let me."),
            CallDelta(0, "a", "f"),
            CallDelta(0, args='{"x":'),
            CallDelta(0, args="1}"),
            CallDelta(1, "b", "g"),
            CallDelta(1, args="{}"),
            Stop("tools"),
        ],
    ),
    "no index: by id, else the last": (
        chunk(call('{"a', id="a", name="f"))
        + chunk(call('":1}'))
        + chunk(call("{", id="b", name="g"))
        + chunk(call("}"))
        + chunk(call("", id="a"))
        + chunk({}, "tool_calls")
        + DONE,
        [
            CallDelta(0, "a", "f", '{"a'),
            CallDelta(0, args='":1}'),
            CallDelta(1, "b", "g", "{"),
            CallDelta(1, args="}"),
            CallDelta(0, "a"),
            Stop("tools"),
        ],
    ),
    "no index, no id: by the place in the list": (
        chunk({"tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}, {"function": {"name": "g"}}]}) + END,
        [CallDelta(0, "", "f", '{"x": 1}', True), CallDelta(1, "", "g"), Stop("end")],
    ),
    "odd types in a call": (
        chunk({"tool_calls": [{"index": "2", "id": 7, "function": {"name": None, "arguments": None}}, None, {}]}) + END,
        [CallDelta(2, "7"), Stop("end")],
    ),
    "calls without a finish reason": (
        chunk(call("{}", index=0, id="a", name="f")) + DONE,
        [CallDelta(0, "a", "f", "{}"), Stop("tools")],
    ),
    "a function call of old": (
        chunk({"function_call": {"name": "f", "arguments": ""}})
        + chunk({"function_call": {"arguments": "{}"}})
        + chunk({}, "function_call")
        + DONE,
        [CallDelta(0, "", "f"), CallDelta(0, args="{}"), Stop("tools")],
    ),
    "a plain JSON answer": (
        json.dumps(
            {
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "message": {
                            "role": "assistant",
                            "content": "Hä?",
                            "reasoning": "t",
                            "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
                        },
                        "finish_reason": "tool_calls",
                    }
                ],
                "usage": USAGE,
            },
            indent=1,
        ).encode(),
        [
            ThinkDelta("t"),
            TextDelta("Hä?"),
            CallDelta(0, "a", "f", "{}", True),
            Stop("tools", Usage(11, 7, 5, 3)),
        ],
    ),
    "an emoji cut into its surrogates, and a half that never finds the other": (
        b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"\\ude00b"}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"c\\ud83d"}}]}\n\n' + DONE,
        [TextDelta("a"), TextDelta("😀b"), TextDelta("\ufffdc"), TextDelta("\ufffd"), Stop("end")],
    ),
    "bytes that are no UTF-8": (
        b'data: {"choices":[{"delta":{"content":"a\xf0\x9f"}}]}\n\n' + END,
        [TextDelta("a\ufffd"), Stop("end")],
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


@given(st.sampled_from(sorted(ROWS)), st.lists(st.integers(1, 400), unique=True))
def test_random_cuts(row: str, cuts: list[int]) -> None:
    data, expected = ROWS[row]
    assert read(data, sorted(cut for cut in cuts if cut < len(data))) == (expected, "")


@pytest.mark.parametrize("row", ROWS)
def test_a_delta_comes_as_soon_as_its_record_is_whole(row: str) -> None:
    data, expected = ROWS[row]
    answer, out = Answer(), list[AnyDelta]()
    for record in data.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:
        answer.feed(record + b"\n\n", out)
        if record.startswith(b'data: {"id"'):
            assert out == expected[: len(out)]
    if data.endswith(DONE):
        assert out == expected
        assert answer.ended


FAILURES: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "an error object": (
        b'data: {"error":{"message":"no GPU","code":503,"type":"x"}}\n\n', "no GPU", {"status": 503, "retryable": True},
    ),
    "an error as text": (b'data: {"error":"bad thing"}\n\n', "bad thing", {"status": 0, "retryable": False}),
    "OpenRouter's, beside choices": (
        chunk({"content": ""}, "error", error={"code": 429, "message": "slow down"}),
        "slow down",
        {"status": 429, "retryable": True},
    ),
    "vLLM's, bare": (
        b'data: {"object":"error","message":"too long","type":"BadRequestError","code":400}\n\n',
        "too long",
        {"status": 400, "retryable": False},
    ),
    "llama.cpp's, in a field of its own": (
        b'error: {"code":500,"message":"slot lost","type":"server_error"}\n\n',
        "slot lost",
        {"status": 500, "retryable": True},
    ),
    "by its type": (
        b'data: {"error":{"message":"busy","type":"overloaded_error"}}\n\n', "busy", {"retryable": True},
    ),
    "a finish reason that is none": (chunk({}, "abort") + DONE, "finish reason abort", {"retryable": True}),
    "a record that is no JSON": (b"data: {oops\n\n", "cannot be read: {oops", {}),
    "a record that is no object": (b"data: [1]\n\n", "cannot be read: [1]", {}),
    "a record of another shape": (b'data: {"choices":{"a":1}}\n\n', "cannot be read", {}),
    "cut within a record": (b'data: {"choices":[{"de', "cannot be read", {}),
}  # fmt: skip


@pytest.mark.parametrize("row", FAILURES)
@pytest.mark.parametrize("bytewise", [False, True])
def test_a_failure_in_the_stream_is_an_error_after_all_that_came_before(row: str, bytewise: bool) -> None:
    data, words, fields = FAILURES[row]
    data = chunk({"content": "before"}) + data + (b"" if row.startswith("cut") else chunk({"content": "late"}) + DONE)
    answer, out = Answer(), list[AnyDelta]()

    def fed() -> None:
        for piece in [data[i : i + 1] for i in range(len(data))] if bytewise else [data]:
            answer.feed(piece, out)
        answer.end(out, framed=True)

    with pytest.raises(ProviderError, match=words.replace("[", r"\[")) as caught:
        fed()
    assert out == [TextDelta("before")]
    for name, value in fields.items():
        assert getattr(caught.value, name) == value


BROKEN = ProviderError("the wire broke", retryable=True)


@pytest.mark.parametrize(
    ("data", "end", "expected", "error"),
    [
        (chunk({"content": "a"}), {"framed": False}, [TextDelta("a")], "the answer was cut"),
        (chunk({"content": "a"}), {"framed": False, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (chunk({"content": "a"})[:-2], {"framed": False, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (chunk({"content": "a"})[:-9], {"framed": True, "broken": BROKEN}, [], "the wire broke"),
        (chunk({"content": "a"}, "stop"), {"framed": False, "broken": BROKEN}, [TextDelta("a"), Stop("end")], ""),
        (chunk({"content": "a"}) + DONE, {"framed": False, "broken": BROKEN}, [TextDelta("a"), Stop("end")], ""),
        (chunk({"content": "a"}, "stop"), {"framed": False}, [TextDelta("a"), Stop("end")], ""),
        (chunk({"content": "a"}, "stop") * 2, {"framed": False}, [TextDelta("a")] * 2, "the answer was cut"),
        (
            chunk({"content": "a"}, "stop") * 2 + chunk({}, "stop"),
            {"framed": False, "broken": BROKEN},
            [TextDelta("a")] * 2 + [Stop("end")],
            "",
        ),
        (
            b'{"choices":[{"message":{"content":"a"}}]}',
            {"framed": False},
            [TextDelta("a"), Stop("end")],
            "",
        ),
        (b"", {}, [], "the provider sent an empty answer"),
        (b": ping\n\n", {}, [], "holds no record; it begins: : ping"),
        (b"hello there", {}, [], "holds no record; it begins: hello there"),
        (b" <!doctype html><title>Hi</title>", {}, [], "a web page"),
        (b'{"error":{"message":"no such model"}}', {}, [], "no such model"),
        (b'{"detail":', {}, [], "cannot be read"),
    ],
)  # fmt: skip
def test_when_an_answer_is_whole(data: bytes, end: dict[str, Any], expected: list[AnyDelta], error: str) -> None:
    out, said = read(data, [], **end)
    assert out == expected
    assert error in said
    assert bool(said) == bool(error)


def test_a_plain_answer_has_the_limit_of_a_record() -> None:
    answer, out = Answer(10), list[AnyDelta]()
    answer.feed(b'{"a', out)
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        answer.feed(b'":1234567}', out)


def test_what_comes_after_the_end_mark_is_not_said() -> None:
    answer, out = Answer(), list[AnyDelta]()
    answer.feed(DONE + chunk({"content": "late"}) + DONE, out)
    answer.end(out, framed=True)
    assert out == [Stop("end")]


def test_a_delta_object_can_be_read_on_its_own_or_as_part_of_an_answer() -> None:
    assert deltas_of({"content": "a"}) == [TextDelta("a")]
    assert deltas_of({"finish_reason": "tool_calls"}) == [Stop("tools")]
    answer = Answer()
    assert deltas_of(call(id="a", name="f"), answer) + deltas_of(call("{}"), answer) == [
        CallDelta(0, "a", "f"),
        CallDelta(0, args="{}"),
    ]
