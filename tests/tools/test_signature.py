"""From a signature to a schema and to checked values, without future annotations: real types."""

# ruff: noqa: UP045 - both ways of saying it

import dataclasses
import datetime
import enum
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidestream as ss
from sidestream.errors import UsageError
from sidestream.tools.tool import Context, tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Tree(msgspec.Struct):
    label: str
    children: "list[Tree]" = []


class Place(TypedDict):
    city: str


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    a: int


class Item(pydantic.BaseModel):
    """One line."""

    sku: str = pydantic.Field(description="its number")
    count: int = pydantic.Field(default=1, ge=1)


class Order(pydantic.BaseModel):
    items: list[Item]
    due: datetime.date | None = None
    spare: Item | None = None


class Node(pydantic.BaseModel):
    name: str
    below: list["Node"] = []


class Default(pydantic.BaseModel):
    x: int = 1


Id = NewType("Id", int)
GONE = object()


def made(kind, default=GONE):
    """A tool whose one parameter `v` has that type, and gives back what it got."""

    def give(v):
        return v

    give.__annotations__["v"] = kind
    if default is not GONE:
        give.__defaults__ = (default,)
    return tool(give)


STRING, INTEGER = {"type": "string"}, {"type": "integer"}
POINT = {
    "type": "object",
    "properties": {"x": INTEGER, "y": {"type": "number", "default": 0.5}},
    "required": ["x"],
}
COLOURS = {"type": "string", "enum": ["blue", "red"]}
ITEM = {
    "description": "One line.",
    "type": "object",
    "properties": {
        "sku": {"description": "its number", "type": "string"},
        "count": {"default": 1, "minimum": 1, "type": "integer"},
    },
    "required": ["sku"],
}

TYPES: list[tuple[Any, dict[str, Any], Any, Any, Any, str]] = [
    # type, its schema, a good value, what the function gets, a bad value, what is said of it
    (str, STRING, "a", "a", 1, "v: expected str, got int (1)"),
    (int, INTEGER, 1, 1, "1", "v: expected int, got str ('1')"),
    (float, {"type": "number"}, 1, 1.0, "1", "v: expected float, got str ('1')"),
    (bool, {"type": "boolean"}, True, True, 1, "v: expected bool, got int (1)"),
    (Id, INTEGER, 1, 1, None, "v: expected int, got null"),
    (list[int], {"type": "array", "items": INTEGER}, [1], [1], ["a"], "v[0]: expected int, got str ('a')"),
    (Sequence[int], {"type": "array", "items": INTEGER}, [1], [1], "a", "v: expected array, got str ('a')"),
    (set[str], {"type": "array", "items": STRING, "uniqueItems": True}, ["a"], {"a"}, [1], "v[0]: expected str, got int (1)"),
    (tuple[int, str], {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [INTEGER, STRING], "items": False},
     [1, "a"], (1, "a"), ["a", "a"], "v[0]: expected int, got str ('a')"),
    (tuple[int, str], {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [INTEGER, STRING], "items": False},
     [1, "a"], (1, "a"), [1], "v: expected array of length 2, got 1"),
    (dict[str, int], {"type": "object", "additionalProperties": INTEGER}, {"a": 1}, {"a": 1}, {"a": "b"}, "v.a: expected int, got str ('b')"),
    (dict[int, str], {"type": "object", "additionalProperties": STRING}, {"1": "a"}, {1: "a"}, {"x": "a"}, "v: expected int, got str - at key in $"),
    (Mapping[str, Any], {"type": "object"}, {"a": [1]}, {"a": [1]}, [1], "v: expected object, got array ([1])"),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "a", "a", "c", "v: expected 'a' or 'b', got str ('c')"),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}, 1, 1, 3, "v: expected 1 or 2, got int (3)"),
    (Colour, COLOURS, "red", Colour.RED, "RED", "v: expected 'blue' or 'red', got str ('RED')"),
    (list[Colour], {"type": "array", "items": COLOURS}, ["red"], [Colour.RED], ["x"], "v[0]: expected 'blue' or 'red', got str ('x')"),
    (Optional[int], {"anyOf": [INTEGER, {"type": "null"}]}, None, None, "a", "v: expected int or null, got str ('a')"),
    (int | str, {"anyOf": [INTEGER, STRING]}, "a", "a", [], "v: expected int or str, got array ([])"),
    (Point, POINT, {"x": 1}, Point(1), {"y": 1}, "v.x: required, and missing"),
    (Point, POINT, {"x": 1, "y": 2}, Point(1, 2.0), {"x": "a"}, "v.x: expected int, got str ('a')"),
    (Point | None, {"anyOf": [POINT, {"type": "null"}]}, {"x": 1}, Point(1), {"x": "a"}, "v.x: expected int, got str ('a')"),
    (Place, {"type": "object", "properties": {"city": STRING}, "required": ["city"]}, {"city": "a"}, {"city": "a"}, {}, "v.city: required, and missing"),
    (Strict, {"type": "object", "properties": {"a": INTEGER}, "required": ["a"], "additionalProperties": False},
     {"a": 1}, Strict(1), {"a": 1, "b": 2}, "v.b: unknown; the arguments are a"),
    (datetime.date, {"type": "string", "format": "date"}, "2026-01-02", datetime.date(2026, 1, 2), "soon", "v: Invalid RFC3339 encoded date, got str ('soon')"),
    (Annotated[int, msgspec.Meta(ge=1)], {**INTEGER, "minimum": 1}, 1, 1, 0, "v: expected int >= 1, got int (0)"),
    (Annotated[int, pydantic.Field(ge=1, description="how many")], {"description": "how many", **INTEGER, "minimum": 1}, 1, 1, 0, "v: expected int >= 1, got int (0)"),
    (list[Annotated[int, msgspec.Meta(ge=1)]], {"type": "array", "items": {**INTEGER, "minimum": 1}}, [1], [1], [1, 0], "v[1]: expected int >= 1"),
    (Item, ITEM, {"sku": "a"}, Item(sku="a"), {"sku": 1}, "v.sku: expected str, got int (1)"),
    (Item, ITEM, {"sku": "a", "count": 2}, Item(sku="a", count=2), {"sku": "a", "count": 0}, "v: count: Input should be greater than or equal to 1, got int (0)"),
    (Item, ITEM, {"sku": "a"}, Item(sku="a"), {"sku": "a", "count": "2"}, "v.count: expected int, got str ('2')"),
    (Item | None, {"anyOf": [ITEM, {"type": "null"}]}, None, None, 3, "v: expected object or null, got int (3)"),
    (list[Item], {"type": "array", "items": ITEM}, [{"sku": "a"}], [Item(sku="a")], [{}], "v[0].sku: required, and missing"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "schema", "good", "got", "bad", "said"), TYPES)
