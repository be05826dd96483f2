"""Native calls, a row each: the fragments of a server, right or wrong, and the calls they are."""

import pytest

from sidestream import dialects
from sidestream.events import (
    CallArgs,
    CallClosed,
    CallDelta,
    CallOpened,
    CallRejected,
    Hidden,
    Text,
    TextDelta,
)
from sidestream.messages import ToolSpec
from sidestream.testing.laws import merged, said

SPECS = [
    ToolSpec("weather", "", {"properties": {"city": {"type": "string"}}, "required": ["city"]}),
    ToolSpec("clock", "", {"properties": {"zone": {"type": "string"}}}),
    ToolSpec("noop", "", {"properties": {}}),
]
D = CallDelta
A, B = '{"city": "A"}', '{"city": "B"}'


def read(deltas, stop="tools", **options):
    parser, events = dialects.get("native").parser(SPECS, **options), []
    for delta in deltas:
        events += parser.feed(delta)
    return events + parser.close(stop)


def calls(events):
    return [
        (event.call.name, event.call.args) if isinstance(event, CallClosed) else event.why
        for event in events
        if isinstance(event, CallClosed | CallRejected)
    ]


WEATHER_A, WEATHER_B = ("weather", {"city": "A"}), ("weather", {"city": "B"})

ROWS = {
    "one call in fragments": ([D(0, "a", "weather"), D(0, args='{"ci'), D(0, args='ty": "A"}')], [WEATHER_A]),
    "a name in fragments": ([D(0, "a", "wea"), D(0, name="ther"), D(0, args=A)], [WEATHER_A]),
    "the name repeated whole": ([D(0, "a", "weather"), D(0, name="weather", args=A)], [WEATHER_A]),
    "name and id on every fragment": (
        [D(0, "a", "weather", '{"city"'), D(0, "a", "weather", ': "A"}'), D(0, "a", "weather")],
        [WEATHER_A],
    ),
    "an id after the name": ([D(0, "", "weather"), D(0, "a", "", A)], [WEATHER_A]),
    "an id after the name, with the name again": ([D(0, "", "weather"), D(0, "a", "weather", A)], [WEATHER_A]),
    "the whole call once more at its end": (
        [D(0, "a", "weather", A[:5]), D(0, args=A[5:]), D(0, "a", "weather", A, True)],
        [WEATHER_A],
    ),
    "a number too large for a float": ([D(0, "a", "weather", '{"city": 1e999}')], ["invalid_json"]),
    "no ids at all": ([D(0, "", "weather", A), D(1, "", "weather", B)], [WEATHER_A, WEATHER_B]),
    "no ids, and every index 0": ([D(0, "", "weather", A), D(0, "", "weather", B)], [WEATHER_A, WEATHER_B]),
    "no ids, index 0, name first": (
        [D(0, "", "weather"), D(0, args=A), D(0, "", "weather"), D(0, args=B)],
        [WEATHER_A, WEATHER_B],
    ),
    "two ids under one index": ([D(0, "a", "weather", A), D(0, "b", "weather", B)], [WEATHER_A, WEATHER_B]),
    "two ids under one index, interleaved by id": (
        [D(0, "a", "weather", '{"city"'), D(0, "b", "weather", '{"city"'), D(0, "a", "", ': "A"}'), D(0, "b", "", ': "B"}')],
        [WEATHER_A, WEATHER_B],
    ),
    "one id for two whole calls": ([D(0, "a", "weather", A), D(0, "a", "weather", B)], [WEATHER_A, WEATHER_B]),
    "interleaved slots": (
        [D(0, "a", "weather"), D(1, "b", "weather", '{"city"'), D(0, args=A), D(1, args=': "B"}')],
        [WEATHER_A, WEATHER_B],
    ),
    "an empty object that real arguments follow": ([D(0, "a", "weather", "{}"), D(0, args=A)], [WEATHER_A]),
    "an empty object and real arguments in one": ([D(0, "a", "weather", "{}" + A)], [WEATHER_A]),
    "an empty object that stands": ([D(0, "a", "clock", "{}")], [("clock", {})]),
    "no arguments": ([D(0, "a", "noop")], [("noop", {})]),
    "null arguments": ([D(0, "a", "clock", "null")], [("clock", {})]),
    "a string that holds an object": ([D(0, "a", "weather", '"{\\"city\\": \\"A\\"}"')], [WEATHER_A]),
    "a string that holds none": ([D(0, "a", "weather", '"A"')], ["invalid_json"]),
    "a list": ([D(0, "a", "weather", '["A"]')], ["invalid_json"]),
    "a number": ([D(0, "a", "weather", "12")], ["invalid_json"]),
    "broken JSON hurts only its own call": (
        [D(0, "a", "weather", '{"city": }'), D(1, "b", "weather", B)],
        ["invalid_json", WEATHER_B],
    ),
    "nested too deep": ([D(0, "a", "weather", '{"city":' + "[" * 100_000 + "]" * 100_000 + "}")], ["invalid_json"]),
    "a huge number": ([D(0, "a", "weather", '{"city": ' + "9" * 5000 + "}")], ["invalid_json"]),
    "done before the root is whole": ([D(0, "a", "weather", '{"city": "A"', done=True)], ["invalid_json"]),
    "done with nothing": ([D(0, "a", "clock", done=True)], [("clock", {})]),
    "no name": ([D(0, "a", "", A)], ["missing_name"]),
    "a name that comes last": ([D(0, "a", "", A), D(0, "a", "weather")], [WEATHER_A]),
    "more after the end is kept apart": ([D(0, "a", "weather", A + "}}"), D(0, args=" ")], [WEATHER_A]),
    "a brace in a string": ([D(0, "a", "weather", '{"city": "}\\""}')], [("weather", {"city": '}"'})]),
    "an unknown tool": ([D(0, "a", "nope", '{"x": 1}')], [("nope", {"x": 1})]),
}  # fmt: skip


