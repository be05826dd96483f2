"""Arguments against a JSON Schema: the words of it that decide what a tool can do with them.

Read are `type`, `enum`, `const`, `required`, `properties`, `items`, `prefixItems`, `additionalProperties`,
`anyOf`, `oneOf`, `allOf` and `$ref` into the root's `$defs`, at every depth; every other keyword is left to
the tool. Promises: each problem names the field, what was expected and what it got. Nothing is coerced; an
integer may stand for a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from sidestream.messages import clean

__all__ = ["MISSING", "listed", "problems", "shown", "unknown"]

MISSING = "required, and missing"

_MOST = 12  # problems told of one call
_SHOWN = 60  # characters of a bad value

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
_WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_NAMES = {dict: "object", list: "array", type(None): "null"}


def listed(found: Iterator[str]) -> str:
    """The first of `found` as one text; empty if there are none."""
    texts = list(islice(found, _MOST + 1))
    return "; ".join([*texts[:_MOST], "and more"] if len(texts) > _MOST else texts)


def shown(value: Any) -> str:
    """`str ('three')`: a bad value with its type, no longer than a line."""
    name = _NAMES.get(type(value), type(value).__name__)
    return name if value is None else f"{name} ({_short(repr(value))})"


def unknown(name: str, known: Mapping[str, Any]) -> str:
    """What is said of an argument that does not exist."""
    return f"{_short(name)}: unknown; the arguments are {', '.join(known) or 'none'}"


def problems(value: Any, schema: Any, root: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """What is wrong with `value`, a text each. `root` is the schema that holds the `$defs`."""
    schema = _followed(schema, root)
    if not isinstance(schema, Mapping):
        return
    place = where or "arguments"
    kinds = _kinds(schema)
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{place}: expected {_or(kinds)}, got {shown(value)}"
        return
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(allowed, list) and not any(_same(value, one) for one in allowed):
        yield f"{place}: expected {' or '.join(map(repr, allowed))}, got {shown(value)}"
    for part in schema.get("allOf") or ():
        yield from problems(value, part, root, where)
    for branches in (schema.get("anyOf"), schema.get("oneOf")):
        if isinstance(branches, list) and branches:
            yield from _of_branches(value, branches, root, where)
    match value:
        case dict():
            yield from _of_members(value, schema, root, where)
        case list():
            yield from _of_items(value, schema, root, where)


def _of_branches(value: Any, branches: list[Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    """Nothing if one fits; else what is wrong with the one of the right type, if there is just one."""
    near: list[list[str]] = []
    kinds: list[str] = []
    for branch in branches:
        found = list(islice(problems(value, branch, root, where), _MOST + 1))
        if not found:
            return
        followed = _followed(branch, root)
        own = _kinds(followed) if isinstance(followed, Mapping) else []
        kinds += own
        if not own or any(_is(value, kind) for kind in own):
            near.append(found)
    if len(near) == 1:
        yield from near[0]
    elif near or not kinds:
        yield f"{where or 'arguments'}: fits none of its forms, got {shown(value)}"
    else:
        yield f"{where or 'arguments'}: expected {_or(kinds)}, got {shown(value)}"


def _of_members(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    known = schema.get("properties") or {}
    others = schema.get("additionalProperties", True)
    below = f"{where}." if where else ""
    for name in schema.get("required") or ():
        if name not in value:
            yield f"{below}{name}: {MISSING}"
    for name, item in value.items():
        if name in known:
            yield from problems(item, known[name], root, below + name)
        elif others is False:
            yield below + unknown(name, known)
        else:
            yield from problems(item, others, root, below + _short(name))


def _of_items(value: list[Any], schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    first = schema.get("prefixItems") or []
    for index, item in enumerate(value):
        rule = first[index] if index < len(first) else schema.get("items")
        yield from problems(item, rule, root, f"{where}[{index}]")


def _followed(schema: Any, root: Mapping[str, Any]) -> Any:
    seen = 0
    while isinstance(schema, Mapping) and isinstance(ref := schema.get("$ref"), str) and seen < 32:
        defs = root.get("$defs") or root.get("definitions") or {}
        schema, seen = defs.get(ref.rpartition("/")[2]), seen + 1
    return schema


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type")
    return [kinds] if isinstance(kinds, str) else list(kinds or ())


def _or(kinds: list[str]) -> str:
    return " or ".join(dict.fromkeys(_WORDS.get(kind, kind) for kind in kinds))


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean" or kind not in _TYPES
    return isinstance(value, _TYPES.get(kind, (object,)))


def _same(value: Any, one: Any) -> bool:
    return bool(value == one) and isinstance(value, bool) == isinstance(one, bool)


def _short(text: str) -> str:
    text = clean(text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
