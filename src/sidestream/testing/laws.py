"""The laws of the house as checks: for every implementation we ship, and for those who write their own.

Each function takes a thing and inputs, and raises AssertionError with what broke. The numbers are those of
the laws in docs/explanation/laws.md. They are pure but for `provider` and `journal`, which are coroutines.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from types import FrameType
from typing import Any

from sidestream.codec import decode, encode
from sidestream.dialects.dialect import Dialect, StreamParser
from sidestream.dialects.inert import neutralise
from sidestream.errors import UsageError
from sidestream.events import (
    AnyEvent,
    CallArgs,
    CallClosed,
    CallDelta,
    CallOpened,
    CallRejected,
    Hidden,
    Journal,
    RunFinished,
    RunStarted,
    Stamped,
    Stop,
    Text,
    Thinking,
    ToolFinished,
    ToolStarted,
)
from sidestream.fold import fold
from sidestream.messages import ToolCall, ToolSpec, clean
from sidestream.providers.provider import Provider, Request
from sidestream.providers.script import Script
from sidestream.run import Run
from sidestream.tools.tool import AnyTool, tool

__all__ = [
    "chunks_do_not_matter",
    "cost_is_linear",
    "every_call_is_answered_once",
    "journal_keeps",
    "merged",
    "nothing_is_left_behind",
    "nothing_is_lost",
    "nothing_waits_in_vain",
    "parse",
    "provider_streams",
    "replay_is_truth",
    "said",
    "tools_never_hold_up_the_stream",
    "untrusted_text_is_inert",
    "writes_what_it_reads",
]

_GAP = " \t\r\n,;]}"
"""What may stand between a call and what closes it."""

MakeParser = Callable[[], StreamParser]


def parse(parser: StreamParser, pieces: Iterable[str], stop: str = "end") -> list[AnyEvent]:
    """All events of one stream."""
    events: list[AnyEvent] = []
    for piece in pieces:
        events += parser.feed(piece)
    events += parser.close(stop)
    return events


def merged(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    """The same events with adjacent text, thinking, structure and arguments of one call joined."""
    out: list[AnyEvent] = []
    for event in events:
        match (out[-1] if out else None), event:
            case Text(first), Text(second):
                out[-1] = Text(first + second)
            case Thinking(first), Thinking(second):
                out[-1] = Thinking(first + second)
            case Hidden(first), Hidden(second):
                out[-1] = Hidden(first + second)
            case CallArgs(call, first), CallArgs(same, second) if call == same:
                out[-1] = CallArgs(call, first + second)
            case _:
                out.append(event)
    return out


def said(events: Iterable[AnyEvent]) -> str:
    """What law 1 counts: text, thinking, structure, and the raw text of calls and of what was none."""
    out = []
    for event in events:
        match event:
            case Text() | Thinking():
                out.append(event.text)
            case Hidden() | CallRejected():
                out.append(event.raw)
            case CallClosed():
                out.append(event.call.raw)
            case _:
                pass
    return "".join(out)


def nothing_is_lost(make: MakeParser, pieces: Sequence[str], stop: str = "end") -> None:
    """Law 1: what is said is what was fed (a lone surrogate as U+FFFD)."""
    events = parse(make(), pieces, stop)
    fed = clean("".join(pieces))
    assert said(events) == fed, f"fed {fed!r}, said {said(events)!r}"


def chunks_do_not_matter(make: MakeParser, text: str, cuts: Iterable[Sequence[str]], stop: str = "end") -> None:
    """Law 2: every cutting of `text` gives the events of the whole."""
    whole = merged(parse(make(), [text], stop))
    for pieces in cuts:
        assert "".join(pieces) == text, "a cutting must be of the same text"
        events = merged(parse(make(), pieces, stop))
        assert events == whole, f"cut as {list(pieces)!r}:\n{events}\nnot as the whole:\n{whole}"


def _waits(pattern: str | re.Pattern[str], held: str) -> bool:
    if isinstance(pattern, str):
        return pattern.startswith(held) or held.startswith(pattern)
    return pattern.match(held) is not None


def nothing_waits_in_vain(make: MakeParser, text: str, patterns: Sequence[str | re.Pattern[str]], hold: int) -> None:
    """Law 3: outside a call, what is held back after a character is at most `hold` long, and begins one of
    `patterns` or goes on from one (blanks and separators behind a call aside)."""
    parser, fed, out, open_calls = make(), "", "", 0
    for character in clean(text):
        fed += character
        events = list(parser.feed(character))
        out += said(events)
        open_calls += sum(isinstance(event, CallOpened) for event in events)
        open_calls -= sum(isinstance(event, CallClosed | CallRejected) for event in events)
        if open_calls <= 0:
            open_calls = 0
            held = fed[len(out) :]
            assert len(held) <= hold, f"{len(held)} characters held back: {held[:80]!r}…"
            begins = any(
                _waits(pattern, one) for pattern in patterns for one in (held, held.lstrip(), held.lstrip(_GAP))
            )
            assert not held or begins, f"{held!r} is held back, and begins none of {patterns}"


def cost_is_linear(make: MakeParser, text: Callable[[int], str], small: int = 200, size: int = 4) -> None:
    """Law 4, as far as it can be counted: four times the text takes at most five times the lines of code."""

    def lines(length: int) -> int:
        count = 0

        def tracer(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal count
            count += event == "line"
            return tracer

        whole, parser, before = text(length), make(), sys.gettrace()
        sys.settrace(tracer)
        try:
            for start in range(0, len(whole), size):
                parser.feed(whole[start : start + size])
            parser.close()
        finally:
            sys.settrace(before)
        return count

    few, many = lines(small), lines(4 * small)
    assert many <= 5 * few, f"{small}: {few} lines, {4 * small}: {many} lines"


def writes_what_it_reads(dialect: Dialect, call: ToolCall, specs: Sequence[ToolSpec]) -> None:
    """Law 10, first half: `write` reads back as the same call."""
    text = dialect.write(call)
    found = [event.call for event in parse(dialect.parser(specs), [text]) if isinstance(event, CallClosed)]
    assert [(one.name, one.args) for one in found] == [(call.name, call.args)], f"{text!r} reads as {found}"


def untrusted_text_is_inert(dialect: Dialect, text: str, specs: Sequence[ToolSpec]) -> None:
    """Law 11: made inert, `text` opens no call, and people still see what it was."""
    inert = neutralise(clean(text), dialect.markers)
    events = parse(dialect.parser(specs), [inert])
    calls = [event for event in events if isinstance(event, CallOpened | CallClosed | CallRejected)]
    assert not calls, f"{inert!r} opened {calls}"
    seen = "".join(event.text for event in events if isinstance(event, Text | Thinking))
    bare = "".join(event.raw for event in events if isinstance(event, Hidden) and len(event.raw) > 1)
    if not bare:  # think markers are structure, not text
        assert seen == clean(text), f"people see {seen!r}, not {text!r}"


def every_call_is_answered_once(events: Sequence[Stamped]) -> None:
    """Laws 5, 6 and 8, read off a finished run: one beginning, one end, in order, each call answered once,
    nothing started that was not whole."""
    assert [stamped.seq for stamped in events] == list(range(1, len(events) + 1)), "seq must count 1, 2, 3 …"
    times = [stamped.at for stamped in events]
    assert times == sorted(times), "time must not run backwards"
    bare = [stamped.event for stamped in events]
    assert isinstance(bare[0], RunStarted), "a run begins with RunStarted"
    ends = [index for index, event in enumerate(bare) if isinstance(event, RunFinished)]
    assert ends == [len(bare) - 1], "a run ends with its one RunFinished"
    closed: set[str] = set()
    started: set[str] = set()
    answered: set[str] = set()
    for event in bare:
        match event:
            case CallClosed():
                assert event.call.id not in closed, f"call {event.call.id} closed twice"
                closed.add(event.call.id)
            case ToolStarted():
                assert event.id in closed - started - answered, f"{event.id} started when it should not"
                started.add(event.id)
            case ToolFinished():
                assert event.result.call in closed - answered, f"{event.result.call} answered when it should not be"
                answered.add(event.result.call)
            case _:
                pass
    last = bare[-1]
    if isinstance(last, RunFinished) and last.reason != "waiting":
        assert closed == answered, f"never answered: {sorted(closed - answered)}"


async def tools_never_hold_up_the_stream(make: Callable[[Provider, AnyTool], Run]) -> None:
    """Law 7: `make(model, tool)` gives a run of a model that calls the tool and goes on writing; with a tool that
    never returns, its text flows to the end. Run it on a virtual clock, or with a short timeout."""

    async def never() -> str:
        """Never returns."""
        await asyncio.Event().wait()
        return ""

    words = [f"word {number} " for number in range(100)]
    model = Script([CallDelta(0, "a", "never", "{}", True), *words], ["after"])
    async with make(model, tool(never)) as run:
        async for event in run:
            if isinstance(event, ToolFinished):
                break
        before = "".join(stamped.event.text for stamped in run.events if isinstance(stamped.event, Text))
    assert before == "".join(words), f"while the tool ran, only this was said: {before[-40:]!r}"


async def nothing_is_left_behind(play: Callable[[], Awaitable[Any]]) -> None:
    """Law 9: after `play()`, which enters and leaves runs in whatever way, no task is there that was not before.
    What `play` raises on its way is for it to catch."""
    before = asyncio.all_tasks()
    await play()
    left = asyncio.all_tasks() - before
    assert not left, f"tasks left behind: {left}"


def replay_is_truth(run: Run, before: int = 0) -> None:
    """Law 10, second half: the fold of the written events is the run's transcript."""
    replayed = [decode(encode(stamped)) for stamped in run.events]
    messages = run.messages
    assert fold(replayed, messages[:before]) == messages, "replayed and live transcripts differ"


