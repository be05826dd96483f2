"""What we give to those who build on us: the laws can fail, real models can be blocked, fixtures work."""

import pytest

import sidestream as ss
from sidestream import dialects
from sidestream.providers.openai import OpenAI
from sidestream.providers.provider import Request
from sidestream.testing import Script, block_real_models, laws, run, virtual_loop

pytest_plugins = ["pytester"]


class Loses:
    """A parser that breaks one law at a time."""

    def __init__(self, how):
        self.how, self.held = how, ""

    def feed(self, text):
        if self.how == "loses":
            return [ss.Text(text[:-1])]
        if self.how == "chunks":
            return [ss.Text(text), ss.Hidden("")]
        if self.how == "waits":
            self.held += text
            return []
        self.held += text
        for _ in self.held:
            pass
        return [ss.Text(text)]

    def close(self, stop="end"):
        return [ss.Text(self.held)] if self.how == "waits" else []


def test_the_laws_of_parsers_can_fail():
    with pytest.raises(AssertionError, match="fed"):
        laws.nothing_is_lost(lambda: Loses("loses"), ["abc"])
    with pytest.raises(AssertionError, match="cut as"):
        laws.chunks_do_not_matter(lambda: Loses("chunks"), "ab", [["a", "b"]])
    with pytest.raises(AssertionError, match="held back"):
        laws.nothing_waits_in_vain(lambda: Loses("waits"), "abc", ["<x"], 2)
    with pytest.raises(AssertionError, match="lines"):
        laws.cost_is_linear(lambda: Loses("slow"), lambda size: "x" * size)


def test_the_law_of_writers_and_of_inert_text_can_fail():
    class Other(type(dialects.get("tinyrag"))):
        def write(self, call):
            return f"[{call.name}]"

    language = Other(dialects.get("tinyrag")._formats, {})
    with pytest.raises(AssertionError, match="reads as"):
        laws.writes_what_it_reads(language, ss.ToolCall("1", "a", {}, ""), [])
    language.markers = ()
    with pytest.raises(AssertionError, match="opened"):
        laws.untrusted_text_is_inert(language, '<tool name="a"/>', [])


@pytest.mark.parametrize("change", ["order", "twice", "unanswered", "early", "no end"])
def test_the_law_of_answers_can_fail(change):
    call = ss.ToolCall("1.1", "a", {}, "")
    events = [
        ss.RunStarted("r", "", "", ()),
        ss.CallClosed(call),
        ss.ToolStarted("1.1"),
        ss.ToolFinished(ss.ToolResult("1.1", "ok")),
        ss.RunFinished("done", ss.Usage()),
    ]
    match change:
        case "order":
            events[1], events[2] = events[2], events[1]
        case "twice":
            events.insert(4, events[3])
        case "unanswered":
            del events[2:4]
        case "early":
            del events[1]
        case "no end":
            events.pop()
    with pytest.raises(AssertionError):
        laws.every_call_is_answered_once([ss.Stamped(seq, 0.0, event) for seq, event in enumerate(events, 1)])


def test_the_scripted_model_keeps_the_law_of_providers():
    request = Request((), dialects.get("native"))
    run(laws.provider_streams(Script(["a"], ["b"]), request))
    with pytest.raises(AssertionError, match="one Stop"):
        run(laws.provider_streams(Script(["a", ss.Stop("end"), "b", ss.Stop("end")], ["b"]), request))


def test_a_real_model_cannot_be_asked_where_it_is_blocked():
    engine = ss.Engine(OpenAI("m", base_url="http://127.0.0.1:9/v1", api_key="x"))
    with block_real_models(), pytest.raises(ss.UsageError, match="real models are blocked"):
        engine.run_sync("go")
    with pytest.raises(ss.RunError):
        engine.run_sync("go")


def test_a_task_left_behind_is_found():
    import asyncio

    with pytest.raises(AssertionError, match="left behind"), virtual_loop() as loop:
        loop.run_until_complete(_leave(asyncio))


async def _leave(asyncio):
    asyncio.get_running_loop().leftover = asyncio.create_task(asyncio.sleep(9))


def test_the_fixtures_work(pytester):
    pytester.makeconftest('pytest_plugins = ["sidestream.testing.plugin"]')
    pytester.makepyfile(
        """
        import asyncio
        import pytest
        import sidestream as ss

        def test_scripted(scripted, virtual_time):
            model = scripted(["a", 1000.0, "b"])
            assert virtual_time(ss.Engine(model).ask("go")) == "ab"
            assert model.requests[0].messages[0].text == "go"

        def test_blocked():
            with pytest.raises(ss.UsageError):
                ss.Engine("http://127.0.0.1:9/v1#m").run_sync("go")

        @pytest.mark.real_model
        def test_allowed():
            with pytest.raises(ss.RunError):
                ss.Engine("http://127.0.0.1:9/v1#m").run_sync("go")
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_tools_never_hold_up_the_stream():
    def make(model, tool):
        return ss.Engine(model, [tool], limits=ss.Limits(tool_timeout=5)).run("go")

    run(laws.tools_never_hold_up_the_stream(make))

    def hasty(model, tool):
        slow = Script([ss.CallDelta(0, "a", "never", "{}", True), 9.0, "late"], ["x"])
        return make(slow, tool)

    with pytest.raises(AssertionError, match="only this was said"):
        run(laws.tools_never_hold_up_the_stream(hasty))


def test_nothing_is_left_behind_by_a_run_that_is_left():
    import asyncio

    async def left():
        with pytest.raises(LookupError):
            async with ss.Engine(Script(["a", 9, "b"])).run("go"):
                raise LookupError

    async def leaky():
        leaky.task = asyncio.create_task(asyncio.sleep(9))

    async def main():
        await laws.nothing_is_left_behind(left)
        with pytest.raises(AssertionError, match="left behind"):
            await laws.nothing_is_left_behind(leaky)
        leaky.task.cancel()

    run(main())
