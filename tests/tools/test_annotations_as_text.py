"""Annotations that are text: what can be resolved is, also from the place of the decoration."""

from __future__ import annotations

# ruff: noqa: UP045 - both ways of saying it
import dataclasses
from typing import TYPE_CHECKING, Any, Optional

import sidestream as ss
from sidestream.tools.tool import Context, tool

if TYPE_CHECKING:
    from decimal import Decimal

    from somewhere import Thing, Unknown  # type: ignore[import-not-found]


@dataclasses.dataclass
class Point:
    x: int


def inside(kind: Point, ctx: Context[Any]) -> str:
    return f"{type(kind).__name__} {ctx.run.call}"


def test_names_of_the_module_are_found(call):
    assert list(tool(inside).spec.properties) == ["kind"]
    assert call(tool(inside), kind={"x": 1}).result.text == "Point 1.1"


def test_names_of_the_function_around_are_found(call):
    @dataclasses.dataclass
    class Local:
        a: int

    @tool
    def bare(v: Local, ctx: ss.Context[Local]) -> str:
        return type(v).__name__

    @tool(read_only=True)
    def given(v: list[Local], n: int) -> str:
        return type(v[0]).__name__

    def later(v: Local) -> str:
        return type(v).__name__

    assert call(bare, v={"a": 1}).result.text == "Local"
    assert call(given, v=[{"a": 1}], n=1).result.text == "Local"
    assert call(tool(later), v={"a": 1}).result.text == "Local"
    assert bare.spec.properties["v"]["required"] == ["a"]


def test_a_name_of_the_module_comes_before_one_where_the_tool_is_made(call):
    Context = Point = int  # noqa: N806, F841 - in the way
    assert call(tool(inside), kind={"x": 1}).result.text == "Point 1.1"


def test_what_nothing_resolves_stands_for_any_value_and_spoils_nothing_else(call):
    def f(a: Thing, b: int, c: list[Unknown], ctx: Optional[ss.Context[Thing]] = None) -> Unknown:
        return f"{a} {b} {c} {ctx.run.call}"

    made = tool(f)
    assert made.spec.properties == {"a": {}, "b": {"type": "integer"}, "c": {}}
    assert call(made, a=1, b=2, c=3).result.text == "1 2 3 1.1"
    assert "b: expected int" in call(made, a=1, b="x", c=3).result.text


def test_a_context_of_something_unresolved_is_still_the_context(call):
    for text in ("Context", "ss.Context", "sidestream.Context[Thing]", "Context[Thing] | None", "Optional[Context]",
                 "typing.Optional[ss.Context[Thing]]"):  # fmt: skip

        def f(a: str, odd: Any = None) -> str:
            return odd.run.call

        f.__annotations__["odd"] = text
        assert list(tool(f).spec.properties) == ["a"], text
        assert call(tool(f), a="b").result.text == "1.1"


def test_another_thing_of_that_name_is_not_it():
    for text in ("MyContext", "Contexts", "list[Thing]", "ContextVar[Thing]"):

        def f(odd: Any) -> None: ...

        f.__annotations__["odd"] = text
        assert list(tool(f).spec.properties) == ["odd"], text


def test_a_name_only_type_checkers_see_stands_for_any_value():
    def f(price: Decimal) -> None: ...

    assert tool(f).spec.properties == {"price": {}}
