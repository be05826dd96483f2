"""Asking again, and asking somebody else: whole runs on scripted models and a virtual clock."""

import asyncio
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidestream as ss
from sidestream.errors import FirstTokenTimeoutError, ProviderError, UsageError
from sidestream.providers import falling_back, retrying
from sidestream.providers.health import Health
from sidestream.providers.script import Script, recording
from sidestream.testing.clock import run as play

BUSY = ProviderError("busy", status=503, retryable=True)
DENIED = ProviderError("no such key", status=401)
CALL = ss.CallDelta(0, "c1", "now", "{}", done=True)


def even() -> float:
    return 0.5  # no jitter


@ss.tool
async def now() -> str:
    """The time."""
    return "noon"


async def heard(model, prompt="?", **options):
    engine = ss.Engine(model, [now], **options)
    async with engine.run(prompt) as run:
        await run.result()
    return run


def kinds(run, *wanted):
    return [stamped.event for stamped in run.events if isinstance(stamped.event, wanted)]


def delays(run):
    return [event.delay for event in kinds(run, ss.Retrying)]


# ---- asking again


def test_it_asks_again_until_the_model_begins_and_tells_each_wait():
    script = Script([BUSY], [BUSY], ["Hello."])
    run = play(heard(retrying(script, rng=even)))
    assert run.answer == "Hello."
    assert run.reason == "done"
    assert len(script.requests) == 3
    assert kinds(run, ss.Retrying) == [ss.Retrying(1, 1.0, "busy"), ss.Retrying(2, 2.0, "busy")]
    first = next(at for _, at, event in run.events if isinstance(event, ss.Text))
    assert first == pytest.approx(3.0)
    assert [type(event).__name__ for _, _, event in run.events] == [
        "RunStarted", "RoundStarted", "Retrying", "Retrying", "ModelChosen", "Text", "RoundFinished", "RunFinished",
    ]  # fmt: skip
    assert script.open == 0


def test_after_the_last_retry_the_error_is_the_runs():
    script = Script(*[[BUSY]] * 9)
    run = play(heard(retrying(script, rng=even)))
    assert (run.reason, run.error, len(script.requests)) == ("provider", "busy", 4)
    assert delays(run) == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_asked_again(status):
    from sidestream.providers.failure import may_pass

    error = ProviderError("too many tokens per minute", status=status, retryable=may_pass(status))
    run = play(heard(retrying(Script([error], ["ok"]), rng=even)))
    assert run.answer == "ok"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_will_not_pass_is_not(status):
    from sidestream.providers.failure import may_pass

    script = Script([ProviderError("no", status=status, retryable=may_pass(status))], ["ok"])
    run = play(heard(retrying(script)))
    assert (run.reason, len(script.requests), delays(run)) == ("provider", 1, [])


def test_after_the_first_delta_nothing_is_asked_again():
    script = Script(["Half", BUSY], ["Whole"])
    run = play(heard(retrying(script)))
    assert (run.text, run.reason, len(script.requests)) == ("Half", "provider", 1)


def test_a_role_without_words_is_no_beginning():
    script = Script([ss.TextDelta(""), BUSY], ["Whole"])
    run = play(heard(retrying(script, rng=even)))
    assert (run.text, delays(run)) == ("Whole", [1.0])


def test_retry_after_counts_up_to_its_cap():
    first = ProviderError("slow down", status=429, retryable=True, retry_after=7.5)
    second = ProviderError("slow down", status=429, retryable=True, retry_after=3600)
    run = play(heard(retrying(Script([first], [second], ["ok"]), retry_after_cap=45)))
    assert delays(run) == [7.5, 45.0]


@given(rng=st.floats(0, 1), attempts=st.integers(1, 12))
def test_the_wait_is_jittered_inside_the_cap(rng, attempts):
    script = Script(*[[BUSY]] * attempts, ["ok"])
    run = play(heard(retrying(script, retries=attempts, rng=lambda: rng, stock=99, circuit_failures=0)))
    for number, delay in enumerate(delays(run)):
        assert min(0.8 * 2**number, 24) - 1e-3 <= delay <= min(1.2 * 2**number, 30) + 1e-3


def test_cancelling_in_a_back_off_is_immediate():
    async def story():
        script = Script(*[[ProviderError("busy", retryable=True, retry_after=50)]] * 3)
        async with ss.Engine(retrying(script)).run("?") as run:
            async for event in run:
                if isinstance(event, ss.Retrying):
                    began = asyncio.get_running_loop().time()
                    run.cancel()
        return run, asyncio.get_running_loop().time() - began

    run, took = play(story())
    assert (run.reason, took) == ("cancelled", 0.0)


