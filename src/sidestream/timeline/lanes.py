"""What a timeline is made of: bars, in lanes. Values only; `seconds` says a length of time for people."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Bar", "Lane", "seconds"]


class Bar(NamedTuple):
    """A stretch of time, in seconds since the run began. `asked`: when it was asked for (a round's request, a
    call's opening); `late`: when it would have begun had it waited for the stream (None: it did wait)."""

    start: float
    end: float
    asked: float
    late: float | None = None

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.start


class Lane(NamedTuple):
    """One row of the picture. `kind` is `model` or `tool`; `status` that of the result, `running` while there
    is none (of the model: the last round's stop reason); no bar: it never ran."""

    kind: str
    name: str
    detail: str
    status: str
    bars: tuple[Bar, ...]


def seconds(value: float) -> str:
    """A length of time for people."""
    if value < 0.9995:
        return f"{value * 1000:.0f} ms" if value >= 0.0095 else f"{value * 1000:.1f} ms"
    return f"{value:.2f} s" if value < 99.995 else f"{value:,.0f} s"
