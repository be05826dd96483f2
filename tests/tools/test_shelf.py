import asyncio

import pytest

from sidestream.errors import UsageError
from sidestream.messages import ToolSpec
from sidestream.tools.shelf import Shelf
from sidestream.tools.tool import Traits, tool


def plain(a: str) -> str:
    """Plain."""
    return a


def named(name, text=""):
    return tool(lambda: text or name, name=name)


class Source:
    """Gives `tools`, and writes down when it is entered and left."""

    def __init__(self, name, tools=(), *, log=None, enter=None, leave=None, swallow=False):
        self.name, self.tools, self.swallow = name, tools, swallow
        self.log = [] if log is None else log
        self.enter, self.leave = enter, leave

    async def __aenter__(self):
        self.log.append(f"+{self.name}")
        if self.enter is not None:
            raise self.enter
        return self.tools

    async def __aexit__(self, kind, error, trace):
        self.log.append(f"-{self.name}{' ' + kind.__name__ if kind else ''}")
        if self.leave is not None:
            raise self.leave
        return self.swallow


def opened(*items):
    async def main():
        async with Shelf(items).open() as fetched:
            return fetched

    return asyncio.run(main())


def test_tools_functions_and_sources_stand_side_by_side():
    tools, failed = opened(plain, named("b"), Source("s", [named("c")]))
    assert list(tools) == ["plain", "b", "c"]
    assert tools["plain"].spec.description == "Plain."
    assert failed == []


def test_specs_are_in_the_same_order_however_the_tools_came():
    one = opened(named("b"), Source("s", [named("c"), named("a")]))
    other = opened(Source("s", [named("a")]), named("c"), named("b"))
    assert [spec.name for spec in one.specs] == [spec.name for spec in other.specs] == ["a", "b", "c"]


def test_the_first_source_to_claim_a_name_has_it_and_none_takes_one_given_by_hand():
    first, second, mine = named("x"), named("x"), named("y")
    tools, _ = opened(Source("1", [first, named("y")]), Source("2", [second, named("z")]), mine)
    assert tools["x"] is first
    assert tools["y"] is mine
    assert set(tools) == {"x", "y", "z"}


def test_a_tool_of_ones_own_needs_only_spec_traits_and_a_call():
    class Own:
        spec = ToolSpec("own", "", {})
        traits = Traits()

        async def __call__(self, call, ctx):
            return "own"

    assert list(opened(Own())[0]) == ["own"]


class Halved:
    spec = ToolSpec("halved", "", {})


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([named("a"), named("a")], "two tools are named 'a'"),
        ([plain, named("plain")], "two tools are named 'plain'"),
        ([Source], "Source is a class"),
        (["weather"], "not a tool, a source or a function: 'weather'"),
        ([None], "not a tool, a source or a function"),
        ([{"name": "x"}], "not a tool, a source or a function"),
        ([Halved()], "must have spec and traits"),
        ([lambda: 1], "cannot be a tool's name"),
        ("weather", "must be a list"),
        ({"a": plain}, "must be a list"),
        (named("a"), "must be a list"),
    ],
)
def test_misuse_is_told_when_the_shelf_is_built(items, words):
    with pytest.raises(UsageError, match=words):
        Shelf(items)


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3), GeneratorExit(), asyncio.CancelledError()])
def test_a_source_that_fails_costs_only_its_own_tools(error):
    log = []
    tools, failed = opened(
        Source("1", [named("a")], log=log),
        Source("2", enter=error, log=log),
        Source("3", [named("c")], log=log),
    )
    assert list(tools) == ["a", "c"]
    assert failed == [("2", ": ".join(filter(None, [type(error).__name__, str(error)])))]
    assert log == ["+1", "+2", "+3", "-3", "-1"]


@pytest.mark.parametrize("given", [None, 3, [3], [named], ["x"], [Halved()], [named("a"), None]])
def test_a_source_that_gives_what_is_no_tool_is_told_and_still_closed(given):
    log = []
    tools, failed = opened(Source("odd", given, log=log), Source("2", [named("b")]))
    assert "b" in tools
    assert [name for name, _ in failed] == ["odd"]
    assert log == ["+odd", "-odd"]


def test_a_strangers_tool_without_a_usable_name_costs_only_itself():
    class Stranger:
        def __init__(self, name):
            self.spec, self.traits = ToolSpec(name, "", {}), Traits()

        async def __call__(self, call, ctx):
            return ""

    tools, failed = opened(Source("s", [Stranger("a b"), Stranger("fine"), Stranger("x" * 65)]))
    assert list(tools) == ["fine"]
    assert len(failed) == 2
    assert "'a b' cannot be a tool's name" in failed[0][1]


def test_a_source_without_a_name_is_called_by_its_type():
    source = Source("", enter=ValueError("boom"))
    assert opened(source)[1] == [("Source", "ValueError: boom")]


def test_sources_are_left_in_reverse_and_see_what_ended_the_run():
    log = []

    async def main():
        async with Shelf([Source("1", log=log), Source("2", log=log)]).open():
            raise ValueError("of the run")

    with pytest.raises(ValueError, match="of the run"):
        asyncio.run(main())
    assert log == ["+1", "+2", "-2 ValueError", "-1 ValueError"]


def test_a_source_that_fails_on_its_way_out_is_told_and_ends_nothing():
    log = []
    fetched = opened(
        Source("1", log=log),
        Source("2", log=log, leave=ValueError("stuck")),
        Source("3", log=log, leave=SystemExit(1)),
    )
    assert log == ["+1", "+2", "+3", "-3", "-2", "-1"]
    assert fetched.failed == [("3", "SystemExit: 1"), ("2", "ValueError: stuck")]


@pytest.mark.parametrize("leave", [None, ValueError("stuck")])
def test_a_source_cannot_swallow_what_ended_the_run(leave):
    async def main():
        async with Shelf([Source("1"), Source("2", swallow=True, leave=leave)]).open():
            raise KeyError("of the run")

    with pytest.raises(KeyError, match="of the run"):
        asyncio.run(main())


def test_sources_are_left_when_the_run_is_cancelled():
    log = []

    async def main():
        async def run():
            async with Shelf([Source("1", log=log), Source("2", log=log, leave=ValueError())]).open():
                inside.set()
                await asyncio.Event().wait()

        inside = asyncio.Event()
        task = asyncio.ensure_future(run())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert log == ["+1", "+2", "-2 CancelledError", "-1 CancelledError"]


def test_sources_already_entered_are_left_when_the_run_is_cancelled_while_one_is_slow():
    log = []

    async def main():
        entering = asyncio.Event()

        class Slow(Source):
            async def __aenter__(self):
                log.append("+slow")
                entering.set()
                await asyncio.Event().wait()

        async def run():
            async with Shelf([Source("1", log=log), Slow("slow", log=log)]).open():
                raise AssertionError("never inside")

        task = asyncio.ensure_future(run())
        await entering.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert log == ["+1", "+slow", "-1"]


def test_openings_of_one_shelf_do_not_share_tools():
    async def main():
        shelf = Shelf([plain, Source("s", [named("a")])])
        async with shelf.open() as one, shelf.open() as two:
            assert one.tools is not two.tools
            assert list(one.tools) == list(two.tools) == ["plain", "a"]

    asyncio.run(main())
