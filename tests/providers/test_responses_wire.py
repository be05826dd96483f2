"""OpenAI's Responses API: recorded answers cut anywhere say the same, and a request becomes the body the API takes.
Where the vendor's own SDK is installed, it judges both: it types the bodies and reads the same bytes. At the end,
the provider against a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidestream as ss
from sidestream import dialects
from sidestream.dialects.reader import Reader
from sidestream.errors import ProviderError, UsageError
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
from sidestream.providers.choose import choose
from sidestream.providers.openai_write import bytes_of
from sidestream.providers.provider import Request, Settings, block_real_models
from sidestream.providers.responses import Responses
from sidestream.providers.responses_read import Answer
from sidestream.providers.responses_write import body_of

NAME = "openai-responses"

# ---- answers -------------------------------------------------------------------------


def event(kind: str, **fields: Any) -> bytes:
    body = json.dumps({"type": kind, "sequence_number": 1} | fields, ensure_ascii=False)
    return f"event: {kind}\ndata: {body}\n\n".encode()


def about(kind: str, index: int, item: str, **fields: Any) -> bytes:
    """An event about one output item."""
    return event(f"response.{kind}", output_index=index, item_id=item, **fields)


def added(index: int, item: dict[str, Any]) -> bytes:
    return event("response.output_item.added", output_index=index, item=item)


def done(index: int, item: dict[str, Any]) -> bytes:
    return event("response.output_item.done", output_index=index, item=item)


def text(*said: str, index: int = 0, part: int = 0, item: str = "msg_1") -> bytes:
    return b"".join(
        [about("output_text.delta", index, item, content_index=part, delta=one, logprobs=[]) for one in said]
    )


def args(*said: str, index: int, item: str) -> bytes:
    return b"".join([about("function_call_arguments.delta", index, item, delta=one) for one in said])


def part(kind: str, index: int, item: str, said: str = "", at: int = 0) -> bytes:
    """A part of a message begins, or is done."""
    body = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
    before = b""
    if kind == "done":
        before = about("output_text.done", index, item, content_index=at, text=said, logprobs=[])
    return before + about(f"content_part.{kind}", index, item, content_index=at, part=body)


def message(*said: str, id: str = "msg_1", **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": one, "annotations": [], "logprobs": []} for one in said]
    return {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": content} | fields


def call(name: str, arguments: str, id: str, **fields: Any) -> dict[str, Any]:
    status = {"status": "completed"}
    return {"id": f"fc_{id}", "type": "function_call", "call_id": id, "name": name, "arguments": arguments} | status | fields  # fmt: skip


def response(*output: dict[str, Any], status: str = "completed", **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 20, "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0}, "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 29,
    }  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "status": status, "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "model": "gpt-5.1", "output": list(output),
        "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "usage": usage if status in ("completed", "incomplete") else None,
    } | fields  # fmt: skip


def finish(*output: dict[str, Any], status: str = "completed", **fields: Any) -> bytes:
    return event(f"response.{status}", response=response(*output, status=status, **fields))


def plain(*output: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps(response(*output, **fields), indent=1).encode()


START = event("response.created", response=response(status="in_progress")) + event(
    "response.in_progress", response=response(status="in_progress")
)
USED = Usage(20, 9, 8, 4)
EMPTY = {"id": "rs_1", "type": "reasoning", "summary": []}
THOUGHT = EMPTY | {
    "summary": [{"type": "summary_text", "text": "Hm, ok."}, {"type": "summary_text", "text": "So."}],
    "encrypted_content": "gAAA",
}
SEARCH = {
    "id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "rain"},
}  # fmt: skip
CITATION = {"type": "url_citation", "start_index": 0, "end_index": 9, "url": "https://h", "title": "T"}
CITED = message() | {
    "content": [{"type": "output_text", "text": "It rains.", "annotations": [CITATION], "logprobs": []}]
}
PHASED = message("Let me see.", phase="commentary")
REFUSED = message() | {"content": [{"type": "refusal", "refusal": "I will not."}]}
PROGRAM = {"type": "program", "caller_id": "prog_1"}
CALL_A, CALL_B = call("f", '{"x": "a\\n"}', "call_a"), call("g", '{"y": [1]}', "call_b")


def opened(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it is announced."""
    blank = {"arguments": ""} if "arguments" in item else {"content": []} if "content" in item else {}
    return item | blank | {"status": "in_progress"}


def whole(item: dict[str, Any], index: int) -> bytes:
    """A call that comes as a server sends it that does not stream arguments."""
    return added(index, opened(item)) + done(index, item)


