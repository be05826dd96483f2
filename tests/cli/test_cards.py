"""One line a call, whatever was written into it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream.cli.cards import PLAIN, UNICODE, Cards, Ink, spell
from sidestream.events import (
    AnyEvent,
    CallArgs,
    CallClosed,
    CallOpened,
    CallRejected,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from sidestream.messages import Status, TextPart, ToolCall, ToolResult
from sidestream.timeline import columns

CALL = ToolCall("1.1", "web", {"query": "two words", "n": 3}, "raw")


def result(status: Status, text: str = "", seconds: float = 0.25) -> ToolFinished:
    return ToolFinished(ToolResult("1.1", status, (TextPart(text),) if text else (), seconds))


BEGUN: list[AnyEvent] = [CallOpened("1.1", "web"), CallClosed(CALL), ToolStarted("1.1")]
ROWS: list[tuple[list[AnyEvent], str]] = [
    ([CallOpened("1.1", "web")], ".. web"),
    ([CallOpened("1.1", "web"), CallArgs("1.1", '{"query":\n "two')], '.. web {"query": "two'),
    ([CallOpened("1.1", "web"), CallClosed(CALL)], '.. web(query="two words", n=3)'),
    (BEGUN, '| web(query="two words", n=3)  1.2 s'),
    ([*BEGUN, ToolOutput("1.1", "page 1\npage 2\n")], '| web(query="two words", n=3) page 2  1.2 s'),
    ([*BEGUN, result("ok", "fine\nreally")], 'ok web(query="two words", n=3) -> fine really  250 ms'),
    ([*BEGUN, result("ok")], 'ok web(query="two words", n=3)  250 ms'),
    ([*BEGUN, result("error", "no")], '!! web(query="two words", n=3) error: no  250 ms'),
    ([*BEGUN, result("timeout")], '!! web(query="two words", n=3) timeout  250 ms'),
    ([*BEGUN, result("cancelled", "", 0)], '!! web(query="two words", n=3) cancelled'),
    ([CallOpened("1.1", "web"), CallClosed(CALL), result("refused", "too many", 0)],
     '!! web(query="two words", n=3) refused: too many'),
    ([CallOpened("1.1", "web"), CallRejected("1.1", "raw", "invalid_json")], "!! web not run: invalid json"),
]  # fmt: skip


@pytest.mark.parametrize(("events", "line"), ROWS, ids=[line for _, line in ROWS])
def test_a_card_is_one_line(events: list[AnyEvent], line: str) -> None:
    cards = Cards()
    for event in events:
        assert cards.take(event, 10.0)
    (card,) = cards.all
    assert card.line(PLAIN, Ink(), 11.2) == line


def test_a_call_is_spelt_as_people_write_it() -> None:
    assert spell(ToolCall("1", "now", {}, "")) == "now()"
    assert spell(ToolCall("1", "f", {"a": "x", "b": None, "c": [1]}, "")) == 'f(a="x", b=None, c=[1])'


def test_cards_that_are_over_are_given_once() -> None:
    cards = Cards()
    for event in [*BEGUN, result("ok", "1"), CallOpened("1.2", "two")]:
        cards.take(event, 0.0)
    assert [card.state for card in cards.done()] == ["ok"]
    assert cards.done() == []
    assert [card.title for card in cards.all] == ["two"]


@given(
    name=st.text(max_size=40),
    value=st.text(max_size=80),
    said=st.text(max_size=80),
    width=st.integers(20, 60),
)
def test_a_card_fits_and_holds_nothing_a_terminal_obeys(name: str, value: str, said: str, width: int) -> None:
    cards = Cards()
    cards.take(CallClosed(ToolCall("1.1", name, {"a": value}, "")), 0.0)
    cards.take(ToolStarted("1.1"), 0.0)
    for event in (ToolOutput("1.1", said), result("error", said)):
        cards.take(event, 0.0)
        for marks in (UNICODE, PLAIN):
            line = cards.all[0].line(marks, Ink(), 1.0, width)
            assert columns(line) <= width
            assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in line)
