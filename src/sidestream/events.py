"""What happens. Deltas are what a model says; events are what happened; there is no third vocabulary.

Both are closed unions of frozen structs: one `match` over `AnyEvent` can be proven exhaustive. Events
carry deltas, never snapshots; whoever wants the whole calls `fold`. In JSON an event is an object
whose `type` is its class name in snake_case; where it is journaled, streamed or printed it also
carries `seq` and `at` (see `Stamped`). Nothing here waits, and nothing here decides.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from sidestream.messages import Delta, Event, Message, ToolCall, ToolResult, Usage, Vendor

__all__ = [
    "AnyDelta",
    "AnyEvent",
    "CallArgs",
    "CallClosed",
    "CallDelta",
    "CallOpened",
    "CallRejected",
    "ApprovalAsked",
    "Child",
    "Compacted",
    "Hidden",
    "JobFinished",
    "Journal",
    "Lease",
    "ModelChosen",
    "Note",
    "Reason",
    "Retrying",
    "RoundFinished",
    "RoundStarted",
    "RunFinished",
    "RunInfo",
    "RunStarted",
    "Said",
    "Stamped",
    "Stop",
    "StopReason",
    "Text",
    "TextDelta",
    "ThinkDelta",
    "Thinking",
    "ToolFinished",
    "ToolOutput",
    "ToolStarted",
]

StopReason: TypeAlias = Literal["end", "tools", "length", "filter", "error"]
Reason: TypeAlias = Literal["done", "rounds", "calls", "budget", "waiting", "cancelled", "provider"]

# ---- from a provider -------------------------------------------------------------


class TextDelta(Delta, frozen=True):
    """A piece of the model's text, as it arrived."""

    text: str


class ThinkDelta(Delta, frozen=True):
    """A piece of reasoning from a provider that keeps it apart from text."""

    text: str


class CallDelta(Delta, frozen=True):
    """A fragment of a native call. `slot` is the provider's index, `id` its id; a name that comes with an
    id is set, one without is appended. `done`: the provider says this call is whole."""

    slot: int
    id: str = ""
    name: str = ""
    args: str = ""
    done: bool = False


class Stop(Delta, frozen=True):
    """The end of one response. `end` and `tools` are natural; `length`, `filter` and `error` are cuts."""

    reason: StopReason
    usage: Usage | None = None


# ---- to everyone else ------------------------------------------------------------


class RunStarted(Event, frozen=True):
    """A run began. `parent` is the call that forked it (`""`: nobody), `input` the new messages."""

    run: str
    session: str
    parent: str
    input: tuple[Message, ...]


class RoundStarted(Event, frozen=True):
    """One request to a model is about to be sent; `number` from 1, `attempt` from 1 within it."""

    number: int
    attempt: int = 1


class Text(Event, frozen=True):
    """A piece of visible text."""

    text: str


class Thinking(Event, frozen=True):
    """A piece of reasoning."""

    text: str


class Hidden(Event, frozen=True):
    """Structure that is neither text nor call: think markers, wrappers, what follows a call that was certain."""

    raw: str


class CallOpened(Event, frozen=True):
    """A block began and its name is known: draw the card."""

    id: str
    name: str


class CallArgs(Event, frozen=True):
    """A piece of a block's body, as it arrives."""

    id: str
    text: str


class CallClosed(Event, frozen=True):
    """A call is whole: the only event that may start a tool."""

    call: ToolCall


class CallRejected(Event, frozen=True):
    """It was not a call after all. `why` is a word (`truncated`, `invalid_json`, `malformed`,
    `missing_name`, `nested`, `too_long`, `quoted`, `hallucinated_observation`; with the last two `raw` is empty, for
    the text is told of elsewhere); sinks show `raw` as text. `native`: `raw` is argument text of
    a provider's call, which no transcript replays."""

    id: str
    raw: str
    why: str
    native: bool = False


class ApprovalAsked(Event, frozen=True):
    """A person must allow exactly these arguments (`digest` names them)."""

    id: str
    digest: str


class ToolStarted(Event, frozen=True):
    """The call was admitted and its tool begins."""

    id: str


class ToolOutput(Event, frozen=True):
    """Progress of a running tool."""

    id: str
    text: str


class ToolFinished(Event, frozen=True):
    """The answer to a call, as soon as it is known: exactly one per `CallClosed`, whatever happens."""

    result: ToolResult


class JobFinished(Event, frozen=True):
    """A background tool's real result."""

    result: ToolResult


class Said(Event, frozen=True):
    """A message that entered the run on its way: steering, a follow-up, a delivered job result."""

    message: Message


class Compacted(Event, frozen=True):
    """The transcript's first `upto` messages are from now on told as `summary`."""

    upto: int
    summary: str


class Retrying(Delta, Event, frozen=True):
    """A provider failed before its first delta and will be asked again after `delay` seconds. A delta and an event
    in one."""

    attempt: int
    delay: float
    error: str


class ModelChosen(Delta, Event, frozen=True):
    """Which model answers this run; known after the first meaningful delta, locked from then on. A delta and an
    event in one."""

    provider: str
    model: str


AnyDelta: TypeAlias = TextDelta | ThinkDelta | CallDelta | Vendor | Retrying | ModelChosen | Stop


class RoundFinished(Event, frozen=True):
    """One response has ended: its stream is closed. Tools may still be running."""

    number: int
    stop: StopReason
    usage: Usage | None = None


class Child(Event, frozen=True):
    """What a sub-agent's run did, under the call that forked it."""

    call: str
    event: AnyEvent


class Note(Event, frozen=True):
    """The one open door: a named fact for whoever knows the name (`abandoned`, `route`, `citations`)."""

    name: str
    data: Any


class RunFinished(Event, frozen=True):
    """The end of a run, once. `error` says what failed where `reason` is `provider`."""

    reason: Reason
    usage: Usage
    error: str = ""


AnyEvent: TypeAlias = (
    RunStarted
    | RoundStarted
    | Text
    | Thinking
    | Hidden
    | Vendor
    | CallOpened
    | CallArgs
    | CallClosed
    | CallRejected
    | ApprovalAsked
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | JobFinished
    | Said
    | Compacted
    | Retrying
    | ModelChosen
    | RoundFinished
    | Child
    | Note
    | RunFinished
)

# ---- where they are kept ---------------------------------------------------------


class Stamped(NamedTuple):
    """An event with its place: `seq` (1, 2, 3 … per run) and `at` (seconds since the run began)."""

    seq: int
    at: float
    event: AnyEvent


class RunInfo(msgspec.Struct, frozen=True):
    """What a journal knows of a run: `last` is the highest `seq`, `reason` empty while it is open."""

    run: str
    session: str
    last: int
    reason: str = ""


class Lease(Protocol):
    """The right to continue a run; held by one at a time, given back by `release`."""

    run: str

    async def release(self) -> None: ...


class Journal(Protocol):
    """An append-only log of runs. The engine owns it; sessions and call records are read out of it."""

    def append(self, run: str, events: Sequence[Stamped]) -> None:
        """Keep these events: ordered, de-duplicated by run and `seq`. Never waits."""

    async def barrier(self, run: str) -> None:
        """Return when everything appended for `run` so far is safe."""

    def after(self, run: str, seq: int) -> AsyncIterator[Stamped]:
        """The events of `run` after `seq`, in order."""
        ...

    async def runs(self, session: str | None = None, open: bool = False) -> Sequence[RunInfo]:
        """The runs, in order of beginning; of one session, or only those without an end, if asked."""
        ...

    async def claim(self, run: str) -> Lease:
        """The right to continue `run`. Raises UsageError while someone else holds it."""
        ...
