"""A timeline as a picture: one SVG with nothing outside it, for pages, notebooks and mail.

Promises: well-formed XML whatever the events hold, readable on a light and on a dark page (it brings its own
ground), the same bytes for the same events, and a text for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sidestream.events import Stamped
from sidestream.timeline.lanes import Lane, seconds
from sidestream.timeline.printable import cut
from sidestream.timeline.reading import Timeline

__all__ = ["svg"]

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 760, 200, 640, 64, 44
_LIGHT = {
    ".g": "fill:#fff;stroke:#d8dee6",
    ".t": "fill:#1b2430",
    ".d": "fill:#5b6776;font-size:11.5px",
    ".h": "font-size:16px;font-weight:600",
    ".m": "fill:#3b6fd4",
    ".w": "stroke:#3b6fd4;stroke-width:2;stroke-dasharray:2 4",
    ".ok": "fill:#2a9d62",
    ".bad": "fill:#cf4a3c",
    ".run": "fill:#c98a1b",
    ".late": "fill:none;stroke:#8792a1;stroke-dasharray:4 3",
    ".axis": "stroke:#e5e9ef",
    ".over": "fill:#3b6fd4;opacity:.09",
}
_DARK = {
    ".g": "fill:#151b23;stroke:#2f3946",
    ".t": "fill:#e8edf3",
    ".d": "fill:#9fabba",
    ".m": "fill:#6f9bf0",
    ".w": "stroke:#6f9bf0",
    ".ok": "fill:#4cc38a",
    ".bad": "fill:#ef7567",
    ".run": "fill:#e3aa45",
    ".axis": "stroke:#273039",
    ".over": "fill:#6f9bf0;opacity:.13",
}
_FONT = '13px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif'
_KIND = {"ok": "ok", "running": "run", "duplicate": "run"}
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 3600)


def _rules(table: dict[str, str]) -> str:
    return "".join(f".sst {name}{{{rule}}}" for name, rule in table.items())


_STYLE = f".sst{{font:{_FONT}}}{_rules(_LIGHT)}@media (prefers-color-scheme:dark){{{_rules(_DARK)}}}"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


class _Scale:
    """Seconds → pixels. It reaches to where the last tool would have ended had it waited."""

    def __init__(self, timeline: Timeline) -> None:
        waited = [bar.late + bar.seconds for lane in timeline.lanes for bar in lane.bars if bar.late is not None]
        self.most = max([timeline.took, *waited]) or 1.0

    def __call__(self, at: float) -> float:
        return round(_LEFT + at / self.most * (_RIGHT - _LEFT), 1)

    def ticks(self) -> Iterator[float]:
        step = next((step for step in _STEPS if self.most / step <= 8), self.most / 8)
        count = int(self.most / step)
        yield from (step * number for number in range(count + 1))


def _text(x: float, y: float, text: str, kind: str = "t", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{_escape(text)}</text>'


def _rect(x: float, y: float, end: float, height: float, kind: str, title: str = "") -> str:
    inner = f"<title>{_escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{max(2.5, end - x):.1f}" height="{height:g}" rx="3" '
        f'class="{kind}">{inner}</rect>'
    )


def _axis(scale: _Scale, bottom: float) -> Iterator[str]:
    for tick in scale.ticks():
        x = scale(tick)
        yield f'<line x1="{x:g}" x2="{x:g}" y1="{_TOP - 8}" y2="{bottom:g}" class="axis"/>'
        shown = f"{tick:g} s" if scale.most >= 1 else f"{tick * 1000:g} ms"
        yield _text(x, bottom + 16, shown, "d", "middle")


def _lane(lane: Lane, y: float, scale: _Scale) -> Iterator[str]:
    model = lane.kind == "model"
    yield _text(20, y + 17, cut(lane.name, 26))
    yield _text(20, y + 33, cut(lane.detail, 28), "d")
    for bar in lane.bars:
        start, end = scale(bar.start), scale(bar.end)
        kind = "m" if model else _KIND.get(lane.status, "bad")
        if model and scale(bar.asked) < start - 1:
            middle = y + 20
            asked = f'x1="{scale(bar.asked):g}" x2="{start:g}" y1="{middle:g}" y2="{middle:g}"'
            yield f'<line {asked} class="w"/>'
        yield _rect(start, y + 9, end, 22, kind, f"{lane.name}: {seconds(bar.seconds)} from {seconds(bar.start)}")
        if bar.late is not None and bar.late - bar.start > scale.most / 200:
            late = _rect(scale(bar.late), y + 13, scale(bar.late + bar.seconds), 14, "late", "had it waited")
            yield late
    spent = seconds(sum(bar.seconds for bar in lane.bars)) if lane.bars else ""
    yield _text(_WIDTH - 20, y + 17, spent, "t", "end")
    yield _text(_WIDTH - 20, y + 33, "writing" if model else lane.status, "d", "end")


def _overlaps(timeline: Timeline, scale: _Scale, bottom: float) -> Iterator[str]:
    """Where a tool ran while the model wrote: one band for each round, across all lanes."""
    tools = [bar for lane in timeline.lanes if lane.kind == "tool" for bar in lane.bars]
    for round_ in [bar for lane in timeline.lanes if lane.kind == "model" for bar in lane.bars]:
        mine = [(max(t.start, round_.start), min(t.end, round_.end)) for t in tools]
        mine = [(start, end) for start, end in mine if end > start]
        if mine:
            start, end = min(s for s, _ in mine), max(e for _, e in mine)
            yield _rect(scale(start), _TOP - 8, scale(end), bottom - _TOP + 8, "over")


def _legend(timeline: Timeline, y: float) -> Iterator[str]:
    x = 20.0
    late = any(bar.late is not None for lane in timeline.lanes for bar in lane.bars)
    entries = [("m", "the model writes"), ("ok", "a tool runs"), ("over", "both at once")]
    for kind, words in [*entries, ("late", "the same tool, had it waited")] if late else entries[:2]:
        yield _rect(x, y - 9, x + 14, 10, kind)
        yield _text(x + 20, y, words, "d")
        x += 44 + 6.6 * len(words)


def svg(events: Iterable[Stamped]) -> str:
    """The picture of these events."""
    timeline = Timeline.of(events)
    scale = _Scale(timeline)
    bottom = _TOP + _ROW * max(1, len(timeline.lanes))
    height = bottom + 58
    took = f"{seconds(timeline.took)} in all" if timeline.lanes else ""
    if timeline.saved >= 0.0005:
        took += f" instead of {seconds(timeline.took + timeline.saved)}"
    verdict = timeline.verdict if timeline.lanes else "nothing has happened yet"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" class="sst" role="img">',
        f"<title>{_escape(verdict)}</title>",
        f"<desc>{_escape(_told(timeline))}</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect x=".5" y=".5" width="{_WIDTH - 1}" height="{height - 1}" rx="10" class="g"/>',
        _text(20, 34, verdict, "t h"),
        _text(_WIDTH - 20, 34, took, "d", "end"),
    ]
    if timeline.lanes:
        parts += _axis(scale, bottom)
        parts += _overlaps(timeline, scale, bottom)
        for row, lane in enumerate(timeline.lanes):
            parts += _lane(lane, _TOP + _ROW * row, scale)
        parts += _legend(timeline, bottom + 42)
    return "\n".join([*parts, "</svg>\n"])


def _told(timeline: Timeline) -> str:
    """The picture in words."""
    said = []
    for lane in timeline.lanes:
        spans = ", ".join(f"{seconds(bar.start)} to {seconds(bar.end)}" for bar in lane.bars) or "never ran"
        said.append(f"{lane.name} {lane.detail}: {spans} ({lane.status})")
    return "; ".join(said)
