import asyncio
import contextvars
import functools
import threading
from typing import Any

import pytest

import sidestream as ss
from sidestream.errors import UsageError
from sidestream.messages import DataPart, ImagePart, TextPart, ToolResult
from sidestream.tools.threads import running_threads
from sidestream.tools.tool import AnyTool, CallInfo, Context, Tool, Traits, tool

# ---- what @tool makes


def test_bare_and_with_arguments_make_the_same_kind_of_tool():
    @tool
    def one(city: str) -> str:
        """About a city."""
        return city

    @tool(
        name="zwei",
        description="Other.",
        main="city",
        examples=["a"],
        timeout=10,
        read_only=True,
        errors="hide",
    )
    def two(city: str) -> str:
        """About a city."""
        return city

    assert isinstance(one, Tool)
    assert (one.spec.name, one.spec.description, one.traits) == ("one", "About a city.", Traits())
    assert (two.spec.name, two.spec.description, two.spec.main) == ("zwei", "Other.", "city")
    assert two.spec.examples == ("a",)
    assert two.traits == Traits(timeout=10.0, read_only=True, errors="hide")
    assert two.fn("Bern") == "Bern"
    assert repr(two) == "<tool zwei>"


def test_a_tool_is_any_tool():
    kept: AnyTool = tool(lambda: "x", name="x")
    assert kept.spec.takes_nothing


def test_a_function_can_be_given_together_with_its_traits():
    def order(article: str) -> str:
        return article

    assert tool(order, name="buy", idempotent=True).spec.name == "buy"


class Shop:
    def __init__(self, stock: int) -> None:
        self.stock = stock

    def left(self, article: str) -> str:
        """How many are left."""
        return f"{self.stock} {article}"

    @staticmethod
    def rule(text: str) -> str:
        """A rule."""
        return text

    async def __call__(self, article: str) -> str:
        """What calling it does."""
        return f"called {article}"


class Feed:
    """A feed."""

    async def __call__(self, n: int):
        for number in range(n):
            yield str(number)


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@pytest.mark.parametrize(
    ("made", "args", "name", "description", "text"),
    [
        (tool(Shop(3).left), {"article": "pens"}, "left", "How many are left.", "3 pens"),
        (tool(Shop.rule), {"text": "x"}, "rule", "A rule.", "x"),
        (tool(Shop(3)), {"article": "pens"}, "Shop", "What calling it does.", "called pens"),
        (tool(Feed(), name="feed"), {"n": 3}, "feed", "A feed.", "2"),
        (tool(functools.partial(add, 1)), {"b": 2}, "add", "Adds.", "3"),
        (tool(functools.partial(functools.partial(add), b=1)), {"a": 2}, "add", "Adds.", "3"),
        (tool(functools.partial(Shop(3).left, article="pens")), {}, "left", "How many are left.", "3 pens"),
        (
            tool(functools.partial(Shop(3))),
            {"article": "pens"},
            "Shop",
            "What calling it does.",
            "called pens",
        ),
        (tool(functools.partial(Feed()), name="feed"), {"n": 2}, "feed", "A feed.", "1"),
    ],
)
def test_methods_partials_and_callable_objects_are_functions_too(call, made, args, name, description, text):
    assert (made.spec.name, made.spec.description) == (name, description)
    assert call(made, **args).result == ToolResult("1.1", "ok", (TextPart(text),))


def test_what_a_partial_has_given_is_not_for_the_model(call):
    def ask(query: str, key: str) -> str:
        return f"{query} with {key}"

    made = tool(functools.partial(ask, key="s3cret"))
    assert list(made.spec.properties) == ["query"]
    assert "s3cret" not in str(made.spec)
    assert call(made, query="a").result.text == "a with s3cret"
    assert "key: unknown" in call(made, query="a", key="mine").result.text


def test_a_static_method_can_be_decorated_in_its_class(call):
    class Box:
        @tool
        @staticmethod
        def twice(text: str) -> str:
            return text * 2

    assert call(Box.twice, text="a").result.text == "aa"


def test_decorated_functions_keep_the_signature_they_wrap(call):
    async def real(city: str) -> str:
        """Real."""
        return city

    @functools.wraps(real)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return real(*args, **kwargs)

    made = tool(outer)
    assert list(made.spec.properties) == ["city"]
    assert call(made, city="Bern").result.text == "Bern"


