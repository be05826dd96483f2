from typing import Any

import pytest

from sidestream.dialects.specs import specs_of
from sidestream.errors import UsageError
from sidestream.messages import ToolSpec
from sidestream.tools.tool import tool

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


@tool
def f(a: str) -> str:
    """F."""
    return a


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        (ToolSpec("x", "X.", SCHEMA), ToolSpec("x", "X.", SCHEMA)),
        (f, f.spec),
        ({"type": "function", "function": {"name": "x", "description": "X.", "parameters": SCHEMA}}, ToolSpec("x", "X.", SCHEMA)),
        ({"name": "x", "description": "X.", "parameters": SCHEMA}, ToolSpec("x", "X.", SCHEMA)),
        ({"name": "x", "description": "X.", "input_schema": SCHEMA}, ToolSpec("x", "X.", SCHEMA)),
        ({"name": "x", "description": "X.", "inputSchema": SCHEMA}, ToolSpec("x", "X.", SCHEMA)),
        ({"type": "function", "function": {"name": "x"}}, ToolSpec("x", "", EMPTY)),
        ({"name": "x", "description": None, "parameters": None}, ToolSpec("x", "", EMPTY)),
    ],
)  # fmt: skip
def test_a_spec_is_made_of_whatever_describes_a_tool(given, spec):
    assert specs_of([given, given]) == [spec, spec]


@pytest.mark.parametrize(
    "bad",
    [
        None, 3, "weather", {}, {"type": "function"}, {"type": "web_search"}, {"function": "x"}, {"name": ""},
        {"name": 3}, {"function": {"parameters": SCHEMA}}, {"name": "x", "parameters": "no"},
        {"name": "x", "parameters": [1]}, lambda a: a, [f],
    ],
)  # fmt: skip
def test_what_describes_no_tool_is_told(bad):
    with pytest.raises(UsageError):
        specs_of([bad])


def test_one_schema_instead_of_a_list_is_told():
    with pytest.raises(UsageError):
        specs_of({"name": "x"})
