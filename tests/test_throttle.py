"""coalesce: the same bytes in fewer events, each handed on in time, exact on virtual time."""

import asyncio

import pytest

import sidestream as ss
from sidestream.events import CallArgs, CallOpened, Hidden, Stamped, Text, Thinking
from sidestream.providers.script import Script
from sidestream.testing.clock import run as play
from sidestream.throttle import coalesce


async def source(*steps):
    """Events as they are given, a number for a pause in seconds."""
    seq = 0
    for step in steps:
        if isinstance(step, float):
            await asyncio.sleep(step)
        else:
            seq += 1
            yield Stamped(seq, asyncio.get_running_loop().time(), step)


def told(*steps, **options):
    """(when it came, seq, event) of all that comes out."""

    async def main():
        loop = asyncio.get_running_loop()
        out = coalesce(source(*steps), **options)
        return [(round(loop.time(), 3), stamped.seq, stamped.event) async for stamped in out]

    return play(main())


def texts(count):
    return [Text(str(number % 10)) for number in range(count)]


def test_adjacent_text_is_merged_and_carries_the_last_seq():
    assert told(*texts(20)) == [(0, 8, Text("01234567")), (0, 16, Text("89012345")), (0, 20, Text("6789"))]


def test_nothing_waits_longer_than_it_may():
    assert told(Text("a"), 0.03, Text("b"), 1.0, Text("c"), 0.2) == [(0.05, 2, Text("ab")), (1.08, 3, Text("c"))]


def test_another_event_is_handed_on_at_once_behind_what_was_merged():
    assert told(Text("a"), Text("b"), CallOpened("1", "x"), 5.0, Text("c")) == [
        (0, 2, Text("ab")), (0, 3, CallOpened("1", "x")), (5, 4, Text("c")),
    ]  # fmt: skip


def test_text_and_reasoning_are_not_mixed():
    assert told(Text("a"), Thinking("b"), Thinking("c"), Text("d")) == [
        (0, 1, Text("a")), (0, 3, Thinking("bc")), (0, 4, Text("d")),
    ]  # fmt: skip


@pytest.mark.parametrize(("thinking", "expected"), [
    ("show", [Hidden("<think>"), Thinking("hm"), Hidden("</think>"), Text("\n\nHi \n")]),
    ("hide", [Text("\n\nHi \n")]),
    ("strip", [Text("Hi \n")]),
])  # fmt: skip
def test_reasoning_is_shown_hidden_or_stripped(thinking, expected):
    steps = [Hidden("<think>"), Thinking("hm"), Hidden("</think>"), Text("\n"), Text("\nHi"), Text(" \n")]
    assert [event for _, _, event in told(*steps, thinking=thinking)] == expected


def test_calls_as_a_whole_have_no_pieces():
    steps = [CallOpened("1", "x"), CallArgs("1", "{"), CallArgs("1", "}")]
    assert [event for _, _, event in told(*steps, calls="whole")] == [CallOpened("1", "x")]


def test_a_whole_run_keeps_its_bytes_and_its_end():
    async def main():
        script = Script([*["ab"] * 100, 0.3, "end"])
        async with ss.Engine(script, []).run("go") as run:
            out = [stamped async for stamped in coalesce(run.stamped())]
        return run, out

    run, out = play(main())
    assert "".join(stamped.event.text for stamped in out if isinstance(stamped.event, Text)) == run.text
    assert sum(isinstance(stamped.event, Text) for stamped in out) == 14
    assert isinstance(out[-1].event, ss.RunFinished)
    assert [stamped.seq for stamped in out] == sorted({stamped.seq for stamped in out})


def test_leaving_early_leaves_nothing_behind():
    async def main():
        out = coalesce(source(Text("a"), CallOpened("1", "x"), 100.0, Text("b")))
        async for _ in out:
            break
        await out.aclose()

    play(main())


@pytest.mark.parametrize("options", [{"chunks": 0}, {"seconds": -1}, {"calls": "some"}, {"thinking": "never"}])
def test_a_wrong_setting_is_told(options):
    with pytest.raises(ss.UsageError, match=next(iter(options))):
        told(Text("a"), **options)
