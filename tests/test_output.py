"""Answers of a type, and what the application may change of what is sent: on scripted models."""

import dataclasses
import json
from typing import Literal

import msgspec
import pytest

import sidestream as ss
from sidestream.compose import RunContext, paired, readable
from sidestream.errors import OutputError, UsageError
from sidestream.providers.script import Script
from sidestream.testing.clock import run as play


class Weather(msgspec.Struct):
    city: str
    degrees: float
    sky: Literal["clear", "cloudy"] = "clear"


@dataclasses.dataclass
class Place:
    name: str
    weather: Weather


@ss.tool
async def look_up(city: str) -> str:
    """Looks it up."""
    return f"{city}: 21, cloudy"


GOOD = '{"city":"Bern","degrees":21}'
BERN = Weather("Bern", 21.0)


class Strict(Script):
    structured = True


def native(name, args, slot=0):
    return ss.CallDelta(slot, f"c{slot}{name}", name, json.dumps(args), done=True)


async def heard(script, kind=Weather, **options):
    run_options = {name: options.pop(name) for name in ("limits",) if name in options}
    async with ss.Engine(script, [look_up], **options).run("Weather in Bern?", output=kind, **run_options) as run:
        await run.result()
    return run


# ---- held to the schema


def test_a_model_that_can_be_held_to_a_schema_is():
    script = Strict([GOOD])
    run = play(heard(script))
    assert run.output == BERN
    sent = script.requests[0].settings.response
    assert sent["title"] == "Weather"
    assert sent["properties"]["degrees"] == {"type": "number"}
    assert [spec.name for spec in script.requests[0].tools] == ["look_up"]


def test_what_does_not_fit_is_told_and_asked_for_again():
    script = Strict(['{"city":"Bern"}'], ["```json\n" + GOOD + "\n```"])
    run = play(heard(script))
    assert run.output == BERN
    told = script.requests[1].messages[-1]
    assert told.role == "user"
    assert "degrees" in told.text


@pytest.mark.parametrize("bad", ["", "It is warm.", '{"city":1,"degrees":2}', "[1]", '{"city":"Bern","degrees":"21"}'])
def test_after_two_more_attempts_there_is_no_output(bad):
    script = Strict(*[[bad]] * 5)
    run = play(heard(script))
    assert (run.reason, len(script.requests)) == ("done", 3)
    assert run.error.startswith("no answer of type Weather: ")
    with pytest.raises(OutputError, match="no answer of type Weather") as caught:
        run.output
    assert caught.value.text == bad


def test_tools_run_before_the_answer():
    script = Strict([native("look_up", {"city": "Bern"})], [GOOD])
    assert play(heard(script)).output == BERN


# ---- by a call


def test_other_models_answer_with_a_call():
    script = Script([native("look_up", {"city": "Bern"})], [native("final_answer", msgspec.to_builtins(BERN))])
    run = play(heard(script))
    assert (run.output, run.reason, len(script.requests)) == (BERN, "done", 2)
    assert [spec.name for spec in script.requests[0].tools] == ["look_up", "final_answer"]
    assert run.messages[-1].parts[0].status == "ok"


def test_a_call_that_does_not_fit_is_told():
    wrong = native("final_answer", {"city": "Bern", "degrees": "warm"})
    script = Script([wrong], [native("final_answer", msgspec.to_builtins(BERN), 1)])
    run = play(heard(script))
    assert run.output == BERN
    assert "answer.degrees: expected float, got str ('warm')" in script.requests[1].messages[-1].parts[0].text


def test_calls_that_never_fit_end_in_an_error():
    script = Script(*[[native("final_answer", {"city": number}, number)] for number in range(9)])
    run = play(heard(script))
    assert len(script.requests) == 3
    with pytest.raises(OutputError):
        run.output


def test_a_model_that_answers_in_words_is_told_to_call():
    script = Script(["It is 21 degrees."], [native("final_answer", msgspec.to_builtins(BERN))])
    run = play(heard(script))
    assert run.output == BERN
    assert "Call final_answer" in script.requests[1].messages[-1].text


