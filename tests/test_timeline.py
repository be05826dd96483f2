"""The timeline: lanes and what was saved, from a run's own events; as characters and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream.events import (
    AnyEvent,
    CallClosed,
    CallOpened,
    CallRejected,
    Child,
    RoundFinished,
    RoundStarted,
    RunFinished,
    RunStarted,
    Stamped,
    StopReason,
    Text,
    ToolFinished,
    ToolStarted,
)
from sidestream.messages import Status, TextPart, ToolCall, ToolResult, Usage, user
from sidestream.timeline import Timeline, columns, cut, label, printable, seconds, svg

Told = tuple[float, AnyEvent]


def stamped(*told: Told) -> list[Stamped]:
    return [Stamped(number, at, event) for number, (at, event) in enumerate(told, 1)]


def call(id_: str, name: str, start: float | None, end: float | None, *, at: float = 0.0, status: Status = "ok",
         **args: object) -> list[Told]:  # fmt: skip
    """A call closed at `at` (or when it starts), and what became of it."""
    begun = start if start is not None else at
    told: list[Told] = [
        (begun, CallOpened(id_, name)),
        (begun, CallClosed(ToolCall(id_, name, args, "raw"))),
    ]
    if start is not None:
        told.append((start, ToolStarted(id_)))
    if end is not None:
        told.append((end, ToolFinished(ToolResult(id_, status, (TextPart("x"),), end - begun))))
    return told


def turn(*calls: list[Told], stream: tuple[float, float] = (0.0, 2.0), stop: StopReason = "tools") -> list[Stamped]:
    """A round that streams for `stream`, its calls, and a second round of one second."""
    first: list[Told] = [(stream[0], Text("t")), (stream[1], RoundFinished(1, stop))]
    told = sorted([*first, *[one for each in calls for one in each]], key=lambda one: one[0])
    over = max(at for at, _ in told)
    return stamped(
        (0.0, RunStarted("r", "", "", (user("q"),))), (0.0, RoundStarted(1)), *told,
        (over, RoundStarted(2)), (over + 0.5, Text("f")), (over + 1, RoundFinished(2, "end")),
        (over + 1, RunFinished("done", Usage())),
    )  # fmt: skip


SAVED = [
    # what, the run, seconds saved, seconds beside the stream, verdict
    ("nothing ran", turn(), 0, 0, "nothing saved: no tool ran"),
    ("one inside the stream", turn(call("1", "a", 0.5, 1.5)), 1.0, 1.0, "saved 1,000 ms against waiting"),
    ("one that outlasts it", turn(call("1", "a", 1.5, 3.5)), 0.5, 0.5, "saved 500 ms against waiting"),
    ("two, the longest counts", turn(call("1", "a", 0.5, 1.5), call("2", "b", 1.0, 1.2)), 1.0, 1.0,
     "saved 1,000 ms against waiting"),
    ("begun when the stream was over", turn(call("1", "a", 2.0, 3.0)), 0, 0,
     "nothing saved: no tool ran while the model was writing"),
    ("one beside, an equal one after", turn(call("1", "a", 1.0, 2.0), call("2", "b", 2.0, 3.0)), 0, 1.0,
     "nothing saved: waiting would have taken no longer"),
    ("cancelled", turn(call("1", "a", 0.5, 1.5, status="cancelled")), 0, 1.0,
     "nothing saved: the run was cut short"),
    ("the stream was cut", turn(call("1", "a", 0.5, 1.5), stop="error"), 0, 1.0,
     "nothing saved: waiting would have taken no longer"),
    ("refused", turn(call("1", "a", None, 0.5, at=0.5, status="refused")), 0, 0, "nothing saved: no tool ran"),
    ("failed, but ran", turn(call("1", "a", 0.5, 1.5, status="error")), 1.0, 1.0, "saved 1,000 ms against waiting"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "saved", "beside", "verdict"), [row[1:] for row in SAVED], ids=[r[0] for r in SAVED]
)
def test_what_was_saved(events: list[Stamped], saved: float, beside: float, verdict: str) -> None:
    timeline = Timeline.of(events)
    assert timeline.saved == pytest.approx(saved)
    assert timeline.beside == pytest.approx(beside)
    assert timeline.verdict == verdict


def test_lanes_are_the_stream_and_the_calls() -> None:
    events = turn(call("1", "a", 0.5, 1.5, city="Bern"), call("2", "b", 1.0, None, x=1, y="z"), stream=(0.2, 2.0))
    model, first, second = Timeline.of(events).lanes
    assert (model.kind, model.detail, model.status) == ("model", "2 rounds", "end")
    assert [(bar.start, bar.end) for bar in model.bars] == [(0.2, 2.0), (2.5, 3.0)]
    assert (first.name, first.detail, first.status) == ("a", "Bern", "ok")
    assert [(bar.start, bar.end, bar.late) for bar in first.bars] == [(0.5, 1.5, 2.0)]
    assert (second.detail, second.status) == ("x=1, y=z", "running")
    assert second.bars[0].end == 3.0


def test_what_was_no_call_and_what_a_child_did_have_no_lane() -> None:
    events = stamped(
        (0.0, RoundStarted(1)), (0.1, CallOpened("1", "a")), (0.2, CallRejected("1", "raw", "truncated")),
        (0.3, Child("1", ToolStarted("1.1"))), (0.4, RoundFinished(1, "end")),
    )  # fmt: skip
    assert [lane.kind for lane in Timeline.of(events).lanes] == ["model"]


def test_a_run_that_goes_on_has_a_timeline() -> None:
    events = turn(call("1", "a", 0.5, 1.5))
    for end in range(len(events)):
        timeline = Timeline.of(events[:end])
        assert timeline.saved >= 0
        assert timeline.text()
        ET.fromstring(svg(events[:end]))


def test_the_picture_in_characters() -> None:
    timeline = Timeline.of(turn(call("1", "first", 0.5, 1.5, city="Bern"), call("2", "second", 1.0, 2.5)))
    assert timeline.text(50, ascii_only=True).splitlines() == [
        "model       ================   ....====  2.50 s",
        "first Bern     #########                 1.00 s ok",
        "second             #############         1.50 s ok",
        "            0                    3.50 s",
        "saved 1,000 ms against waiting",
    ]
    lines = timeline.text(60).splitlines()
    assert lines[0].startswith("model")
    assert "━" in lines[0]
    assert "█" in lines[1]
    assert lines[1].endswith("1.00 s ✓")
    assert lines[-1] == timeline.verdict


NAMES = st.text(max_size=30)
TIMES = st.floats(0, 100, allow_nan=False)


@st.composite
def runs(draw: st.DrawFn) -> list[Stamped]:
    told: list[Told] = [(0.0, RoundStarted(1)), (draw(TIMES), Text("t"))]
    for number in range(draw(st.integers(0, 4))):
        start = draw(TIMES)
        end = start + draw(TIMES) if draw(st.booleans()) else None
        status: Status = draw(st.sampled_from(["ok", "error", "cancelled", "timeout"]))
        told += call(f"1.{number}", draw(NAMES), start, end, status=status, a=draw(NAMES))
    told.append((draw(TIMES), RoundFinished(1, draw(st.sampled_from(["end", "tools", "error"])))))
    return stamped(*sorted(told, key=lambda one: one[0]))


@given(events=runs(), width=st.integers(1, 140))
def test_any_run_can_be_drawn(events: list[Stamped], width: int) -> None:
    timeline = Timeline.of(events)
    assert timeline.saved >= 0
    assert 0 <= timeline.beside <= timeline.took + 1e-9
    for ascii_only in (False, True):
        for line in timeline.text(width, ascii_only=ascii_only).splitlines():
            assert columns(line) <= max(width, 40)
            assert "\x1b" not in line
    colored = timeline.text(width, color=True)
    assert colored.count("\x1b[") % 2 == 0
    root = ET.fromstring(svg(events))
    assert not root.findall(".//{http://www.w3.org/2000/svg}script")


@given(events=runs(), shift=st.floats(0, 1e6))
def test_when_the_clock_began_does_not_matter(events: list[Stamped], shift: float) -> None:
    moved = [Stamped(one.seq, one.at + shift, one.event) for one in events]
    assert Timeline.of(moved).saved == pytest.approx(Timeline.of(events).saved, abs=1e-6)


def test_a_picture_holds_names_as_text() -> None:
    hostile = '<script>alert(1)</script>"&\x00\x1b[31m\ud800'
    events = turn(call("1", hostile, 0.5, 1.5, a=hostile))
    root = ET.fromstring(svg(events).encode())
    assert "<script>" not in svg(events)
    assert any("<script>" in (text.text or "") for text in root.iter("{http://www.w3.org/2000/svg}text"))


def test_a_picture_is_itself_and_the_same_each_time() -> None:
    events = turn(call("1", "a", 0.5, 1.5))
    picture = svg(events)
    assert picture == svg(events)
    assert "http" not in picture.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "prefers-color-scheme:dark" in picture
    assert "had it waited" in picture


def test_nothing_yet_is_said() -> None:
    assert "nothing has happened yet" in svg([])
    assert Timeline.of([]).text() == "nothing saved: no tool ran"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0 ms"),
        (0.0004, "0.4 ms"),
        (0.0123, "12 ms"),
        (0.9996, "1.00 s"),
        (2.5, "2.50 s"),
        (123.4, "123 s"),
    ],
)
def test_times_are_for_people(value: float, shown: str) -> None:
    assert seconds(value) == shown


def test_text_is_made_safe() -> None:
    assert printable("a\tb\r\nc\x1b[31m\x07\x9b\u202e\ud800") == "a\tb\nc␛[31m␇\ufffd\ufffd\ufffd"
    assert label(" a\n\n b\x00 ") == "a b␀"


def test_text_is_measured_and_cut() -> None:
    assert (columns("abc"), columns("日本"), columns("e\u0301")) == (3, 4, 1)
    assert cut("日本語", 4) == "日…"
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "ab…"
    assert cut("abcd", 0) == ""
