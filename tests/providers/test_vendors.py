"""Services that speak chat completions, each in its own way: one row each."""

from __future__ import annotations

from typing import Any

import pytest

from sidestream import dialects
from sidestream.errors import ProviderError
from sidestream.messages import Message, ToolCall, ToolResult, ToolSpec, system, user
from sidestream.providers.openai import OpenAI
from sidestream.providers.openai_write import body_of
from sidestream.providers.provider import Request, Settings
from sidestream.providers.vendors import OWN_SERVER, Quirks, quirks_of, wire_id

CLOCK = ToolSpec("clock", "The time.", {})


def said(host: str, model: str = "m", *messages: Message, **settings: Any) -> dict[str, Any]:
    request = Request(messages or (user("Hi"),), dialects.get("native"), "Be brief.", (CLOCK,), Settings(**settings))
    return body_of(request, model, quirks_of(host, model))


@pytest.mark.parametrize(
    ("host", "model", "settings", "expected"),
    [
        ("api.openai.com", "gpt-4o", {"max_tokens": 5}, {"max_completion_tokens": 5}),
        ("me.openai.azure.com", "mine", {"max_tokens": 5}, {"max_completion_tokens": 5}),
        ("api.openai.com", "gpt-5.2", {"thinking": "off"}, {"reasoning_effort": "none"}),
        ("api.openai.com", "gpt-5.2", {"thinking": "minimal"}, {"reasoning_effort": "minimal"}),
        ("api.mistral.ai", "m", {"max_tokens": 5, "thinking": "high"}, {"max_tokens": 5}),
        ("api.mistral.ai", "m", {"tool_choice": "required"}, {"tool_choice": "any"}),
        ("api.deepseek.com", "m", {"thinking": "off"}, {"thinking": {"type": "disabled"}}),
        ("api.moonshot.ai", "m", {"thinking": "low"}, {"thinking": {"type": "enabled"}}),
        ("dashscope-intl.aliyuncs.com", "m", {"thinking": "off"}, {"enable_thinking": False}),
        ("api.groq.com", "m", {"thinking": "minimal", "max_tokens": 5}, {"reasoning_effort": "low", "max_completion_tokens": 5}),
        ("api.x.ai", "m", {"thinking": "medium"}, {"reasoning_effort": "high"}),
        ("openrouter.ai", "m", {"thinking": "off"}, {"reasoning_effort": "none"}),
        ("127.0.0.1", "m", {"thinking": "off"}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("127.0.0.1", "m", {"thinking": "high"}, {"reasoning_effort": "high"}),
    ],
)  # fmt: skip
def test_what_a_service_is_told(host: str, model: str, settings: dict[str, Any], expected: dict[str, Any]) -> None:
    plain = said(host, model)
    assert {
        name: value for name, value in said(host, model, **settings).items() if plain.get(name) != value
    } == expected


def test_who_says_the_system_text() -> None:
    roles = [said(host, model, system("x"), user("Hi"))["messages"] for host, model in (
        ("api.openai.com", "o3-mini"), ("api.openai.com", "gpt-4o"), ("127.0.0.1", "o3-mini"),
    )]  # fmt: skip
    assert [[message["role"] for message in one[:2]] for one in roles] == [
        ["developer"] * 2,
        ["system"] * 2,
        ["system"] * 2,
    ]


def test_usage_is_asked_for_where_it_has_to_be() -> None:
    assert said("api.openai.com")["stream_options"] == {"include_usage": True}
    assert "stream_options" not in said("api.mistral.ai")


@pytest.mark.parametrize(
    ("host", "given", "sent"),
    [
        ("api.mistral.ai", "abcDEF123", "abcDEF123"),
        ("api.mistral.ai", "toolu_01A09q90qw90lq917835lq9", "bd4ad5a59"),
        ("api.mistral.ai", "", "d2a84f4b8"),
        ("api.openai.com", "call_1", "call_1"),
        ("api.openai.com", "x" * 41, "call_" + "6b6ee1ee2e8fcc2b3bc80eb2d7d16f54"),
        ("127.0.0.1", "x" * 64, "x" * 64),
    ],
)
def test_an_id_that_a_service_does_not_take_is_replaced_in_call_and_result_alike(
    host: str, given: str, sent: str
) -> None:
    call = ToolCall("1.1", "clock", {}, "{}", given)
    messages = (user("?"), Message("assistant", (call,)), Message("tool", (ToolResult("1.1", "ok"),)))
    asked, answered = said(host, "m", *messages)["messages"][-2:]
    wire = asked["tool_calls"][0]["id"]
    assert answered["tool_call_id"] == wire
    assert len(wire) == len(sent)
    assert wire == wire_id(quirks_of(host, "m"), given or "1.1")


def test_a_host_is_known_by_its_end_and_never_by_a_part_of_it() -> None:
    assert quirks_of("api.mistral.ai", "m").ids == "9"
    assert quirks_of("api.mistral.ai.evil.com", "m") == OWN_SERVER
    assert quirks_of("notapi.mistral.ai", "m") == OWN_SERVER
    assert quirks_of("azure.com.example", "m") == OWN_SERVER


def test_the_key_is_looked_for_under_the_services_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("GROQ_API_KEY", "groq-secret-key")
    assert not OpenAI("m", base_url="https://api.groq.com/openai/v1")._keyless
    monkeypatch.delenv("GROQ_API_KEY")
    assert OpenAI("m", base_url="https://api.groq.com/openai/v1")._keyless
    assert not OpenAI("m", base_url="http://127.0.0.1:1/v1")._keyless


async def test_without_a_key_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    provider = OpenAI("m", base_url="https://api.groq.com/openai/v1")
    with pytest.raises(ProviderError, match="GROQ_API_KEY is not set"):
        await anext(aiter(provider.stream(Request((user("?"),), dialects.get("native")))))


def test_other_quirks_can_be_given() -> None:
    given = Quirks(max_tokens="max_output", ids="9")
    assert OpenAI("m", base_url="http://h/v1", quirks=given).quirks == given
    assert OpenAI("m", base_url="http://h/v1", think_field="thoughts").quirks.think_field == "thoughts"
