"""From the stamped events of one run to lanes of bars, and what running beside the stream has saved.

Promises: computed from the run's own events and nothing else; `saved` is never negative, and 0 where a round
was cut. Against waiting means: each round's tools had begun, all in parallel, only when its stream had ended.
A sub-agent's events are skipped, so its time is that of the call that forked it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sidestream.events import (
    CallArgs,
    CallClosed,
    CallOpened,
    CallRejected,
    Hidden,
    ModelChosen,
    RoundFinished,
    RoundStarted,
    RunFinished,
    Stamped,
    Text,
    Thinking,
    ToolFinished,
    ToolStarted,
)
from sidestream.messages import ToolCall
from sidestream.timeline.bars import draw
from sidestream.timeline.lanes import Bar, Lane
from sidestream.timeline.printable import label

__all__ = ["Timeline"]

_FROM_THE_MODEL = (CallArgs, CallClosed, CallOpened, CallRejected, Hidden, ModelChosen, Text, Thinking)

_CUT = {("model", "error"), ("model", "cut"), ("tool", "cancelled")}


class _Call:
    """A call while its events come in."""

    def __init__(self, name: str, at: float, number: int) -> None:
        self.name, self.asked, self.number = name, at, number
        self.detail, self.status = "", "running"
        self.start: float | None = None
        self.end: float | None = None


class _Round:
    """A round while its events come in."""

    def __init__(self, number: int, at: float) -> None:
        self.number, self.asked, self.stop = number, at, ""
        self.start: float | None = None
        self.end: float | None = None


class Timeline(NamedTuple):
    """A run as lanes. `took`: seconds from its first event to its last; `beside`: how long at least one tool
    ran while the model was writing; `saved`: seconds saved against waiting."""

    lanes: tuple[Lane, ...]
    took: float
    beside: float
    saved: float

    @classmethod
    def of(cls, events: Iterable[Stamped]) -> Timeline:
        """The timeline of these events, also of a run that is still going on."""
        return _Reading(events).timeline()

    @property
    def ran(self) -> int:
        """How many tools ran."""
        return sum(lane.kind == "tool" and bool(lane.bars) for lane in self.lanes)

    @property
    def verdict(self) -> str:
        """One honest sentence about what was saved."""
        if self.saved >= 0.0005:
            return f"saved {_ms(self.saved)} against waiting"
        if not self.ran:
            return "nothing saved: no tool ran"
        if any((lane.kind, lane.status) in _CUT for lane in self.lanes):
            return "nothing saved: the run was cut short"
        if self.beside < 0.0005:
            return "nothing saved: no tool ran while the model was writing"
        return "nothing saved: waiting would have taken no longer"

    def text(self, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
        """The lanes, the axis and the verdict for a terminal; lines joined by newlines, none at the end."""
        return draw(self.lanes, self.took, self.verdict, width, color, ascii_only)


def _ms(value: float) -> str:
    return f"{value * 1000:,.0f} ms"


def _arguments(call: ToolCall) -> str:
    def shown(value: Any) -> str:
        return label(value) if isinstance(value, str) else label(repr(value))

    if len(call.args) == 1:
        return shown(next(iter(call.args.values())))
    return ", ".join(f"{label(name)}={shown(value)}" for name, value in call.args.items())


class _Reading:
    """Takes the events in, in order."""

    def __init__(self, events: Iterable[Stamped]) -> None:
        self.now = self.began = 0.0
        self.rounds: list[_Round] = []
        self.calls: dict[str, _Call] = {}
        self.finished = False
        first = True
        for stamped in events:
            self.now = max(self.now, stamped.at) if not first else stamped.at
            self.began = self.now if first else self.began
            first = False
            self._read(stamped.event)

    def _read(self, event: Any) -> None:
        if isinstance(event, _FROM_THE_MODEL) and self.rounds and self.rounds[-1].start is None:
            self.rounds[-1].start = self.now
        match event:
            case RoundStarted():
                if not self.rounds or self.rounds[-1].number != event.number:
                    self.rounds.append(_Round(event.number, self.now))
            case RoundFinished() if self.rounds:
                self.rounds[-1].end, self.rounds[-1].stop = self.now, event.stop
            case CallOpened():
                self._call(event.id, event.name)
            case CallClosed():
                self._call(event.call.id, event.call.name).detail = _arguments(event.call)
            case CallRejected():
                self.calls.pop(event.id, None)
            case ToolStarted() if event.id in self.calls:
                self.calls[event.id].start = self.now
            case ToolFinished() if event.result.call in self.calls:
                call = self.calls[event.result.call]
                call.end, call.status = self.now, event.result.status
            case RunFinished():
                self.finished = True
            case _:
                pass

    def _call(self, id_: str, name: str) -> _Call:
        number = self.rounds[-1].number if self.rounds else 0
        call = self.calls.setdefault(id_, _Call(name, self.now, number))
        call.name = name
        return call

    def _bar(self, part: _Round | _Call, late: float | None = None) -> tuple[Bar, ...]:
        if part.start is None:
            return ()
        end = self.now if part.end is None else part.end
        return (Bar(part.start - self.began, end - self.began, part.asked - self.began, late),)

    def timeline(self) -> Timeline:
        lanes = []
        if self.rounds:
            bars = tuple(bar for round_ in self.rounds for bar in self._bar(round_))
            stop = self.rounds[-1].stop or ("cut" if self.finished else "running")
            lanes.append(Lane("model", "model", _plural(len(self.rounds), "round"), stop, bars))
        ends = {round_.number: round_.end for round_ in self.rounds}
        for call in self.calls.values():
            end = ends.get(call.number)
            waited = end is None or call.start is None or call.start >= end
            late = None if waited or end is None else end - self.began
            lanes.append(Lane("tool", label(call.name), call.detail, call.status, self._bar(call, late)))
        saved = sum(map(self._saved, self.rounds))
        return Timeline(tuple(lanes), self.now - self.began, _beside(lanes), saved)

    def _saved(self, round_: _Round) -> float:
        """What waiting would have added to this round; nothing where it was cut or is not over."""
        mine = [call for call in self.calls.values() if call.number == round_.number and call.start is not None]
        if not mine or round_.end is None or round_.stop == "error":
            return 0.0
        spans = [(call.start, call.end) for call in mine if call.status != "cancelled"]
        over, longest = round_.end, 0.0
        for start, end in spans:
            if start is None or end is None:
                return 0.0
            over, longest = max(over, end), max(longest, end - start)
        return max(0.0, round_.end + longest - over) if len(spans) == len(mine) else 0.0


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _beside(lanes: Iterable[Lane]) -> float:
    """How long at least one tool ran while the model wrote."""
    marks: list[tuple[float, int, int]] = []
    for lane in lanes:
        for bar in lane.bars:
            model = int(lane.kind == "model")
            marks += [(bar.start, model, 1 - model), (bar.end, -model, model - 1)]
    return sum(end - start for start, end, model, tools in _stretches(marks) if model and tools)


def _stretches(marks: list[tuple[float, int, int]]) -> Iterator[tuple[float, float, int, int]]:
    model = tools = 0
    before = 0.0
    for at, more_model, more_tools in sorted(marks):
        yield before, at, model, tools
        model, tools, before = model + more_model, tools + more_tools, at