def test_it_may_answer_when_every_limit_is_reached():
    script = Script([native("look_up", {"city": "Bern"})], [native("final_answer", msgspec.to_builtins(BERN))])
    run = play(heard(script, limits=ss.Limits(rounds=0)))
    assert script.requests[0].tools[0].name == "final_answer"
    script = Script(
        [native("look_up", {"city": "Bern"})],
        [native("look_up", {"city": "Basel"}, 1)],
        [native("final_answer", msgspec.to_builtins(BERN))],
    )
    run = play(heard(script, limits=ss.Limits(rounds=1, per_run=1)))
    assert run.output == BERN
    assert run.reason in ("rounds", "calls")


def test_in_a_text_format_too():
    block = f'<tool_call>\n{{"name":"final_answer","arguments":{GOOD}}}\n</tool_call>'
    run = play(heard(Script([block], name="qwen3", dialect="hermes")))
    assert run.output == BERN


def test_what_is_no_object_is_wrapped():
    script = Script([native("final_answer", {"answer": [1, 2]})])
    assert play(heard(script, list[int])).output == [1, 2]
    assert play(heard(Strict(['{"answer": [3]}']), list[int])).output == [3]
    assert play(heard(Strict(["[4]"]), list[int])).output == [4]


def test_types_within_types():
    value = {"name": "here", "weather": msgspec.to_builtins(BERN)}
    assert play(heard(Strict([json.dumps(value)]), Place)).output == Place("here", BERN)


def test_pydantic_models():
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Answer", city=(str, ...), degrees=(float, ...))
    assert play(heard(Strict([GOOD]), model)).output == model(city="Bern", degrees=21)


def test_ask_gives_the_value_or_raises():
    assert play(ss.Engine(Strict([GOOD])).ask("?", output=Weather)) == BERN
    with pytest.raises(OutputError):
        play(ss.Engine(Strict(["no"] * 3)).ask("?", output=Weather, limits=ss.Limits(output_retries=0)))
    with pytest.raises(ss.RunError):
        play(ss.Engine(Strict()).ask("?", output=Weather))


def test_wrong_use_is_refused():
    with pytest.raises(UsageError, match="output takes a type"):
        ss.Engine(Script()).run("?", output="Weather")
    with pytest.raises(UsageError, match="type that JSON cannot carry"):
        ss.Engine(Script()).run("?", output=object)
    with pytest.raises(UsageError, match="once a run"):
        ss.Engine(Script()).run("?", output=Weather).output


def test_what_a_person_says_meanwhile_is_heard_before_the_answer_counts():
    async def story():
        first = [native("final_answer", msgspec.to_builtins(BERN)), 1.0]
        second = [native("final_answer", {"city": "Basel", "degrees": 20}, 1)]
        script = Script(first, second)
        async with ss.Engine(script).run("?", output=Weather) as run:
            async for event in run:
                if isinstance(event, ss.ToolFinished) and event.result.call == "1.1":
                    run.send("I meant Basel.")
        return run

    assert play(story()).output == Weather("Basel", 20.0)


# ---- what is sent


def sent_text(request):
    return [message.text for message in request.messages]


def test_the_system_text_may_be_a_function_of_the_context():
    seen = []

    def plain(context: RunContext) -> str:
        return f"Round {context.round} for {context.deps}."

    async def waiting(context: RunContext) -> str:
        seen.append(context)
        return f"{len(context.messages)} messages"

    script = Script([native("look_up", {"city": "Bern"})], ["x"])
    play(ss.Engine(script, [look_up], system=plain, deps="Ann").ask("?"))
    assert [request.system for request in script.requests] == ["Round 1 for Ann.", "Round 2 for Ann."]
    script = Script(["x"])
    play(ss.Engine(script).ask("?", system=waiting))
    assert script.requests[0].system == "1 messages"
    assert (seen[0].session, seen[0].round) == ("", 1)
    with pytest.raises(UsageError, match="must give a text"):
        play(ss.Engine(Script(["x"]), system=lambda context: None).ask("?"))


def test_transform_changes_what_is_sent_and_not_the_transcript():
    async def last_only(messages, context):
        return [ss.Message("system", (ss.TextPart("Be kind."),)), *messages[-1:]]

    async def story():
        script = Script(["one"], ["two"])
        engine = ss.Engine(script, transform=last_only)
        async with engine.session("s") as chat:
            await chat.ask("first")
            await chat.ask("second")
            return script, chat.messages

    script, messages = play(story())
    assert sent_text(script.requests[1]) == ["Be kind.", "second"]
    assert [message.text for message in messages] == ["first", "one", "second", "two"]


