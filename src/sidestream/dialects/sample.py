"""An example call of a tool, to show a model how a format is written: each argument a value of its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sidestream.messages import ToolCall, ToolSpec

__all__ = ["sample"]

_VALUES: dict[str, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": ["…"], "object": {}, "null": None}


def sample(spec: ToolSpec) -> ToolCall:
    """A call of `spec` with its required arguments (all of them where none is required)."""
    wanted = list(spec.schema.get("required") or spec.properties)
    return ToolCall("1", spec.name, {key: _value(key, spec.properties.get(key)) for key in wanted}, "")


def _value(key: str, schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return f"the {key}"
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("examples", "enum"):
        if isinstance(schema.get(word), list) and schema[word]:
            return schema[word][0]
    kind = schema.get("type")
    return _VALUES.get(kind, f"the {key}") if isinstance(kind, str) else f"the {key}"