ROWS: dict[str, tuple[bytes, list[AnyDelta]]] = {
    "text": (
        START + added(0, opened(message())) + part("added", 0, "msg_1") + text("Zürich ", "😀")
        + part("done", 0, "msg_1", "Zürich 😀") + done(0, message("Zürich 😀")) + finish(message("Zürich 😀")),
        [TextDelta("Zürich "), TextDelta("😀"), Stop("end", USED)],
    ),
    "two parts of a message, one of them whole": (
        START + added(0, opened(message())) + part("added", 0, "msg_1") + text("a", "b") + part("done", 0, "msg_1", "ab")
        + part("added", 0, "msg_1", at=1) + part("done", 0, "msg_1", "c", at=1) + done(0, message("ab", "c"))
        + finish(message("ab", "c")),
        [TextDelta("a"), TextDelta("b"), TextDelta("c"), Stop("end", USED)],
    ),
    "reasoning, a message with its phase, two calls that come at the same time": (
        START + added(0, EMPTY)
        + about("reasoning_summary_part.added", 0, "rs_1", summary_index=0, part={"type": "summary_text", "text": ""})
        + about("reasoning_summary_text.delta", 0, "rs_1", summary_index=0, delta="Hm, ")
        + about("reasoning_summary_text.delta", 0, "rs_1", summary_index=0, delta="ok.")
        + about("reasoning_summary_text.done", 0, "rs_1", summary_index=0, text="Hm, ok.")
        + about("reasoning_summary_part.done", 0, "rs_1", summary_index=0, part={"type": "summary_text", "text": "Hm, ok."})
        + about("reasoning_summary_part.added", 0, "rs_1", summary_index=1, part={"type": "summary_text", "text": ""})
        + about("reasoning_summary_text.delta", 0, "rs_1", summary_index=1, delta="So.")
        + about("reasoning_summary_text.done", 0, "rs_1", summary_index=1, text="So.")
        + done(0, THOUGHT)
        + added(1, opened(PHASED)) + part("added", 1, "msg_1") + text("Let me ", "see.", index=1)
        + part("done", 1, "msg_1", "Let me see.") + done(1, PHASED)
        + added(2, opened(CALL_A)) + args('{"x": "a', index=2, item="fc_call_a")
        + added(3, opened(CALL_B)) + args('{"y": ', index=3, item="fc_call_b") + args('\\n"}', index=2, item="fc_call_a")
        + args("[1]}", index=3, item="fc_call_b")
        + about("function_call_arguments.done", 3, "fc_call_b", name="g", arguments='{"y": [1]}') + done(3, CALL_B)
        + about("function_call_arguments.done", 2, "fc_call_a", name="f", arguments='{"x": "a\\n"}') + done(2, CALL_A)
        + finish(THOUGHT, PHASED, CALL_A, CALL_B),
        [
            ThinkDelta("Hm, "), ThinkDelta("ok."), ThinkDelta("\n\nSo."), Vendor(NAME, THOUGHT),
            TextDelta("Let me "), TextDelta("see."), Vendor(NAME, PHASED),
            CallDelta(2, "call_a", "f"), CallDelta(2, args='{"x": "a'),
            CallDelta(3, "call_b", "g"), CallDelta(3, args='{"y": '), CallDelta(2, args='\\n"}'), CallDelta(3, args="[1]}"),
            CallDelta(3, done=True), CallDelta(2, done=True), Stop("tools", USED),
        ],
    ),
    "a call without pieces": (
        START + whole(CALL_A, 0) + finish(CALL_A),
        [CallDelta(0, "call_a", "f"), CallDelta(0, args='{"x": "a\\n"}', done=True), Stop("tools", USED)],
    ),
    "a call whose arguments come when they are done": (
        START + added(0, opened(CALL_A)) + about("function_call_arguments.done", 0, "fc_call_a", arguments='{"x": "a\\n"}')
        + done(0, CALL_A) + finish(CALL_A),
        [CallDelta(0, "call_a", "f"), CallDelta(0, args='{"x": "a\\n"}', done=True), Stop("tools", USED)],
    ),
    "a call that nobody announced": (
        done(0, CALL_A) + finish(CALL_A),
        [CallDelta(0, "call_a", "f"), CallDelta(0, args='{"x": "a\\n"}', done=True), Stop("tools", USED)],
    ),
    "calls without arguments": (
        START + whole(call("f", "", "call_a"), 0) + added(1, opened(call("g", "{}", "call_b"))) + args("{}", index=1, item="fc_call_b")
        + about("function_call_arguments.done", 1, "fc_call_b", arguments="{}") + done(1, call("g", "{}", "call_b"))
        + finish(call("f", "", "call_a"), call("g", "{}", "call_b")),
        [
            CallDelta(0, "call_a", "f"), CallDelta(0, done=True),
            CallDelta(1, "call_b", "g"), CallDelta(1, args="{}"), CallDelta(1, done=True), Stop("tools", USED),
        ],
    ),
    "a call that was cut before its first argument is never done": (
        START + added(0, opened(CALL_A)) + about("function_call_arguments.done", 0, "fc_call_a", arguments="")
        + done(0, call("f", "", "call_a", status="incomplete"))
        + finish(call("f", "", "call_a", status="incomplete"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        [CallDelta(0, "call_a", "f"), Stop("length", USED)],
    ),
    "a call that was cut in its arguments is never done": (
        START + added(0, opened(CALL_A)) + args('{"x": ', index=0, item="fc_call_a")
        + about("function_call_arguments.done", 0, "fc_call_a", arguments='{"x": ')
        + done(0, call("f", '{"x": ', "call_a", status="incomplete"))
        + finish(call("f", '{"x": ', "call_a", status="incomplete"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        [CallDelta(0, "call_a", "f"), CallDelta(0, args='{"x": '), Stop("length", USED)],
    ),
    "a tool of the service, and a text that cites it": (
        START + added(0, SEARCH | {"status": "in_progress"}) + about("web_search_call.in_progress", 0, "ws_1")
        + about("web_search_call.searching", 0, "ws_1") + about("web_search_call.completed", 0, "ws_1") + done(0, SEARCH)
        + added(1, opened(message())) + part("added", 1, "msg_1") + text("It ", "rains.", index=1)
        + about("output_text.annotation.added", 1, "msg_1", content_index=0, annotation_index=0, annotation=CITATION)
        + part("done", 1, "msg_1", "It rains.") + done(1, CITED) + finish(SEARCH, CITED),
        [Vendor(NAME, SEARCH), TextDelta("It "), TextDelta("rains."), Vendor(NAME, CITED), Stop("end", USED)],
    ),
    "a call made by a script of the service": (
        START + whole(CALL_A | {"caller": PROGRAM}, 0) + finish(CALL_A | {"caller": PROGRAM}),
        [
            Vendor(NAME, {"type": "function_call", "call_id": "call_a", "caller": PROGRAM}),
            CallDelta(0, "call_a", "f"), CallDelta(0, args='{"x": "a\\n"}', done=True), Stop("tools", USED),
        ],
    ),
    "plain reasoning of an open model": (
        START + added(0, EMPTY) + about("reasoning_text.delta", 0, "rs_1", content_index=0, delta="Hm")
        + about("reasoning_text.done", 0, "rs_1", content_index=0, text="Hm")
        + done(0, EMPTY | {"content": [{"type": "reasoning_text", "text": "Hm"}]}) + finish(),
        [ThinkDelta("Hm"), Vendor(NAME, EMPTY | {"content": [{"type": "reasoning_text", "text": "Hm"}]}), Stop("end", USED)],
    ),
    "reasoning that is kept to itself": (
        START + added(0, EMPTY) + done(0, EMPTY | {"encrypted_content": "x"}) + finish(),
        [Vendor(NAME, EMPTY | {"encrypted_content": "x"}), Stop("end", USED)],
    ),
    "a refusal is text and stops the answer": (
        START + added(0, opened(REFUSED)) + about("refusal.delta", 0, "msg_1", content_index=0, delta="I will ")
        + about("refusal.delta", 0, "msg_1", content_index=0, delta="not.")
        + about("refusal.done", 0, "msg_1", content_index=0, refusal="I will not.") + done(0, REFUSED) + finish(REFUSED),
        [TextDelta("I will "), TextDelta("not."), Stop("filter", USED)],
    ),
    "texts that come when they are done": (
        START + added(0, EMPTY) + about("reasoning_summary_text.done", 0, "rs_1", summary_index=0, text="t")
        + about("refusal.done", 1, "msg_1", content_index=0, refusal="no") + about("output_text.done", 2, "msg_2", content_index=0, text="a")
        + finish(),
        [ThinkDelta("t"), TextDelta("no"), TextDelta("a"), Stop("filter", USED)],
    ),
    "nothing but the last record": (
        finish(THOUGHT, SEARCH, CITED, CALL_A),
        [
            ThinkDelta("Hm, ok.\n\nSo."), Vendor(NAME, THOUGHT), Vendor(NAME, SEARCH), TextDelta("It rains."), Vendor(NAME, CITED),
            CallDelta(3, "call_a", "f"), CallDelta(3, args='{"x": "a\\n"}', done=True), Stop("tools", USED),
        ],
    ),
    "items that are never done are read in the last record": (
        START + added(0, opened(message())) + text("a") + added(1, opened(CALL_A)) + args('{"x"', index=1, item="fc_call_a")
        + finish(message("ab"), CALL_A),
        [
            TextDelta("a"), CallDelta(1, "call_a", "f"), CallDelta(1, args='{"x"'), TextDelta("b"),
            CallDelta(1, args=': "a\\n"}', done=True), Stop("tools", USED),
        ],
    ),
    "a server whose wholes read otherwise than its pieces": (
        START + added(0, opened(message())) + text("a ", "b") + part("done", 0, "msg_1", "a b") + done(0, message(" a b"))
        + finish(message("a  b", id="msg_other"), message("new", id="msg_9")),
        [TextDelta("a "), TextDelta("b"), Stop("end", USED)],
    ),
    "all calls in one place": (
        whole(CALL_A, 0) + whole(CALL_B, 0) + finish(),
        [
            CallDelta(0, "call_a", "f"), CallDelta(0, args='{"x": "a\\n"}', done=True),
            CallDelta(0, "call_b", "g"), CallDelta(0, args='{"y": [1]}', done=True), Stop("tools", USED),
        ],
    ),
    "events and items nobody knows, and one that says error": (
        START + event("weather") + event("response.weather", error={"code": "x"}) + added(0, {"type": "glitter", "id": "g"})
        + done(0, {"type": "glitter", "id": "g", "spark": 1}) + event("keepalive") + finish() + b"data: [DONE]\n\n",
        [Vendor(NAME, {"type": "glitter", "id": "g", "spark": 1}), Stop("end", USED)],
    ),
    "odd types everywhere": (
        event("response.created", response=[]) + event("response.output_item.added", output_index="0", item=7)
        + event("response.output_text.delta", output_index=None, content_index=[], delta="a")
        + event("response.output_text.delta", output_index=[], delta=[1]) + event("response.output_item.done", item={"type": []})
        + event("response.function_call_arguments.done", arguments=[1]) + event("response.completed", response={"usage": [1], "output": 3}),
        [TextDelta("a"), Stop("end")],
    ),
    "bytes that are no UTF-8, half an emoji": (
        START + b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a\xf0\x9f"}\n\n'
        + b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"\\ud83d"}\n\n' + finish(),
        [TextDelta("a\ufffd"), TextDelta("\ufffd"), Stop("end", USED)],
    ),
    "a plain answer": (
        plain(THOUGHT, SEARCH, CITED, PHASED, CALL_A, call("g", "{}", "call_b")),
        [
            ThinkDelta("Hm, ok.\n\nSo."), Vendor(NAME, THOUGHT), Vendor(NAME, SEARCH), TextDelta("It rains."), Vendor(NAME, CITED),
            TextDelta("Let me see."), Vendor(NAME, PHASED),
            CallDelta(4, "call_a", "f"), CallDelta(4, args='{"x": "a\\n"}', done=True),
            CallDelta(5, "call_b", "g"), CallDelta(5, args="{}", done=True), Stop("tools", USED),
        ],
    ),
    "a plain answer that was cut in a call": (
        plain(call("f", "", "call_a", status="incomplete"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        [CallDelta(0, "call_a", "f"), Stop("length", USED)],
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


@given(st.sampled_from(sorted(ROWS)), st.lists(st.integers(1, 4000), unique=True))
def test_random_cuts(row: str, cuts: list[int]) -> None:
    data, expected = ROWS[row]
    assert read(data, sorted(cut for cut in cuts if cut < len(data))) == (expected, "")


def test_a_streamed_answer_and_a_plain_one_leave_the_same_transcript() -> None:
    streamed, _ = ROWS["reasoning, a message with its phase, two calls that come at the same time"]
    assert folded(read(streamed, [])[0]) == folded(read(plain(THOUGHT, PHASED, CALL_A, CALL_B), [])[0])


def test_a_delta_comes_as_soon_as_its_record_is_whole() -> None:
    data, expected = ROWS["reasoning, a message with its phase, two calls that come at the same time"]
    answer, out = Answer(), list[AnyDelta]()
    for record in data.split(b"\n\n")[:-1]:
        before = len(out)
        answer.feed(record + b"\n\n", out)
        assert len(out) == before + (b".delta" in record.partition(b"\n")[0]) or b".delta" not in record
    assert out == expected
    assert (answer.ended, answer.quiet, answer.begun) == (True, True, True)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("max_output_tokens", "length"), ("content_filter", "filter"), ("new_one", "length"), (None, "length")],
)
def test_incomplete_answers_say_why(reason: str | None, expected: str) -> None:
    why = {"reason": reason} if reason else None
    for data in (
        START + finish(status="incomplete", incomplete_details=why),
        event("response.completed", response=response(status="incomplete", incomplete_details=why)),
        plain(status="incomplete", incomplete_details=why),
    ):
        assert read(data, [])[0] == [Stop(expected, USED)]  # type: ignore[arg-type]


ERRORS = [
    ("rate_limit_exceeded", 429, True), ("server_error", 500, True), ("server_is_overloaded", 503, True),
    ("vector_store_timeout", 504, True), ("invalid_prompt", 400, False), ("context_length_exceeded", 400, False),
    ("image_parse_error", 0, False), (None, 0, False),
]  # fmt: skip


@pytest.mark.parametrize(("code", "status", "retryable"), ERRORS)
@pytest.mark.parametrize("shape", ["failed", "flat", "nested", "plain failed", "plain"])
def test_an_error_comes_after_all_that_came_before_it(code: Any, status: int, retryable: bool, shape: str) -> None:
    error = {"code": code, "message": "Oh no"}
    before = START + added(0, opened(message())) + text("a")
    data = {
        "failed": before + finish(message("a"), status="failed", error=error),
        "flat": before + event("error", **error, param=None),
        "nested": before + event("error", error=error),
        "plain failed": plain(message("a"), status="failed", error=error),
        "plain": json.dumps({"error": error | {"type": "invalid_request_error" if status == 400 else "x"}}).encode(),
    }[shape]
    answer, out = Answer(), list[AnyDelta]()

    def fed() -> None:
        for at in range(len(data)):
            answer.feed(data[at : at + 1], out)
        answer.end(out, framed=True)

    with pytest.raises(ProviderError, match="Oh no") as caught:
        fed()
    assert out == ([] if shape == "plain" else [TextDelta("a")])
    assert (caught.value.status, caught.value.retryable) == (status, retryable)


BROKEN = ProviderError("the wire broke", retryable=True)
TEXT = START + added(0, opened(message())) + text("a")
OVER = done(0, message("a"))


@pytest.mark.parametrize(
    ("data", "end", "expected", "error"),
    [
        (TEXT + OVER, {"framed": False}, [TextDelta("a")], "the answer was cut"),
        (TEXT + OVER, {"framed": True}, [TextDelta("a")], "the answer was cut"),
        (TEXT, {"framed": False, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (TEXT + OVER[:-9], {"framed": True, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (TEXT + finish()[:-1], {"framed": False}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT + finish(), {"framed": False, "broken": BROKEN}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT + b'data: {"type":', {"framed": True}, [TextDelta("a")], "cannot be read"),
        (TEXT + finish(status="failed"), {}, [TextDelta("a")], "no reason given"),
        (b"data: [1]\n\n", {}, [], "cannot be read: [1]"),
        (b"", {}, [], "the provider sent an empty answer"),
        (b": ping\n\n", {}, [], "holds no record; it begins: : ping"),
        (b"<!doctype html>", {}, [], "a web page"),
        (b'{"detail": "Not Found"}', {}, [], 'cannot be read: {"detail": "Not Found"}'),
        (b'{"output": [', {}, [], "cannot be read"),
        (b'{"output": [', {"framed": False, "broken": BROKEN}, [], "the wire broke"),
        (plain(status="queued"), {}, [], "not finished (status queued)"),
    ],
)  # fmt: skip
def test_when_an_answer_is_whole(data: bytes, end: dict[str, Any], expected: list[AnyDelta], error: str) -> None:
    out, said = read(data, [], **end)
    assert out == expected
    assert error in said
    assert bool(said) == bool(error)


def test_nothing_comes_after_the_last_record() -> None:
    answer, out = Answer(), list[AnyDelta]()
    answer.feed(TEXT + finish() + TEXT + finish(), out)
    answer.end(out, framed=True)
    assert out == [TextDelta("a"), Stop("end", USED)]


def test_records_and_plain_answers_have_a_limit() -> None:
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        Answer(10).feed(b"data: 12345678901\n\n", [])
    answer = Answer(10)
    answer.feed(b'{"a', [])
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        answer.feed(b'":1234567}', [])


FIELDS = (
    "type output_index content_index summary_index delta text refusal arguments item response error code message output"
)
KINDS = (
    "output_item.added output_item.done output_text.delta output_text.done refusal.done reasoning_summary_text.delta"
)
MORE = "function_call_arguments.delta function_call_arguments.done completed incomplete failed"
INNER = "error function_call message reasoning id call_id name status content summary phase annotations caller usage"
WORDS = st.sampled_from(
    [*FIELDS.split(), *INNER.split(), *["response." + kind for kind in (KINDS + " " + MORE).split()]]
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.just(1e300) | st.text(max_size=3) | WORDS,
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


def test_a_call_that_was_cut_never_runs() -> None:
    for row in ROWS:
        if "call" in row and "cut" in row:
            reader = dialects.get("native").parser([ToolSpec("f", "", WEATHER.schema), ToolSpec("g", "", {})])
            events = [item for delta in ROWS[row][1] for item in reader.feed(delta)] + reader.close("length")
            assert not [item for item in events if isinstance(item, CallClosed)]
            assert [item.why for item in events if isinstance(item, CallRejected)] == ["truncated"]


# ---- requests ------------------------------------------------------------------------

WEATHER = ToolSpec("weather", "Current weather.", {"properties": {"city": {"type": "string"}}, "required": ["city"]})
CLOCK = ToolSpec("clock", "The time.", {})
MODEL = "gpt-5.1"


def body(*messages: Message, dialect: str = "native", model: str = MODEL, **request: Any) -> dict[str, Any]:
    settings = Settings(**request.pop("settings", {}))
    said = body_of(Request(messages, dialects.get(dialect), settings=settings, **request), model)
    assert json.loads(bytes_of(said)) == said  # nothing in it but JSON
    return said


def says(role: str, *said: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": one} for one in said]}


def test_the_whole_of_a_plain_request() -> None:
    said = body(system("Rules."), user("Hi"), assistant("Hello."), user("Bye"), system="Be brief.")
    assert said == {
        "model": MODEL,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "input": [
            says("system", "Rules."),
            says("user", "Hi"),
            {"role": "assistant", "content": "Hello."},
            says("user", "Bye"),
        ],
    }


def test_tools_stand_in_the_order_of_their_names_and_are_not_strict() -> None:
    said = body(user("Hi"), tools=(WEATHER, CLOCK))
    assert bytes_of(said) == bytes_of(body(user("Hi"), tools=(CLOCK, WEATHER)))
    empty = {"type": "object", "properties": {}}
    assert said["tools"] == [
        {"type": "function", "name": "clock", "description": "The time.", "parameters": empty, "strict": False},
        {
            "type": "function",
            "name": "weather",
            "description": "Current weather.",
            "parameters": empty | WEATHER.schema,
            "strict": False,
        },
    ]


FIRST = ToolCall("2.1", "weather", {"city": "Zürich"}, '{"city": "Zurich"}', "call_a")
SECOND = ToolCall("2.2", "clock", {}, "{}", "")
THIRD = ToolCall("2.3", "clock", {"n": 1}, "", "call_a")
ROUND = (
    user("Hi"),
    Message("assistant", (ThinkPart("Hm, ok."), Vendor(NAME, THOUGHT), TextPart("Let me see."), FIRST, SECOND, THIRD)),
    Message(
        "tool",
        (
            ToolResult("2.1", "ok", (TextPart("rain"), ImagePart("image/jpeg", b"\xff\xd8"), AudioPart(data=b"x"),
                                     FilePart("a.pdf", "application/pdf", b"%PDF"))),
            ToolResult("2.2", "timeout", (TextPart("too slow"),)),
            ToolResult("2.3", "ok"),
            DataPart("rejected", {"id": "2.4", "name": "clock", "raw": "{", "why": "truncated"}),
        ),
    ),
)  # fmt: skip


def test_a_round_goes_back_with_its_reasoning_its_ids_and_its_results() -> None:
    _, thought, answer, *rest = body(*ROUND, user("And?"), tools=(WEATHER, CLOCK))["input"]
    assert thought == THOUGHT
    assert answer == {"role": "assistant", "content": "Let me see."}
    assert rest[:3] == [
        {"type": "function_call", "call_id": "call_a", "name": "weather", "arguments": '{"city": "Zürich"}'},
        {"type": "function_call", "call_id": "2.2", "name": "clock", "arguments": "{}"},
        {"type": "function_call", "call_id": "2.3", "name": "clock", "arguments": '{"n": 1}'},
    ]
    first, second, third, *told = rest[3:]
    assert first == {
        "type": "function_call_output",
        "call_id": "call_a",
        "output": [
            {"type": "input_text", "text": "rain"},
            {"type": "input_image", "image_url": "data:image/jpeg;base64,/9g=", "detail": "auto"},
            {"type": "input_text", "text": "(sound, audio/wav: 1 bytes; it cannot be heard here)"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        ],
    }
    assert second["call_id"] == "2.2"
    assert "too slow" in second["output"]
    assert (third["call_id"], third["output"]) == ("2.3", "")
    assert [item["role"] for item in told] == ["user", "user"]  # the rejected call, and what the user said
    assert told[1] == says("user", "And?")


def test_the_next_round_begins_with_the_bytes_of_this_one() -> None:
    settings = {"thinking": "low", "max_tokens": 99, "temperature": 0.5, "tool_choice": "auto"}
    first = bytes_of(body(*ROUND[:1], system="S", tools=(WEATHER, CLOCK), settings=settings))
    second = bytes_of(body(*ROUND, system="S", tools=(CLOCK, WEATHER), settings=settings))
    assert first.endswith(b"]}")
    assert second.startswith(first[:-2] + b",")
    assert bytes_of(body(*ROUND, user("x"), system="S", tools=(CLOCK, WEATHER), settings=settings)).startswith(
        second[:-2]
    )


def items_of(*parts: Any, **settings: Any) -> list[dict[str, Any]]:
    return body(user("Hi"), Message("assistant", parts), user("Go"), settings=settings)["input"][1:-1]


SAID = {"role": "assistant", "content": "a"}
BARE = EMPTY | {"encrypted_content": None, "status": None}
OPEN = EMPTY | {"content": [{"type": "reasoning_text", "text": "Hm"}]}
CITES = {"role": "assistant", "content": "It rains."}


@pytest.mark.parametrize(
    ("parts", "settings", "expected"),
    [
        ((ThinkPart("x"), TextPart("a")), {}, [SAID]),
        ((Vendor("openai", {"type": "reasoning"}), Vendor("anthropic", {"type": "thinking"}), TextPart("a")), {}, [SAID]),
        ((Vendor(NAME, THOUGHT), TextPart("a")), {}, [THOUGHT, SAID]),
        ((Vendor(NAME, THOUGHT | OPEN), TextPart("a")), {}, [THOUGHT | {"summary": []}, SAID]),
        ((TextPart("a"), Vendor(NAME, THOUGHT)), {}, [SAID]),
        ((Vendor(NAME, BARE), TextPart("a")), {}, [SAID]),
        ((Vendor(NAME, BARE), TextPart("a")), {"extra_body": {"store": True}}, [EMPTY, SAID]),
        ((Vendor(NAME, OPEN), TextPart("a")), {}, [OPEN, SAID]),
        ((Vendor(NAME, SEARCH), TextPart("It rains."), Vendor(NAME, CITED)), {}, [SEARCH, CITES]),
        ((TextPart("Well. Let me see."), Vendor(NAME, PHASED), TextPart("a")), {},
         [{"role": "assistant", "content": "Well. "}, {"role": "assistant", "content": "Let me see.", "phase": "commentary"}, SAID]),
        ((TextPart("changed"), Vendor(NAME, PHASED)), {}, [{"role": "assistant", "content": "changed"}]),
        ((Vendor(NAME, PHASED), Vendor(NAME, 3), Vendor(NAME, {"type": 3}), TextPart("")), {}, []),
        ((DataPart("d", 1), ImagePart(url="https://h/i")), {},
         [{"role": "assistant", "content": "1"},
          {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "https://h/i", "detail": "auto"}]}]),
    ],
)  # fmt: skip
def test_what_the_service_gave_goes_back_as_it_came(parts: Any, settings: Any, expected: list[dict[str, Any]]) -> None:
    assert items_of(*parts, **settings) == expected


def test_who_called_a_tool_goes_back_with_the_call_and_its_result() -> None:
    beside = {"type": "function_call", "call_id": "call_a", "caller": PROGRAM, "namespace": "n"}
    messages = (
        Message("assistant", (Vendor(NAME, beside), FIRST)),
        Message("tool", (ToolResult("2.1", "ok", (TextPart("rain"),)),)),
    )
    called, told = body(*messages)["input"]
    assert (called["caller"], called["namespace"], called["name"]) == (PROGRAM, "n", "weather")
    assert (told["caller"], "namespace" in told) == (PROGRAM, False)


def test_an_id_that_is_too_long_for_the_service_is_not_sent() -> None:
    (called,) = body(Message("assistant", (ToolCall("1.1", "clock", {}, "", "x" * 65),)))["input"]
    assert called["call_id"] == "1.1"


def test_an_item_of_the_service_may_be_said_by_the_user() -> None:
    approval = {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}
    said = body(Message("user", (TextPart("Yes."), Vendor(NAME, approval), TextPart("Go."))))["input"]
    assert said == [says("user", "Yes."), approval, says("user", "Go.")]


def test_images_files_and_sounds() -> None:
    parts = (
        TextPart("Look:"),
        TextPart(""),
        ImagePart("image/jpeg", b"\xff\xd8"),
        ImagePart(url="https://h/i.png"),
        FilePart("i.webp", "image/webp", b"\xff\xd8"),
        FilePart("", "application/pdf", b"%PDF"),
        FilePart("a.pdf", "application/pdf", url="https://h/a.pdf"),
        FilePart("a.txt", "text/plain", "Hä?".encode()),
        AudioPart("audio/wav", b"RIFF"),
        FilePart("a.mp3", "audio/mpeg", b"RIFF"),
        AudioPart("audio/ogg", b"RIFF"),
        DataPart("place", {"lat": 1}),
    )
    (said,) = body(Message("user", parts))["input"]
    assert said["content"] == [
        {"type": "input_text", "text": "Look:"},
        {"type": "input_image", "image_url": "data:image/jpeg;base64,/9g=", "detail": "auto"},
        {"type": "input_image", "image_url": "https://h/i.png", "detail": "auto"},
        {"type": "input_image", "image_url": "data:image/webp;base64,/9g=", "detail": "auto"},
        {"type": "input_file", "filename": "file", "file_data": "data:application/pdf;base64,JVBERg=="},
        {"type": "input_file", "file_url": "https://h/a.pdf"},
        {"type": "input_text", "text": "a.txt:\nHä?"},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "mp3"}},
        {"type": "input_text", "text": "(sound, audio/ogg: 4 bytes; it cannot be heard here)"},
        {"type": "input_text", "text": '{"lat": 1}'},
    ]


SCHEMA = {"type": "object", "title": "My answer!", "properties": {"a": {"type": "string"}}}
FORM = {"type": "json_schema", "name": "My_answer_", "schema": SCHEMA}
WEB = {"type": "web_search"}

SETTINGS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"temperature": 0.0}, MODEL, {"temperature": 0.0}),
    ({"max_tokens": 50}, MODEL, {"max_output_tokens": 50}),
    ({"tool_choice": "auto"}, MODEL, {"tool_choice": "auto"}),
    ({"tool_choice": "none"}, MODEL, {"tool_choice": "none"}),
    ({"tool_choice": "required"}, MODEL, {"tool_choice": "required"}),
    ({"tool_choice": "clock"}, MODEL, {"tool_choice": {"type": "function", "name": "clock"}}),
    ({"thinking": "off"}, MODEL, {"reasoning": {"effort": "none"}}),
    ({"thinking": "minimal"}, MODEL, {"reasoning": {"effort": "minimal", "summary": "auto"}}),
    ({"thinking": "high"}, "o4-mini", {"reasoning": {"effort": "high", "summary": "auto"}}),
    ({"response": "text"}, MODEL, {}),
    ({"response": "json"}, MODEL, {"text": {"format": {"type": "json_object"}}}),
    ({"response": SCHEMA}, MODEL, {"text": {"format": FORM}}),
    ({"response": SCHEMA, "extra_body": {"text": {"verbosity": "low"}}}, MODEL, {"text": {"format": FORM, "verbosity": "low"}}),
    ({"thinking": "low", "extra_body": {"reasoning": {"summary": "detailed"}}}, MODEL,
     {"reasoning": {"effort": "low", "summary": "detailed"}}),
    ({"extra_body": {"include": ["web_search_call.action.sources"]}}, MODEL,
     {"include": ["reasoning.encrypted_content", "web_search_call.action.sources"]}),
    ({"temperature": 0.5, "extra_body": {"temperature": 1.0, "metadata": {"a": "b"}}}, MODEL, {"temperature": 1.0, "metadata": {"a": "b"}}),
    ({"cache": "off"}, MODEL, {}),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "model", "expected"), SETTINGS)
def test_settings(settings: dict[str, Any], model: str, expected: dict[str, Any]) -> None:
    bare = body(user("Hi"), tools=(CLOCK,), model=model)
    assert body(user("Hi"), tools=(CLOCK,), model=model, settings=settings) == bare | expected


def test_tools_of_the_service_come_behind_ours_and_none_takes_a_field_away() -> None:
    said = body(user("Hi"), tools=(CLOCK,), settings={"extra_body": {"tools": [WEB], "include": None}})
    assert [tool.get("name") or tool["type"] for tool in said["tools"]] == ["clock", "web_search"]
    assert "include" not in said
    assert body(user("Hi"), settings={"extra_body": {"tools": [WEB]}})["tools"] == [WEB]
    assert "tools" not in body(user("Hi"), tools=(CLOCK,), settings={"extra_body": {"tools": None}})


@pytest.mark.parametrize(
    ("model", "reasons"),
    [
        ("gpt-5", True), ("gpt-5.1-codex", True), ("o3", True), ("my-deployment", True), ("openai/gpt-oss-20b", True),
        ("gpt-4o", False), ("ft:gpt-4.1-mini:org", False), ("gpt-5-chat-latest", False), ("gpt-5.2-chat-latest", False),
        ("chatgpt-4o-latest", False), ("gpt-3.5-turbo", False),
    ],
)  # fmt: skip
def test_only_models_that_reason_are_asked_for_encrypted_reasoning(model: str, reasons: bool) -> None:
    assert ("include" in body(user("Hi"), model=model)) == reasons


def test_stop_texts_are_refused_with_the_fix() -> None:
    with pytest.raises(UsageError, match="openai:NAME"):
        body(user("Hi"), settings={"stop": ("a",)})


def test_without_tools_there_is_no_choice() -> None:
    assert "tool_choice" not in body(*ROUND, settings={"tool_choice": "required"})


def test_a_text_dialect_goes_through_the_instructions_and_plain_messages() -> None:
    said = body(*ROUND, dialect="tinyrag", tools=(WEATHER,), system="Be brief.", settings={"tool_choice": "required"})
    assert "tools" not in said
    assert "tool_choice" not in said
    assert said["instructions"].startswith("Be brief.")
    assert '<tool name="weather">' in said["input"][2]["content"]
    assert "rain" in said["input"][3]["content"][0]["text"]


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


def test_an_answer_that_was_read_is_written_as_it_was() -> None:
    output = [THOUGHT, SEARCH, PHASED, call("f", '{"x": "a"}', "call_a"), call("g", "{}", "call_b")]
    (answer,) = folded(read(plain(*output), [])[0])
    sent = body(user("Hi"), answer, user("Go"))["input"][1:-1]
    assert sent[:2] == [THOUGHT, SEARCH]
    assert sent[2] == {"role": "assistant", "content": "Let me see.", "phase": "commentary"}
    assert sent[3:] == [
        {name: value for name, value in item.items() if name not in ("id", "status")} for item in output[3:]
    ]


# ---- the vendor's own SDK --------------------------------------------------------------


def validated(value: Any) -> Any:
    """A validated value with everything lazy in it read, and so validated."""
    match value:
        case str() | bytes():
            return value
        case Mapping():
            return {name: validated(item) for name, item in value.items()}
        case Iterable():
            return [validated(item) for item in value]
        case _:
            return value


def without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {name: without_nulls(item) for name, item in value.items() if item is not None}
        case list():
            return [without_nulls(item) for item in value]
        case _:
            return value


BODIES: dict[str, dict[str, Any]] = {
    "a round": body(*ROUND, user("So?"), tools=(WEATHER, CLOCK), system="S"),
    "what the service gave": body(
        user("Hi"),
        Message("assistant", (Vendor(NAME, THOUGHT), Vendor(NAME, SEARCH), TextPart("Let me see."), Vendor(NAME, PHASED),
                              Vendor(NAME, {"type": "function_call", "call_id": "call_a", "caller": PROGRAM}), FIRST)),
        Message("tool", (ToolResult("2.1", "ok", (TextPart("a"), FilePart("a.pdf", "application/pdf", url="https://h/a")),),)),
        Message("user", (Vendor(NAME, {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}),)),
    ),
    "files": body(Message("user", (ImagePart(data=b"x"), ImagePart(url="https://h/i"), FilePart("a", "application/pdf", b"x"),
                                   FilePart("a", "application/pdf", url="https://h/a")))),
} | {
    f"{settings} for {model}": body(user("Hi"), tools=(CLOCK,), model=model, settings=settings)
    for settings, model, _ in SETTINGS
}  # fmt: skip


@pytest.mark.parametrize("row", BODIES)
def test_the_sdk_types_the_body(row: str) -> None:
    params = pytest.importorskip("openai.types.responses.response_create_params")
    pydantic = pytest.importorskip("pydantic")
    adapter = pydantic.TypeAdapter(params.ResponseCreateParamsStreaming)
    assert without_nulls(validated(adapter.validate_python(BODIES[row]))) == BODIES[row]


def test_the_sdk_types_a_sound() -> None:
    params = pytest.importorskip("openai.types.responses.response_input_audio_param")
    pydantic = pytest.importorskip("pydantic")
    (said,) = body(Message("user", (AudioPart("audio/wav", b"RIFF"),)))["input"]
    assert pydantic.TypeAdapter(params.ResponseInputAudioParam).validate_python(said["content"][0])


ODDITIES = (
    "a call that nobody",
    "texts that come when",
    "nothing but",
    "items that are never",
    "a server whose",
    "all calls",
)
SDK_ROWS = [row for row, (data, _) in ROWS.items() if data.startswith(START) and b"event: response.completed" in data
            and not row.startswith((*ODDITIES, "events and items", "odd types", "bytes that are"))]  # fmt: skip


@pytest.mark.parametrize("row", SDK_ROWS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_sdk_reads_the_same_from_the_same_bytes(row: str) -> None:
    openai, httpx = pytest.importorskip("openai"), pytest.importorskip("httpx2")
    data, deltas = ROWS[row]
    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=data))
    with (
        httpx.Client(transport=transport) as http,
        openai.OpenAI(api_key="k", http_client=http) as client,
        client.responses.stream(model=MODEL, input="Hi") as stream,
    ):
        seen = list(stream)
        final = stream.get_final_response()
    said = "".join([delta.text for delta in deltas if isinstance(delta, TextDelta)])
    pieces = [one.delta for one in seen if one.type in ("response.output_text.delta", "response.refusal.delta")]
    if row.startswith("two parts"):  # the second came without pieces
        assert said.startswith("".join(pieces))
    else:
        assert said == "".join(pieces)
    assert [(one.wire, one.name, one.args) for message in folded(deltas) for one in message.calls] == calls_in(seen)
    stop = deltas[-1]
    assert isinstance(stop, Stop)
    used = final.usage
    assert stop.usage == Usage(
        used.input_tokens,
        used.output_tokens,
        used.input_tokens_details.cached_tokens,
        used.output_tokens_details.reasoning_tokens,
    )


def calls_in(seen: list[Any]) -> list[tuple[str, str, Any]]:
    """The whole calls that the SDK's events hold, in the order in which they were begun."""
    whole = [one for one in seen if one.type == "response.output_item.done" and one.item.type == "function_call"]
    calls = [one.item for one in sorted(whole, key=lambda one: one.output_index) if one.item.status == "completed"]
    return [(item.call_id, item.name, json.loads(item.arguments or "{}")) for item in calls]


@pytest.mark.parametrize("item", [THOUGHT, SEARCH, CITED, PHASED, REFUSED, CALL_A | {"caller": PROGRAM}])
def test_the_sdk_types_our_recordings(item: dict[str, Any]) -> None:
    responses = pytest.importorskip("openai.types.responses")
    parsed = responses.Response.model_validate(response(item), strict=False)
    assert without_nulls(parsed.model_dump(exclude_unset=True)) == without_nulls(response(item))


# ---- over HTTP -------------------------------------------------------------------------

KEY = "sk-very-secret-key-0123456789"


def provider(url: str, **settings: Any) -> Responses:
    return Responses("gpt-x", base_url=url, **({"api_key": KEY} | settings))


async def test_it_is_asked_at_its_address_with_its_headers(wire: Any) -> None:
    records = [record + b"\n\n" for record in ROWS["text"][0].split(b"\n\n")[:-1]]
    async with wire.Server(wire.streamed(*records)) as server:
        asking = provider(server.url, headers={"X-Team": "blue"})
        deltas, failed = await wire.heard(asking, wire.ask("hi", temperature=0.5, extra_headers={"X-Run": "7"}))
    assert failed is None
    assert deltas == ROWS["text"][1]
    (asked,) = server.asked
    assert asked.path == "/v1/responses"
    assert (asked.headers["authorization"], asked.headers["x-team"], asked.headers["x-run"]) == (
        f"Bearer {KEY}",
        "blue",
        "7",
    )
    assert asked.body == {
        "model": "gpt-x",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.5,
        "input": [says("system", "hi")],
    }
    assert KEY not in repr(asking)


async def test_a_plain_answer_says_the_same(wire: Any) -> None:
    async with wire.Server(wire.sized(ROWS["a plain answer"][0])) as server:
        deltas, failed = await wire.heard(provider(server.url, stream=False))
    assert failed is None
    assert deltas == ROWS["a plain answer"][1]
    assert server.asked[0].body["stream"] is False


async def test_a_delta_is_handed_on_before_the_next_byte_and_leaving_hangs_up(wire: Any) -> None:
    async with wire.Server(wire.streamed(TEXT, wire.HANG)) as server:
        async with aclosing(provider(server.url).stream(wire.ask())) as deltas:
            assert await asyncio.wait_for(anext(deltas), 5) == TextDelta("a")
        await asyncio.wait_for(server.gone.wait(), 1)


@pytest.mark.parametrize(("status", "retryable"), [("400 Bad", False), ("401 No", False), ("404 No", False), ("429 Slow", True), ("500 Oops", True)])  # fmt: skip
async def test_refusals_are_typed_and_show_no_key(wire: Any, status: str, retryable: bool) -> None:
    body = json.dumps({"error": {"type": "some_error", "code": None, "message": f"no: {KEY}"}}).encode()
    async with wire.Server(wire.sized(body, "Retry-After: 3", status=status)) as server:
        deltas, failed = await wire.heard(provider(server.url))
    assert deltas == []
    assert isinstance(failed, ProviderError)
    assert (failed.status, failed.retryable, failed.retry_after) == (int(status[:3]), retryable, 3.0)
    assert KEY not in str(failed)


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ([event("error", code="rate_limit_exceeded", message="Slow down")], "Slow down"),
        ([finish(status="failed", error={"code": "server_error", "message": "Oops"})], "Oops"),
        ([], "the answer was cut"),
        (["reset"], "broke"),
    ],
)
async def test_what_breaks_in_the_stream_keeps_what_was_said(wire: Any, ending: list[Any], words: str) -> None:
    async with wire.Server(wire.streamed(TEXT, *ending)) as server:
        deltas, failed = await wire.heard(provider(server.url))
    assert deltas == [TextDelta("a")]
    assert isinstance(failed, ProviderError)
    assert failed.retryable is True
    assert words in str(failed)


async def test_it_is_chosen_by_name_and_says_which_key_is_missing(monkeypatch: pytest.MonkeyPatch, wire: Any) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chosen = choose("responses:gpt-x")
    assert isinstance(chosen, Responses)
    assert (chosen.model, chosen.name, chosen._at.url) == ("gpt-x", NAME, "https://api.openai.com/v1/responses")
    assert "OPENAI_API_KEY is not set" in str((await wire.heard(chosen))[1])
    with block_real_models():
        assert isinstance((await wire.heard(chosen))[1], UsageError)
    with pytest.raises(UsageError, match="must be named"):
        Responses("")


def test_azure_has_its_own_header() -> None:
    azure = Responses("m", base_url="https://x.openai.azure.com/openai/v1?api-version=preview", api_key=KEY)
    assert azure._at.url == "https://x.openai.azure.com/openai/v1/responses?api-version=preview"
    assert azure._exchange._key_header(KEY) == {"api-key": KEY}
    assert Responses("m", api_key=KEY)._exchange._key_header(KEY) == {"Authorization": f"Bearer {KEY}"}


@ss.tool(read_only=True)
async def look(q: str) -> str:
    """Look it up."""
    return f"found {q}"


async def test_a_turn_with_a_tool_sends_its_reasoning_back_and_begins_with_the_same_bytes(wire: Any) -> None:
    asked_for = call("look", '{"q": "x"}', "call_1")
    first = [START, added(0, EMPTY), done(0, THOUGHT), added(1, opened(asked_for)), args('{"q":', ' "x"}', index=1, item="fc_call_1"),
             done(1, asked_for), finish(THOUGHT, asked_for)]  # fmt: skip
    second = [
        START,
        added(0, opened(message())),
        text("It is x."),
        done(0, message("It is x.")),
        finish(message("It is x.")),
    ]
    async with wire.Server(wire.streamed(*first), wire.streamed(*second)) as server:
        engine = ss.Engine(provider(server.url), [look])
        async with engine.run("What is x?") as run:
            await run.result()
    assert (run.answer, run.reason) == ("It is x.", "done")
    before, after = [asked.body for asked in server.asked]
    assert before["tools"] == after["tools"]
    (question,) = before["input"]
    assert after["input"][:3] == [
        question,
        THOUGHT,
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"q": "x"}'},
    ]
    assert after["input"][3]["call_id"] == "call_1"
    assert "found x" in after["input"][3]["output"]
    assert bytes_of(after).startswith(bytes_of(before)[:-2])