async def provider_streams(provider: Provider, request: Request) -> None:
    """A provider ends with exactly one Stop, and can be closed before."""
    deltas = []
    async with aclosing(_of(provider.stream(request))) as stream:
        async for delta in stream:
            deltas.append(delta)
    stops = [index for index, delta in enumerate(deltas) if isinstance(delta, Stop)]
    assert stops == [len(deltas) - 1], f"a stream ends with its one Stop, got {deltas[-3:]}"
    async with aclosing(_of(provider.stream(request))) as stream:
        async for _ in stream:
            break


def _of(stream: AsyncIterator[Any]) -> Any:
    assert hasattr(stream, "aclose"), "a provider's stream must be closable: write `stream` as an async generator"
    return stream


async def journal_keeps(journal: Journal, make: Callable[[int], Stamped]) -> None:
    """A journal keeps order, drops what it has, finds its runs and lends each to one at a time. `make(seq)`
    gives an event; 1 must be a RunStarted of run "a", session "s", and 3 a RunFinished."""
    journal.append("a", [make(1), make(2)])
    journal.append("a", [make(2), make(3)])
    await journal.barrier("a")
    kept = [stamped async for stamped in journal.after("a", 0)]
    assert kept == [make(1), make(2), make(3)], kept
    assert [stamped.seq async for stamped in journal.after("a", 2)] == [3]
    assert [(info.run, info.last) for info in await journal.runs("s")] == [("a", 3)]
    assert not await journal.runs("other")
    assert not await journal.runs(open=True), "a finished run is not open"
    lease = await journal.claim("a")
    try:
        await journal.claim("a")
    except UsageError:
        pass
    else:
        raise AssertionError("a run was lent twice")
    await lease.release()
    await (await journal.claim("a")).release()
