"""Arguments a call could have: a tool's schema and the user's words → a few whole argument objects.

Each parameter gets the values that the text offers for its kind; what a parameter is about is read off
its schema's `format`, else its name and description (a table of patterns). The model then chooses among the
combinations, under a grammar. Promises: every value is a word, number or span of the user's text, or one
the schema lists; a required parameter without a value makes the tool impossible (an empty list). Best first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from sidestream.messages import ToolSpec
from sidestream.providers.local import measures, spans, sums
from sidestream.providers.local.spoken import accounts

__all__ = ["Offer", "offer", "reckons"]

_MOST = 12  # combinations
_LOOKED_AT = 600  # characters of a message that are searched for arguments
_CHOICES = 4  # values a parameter


class Offer(NamedTuple):
    """What a text offers a tool: argument objects, and how much their being there speaks for the tool.
    `more`: those of further calls, where the text names several places in a row."""

    args: list[dict[str, Any]]
    bonus: float = 0.0
    more: list[dict[str, Any]] = []


class _Text(NamedTuple):
    """One request (its beginning, where it is long), the whole of it, and its operators, best first."""

    text: str
    whole: str
    operators: Sequence[str]


_KINDS: Sequence[tuple[str, str]] = (  # kind, pattern of `name: description`; the first that matches
    ("arithmetic", r"arithmetic|\bexpressions?\b|\bequation|\bformula\b|\bcalculation"),
    ("from_unit", r"^(?:from|source|input)_?units?\b|^units?_?from\b"),
    ("to_unit", r"^(?:to|target|output)_?units?\b|^units?_?to\b"),
    (
        "quantity",
        r"quantity and|units? (?:it is|to be) (?:wanted|converted)|\bto convert\b|with (?:its|a"
        r"|the) units?",
    ),
    ("zone", r"time ?_?-?zone|^zone\b|^tz\b"),
    ("email", r"e-?mail|^recipient"),
    ("url", r"\burls?\b|\blink\b|web ?page|^uri\b"),
    ("code", r"^(?:symbol|ticker|code|isin|sku|id)\b|_(?:id|code|symbol)\b"),
    ("origin", r"^(?:from|origin|source|departure|start)(?:_\w+)?\b"),
    ("destination", r"^(?:to|destination|target|arrival|end|recipient|receiver)(?:_\w+)?\b"),
    (
        "place",
        r"^(?:city|place|location|town|country|where|address|region|area|room)\b|_(?:city|place"
        r"|location)\b",
    ),
    ("language", r"language|^lang\b"),
    ("date", r"^(?:date|day|when)\b|_date\b|^date_|\bdate\b"),
    ("name", r"^(?:name|person|who|user|contact|customer|author|artist)\b|_name\b"),
    ("verbatim", r"^(?:text|content|passage|sentence|paragraph|body|message|string|title|note)\b|exactly as"),
)


def _kind(name: str, schema: Mapping[str, Any]) -> str:
    known = {kind for kind, _ in _KINDS}
    stated = str(schema.get("format", ""))
    if stated in known:
        return stated
    about = f"{name.lower()}: {str(schema.get('description', '')).lower()}"
    return next((kind for kind, pattern in _KINDS if re.search(pattern, about)), "topic")


def reckons(spec: ToolSpec) -> bool:
    """True if the tool takes an arithmetic expression."""
    return any(isinstance(rule, dict) and _kind(name, rule) == "arithmetic" for name, rule in spec.properties.items())


def _arithmetic(request: _Text) -> list[str]:
    """The likeliest expression that leaves nothing out; a wrong answer is worse than none."""
    found = sums.written(request.text) or sums.stories(request.text, request.operators)
    whole = [expression for expression in found if accounts(expression, sums.undated(request.text))]
    return whole[:1] or sums.asked_alone(request.text)[:1]


def _quantity(request: _Text) -> list[str]:
    return [f"{number} {given} to {wanted}" for number, given, wanted in measures.quantity(request.text)]


def _one_of(request: _Text, *cues: str) -> list[str]:
    for cue in cues:
        if found := spans.after(request.text, cue):
            return found
    return []


def _destination(request: _Text) -> list[str]:
    return spans.emails(request.text) or _one_of(request, "to", "into", "for") or spans.capitals(request.text)[-1:]


def _origin(request: _Text) -> list[str]:
    return _one_of(request, "from") or spans.capitals(request.text)[:1]


_STRINGS: Mapping[str, Callable[[_Text], list[str]]] = {
    "arithmetic": _arithmetic,
    "quantity": _quantity,
    "from_unit": lambda request: [given for _, given, _ in measures.quantity(request.text)],
    "to_unit": lambda request: [wanted for _, _, wanted in measures.quantity(request.text)],
    "zone": lambda request: spans.zones(request.text),
    "origin": _origin,
    "destination": _destination,
    "place": lambda request: spans.places(request.text),
    "email": _destination,
    "url": lambda request: spans.links(request.text),
    "code": lambda request: spans.codes(request.text),
    "language": lambda request: _one_of(request, "into", "to", "in"),
    "date": lambda request: spans.dates(request.text),
    "name": lambda request: spans.quoted(request.text) or spans.capitals(request.text)
    or _one_of(request, "named", "called", "by", "to", "for", "with"),
    "verbatim": lambda request: spans.verbatim(request.whole),
    "topic": lambda request: spans.topic(request.text)[:_CHOICES],
}  # fmt: skip
_FALL_BACK = {
    "name",
    "code",
    "email",
    "verbatim",
    "place",
    "date",
    "destination",
    "origin",
    "language",
}  # required: the topic then


def _types(schema: Mapping[str, Any]) -> set[str]:
    stated = schema.get("type")
    found = set(stated) if isinstance(stated, list) else {stated} if isinstance(stated, str) else set()
    for option in (*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())):
        found |= _types(option)
    return found - {"null"} or {"string"}


def _listed(schema: Mapping[str, Any]) -> list[Any]:
    """The values a schema enumerates."""
    if "const" in schema:
        return [schema["const"]]
    found = list(schema.get("enum") or ())
    for option in (*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())):
        found += _listed(option)
    return [value for value in found if value is not None]


def _mentioned(values: Sequence[Any], text: str) -> list[Any]:
    """Those of `values` that the text names, also by a common stem (`high` in `higher`)."""
    words = re.findall(r"\w+", text.lower())
    found = []
    for value in values:
        parts = re.findall(r"[a-z0-9]+", str(value).lower())
        stems = [part[: max(4, len(part) - 3)] for part in parts]
        if parts and all(any(word.startswith(stem) for word in words) for stem in stems):
            found.append(value)
    return found


def _numbers(name: str, types: set[str], request: _Text) -> list[Any]:
    """The text's numbers, those that stand beside a word of the parameter's name first."""
    found = [number.rstrip("%") for number in sums.numbers(request.text)]
    stem = name.lower().replace("_", " ").split()[-1].rstrip("s")[:5]
    word = re.escape(stem)
    beside = rf"(\d[\d,.]*)\s*(?:[\w-]+\s+)?{word}|{word}\w*\s+(?:of\s+|is\s+|to\s+)?(\d[\d,.]*)"
    near = re.findall(beside, request.text, re.IGNORECASE)
    first = [(a or b).replace(",", "").rstrip(".") for a, b in near]
    ordered = list(dict.fromkeys([*[number for number in first if number in found], *found]))
    if "number" not in types:
        return [int(number) for number in ordered if "." not in number]
    return [float(number) if "." in number else int(number) for number in ordered]


def _values(name: str, schema: Mapping[str, Any], request: _Text, required: bool) -> list[Any]:
    types = _types(schema)
    if listed := _listed(schema):
        return _mentioned(listed, request.text) or (listed if required else [])
    if types & {"integer", "number"}:
        return _numbers(name, types, request)
    if "boolean" in types:
        return [True, False] if required else []
    if "array" in types:
        items = schema.get("items") or {}
        inner = _values(name, items if isinstance(items, dict) else {}, request, required)
        return [inner] if inner else []
    if "object" in types:
        return []
    kind = _kind(name, schema)
    found: list[Any] = list(_STRINGS[kind](request))
    if not found and required and kind in _FALL_BACK:
        found = spans.topic(request.text)[:1]
    if not required and kind == "topic":
        return spans.quoted(request.text)
    return found[:_CHOICES]


def _spread(values: dict[str, list[Any]], numeric: Sequence[str]) -> None:
    """Give parameters that drew from the same numbers different ones, in the text's order."""
    taken: list[Any] = []
    for name in numeric if len(numeric) > 1 else ():
        values[name] = [value for value in values[name] if value not in taken][:1]
        taken += values[name]