def misuses():
    def positional(a: int, /) -> None: ...
    def rest(*names: str) -> None: ...
    def method(self, a: int) -> None: ...
    def two(a: Context[Any], b: Context[Any]) -> None: ...
    def unknown(where: range) -> None: ...

    yield lambda: tool(Shop), "from a function, not from"
    yield lambda: tool("weather"), "from a function, not from"  # type: ignore[call-overload]
    yield lambda: tool(tool(add)), "from a function, not from"
    yield lambda: tool(positional), "take the '/' out"
    yield lambda: tool(rest), r"take names: list\[…\]"
    yield lambda: tool(method), "bound method"
    yield lambda: tool(two), "both a Context"
    yield lambda: tool(unknown), "parameter 'where' has a type that JSON cannot carry"
    yield lambda: tool(lambda: 1), "'<lambda>' cannot be a tool's name"
    yield lambda: tool(add, name=""), "cannot be a tool's name"
    yield lambda: tool(add, name="1st"), "cannot be a tool's name"
    yield lambda: tool(add, name="a b"), "cannot be a tool's name"
    yield lambda: tool(add, name="a\n"), "cannot be a tool's name"
    yield lambda: tool(add, name="x" * 65), "at most 64"
    yield lambda: tool(add, main="c"), "its parameters are a, b"
    yield lambda: tool(add, examples="add it"), "list of texts"
    yield lambda: tool(add, timeout=0), "timeout"
    yield lambda: tool(add, timeout="3"), "timeout"  # type: ignore[call-overload]
    yield lambda: tool(add, max_output=0), "max_output"
    yield lambda: tool(add, errors="shout"), "errors"  # type: ignore[call-overload]
    yield lambda: tool(add, speed=3), "the traits are timeout, "  # type: ignore[call-overload]


@pytest.mark.parametrize(("misuse", "words"), list(misuses()))
def test_misuse_is_told_where_it_is_written(misuse, words):
    with pytest.raises(UsageError, match=words):
        misuse()


def test_names_up_to_the_bound_are_names():
    for name in ("a", "_", "Get.It-2_x", "x" * 64):
        assert tool(add, name=name).spec.name == name


# ---- how it runs


def test_an_async_function_runs_on_the_loop_and_a_blocking_one_beside_it(call):
    here: list[int] = []

    @tool
    async def on_loop() -> None:
        here.append(threading.get_ident())

    @tool
    def beside() -> None:
        here.append(threading.get_ident())

    call(on_loop)
    call(beside)
    assert here[0] == threading.get_ident()
    assert here[1] != threading.get_ident()


def test_yielded_strings_are_progress_and_the_last_value_is_the_result(call):
    @tool
    async def strings():
        yield "one"
        yield "two"

    @tool
    async def mixed():
        yield "one"
        yield {"n": 2}

    @tool
    def blocking():
        yield "one"
        yield 2

    @tool
    async def none():
        for item in ():
            yield item

    assert call(strings)[:2] == (ToolResult("1.1", "ok", (TextPart("two"),)), ["one", "two"])
    assert call(mixed)[:2] == (ToolResult("1.1", "ok", (TextPart('{"n":2}'),)), ["one"])
    assert call(blocking)[:2] == (ToolResult("1.1", "ok", (TextPart("2"),)), ["one"])
    assert call(none).result.text == "(no output)"


def test_progress_is_said_at_once_and_not_at_the_end(calling):
    async def main():
        go, said = asyncio.Event(), []

        @tool
        async def slow():
            yield "first"
            await go.wait()
            said.append("end")
            yield "second"

        task = asyncio.ensure_future(calling(slow, {}))
        while not go.is_set():
            await asyncio.sleep(0)
            go.set()
        assert (await task).said == ["first", "second"]

    asyncio.run(main())


def test_a_generator_is_closed_when_it_raises_and_when_it_is_cancelled(calling):
    closed: list[str] = []

    async def main():
        started = asyncio.Event()

        @tool
        async def endless():
            try:
                yield "begun"
                started.set()
                await asyncio.Event().wait()
            finally:
                closed.append("endless")

        @tool
        async def broken():
            try:
                yield "begun"
                raise ValueError("boom")
            finally:
                closed.append("broken")

        task = asyncio.ensure_future(calling(endless, {}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ValueError, match="boom"):
            await calling(broken, {})

    asyncio.run(main())
    assert closed == ["endless", "broken"]


def test_a_blocking_generator_goes_no_further_than_anyone_waits_for_it(calling):
    closed, yielded = threading.Event(), threading.Event()
    go = threading.Event()

    @tool
    def endless():
        try:
            while True:
                yielded.set()
                go.wait(10)
                yield "more"
        finally:
            closed.set()

    async def main():
        task = asyncio.ensure_future(calling(endless, {}))
        await asyncio.sleep(0)
        assert yielded.wait(10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await running_threads("run/", 0) == ["run/1.1"]
        go.set()
        assert await running_threads("run/", 10) == []

    asyncio.run(main())
    assert closed.is_set()


def test_a_blocking_function_may_give_an_awaitable_or_an_async_generator(call):
    async def later() -> str:
        return "later"

    async def many():
        yield "one"
        yield "two"

    assert call(tool(lambda: later(), name="a")).result.text == "later"
    assert call(tool(lambda: many(), name="b"))[:2] == (
        ToolResult("1.1", "ok", (TextPart("two"),)),
        ["one", "two"],
    )


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("text", (TextPart("text"),)),
        (None, (TextPart("(no output)"),)),
        ([TextPart("a"), "b", ImagePart(data=b"x")], (TextPart("a"), TextPart("b"), ImagePart(data=b"x"))),
        (DataPart("d", {1}), (DataPart("d", [1]),)),
    ],
)
def test_what_it_returns_becomes_parts(call, value, parts):
    assert call(tool(lambda: value, name="x")).result.parts == parts


