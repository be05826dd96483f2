"""From events to the transcript. `fold` is the only way one comes to be, so live and replayed agree.

The engine folds to build the next request, the journal folds to resume, the page folds to draw. It promises:
results stand in the order in which they were asked for, whatever order they came in; a rejected native
call is left out; a child run's events are skipped. It knows no format and no vendor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sidestream.events import (
    AnyEvent,
    CallClosed,
    CallRejected,
    Compacted,
    RoundStarted,
    RunFinished,
    RunStarted,
    Said,
    Stamped,
    Text,
    Thinking,
    ToolFinished,
)
from sidestream.messages import Message, Part, TextPart, ThinkPart, ToolResult, Vendor

__all__ = ["Fold", "fold"]


class Fold:
    """A transcript that grows with `add`. `messages` may be read at any time; `before` comes first in it."""

    def __init__(self, before: Sequence[Message] = ()) -> None:
        self._done: list[Message] = list(before)
        self._parts: list[Part] = []  # of the assistant's message that is being said
        self._kind: type[TextPart] | type[ThinkPart] = TextPart
        self._text: list[str] = []  # of its last part
        self._asked: list[str] = []
        self._results: dict[str, ToolResult] = {}
        self._told: list[Part] = []  # what else the model must hear of this round

    def add(self, event: AnyEvent) -> None:
        """Take the next event in."""
        match event:
            case Text():
                self._say(TextPart, event.text)
            case Thinking():
                self._say(ThinkPart, event.text)
            case CallRejected() if not event.native:
                self._say(TextPart, event.raw)
            case CallClosed():
                self._part(event.call)
                self._asked.append(event.call.id)
            case Vendor():
                self._part(event)
            case ToolFinished():
                self._results[event.result.call] = event.result
            case RunStarted():
                self._done.extend(event.input)
            case Said() if event.message.role == "tool":
                self._told.extend(event.message.parts)
            case Said():
                self._flush()
                self._done.append(event.message)
            case RoundStarted() | RunFinished():
                self._flush()
            case Compacted():
                self._flush()
                self._done[: event.upto] = [Message("user", (TextPart(event.summary),))]
            case _:
                pass

    @property
    def messages(self) -> list[Message]:
        """The transcript so far, with what is being said right now as its end."""
        return [*self._done, *self._current()]

    def _say(self, kind: type[TextPart] | type[ThinkPart], text: str) -> None:
        if kind is not self._kind:
            self._end_part()
            self._kind = kind
        self._text.append(text)

    def _part(self, part: Part) -> None:
        self._end_part()
        self._parts.append(part)

    def _end_part(self) -> None:
        if self._text:
            self._parts.append(self._kind("".join(self._text)))
            self._text = []

    def _current(self) -> list[Message]:
        tail = (self._kind("".join(self._text)),) if self._text else ()
        messages = []
        if self._parts or tail:
            messages.append(Message("assistant", (*self._parts, *tail)))
        results = [self._results[call] for call in self._asked if call in self._results]
        if results or self._told:
            messages.append(Message("tool", (*results, *self._told)))
        return messages

    def _flush(self) -> None:
        self._done.extend(self._current())
        self._parts, self._text, self._asked, self._results, self._told = [], [], [], {}, []


def fold(events: Iterable[AnyEvent | Stamped], before: Sequence[Message] = ()) -> list[Message]:
    """The transcript that `events` tell, after the messages `before`."""
    folded = Fold(before)
    for event in events:
        folded.add(event.event if isinstance(event, Stamped) else event)
    return folded.messages