def test_a_type_is_its_schema_and_its_check(call, kind, schema, good, got, bad, said):
    values = []
    one = made(kind)
    kept = tool(lambda **v: values.append(v["v"]), name="kept")
    kept._signature = one._signature  # the same check before a function that keeps what it gets
    assert one.spec.schema == {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
    }
    assert call(kept, v=good).result.status == "ok"
    assert values == [got]
    assert type(values[0]) is type(got)
    assert call(one, v=bad).result.text == f"bad arguments for give: {said}"


def test_a_model_in_a_model_is_written_out_where_it_is_used_once_and_shared_where_twice(call):
    schema = made(Order).spec.schema
    assert schema["$defs"] == {"Order.Item": ITEM}
    assert schema["properties"]["v"]["properties"]["items"]["items"] == {"$ref": "#/$defs/Order.Item"}
    assert "title" not in str(schema)
    got = call(made(Order), v={"items": [{"sku": "a"}], "due": "2026-01-02"}).result.text
    assert got == '{"items":[{"sku":"a","count":1}],"due":"2026-01-02","spare":null}'
    bad = call(made(Order), v={"items": [{"sku": "a"}, {"sku": 2}], "due": "soon"}).result.text
    assert bad == "bad arguments for give: v.items[1].sku: expected str, got int (2)"


@pytest.mark.parametrize("kind", [Tree, Node])
def test_a_type_within_itself_stays_a_definition(call, kind):
    one = made(kind)
    (name,) = one.spec.schema["$defs"]
    ref = {"$ref": f"#/$defs/{name}"}
    field = "children" if kind is Tree else "below"
    key = "label" if kind is Tree else "name"
    assert one.spec.properties["v"] == ref
    assert one.spec.schema["$defs"][name]["properties"][field]["items"] == ref
    assert call(one, v={key: "a", field: [{key: "b"}]}).result.status == "ok"
    bad = call(one, v={key: "a", field: [{key: "b", field: [{}]}]}).result.text
    assert bad == f"bad arguments for give: v.{field}[0].{field}[0].{key}: required, and missing"


def test_one_type_in_two_parameters_is_written_out_in_both():
    def f(a: Point, b: Point, c: list[Point]) -> None: ...

    schema = tool(f).spec.schema
    assert schema["properties"]["a"] == schema["properties"]["b"] == POINT
    assert schema["properties"]["c"]["items"] == {"$ref": "#/$defs/Point"}
    assert schema["$defs"] == {"Point": POINT}


def test_two_types_of_one_name_are_kept_apart_or_refused(call):
    def one():
        class Point(msgspec.Struct):
            lat: float

        return Point

    def f(a: Point, b: one(), c: list[one()]) -> str:
        return f"{type(a).__name__} {b.lat}"

    properties = tool(f).spec.properties
    assert properties["a"] == POINT
    assert list(properties["b"]["properties"]) == list(properties["c"]["items"]["properties"]) == ["lat"]
    assert call(tool(f), a={"x": 1}, b={"lat": 2}, c=[]).result.text == "Point 2.0"

    def model(field):
        inner = pydantic.create_model("Inner", **{field: int})
        return pydantic.create_model("Outer", a=list[inner], b=list[inner])

    def g(a: model("x"), b: model("y")) -> None: ...

    with pytest.raises(UsageError, match="two types are named 'Inner'"):
        tool(g)


