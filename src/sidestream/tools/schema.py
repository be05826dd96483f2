"""From types to a JSON Schema, and from JSON values to checked values of those types. msgspec does both.

Promises: nothing is coerced (an integer may stand for a float); references are written out where that costs
no repetition, what is recursive or used twice stays in the root's `$defs`; a type that JSON cannot carry
raises `UsageError` naming the parameter. Pydantic's models work wherever a type may stand: they are known by
their methods, never imported.
"""

from __future__ import annotations

import re
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec

from sidestream.codec import encode
from sidestream.errors import UsageError
from sidestream.tools.check import problems, shown

__all__ = ["converted", "object_schema", "property_schemas", "with_notes", "wrong"]

_REF = "#/$defs/"
_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")
_SUBSCHEMAS = ("items", "additionalProperties", "not")
_LEFT_OUT = ("$defs", "title", "discriminator")  # gathered, noise, and no JSON Schema
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_NO_SCHEMA = (TypeError, ValueError, NameError, RuntimeError, NotImplementedError)  # msgspec's and pydantic's
_MESSAGE = re.compile(r"(?s)(.*?)(?: - at `(\$.*?)`)?\Z")


# ---- types to schemas


def with_notes(kind: Any, words: str, *, or_none: bool = False) -> Any:
    """`kind` with a description (its own `Annotated[…, "words"]`, else `words`), and with the bounds that
    pydantic's `Field` or annotated-types put on it; `or_none`: None will do too."""
    notes = getattr(kind, "__metadata__", ())
    own = [note for note in notes if isinstance(note, msgspec.Meta)]
    said = [note if isinstance(note, str) else getattr(note, "description", None) for note in notes]
    texts = [text for text in said if isinstance(text, str)]
    given: dict[str, Any] = {}
    for note in (inner for outer in notes for inner in (outer, *getattr(outer, "metadata", ()))):
        if not isinstance(note, str | msgspec.Meta):
            given |= {b: v for b in _BOUNDS if (v := getattr(note, b, None)) is not None}
    if texts or words:
        given["description"] = " ".join(texts) or words
    plain = kind.__origin__ if notes else kind
    if or_none and plain is not Any:
        plain = plain | None if isinstance(plain, type) else typing.Optional[plain]  # noqa: UP045
    metas = [*own, msgspec.Meta(**given)] if given else own
    return Annotated[(plain, *metas)] if metas else plain


