"""From the text of an argument to its value. Nothing is repaired, nothing is guessed.

A JSON body is an object, `null` or nothing (both `{}`), or a string that holds a JSON object; duplicate
keys, NaN and Infinity are not JSON (RFC 8259 leaves the first open and has no room for the others). A
text value gets the type its schema names where it reads as one, and stays a string where it does not:
validation then answers the model. Raises `ValueError` only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from sidestream.messages import ToolSpec, clean

__all__ = ["arguments", "as_arguments", "decode_entities", "dumps", "each_text", "loads", "typed", "typed_by"]

_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_NAMES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}
_DEEPEST = 8  # references in a row
_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


_decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
_lax_decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite, strict=False)


def loads(text: str, *, lax: bool = False) -> Any:
    """The JSON value of `text`; with `lax`, control characters may stand in strings. Raises ValueError only."""
    try:
        return (_lax_decoder if lax else _decoder).decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def dumps(value: Any) -> str:
    """`value` as JSON text in which no marker can stand: `<` is written as its escape."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ")).replace("<", "\\u003c")


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """`value` (JSON data) with `change` applied to every string in it, keys too."""
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): each_text(item, change) for key, item in value.items()}
        case list():
            return [each_text(item, change) for item in value]
        case _:
            return value


def arguments(text: str, *, lax: bool = False) -> dict[str, Any]:
    """The arguments object that `text` holds. Raises ValueError if it holds none."""
    value = as_arguments(loads(text, lax=lax) if text and not text.isspace() else None, lax=lax)
    if "\\u" in text or "\\U" in text or not text.isascii():
        value = each_text(value, clean)
    return value


def as_arguments(value: Any, *, lax: bool = False) -> dict[str, Any]:
    """The arguments object that a JSON value is, or is a text of. Raises ValueError if it is none."""
    if isinstance(value, str):
        inside = loads(value, lax=lax)
        value = inside if isinstance(inside, dict) else value
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"arguments must be a JSON object, got {str(value)[:40]}")
    return value


def _entity(found: re.Match[str]) -> str:
    name, decimal, hexadecimal = found.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return found[0]
    return chr(code)


def decode_entities(text: str) -> str:
    """`text` with the five XML entities and numeric ones decoded, each exactly once."""
    return _ENTITY.sub(_entity, text) if "&" in text else text


def _kinds(schema: Any, whole: Mapping[str, Any], depth: int = 0) -> set[str]:
    """The JSON types a schema allows; empty if it is open."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return set()
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.rpartition("/")[2]
        shared = whole.get("$defs") or whole.get("definitions") or {}
        return _kinds(shared.get(name), whole, depth + 1)
    if (kinds := schema.get("type")) is not None:
        return {kinds} if isinstance(kinds, str) else set(kinds)
    for key in ("anyOf", "oneOf", "allOf"):
        if options := schema.get(key):
            found = [_kinds(option, whole, depth + 1) for option in options]
            return set().union(*found) if all(found) or key == "allOf" else set()
    values = [schema["const"]] if "const" in schema else schema.get("enum") or ()
    return {_NAMES[type(value)] for value in values if type(value) in _NAMES}


def typed(text: str, name: str, spec: ToolSpec | None) -> Any:
    """`text` as the type that the schema of argument `name` asks for; the text itself if it does not fit."""
    return typed_by(text, spec.properties.get(name), spec.schema) if spec else text


def typed_by(text: str, schema: Any, whole: Mapping[str, Any]) -> Any:
    """`text` as the type that `schema`, a part of the schema `whole`, asks for; the text itself if it does not fit."""
    kinds = _kinds(schema, whole)
    if not kinds or "string" in kinds:
        return text
    if "null" in kinds and text.strip() == "null":
        return None
    if "boolean" in kinds and text.strip() in _BOOLEANS:
        return _BOOLEANS[text.strip()]
    try:
        value = loads(text)
    except ValueError:
        return text
    if "number" in kinds:
        kinds = kinds | {"integer"}
    return value if _NAMES.get(type(value)) in kinds else text
