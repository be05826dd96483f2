"""The corpus (and, in `own`, cases written from the formats' documents alone), strictly, at every cutting: text, calls, errors, and no call before its last character."""

import json
import random
from pathlib import Path

import pytest

from sidestream import dialects
from sidestream.events import CallClosed, CallDelta, CallRejected, Text, Thinking
from sidestream.testing.laws import chunks_do_not_matter, nothing_is_lost, parse

CORPUS = Path(__file__).parent.parent / "corpus"
OPTIONS = ("fences", "starts_in_think", "in_think", "react_after_call", "entities")
NOTED = ("trailing_junk", "unknown_tool")  # what is no CallRejected of a reader


def load(name):
    return [pytest.param(case, id=case["id"]) for case in json.loads((CORPUS / f"{name}.json").read_text())]


def all_formats():
    names = sorted(path.stem for path in CORPUS.glob("*.json"))
    own = sorted(f"own/{path.stem}" for path in (CORPUS / "own").glob("*.json"))
    return [case for name in (*names, *own) if name != "openai_delta" for case in load(name)]


def cuttings(text, seeds=50):
    for size in (1, 2, 3, 4, 7):
        yield [text[start : start + size] for start in range(0, len(text), size)]
    yield [text]
    for seed in range(seeds):
        chance = random.Random(seed)
        places = sorted(chance.sample(range(1, len(text)), min(len(text) - 1, chance.randint(1, 9))))
        yield [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def judge(events, case):
    answers = case.get("accept") or [case["expected"]]
    complaints = [complaint(events, answer, optional=case.get("errors_optional", False)) for answer in answers]
    assert "" in complaints, complaints


def complaint(events, expected, *, optional=False):
    """What is not as expected, or `""`."""
    alone = "".join(event.text for event in events if isinstance(event, Text))
    shown = "".join(
        event.text if isinstance(event, Text) else event.raw
        for event in events
        if isinstance(event, Text | CallRejected) and not getattr(event, "native", False)
    )
    if shown != expected["text"] and alone != expected.get("text_alt"):
        return f"shown: {shown!r}"
    thought = "".join(event.text for event in events if isinstance(event, Thinking))
    if thought != expected.get("reasoning", ""):
        return f"thought: {thought!r}"
    calls = [event.call for event in events if isinstance(event, CallClosed)]
    if [(call.name, call.args) for call in calls] != [(call["name"], call["arguments"]) for call in expected["calls"]]:
        return f"calls: {calls}"
    if any(call.wire != wanted.get("id", call.wire) for call, wanted in zip(calls, expected["calls"], strict=True)):
        return f"ids: {calls}"
    errors = [event.why for event in events if isinstance(event, CallRejected)]
    if not optional and errors != [why for why in expected["errors"] if why not in NOTED]:
        return f"errors: {errors}"
    return ""


@pytest.mark.parametrize("case", all_formats())
def test_a_text_as_the_corpus_says(case):
    text = case.get("text") or "".join(case["stream"])
    options = {key: value for key, value in case.get("options", {}).items() if key in OPTIONS}
    stop = case.get("finish", "end")

    def make():
        return dialects.get(case["format"]).parser(case["tools"], **options)

    seeds = 5 if "/own-" in case["id"] else 50
    chunks_do_not_matter(make, text, cuttings(text, seeds), stop)
    nothing_is_lost(make, list(text), stop)
    judge(parse(make(), [text], stop), case)
    parser, ends = make(), []
    for fed, character in enumerate(text, 1):
        ends += [fed for event in parser.feed(character) if isinstance(event, CallClosed)]
    ends += [len(text) for event in parser.close(stop) if isinstance(event, CallClosed)]
    due = case.get("complete_at", ends)
    if "/own-" in case["id"]:  # written without a look at the reader: a list may need one character more
        early = len(ends) == len(due) and any(end < at for end, at in zip(ends, due, strict=True))
        assert not early, "no call before it is certain"
    else:
        assert ends == due, "a call closes exactly at its last character"


def deltas_of(item):
    for call in item.get("tool_calls", ()):
        function = call.get("function", {})
        yield CallDelta(
            call.get("index", 0), call.get("id", ""), function.get("name", ""), function.get("arguments", "")
        )


@pytest.mark.parametrize("case", load("openai_delta"))
def test_native_fragments_as_the_corpus_says(case):
    stops = {"length": "length", "tool_calls": "tools", "stop": "end"}
    stop = next((stops[item["finish_reason"]] for item in case["stream"] if item.get("finish_reason")), "end")
    parser, events = dialects.get("openai_delta").parser(case["tools"]), []
    for item in case["stream"]:
        for delta in deltas_of(item):
            events += parser.feed(delta)
    events += parser.close(stop)
    judge(events, case)
