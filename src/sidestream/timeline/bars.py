"""A timeline drawn with characters: for terminals, logs and mail.

Promises: no line is wider than asked for (of at least 40), every bar can be seen however short it is, and
without `color` there is no escape code. `ascii_only` needs no character beyond ASCII for its own part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sidestream.timeline.lanes import Bar, Lane, seconds
from sidestream.timeline.printable import columns, cut

__all__ = ["draw"]

_LEAST = 40
_WORST = 34  # columns that names and arguments may take
_TIMES = 9


class _Pens(NamedTuple):
    """The characters: the model writing, waiting for it, a tool running, and what ends a cut label."""

    model: str
    asked: str
    tool: str
    more: str
    marks: dict[str, str]


_LINES = _Pens("━", "┄", "█", "…", {"ok": "✓", "running": "…"})
_PLAIN = _Pens("=", ".", "#", "~", {"ok": "ok", "running": "..."})
_COLORS = {"model": "\x1b[34m", "ok": "\x1b[32m", "running": "\x1b[33m", "duplicate": "\x1b[33m"}
_RED, _DIM, _BOLD, _OFF = "\x1b[31m", "\x1b[2m", "\x1b[1m", "\x1b[0m"


def _place(at: float, took: float, cells: int) -> int:
    return min(cells - 1, int(at / took * cells)) if took > 0 else 0


def _cells(lane: Lane, took: float, cells: int, pens: _Pens) -> str:
    row = [" "] * cells
    pen = pens.model if lane.kind == "model" else pens.tool
    for bar in lane.bars:
        first, last = _place(bar.start, took, cells), _last(bar, took, cells)
        if lane.kind == "model":
            for cell in range(_place(bar.asked, took, cells), first):
                row[cell] = pens.asked
        for cell in range(first, last + 1):
            row[cell] = pen
    return "".join(row).rstrip()


def _last(bar: Bar, took: float, cells: int) -> int:
    """The cell in which the bar ends; one that ends at a cell's very edge is not in the next."""
    last = _place(bar.end, took, cells)
    return max(last - (bar.end / took * cells == last if took > 0 else 0), _place(bar.start, took, cells))


def _heading(lane: Lane, width: int, more: str) -> str:
    detail = f" {lane.detail}" if lane.detail and lane.kind == "tool" else ""
    return cut(lane.name + detail, width, more)


def _ending(lane: Lane, pens: _Pens) -> str:
    took = seconds(sum(bar.seconds for bar in lane.bars))
    if lane.kind == "model":
        return took
    mark = pens.marks.get(lane.status, lane.status)
    return f"{took} {mark}" if lane.bars else mark


def draw(lanes: Sequence[Lane], took: float, verdict: str, width: int, color: bool, ascii_only: bool) -> str:
    """The lanes, the axis, and the verdict; lines joined by newlines, none at the end."""
    pens = _PLAIN if ascii_only else _LINES
    width = max(width, _LEAST)

    def paint(code: str, shown: str) -> str:
        return f"{code}{shown}{_OFF}" if color and shown else shown

    endings = [_ending(lane, pens) for lane in lanes]
    tail = max([_TIMES, *map(columns, endings)])
    room = min(_WORST, width - tail - 14, 2 * width // 5)
    heads = [_heading(lane, room, pens.more) for lane in lanes]
    head = max([0, *map(columns, heads)])
    cells = width - head - tail - 4
    lines = []
    for lane, name, ending in zip(lanes, heads, endings, strict=True):
        bar = _cells(lane, took, cells, pens)
        hue = _COLORS["model"] if lane.kind == "model" else _COLORS.get(lane.status, _RED)
        pads = " " * (head - columns(name)), " " * (cells - len(bar))
        lines.append(f"{name}{pads[0]}  {paint(hue, bar)}{pads[1]}  {paint(_DIM, ending)}")
    if lines:
        over = seconds(took)
        lines.append(paint(_DIM, f"{'':{head}}  0{over:>{cells - 1}}"))
    lines.append(paint(_BOLD, cut(verdict, width, pens.more)))
    return "\n".join(lines)
