"""Text from models and tools, made safe to show: nothing in it moves a cursor or changes a colour.

`printable` keeps lines, `label` makes one line; `columns` says how wide a terminal draws it, `cut` shortens
to that measure. Promises: no control character, lone surrogate or direction override is left; what stands for
one is visible. The value itself is never changed: this is for showing only.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["columns", "cut", "label", "printable"]

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0x0D:
        return ""  # of a line end; alone it would write over the line
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def printable(text: str) -> str:
    """`text` with its lines and tabs, and a visible sign for every other control character."""
    return _UNSAFE.sub(_shown, text)


def label(text: str) -> str:
    """`text` as one line: white space is one space."""
    return printable(" ".join(text.split()))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def columns(text: str) -> int:
    """How many columns of a terminal `text` (one line of it) takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def cut(text: str, width: int, more: str = "…") -> str:
    """The beginning of `text` in at most `width` columns, ending in `more` if something is left out."""
    if columns(text) <= width:
        return text
    room, kept = width - columns(more), []
    for character in text:
        room -= _width(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + more if width >= columns(more) else ""