def test_an_outage_makes_no_storm():
    """A hundred runs on a model that is down: a fifth of them at most is asked again, beside what was in stock."""
    script = Script(*[[BUSY]] * 1000)

    async def story():
        model = retrying(script, circuit_failures=0)
        runs = await asyncio.gather(*[heard(model) for _ in range(100)])
        return sum(len(delays(run)) for run in runs)

    again = play(story())
    assert again == len(script.requests) - 100
    assert 10 <= again <= 10 + 100 * 0.2


def test_the_circuit_opens_and_one_request_finds_out():
    script = Script(*[[BUSY]] * 10, ["It lives."], ["Again."])

    async def story():
        model = retrying(script, retries=0, circuit_failures=10, circuit_seconds=15)
        for _ in range(10):
            await heard(model)
        refused = await heard(model)
        await asyncio.sleep(15)
        back = await heard(model)
        return refused, back, await heard(model)

    refused, back, after = play(story())
    assert refused.reason == "provider"
    assert "failed 10 times in a row" in refused.error
    assert (back.answer, after.answer, len(script.requests)) == ("It lives.", "Again.", 12)


def test_while_one_finds_out_nobody_else_asks():
    health = Health(budget=0.2, stock=10, failures=1, seconds=5)
    health.failed(BUSY, 0.0)
    with pytest.raises(ProviderError, match=r"not asked for 4 s more"):
        health.admit(1.0, "m")
    health.admit(6.0, "m")
    with pytest.raises(ProviderError):
        health.admit(6.0, "m")
    health.left()  # it was cancelled: somebody else may
    health.admit(6.0, "m")
    health.well()
    health.admit(6.0, "m")


def test_rate_limits_do_not_open_the_circuit():
    health = Health(budget=0.2, stock=10, failures=1, seconds=5)
    health.failed(ProviderError("slow down", status=429, retryable=True), 0.0)
    health.admit(0.0, "m")


def test_wrong_settings_are_refused():
    for wrong in ({"retries": -1}, {"delay": -1}, {"jitter": 1.5}, {"cap": float("nan")}):
        with pytest.raises(UsageError):
            retrying(Script(), **wrong)
    with pytest.raises(UsageError):
        falling_back(Script())
    with pytest.raises(UsageError):
        falling_back(Script(), Script(), first_token_timeout=0)


def test_a_finished_result_is_carried_into_the_retried_round():
    script = Script([CALL], [BUSY], ["It is noon."])
    run = play(heard(retrying(script, rng=even)))
    assert (run.answer, delays(run)) == ("It is noon.", [1.0])
    assert [event.result.text for event in kinds(run, ss.ToolFinished)] == ["noon"]


# ---- asking somebody else


def chosen(run):
    return [event.model for event in kinds(run, ss.ModelChosen)]


SILENT = [ss.TextDelta(""), 1000.0, "too late"]


@pytest.mark.parametrize(
    "first",
    [[DENIED], [BUSY], [], [ss.Stop("end")], [ss.Stop("filter")], [ss.TextDelta(""), ss.TextDelta("")], SILENT],
    ids=["denied", "busy", "empty", "only stop", "filtered", "role only", "silent"],
)
def test_the_next_model_is_asked_when_one_does_not_answer(first):
    a, b = Script(first, name="a"), Script(["Here."], name="b")
    run = play(heard(falling_back(a, b)))
    assert (run.text, run.reason, chosen(run)) == ("Here.", "done", ["b"])
    assert len(kinds(run, ss.Retrying)) == 1
    assert a.open == b.open == 0


def test_the_one_that_answers_is_asked_for_all_rounds_of_the_run():
    a, b = Script([BUSY], ["a"], name="a"), Script([CALL], ["Noon."], ["Again."], name="b")

    async def story():
        model = falling_back(a, b)
        return await heard(model), await heard(model)

    first, second = play(story())
    assert (first.answer, chosen(first), len(b.requests)) == ("Noon.", ["b"], 2)
    assert (second.answer, chosen(second)) == ("a", ["a"])  # another run chooses anew


def test_a_model_that_cannot_be_told_is_passed_over():
    a, b = Script([UsageError("it reads no sound")], name="a"), Script(["Here."], name="b")
    assert play(heard(falling_back(a, b))).text == "Here."
    with pytest.raises(UsageError, match="no sound"):
        play(heard(falling_back(b, Script([UsageError("it reads no sound")]))))


def test_once_chosen_its_error_is_the_runs():
    a, b = Script([CALL], [BUSY], name="a"), Script(["Never asked."], name="b")
    run = play(heard(falling_back(a, b)))
    assert (run.reason, run.error, len(b.requests)) == ("provider", "busy", 0)


def test_after_the_first_word_nobody_else_is_asked():
    a, b = Script(["Half", BUSY], name="a"), Script(["Whole."], name="b")
    run = play(heard(falling_back(a, b)))
    assert (run.text, run.reason, len(b.requests)) == ("Half", "provider", 0)


