"""How tools are listed for a model: one pure function for each form that models were trained to read.

`LISTINGS` is the table of them. Promises: every tool is there with its name, its description and its arguments;
the same specs give the same text (keywords of a schema stand in one order, properties in the order given), so
that prompt caches keep. It writes no opening or closing delimiter of the whole list and no word on how to call:
those belong to a lesson. It will not check a schema: what it does not know is shown as it is, or as "any".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sidestream.messages import ToolSpec

__all__ = ["LISTINGS"]

_ORDER = ("type", "title", "description", "enum", "const", "default", "properties", "required", "items")
_SCHEMAS = ("items", "additionalProperties", "not")  # keywords that hold one schema, a list, or a map of them
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions", "patternProperties")
_PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
_TYPESCRIPT = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


# ---- schemas ----------------------------------------------------------------------


def _ordered(schema: Any) -> Any:
    """`schema` with its keywords in one order; the names and values in it stay as they are."""
    if not isinstance(schema, Mapping):
        return schema
    keys = [key for key in _ORDER if key in schema] + sorted(key for key in schema if key not in _ORDER)
    return {key: _ordered_below(key, schema[key]) for key in keys}


def _ordered_below(key: str, value: Any) -> Any:
    if key in _MAPS and isinstance(value, Mapping):
        return {name: _ordered(schema) for name, schema in value.items()}
    if key in _LISTS and isinstance(value, list):
        return [_ordered(schema) for schema in value]
    return _ordered(value) if key in _SCHEMAS else value


def _whole(spec: ToolSpec) -> Mapping[str, Any]:
    """The schema for forms that have no room for shared definitions: each stands where it is referred to."""
    shared = {**_mapping(spec.schema.get("definitions")), **_mapping(spec.schema.get("$defs"))}
    own = {key: value for key, value in spec.schema.items() if key not in ("definitions", "$defs")}
    return _mapping(_inlined(own, shared, ())) if shared else own


def _inlined(schema: Any, shared: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    """`schema` without references; one that goes round in a circle is left out."""
    if isinstance(schema, list):
        return [_inlined(item, shared, inside) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if not isinstance(reference := schema.get("$ref"), str):
        return {key: _inlined(value, shared, inside) for key, value in schema.items()}
    name = reference.rpartition("/")[2]
    found = {} if name in inside else _mapping(shared.get(name))
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return _inlined({**found, **beside}, shared, (*inside, name))


def _function(spec: ToolSpec) -> dict[str, Any]:
    parameters = _ordered(spec.schema) or {"type": "object", "properties": {}}
    return {"name": spec.name, "description": spec.description, "parameters": parameters}


def _openai(spec: ToolSpec) -> dict[str, Any]:
    return {"type": "function", "function": _function(spec)}


def _properties(schema: Any) -> dict[str, Mapping[str, Any]]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return {key: _mapping(value) for key, value in _mapping(found).items()}


def _required(schema: Any) -> Sequence[str]:
    found = schema.get("required") if isinstance(schema, Mapping) else None
    return found if isinstance(found, list | tuple) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else [str(item) for item in kind or ()]


def _kind(schema: Mapping[str, Any]) -> str:
    """The one type of an argument, where a form has room for one only."""
    return next((kind for kind in _kinds(schema) if kind != "null"), "any")


# ---- JSON -------------------------------------------------------------------------


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _openai_lines(specs: Sequence[ToolSpec]) -> str:
    return "\n".join(_json(_openai(spec)) for spec in specs)


def _function_lines(specs: Sequence[ToolSpec]) -> str:
    return "\n".join(_json(_function(spec)) for spec in specs)


def _tool_lines(specs: Sequence[ToolSpec]) -> str:
    return "\n".join(f"<tool>{_json(_function(spec))}</tool>" for spec in specs)


def _openai_array(specs: Sequence[ToolSpec]) -> str:
    return _json([_openai(spec) for spec in specs])


def _function_array(specs: Sequence[ToolSpec]) -> str:
    return _json([_function(spec) for spec in specs])


def _compact_array(specs: Sequence[ToolSpec]) -> str:
    return json.dumps([_openai(spec) for spec in specs], ensure_ascii=False, separators=(",", ":"))


def _sorted_array(specs: Sequence[ToolSpec]) -> str:
    tools = [_openai(spec) for spec in specs]
    return json.dumps(tools, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _flat_array(specs: Sequence[ToolSpec]) -> str:
    """Inkling's: the type beside the name, everything sorted and compact."""
    tools = [{**_function(spec), "type": "function"} for spec in specs]
    return json.dumps(tools, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _cohere_array(specs: Sequence[ToolSpec]) -> str:
    """A tool a line, with room for the schema of its results, which we do not know."""
    lines = ",\n".join(f"    {_json({**_function(spec), 'responses': None})}" for spec in specs)
    return f"[\n{lines}\n]"


def _indented_array(specs: Sequence[ToolSpec]) -> str:
    return json.dumps([_openai(spec) for spec in specs], ensure_ascii=False, indent=4)


def _indented_objects(specs: Sequence[ToolSpec]) -> str:
    return "\n\n".join(json.dumps(_openai(spec), ensure_ascii=False, indent=4) for spec in specs)


def _headings(specs: Sequence[ToolSpec]) -> str:
    """A heading, the description and the schema of each tool, as DeepSeek V3.1 has them."""
    return "\n\n".join(
        f"### {spec.name}\nDescription: {spec.description}\n\nParameters: {_json(_function(spec)['parameters'])}"
        for spec in specs
    )


def _sections(specs: Sequence[ToolSpec]) -> str:
    """LongCat's: a section of headings for each tool, its schema indented."""
    schemas = [json.dumps(_function(spec)["parameters"], ensure_ascii=False, indent=2) for spec in specs]
    return "\n\n".join(
        f"#### Tool name: {spec.name}\n\nDescription: {spec.description}\n\nInputSchema:\n{schema}"
        for spec, schema in zip(specs, schemas, strict=True)
    )


# ---- tags -------------------------------------------------------------------------


def _qwen_xml(specs: Sequence[ToolSpec]) -> str:
    return "\n".join(_qwen_function(spec) for spec in specs)


def _qwen_function(spec: ToolSpec) -> str:
    lines = ["<function>", f"<name>{spec.name}</name>", f"<description>{spec.description}</description>"]
    lines.append("<parameters>")
    for key, schema in _properties(spec.schema).items():
        lines += ["<parameter>", f"<name>{key}</name>", *_elements(_ordered(schema)), "</parameter>"]
    others = {word: value for word, value in _ordered(spec.schema).items() if word not in ("type", "properties")}
    return "\n".join([*lines, *_elements(others), "</parameters>", "</function>"])


def _elements(schema: Mapping[str, Any]) -> list[str]:
    return [f"<{word}>{_plain(value)}</{word}>" for word, value in schema.items()]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _xml_tool(specs: Sequence[ToolSpec]) -> str:
    return "\n".join(_xml_description(spec) for spec in specs)


def _xml_description(spec: ToolSpec) -> str:
    schema = _whole(spec)
    required = _required(schema)
    lines = ["<tool_description>", f"<tool_name>{spec.name}</tool_name>"]
    lines += [f"<description>{spec.description}</description>", "<parameters>"]
    for key, below in _properties(schema).items():
        lines += ["<parameter>", f"<name>{key}</name>", f"<type>{_kind(below)}</type>"]
        lines += [f"<description>{_words(below, key in required)}</description>", "</parameter>"]
    return "\n".join([*lines, "</parameters>", "</tool_description>"])


def _words(schema: Mapping[str, Any], required: bool) -> str:
    """What is said of an argument beside its name and its type."""
    words = [str(schema["description"])] if schema.get("description") else []
    if schema.get("enum"):
        words.append("one of " + ", ".join(map(_plain, schema["enum"])))
    if not required:
        words.append("optional")
    return "; ".join(words)


# ---- code and prose ---------------------------------------------------------------


def _typescript(specs: Sequence[ToolSpec]) -> str:
    """Harmony's namespace."""
    types = "\n\n".join(_type(spec, "") for spec in specs)
    return f"namespace functions {{\n\n{types}\n\n}} // namespace functions"


def _typescript_indented(specs: Sequence[ToolSpec]) -> str:
    """GigaChat's namespace: no blank line after its head, arguments indented."""
    types = "\n\n".join(_type(spec, "  ") for spec in specs)
    return f"namespace functions {{\n{types}\n\n}} // namespace functions"


def _typescript_types(specs: Sequence[ToolSpec]) -> str:
    """The types alone, as Apertus has them."""
    return "\n".join(_type(spec, "") for spec in specs)


def _type(spec: ToolSpec, indent: str) -> str:
    comment, schema = _comment(spec.description, ""), _whole(spec)
    if not _properties(schema):
        return f"{comment}type {spec.name} = () => any;"
    return f"{comment}type {spec.name} = (_: {_object(schema, indent)}) => any;"


def _comment(text: Any, indent: str) -> str:
    return "".join(f"{indent}// {line}\n" for line in str(text or "").splitlines())


def _object(schema: Mapping[str, Any], indent: str) -> str:
    required = _required(schema)
    lines: list[str] = []
    for key, below in _properties(schema).items():
        default = f" // default: {_json(below['default'])}" if "default" in below else ""
        mark = "" if key in required else "?"
        lines.append(f"{_comment(below.get('description'), indent)}{indent}{key}{mark}: ")
        lines.append(f"{_typed(below, indent + '  ')},{default}\n")
    return "{\n" + "".join(lines) + indent[:-2] + "}"


def _typed(schema: Mapping[str, Any], indent: str) -> str:
    """The TypeScript type of an argument; "any" where its schema says more than TypeScript would here."""
    values = [schema["const"]] if "const" in schema else schema.get("enum") or ()
    if values:
        return " | ".join(_json(value) for value in values)
    options = schema.get("anyOf") or schema.get("oneOf") or [{**schema, "type": kind} for kind in _kinds(schema)]
    if len(options) != 1 or not _kinds(schema):
        return " | ".join(dict.fromkeys(_typed(_mapping(option), indent) for option in options)) or "any"
    kind = _kind(schema) if _kinds(schema) != ["null"] else "null"
    if kind == "array":
        inner = _typed(_mapping(schema.get("items")), indent)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object":
        return _object(schema, indent) if _properties(schema) else "object"
    return _TYPESCRIPT.get(kind, "any")


def _python(specs: Sequence[ToolSpec]) -> str:
    return "\n\n".join(_def(spec) for spec in specs)


def _def(spec: ToolSpec) -> str:
    whole = _whole(spec)
    required, properties = _required(whole), _properties(whole)
    kinds = {key: _PYTHON.get(_kind(schema), "Any") for key, schema in properties.items()}
    heads = ",".join(f"\n        {key}: {kind}" for key, kind in kinds.items())
    lines = ["Function:", f"def {spec.name}({heads}):", '    """', f"    {spec.description}"]
    if properties:
        lines += ["", "    Args:"]
    for key, schema in properties.items():
        need = "required" if key in required else "optional"
        lines += [f"    - {key} ({kinds[key]}) [{need}]: {_words(schema, True)}".rstrip()]
    return "\n".join([*lines, '    """'])


def _markdown(specs: Sequence[ToolSpec]) -> str:
    return "\n".join(_item(spec) for spec in specs)


def _item(spec: ToolSpec) -> str:
    whole = _whole(spec)
    required = _required(whole)
    lines = [f"- {spec.name}: {spec.description}"]
    for key, schema in _properties(whole).items():
        kind = " or ".join(_kinds(schema)) or "any"
        words = _words(schema, key in required)
        lines.append(f"  - {key} ({kind}): {words}" if words else f"  - {key} ({kind})")
    return "\n".join(lines)


# ---- Gemma's declarations ---------------------------------------------------------


def _gemma(specs: Sequence[ToolSpec]) -> str:
    declared = (_declaration(spec, '<|"|>') for spec in specs)
    return "".join(f"<|tool>{text}<tool|>" for text in declared)


def _functiongemma(specs: Sequence[ToolSpec]) -> str:
    declared = (_declaration(spec, "<escape>") for spec in specs)
    return "".join(f"<start_function_declaration>{text}<end_function_declaration>" for text in declared)


def _declaration(spec: ToolSpec, quote: str) -> str:
    described = f"description:{quote}{spec.description}{quote}"
    return f"declaration:{spec.name}{{{described},parameters:{_declared({'type': 'object', **_whole(spec)}, quote)}}}"


def _declared(schema: Mapping[str, Any], quote: str) -> str:
    """A schema in Gemma's literals: types in capitals and last, every string in `quote`."""
    fields = []
    if schema.get("description"):
        fields.append(f"description:{quote}{schema['description']}{quote}")
    if "null" in _kinds(schema) or schema.get("nullable"):
        fields.append("nullable:true")
    if schema.get("enum"):
        fields.append(f"enum:{_literal(schema['enum'], quote)}")
    if properties := _properties(schema):
        inside = ",".join(f"{key}:{_declared(below, quote)}" for key, below in sorted(properties.items()))
        fields.append(f"properties:{{{inside}}}")
    if required := _required(schema):
        fields.append(f"required:{_literal(list(required), quote)}")
    if items := _mapping(schema.get("items")):
        fields.append(f"items:{_declared(items, quote)}")
    if kind := _kind(schema) if _kinds(schema) else "":
        fields.append(f"type:{quote}{kind.upper()}{quote}")
    return "{" + ",".join(fields) + "}"


def _literal(value: Any, quote: str) -> str:
    if isinstance(value, list | tuple):
        return "[" + ",".join(_literal(item, quote) for item in value) + "]"
    return f"{quote}{value}{quote}" if isinstance(value, str) else _json(value)


LISTINGS: dict[str, Callable[[Sequence[ToolSpec]], str]] = {
    "openai_lines": _openai_lines,
    "function_lines": _function_lines,
    "tool_lines": _tool_lines,
    "openai_array": _openai_array,
    "function_array": _function_array,
    "compact_array": _compact_array,
    "sorted_array": _sorted_array,
    "flat_array": _flat_array,
    "cohere_array": _cohere_array,
    "indented_array": _indented_array,
    "indented_objects": _indented_objects,
    "headings": _headings,
    "sections": _sections,
    "qwen_xml": _qwen_xml,
    "xml_tool": _xml_tool,
    "typescript": _typescript,
    "typescript_indented": _typescript_indented,
    "typescript_types": _typescript_types,
    "python": _python,
    "markdown": _markdown,
    "gemma": _gemma,
    "functiongemma": _functiongemma,
}
"""Listing styles by name."""
