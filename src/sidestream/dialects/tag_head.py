"""The opening tag of a block: `<tool`, white space, attributes, `>` or `/>`. Pure; looks at one place of a text.

`read_head` says what stands there: a whole tag, the beginning of one, one that tried to give a name and
cannot be read, or plain text. What it says depends on no chunk: a tag is judged at the first character that
decides it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

__all__ = ["Head", "read_head"]

_ATTRIBUTE = re.compile(
    r"\s*(?:(/?>)|([A-Za-z_:][\w:.-]*)\s*=\s*(?:\"([^\"<\n]*)\"|'([^'<\n]*)'|([\w:.-]+)(?=[\s/>])))"
)
_BEGUN = re.compile(r"\s*(?:/|[A-Za-z_:][\w:.-]*\s*(?:=\s*(?:\"[^\"<\n]*|'[^'<\n]*|[\w:.-]+)?)?)?\Z")
_TRIED = re.compile(r"<\w+\s+name\s*=")


class Head(NamedTuple):
    """`kind`, the name given, and where the tag (or what can be read of it) ends."""

    kind: Literal["whole", "more", "broken", "text"]
    name: str
    end: int


def read_head(text: str, position: int, tag: str, hold: int, nonce: str = "") -> Head:
    """What the opener at `position` opens; `hold` is the most characters a tag may have, `nonce` what its
    attribute of that name must say: a tag without it is text."""
    end = position + len(tag) + 1
    name = signed = ""
    while True:
        found = _ATTRIBUTE.match(text, end)
        if found is None or found.end() - position > hold:
            if len(text) - position <= hold and _BEGUN.match(text, end):
                return Head("more", "", position)
            if nonce and signed != nonce:
                return Head("text", "", position)
            if name:
                return Head("broken", name, end)
            tried = _TRIED.match(text, position)
            return Head("broken", "", tried.end()) if tried else Head("text", "", position)
        closer, attribute, *values = found.groups()
        if closer and nonce and signed != nonce:
            return Head("text", "", position)
        if closer:
            return Head("whole", name, found.end())
        given = next(value for value in values if value is not None).strip()
        if attribute == "name":
            if name and not (nonce and signed != nonce):
                return Head("broken", name, end)
            name = given
        elif attribute == "nonce":
            signed = given
        end = found.end()
