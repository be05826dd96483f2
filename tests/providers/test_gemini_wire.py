"""Google's Gemini API: recorded answers cut anywhere say the same, and a request becomes the body the API takes.
Where the vendor's own SDK is installed, it judges both: it types the bodies, sends the same ones, and reads the
same bytes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream import dialects
from sidestream.dialects.reader import Reader
from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, RoundStarted, Stop, TextDelta, ThinkDelta
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
from sidestream.providers.gemini_read import Answer
from sidestream.providers.gemini_write import body_of
from sidestream.providers.openai_write import bytes_of
from sidestream.providers.provider import Request, Settings

# ---- answers -------------------------------------------------------------------------

USAGE = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
USED = Usage(11, 7)


def chunk(*parts: Any, finish: str | None = None, usage: Any = USAGE, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0} | more
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro", "responseId": "r"}


def record(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\r\n\r\n"


def streamed(*chunks: Any) -> bytes:
    return b"".join([record(value) for value in chunks])


def call(name: str, args: Any = None, **fields: Any) -> dict[str, Any]:
    function = {"name": name} | ({} if args is None else {"args": args}) | fields.pop("call", {})
    return {"functionCall": function} | fields


SIG, SIG2 = "c2ln", "c2lnMg=="
CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
DONE = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
GROUND = {"webSearchQueries": ["rain"], "groundingChunks": [{"web": {"uri": "https://h", "title": "T"}}]}

ROWS: dict[str, tuple[bytes, list[AnyDelta]]] = {
    "text": (
        streamed(chunk({"text": "Zürich "}), chunk({"text": "😀"}), chunk({"text": "."}, finish="STOP")),
        [TextDelta("Zürich "), TextDelta("😀"), TextDelta("."), Stop("end", USED)],
    ),
    "thoughts, a text, and a signature that comes last with no text": (
        streamed(
            chunk({"text": "Hm, ", "thought": True}), chunk({"text": "ok.", "thought": True}), chunk({"text": "a"}),
            chunk({"text": "", "thoughtSignature": SIG}, finish="STOP",
                  usage=USAGE | {"thoughtsTokenCount": 4, "cachedContentTokenCount": 5, "toolUsePromptTokenCount": 2}),
        ),
        [
            ThinkDelta("Hm, "), ThinkDelta("ok."), TextDelta("a"),
            Vendor("gemini", {"text": "", "thoughtSignature": SIG}), Stop("end", Usage(13, 11, 5, 4)),
        ],
    ),
    "a signature with a text, and one with a thought": (
        streamed(
            chunk({"text": "t", "thought": True, "thoughtSignature": SIG}), chunk({"text": "a"}),
            chunk({"text": "b", "thoughtSignature": SIG2}), chunk({"text": "c"}, finish="STOP"),
        ),
        [
            ThinkDelta("t"), Vendor("gemini", {"text": "t", "thought": True, "thoughtSignature": SIG}), TextDelta("a"),
            TextDelta("b"), Vendor("gemini", {"text": "b", "thoughtSignature": SIG2}), TextDelta("c"), Stop("end", USED),
        ],
    ),
    "two calls, the first with a signature": (
        streamed(
            chunk({"text": "Let me."}),
            chunk(call("f", {"x": "ä"}, thoughtSignature=SIG), call("g", {"y": [1]}, call={"id": "c2"})),
            chunk({"text": ""}, finish="STOP"),
        ),
        [
            TextDelta("Let me."), Vendor("gemini", {"functionCall": {"name": "f"}, "thoughtSignature": SIG}),
            CallDelta(0, "", "f", '{"x": "ä"}', True), CallDelta(1, "c2", "g", '{"y": [1]}', True), Stop("tools", USED),
        ],
    ),
    "two calls of one tool in two records, one without arguments": (
        streamed(chunk(call("f")), chunk(call("f", {}, call={"id": "c2"}, thoughtSignature=SIG), finish="STOP")),
        [
            CallDelta(0, "", "f", "{}", True),
            Vendor("gemini", {"functionCall": {"name": "f", "id": "c2"}, "thoughtSignature": SIG}),
            CallDelta(1, "c2", "f", "{}", True), Stop("tools", USED),
        ],
    ),
    "a script of the service, a picture, and where it was found": (
        streamed(
            chunk({"text": "So: "}), chunk(CODE), chunk(DONE | {"thoughtSignature": SIG}), chunk(PICTURE),
            chunk({"text": "1"}, finish="STOP", groundingMetadata=GROUND, citationMetadata={"citationSources": [{"uri": "u"}]}),
        ),
        [
            TextDelta("So: "), Vendor("gemini", CODE), Vendor("gemini", DONE | {"thoughtSignature": SIG}),
            Vendor("gemini", PICTURE), TextDelta("1"), Vendor("gemini", {"groundingMetadata": GROUND}),
            Vendor("gemini", {"citationMetadata": {"citationSources": [{"uri": "u"}]}}), Stop("end", USED),
        ],
    ),
    "a blocked prompt": (
        streamed({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 11}}),
        [Stop("filter", Usage(11))],
    ),
    "a blocked answer has no content": (
        streamed(chunk({"text": "a"}), {"candidates": [{"finishReason": "SAFETY", "index": 0}], "usageMetadata": USAGE}),
        [TextDelta("a"), Stop("filter", USED)],
    ),
    "a finish reason with every record": (
        streamed(chunk({"text": "a"}, finish="STOP"), chunk({"text": "b"}, finish="STOP"), chunk(finish="STOP")),
        [TextDelta("a"), TextDelta("b"), Stop("end", USED)],
    ),
    "no finish reason": (streamed(chunk({"text": "a"}, usage=None)), [TextDelta("a"), Stop("end")]),
    "usage after the finish": (
        streamed(chunk({"text": "a"}, finish="MAX_TOKENS", usage=None), {"usageMetadata": USAGE}),
        [TextDelta("a"), Stop("length", USED)],
    ),
    "further candidates, unknown fields, nulls, odd types": (
        streamed(
            {"candidates": [{"index": 1, "content": {"parts": [{"text": "no"}]}}, {"content": {"parts": None}, "x": 1}]},
            {"candidates": None, "usageMetadata": [1], "promptFeedback": {}, "error": None},
            chunk(None, 7, {}, {"thought": True}, {"text": None, "thoughtSignature": ""}, {"text": "a"}),
            chunk(finish="FINISH_REASON_UNSPECIFIED"), chunk(finish="STOP", usage={"promptTokenCount": "x"}),
        ),
        [TextDelta("a"), Stop("end", Usage())],
    ),
    "bytes that are no UTF-8, half an emoji": (
        b'data: {"candidates":[{"content":{"parts":[{"text":"a\xf0\x9f"},{"text":"\\ud83d"}]}}]}\n\n' + record(chunk(finish="STOP")),
        [TextDelta("a\ufffd"), TextDelta("\ufffd"), Stop("end", USED)],
    ),
    "a plain answer": (
        json.dumps(chunk({"text": "t", "thought": True}, {"text": "a"}, call("f", {"x": 1}, thoughtSignature=SIG), finish="STOP"), indent=1).encode(),
        [
            ThinkDelta("t"), TextDelta("a"), Vendor("gemini", {"functionCall": {"name": "f"}, "thoughtSignature": SIG}),
            CallDelta(0, "", "f", '{"x": 1}', True), Stop("tools", USED),
        ],
    ),
    "a stream that came as one JSON list": (
        json.dumps([chunk({"text": "a"}), chunk({"text": "b"}, finish="STOP")]).encode(),
        [TextDelta("a"), TextDelta("b"), Stop("end", USED)],
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


@pytest.mark.parametrize("row", [row for row, (data, _) in ROWS.items() if data.startswith(b"data: ")])
def test_a_delta_comes_as_soon_as_its_record_is_whole(row: str) -> None:
    data, expected = ROWS[row]
    answer, out = Answer(), list[AnyDelta]()
    for item in data.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:
        before = len(out)
        answer.feed(item + b"\n\n", out)
        assert len(out) > before or not any(mark in item for mark in (b'"text": "a', b"functionCall"))
    assert out == expected[:-1]  # only the end of the body says that nothing more will come
    assert not answer.ended


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("STOP", "end"), ("MAX_TOKENS", "length"), ("CONTINUATION", "length"), ("SAFETY", "filter"), ("RECITATION", "filter"),
        ("LANGUAGE", "filter"), ("BLOCKLIST", "filter"), ("PROHIBITED_CONTENT", "filter"), ("SPII", "filter"),
        ("IMAGE_SAFETY", "filter"), ("IMAGE_PROHIBITED_CONTENT", "filter"), ("IMAGE_RECITATION", "filter"),
        ("ESCALATION", "filter"), ("MODEL_ARMOR", "filter"), ("PUP_LIMITED_DISABLED", "filter"), ("NEW_ONE", "end"),
    ],
)  # fmt: skip
def test_finish_reasons(reason: str, expected: str) -> None:
    assert read(streamed(chunk(finish=reason)), [])[0] == [Stop(expected, USED)]  # type: ignore[arg-type]
    said = read(streamed(chunk(call("f"), finish=reason)), [])[0]
    assert said[-1] == Stop("tools" if expected == "end" else expected, USED)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reason", "retryable"),
    [
        ("MALFORMED_FUNCTION_CALL", True), ("MALFORMED_RESPONSE", True), ("UNEXPECTED_TOOL_CALL", True),
        ("TOO_MANY_TOOL_CALLS", True), ("MISSING_THOUGHT_SIGNATURE", False), ("OTHER", True), ("NO_IMAGE", True),
        ("IMAGE_OTHER", True),
    ],
)  # fmt: skip
def test_a_finish_reason_that_says_the_model_failed_is_an_error_with_its_words(reason: str, retryable: bool) -> None:
    answer, out = Answer(), list[AnyDelta]()
    data = streamed(chunk({"text": "a"}), chunk(finish=reason, finishMessage="Malformed: print(f("))
    with pytest.raises(ProviderError, match=rf"{reason}\): Malformed: print") as caught:
        answer.feed(data, out)
    assert out == [TextDelta("a")]
    assert caught.value.retryable is retryable


RETRY = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36.5s"}, {"retryDelay": "soon"}, 7]


@pytest.mark.parametrize(
    ("error", "status", "retryable", "after"),
    [
        ({"code": 429, "message": "Oh no", "status": "RESOURCE_EXHAUSTED", "details": RETRY}, 429, True, 36.5),
        ({"code": 503, "message": "Oh no", "status": "UNAVAILABLE"}, 503, True, None),
        ({"code": 500, "message": "Oh no", "status": "INTERNAL", "details": None}, 500, True, None),
        ({"code": 400, "message": "Oh no", "status": "INVALID_ARGUMENT"}, 400, False, None),
        ({"code": 403, "message": "Oh no", "status": "PERMISSION_DENIED"}, 403, False, None),
        ("Oh no", 0, False, None),
    ],
)
@pytest.mark.parametrize("form", ["streamed", "plain", "list"])
def test_an_error_comes_after_all_that_came_before_it(
    error: Any, status: int, retryable: bool, after: float | None, form: str
) -> None:
    failure = {"error": error}
    data = {
        "streamed": streamed(chunk({"text": "a"}), failure, chunk({"text": "late"})),
        "plain": json.dumps(failure).encode(),
        "list": json.dumps([chunk({"text": "a"}), failure]).encode(),
    }[form]
    answer, out = Answer(), list[AnyDelta]()

    def fed() -> None:
        for at in range(len(data)):
            answer.feed(data[at : at + 1], out)
        answer.end(out, framed=True)

    with pytest.raises(ProviderError, match="Oh no") as caught:
        fed()
    assert out == ([] if form == "plain" else [TextDelta("a")])
    assert (caught.value.status, caught.value.retryable, caught.value.retry_after) == (status, retryable, after)


BROKEN = ProviderError("the wire broke", retryable=True)
TEXT = streamed(chunk({"text": "a"}))
LAST = streamed(chunk(finish="STOP"))


@pytest.mark.parametrize(
    ("data", "end", "expected", "error"),
    [
        (TEXT, {"framed": False}, [TextDelta("a")], "the answer was cut"),
        (TEXT, {"framed": True}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT, {"framed": False, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (TEXT + LAST[:-9], {"framed": True, "broken": BROKEN}, [TextDelta("a")], "the wire broke"),
        (TEXT + LAST, {"framed": False, "broken": BROKEN}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT + LAST, {"framed": False}, [TextDelta("a"), Stop("end", USED)], ""),
        (TEXT + LAST[:-4], {"framed": True}, [TextDelta("a"), Stop("end", USED)], ""),
        (LAST + TEXT, {"framed": False}, [TextDelta("a")], "the answer was cut"),
        (TEXT + b'data: {"candidates":', {"framed": True}, [TextDelta("a")], "cannot be read"),
        (b"data: 7\n\n", {}, [], "cannot be read: 7"),
        (b"data: {oops\n\n", {}, [], "cannot be read: {oops"),
        (b"data: [[1]]\n\n", {}, [], "cannot be read"),
        (b"", {}, [], "the provider sent an empty answer"),
        (b": ping\n\n", {}, [], "holds no record; it begins: : ping"),
        (b"<!doctype html>", {}, [], "a web page"),
        (b'[{"candidates":', {}, [], "cannot be read"),
        (b'[{"candidates":', {"framed": False, "broken": BROKEN}, [], "the wire broke"),
    ],
)  # fmt: skip
def test_when_an_answer_is_whole(data: bytes, end: dict[str, Any], expected: list[AnyDelta], error: str) -> None:
    out, said = read(data, [], **end)
    assert out == expected
    assert error in said
    assert bool(said) == bool(error)


def test_nothing_is_to_come_after_a_finish_reason_that_came_alone() -> None:
    answer, out = Answer(), list[AnyDelta]()
    answer.feed(TEXT, out)
    assert (answer.quiet, answer.finished) == (False, False)
    answer.feed(streamed(chunk({"text": "b"}, finish="STOP")), out)
    assert (answer.quiet, answer.finished, answer.begun) == (False, True, True)
    answer.feed(LAST, out)
    assert (answer.quiet, answer.finished, answer.ended) == (True, True, False)
    answer.end(out, framed=True)
    answer.end(out, framed=True)
    assert out == [TextDelta("a"), TextDelta("b"), Stop("end", USED)]


def test_records_and_plain_answers_have_a_limit() -> None:
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        Answer(10).feed(b"data: 12345678901\n\n", [])
    answer = Answer(10)
    answer.feed(b'{"a', [])
    with pytest.raises(ProviderError, match="more than 10 bytes"):
        answer.feed(b'":1234567}', [])


WORDS = st.sampled_from(
    [
        "candidates",
        "content",
        "parts",
        "text",
        "thought",
        "functionCall",
        "args",
        "name",
        "id",
        "thoughtSignature",
        "index",
        "finishReason",
        "finishMessage",
        "STOP",
        "OTHER",
        "usageMetadata",
        "promptTokenCount",
        "promptFeedback",
        "blockReason",
        "error",
        "code",
        "message",
        "details",
        "retryDelay",
        "3s",
        "groundingMetadata",
        "executableCode",
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
NEW, OLD = "gemini-3-flash", "gemini-2.5-flash"


def body(*messages: Message, dialect: str = "native", model: str = NEW, **request: Any) -> dict[str, Any]:
    settings = Settings(**request.pop("settings", {}))
    said = body_of(Request(messages, dialects.get(dialect), settings=settings, **request), model)
    assert json.loads(bytes_of(said)) == said  # nothing in it but JSON
    return said


def says(role: str, *said: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text} for text in said]}


def test_the_whole_of_a_plain_request() -> None:
    assert body(user("Hi"), assistant("Hello."), user("Bye"), system="Be brief.") == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [says("user", "Hi"), says("model", "Hello."), says("user", "Bye")],
    }


def test_tools_stand_in_the_order_of_their_names_with_a_schema_each() -> None:
    said = body(user("Hi"), tools=(WEATHER, CLOCK))
    assert bytes_of(said) == bytes_of(body(user("Hi"), tools=(CLOCK, WEATHER)))
    assert said["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "clock",
                    "description": "The time.",
                    "parametersJsonSchema": {"type": "object", "properties": {}},
                },
                {
                    "name": "weather",
                    "description": "Current weather.",
                    "parametersJsonSchema": {"type": "object"} | WEATHER.schema,
                },
            ]
        }
    ]
    assert "tools" not in body(user("Hi"))


FIRST = ToolCall("2.1", "weather", {"city": "Zürich"}, "", "c1")
SECOND = ToolCall("2.2", "clock", {}, "{}")
SIGNED = Vendor("gemini", {"functionCall": {"name": "weather", "id": "c1"}, "thoughtSignature": SIG})
ROUND = (
    user("Hi"),
    Message("assistant", (ThinkPart("Hm."), TextPart("Let me see."), SIGNED, FIRST, SECOND)),
    Message(
        "tool",
        (
            ToolResult("2.1", "ok", (TextPart("rain"), ImagePart("image/jpeg", b"\xff\xd8"))),
            ToolResult("2.2", "timeout", (TextPart("too slow"),)),
            DataPart("rejected", {"id": "2.4", "name": "clock", "raw": "{", "why": "truncated"}),
        ),
    ),
)
JPEG = {"inlineData": {"mimeType": "image/jpeg", "data": "/9g="}}


def test_a_round_goes_back_with_its_signatures_and_ids_and_results_stand_alone() -> None:
    _, answer, told, rest = body(*ROUND, user("And?"), tools=(WEATHER, CLOCK))["contents"]
    assert answer == {
        "role": "model",
        "parts": [
            {"text": "Let me see."},
            {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Zürich"}}, "thoughtSignature": SIG},
            {"functionCall": {"name": "clock", "args": {}}},
        ],
    }
    first, second = [part["functionResponse"] for part in told["parts"]]
    assert told["role"] == "user"
    assert first == {"id": "c1", "name": "weather", "response": {"output": "rain"}, "parts": [JPEG]}
    assert second["name"] == "clock"
    assert "id" not in second
    assert "too slow" in second["response"]["error"]
    assert rest["role"] == "user"
    assert len(rest["parts"]) == 2
    assert rest["parts"][1] == {"text": "And?"}


def test_before_gemini_3_the_images_of_a_result_follow_it() -> None:
    told = body(*ROUND, model=OLD)["contents"][2]["parts"]
    assert [next(iter(part)) for part in told] == ["functionResponse", "functionResponse", "text", "inlineData"]
    assert "parts" not in told[0]["functionResponse"]
    assert told[3] == JPEG


@pytest.mark.parametrize(
    ("status", "key"),
    [(status, "error") for status in ("error", "timeout", "refused", "cancelled", "unknown")]
    + [(status, "output") for status in ("ok", "duplicate", "running")],
)
def test_a_failed_result_says_so(status: Any, key: str) -> None:
    said = body(*ROUND[:2], Message("tool", (ToolResult("2.1", status, (TextPart("x"),)),)))
    assert list(said["contents"][2]["parts"][0]["functionResponse"]["response"]) == [key]


UNSIGNED = "skip_thought_signature_validator"
SPOKEN = {"text": "b", "thoughtSignature": SIG}
ALONE = {"text": "", "thoughtSignature": SIG}
THOUGHT = {"text": "t", "thought": True, "thoughtSignature": SIG}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((ThinkPart("x"), TextPart("a")), [{"text": "a"}]),
        ((Vendor("openai", ALONE), TextPart("a")), [{"text": "a"}]),
        ((TextPart("ab"), Vendor("gemini", SPOKEN), TextPart("c")), [{"text": "a"}, SPOKEN, {"text": "c"}]),
        ((TextPart("b"), Vendor("gemini", SPOKEN)), [SPOKEN]),
        ((TextPart("b"), Vendor("gemini", SPOKEN), Vendor("gemini", SPOKEN)), [SPOKEN, ALONE]),
        ((TextPart("changed"), Vendor("gemini", SPOKEN)), [{"text": "changed"}, ALONE]),
        ((TextPart("a"), Vendor("gemini", ALONE)), [{"text": "a"}, ALONE]),
        ((ThinkPart("t"), Vendor("gemini", THOUGHT), TextPart("a")), [THOUGHT, {"text": "a"}]),
        ((Vendor("gemini", CODE), Vendor("gemini", DONE), Vendor("gemini", PICTURE)), [CODE, DONE, PICTURE]),
        ((TextPart("a"), Vendor("gemini", {"groundingMetadata": GROUND})), [{"text": "a"}]),
        ((TextPart("a"), SIGNED), [{"text": "a"}]),  # its call was rejected
        ((SECOND,), [{"functionCall": {"name": "clock", "args": {}}, "thoughtSignature": UNSIGNED}]),
        (
            (SECOND, FIRST),
            [
                {"functionCall": {"name": "clock", "args": {}}, "thoughtSignature": UNSIGNED},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Zürich"}}},
            ],
        ),
        (
            (Vendor("gemini", {"functionCall": {"name": "lost"}, "thoughtSignature": SIG2}), SIGNED, FIRST),
            [{"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Zürich"}}, "thoughtSignature": SIG}],
        ),
    ],
)
def test_what_the_service_gave_goes_back_as_it_came(parts: Any, expected: list[dict[str, Any]]) -> None:
    assert body(user("Hi"), Message("assistant", parts), user("Go"))["contents"][1]["parts"] == expected


def test_only_the_strict_models_hear_of_a_signature_that_never_was() -> None:
    said = body(user("Hi"), Message("assistant", (SECOND,)), model=OLD)["contents"][1]["parts"]
    assert said == [{"functionCall": {"name": "clock", "args": {}}}]


def test_neighbours_of_one_role_become_one_content() -> None:
    said = body(user("a"), user("b"), assistant("c"), assistant("d"), assistant(""), system("New rules."), user("e"))
    assert said["contents"] == [says("user", "a", "b"), says("model", "c", "d"), says("user", "New rules.", "e")]


def test_system_messages_that_open_a_conversation_join_the_system_text() -> None:
    said = body(system("A"), system("B"), user("Hi"), system="S")
    assert said["systemInstruction"] == {"parts": [{"text": "S\n\nA\n\nB"}]}


def test_images_files_and_sounds() -> None:
    parts = (
        TextPart("Look:"),
        ImagePart("image/jpeg", b"\xff\xd8"),
        ImagePart("image/png", url="https://h/i.png"),
        FilePart("a.pdf", "application/pdf", b"%PDF"),
        FilePart("a.mp4", "video/mp4", url="https://h/files/a"),
        FilePart("a.txt", "text/plain", "Hä?".encode()),
        AudioPart("audio/wav", b"RIFF"),
        DataPart("place", {"lat": 1}),
    )
    (content,) = body(Message("user", parts))["contents"]
    assert content["parts"] == [
        {"text": "Look:"},
        JPEG,
        {"fileData": {"mimeType": "image/png", "fileUri": "https://h/i.png"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://h/files/a"}},
        {"text": "a.txt:\nHä?"},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
        {"text": '{"lat": 1}'},
    ]


def calling(mode: str, **more: Any) -> dict[str, Any]:
    return {"toolConfig": {"functionCallingConfig": {"mode": mode} | more}}


def config(**fields: Any) -> dict[str, Any]:
    return {"generationConfig": fields}


def level(name: str, shown: bool = True) -> dict[str, Any]:
    return config(thinkingConfig={"thinkingLevel": name, "includeThoughts": shown})


def budget(tokens: int, shown: bool = True) -> dict[str, Any]:
    return config(thinkingConfig={"thinkingBudget": tokens, "includeThoughts": shown})


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
SETTINGS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"temperature": 0.0}, NEW, config(temperature=0.0)),
    ({"max_tokens": 5, "stop": ("a", "b")}, NEW, config(maxOutputTokens=5, stopSequences=["a", "b"])),
    ({"tool_choice": "auto"}, NEW, calling("AUTO")),
    ({"tool_choice": "none"}, NEW, calling("NONE")),
    ({"tool_choice": "required"}, NEW, calling("ANY")),
    ({"tool_choice": "clock"}, NEW, calling("ANY", allowedFunctionNames=["clock"])),
    ({"thinking": "off"}, NEW, level("MINIMAL", False)),
    ({"thinking": "minimal"}, NEW, level("MINIMAL")),
    ({"thinking": "low"}, NEW, level("LOW")),
    ({"thinking": "medium"}, "models/gemini-4-argon", level("MEDIUM")),
    ({"thinking": "high"}, "my-model", level("HIGH")),
    ({"thinking": "off"}, "gemini-3.1-pro-preview", level("LOW", False)),
    ({"thinking": "minimal"}, "gemini-3-pro", level("LOW")),
    ({"thinking": "high"}, "gemini-3-pro", level("HIGH")),
    ({"thinking": "off"}, OLD, budget(0, False)),
    ({"thinking": "off"}, "gemini-2.5-pro", budget(128, False)),
    ({"thinking": "minimal"}, OLD, budget(512)),
    ({"thinking": "low"}, OLD, budget(2048)),
    ({"thinking": "medium"}, OLD, budget(8192)),
    ({"thinking": "high"}, "gemini-2.5-pro", budget(24_576)),
    ({"response": "text", "cache": "auto"}, NEW, {}),
    ({"response": "json"}, NEW, config(responseMimeType="application/json")),
    ({"response": SCHEMA}, NEW, config(responseMimeType="application/json", responseJsonSchema=SCHEMA)),
    ({"extra_body": {"safetySettings": []}}, NEW, {"safetySettings": []}),
    ({"extra_body": {"generationConfig": {"topK": 3}}}, NEW, config(topK=3)),
    ({"extra_body": {"generationConfig": {"topK": 3}}, "max_tokens": 5}, NEW, config(maxOutputTokens=5, topK=3)),
]


@pytest.mark.parametrize(("settings", "model", "expected"), SETTINGS)
def test_settings(settings: dict[str, Any], model: str, expected: dict[str, Any]) -> None:
    plain = body(user("Hi"), tools=(CLOCK,), model=model)
    assert body(user("Hi"), tools=(CLOCK,), model=model, settings=settings) == plain | expected


def test_none_in_extra_body_takes_a_field_away() -> None:
    assert "generationConfig" not in body(
        user("Hi"), settings={"max_tokens": 5, "extra_body": {"generationConfig": None}}
    )


def test_a_text_dialect_goes_through_the_system_text_and_plain_contents() -> None:
    said = body(*ROUND, dialect="tinyrag", tools=(WEATHER,), system="Be brief.", settings={"tool_choice": "required"})
    assert "tools" not in said
    assert "toolConfig" not in said
    assert said["systemInstruction"]["parts"][0]["text"].startswith("Be brief.")
    assert '<tool name="weather">' in json.dumps(said["contents"][1], ensure_ascii=False).replace('\\"', '"')
    assert "rain" in said["contents"][2]["parts"][0]["text"]


# ---- there and back ------------------------------------------------------------------


def folded(deltas: list[AnyDelta]) -> list[Message]:
    """What the transcript holds of an answer."""
    reader: Reader = dialects.get("native").parser([WEATHER])
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
        "a signature with a text, and one with a thought",
        "two calls, the first with a signature",
        "two calls of one tool in two records, one without arguments",
        "a script of the service, a picture, and where it was found",
        "a plain answer",
    ],
)
def test_every_signature_goes_back_on_the_part_it_came_with(row: str) -> None:
    data, deltas = ROWS[row]
    (answer,) = folded(deltas)
    sent = body(user("Hi"), answer, model=OLD)["contents"][1]["parts"]
    came = [json.loads(line) for line in data.removeprefix(b"data: ").split(b"\r\n\r\ndata: ")]
    parts = [part for item in came for part in item["candidates"][0]["content"]["parts"]]
    for part in parts:
        if "functionCall" in part:
            part["functionCall"].setdefault("args", {})
    signed = [part for part in parts if "thoughtSignature" in part]
    assert signed == [part for part in sent if "thoughtSignature" in part]
    said = [part["text"] for part in parts if "text" in part and not part.get("thought")]
    assert "".join(said) == "".join([part["text"] for part in sent if "text" in part and not part.get("thought")])
    assert [part for part in parts if "text" not in part] == [part for part in sent if "text" not in part]


# ---- the vendor's own SDK --------------------------------------------------------------

BODIES: dict[str, dict[str, Any]] = {
    "a round": body(*ROUND, user("So?"), tools=(WEATHER, CLOCK), system="S"),
    "a round for an older model": body(*ROUND, model=OLD, tools=(WEATHER, CLOCK)),
    "what the service gave": body(
        user("Hi"),
        Message("assistant", (TextPart("ab"), Vendor("gemini", SPOKEN), Vendor("gemini", CODE), Vendor("gemini", DONE),
                              Vendor("gemini", THOUGHT), Vendor("gemini", PICTURE), SECOND)),
    ),
    "files": body(Message("user", (ImagePart(data=b"x"), ImagePart(url="https://h/i"), AudioPart(data=b"x"),
                                   FilePart("a", "application/pdf", b"x")))),
} | {
    f"{settings} for {model}": body(user("Hi"), tools=(CLOCK,), model=model, settings=settings)
    for settings, model, _ in SETTINGS if "safetySettings" not in str(settings)
}  # fmt: skip


def spelled(value: Any) -> Any:
    """JSON as the API reads it: names in either case, bytes in either alphabet."""
    match value:
        case dict():
            return {
                camel(name): base64.urlsafe_b64decode(item.replace("+", "-").replace("/", "_"))
                if camel(name) in ("data", "thoughtSignature") and isinstance(item, str)
                else spelled(item)
                for name, item in value.items()
            }
        case list():
            return [spelled(item) for item in value]
        case _:
            return value


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join([word.capitalize() for word in rest])


def client_of(answer: bytes, asked: list[Any]) -> Any:
    genai, types = pytest.importorskip("google.genai"), pytest.importorskip("google.genai.types")
    httpx = pytest.importorskip("httpx2")

    def handle(request: Any) -> Any:
        asked.append((request.url, json.loads(request.content)))
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=answer)

    options = types.HttpOptions(httpx_client=httpx.Client(transport=httpx.MockTransport(handle)))
    return genai.Client(api_key="k", http_options=options)


@pytest.mark.parametrize("row", BODIES)
@pytest.mark.filterwarnings("ignore")
def test_the_sdk_would_send_the_same_body(row: str) -> None:
    types = pytest.importorskip("google.genai.types")
    asked: list[Any] = []
    said = BODIES[row]
    fields: dict[str, Any] = dict(said.get("generationConfig", {}))
    fields |= {name: said[name] for name in ("systemInstruction", "tools", "toolConfig") if name in said}
    config = types.GenerateContentConfig.model_validate(
        fields | {"automaticFunctionCalling": {"disable": True}}, extra="forbid", by_alias=True
    )
    contents = [types.Content.model_validate(content) for content in said["contents"]]
    with client_of(LAST, asked) as client:
        list(client.models.generate_content_stream(model=NEW, contents=contents, config=config))
    url, sent = asked[0]
    assert url.path.endswith(f"/models/{NEW}:streamGenerateContent")
    assert url.query == b"alt=sse"
    sent = {name: value for name, value in sent.items() if value != {}}
    if "systemInstruction" in sent:
        sent["systemInstruction"].pop("role", None)
    assert spelled(sent) == spelled(said)


SDK_ROWS = [row for row, (data, _) in ROWS.items() if data.startswith(b"data: ")
            and not row.startswith(("further", "bytes that are no"))]  # fmt: skip


@pytest.mark.parametrize("row", SDK_ROWS)
@pytest.mark.filterwarnings("ignore")
def test_the_sdk_reads_the_same_from_the_same_bytes(row: str) -> None:
    data, deltas = ROWS[row]
    with client_of(data, []) as client:
        chunks = list(client.models.generate_content_stream(model=NEW, contents="Hi"))
    candidates = [candidate for item in chunks for candidate in item.candidates or ()]
    parts = [part for candidate in candidates if candidate.content for part in candidate.content.parts or ()]
    assert [part.text for part in parts if part.text and not part.thought] == [
        delta.text for delta in deltas if isinstance(delta, TextDelta)
    ]
    assert [part.text for part in parts if part.text and part.thought] == [
        delta.text for delta in deltas if isinstance(delta, ThinkDelta)
    ]
    calls = [part.function_call for part in parts if part.function_call]
    assert [(found.id or "", found.name, found.args or {}) for found in calls] == [
        (delta.id, delta.name, json.loads(delta.args)) for delta in deltas if isinstance(delta, CallDelta)
    ]
    signatures = [
        delta.data["thoughtSignature"]
        for delta in deltas
        if isinstance(delta, Vendor) and "thoughtSignature" in delta.data
    ]
    assert [part.thought_signature for part in parts if part.thought_signature] == [
        base64.b64decode(signature) for signature in signatures
    ]
    stop, usage = deltas[-1], chunks[-1].usage_metadata
    assert isinstance(stop, Stop)
    if usage is not None:
        assert stop.usage is not None
        assert stop.usage.reasoning == (usage.thoughts_token_count or 0)
        assert stop.usage.output == (usage.candidates_token_count or 0) + stop.usage.reasoning
        assert stop.usage.cached == (usage.cached_content_token_count or 0)
