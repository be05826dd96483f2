"""What a request says is what stands in the JSON body, in both kinds of dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidestream import dialects
from sidestream.errors import UsageError
from sidestream.messages import (
    DataPart,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ThinkPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Vendor,
    assistant,
    system,
    user,
)
from sidestream.providers.openai_write import body_of, bytes_of
from sidestream.providers.provider import Request, Settings
from sidestream.providers.vendors import Quirks, quirks_of

WEATHER = ToolSpec("weather", "Current weather.", {"properties": {"city": {"type": "string"}}, "required": ["city"]})
CLOCK = ToolSpec("clock", "The time.", {})


def body(*messages: Message, dialect: str = "native", **request: Any) -> dict[str, Any]:
    said = body_of(Request(messages, dialects.get(dialect), **request), "m")
    assert json.loads(bytes_of(said)) == said  # nothing in it but JSON
    return said


def test_the_whole_of_a_plain_request() -> None:
    assert body(user("Hi"), assistant("Hello."), user("Bye"), system="Be brief.") == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Bye"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tools_stand_in_the_order_of_their_names_with_a_schema_each() -> None:
    said = body(user("Hi"), tools=(WEATHER, CLOCK))
    assert said == body(user("Hi"), tools=(CLOCK, WEATHER))
    clock, weather = said["tools"]
    assert clock == {
        "type": "function",
        "function": {
            "name": "clock",
            "description": "The time.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
    assert weather["function"]["parameters"] == {"type": "object"} | WEATHER.schema
    assert bytes_of(said) == bytes_of(body(user("Hi"), tools=(WEATHER, CLOCK)))


def test_calls_go_back_under_the_providers_ids_with_the_arguments_that_ran() -> None:
    first = ToolCall("1.1", "weather", {"city": "Zürich"}, '{"city": "Zurich"}', "call_a")
    second = ToolCall("1.2", "clock", {}, "{}")
    twin = ToolCall("1.3", "clock", {"n": 1}, "", "call_a")  # some servers give one id to two calls
    said = body(
        user("Hi"),
        Message("assistant", (ThinkPart("hm"), TextPart("Let me see."), first, second, twin)),
        Message(
            "tool",
            (
                ToolResult("1.1", "ok", (TextPart("rain"),)),
                ToolResult("1.2", "ok", (TextPart("noon"),)),
                ToolResult("1.3", "ok", (TextPart("one"),)),
            ),
        ),
        tools=(WEATHER, CLOCK),
    )
    _, said_by_it, one, two, three = said["messages"][:5]
    assert said_by_it == {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [
            {"id": wire, "type": "function", "function": {"name": name, "arguments": args}}
            for wire, name, args in [
                ("call_a", "weather", '{"city": "Zürich"}'),
                ("1.2", "clock", "{}"),
                ("1.3", "clock", '{"n": 1}'),
            ]
        ],
    }
    assert [message["role"] for message in (one, two, three)] == ["tool"] * 3
    assert [message["tool_call_id"] for message in (one, two, three)] == ["call_a", "1.2", "1.3"]
    assert "rain" in one["content"]
    assert "noon" in two["content"]


def test_an_answer_without_text_has_null_for_it_and_an_empty_one_is_left_out() -> None:
    said = body(
        user("Hi"),
        Message("assistant", (ToolCall("1.1", "clock", {}, "", "x"),)),
        Message("tool", (ToolResult("1.1", "ok", (TextPart("noon"),)),)),
        Message("assistant", (ThinkPart("hm"),)),
    )
    assert said["messages"][1]["content"] is None
    assert [message["role"] for message in said["messages"]][:3] == ["user", "assistant", "tool"]
    assert sum(message["role"] == "assistant" for message in said["messages"]) == 1


def test_a_text_dialect_goes_through_the_system_text_and_plain_messages() -> None:
    call = ToolCall("1.1", "weather", {"query": "Bern"}, "")
    said = body(
        user("Hi"),
        Message("assistant", (TextPart("So: "), call)),
        Message("tool", (ToolResult("1.1", "ok", (TextPart("rain"),)),)),
        dialect="tinyrag",
        tools=(WEATHER,),
        system="Be brief.",
        settings=Settings(tool_choice="required"),
    )
    assert "tools" not in said
    assert "tool_choice" not in said
    first, _, answer, told = said["messages"]
    assert first["content"].startswith("Be brief.")
    assert "weather" in first["content"]
    assert answer["content"].startswith('So: <tool name="weather">')
    assert (told["role"], "rain" in told["content"]) == ("user", True)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"temperature": 0.0}, {"temperature": 0.0}),
        ({"max_tokens": 5}, {"max_tokens": 5}),
        ({"stop": ("a", "b")}, {"stop": ["a", "b"]}),
        ({"thinking": "low"}, {"reasoning_effort": "low"}),
        ({"thinking": "minimal"}, {"reasoning_effort": "low"}),
        ({"thinking": "off"}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ({"tool_choice": "required"}, {"tool_choice": "required"}),
        ({"tool_choice": "clock"}, {"tool_choice": {"type": "function", "function": {"name": "clock"}}}),
        ({"extra_body": {"temperature": 1, "seed": 7}, "temperature": 0.5}, {"temperature": 1, "seed": 7}),
    ],
)
def test_settings(settings: dict[str, Any], expected: dict[str, Any]) -> None:
    plain = body(user("Hi"), tools=(CLOCK,))
    assert body(user("Hi"), tools=(CLOCK,), settings=Settings(**settings)) == plain | expected


def test_none_in_extra_body_takes_a_field_away() -> None:
    said = body(user("Hi"), settings=Settings(extra_body={"stream_options": None}))
    assert "stream_options" not in said


def test_the_newest_services_have_another_name_for_max_tokens() -> None:
    request = Request((user("Hi"),), dialects.get("native"), settings=Settings(max_tokens=5))
    said = body_of(request, "gpt-4o", quirks_of("api.openai.com", "gpt-4o"))
    assert "max_tokens" not in said
    assert said["max_completion_tokens"] == 5


def test_reasoning_goes_back_only_where_the_server_wants_it() -> None:
    call = ToolCall("1.1", "clock", {}, "{}", "c")
    said = (Message("assistant", (ThinkPart("hm"), TextPart("a"))), Message("assistant", (ThinkPart("so"), call)))
    request = Request(said, dialects.get("native"))
    assert not any("reasoning_content" in message for message in body_of(request, "m")["messages"])
    first, second = body_of(request, "m", Quirks(think_field="reasoning_content"))["messages"]
    assert first == {"role": "assistant", "content": "a"}
    assert second["reasoning_content"] == "so"


def test_a_vendors_own_data_goes_back_to_that_vendor_only() -> None:
    parts = (
        Vendor("openai", {"reasoning_details": [1]}),
        TextPart("a"),
        Vendor("openai", {"reasoning_details": [2]}),
        Vendor("other", {"signature": "x"}),
    )
    (message,) = body(Message("assistant", parts))["messages"]
    assert message == {"role": "assistant", "content": "a", "reasoning_details": [1, 2]}


def test_images_and_files_of_a_user() -> None:
    parts = (
        TextPart("Look:"),
        ImagePart("image/jpeg", b"\xff\xd8"),
        ImagePart(url="https://h/i.png"),
        FilePart("a.pdf", "application/pdf", b"%PDF"),
        FilePart("a.txt", "text/plain", "Hä?".encode()),
        FilePart("a.wav", "audio/wav", b"RIFF"),
        DataPart("place", {"lat": 1}),
    )
    (message,) = body(Message("user", parts))["messages"]
    assert message["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9g="}},
        {"type": "image_url", "image_url": {"url": "https://h/i.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        {"type": "text", "text": "a.txt:\nHä?"},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "text", "text": '{"lat": 1}'},
    ]


def test_a_tools_image_follows_its_result_as_a_users_message() -> None:
    result = ToolResult("1.1", "ok", (TextPart("a plot"), ImagePart(data=b"png")))
    call = ToolCall("1.1", "clock", {}, "", "w")
    said = body(Message("assistant", (call,)), Message("tool", (result,)))["messages"]
    tools = [message for message in said if message["role"] == "tool"]
    images = [m for m in said if m["role"] == "user" and isinstance(m["content"], list)]
    assert "a plot" in tools[0]["content"]
    assert [part["type"] for part in images[0]["content"]] == ["text", "image_url"]
    assert "w" in images[0]["content"][0]["text"]


def test_a_system_message_of_the_transcript_keeps_its_place() -> None:
    said = body(user("Hi"), system("New rules."), user("Go"))
    assert [message["role"] for message in said["messages"]] == ["user", "system", "user"]


def test_lone_surrogates_become_replacement_characters_and_what_is_no_json_is_the_callers_mistake() -> None:
    assert json.loads(bytes_of({"a": "x\ud800"})) == {"a": "x\ufffd"}
    with pytest.raises(UsageError, match="extra_body"):
        bytes_of({"a": object()})