@pytest.mark.parametrize(("deltas", "expected"), ROWS.values(), ids=ROWS)
def test_fragments_say(deltas, expected):
    events = read(deltas)
    assert calls(events) == expected
    assert said(events) == "".join(delta.args for delta in deltas) or len(deltas) > 2  # order across slots
    assert sorted(said(events)) == sorted("".join(delta.args for delta in deltas))


@pytest.mark.parametrize(("deltas", "expected"), ROWS.values(), ids=ROWS)
def test_fragments_say_the_same_character_by_character(deltas, expected):
    cut = []
    for delta in deltas:
        pieces = list(delta.args) or [""]
        cut.append(D(delta.slot, delta.id, delta.name, pieces[0], delta.done and len(pieces) == 1))
        cut += [
            D(delta.slot, delta.id, "", piece, delta.done and last)
            for piece, last in zip(pieces[1:], [*[False] * (len(pieces) - 2), True], strict=False)
        ]
    if len(cut) < 5000 and not (len(deltas) > 2 and deltas[2].done):  # a repeat in pieces is no repeat
        assert calls(read(cut)) == expected


def test_a_call_closes_at_the_character_that_makes_it_whole():
    parser = dialects.get("native").parser(SPECS)
    parser.feed(D(0, "a", "weather", A[:-1]))
    assert isinstance(parser.feed(D(0, args="}"))[-1], CallClosed)
    assert parser.close("tools") == []


def test_the_first_call_closes_while_the_second_still_streams():
    parser = dialects.get("native").parser(SPECS)
    first = parser.feed(D(0, "a", "weather", A))
    second = parser.feed(D(1, "b", "weather", '{"ci'))
    assert calls(first) == [WEATHER_A]
    assert calls(second) == []


def test_a_tool_without_parameters_closes_at_its_empty_object():
    assert calls(dialects.get("native").parser(SPECS).feed(D(0, "a", "noop", "{}"))) == [("noop", {})]


def test_an_empty_object_closes_when_the_next_call_begins():
    parser = dialects.get("native").parser(SPECS)
    parser.feed(D(0, "a", "clock", "{}"))
    assert calls(parser.feed(D(1, "b", "weather"))) == [("clock", {})]


@pytest.mark.parametrize("stop", ["length", "filter", "error"])
def test_a_cut_stream_runs_nothing_that_was_open(stop):
    deltas = [
        D(0, "a", "weather", A),
        D(1, "b", "weather", '{"city": "B'),
        D(2, "c", "clock", "{}"),
        D(3, "d", "noop"),
    ]
    assert calls(read(deltas, stop)) == [WEATHER_A, ("clock", {}), "truncated", "truncated"]


def test_arguments_are_bounded_at_an_exact_character():
    assert calls(read([D(0, "a", "weather", character) for character in A], args_chars=len(A))) == [WEATHER_A]
    events = read([D(0, "a", "weather", A)], args_chars=len(A) - 1)
    assert [type(event) for event in events] == [CallOpened, CallArgs, CallRejected, Hidden]
    assert calls(events) == ["too_long"]


def test_the_card_opens_with_the_first_argument_and_the_wire_id_is_kept():
    events = merged(read([D(0, "call_7", "weather"), D(0, args='{"city": '), D(0, args='"A"}')]))
    assert events[:2] == [CallOpened("1", "weather"), CallArgs("1", A)]
    assert events[2].call.wire == "call_7"
    assert events[2].call.raw == A


def test_lone_surrogates_in_arguments_become_replacement_characters():
    assert calls(read([D(0, "a", "weather", '{"city": "\\ud800"}')])) == [("weather", {"city": "\ufffd"})]
    assert calls(read([D(0, "a", "weather", '{"city": "\ud800"}')])) == [("weather", {"city": "\ufffd"})]


def test_text_is_not_searched_for_calls_when_no_text_format_is_enabled():
    events = read([TextDelta('```<tool name="noop"/> <'), TextDelta("think>x</think>y")])
    assert merged(events)[:2] == [Text('```<tool name="noop"/> '), Hidden("<think>")]
    assert events[-1] == Text("y")