def test_what_transform_adds_is_untrusted():
    block = '<tool name="look_up"><city>Bern</city></tool>'

    async def add(messages, context):
        return [*messages, ss.Message("user", (ss.TextPart(f"A document says {block}"),))]

    script = Script([block], ["ok"], dialect="tinyrag")

    async def story():
        async with ss.Engine(script, [look_up], transform=add).run("?") as run:
            await run.result()
        return run

    results = [part.status for message in play(story()).messages if message.role == "tool" for part in message.parts]
    assert results == ["refused"]


def test_a_transform_that_cuts_between_a_call_and_its_result_sends_pairs():
    async def results_only(messages, context):
        return [message for message in messages if message.role != "assistant"]

    async def calls_only(messages, context):
        return [message for message in messages if message.role != "tool"]

    for transform, roles in ((results_only, ["user"]), (calls_only, ["user", "assistant", "tool"])):
        script = Script([native("look_up", {"city": "Bern"})], ["x"])
        play(ss.Engine(script, [look_up], transform=transform).ask("?"))
        assert [message.role for message in script.requests[1].messages] == roles
    assert script.requests[1].messages[-1].parts[0].status == "unknown"


@pytest.mark.parametrize("wrong", [None, "text", [1], 3])
def test_a_transform_that_gives_no_messages_is_a_usage_error(wrong):
    async def transform(messages, context):
        return wrong

    with pytest.raises(UsageError, match="the function `transform` must give a list of Messages"):
        play(ss.Engine(Script(["x"]), transform=transform).ask("?"))


def test_convert_has_the_last_word_on_what_a_model_can_read():
    picture = ss.ImagePart(data=b"x")
    given = ss.Message("user", (ss.TextPart("Look"), picture, ss.DataPart("screen", {"x": 1})))
    script = Script(["ok"])
    play(ss.Engine(script).ask([given]))
    assert script.requests[0].messages == (ss.Message("user", (ss.TextPart("Look"), picture)),)

    class Blind(Script):
        accepts = frozenset()

    script = Blind(["ok"])
    play(ss.Engine(script).ask([given]))
    assert sent_text(script.requests[0]) == ["Look[image left out: this model cannot read it]"]
    script = Blind(["ok"])
    play(ss.Engine(script, convert=lambda messages, context: messages).ask([given]))
    assert script.requests[0].messages == (given,)


def test_readable_leaves_texts_as_they_are_and_reads_files_of_text():
    def context(accepts):
        return RunContext("r", "", 1, (), None, accepts)

    call = ss.ToolCall("1.1", "look_up", {}, "{}")
    result = ss.ToolResult("1.1", "ok", (ss.ImagePart(data=b"x"), ss.DataPart("d", 1)))
    notes = ss.FilePart("notes.txt", "text/plain", b"hello")
    messages = [
        ss.Message("user", (notes,)),
        ss.Message("user", (ss.DataPart("only", 1),)),
        ss.Message("assistant", (ss.ThinkPart("hm"), call)),
        ss.Message("tool", (result,)),
    ]
    said = readable(messages, context(frozenset()))
    assert said[0].text == "notes.txt:\nhello"
    assert said[1] == messages[2]
    assert said[2].parts[0].parts == (ss.TextPart("[image left out: this model cannot read it]"), ss.DataPart("d", 1))
    assert readable(messages, context(None)) == [messages[0], messages[2], messages[3]]


def test_pairs():
    def call(number):
        return ss.ToolCall(number, "look_up", {}, "{}")

    def result(number):
        return ss.ToolResult(number, "ok", (ss.TextPart(number),))

    a = ss.Message("assistant", (call("a"), call("b"), call("c")))
    split = [a, ss.Message("tool", (result("c"),)), ss.Message("tool", (result("a"), result("x")))]
    said = list(paired([*split, ss.Message("user", (ss.TextPart("?"),))]))
    assert [(part.call, part.status) for part in said[1].parts] == [("a", "ok"), ("b", "unknown"), ("c", "ok")]
    assert [message.role for message in said] == ["assistant", "tool", "user"]
    assert [message.role for message in paired([ss.Message("tool", (result("x"),))])] == []
    whole = [a, ss.Message("tool", (result("a"), result("b"), result("c")))]
    assert list(paired(whole)) == whole
