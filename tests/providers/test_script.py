"""The reciting model, recordings and their replay."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from sidestream.errors import ProviderError, UsageError
from sidestream.events import CallDelta, Stop, TextDelta, ThinkDelta
from sidestream.messages import Usage, Vendor
from sidestream.providers.script import Script, recording


async def test_responses_come_in_turn_with_the_stop_that_was_left_out(wire: Any) -> None:
    script = Script("Hello", [ThinkDelta("hm"), "a", CallDelta(0, "x", "f", "{}")], ["b", Stop("length", Usage(1, 2))])
    requests = [wire.ask("1"), wire.ask("2"), wire.ask("3")]
    said = [(await wire.heard(script, request))[0] for request in requests]
    assert said == [
        [TextDelta("Hello"), Stop("end")],
        [ThinkDelta("hm"), TextDelta("a"), CallDelta(0, "x", "f", "{}"), Stop("tools")],
        [TextDelta("b"), Stop("length", Usage(1, 2))],
    ]
    assert script.requests == requests


async def test_a_request_too_many_is_an_error_that_says_so(wire: Any) -> None:
    script = Script("once", name="parrot")
    await wire.heard(script)
    said, failed = await wire.heard(script)
    assert said == []
    assert isinstance(failed, ProviderError)
    assert "'parrot' is at its end (responses: 1)" in str(failed)


async def test_a_function_answers_what_it_was_asked(wire: Any) -> None:
    script = Script(lambda request: ["you said: ", request.messages[-1].text])
    said, _ = await wire.heard(script, wire.ask("Hi"))
    assert said == [TextDelta("you said: "), TextDelta("Hi"), Stop("end")]


async def test_exceptions_are_raised_where_they_stand(wire: Any) -> None:
    said, failed = await wire.heard(Script(["a", ProviderError("gone", status=503, retryable=True), "b"]))
    assert said == [TextDelta("a")]
    assert (str(failed), failed.status) == ("gone", 503)


async def test_numbers_wait_and_open_streams_are_counted(wire: Any) -> None:
    script = Script(["a", 3600, "b"], name="slow")
    async with aclosing(script.stream(wire.ask())) as deltas:
        assert await anext(deltas) == TextDelta("a")
        assert script.open == 1
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(deltas), 0.01)
    assert script.open == 0


DELTAS = [
    TextDelta("Zü\nrich"),
    ThinkDelta("t"),
    CallDelta(1, "i", "f", '{"a":1}', True),
    Vendor("v", {"x": [1]}),
]


async def test_a_recording_replays_the_same_deltas_errors_and_times(wire: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    failure = ProviderError("gone", status=503, retryable=True, retry_after=2.0)
    source = Script([*DELTAS, 0.05, Stop("tools", Usage(1, 2))], [failure], ["c"], name="parrot", dialect="tinyrag")
    recorder = recording(source, path)
    assert (recorder.model, recorder.dialect, recorder.name) == ("parrot", "tinyrag", "script")
    first = await wire.heard(recorder)
    rest = [await wire.heard(recorder), await wire.heard(recorder)]
    header, *lines = map(json.loads, path.read_bytes().splitlines())
    assert header == {
        "sidestream": "recording",
        "version": 1,
        "provider": "script",
        "model": "parrot",
        "dialect": "tinyrag",
    }
    assert lines[0] == {"response": 1}
    assert lines[1] == {"type": "text_delta", "text": "Zü\nrich", "response": 1, "at": lines[1]["at"]}

    replay = Script.replay(path)
    assert (replay.model, replay.dialect) == ("parrot", "tinyrag")
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await wire.heard(replay) == first == ([*DELTAS, Stop("tools", Usage(1, 2))], None)
    assert 0.045 < loop.time() - began < 1
    (said, failed), last = [await wire.heard(replay), await wire.heard(replay)]
    assert said == []
    assert (str(failed), failed.status, failed.retryable, failed.retry_after) == ("gone", 503, True, 2.0)
    assert last == rest[1] == ([TextDelta("c"), Stop("end")], None)


async def test_a_replay_at_once_does_not_wait(wire: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"sidestream":"recording","version":1,"model":"m"}\n{"response":1}\n'
        '{"type":"text_delta","text":"a","response":1,"at":3600.0}\n'
    )
    assert await wire.heard(Script.replay(path, speed=0)) == ([TextDelta("a"), Stop("end")], None)
    assert await wire.heard(Script.replay(path, speed=1e6)) == ([TextDelta("a"), Stop("end")], None)


async def test_streams_recorded_at_the_same_time_are_kept_apart(wire: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recorder = recording(Script(["a", 0.002, "b"], ["c", 0.001, "d"]), path)
    said = await asyncio.gather(wire.heard(recorder), wire.heard(recorder))
    replay = Script.replay(path, speed=0)
    assert [await wire.heard(replay), await wire.heard(replay)] == said


async def test_a_recorder_is_entered_and_left_with_what_it_records(wire: Any, tmp_path: Path) -> None:
    class Pool(Script):
        seen: list[str] = []

        async def __aenter__(self) -> Pool:
            self.seen.append("in")
            return self

        async def __aexit__(self, *exc: object) -> None:
            self.seen.append("out")

    pool = Pool("a")
    async with recording(pool, tmp_path / "a.jsonl") as recorder:
        await wire.heard(recorder)
    assert pool.seen == ["in", "out"]
    async with recording(Script("a"), tmp_path / "b.jsonl"):
        pass


async def test_closing_a_recorded_stream_closes_the_one_below(wire: Any, tmp_path: Path) -> None:
    script = Script(["a", 3600, "b"])
    async with aclosing(recording(script, tmp_path / "a.jsonl").stream(wire.ask())) as deltas:
        await anext(deltas)
    assert script.open == 0
    assert await wire.heard(Script.replay(tmp_path / "a.jsonl")) == ([TextDelta("a"), Stop("end")], None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot read"),
        ("", "not a recording"),
        ("hello", "not a recording"),
        ('{"sidestream":"recording","version":2}', "version 1"),
        ('{"sidestream":"recording","version":1}\n{"response":1}\noops', "line 3"),
        ('{"sidestream":"recording","version":1}\n{"response":1,"type":"no_such","at":1}', "line 2"),
    ],
)
def test_what_is_no_recording(text: str | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=words):
        Script.replay(path)


def test_a_recording_that_cannot_be_written_or_replayed_backwards(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        recording(Script(), tmp_path / "nowhere" / "run.jsonl")
    with pytest.raises(UsageError, match="speed"):
        Script.replay(tmp_path / "run.jsonl", speed=-1)
