"""Runs from outside: hooks, tools of every kind, the river, ways out, sessions, and the short ways."""

import asyncio
import threading
import time

import pytest

import sidestream as ss
from sidestream.dialects.render import rendered
from sidestream.journal import MemoryJournal
from sidestream.providers.script import Script
from sidestream.testing import laws
from sidestream.testing.clock import run as play

C = ss.CallDelta


@ss.tool
async def echo(text: str = "") -> str:
    return text


def call(name="echo", slot=0, args="{}"):
    return C(slot, f"w{slot}", name, args, True)


def perform(script, tools=(echo,), act=None, **options):
    async def main():
        async with ss.Engine(script, tools, **options).run("go") as run:
            await (act(run) if act else run.result())
        return run

    run = play(main(), abandoned=3)
    laws.every_call_is_answered_once(run.events)
    laws.replay_is_truth(run)
    return run


def result(run, index=0):
    return [event.result for _, _, event in run.events if isinstance(event, ss.ToolFinished)][index]


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "The tool cancelled itself."),
        (ss.Retry("name a city"), "name a city"),
    ],
)
@pytest.mark.parametrize("blocking", [False, True])
def test_whatever_a_tool_raises_is_its_result(raised, text, blocking):
    def fail() -> str:
        raise raised

    async def fail_async() -> str:
        raise raised

    run = perform(Script([call("fail")], ["x"]), [ss.tool(fail if blocking else fail_async, name="fail")])
    assert result(run).status == "error"
    assert text in result(run).text
    assert run.answer == "x"


def test_a_deadline_holds_against_a_tool_that_ignores_cancellation():
    @ss.tool(timeout=0.05)
    async def stubborn() -> str:
        while True:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                continue

    run = perform(Script([call("stubborn")], ["x"]), [stubborn], limits=ss.Limits(grace=0.2))
    at = next(at for _, at, event in run.events if isinstance(event, ss.ToolFinished))
    assert at == pytest.approx(0.05)
    assert result(run).status == "timeout"
    assert ss.Note("abandoned", {"calls": ["1.1"]}) in [event for _, _, event in run.events]


def test_a_blocking_tool_runs_beside_the_loop_and_may_tell_of_progress():
    seen = []

    @ss.tool
    def work(ctx: ss.Context[dict[str, int]]) -> str:
        ctx.say("half")
        ctx.note("thread", threading.current_thread() is threading.main_thread())
        return str(ctx.deps["n"])

    async def main():
        engine = ss.Engine(Script([call("work")], ["x"]), [work], deps={"n": 7}, watch=[seen.append])
        async with engine.run("go") as run:
            await run.result()
        return run

    run = asyncio.run(main())
    assert [event for _, _, event in run.events if isinstance(event, ss.ToolOutput)] == [ss.ToolOutput("1.1", "half")]
    assert ss.Note("thread", False) in [event for _, _, event in run.events]
    assert result(run).text == "7"
    assert seen == run.events


def test_a_blocking_tool_that_never_ends_does_not_hold_the_run():
    release = threading.Event()

    @ss.tool(timeout=0.02)
    def stuck() -> str:
        release.wait(20)
        return "late"

    async def main():
        async with ss.Engine(Script([call("stuck")], ["x"]), [stuck], limits=ss.Limits(grace=0.05)).run("go") as run:
            await run.result()
        return run

    began = time.monotonic()
    run = asyncio.run(main())
    release.set()
    assert time.monotonic() - began < 5
    assert result(run).status == "timeout"
    assert ss.Note("abandoned", {"calls": ["1.1"]}) in [event for _, _, event in run.events]


def test_yielded_texts_are_progress_and_the_last_value_is_the_result():
    @ss.tool
    async def count():
        yield "one"
        yield "two"
        yield {"n": 2}

    run = perform(Script([call("count")], ["x"]), [count])
    assert [event.text for _, _, event in run.events if isinstance(event, ss.ToolOutput)] == ["one", "two"]
    assert result(run).text == '{"n":2}'


def test_a_long_result_is_bounded_and_clean():
    @ss.tool
    async def much() -> str:
        return "\ud800" + "x" * 1000

    run = perform(Script([call("much")], ["x"]), [much], limits=ss.Limits(result_chars=200))
    assert len(result(run).text) == 200
    assert result(run).text.startswith("\ufffdx")


