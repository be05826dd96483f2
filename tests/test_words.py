"""The words: every event, delta and message survives JSON; a transcript is the fold of its events."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidestream as ss
from sidestream import events as all_events
from sidestream.codec import decode, encode
from sidestream.errors import DecodeError
from sidestream.fold import Fold
from sidestream.messages import FilePart, ImagePart, assistant, clean, user

CALL = ss.ToolCall("1.1", "weather", {"city": "Bern", "n": [1, 2.5, None, True, {"a": "é"}]}, '{"city"…', "call_7")
RESULT = ss.ToolResult("1.1", "ok", (ss.TextPart("sunny"), ImagePart(data=b"\x00\xff"), ss.DataPart("d", [1])), 0.25)
SAID = ss.Message("assistant", (ss.TextPart("a"), ss.ThinkPart("b"), CALL, ss.Vendor("x", {"sig": "…"})))
EVENTS = [
    ss.RunStarted("r", "s", "1.1", (user("hi"), SAID)),
    ss.RoundStarted(1, 2),
    ss.Text("t"),
    ss.Thinking("h"),
    ss.Hidden("<think>"),
    ss.Vendor("openai", {"a": [1]}),
    ss.CallOpened("1.1", "weather"),
    ss.CallArgs("1.1", '{"ci'),
    ss.CallClosed(CALL),
    ss.CallRejected("1.2", "<tool", "malformed", native=True),
    ss.ApprovalAsked("1.1", "abc"),
    ss.ToolStarted("1.1"),
    ss.ToolOutput("1.1", "50 %"),
    ss.ToolFinished(RESULT),
    ss.JobFinished(RESULT),
    ss.Said(user("more")),
    ss.Compacted(3, "before"),
    ss.Retrying(1, 0.5, "503"),
    ss.ModelChosen("openai", "m"),
    ss.RoundFinished(1, "tools", ss.Usage(1, 2, 3, 4)),
    ss.Child("1.1", ss.Child("1", ss.CallClosed(CALL))),
    ss.Note("route", {"x": [1, 2]}),
    ss.RunFinished("done", ss.Usage(), ""),
]
DELTAS = [
    ss.TextDelta("a"),
    ss.ThinkDelta("b"),
    ss.CallDelta(1, "i", "n", "{", True),
    ss.Vendor("x", 1),
    ss.Stop("end"),
]


def test_every_event_there_is_is_in_the_list():
    kinds = {
        kind for kind in vars(all_events).values() if isinstance(kind, type) and issubclass(kind, all_events.Event)
    }
    assert {type(event) for event in EVENTS} == kinds - {all_events.Event}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_json(event):
    assert decode(encode(event)) == event
    stamped = ss.Stamped(7, 1.25, event)
    line = encode(stamped)
    assert b"\n" not in line
    assert decode(line) == stamped
    flat = msgspec.json.decode(line)
    assert (flat["seq"], flat["at"]) == (7, 1.25)
    assert flat["type"] == "".join(f"_{c.lower()}" if c.isupper() else c for c in type(event).__name__).lstrip("_")


@pytest.mark.parametrize("delta", DELTAS, ids=lambda delta: type(delta).__name__)
def test_a_delta_survives_json(delta):
    assert decode(encode(delta), delta=True) == delta


@given(st.text(st.characters(), max_size=50))
def test_any_text_survives_json_less_its_lone_surrogates(text):
    assert decode(encode(ss.Text(text))) == ss.Text(clean(text))
    deep = ss.Child("\ud800", ss.Child("1", ss.Note("n", {text: [text]})))
    assert decode(encode(deep)).event.event == ss.Note("n", {clean(text): [clean(text)]})


def test_a_megabyte_survives_json():
    event = ss.CallClosed(ss.ToolCall("1", "x", {"a": "é\n" * 500_000}, "r" * 1_000_000))
    assert decode(encode(event)) == event


def test_what_is_not_json_is_its_repr():
    assert decode(encode(ss.Note("n", {"x": {1}}))) in (ss.Note("n", {"x": [1]}), ss.Note("n", {"x": "{1}"}))
    assert decode(encode(ss.Note("n", object))).data.startswith("<class")


@pytest.mark.parametrize(
    "data", [b'{"type":"nope"}', b"{}", b"[1]", b"not json", b"\xff", b'{"type":"text"}', b'{"type":"text","text":1}']
)
def test_what_is_no_word_is_a_typed_error(data):
    with pytest.raises(DecodeError, match="not one of sidestream's words"):
        decode(data)


def test_a_transcript_survives_json():
    messages = [
        user("a"),
        SAID,
        ss.Message("tool", (RESULT,)),
        ss.Message("user", (FilePart("f", "text/plain", b"x"),)),
    ]
    assert ss.load_messages(ss.dump_messages(messages)) == messages
    with pytest.raises(ss.UsageError):
        ss.load_messages(b'{"role": "user"}')


def test_a_fold_stands_results_in_the_order_of_their_calls_and_skips_what_was_no_call():
    first, second = (ss.ToolCall(f"1.{n}", "x", {}, "r") for n in (1, 2))
    events = [
        ss.RunStarted("r", "", "", (user("go"),)),
        ss.RoundStarted(1),
        ss.Thinking("hm"),
        ss.Text("a"),
        ss.Hidden("<x>"),
        ss.Text("b"),
        ss.CallClosed(first),
        ss.CallRejected("1.3", "<tool…", "malformed"),
        ss.CallRejected("1.4", '{"a', "truncated", native=True),
        ss.CallClosed(second),
        ss.Child("1.1", ss.Text("a child's words")),
        ss.ToolFinished(ss.ToolResult("1.2", "ok")),
        ss.ToolFinished(ss.ToolResult("1.1", "error")),
        ss.RoundFinished(1, "tools"),
        ss.Said(ss.Message("tool", (ss.DataPart("rejected", {}),))),
        ss.Said(user("steer")),
        ss.RoundStarted(2),
        ss.Text("c"),
        ss.RunFinished("done", ss.Usage()),
    ]
    assert ss.fold(events, [assistant("before")]) == [
        assistant("before"),
        user("go"),
        ss.Message("assistant", (ss.ThinkPart("hm"), ss.TextPart("ab"), first, ss.TextPart("<tool…"), second)),
        ss.Message(
            "tool",
            (ss.ToolResult("1.1", "error"), ss.ToolResult("1.2", "ok"), ss.DataPart("rejected", {})),
        ),
        user("steer"),
        assistant("c"),
    ]


def test_a_fold_can_be_read_while_it_grows():
    folded = Fold()
    folded.add(ss.Text("a"))
    assert folded.messages == [assistant("a")]
    folded.add(ss.Text("b"))
    assert folded.messages == [assistant("ab")]


def test_a_compacted_transcript_begins_with_its_summary():
    events = [ss.Compacted(2, "in short"), ss.Text("on")]
    assert ss.fold(events, [user("1"), assistant("2"), user("3")]) == [user("in short"), user("3"), assistant("on")]
