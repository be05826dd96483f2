"""The lower end of a terminal, drawn on one: text comes out as if nothing had ever stood below it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream.cli.screen import Screen

PIECES = st.text(alphabet="ab c\t日é", min_size=1, max_size=30)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), PIECES),
        st.tuples(st.just("text"), PIECES.map(lambda text: text + "\n")),
        st.tuples(st.just("text"), st.just("\n")),
        st.tuples(st.just("line"), st.text(alphabet="xyz", max_size=9)),
        st.tuples(st.just("frame"), st.lists(st.text(alphabet="CARD", max_size=9), max_size=4)),
    ),
    max_size=40,
)


@pytest.mark.parametrize("sticky", [False, True])
@given(steps=STEPS, width=st.integers(10, 25), height=st.integers(6, 9))
def test_what_is_drawn_below_leaves_no_trace(terminal: Any, sticky: bool, steps: Any, width: int, height: int) -> None:
    drawn, bare = terminal(width, height, sticky=sticky), terminal(width, height)
    screen, plain = Screen(lambda: (width, height)), Screen(lambda: (width, height))
    for verb, value in steps:
        match verb:
            case "text":
                screen.text(value, "\x1b[2m", "\x1b[0m")
                plain.text(value)
            case "line":
                screen.line(value)
                plain.line(value)
            case _:
                drawn.feed(screen.frame(value))
    for each in (screen, plain):
        each.fresh_line()
    drawn.feed(screen.frame([]))
    bare.feed(plain.frame([]))
    assert drawn.lines == bare.lines


@given(pieces=st.lists(st.text(alphabet="abc def", max_size=25), max_size=20), width=st.integers(10, 25))
def test_text_is_where_a_terminal_would_put_it(terminal: Any, pieces: list[str], width: int) -> None:
    drawn, bare = terminal(width, 8), terminal(width, 8)
    screen = Screen(lambda: (width, 8))
    for piece in pieces:
        screen.text(piece)
        drawn.feed(screen.frame(["below"]))
    screen.fresh_line()
    drawn.feed(screen.frame([]))
    bare.feed("".join(pieces))
    assert drawn.lines == bare.lines


def test_lines_below_stand_under_the_text(terminal: Any) -> None:
    screen, shown = Screen(lambda: (20, 6)), terminal(20, 6)
    screen.text("one\n")
    screen.text("tw")
    shown.feed(screen.frame(["first", "second"]))
    assert shown.lines == ["one", "tw", "first", "second"]
    screen.text("o and so on")
    shown.feed(screen.frame(["first"]))
    assert shown.lines == ["one", "two and so on", "first"]


def test_at_the_bottom_the_text_makes_room(terminal: Any) -> None:
    screen, shown = Screen(lambda: (20, 4)), terminal(20, 4)
    for number in range(6):
        screen.text(f"line {number}\n")
    screen.text("last")
    shown.feed(screen.frame(["below", "more"]))
    assert shown.lines[-3:] == ["last", "below", "more"]
    assert shown.lines == [*(f"line {number}" for number in range(6)), "last", "below", "more"]


def test_nothing_new_writes_nothing() -> None:
    assert Screen(lambda: (20, 4)).frame([], changed=False) == ""
