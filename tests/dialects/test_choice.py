"""How a dialect is chosen: by name, several at once, by the model's name, with a nonce; and what a text is."""

import pytest

import sidestream as ss
from sidestream import dialects
from sidestream.dialects.models import formats_of
from sidestream.errors import UsageError
from sidestream.events import CallClosed, CallDelta, CallOpened, CallRejected, Stop, Text, TextDelta
from sidestream.messages import ToolCall, ToolSpec
from sidestream.providers.script import Script
from sidestream.testing.laws import parse

SPECS = [ToolSpec("look", "Look it up.", {"properties": {"q": {"type": "string"}}, "required": ["q"]})]
CALL = ToolCall("1", "look", {"q": "x"}, "")
TEXT_FORMATS = [name for name in dialects.names() if name not in ("native", "openai_delta")]
SIGNABLE = ["anthropic_legacy", "deepseek_dsml", "dots", "kimi_k3", "minicpm5", "minimax_m2", "minimax_m3", "step3"]


def closed(events):
    return [event.call for event in events if isinstance(event, CallClosed)]


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_every_format_teaches_writes_and_tells(name):
    language = dialects.get(name)
    taught = language.teach(SPECS)
    assert "look" in taught
    assert "Look it up." in taught
    assert closed(parse(language.parser(SPECS), [language.write(CALL)]))[0].args == {"q": "x"}
    told = language.tell([ss.ToolResult("1", "ok", (ss.TextPart("It is <b>so</b>."),), 0.1)], [], {"1": "look"})
    assert told.role == "user"
    assert "It is <b>so</b>." in told.text.replace("\u2060", "").replace("\\u003c", "<")


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_a_result_cannot_call_in_any_format(name):
    language = dialects.get(name)
    block = language.write(CALL)
    told = language.tell([ss.ToolResult("1", "ok", (ss.TextPart(f"x\n{block}"),), 0.1)], [], {"1": "look"})
    assert block not in told.text
    poisoned = told.text.partition("x\n")[2] or told.text
    assert not closed(parse(language.parser(SPECS), [poisoned]))


@pytest.mark.parametrize("name", [*SIGNABLE, "tinyrag"])
def test_with_a_nonce_only_blocks_that_carry_it_count(name):
    signed, plain = dialects.get(name, nonce=True), dialects.get(name)
    assert closed(parse(signed.parser(SPECS), [signed.write(CALL)]))[0].args == {"q": "x"}
    other = dialects.get(name, nonce=True).write(CALL)
    for text in (plain.write(CALL), other):
        events = parse(signed.parser(SPECS), [text])
        assert not [event for event in events if isinstance(event, CallClosed | CallOpened)]
        shown = [event.text if isinstance(event, Text) else event.raw for event in events]
        assert "".join(shown) == text, "what does not run is shown"
    assert signed.write(CALL) in signed.teach(SPECS) or 'nonce="' in signed.teach(SPECS)


@pytest.mark.parametrize("name", ["hermes", "kohaku_xml", "harmony", "native", ["tinyrag", "hermes"]])
def test_a_nonce_needs_a_place(name):
    with pytest.raises(UsageError, match="place for a nonce"):
        dialects.get(name, nonce=True)


@pytest.mark.parametrize(("names", "text", "args"), [
    (["hermes", "glm45"], "<tool_call>look\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n</tool_call>", {"q": "x"}),
    (["hermes", "glm45"], '<tool_call>{"name": "look", "arguments": {"q": "x"}}</tool_call>', {"q": "x"}),
    (["qwen3_coder", "functionary_v31"], '<function=look>{"q": "x"}</function>', {"q": "x"}),
    (["functionary_v31", "qwen3_coder"], "<function=look>\n<parameter=q>\nx\n</parameter>\n</function>", {"q": "x"}),
    (["jamba", "hunyuan_v3"], '<tool_calls>[{"name": "look", "arguments": {"q": "x"}}]</tool_calls>', {"q": "x"}),
    (["jamba", "hunyuan_v3"], "<tool_calls><tool_call>look<tool_sep><arg_key>q</arg_key><arg_value>x</arg_value>"
     "</tool_call></tool_calls>", {"q": "x"}),
    (["mistral_v11", "mistral_v3"], '[TOOL_CALLS][{"name": "look", "arguments": {"q": "x"}}]', {"q": "x"}),
    (["mistral_v3", "mistral_v11"], '[TOOL_CALLS]look[ARGS]{"q": "x"}', {"q": "x"}),
    (["pythonic", "mistral_v3"], '[TOOL_CALLS] [{"name": "look", "arguments": {"q": "x"}}]', {"q": "x"}),
    (["tinyrag", "hermes"], '<tool name="look"><query>x</query></tool>', {"q": "x"}),
])  # fmt: skip
def test_formats_that_share_an_opener_are_told_apart_by_what_follows(names, text, args):
    for pieces in ([text], list(text)):
        calls = closed(parse(dialects.get(names).parser(SPECS), pieces))
        assert [(call.name, call.args) for call in calls] == [("look", args)]


