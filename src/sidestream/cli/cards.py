"""One line for each tool call: what it is, how far it is, what came of it. Pure: time is an argument.

`Cards.take(event)` keeps them up to date, `Card.line` draws one. Promises: one line whatever a model or tool
wrote, nothing in it that a terminal would obey, and never wider than asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sidestream.events import (
    AnyEvent,
    ApprovalAsked,
    CallArgs,
    CallClosed,
    CallOpened,
    CallRejected,
    JobFinished,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from sidestream.messages import ToolCall, ToolResult
from sidestream.timeline import columns, cut, label, seconds

__all__ = ["PLAIN", "UNICODE", "Card", "Cards", "Ink", "Marks", "spell"]

_ARGS_KEPT = 400  # characters of arguments that are still being written
_SHARE = 0.6  # of a line that the call may take when a result follows


class Marks(NamedTuple):
    """The signs of a card."""

    writing: str
    spin: str
    ok: str
    failed: str
    gives: str
    more: str


UNICODE = Marks("✎", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "✓", "✗", "→", "…")
PLAIN = Marks("..", "|/-\\", "ok", "!!", "->", "...")


class Ink(NamedTuple):
    """Escape codes, or nothing at all."""

    ok: str = ""
    failed: str = ""
    running: str = ""
    dim: str = ""
    bold: str = ""
    off: str = ""

    @classmethod
    def colored(cls) -> Ink:
        """For a terminal that shows colours."""
        return cls("\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[1m", "\x1b[0m")

    def paint(self, code: str, text: str) -> str:
        """`text` in this colour."""
        return f"{code}{text}{self.off}" if code and text else text


def spell(call: ToolCall) -> str:
    """A call as people write it: `name(argument="value")`."""

    def value(given: Any) -> str:
        return f'"{label(given)}"' if isinstance(given, str) else label(repr(given))

    inner = ", ".join(f"{label(name)}={value(given)}" for name, given in call.args.items())
    return f"{label(call.name)}({inner})"


class Card:
    """One call. `state` is `writing`, `waiting`, `running`, or how it ended."""

    def __init__(self, name: str) -> None:
        self.title = label(name)
        self.state = "writing"
        self.said = ""  # arguments so far, progress, or the result
        self.began: float | None = None
        self.seconds: float | None = None

    @property
    def over(self) -> bool:
        """True once nothing more will come."""
        return self.state not in ("writing", "waiting", "running")

    def line(self, marks: Marks, ink: Ink, now: float = 0.0, width: int = 0) -> str:
        """The card, at most `width` columns wide (0: as wide as it is)."""
        mark, code = self._mark(marks, ink, now)
        time = self._time(now)
        said = label(self.said)
        arrow = f" {marks.gives} " if self.state == "ok" else " "
        status = f" {self.state}:" if self.over and self.state not in ("ok", "not a call") else ""
        rest = f"{status}{arrow}{said}" if said else status.rstrip(":")
        title = self.title
        if width:
            room = max(0, width - columns(mark) - 1 - columns(time))
            title = cut(title, max(room - columns(rest), int(room * _SHARE)), marks.more)
            rest = cut(rest, room - columns(title), marks.more)
        return f"{ink.paint(code, mark)} {title}{ink.paint(ink.dim, rest)}{ink.paint(ink.dim, time)}"

    def _time(self, now: float) -> str:
        if self.state == "running" and self.began is not None:
            return f"  {now - self.began:.1f} s"
        ran = self.over and self.seconds is not None and (self.seconds > 0 or self.state == "ok")
        return f"  {seconds(self.seconds)}" if ran and self.seconds is not None else ""

    def _mark(self, marks: Marks, ink: Ink, now: float) -> tuple[str, str]:
        match self.state:
            case "writing" | "waiting":
                return marks.writing, ink.dim
            case "running":
                return marks.spin[int(now * 10) % len(marks.spin)], ink.running
            case "ok":
                return marks.ok, ink.ok
            case "duplicate":
                return marks.ok, ink.running
            case _:
                return marks.failed, ink.failed


class Cards:
    """The cards of one run that are not yet written down for good, in the order their calls began."""

    def __init__(self) -> None:
        self._cards: dict[str, Card] = {}

    @property
    def all(self) -> list[Card]:
        """All of them."""
        return list(self._cards.values())

    def take(self, event: AnyEvent, now: float) -> bool:
        """True if the event changed a card."""
        match event:
            case CallOpened():
                self._cards[event.id] = Card(event.name)
            case CallArgs() if card := self._cards.get(event.id):
                card.said = (card.said + event.text)[-_ARGS_KEPT:]
            case CallClosed():
                card = self._cards.setdefault(event.call.id, Card(event.call.name))
                card.title, card.state, card.said = spell(event.call), "waiting", ""
            case CallRejected() if card := self._cards.get(event.id):
                card.state, card.said = "not a call", f"not run: {event.why.replace('_', ' ')}"
            case ApprovalAsked() if card := self._cards.get(event.id):
                card.said = "waits for approval"
            case ToolStarted() if card := self._cards.get(event.id):
                card.state, card.began, card.said = "running", now, ""
            case ToolOutput() if card := self._cards.get(event.id):
                card.said = next((line for line in reversed(event.text.splitlines()) if line.strip()), card.said)
            case ToolFinished() | JobFinished():
                self._finish(event.result)
            case _:
                return False
        return True

    def _finish(self, result: ToolResult) -> None:
        card = self._cards.setdefault(result.call, Card(f"call {result.call}"))
        card.state, card.said, card.seconds = result.status, result.text, result.seconds

    def done(self) -> list[Card]:
        """Those that are over; they are forgotten here."""
        over = [id_ for id_, card in self._cards.items() if card.over]
        return [self._cards.pop(id_) for id_ in over]