def offer(spec: ToolSpec, text: str, operators: Sequence[str] = "*+-/") -> Offer:
    """The argument objects that `text` offers `spec`; none if a required parameter stays empty."""
    needed = set(spec.schema.get("required") or ())
    request = _Text(text[:_LOOKED_AT], text, operators)
    found: dict[str, list[Any]] = {}
    numeric: list[str] = []
    bonus = 0.0
    for name, schema in spec.properties.items():
        rule = schema if isinstance(schema, dict) else {}
        values = _values(name, rule, request, name in needed)
        if not values and name in needed:
            return Offer([])
        if not values:
            continue
        found[name] = values
        if _types(rule) & {"integer", "number"} and not _listed(rule):
            numeric.append(name)
        bonus += _speaks(_kind(name, rule), request)
    _spread(found, numeric)
    if any(not values and name in needed for name, values in found.items()):
        return Offer([])
    found = {name: values for name, values in found.items() if values}
    combined = (dict(zip(found, values, strict=True)) for values in product(*found.values()))
    args = list(islice(combined, _MOST))
    return Offer(args, bonus, _more(spec, args[0], request.text))


def _more(spec: ToolSpec, args: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
    """The same call for each further place in a row: `Bern and Basel`."""
    for name, value in args.items():
        if isinstance(value, str) and _kind(name, spec.properties[name]) in ("place", "zone"):
            return [{**args, name: place} for place in spans.listed(text, value)[1:]]
    return []


def _speaks(kind: str, request: _Text) -> float:
    """A value of a telling kind is itself a reason for the tool."""
    match kind:
        case "arithmetic":
            return 0.15 if sums.written(request.text) else 0.08
        case "quantity" | "to_unit":
            known = all(measures.known(unit) for _, *units in measures.quantity(request.text) for unit in units)
            return 0.1 if known and len(sums.numbers(request.text)) < 2 else -0.15
        case "verbatim":
            return 0.0 if spans.verbatim(request.whole) else -0.15
        case _:
            return 0.0
