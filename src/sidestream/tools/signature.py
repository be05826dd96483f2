"""From a function to what a model is told of it, and to the check of what the model gives.

Promises: name by name, the parameters' types and docstring words become one object schema; a signature that
a model cannot fill (positional-only, `*args`, `self`) raises `UsageError` that says the fix. An annotation
that nothing resolves stands for any value. It will not call the function, and knows no run: the type whose
parameters are injected is handed in.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from sidestream.errors import UsageError
from sidestream.tools.check import MISSING, listed, problems, unknown
from sidestream.tools.docstring import documented
from sidestream.tools.schema import converted, object_schema, property_schemas, with_notes, wrong

__all__ = ["Signature", "signature_of", "under_schema"]

_P = inspect.Parameter
_CONTEXT = re.compile(r"(?:\w+\.)*(?:Optional\[)?(?:\w+\.)*Context(?:\[.*\])?\]?(?:\s*\|\s*None)?\Z")


class Signature(NamedTuple):
    """What is known of a function: `context` is the parameter to inject into (`""`: none), `convert` gives
    the arguments as the function takes them or raises ValueError saying all that is wrong."""

    description: str
    schema: dict[str, Any]
    context: str
    convert: Callable[[Mapping[str, Any]], dict[str, Any]]


def signature_of(function: Callable[..., Any], context: type, names: Mapping[str, Any]) -> Signature:
    """Read `function`. `names` are the local names where it stands. Raises UsageError."""
    code = function.func if isinstance(function, functools.partial) else function
    injected, parameters = _split(function, context, names)
    open_ended = any(one.kind is _P.VAR_KEYWORD for one in parameters)
    parameters = [one for one in parameters if one.kind is not _P.VAR_KEYWORD]
    said = documented(_doc(code), [one.name for one in parameters])
    kinds: dict[str, Any] = {}
    for one in parameters:
        kind = Any if one.annotation is _P.empty else one.annotation
        try:
            kinds[one.name] = with_notes(kind, said.parameters.get(one.name, ""), or_none=one.default is None)
        except (TypeError, ValueError) as error:
            raise UsageError(f"parameter {one.name!r} has bounds that cannot be read: {error}") from error
    described = property_schemas(kinds)
    properties = {one.name: described[one.name] | _default(one.default) for one in parameters}
    required = [one.name for one in parameters if one.default is _P.empty]
    schema = object_schema(properties, required, open_ended=open_ended)

    def convert(args: Mapping[str, Any]) -> dict[str, Any]:
        made, found = _converted(args, kinds, schema)
        if found:
            raise ValueError(listed(iter(found)))
        return made

    return Signature(said.text, schema, injected, convert)


def _converted(
    args: Mapping[str, Any], kinds: Mapping[str, Any], schema: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments as values of their types, and what is wrong with them."""
    made: dict[str, Any] = {}
    found = [f"{name}: {MISSING}" for name in schema.get("required", ()) if name not in args]
    for name, value in args.items():
        if name not in kinds:
            made[name] = value
            if not schema["additionalProperties"]:
                found.append(unknown(name, kinds))
            continue
        try:
            made[name] = converted(value, kinds[name])
        except (msgspec.ValidationError, OverflowError) as error:
            found += wrong(name, value, schema["properties"][name], schema, error)
    return made, found


