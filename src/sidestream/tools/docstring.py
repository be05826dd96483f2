"""What a docstring says of a function and of its parameters (Google style). Pure text in, text out.

Promises: the description is what stands before `Args:`, `Returns:`, `Yields:` and `Raises:`, the words of a
parameter are those under `Args:`, also on one line (`Args: city: its name.`). It will not read other styles.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Documented", "documented"]

_ARGS = r"(?:Args|Arguments|Parameters)"
_SECTION = re.compile(rf"({_ARGS}|Returns?|Yields?|Raises):[ \t]*(.*)\Z")
_LATER = re.compile(r"(?:Examples?|Notes?|Attributes|See Also|Warnings?|Todo|References):")
_ONE_LINE = re.compile(rf"(.*?[.!?])\s+({_ARGS}):[ \t]+(\S.*)\Z")
_ARGUMENT = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:(?:\s+|\Z)(.*)\Z")


class Documented(NamedTuple):
    """`text` before any section, and each parameter's words."""

    text: str
    parameters: dict[str, str]


def documented(doc: str | None, names: Sequence[str]) -> Documented:
    """What `doc` says of a function whose parameters are `names`."""
    text: list[str] = []
    arguments: list[str] = []
    into: list[str] | None = text
    for line in inspect.cleandoc(doc or "").splitlines():
        rest = line
        if into is text and (inline := _ONE_LINE.match(line)):
            text.append(inline[1])
            rest = f"{inline[2]}: {inline[3]}"
        if section := _SECTION.match(rest):
            into = arguments if re.match(_ARGS, section[1]) else None
            if into is not None and section[2]:
                arguments += _apart(section[2], names)
        elif into is not text and _LATER.match(line):
            into = None
        elif into is not None:
            into.append(line)
    return Documented("\n".join(text).strip(), _parameters(arguments, names))


def _apart(line: str, names: Sequence[str]) -> list[str]:
    """`city: its name. days: how many.` as a line for each."""
    if not names:
        return [line]
    some = "|".join(map(re.escape, names))
    return [part.strip() for part in re.split(rf"(?<=[.;,])\s+(?=(?:{some})\s*(?:\([^)]*\))?:)", line)]


def _parameters(lines: list[str], names: Sequence[str]) -> dict[str, str]:
    """`name: words`, or `name (type): words`; other lines go on with the words before."""
    found: dict[str, str] = {}
    name = ""
    for line in filter(None, map(str.strip, lines)):
        matched = _ARGUMENT.match(line)
        if matched and matched[1] in names:
            name = matched[1]
            found[name] = matched[2].strip()
        elif matched and matched[1].isidentifier() and not matched[2]:
            name = ""
        elif name:
            found[name] = f"{found[name]} {line}".strip()
    return found
