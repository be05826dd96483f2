"""The real model, in its real process: the forty questions, true answers, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import sidestream as ss
from sidestream import dialects
from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallClosed, CallDelta, Stop, TextDelta
from sidestream.messages import Message, TextPart, ToolCall, ToolResult, user
from sidestream.providers.local import Local, files
from sidestream.providers.local.router import questions, route
from sidestream.providers.provider import Request, Settings

ALL = os.environ.get("SIDESTREAM_TEST_ALL") == "1"


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def request(text: str, asked: Any, dialect: str = "tinyrag", **settings: Any) -> Request:
    return Request((user(text),), dialects.get(dialect), tools=asked.specs, settings=Settings(**settings))


async def deltas(local: Local, one: Request) -> list[AnyDelta]:
    async with aclosing(local.stream(one)) as stream:
        return [delta async for delta in stream]


def said(found: list[AnyDelta]) -> str:
    return "".join(delta.text for delta in found if isinstance(delta, TextDelta))


async def calls(local: Local, text: str, asked: Any) -> list[tuple[str, dict[str, Any]]]:
    one = request(text, asked, max_tokens=8)
    reader = one.dialect.parser(asked.specs)
    events = [*reader.feed(said(await deltas(local, one))), *reader.close()]
    return [(event.call.name, event.call.args) for event in events if isinstance(event, CallClosed)]


async def test_without_the_files_the_error_names_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Any
) -> None:
    monkeypatch.setenv("SIDESTREAM_CACHE", str(tmp_path))
    with pytest.raises(ProviderError, match=r"sidestream local pull|sidestream\[local\]"):
        await deltas(Local(), request("hi", asked))


@pytest.mark.usefixtures("model")
async def test_broken_weights_are_a_provider_error_and_leave_no_process(tmp_path: Path, asked: Any) -> None:
    weights = tmp_path / "broken.gguf"
    weights.write_bytes(b"GGUF" + bytes(100))
    local = Local(weights)
    async with local:
        with pytest.raises(ProviderError, match="local model"):
            await local.load()
    with pytest.raises(ProviderError, match=r"none\.gguf: this path does not exist$"):
        await deltas(Local(tmp_path / "none.gguf"), request("hi", asked))


@pytest.mark.usefixtures("model")
async def test_the_router_answers_the_questions_and_unseen_ones(asked: Any) -> None:
    async with Local() as local:
        child = await local._running()
        for name, most_wrong in (("questions", 4), ("unseen", 18), ("traps", 1)):
            wrong = []
            for question in asked.questions(name):
                compared = questions(question["question"], asked.specs)
                async with aclosing(child.ask("similar", texts=compared.texts, examples=compared.examples)) as lines:
                    table = [row async for line in lines for row in line["rows"]]
                chosen = [(choice.spec.name, choice.args[0]) for choice in route(compared, table)]
                if not asked.right(question, chosen):
                    wrong.append((question["question"], chosen))
            assert len(wrong) <= most_wrong, wrong


@pytest.mark.usefixtures("model")
async def test_the_model_calls_the_right_tools_with_the_right_arguments(asked: Any) -> None:
    forty = asked.questions("questions")
    async with Local() as local:
        wrong = [
            (question["question"], found)
            for question in (forty if ALL else forty[::4])
            if not asked.right(question, found := await calls(local, question["question"], asked))
        ]
    assert len(wrong) <= (4 if ALL else 1), wrong


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("status", "text", "part"),
    [
        ("ok", "391", "391"),
        ("ok", "10 mi = 16.09344 km", "10 mi = 16.09344 km"),
        ("error", "CalculateError: division by zero", "division by zero"),
        ("timeout", "", "ran out of time"),
        ("refused", "not on the list", "not allowed (not on the list)"),
    ],
)
async def test_an_answer_says_the_result_or_why_there_is_none_and_no_other_number(
    status: Any, text: str, part: str, asked: Any
) -> None:
    call = ToolCall("1.1", "calculate", {"expression": "17 * 23"}, "")
    result = ToolResult("1.1", status, (TextPart(text),))
    talk = (user("What is it?"), Message("assistant", (call,)), Message("tool", (result,)))
    async with Local() as local:
        for tools in (asked.specs, ()):
            answer = said(await deltas(local, Request(talk, dialects.get("tinyrag"), tools=tools)))
            assert part in answer
            assert not any(char.isdigit() for char in answer.replace(text, ""))


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    "question",
    [
        "Will it snow in Zurich tomorrow?",
        "What's the weather in Paris?",
        "Tell me today's news",
        "How old is someone born in 1990?",
        "Who won the match yesterday?",
        "How many days are between 3 March and 9 June?",
        "What's the temperature in Oslo?",
    ],
)
async def test_where_no_tool_fits_the_answer_says_so_and_makes_nothing_up(question: str, asked: Any) -> None:
    async with Local() as local:
        request = Request((user(question),), dialects.get("tinyrag"), tools=asked.specs)
        answer = said(await deltas(local, request))
    assert "no tool" in answer
    assert not any(char.isdigit() for char in answer)


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("question", ["What's the weather in Paris?", "Will it rain in Paris tomorrow?"])
@pytest.mark.parametrize("examples", [(), ("How is the weather in Rome?", "Is it cold in Oslo?")])
async def test_a_tool_about_the_topic_is_still_chosen(question: str, examples: tuple[str, ...], asked: Any) -> None:
    @ss.tool(examples=examples)
    async def weather(city: str) -> str:
        """Current weather of a city."""
        return "sunny"

    async with Local() as local:
        request = Request((user(question),), dialects.get("tinyrag"), tools=(*asked.specs, weather.spec))
        answer = said(await deltas(local, request))
    assert '<tool name="weather"><city>Paris</city></tool>' in answer


@pytest.mark.usefixtures("model")
async def test_a_whole_turn_runs_two_tools_and_answers_with_both_results(asked: Any) -> None:
    async with ss.Engine("local", asked.shelf) as engine:
        answer = await engine.ask("What is 9 * 9, and how many words are in 'red green blue'?")
    assert "81" in answer
    assert "3 words, 14 characters, 1 line" in answer


@pytest.mark.usefixtures("model")
async def test_a_native_call_comes_in_fragments(asked: Any) -> None:
    async with Local() as local:
        found = await deltas(local, request("What is 17 * 23?", asked, "native"))
    fragments = [delta for delta in found if isinstance(delta, CallDelta)]
    assert fragments[0].name == "calculate"
    assert "".join(one.args for one in fragments) == '{"expression": "17 * 23"}'
    assert fragments[-1].done
    assert isinstance(found[-1], Stop)
    assert found[-1].reason == "tools"


@pytest.mark.usefixtures("model")
async def test_small_talk_is_free_text_within_its_bound_and_counted(asked: Any) -> None:
    async with Local() as local:
        found = await deltas(local, request("Tell me a long story about the sea", asked, max_tokens=5))
        assert said(found)
        stop = found[-1]
        assert isinstance(stop, Stop)
        assert stop.reason == "length"
        assert stop.usage is not None
        assert stop.usage.output == 5
        quiet = await deltas(local, request("What is 2 + 2?", asked, tool_choice="none", max_tokens=5))
        assert "<tool" not in said(quiet)


@pytest.mark.usefixtures("model")
async def test_leaving_the_stream_stops_the_generation_and_the_process_serves_on(asked: Any) -> None:
    async with Local() as local:
        await local.load()
        pid = (await local._running()).pid
        stream = local.stream(request("Tell me a very long story about a dragon", asked))
        await anext(stream)
        await stream.aclose()
        began = time.perf_counter()
        assert await calls(local, "What is 2 + 2?", asked) == [("calculate", {"expression": "2 + 2"})]
        assert time.perf_counter() - began < 5
        assert (await local._running()).pid == pid
    assert gone(pid)


@pytest.mark.usefixtures("model")
async def test_a_provider_that_was_never_entered_leaves_no_process(asked: Any) -> None:
    local = Local()
    stream: AsyncIterator[AnyDelta] = local.stream(request("Hello!", asked))
    async for _ in stream:
        child = local._child
        assert child is not None
        break
    await stream.aclose()  # type: ignore[attr-defined]
    assert gone(child.pid)
    assert local._child is None


@pytest.mark.usefixtures("model")
async def test_in_and_out_at_once_and_a_cancelled_load_leave_no_process(asked: Any) -> None:
    local = Local()
    for _ in range(3):
        async with local:
            pid = (await local._running()).pid
        assert gone(pid)
    async with local:
        pid = (await local._running()).pid
        task = asyncio.create_task(deltas(local, request("Hello!", asked)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert gone(pid)


@pytest.mark.usefixtures("model")
async def test_two_runs_at_once_take_turns(asked: Any) -> None:
    async with Local() as local:
        found = await asyncio.gather(*(calls(local, f"What is {n} + {n}?", asked) for n in (3, 4)))
    assert [one[0][1]["expression"] for one in found] == ["3 + 3", "4 + 4"]


def test_one_provider_serves_one_loop_after_another(model: None, asked: Any) -> None:
    local = Local()
    for _ in range(2):
        assert asyncio.run(calls(local, "What is 2 + 2?", asked))


@pytest.mark.usefixtures("model")
async def test_the_first_token_comes_within_a_second_of_loading(asked: Any) -> None:
    async with Local() as local:
        await local.load()
        await calls(local, "What is 1 + 1?", asked)  # examples are embedded once, then kept in the cache
        began = time.perf_counter()
        stream = local.stream(request("What is 17 * 23?", asked))
        await anext(stream)
        first = time.perf_counter() - began
        await stream.aclose()
    assert first < 1
    assert (files.folder() / "examples.npz").is_file()
