"""A run on a terminal, in a pipe, and as JSON: the same events, seen three ways."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest

from sidestream.cli.cards import PLAIN, Ink
from sidestream.cli.pen import Pen
from sidestream.cli.views import Lines, Live, Plain, View
from sidestream.codec import decode
from sidestream.events import (
    AnyEvent,
    CallClosed,
    CallOpened,
    CallRejected,
    Retrying,
    RoundFinished,
    RoundStarted,
    RunFinished,
    Stamped,
    Text,
    Thinking,
    ToolFinished,
    ToolStarted,
)
from sidestream.messages import TextPart, ToolCall, ToolResult, Usage

CALL = ToolCall("1.1", "add", {"a": 1}, "<…>")
DONE = ToolFinished(ToolResult("1.1", "ok", (TextPart("2"),), 0.5))
BEGUN: list[AnyEvent] = [CallOpened("1.1", "add"), CallClosed(CALL), ToolStarted("1.1")]
END: list[AnyEvent] = [RoundFinished(2, "end"), RunFinished("done", Usage())]
TURN: list[AnyEvent] = [
    RoundStarted(1), Text("I add. "), *BEGUN, Text("Mean"), DONE, Text("while.\nMore"), RoundFinished(1, "end"),
    RoundStarted(2), Text("It is 2."), *END,
]  # fmt: skip


async def show(view: View, events: list[AnyEvent]) -> None:
    for number, event in enumerate(events, 1):
        await view.show(Stamped(number, number / 10, event))


def live(out: io.StringIO, width: int = 40, ink: Ink | None = None) -> Live:
    return Live(Pen(out), lambda: (width, 12), lambda: 1.0, PLAIN, ink or Ink())


async def test_on_a_terminal_a_finished_card_stands_at_the_next_line_break(terminal: Any) -> None:
    out, shown = io.StringIO(), terminal(40, 12)
    view = live(out)
    await show(view, TURN)
    await view.close()
    shown.feed(out.getvalue())
    assert shown.lines == ["I add. Meanwhile.", "ok add(a=1) -> 2  500 ms", "More", "It is 2."]


async def test_on_a_terminal_a_running_card_stands_below_the_text(terminal: Any) -> None:
    out, shown = io.StringIO(), terminal(40, 12)
    view = live(out)
    await show(view, TURN[:6])
    view.tick()
    await view._pen.drained()
    shown.feed(out.getvalue())
    assert shown.lines == ["I add. Mean", "- add(a=1)  0.0 s"]


async def test_what_is_open_at_the_end_stays_as_it_is(terminal: Any) -> None:
    out, shown = io.StringIO(), terminal(40, 12)
    view = live(out)
    await show(view, TURN[:6])
    await view.close()
    shown.feed(out.getvalue())
    assert shown.lines == ["I add. Mean", "- add(a=1)  0.0 s"]


async def test_more_cards_than_rows_are_counted(terminal: Any) -> None:
    out, shown = io.StringIO(), terminal(40, 12)
    view = live(out)
    await show(view, [RoundStarted(1), Text("t"), *[CallOpened(f"1.{n}", f"tool{n}") for n in range(30)]])
    await view._pen.drained()
    shown.feed(out.getvalue())
    assert len(shown.lines) == 11
    assert shown.lines[-1] == "... and 21 more"


async def test_reasoning_is_dim_and_apart(terminal: Any) -> None:
    out, shown = io.StringIO(), terminal(40, 12)
    view = live(out, ink=Ink.colored())
    await show(view, [RoundStarted(1), Thinking("hm"), Text("\n\nYes.\nNo."), *END])
    await view.close()
    shown.feed(out.getvalue())
    assert shown.lines == ["hm", "Yes.", "No."]
    assert "\x1b[2mhm\x1b[0m" in out.getvalue()


async def test_without_colours_there_is_no_colour() -> None:
    out = io.StringIO()
    view = live(out)
    await show(view, [RoundStarted(1), Thinking("hm"), *TURN[1:]])
    await view.close()
    assert "m" not in {part[-1] for part in out.getvalue().split("\x1b[")[1:] if part[:1].isdigit()}


HOSTILE = "a\x1b[2Jb\x1b]0;title\x07c\x9b31md\u202ee\rf\x00"


async def test_nothing_hostile_reaches_a_terminal(terminal: Any) -> None:
    call = ToolCall("1.1", HOSTILE, {HOSTILE: HOSTILE}, HOSTILE)
    events: list[AnyEvent] = [
        RoundStarted(1), Text(HOSTILE), Thinking(HOSTILE), CallOpened("1.1", HOSTILE), CallClosed(call),
        ToolStarted("1.1"), ToolFinished(ToolResult("1.1", "error", (TextPart(HOSTILE),))),
        CallRejected("1.2", HOSTILE, "malformed"), Retrying(2, 0.5, HOSTILE), *END,
    ]  # fmt: skip
    out, shown = io.StringIO(), terminal(40, 30)
    view = live(out)
    await show(view, events)
    await view.close()
    shown.feed(out.getvalue())  # the terminal refuses what is not ours
    assert "\u202e" not in out.getvalue()
    both = io.StringIO()
    plain = Plain(Pen(both), Pen(both), PLAIN, one=True)
    await show(plain, events)
    await plain.close()
    assert all(c.isprintable() or c == "\n" for c in both.getvalue())


async def test_into_a_pipe_goes_the_text_alone() -> None:
    out, err = io.StringIO(), io.StringIO()
    view = Plain(Pen(out), Pen(err), PLAIN, one=False)
    view.say("first")
    await show(view, TURN)
    view.say("last")
    await view.close()
    assert out.getvalue() == "I add. Meanwhile.\nMore\n\nIt is 2.\n"
    assert err.getvalue() == "first\nok add(a=1) -> 2  500 ms\nlast\n"


async def test_where_both_end_in_one_file_no_line_cuts_another() -> None:
    both = io.StringIO()
    view = Plain(Pen(both), Pen(both), PLAIN, one=True)
    await show(view, TURN)
    await view.close()
    assert both.getvalue() == "I add. Meanwhile.\nMore\nok add(a=1) -> 2  500 ms\n\nIt is 2.\n"


async def test_json_is_every_event_and_inert() -> None:
    out = io.StringIO()
    view = Lines(Pen(out))
    await show(view, [*TURN, Text(HOSTILE + "\x7f")])
    view.say("not this")
    await view.close()
    lines = out.getvalue().splitlines()
    assert [decode(line).event for line in lines] == [*TURN, Text(HOSTILE + "\x7f")]
    assert json.loads(lines[0])["seq"] == 1
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for line in lines for c in line)


class Gone(io.StringIO):
    def write(self, text: str, /) -> int:
        raise BrokenPipeError


async def test_a_reader_that_has_gone_is_told() -> None:
    pen = Pen(Gone())
    pen.write("x")
    with pytest.raises(BrokenPipeError):
        await pen.drained()
    pen.write("y")
    with pytest.raises(BrokenPipeError):
        await pen.room()


async def test_what_the_encoding_cannot_carry_is_a_question_mark() -> None:
    raw = io.BytesIO()
    pen = Pen(io.TextIOWrapper(raw, encoding="latin-1"))
    pen.write("é日\ud800")
    await pen.drained()
    assert raw.getvalue() == "é??".encode("latin-1")


async def test_a_stalled_stream_holds_up_nothing() -> None:
    import threading

    go = threading.Event()

    class Stalled(io.StringIO):
        def write(self, text: str, /) -> int:
            assert go.wait(30)
            return super().write(text)

    out = Stalled()
    pen = Pen(out)
    pen.write("x" * 100_000)
    waiting = asyncio.ensure_future(pen.room())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    go.set()
    await asyncio.wait_for(waiting, 30)
    await pen.drained()
    assert len(out.getvalue()) == 100_000
