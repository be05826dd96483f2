"""How the tag family is written and taught; its reader is `tags.py`. Pure text, the same call back when read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sidestream.dialects.inert import Escape
from sidestream.dialects.values import dumps, each_text
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["teach", "write"]

_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}\Z")
_UNSAFE = re.compile('[<>"\\s]')
_SCALAR = re.compile(r"\s*(?:[-\d\[{]|(?:true|false|null|True|False)\s*\Z)")  # a schema might make more of it


def write(
    call: ToolCall, escape: Escape, *, tag: str, ambiguous: Sequence[str], json: Sequence[str], nonce: str = ""
) -> str:
    """`<tag name="…">` with an element for each argument, or with JSON where one would not read back as itself.
    `ambiguous` are the elements that may mean the main argument, `json` those that hold JSON."""
    args = {escape(key): each_text(value, escape) for key, value in call.args.items()}
    special = (*json, tag, "param")
    if all(key not in special and _plain(key, value) for key, value in args.items()):
        body = "".join(_element(key, value, key in ambiguous) for key, value in args.items())
    else:
        body = f"<{json[0]}>{dumps(args)}</{json[0]}>"
    name = _UNSAFE.sub("_", call.name)  # another format's name may hold what no attribute can
    return f'<{tag} name="{name}"{_signed(nonce)}>{body}</{tag}>'


def _signed(nonce: str) -> str:
    return f' nonce="{nonce}"' if nonce else ""


def _plain(key: str, value: object) -> bool:
    """True if an element can carry it, whatever type its schema names."""
    return isinstance(value, str) and bool(_NAME.match(key)) and not _SCALAR.match(value)


def _element(key: str, value: str, by_full_name: bool) -> str:
    opening, closing = (f'param name="{key}"', "param") if by_full_name else (key, key)
    if ("<" in value or "&" in value) and "]]>" not in value:
        text = f"<![CDATA[{value}]]>"
    else:
        text = value.replace("&", "&amp;").replace("<", "&lt;")
    return f"<{opening}>{text}</{closing}>"


def teach(specs: Sequence[ToolSpec], *, tag: str, nonce: str = "") -> str:
    """What a model must be told to write blocks of these tools."""
    lines = [
        "You can call tools. To call one, write a block like this anywhere in your answer, and go on writing:",
        *(_sample(spec, tag, nonce) for spec in specs[:1]),
        "A tool starts as soon as its block is closed. Do not invent its result: it is given to you in the next "
        "message. Several blocks may stand in one answer; never put one inside another. The tools:",
        *(f"- {spec.name}: {spec.description}\n  {_sample(spec, tag, nonce)}" for spec in specs),
    ]
    return "\n".join(lines)


def _sample(spec: ToolSpec, tag: str, nonce: str) -> str:
    """A block of a tool, with a word on each argument in its place."""
    required = spec.schema.get("required") or ()
    body = "".join(f"<{key}>{_describe(schema, key in required)}</{key}>" for key, schema in spec.properties.items())
    return f'<{tag} name="{spec.name}"{_signed(nonce)}>{body}</{tag}>'


def _describe(schema: Any, required: bool) -> str:
    kind = schema if isinstance(schema, dict) else {}
    words = [str(kind.get("description") or kind.get("type") or "text")]
    if "enum" in kind:
        words.append("one of " + ", ".join(map(str, kind["enum"])))
    if not required:
        words.append("optional")
    return "; ".join(words)