def under_schema(schema: Mapping[str, Any], function: Callable[..., Any], context: type) -> Signature:
    """Read `function`, which takes what `schema` says, by name. Raises UsageError."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise UsageError(f"a tool's schema must be that of an object, {{'type': 'object', …}}, not {schema!r}")
    whole: dict[str, Any] = {"type": "object", "properties": {}, **copy.deepcopy(dict(schema))}
    properties = whole["properties"]
    if not isinstance(properties, Mapping):
        raise UsageError(f"a tool's schema has `properties` that are no object: {properties!r}")
    if not callable(function):
        raise UsageError(f"a tool is made from a function, not from {function!r}")
    injected, parameters = _split(function, context, {})
    takes = {one.name: one for one in parameters if one.kind is not _P.VAR_KEYWORD}
    open_ended = len(takes) < len(parameters)
    for name in properties:
        if name not in takes and not open_ended:
            raise UsageError(f"the schema has {name!r}, which {function!r} does not take")
    for name, one in takes.items():
        if one.default is _P.empty and name not in properties:
            raise UsageError(
                f"{function!r} takes {name!r}, which the schema does not have; it is called with the "
                "schema's arguments by name"
            )

    def convert(args: Mapping[str, Any]) -> dict[str, Any]:
        found = problems(dict(args), whole, whole)
        odd = (unknown(name, takes) for name in args if not (open_ended or name in takes))
        if text := listed(itertools.chain(found, odd)):
            raise ValueError(text)
        return dict(args)

    return Signature("", whole, injected, convert)


def _split(
    function: Callable[..., Any], context: type, names: Mapping[str, Any]
) -> tuple[str, list[inspect.Parameter]]:
    """The parameter to inject into, and those that a model fills, with their types as annotations."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError, NameError) as error:
        raise UsageError(f"{function!r} has no signature to read: {error}") from error
    bound = function.keywords if isinstance(function, functools.partial) else {}
    injected, kept = "", list[inspect.Parameter]()
    for place, one in enumerate(found):
        if one.name in bound:  # given already; often a secret
            continue
        _fillable(one, place)
        hint = _hint(function, one, names)
        if not _is_context(hint, context):
            kept.append(one.replace(annotation=Any if isinstance(hint, str) else hint))
        elif injected:
            raise UsageError(f"parameters {injected!r} and {one.name!r} are both a Context; one is enough")
        else:
            injected = one.name
    return injected, kept


def _fillable(one: inspect.Parameter, place: int) -> None:
    if one.kind is _P.POSITIONAL_ONLY:
        raise UsageError(
            f"parameter {one.name!r} is positional-only, and a model gives all arguments by name; "
            "take the '/' out of the signature, or wrap the function"
        )
    if one.kind is _P.VAR_POSITIONAL:
        raise UsageError(f"a model gives all arguments by name, and '*{one.name}' has none; take {one.name}: list[…]")
    if place == 0 and one.name in ("self", "cls"):
        raise UsageError(
            f"{one.name!r} is not for a model to give; make the tool of the bound method: tool(thing.method)"
        )


def _hint(function: Callable[..., Any], one: inspect.Parameter, names: Mapping[str, Any]) -> Any:
    """Its type; a text where its annotation cannot be resolved."""
    if one.annotation is _P.empty:
        return _P.empty
    code: Any = function.func if isinstance(function, functools.partial) else function
    code = code if inspect.isroutine(code) else type(code).__call__
    code = inspect.unwrap(code)
    known = {**getattr(code, "__globals__", {}), **_closure(code)}
    holder = types.SimpleNamespace(__annotations__={one.name: one.annotation})
    for scope in (known, {**known, **names}):
        try:
            return typing.get_type_hints(holder, scope, scope, include_extras=True)[one.name]
        except (NameError, TypeError, AttributeError, SyntaxError):
            continue
    return one.annotation if isinstance(one.annotation, str) else repr(one.annotation)


def _closure(code: Any) -> dict[str, Any]:
    try:
        return dict(inspect.getclosurevars(code).nonlocals)
    except (TypeError, ValueError):
        return {}


def _is_context(hint: Any, context: type) -> bool:
    if isinstance(hint, str):
        return _CONTEXT.match(hint.strip()) is not None
    return any(one is context for one in _within(hint))


def _within(hint: Any) -> Iterator[Any]:
    """`hint` without what is around it: `Annotated`, a union's members, a generic's class."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        yield from _within(typing.get_args(hint)[0])
    elif origin in (typing.Union, types.UnionType):
        for member in typing.get_args(hint):
            yield from _within(member)
    else:
        yield hint if origin is None else origin


def _default(value: Any) -> dict[str, Any]:
    """`value` as a schema's `default`; nothing where JSON cannot say it."""
    if value is _P.empty:
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value))}
    except (TypeError, ValueError, RecursionError):
        return {}


def _doc(code: Any) -> str | None:
    """The docstring of a function, or of what an object does when called."""
    if not inspect.isroutine(code):
        return type(code).__call__.__doc__ or inspect.getdoc(type(code))
    return inspect.getdoc(code)
