"""Tools as a reader needs them: from our specs, from tools, or from OpenAI's schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sidestream.errors import UsageError
from sidestream.messages import ToolSpec

__all__ = ["specs_of"]


_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")  # OpenAI's word, Anthropic's, MCP's


def specs_of(tools: Iterable[Any]) -> list[ToolSpec]:
    """The specs of `tools`: each a ToolSpec, anything with a `spec`, or a tool schema (OpenAI's
    `{"type": "function", "function": {…}}` or the inner object, Anthropic's, MCP's). Raises UsageError."""
    return [_spec(tool) for tool in tools]


def _spec(tool: Any) -> ToolSpec:
    if isinstance(tool, ToolSpec):
        return tool
    if isinstance(spec := getattr(tool, "spec", None), ToolSpec):
        return spec
    if isinstance(tool, Mapping):
        function = tool.get("function", tool)
        if isinstance(function, Mapping) and isinstance(name := function.get("name"), str) and name:
            given = [function[key] for key in _SCHEMA_KEYS if function.get(key)]
            schema = given[0] if given else {"type": "object", "properties": {}}
            if not isinstance(schema, Mapping):
                raise UsageError(f"the parameters of tool {name!r} must be a JSON Schema object, got {schema!r}")
            return ToolSpec(name, str(function.get("description") or ""), dict(schema))
    raise UsageError(
        f"not a tool: {str(tool)[:80]!r}. Give a ToolSpec, a tool, or a schema like "
        '{"type": "function", "function": {"name": …, "parameters": {…}}}'
    )