def test_hooks_may_change_refuse_and_redact():
    async def before(one):
        if one.args.get("text") == "no":
            return "not that"
        return ss.ToolCall(one.id, one.name, {"text": "changed"}, one.raw)

    async def after(one):
        return ss.ToolResult(one.call, one.status, (ss.TextPart(one.text.upper()),))

    script = Script([call(args='{"text": "a"}'), call(slot=1, args='{"text": "no"}')], ["x"])
    run = perform(script, before=before, after=after)
    assert sorted((result(run, n).status, result(run, n).text) for n in (0, 1)) == [
        ("ok", "CHANGED"),
        ("refused", "not that"),
    ]


@pytest.mark.parametrize("where", ["before", "after", "watch", "policy"])
def test_a_hook_that_raises_is_a_bug_and_leaves_the_block_unwrapped(where):
    class HookError(Exception):
        pass

    async def hook(_):
        raise HookError

    def plain(stamped):
        if where == "policy" or isinstance(stamped.event, ss.ToolStarted):
            raise HookError

    options = {"before": hook, "after": hook, "watch": [plain], "policy": plain}
    script = Script([call(), 5, "more"], ["x"])

    async def main():
        async with ss.Engine(script, [echo], **{where: options[where]}).run("go") as run:
            async for _ in run:
                pass

    with pytest.raises(HookError):
        play(main())
    assert script.open == 0


def test_a_stalled_reader_slows_the_model_and_no_tool():
    done = []

    @ss.tool
    async def talk(ctx: ss.Context[None]) -> str:
        for _ in range(50):
            ctx.say("x" * 100)
            await asyncio.sleep(0.01)
        done.append(asyncio.get_running_loop().time())
        return "said"

    script = Script([call("talk"), *["y" * 50] * 100, 0.1, "end"], ["z"])

    async def stall(run):
        await asyncio.sleep(60)
        assert done == [pytest.approx(0.5)]
        assert script.open == 1, "the model waits"
        async for _ in run:
            pass

    limits = ss.Limits(river_chars=1000, progress_chars=300)
    run = perform(script, [talk], stall, limits=limits)
    progress = [event.text for _, _, event in run.events if isinstance(event, ss.ToolOutput)]
    assert max(map(len, progress)) == 300, "past the mark, progress is merged and capped"
    assert result(run).status == "ok", "the wait counts against no deadline"
    assert run.text.count("y") == 5000


def test_leaving_with_the_river_full_does_not_wait_for_a_reader():
    script = Script(["y" * 500] * 50)

    async def leave(run):
        await asyncio.sleep(1)

    run = perform(script, act=leave, limits=ss.Limits(river_chars=100))
    assert run.reason == "cancelled"
    assert script.open == 0


def test_what_the_body_raises_leaves_unwrapped():
    async def main():
        async with ss.Engine(Script(["a", 9, "b"])).run("go"):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        play(main())


def test_a_cancelled_task_leaves_nothing_and_is_cancelled():
    async def main():
        async def inner():
            async with ss.Engine(script, [echo]).run("go") as run:
                runs.append(run)
                async for _ in run:
                    pass

        task = asyncio.create_task(inner())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()

    script, runs = Script(["a", 9, "b"]), []
    play(main())
    assert runs[0].reason == "cancelled"
    assert script.open == 0


def test_a_run_cancelled_before_it_began_still_has_a_beginning_and_an_end():
    async def main():
        run = ss.Engine(Script(["a"])).run("go")
        async with run:
            run.cancel()
            run.cancel()
        return run

    run = play(main())
    assert [type(event).__name__ for _, _, event in run.events] == ["RunStarted", "RunFinished"]


def test_misuse_is_said_at_once():
    engine = ss.Engine(Script(["a"]))

    async def unentered():
        await engine.run("go").result()

    async def twice():
        async with engine.run("go") as run, run:
            pass

    async def late():
        async with engine.run("go") as run:
            await run.result()
            run.send("more")

    for main, words in [(unentered, "enter the run"), (twice, "entered once"), (late, "has ended")]:
        with pytest.raises(ss.UsageError, match=words):
            play(main())
    with pytest.raises(ss.UsageError, match="Messages"):
        engine.run([{"role": "user"}])
    with pytest.raises(ss.UsageError, match="two tools are named 'echo'"):
        ss.Engine(Script(), [echo, echo])