def test_a_result_of_its_own_keeps_its_status_and_gets_the_right_call(call):
    mine = ToolResult("other", "error", (TextPart("no \ud800"), DataPart("x", 1)), 2.0)
    made = call(tool(lambda: mine, name="x")).result
    assert made == ToolResult("1.1", "error", (TextPart("no \ufffd"), DataPart("x", 1)), 2.0)
    assert call(tool(lambda: ToolResult("other", "ok"), name="x")).result == ToolResult("1.1", "ok")


class StrangeError(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError("v"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_it_raises_is_raised(calling, error):
    def blocking() -> None:
        raise error

    async def on_loop() -> None:
        raise error

    async def main(made):
        try:
            await calling(made, {})
        except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as raised:
            return raised

    assert asyncio.run(main(tool(blocking))) is error
    assert asyncio.run(main(tool(on_loop))) is error


def test_advice_is_raised_too(calling):
    @tool
    def picky() -> None:
        raise ss.Retry("use three letters")

    with pytest.raises(ss.Retry, match="three letters"):
        asyncio.run(calling(picky, {}))


def test_context_variables_are_those_of_the_caller(calling):
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")

    @tool
    def ask() -> str:
        who_was = who.get()
        who.set("the thread")
        return who_was

    async def main():
        who.set("anna")
        assert (await calling(ask, {})).result.text == "anna"
        assert who.get() == "anna"

    asyncio.run(main())


# ---- the context


def test_the_context_is_injected_and_the_model_cannot_give_it(calling):
    @tool
    def look(article: str, ctx: Context[dict[str, int]], **more: Any) -> str:
        ctx.say(f"looking up {article}")
        ctx.note("asked", article)
        return f"{ctx.deps[article]} {ctx.run.call} {sorted(more)}"

    async def main():
        args = {"article": "pens", "ctx": "mine", "other": 1}
        return await calling(look, args, {"pens": 3})

    answer = asyncio.run(main())
    assert answer.result.text == "3 1.1 ['other']"
    assert answer.said == ["looking up pens"]
    assert answer.notes == [("asked", "pens")]
    assert list(look.spec.properties) == ["article"]


def test_what_a_thread_says_arrives_on_the_loop_before_its_result():
    async def main():
        heard: list[tuple[int, str]] = []
        info = CallInfo("run", "session", "1.1", "run/1.1", 0.0)
        ctx = Context(info, None, lambda text: heard.append((threading.get_ident(), text)), lambda name, data: None)

        @tool
        def chatty(ctx: Context[None]) -> None:
            for step in range(3):
                ctx.say(str(step))

        await chatty(ss.ToolCall("1.1", "chatty", {}, ""), ctx)
        assert heard == [(threading.get_ident(), str(step)) for step in range(3)]

    asyncio.run(main())


def test_a_thread_that_outlives_its_loop_speaks_to_nobody():
    go, done, faults = threading.Event(), threading.Event(), []

    @tool
    def late(ctx: Context[None]) -> None:
        go.wait(10)
        try:
            ctx.say("anyone?")
            ctx.note("anyone", 1)
        except BaseException as error:
            faults.append(error)
        done.set()

    async def main():
        info = CallInfo("gone", "session", "1.1", "gone/1.1", 0.0)
        ctx = Context(info, None, lambda text: None, lambda name, data: None)
        task = asyncio.ensure_future(late(ss.ToolCall("1.1", "late", {}, ""), ctx))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = threading.excepthook
    threading.excepthook = faults.append
    try:
        asyncio.run(main())
        go.set()
        assert done.wait(10)
        for thread in threading.enumerate():
            if thread.name == "sidestream gone/1.1":
                thread.join(10)
    finally:
        threading.excepthook = before
    assert faults == []


# ---- bad arguments


@tool
def weather(city: str, days: int = 1, share: float = 0.5) -> str:
    """Forecast."""
    return f"{city} {days!r} {share!r}"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"city": "Bern", "days": "three"}, "days: expected int, got str ('three')"),
        ({"city": "Bern", "days": "3"}, "days: expected int, got str ('3')"),
        ({"city": "Bern", "days": 3.0}, "days: expected int, got float (3.0)"),
        ({"city": "Bern", "days": True}, "days: expected int, got bool (True)"),
        ({"city": "Bern", "days": None}, "days: expected int, got null"),
        ({}, "city: required, and missing"),
        ({"city": ["Bern"]}, "city: expected str, got array (['Bern'])"),
        ({"city": "Bern", "day": 3}, "day: unknown; the arguments are city, days, share"),
        ({"days": "x", "day": 3}, "city: required, and missing; days: expected int, got str ('x'); day: unknown; the arguments are city, days, share"),
        ({"city": 1, "days": {}}, "city: expected str, got int (1); days: expected int, got object ({})"),
        ({"city": "Bern", "y" * 999: 1}, "y" * 60 + "…: unknown; the arguments are city, days, share"),
        ({"city": "Bern", "days": "z" * 999}, "days: expected int, got str ('" + "z" * 59 + "…)"),
    ],
)  # fmt: skip
def test_bad_arguments_name_field_expected_and_got(call, args, text):
    assert call(weather, **args).result == ToolResult("1.1", "error", (TextPart(f"bad arguments for weather: {text}"),))