def test_silence_is_measured_from_each_attempt():
    slow = Script([BUSY], [25.0, "At last."], name="a")
    run = play(heard(falling_back(retrying(slow, delay=20, rng=even), Script(["b"]))))
    assert run.text == "At last."


def test_if_nobody_answers_the_error_tells_of_all():
    run = play(heard(falling_back(Script([DENIED], name="a"), Script(SILENT, name="b"))))
    assert run.reason == "provider"
    assert run.error == "none of 2 models answered: no such key; script b said nothing for 30 s"


def test_silence_is_its_own_error():
    async def story():
        model = falling_back(Script([BUSY]), Script([BUSY]), first_token_timeout=1)
        view = model.for_run()
        async with view, aclosing(view._beginning(Script(name="m"), Script(SILENT).stream(None))) as deltas:
            return [delta async for delta in deltas]

    with pytest.raises(FirstTokenTimeoutError, match="script m said nothing for 1 s"):
        play(story())


def test_a_silent_answer_of_the_last_is_an_answer():
    run = play(heard(falling_back(Script([BUSY]), Script([ss.Stop("end")]))))
    assert (run.text, run.reason) == ("", "done")


def test_all_languages_are_read():
    a, b = Script(name="gpt-5", dialect="auto"), Script(name="qwen3:8b", dialect="auto")
    assert falling_back(a, b).dialect == ["native", "hermes", "qwen3_coder"]


def test_only_who_is_needed_is_opened_and_all_are_closed():
    told = []

    class Opening(Script):
        async def __aenter__(self):
            told.append(f"+{self.model}")
            if self.model == "broken":
                raise ProviderError("its weights are missing")
            return self

        async def __aexit__(self, *exc):
            told.append(f"-{self.model}")

    async def story(*models):
        engine = ss.Engine(falling_back(*models))
        async with engine, engine.run("?") as run:
            await run.result()
        return run

    run = play(story(Opening(name="broken"), Opening(["ok"], name="b"), Opening(name="c")))
    assert run.text == "ok"
    assert told == ["+broken", "+broken", "+b", "-b"]


def test_a_choice_can_be_recorded(tmp_path):
    file = tmp_path / "r.jsonl"
    model = recording(falling_back(Script([BUSY], name="a"), Script(["Hi."], name="b")), file)
    run = play(heard(model))
    again = play(heard(Script.replay(file)))
    assert chosen(run) == chosen(again) == ["b"]
    assert again.text == "Hi."


def test_in_one_stream_of_its_own():
    async def story():
        model = retrying(falling_back(Script([BUSY]), Script(["x"])))
        async with aclosing(model.stream(None)) as deltas:
            return [type(delta).__name__ async for delta in deltas]

    assert play(story()) == ["Retrying", "ModelChosen", "TextDelta", "Stop"]


# ---- when a response breaks off


def test_what_broke_off_is_asked_to_go_on_with_its_results():
    cut = [ss.TextDelta("Let me look. "), CALL, 1.0, ss.TextDelta("It is"), BUSY]
    script = Script(cut, ["Noon."])
    run = play(heard(script, limits=ss.Limits(reasks=1)))
    assert (run.reason, run.text) == ("done", "Let me look. It is\n\nNoon.")
    assert len(kinds(run, ss.ToolStarted)) == 1
    assert kinds(run, ss.Retrying) == [ss.Retrying(1, 0.0, "busy")]
    sent = script.requests[1].messages
    assert [message.role for message in sent] == ["user", "assistant", "tool"]
    assert sent[-1].parts[0].text == "noon"


def test_a_text_that_broke_off_is_asked_to_go_on():
    script = Script(["One, two,", BUSY], [" three."])
    run = play(heard(script, limits=ss.Limits(reasks=1)))
    assert (run.reason, run.answer) == ("done", " three.")
    assert [message.role for message in script.requests[1].messages] == ["user", "assistant", "user"]


def test_it_goes_on_as_often_as_is_allowed_and_never_without_a_word():
    run = play(heard(Script(["One", BUSY], ["two", BUSY], ["three"]), limits=ss.Limits(reasks=1)))
    assert (run.reason, run.text, run.error) == ("provider", "One\n\ntwo", "busy")
    run = play(heard(Script([BUSY], ["never asked"]), limits=ss.Limits(reasks=1)))
    assert (run.reason, run.text) == ("provider", "")


def test_what_broke_off_while_tools_are_off_goes_on_without_them():
    script = Script([CALL], [ss.TextDelta("It"), BUSY], ["is noon."])
    run = play(heard(script, limits=ss.Limits(rounds=1, reasks=1)))
    assert (run.reason, run.answer) == ("done", "is noon.")
