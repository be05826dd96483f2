"""A conversation as other programs keep it, both ways."""

import pytest

import sidestream as ss

HISTORY = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAE="}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ]},
    {"role": "assistant", "content": "Looking.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}},
        {"id": "b", "type": "function", "function": {"name": "look", "arguments": '{"x": 2}'}},
    ]},
    {"role": "tool", "tool_call_id": "a", "content": "one"},
    {"role": "tool", "tool_call_id": "b", "content": "two"},
    {"role": "assistant", "content": "A cat."},
]  # fmt: skip


def test_a_history_comes_over_and_goes_back_the_same():
    messages = ss.from_openai(HISTORY)
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert messages[1].parts[1] == ss.ImagePart("image/png", b"\x00\x01")
    assert [(part.call, part.text) for part in messages[3].parts] == [("0.1", "one"), ("0.2", "two")]
    assert [call.wire for call in messages[2].calls] == ["a", "b"]
    assert ss.to_openai(messages) == HISTORY
    assert ss.load_messages(ss.dump_messages(messages)) == messages


def test_reasoning_comes_over_and_rejected_calls_do_not_go_back():
    messages = ss.from_openai([{"role": "assistant", "content": "A", "reasoning_content": "hm"}])
    assert messages[0].parts == (ss.ThinkPart("hm"), ss.TextPart("A"))
    lost = ss.Message("tool", (ss.DataPart("rejected", {"id": "1.1", "name": "x", "raw": "", "why": "truncated"}),))
    assert ss.to_openai([lost]) == []


@pytest.mark.parametrize("item", [
    {"content": "no role"},
    {"role": "judge", "content": "x"},
    {"role": "tool", "tool_call_id": "z", "content": "no such call"},
    {"role": "user", "content": [{"type": "video"}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,@@"}}]},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "[1]"}}]},
    "text",
])  # fmt: skip
def test_what_cannot_be_read_is_a_usage_error_that_names_the_message(item):
    with pytest.raises(ss.UsageError, match="message 1 of the history"):
        ss.from_openai([{"role": "user", "content": "hi"}, item])