def property_schemas(kinds: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The schemas of parameters by name; what one refers to is in its `$defs`. Raises UsageError."""
    try:
        schemas, shared = _described(kinds.values())
    except _NO_SCHEMA:
        for name, kind in kinds.items():
            try:
                _described([kind])
            except _NO_SCHEMA as error:
                why = " ".join(str(error).strip().splitlines()[-1:]) or type(error).__name__
                raise UsageError(
                    f"parameter {name!r} has a type that JSON cannot carry ({why}); annotate it with one that "
                    "can: str, int, float, bool, list, dict, Literal, an Enum, a dataclass, a msgspec Struct …"
                ) from error
        raise
    return {
        name: {**schema, "$defs": {**schema.get("$defs", {}), **shared}}
        for name, schema in zip(kinds, schemas, strict=True)
    }


def _described(kinds: Iterable[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return msgspec.json.schema_components(kinds, schema_hook=_model_schema, ref_template=_REF + "{name}")


def _model_schema(kind: type) -> dict[str, Any]:
    """A pydantic model's own schema; its definitions get names of their own."""
    describe = getattr(kind, "model_json_schema", None)
    if describe is None:
        raise NotImplementedError(f"type {kind.__qualname__} is not supported")
    own = f"{kind.__name__}."
    schema: dict[str, Any] = dict(describe(ref_template=_REF + own + "{model}"))
    inner = schema.pop("$defs", {})
    return {**schema, "$defs": {own + name: body for name, body in inner.items()}} if inner else schema


def object_schema(
    properties: Mapping[str, Mapping[str, Any]], required: list[str], *, open_ended: bool
) -> dict[str, Any]:
    """The schema of the arguments: `properties` by name, each with the `$defs` it needs."""
    defs: dict[str, Any] = {}
    bodies: list[Any] = [*properties.values()]
    for body in bodies:
        for one in _each(body):
            for name, inner in one.get("$defs", {}).items():
                if defs.setdefault(name, inner) is inner:
                    bodies.append(inner)
                elif defs[name] != inner:
                    raise UsageError(f"two types are named {name.rpartition('.')[2]!r}; rename one")
    uses = Counter(one["$ref"] for body in bodies for one in _each(body) if "$ref" in one)
    out: dict[str, Any] = {"type": "object"}
    out["properties"] = {name: _written_out(schema, defs, uses, (), top=True) for name, schema in properties.items()}
    if required:
        out["required"] = required
    out["additionalProperties"] = open_ended
    kept = _kept(out, {name: _written_out(defs[name], defs, uses, (name,)) for name in defs})
    return {**out, "$defs": kept} if kept else out


def _written_out(
    schema: Any, defs: Mapping[str, Any], uses: Counter[str], path: tuple[str, ...], *, top: bool = False
) -> Any:
    """`schema` with its references replaced where that is short, and without titles."""
    if not isinstance(schema, Mapping):
        return schema
    node = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    name = str(node.get("$ref", "")).removeprefix(_REF)
    if name in defs and name not in path and not _recursive(name, defs):
        short = top or uses[_REF + name] == 1 or "enum" in defs[name]
        if short:
            del node["$ref"]
            return _written_out({**defs[name], **node}, defs, uses, (*path, name))
    for key, value in node.items():
        if key == "properties":
            node[key] = {one: _written_out(inner, defs, uses, path) for one, inner in value.items()}
        elif key in _LISTS:
            node[key] = [_written_out(inner, defs, uses, path) for inner in value]
        elif key in _SUBSCHEMAS:
            node[key] = _written_out(value, defs, uses, path)
    if "enum" in node and "type" not in node:  # some providers want both
        kinds = {_TYPES.get(type(value), "") for value in node["enum"]}
        node = {"type": kinds.pop(), **node} if len(kinds) == 1 and "" not in kinds else node
    return node


def _recursive(name: str, defs: Mapping[str, Any]) -> bool:
    found, ahead = set[str](), [name]
    while ahead:
        for schema in _each(defs.get(ahead.pop(), {})):
            ref = str(schema.get("$ref", "")).removeprefix(_REF)
            if ref == name:
                return True
            if ref and ref not in found:
                found.add(ref)
                ahead.append(ref)
    return False


def _kept(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `defs` that `schema` still refers to, and what they refer to."""
    found: dict[str, Any] = {}
    ahead: list[Any] = [schema]
    while ahead:
        for one in _each(ahead.pop()):
            name = str(one.get("$ref", "")).removeprefix(_REF)
            if name in defs and name not in found:
                found[name] = defs[name]
                ahead.append(defs[name])
    return found


def _each(schema: Any) -> Iterator[Mapping[str, Any]]:
    """`schema` and every schema in it, its `$defs` left out."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from _each(inner)
    for key in _LISTS:
        for inner in schema.get(key) or ():
            yield from _each(inner)
    for key in _SUBSCHEMAS:
        yield from _each(schema.get(key))


# ---- values to types


def converted(value: Any, kind: Any) -> Any:
    """`value`, plain JSON data, as `kind`. Raises msgspec.ValidationError."""
    return msgspec.convert(value, kind, dec_hook=_model_value, str_keys=True)


def _model_value(kind: type, value: Any) -> Any:
    check = getattr(kind, "model_validate_json", None)
    if check is None:
        raise NotImplementedError(f"no {kind.__qualname__} can be made from JSON")
    try:
        return check(encode(value), strict=True)
    except ValueError as error:
        raise ValueError(_model_said(error)) from error


def _model_said(error: ValueError) -> str:
    """A pydantic error in one line: its fields, what was expected and what it got."""
    listed: Any = getattr(error, "errors", None)
    if listed is None:
        return str(error)
    told: list[str] = []
    rows: list[Any] = listed(include_url=False, include_context=False)
    for one in rows:
        place = ".".join(map(str, one["loc"]))
        said = f"{one['msg']}, got {shown(one['input'])}"
        told.append(f"{place}: {said}" if place else said)
    return "; ".join(told)


def wrong(name: str, value: Any, schema: Any, root: Mapping[str, Any], error: Exception) -> Iterator[str]:
    """What is wrong with an argument that did not convert: in the schema's words where they tell it, else
    in those of `error`."""
    told = False
    for text in problems(value, schema, root, name):
        told = True
        yield text
    if told:
        return
    text, path = typing.cast("re.Match[str]", _MESSAGE.match(str(error))).groups()
    text = text.replace("`", "")
    text = text[:1].lower() + text[1:] if text.startswith("Expected") else text
    yield f"{name}{(path or '$')[1:]}: {text}" + ("" if ", got " in text or path else f", got {shown(value)}")