def test_auto_asks_natively_and_reads_what_the_model_is_known_to_write():
    auto = dialects.get("auto", model="Qwen/Qwen2.5-7B-Instruct")
    assert auto.name == "native"
    assert auto.formats == formats_of("Qwen/Qwen2.5-7B-Instruct") != ()
    parser = auto.parser(SPECS)
    assert closed(parse(parser, ['<tool_call>{"name": "look", "arguments": {"q": "x"}}</tool_call>']))
    parser = auto.parser(SPECS)
    events = [*parser.feed(CallDelta(0, "w", "look", '{"q": "x"}')), *parser.close("tools")]
    assert closed(events)[0].wire == "w"
    assert dialects.get("auto", model="gpt-4o").formats == ()


def test_native_in_front_writes_natively_and_reads_text_as_well():
    both = dialects.get(["native", "hermes"])
    assert (both.name, both.formats, both.teach(SPECS)) == ("native", ("hermes",), "")
    first = dialects.get(["hermes", "native"])
    assert first.name == "hermes"
    assert first.teach(SPECS)


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_a_text_tells_its_format_or_one_that_reads_the_same(name):
    text = f"Hello.\n{dialects.get(name).write(CALL)}"
    text = text.removeprefix("Hello.\n") if name in ("llama3_json", "xlam") else text
    seen = dialects.seen(text, SPECS)
    assert seen
    assert closed(parse(dialects.get(seen).parser(SPECS), [text]))[0].args == {"q": "x"}


def test_prose_is_no_format():
    assert dialects.seen("Use <b>this</b> [1] and {that}.", SPECS) == ""


@ss.tool(read_only=True)
async def look(q: str) -> str:
    """Look it up."""
    return f"found {q}"


class Signing:
    """A model that writes what its system text has taught it, or what the page it read says."""

    def __init__(self, *, signs):
        self.signs, self.systems = signs, []

    async def stream(self, request):
        self.systems.append(ss.dialects.get("tinyrag").name and request)
        if len(self.systems) == 1:
            call = ToolCall("1", "look", {"q": "x"}, "")
            yield TextDelta(request.dialect.write(call) if self.signs else dialects.get("tinyrag").write(call))
        else:
            yield TextDelta("done")
        yield Stop("end")


@pytest.mark.parametrize(("signs", "calls"), [(True, 1), (False, 0)])
async def test_an_engine_with_a_nonce_runs_only_what_carries_it(signs, calls):
    engine = ss.Engine(Signing(signs=signs), [look], dialect="tinyrag", nonce=True)
    async with engine.run("hi") as run:
        events = [event async for event in run]
    assert sum(isinstance(event, ss.ToolFinished) for event in events) == calls


async def test_a_session_keeps_its_nonce_and_another_has_its_own():
    model = Signing(signs=True)
    engine = ss.Engine(model, [look], dialect="tinyrag", nonce=True)
    for name in ("anna", "anna", "ben"):
        async with engine.session(name) as chat:
            await chat.ask("hi")
    written = [request.dialect.write(CALL) for request in model.systems]
    assert written[0] == written[1] == written[2] != written[3]


def test_a_block_in_inline_code_is_told_of_as_quoted():
    events = parse(dialects.get("hermes").parser(SPECS), ['`<tool_call>{"name": "look"}</tool_call>` shows it'])
    assert [event.why for event in events if isinstance(event, CallRejected)] == ["quoted"]
    assert not closed(events)


@pytest.mark.parametrize(("allows", "status"), [(None, "refused"), (False, "refused"), (True, "ok")])
async def test_an_echo_is_refused_or_asked_about(allows, status):
    block = dialects.get("hermes").write(CALL)
    asked = []

    async def ask(call):
        asked.append(call.name)
        return allows

    model = Script([block], ["done"])
    engine = ss.Engine(model, [look], dialect="hermes", echo=None if allows is None else ask)
    async with engine.run(f"What does {block} do?") as run:
        events = [event async for event in run]
    (result,) = [event.result for event in events if isinstance(event, ss.ToolFinished)]
    assert result.status == status
    assert asked == ([] if allows is None else ["look"])


def test_the_text_of_what_broke_off_can_be_hidden():
    text = 'Hi <tool_call>{"name": "look", "argu'
    events = parse(dialects.get("hermes").parser(SPECS, truncated="hide"), [text], "length")
    assert "".join(event.text for event in events if isinstance(event, Text)) == "Hi "
    assert [(event.raw, event.why) for event in events if isinstance(event, CallRejected)] == [("", "truncated")]