def test_an_integer_may_stand_for_a_float(call):
    assert call(weather, city="Bern", share=1).result.text == "Bern 1 1.0"


def test_integers_have_no_bound(call):
    assert call(weather, city="Bern", days=10**30).result.text == f"Bern {10**30} 0.5"


def test_many_problems_are_not_all_told(call):
    text = call(weather, city="Bern", **{f"x{n}": n for n in range(1000)}).result.text
    assert text.endswith("; and more")
    assert len(text) < 1000


def test_a_tool_without_parameters_says_so(call):
    assert (
        call(tool(lambda: 1, name="one"), x=1).result.text
        == "bad arguments for one: x: unknown; the arguments are none"
    )


# ---- from a schema

SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "kind": {"enum": ["web", "news"]},
        "range": {"type": "object", "properties": {"top": {"type": "integer"}}, "required": ["top"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["query"],
    "additionalProperties": False,
}


def test_a_tool_from_a_schema_is_called_with_the_arguments_by_name(calling):
    async def search(query: str, ctx: Context[str], **more: Any) -> str:
        return f"{query} {more} {ctx.deps}"

    made = Tool.from_schema("search", "Searches.", SEARCH, search, main="query", read_only=True, examples=["find"])
    assert (made.spec.name, made.spec.description, made.spec.main) == ("search", "Searches.", "query")
    assert made.spec.schema == SEARCH
    assert made.traits == Traits(read_only=True)
    answer = asyncio.run(calling(made, {"query": "a", "tags": []}, "deps"))
    assert answer.result.text == "a {'tags': []} deps"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({}, "query: required, and missing"),
        ({"query": 1}, "query: expected str, got int (1)"),
        ({"query": "a", "kind": "x"}, "kind: expected 'web' or 'news', got str ('x')"),
        ({"query": "a", "range": {}}, "range.top: required, and missing"),
        ({"query": "a", "range": {"top": "3"}}, "range.top: expected int, got str ('3')"),
        ({"query": "a", "tags": ["b", 3]}, "tags[1]: expected str, got int (3)"),
        ({"query": "a", "x": 1}, "x: unknown; the arguments are query, kind, range, tags"),
    ],
)
def test_its_arguments_are_checked_as_far_as_the_schema_says(call, args, text):
    made = Tool.from_schema("search", "Searches.", SEARCH, lambda **given: "ran")
    result = call(made, **args).result
    assert (result.status, result.text) == ("error", f"bad arguments for search: {text}")


def test_a_schema_given_is_ours_from_then_on():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    made = Tool.from_schema("x", "", schema, lambda a="": a)
    schema["properties"]["a"]["type"] = "integer"
    assert made.spec.properties == {"a": {"type": "string"}}


def test_an_argument_that_the_function_cannot_take_is_told_and_not_raised(call):
    made = Tool.from_schema("x", "", {"properties": {"a": {}}}, lambda a=1: a)
    assert call(made, b=1).result.text == "bad arguments for x: b: unknown; the arguments are a"
    assert call(made, a=2).result.text == "2"


@pytest.mark.parametrize(
    ("schema", "function", "words"),
    [
        ({"type": "array"}, add, "that of an object"),
        ([], add, "that of an object"),
        ({"properties": []}, add, "no object"),
        ({"properties": {"a": {}}}, lambda a, b: 1, "takes 'b', which the schema does not have"),
        ({"properties": {"a": {}, "b": {}}}, lambda a: 1, "has 'b', which"),
        ({"properties": {}}, lambda *args: 1, "take args: list"),
        ({"properties": {}}, 3, "from a function, not from 3"),
    ],
)
def test_a_schema_that_does_not_fit_its_function_is_told_at_once(schema, function, words):
    with pytest.raises(UsageError, match=words):
        Tool.from_schema("x", "", schema, function)