def test_a_property_may_be_called_title_or_defs():
    class Book(msgspec.Struct):
        title: str
        properties: int

    assert made(Book).spec.properties["v"]["properties"] == {"title": STRING, "properties": INTEGER}


@pytest.mark.parametrize(
    ("kind", "default", "schema"),
    [
        (int, 3, {**INTEGER, "default": 3}),
        (str, None, {"anyOf": [STRING, {"type": "null"}], "default": None}),
        (Any, None, {"default": None}),
        (Colour, Colour.RED, {**COLOURS, "default": "red"}),
        (list[int], [1, 2], {"type": "array", "items": INTEGER, "default": [1, 2]}),
        (int, object(), INTEGER),
        (Point, Point(1), {**POINT, "default": {"x": 1, "y": 0.5}}),
    ],
)
def test_defaults_are_in_the_schema_where_json_can_say_them(call, kind, default, schema):
    one = made(kind, default)
    assert one.spec.properties["v"] == schema
    assert "required" not in one.spec.schema
    assert call(one).result.status == "ok"


def test_a_default_is_the_functions_own_object(call):
    one = made(Default, first := Default(x=7))
    assert one.fn() is first
    assert call(one).result.text == '{"x":7}'


def test_a_default_of_none_lets_the_model_say_null(call):
    assert call(made(int, None), v=None).result.text == "(no output)"
    assert call(made(Annotated[int, "words"], None), v=None).result.text == "(no output)"


def test_descriptions_come_from_the_annotation_then_from_the_docstring():
    def f(
        a: Annotated[str, "from the annotation"],
        b: Annotated[str, msgspec.Meta(description="from the meta")],
        c: int,
        d: Annotated[int, msgspec.Meta(ge=1), "with a bound"] = 1,
    ) -> None:
        """Does it.

        Args:
            a: not this.
            b: nor this.
            c: from the docstring.
        """

    properties = tool(f).spec.properties
    assert [one.get("description") for one in properties.values()] == [
        "from the annotation",
        "from the meta",
        "from the docstring.",
        "with a bound",
    ]
    assert properties["d"]["minimum"] == 1


def test_a_parameter_without_annotation_takes_anything(call):
    def f(a, b=None, *, c) -> str:
        return f"{a} {b} {c}"

    assert tool(f).spec.schema["properties"] == {"a": {}, "b": {"default": None}, "c": {}}
    assert tool(f).spec.schema["required"] == ["a", "c"]
    assert call(tool(f), a=[1], b="x", c={}).result.text == "[1] x {}"


def test_keyword_arguments_leave_the_schema_open(call):
    def f(a: int, **more: Any) -> dict[str, Any]:
        return {"a": a, **more}

    assert tool(f).spec.schema["additionalProperties"] is True
    assert call(tool(f), a=1, b="x").result.text == '{"a":1,"b":"x"}'
    assert call(tool(f), a="1", b="x").result.text == "bad arguments for f: a: expected int, got str ('1')"


@pytest.mark.parametrize(
    "kind", [Context, ss.Context, Context[int], Context[dict[str, Any]] | None, Optional[Context[int]],
             Annotated[Context[int], "the run"]],
)  # fmt: skip
def test_a_context_is_injected_however_it_is_annotated(call, kind):
    def f(a: str, somewhere=None):
        return f"{a} {somewhere.run.call}"

    f.__annotations__["somewhere"] = kind
    assert list(tool(f).spec.properties) == ["a"]
    assert call(tool(f), a="b").result.text == "b 1.1"


@pytest.mark.parametrize("kind", [range, complex, object(), list[complex], type, Point | Strict, "int | |"])
def test_a_type_that_json_cannot_carry_is_named_where_it_is_written(kind):
    if isinstance(kind, str):
        assert made(kind).spec.properties == {"v": {}}
        return
    with pytest.raises(UsageError, match="parameter 'v' has a type that JSON cannot carry"):
        made(kind)


def test_nothing_of_pydantic_is_needed():
    import sys

    for name in ("tool", "schema", "signature", "check", "output", "shelf"):
        module = sys.modules[f"sidestream.tools.{name}"]
        assert not any("pydantic" in str(getattr(value, "__module__", "")) for value in vars(module).values())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
TOOLS = [made(kind) for kind, *_ in TYPES] + [made(Tree), made(Node), made(Order)]


@given(st.sampled_from(TOOLS), json_values)
def test_whatever_a_model_gives_is_an_answer_and_never_an_exception(one, value):
    for args in (
        {"v": value},
        {"w": value},
        {"v": {"x": value, "sku": value, "label": value, "items": [value]}},
    ):
        said = ""
        try:
            one._signature.convert(args)
        except ValueError as error:
            said = str(error)
        assert len(said.encode()) < 5_000