def test_a_second_prompt_really_holds_the_first_turn():
    script = Script(["A1"], ["A2"], ["B1"])
    engine = ss.Engine(script)

    async def main():
        async with engine.session("anna") as chat:
            await chat.ask("Q1")
            await chat.ask("Q2")
            with pytest.raises(ss.UsageError, match="live run"):
                async with chat.run("Q3"):
                    chat.run("Q4")
        return chat.messages

    messages = play(main())
    assert [message.text for message in script.requests[1].messages] == ["Q1", "A1", "Q2"]
    assert [message.text for message in messages[:5]] == ["Q1", "A1", "Q2", "A2", "Q3"]
    engine.forget("anna")


def test_with_a_journal_a_session_goes_on_in_another_engine():
    journal = MemoryJournal()

    async def main():
        async with ss.Engine(Script([call()], ["A1"]), [echo], journal=journal).session("anna") as chat:
            await chat.ask("Q1")
        script = Script(["A2"])
        async with ss.Engine(script, journal=journal).session("anna") as chat:
            await chat.ask("Q2")
        return script.requests[0].messages, chat.messages

    sent, messages = play(main())
    assert [message.role for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[-1].text == "A2"


def test_a_tool_with_effects_starts_only_when_its_intent_is_safe():
    order = []

    class Slow(MemoryJournal):
        async def barrier(self, run):
            await asyncio.sleep(1)
            order.append("safe")

    @ss.tool
    async def effect() -> str:
        order.append("effect")
        return ""

    @ss.tool(read_only=True)
    async def look() -> str:
        order.append("look")
        return ""

    perform(Script([call("effect"), call("look", 1)], ["x"]), [effect, look], journal=Slow())
    assert order == ["look", "safe", "effect"]


def test_the_memory_journal_keeps_the_law():
    def make(seq):
        return ss.Stamped(
            seq, seq / 10, [ss.RunStarted("a", "s", "", ()), ss.Text("x"), ss.RunFinished("done", ss.Usage())][seq - 1]
        )

    play(laws.journal_keeps(MemoryJournal(), make))


def test_ask_gives_the_last_answer_or_says_why_there_is_none():
    assert play(ss.Engine(Script(["a", call()], ["b"]), [echo]).ask("go")) == "b"
    assert ss.Engine(Script(["a"])).run_sync("go") == "a"
    with pytest.raises(ss.RunError, match="went dead") as caught:
        play(ss.Engine(Script(["half", ss.ProviderError("it went dead")])).ask("go"))
    assert (caught.value.reason, caught.value.text) == ("provider", "half")

    async def inside():
        ss.Engine(Script(["a"])).run_sync("go")

    with pytest.raises(ss.UsageError, match=r"await engine\.ask"):
        asyncio.run(inside())


@pytest.mark.parametrize("response", [[], [ss.Stop("end")], [ss.ThinkDelta("")]])
def test_an_empty_response_is_an_empty_answer(response):
    run = perform(Script(response))
    assert (run.reason, run.text, run.answer) == ("done", "", "")


def test_a_source_that_fails_costs_only_its_own_tools():
    class Good:
        async def __aenter__(self):
            return [echo]

        async def __aexit__(self, *exc):
            closed.append("good")

    class Bad:
        async def __aenter__(self):
            raise OSError("no server")

        async def __aexit__(self, *exc):
            closed.append("bad")

    closed = []
    run = perform(Script([call()], ["x"]), [Bad(), Good()])
    assert result(run).status == "ok"
    assert closed == ["good"]
    assert "source_failed" in [event.name for _, _, event in run.events if isinstance(event, ss.Note)]


def test_a_model_that_repeats_what_cannot_be_read_is_not_asked_for_ever():
    broken = [C(0, "x", "echo", '{"text": ', True)]
    script = Script(*[broken] * 9, ["x"])
    run = perform(script, limits=ss.Limits(rounds=8))
    assert len(script.requests) == 3
    assert run.reason == "rounds"


class HookError(Exception):
    """What a hook of the application raises in these tests."""


@pytest.mark.parametrize(
    "kind", [ss.Text, ss.CallClosed, ss.ToolStarted, ss.ToolOutput, ss.Note, ss.ToolFinished, ss.RoundFinished]
)
@pytest.mark.parametrize("how", ["watch", "journal"])
def test_what_a_watch_or_a_journal_raises_is_never_swallowed(kind, how):
    def fail(stamped):
        if isinstance(stamped.event, kind):
            raise HookError

    class Full(MemoryJournal):
        def append(self, run, events):
            fail(events[0])

    @ss.tool(read_only=True)
    async def talk(ctx: ss.Context[None]) -> str:
        ctx.say("half")
        ctx.note("n", 1)
        return "x"

    options = {"watch": [fail]} if how == "watch" else {"journal": Full()}
    script = Script(["a", call("talk"), 1], ["x"])
    runs = []

    async def main():
        async with ss.Engine(script, [talk], **options).run("go") as run:
            runs.append(run)
            await run.result()

    with pytest.raises(HookError):
        play(main())
    assert script.open == 0
    assert any(isinstance(event, kind) for _, _, event in runs[0].events)
    assert "HookError" in runs[0].error or kind is ss.RoundFinished


@pytest.mark.parametrize("hook", ["before", "after"])
def test_a_hook_that_forgets_to_return_is_a_usage_error_and_the_call_is_answered(hook):
    async def forgetful(_):
        return None

    runs = []

    async def main():
        async with ss.Engine(Script([call()], ["x"]), [echo], **{hook: forgetful}).run("go") as run:
            runs.append(run)
            await run.result()

    with pytest.raises(ss.UsageError, match="must return"):
        play(main())
    laws.every_call_is_answered_once(runs[0].events)


def test_a_policy_that_raises_leaves_no_call_unanswered():
    def policy(_):
        raise HookError

    runs = []

    async def main():
        async with ss.Engine(Script([call()], ["x"]), [echo], policy=policy).run("go") as run:
            runs.append(run)
            await run.result()

    with pytest.raises(HookError):
        play(main())
    laws.every_call_is_answered_once(runs[0].events)


class Stalls:
    """A source, a provider or a journal that does not come back."""

    def __init__(self, where):
        self.where = where

    async def __aenter__(self):
        if self.where == "enter":
            await asyncio.sleep(1e6)
        return [] if self.where in ("enter", "exit") else self

    async def __aexit__(self, *exc):
        if self.where in ("exit", "provider"):
            await asyncio.sleep(1e6)

    async def stream(self, request):
        yield ss.TextDelta("a")
        yield ss.Stop("end")


@pytest.mark.parametrize("where", ["enter", "exit", "provider", "journal"])
def test_leaving_never_waits_for_ever(where):
    class Stalled(MemoryJournal):
        async def runs(self, session=None, open=False):
            await asyncio.sleep(1e6)

    async def main():
        stalls = Stalls(where)
        model = stalls if where == "provider" else Script(["a"])
        tools = [stalls] if where in ("enter", "exit") else []
        engine = ss.Engine(model, tools, journal=Stalled() if where == "journal" else None)
        async with engine.run("go", session="s" if where == "journal" else "") as run:
            await asyncio.sleep(1)
        return run, asyncio.get_running_loop().time()

    run, at = play(main())
    assert at < 10
    laws.every_call_is_answered_once(run.events)
    assert run.reason in ("done", "cancelled")


def test_nothing_is_told_after_the_end():
    late = []

    @ss.tool(timeout=0.1)
    async def stubborn(ctx: ss.Context[None]) -> str:
        for _ in range(3):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                pass
            ctx.note("late", 1)
            ctx.say("late")
            late.append(1)
        return ""

    async def main():
        async with ss.Engine(Script([call("stubborn")], ["x"]), [stubborn], limits=ss.Limits(grace=0)).run("go") as run:
            await run.result()
        await asyncio.sleep(10)
        return run

    run = play(main())
    assert len(late) == 3
    laws.every_call_is_answered_once(run.events)


@pytest.mark.parametrize("now", [False, True])
def test_what_comes_too_late_to_be_heard_is_said_to_be(now):
    class Slow:
        async def __aenter__(self):
            return []

        async def __aexit__(self, *exc):
            await asyncio.sleep(1)

    async def main():
        async with ss.Engine(Script(["a"]), [Slow()]).run("go") as run:
            await asyncio.sleep(0.5)
            with pytest.raises(ss.UsageError, match="has ended"):
                run.send("more", now=now)

    play(main())


def test_a_prompt_said_now_as_a_round_ends_does_not_cut_the_next_one():
    def hear(stamped):
        if isinstance(stamped.event, ss.RoundFinished) and stamped.event.number == 1:
            runs[0].send("more", now=True)

    runs = []

    async def main():
        async with ss.Engine(Script(["one"], ["t", 0.1, "wo"]), watch=[hear]).run("go") as run:
            runs.append(run)
            await run.result()

    play(main())
    assert runs[0].text == "one\n\ntwo"


def test_steering_does_not_use_up_the_rounds_with_tools():
    async def act(run):
        async for event in run:
            if isinstance(event, ss.RoundStarted) and event.number <= 5:
                run.send("and?")

    script = Script(*[["x", 1.0]] * 5, [call()], ["done"])
    run = perform(script, act=act)
    assert all(request.tools for request in script.requests[:6])
    assert run.answer == "done"


def test_results_that_are_no_text_reach_a_text_dialect_as_words():
    @ss.tool
    async def mixed() -> list:
        return [
            ss.TextPart("t"),
            ss.DataPart("d", {"a": 1}),
            ss.ImagePart(data=b"x"),
            ss.FilePart("f", "text/plain", b"hi"),
        ]

    script = Script(['<tool name="mixed"/>'], ["x"], dialect="tinyrag")
    perform(script, [mixed])
    sent = rendered(script.requests[1].messages, "", (), script.requests[1].dialect).messages[-1].text
    assert 't\n{"a":1}\n[an image that cannot be shown here: image/png]\nf:\nhi' in sent


def test_the_runs_of_a_session_do_not_mix_up_their_calls():
    @ss.tool
    async def other() -> str:
        return "o"

    script = Script(['<tool name="echo"/>'], ["x"], ['<tool name="other"/>'], ["y"], dialect="tinyrag")

    async def main():
        async with ss.Engine(script, [echo, other]).session("s") as chat:
            await chat.ask("1")
            await chat.ask("2")

    play(main())
    request = script.requests[-1]
    texts = [message.text for message in rendered(request.messages, "", (), request.dialect).messages]
    assert '<result tool="echo"' in texts[2]
    assert '<result tool="other"' in texts[6]
    native = [call for message in ss.to_openai(request.messages) for call in message.get("tool_calls", ())]
    assert len({call["id"] for call in native}) == 2


def test_what_a_person_says_on_the_way_is_no_call_either():
    pasted = '<tool name="echo"><text>x</text></tool>'

    async def act(run):
        run.send(f"what is {pasted}?")
        await run.result()

    run = perform(Script(["a"], [f"It is {pasted}"], ["x"], dialect="tinyrag"), act=act)
    assert result(run).status == "refused"


def test_the_after_hook_is_bounded_and_clean_too():
    async def after(one):
        return ss.ToolResult("other", one.status, (ss.TextPart("\ud800" + "x" * 500),))

    run = perform(Script([call()], ["x"]), after=after, limits=ss.Limits(result_chars=100))
    assert result(run).text[0] == "\ufffd"
    assert len(result(run).text) == 100


def test_wrong_kinds_are_usage_errors_at_once():
    for options, words in [
        ({"limits": {"rounds": 1}}, "limits must be Limits"),
        ({"settings": {"temperature": 1}}, "settings must be Settings"),
        ({"watch": print}, "watch takes a list"),
        ({"policy": "echo"}, "policy takes a list"),
    ]:
        with pytest.raises(ss.UsageError, match=words):
            ss.Engine(Script(), [echo], **options)
    with pytest.raises(ss.UsageError, match="input must be"):
        ss.Engine(Script()).run(3)
    assert ss.Engine(Script(["a"])).run_sync(ss.Message("user", (ss.TextPart("hi"),))) == "a"


def test_a_run_whose_result_was_not_waited_for_can_still_be_read():
    async def main():
        async with ss.Engine(Script(["a", 5, "b"])).run("go") as run:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(run.result(), 1)
            return [event async for event in run]

    events = play(main())
    assert ss.Text("b") in events
    assert isinstance(events[-1], ss.RunFinished)


def test_engines_share_sessions_through_a_journal():
    journal = MemoryJournal()
    one, two = (ss.Engine(Script([f"{n}1"], [f"{n}2"]), journal=journal) for n in "AB")

    async def main():
        await one.ask("q1", session="s")
        await two.ask("q2", session="s")
        await one.ask("q3", session="s")

    play(main())
    assert [message.text for message in one.session("s").messages] == ["q1", "A1", "q2", "B1", "q3", "A2"]


def test_an_engine_may_be_entered_twice():
    entered = []

    class Model(Stalls):
        async def __aenter__(self):
            entered.append(1)
            return self

        async def __aexit__(self, *exc):
            entered.pop()

    async def main():
        engine = ss.Engine(Model(""))
        async with engine:
            async with engine:
                assert len(entered) == 2
            assert len(entered) == 1
            assert await engine.ask("go") == "a"
        assert not entered

    play(main())


def test_a_tool_or_a_hook_cannot_rewrite_what_the_model_asked_for():
    def grow(items: list[int]) -> str:
        items.append(9)
        return ""

    async def before(one):
        one.args["items"].append(8)
        return one

    schema = {"properties": {"items": {"type": "array"}}}
    tool = ss.Tool.from_schema("grow", "", schema, grow)
    run = perform(Script([call("grow", args='{"items": [1]}')], ["x"]), [tool], before=before)
    assert run.messages[1].calls[0].args == {"items": [1]}


def test_lone_surrogates_come_in_by_no_door():
    async def before(_):
        return "no\ud800"

    def policy(one):
        return "not\ud800" if one.args.get("text") else None

    async def act(run):
        run.send("more\ud800")
        await run.result()

    script = Script([call(), call(slot=1, args='{"text": "a"}')], ["x"], ["y"])
    run = perform(script, act=act, before=before, policy=policy)
    assert "\ud800" not in repr(run.messages)
    assert {result(run, n).text for n in (0, 1)} == {"no\ufffd", "not\ufffd"}
    assert ss.Engine(Script(["a"])).run_sync("a\ud800") == "a"


class Own:
    """A tool of somebody's own, which gives back what it was made with."""

    def __init__(self, value):
        self.value = value
        self.spec, self.traits = ss.ToolSpec("own", "", {}), echo.traits

    async def __call__(self, one, ctx):
        ctx.note("mine", self.value)
        return self.value


@pytest.mark.parametrize(
    "value",
    [
        ss.ToolResult("x", "weird", ()),
        ss.ToolResult("x", "ok", ("bare",)),
        ss.ToolResult("x", "ok", "text"),
        ss.ToolResult("x", "ok", (ss.DataPart("d", {1, 2}), ss.TextPart("\ud800"))),
        object(),
        float("nan"),
        b"\xff",
        None,
    ],
)
def test_whatever_a_tool_of_ones_own_gives_the_result_can_be_written_down(value):
    run = perform(Script([call("own")], ["x"]), [Own(value)])
    assert result(run).call == "1.1"
    assert run.answer == "x"


def test_data_is_bounded_like_text():
    run = perform(
        Script([call("own")], ["x"]), [Own(ss.DataPart("d", "x" * 100_000))], limits=ss.Limits(result_chars=500)
    )
    assert len(result(run).text) == 500


@pytest.mark.parametrize("how", ["slow", "deaf"])
def test_a_provider_that_will_not_close_does_not_hold_the_run(how):
    class Model:
        async def stream(self, request):
            try:
                yield ss.TextDelta("a")
                for _ in range(3):
                    try:
                        await asyncio.sleep(1e4)
                    except asyncio.CancelledError:
                        if how == "slow":
                            raise
            finally:
                await asyncio.sleep(1e5)

    async def main():
        async with ss.Engine(Model()).run("go") as run:
            await asyncio.sleep(1)
        return run, asyncio.get_running_loop().time()

    run, at = play(main())
    assert at < 40
    assert run.reason == "cancelled"
    laws.every_call_is_answered_once(run.events)


def test_a_plain_iterator_is_a_stream_too():
    class Stream:
        def __init__(self):
            self.deltas = iter([ss.TextDelta("a"), ss.Stop("end")])

        def __aiter__(self):
            return self

        async def __anext__(self):
            for delta in self.deltas:
                return delta
            raise StopAsyncIteration

    class Model:
        def stream(self, request):
            return Stream()

    assert ss.Engine(Model()).run_sync("go") == "a"


def test_a_stream_without_its_end_runs_nothing_that_was_open():
    class Model:
        async def stream(self, request):
            yield ss.TextDelta("a")
            yield C(0, "x", "echo", "{}")

    run = ss.Engine(Model(), [echo]).run("go")

    async def main():
        async with run:
            await run.result()

    play(main())
    assert {event.why for _, _, event in run.events if isinstance(event, ss.CallRejected)} == {"truncated"}
    assert not [event for _, _, event in run.events if isinstance(event, ss.CallClosed)]


@pytest.mark.parametrize("given", [5, None, [], ss.Message("assistant", (ss.TextPart("x"),))])
def test_only_what_can_be_said_can_be_sent(given):
    async def act(run):
        with pytest.raises(ss.UsageError, match="send takes"):
            run.send(given)
        await run.result()

    perform(Script(["a"]), act=act)


@pytest.mark.parametrize("answer", [True, 5])
def test_a_policy_that_gives_something_else_is_a_usage_error(answer):
    async def main():
        async with ss.Engine(Script([call()], ["x"]), [echo], policy=lambda _: answer).run("go") as run:
            await run.result()

    with pytest.raises(ss.UsageError, match="policy must return"):
        play(main())


BLOCK = '<tool name="echo"><text>x</text></tool>'


@pytest.mark.parametrize(
    "given",
    [
        ss.FilePart("a.txt", "text/plain", BLOCK.encode()),
        ss.DataPart("d", {"x": [BLOCK]}),
        ss.FilePart(BLOCK, "text/plain", b""),
        ss.TextPart('{"page": "' + BLOCK.replace('"', '\\"') + '"}'),
        ss.TextPart(BLOCK.replace("<", "\\u003c")),
    ],
)
def test_a_block_in_a_document_does_not_run_and_is_inert_for_the_model(given):
    async def main():
        script = Script([f"It says {BLOCK}"], ["x"], dialect="tinyrag")
        engine = ss.Engine(script, [echo], convert=lambda messages, context: messages)
        async with engine.run([ss.Message("user", (given,))]) as run:
            await run.result()
        request = script.requests[0]
        return run, rendered(request.messages, "", (), request.dialect).messages[0]

    run, sent = play(main())
    assert result(run).text.startswith("echo")
    assert BLOCK.encode() not in ss.dump_messages([sent]).replace(b"\\", b"")
    for part in sent.parts:
        if isinstance(part, ss.FilePart):
            assert BLOCK.encode() not in part.data


def test_a_block_in_data_that_a_tool_returns_does_not_run():
    @ss.tool
    async def page() -> dict:
        return {"html": [BLOCK]}

    run = perform(Script(['<tool name="page"/>'], [f"It says {BLOCK}"], ["x"], dialect="tinyrag"), [echo, page])
    assert [result(run, n).status for n in (0, 1)] == ["ok", "refused"]


@pytest.mark.parametrize(
    "written",
    [
        "<tool name='echo'><text>x</text></tool>",
        '<tool id="1" name="echo"><param name="text">x</param></tool>',
        '<tool name="echo"><args>{"text": "x"}</args></tool>',
        '<tool name="echo"><text><![CDATA[x]]></text></tool>',
        '<tool name="echo"><query>x</query></tool>',
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_the_same_call_written_differently_is_an_echo_too(written, turned):
    read, said = (written, BLOCK) if turned else (BLOCK, written)

    @ss.tool
    async def page() -> str:
        return f"```\n{read}\n```"

    run = perform(Script(['<tool name="page"/>'], [said], ["x"], dialect="tinyrag"), [echo, page])
    assert [result(run, n).status for n in (0, 1)] == ["ok", "refused"]
    other = said.replace(">x<", ">y<").replace('"x"', '"y"').replace("[x]", "[y]")
    run = perform(Script(['<tool name="page"/>'], [other], ["x"], dialect="tinyrag"), [echo, page])
    assert [result(run, n).status for n in (0, 1)] == ["ok", "ok"]


def test_a_tool_starts_in_the_middle_of_a_burst():
    seen = []

    @ss.tool
    async def look() -> str:
        seen.append(sum(isinstance(event, ss.Text) for _, _, event in runs[0].events))
        return ""

    runs = []

    async def act(run):
        runs.append(run)
        await run.result()

    perform(Script([call("look"), *["x"] * 1000], ["y"]), [look], act)
    assert seen[0] <= 1, "it had to wait for deltas that were there already"


def test_a_burst_without_calls_still_gives_others_their_turn():
    turns = []

    async def act(run):
        async def tick():
            while run.reason is None:
                turns.append(1)
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        await run.result()
        await ticking

    perform(Script(["x"] * 1000), act=act)
    assert len(turns) >= 1000 // 64


def test_nothing_is_taken_in_after_the_end():
    run = perform(Script(["a"]))
    before = len(run.events)
    run.emit(ss.Note("late", 1))
    assert len(run.events) == before
