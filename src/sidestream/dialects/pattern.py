"""A tag as a template, matched at one place of a growing text: `<function={name}>`.

A template is literal text with these in braces: `{_}` at most 16 blanks, `{+}` at least one of them, `{name}`
(or `key`, `id`, `type`) a captured word, `{key:CLASS}` captured characters of a regular expression's class,
`{@}` attributes (`key="value"` in double, single or no quotes), `{?TEXT}` text that may be missing, `{&TEXT}`
text that must follow and is not taken. `at` gives what it found, `MORE` where only the text's end keeps it
from deciding, or None. It never goes back over what it has matched, and every part is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol

__all__ = ["MORE", "Found", "Pattern", "first_of", "lenient", "pattern"]

LONGEST_WORD = 128  # characters of a name, a key or an id
LONGEST_VALUE = 512  # characters of an attribute's value

_PARTS = re.compile(r"\{([^{}]+|&\{)\}")
_BLANKS = re.compile(r"\s{0,16}")
_WORD = r"[^\s<>\"'=\[\]{}()|｜,;]"
_ATTRIBUTE = re.compile(
    r"\s{1,16}([A-Za-z_][\w:.-]{0,63})\s{0,4}=\s{0,4}"
    rf"(?:\"([^\"]{{0,{LONGEST_VALUE}}})\"|'([^']{{0,{LONGEST_VALUE}}})'|([^\s\"'<>/=]{{1,128}})(?=[\s/><]))"
)
_ATTRIBUTE_BEGUN = re.compile(
    r"(?:\s{1,16}(?:[A-Za-z_][\w:.-]{0,63}\s{0,4}(?:=\s{0,4}"
    rf"(?:\"[^\"]{{0,{LONGEST_VALUE}}}|'[^']{{0,{LONGEST_VALUE}}}|[^\s\"'<>/=]{{1,128}})?)?)?)?\Z"
)


class Found(NamedTuple):
    """Where a match ends (-1: not known yet), and what it captured."""

    end: int
    values: dict[str, str]


MORE = Found(-1, {})


class Pattern:
    """One template, ready to match."""

    def __init__(self, template: str) -> None:
        self.template = template
        pieces = _PARTS.split(template)
        self._pieces: list[tuple[str, str, re.Pattern[str] | None]] = []
        for index, piece in enumerate(pieces):
            if index % 2 == 0:
                if piece:
                    self._pieces.append(("text", piece, None))
                continue
            kind, _, characters = piece.partition(":")
            if kind in ("_", "+", "@") or kind[0] in "?&":
                self._pieces.append((kind[0], piece[1:], None))
            else:
                self._pieces.append(("word", kind, re.compile(f"(?:{characters or _WORD}){{1,{LONGEST_WORD}}}")))
        first = self._pieces[0] if self._pieces else ("", "", None)
        self.prefix = first[1] if first[0] == "text" else ""
        """The literal text it begins with."""

    def __repr__(self) -> str:
        return f"<pattern {self.template}>"

    def at(self, text: str, position: int) -> Found | None:
        """What stands at `position`."""
        values: dict[str, str] = {}
        for kind, word, characters in self._pieces:
            if kind == "text" or kind in "?&":
                if text.startswith(word, position):
                    position += 0 if kind == "&" else len(word)
                elif len(text) - position < len(word) and word.startswith(text[position:]):
                    return MORE
                elif kind != "?":
                    return None
            elif kind == "word":
                found = characters.match(text, position) if characters else None
                if found is None:
                    return MORE if position == len(text) else None
                if found.end() == len(text):
                    return MORE
                values[word] = found[0].strip()
                position = found.end()
            elif kind == "@":
                position = _attributes(text, position, values)
                if position < 0:
                    return MORE
            else:
                end = _end_of_blanks(text, position)
                if end == len(text):
                    return MORE
                if kind == "+" and end == position:
                    return None
                position = end
        return Found(position, values)


def _end_of_blanks(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def _attributes(text: str, position: int, values: dict[str, str]) -> int:
    """Read attributes in; the index behind them, or -1 for "more"."""
    while True:
        found = _ATTRIBUTE.match(text, position)
        if found is None:
            return -1 if _ATTRIBUTE_BEGUN.match(text, position) else position
        key, *given = found.groups()
        values.setdefault(f"@{key}", next(value for value in given if value is not None))
        position = found.end()


def lenient(template: str) -> str:
    """The template of a tag with blanks allowed before its `>`: a closing one, or one that ends in a word."""
    plain = template.startswith("</") and template.endswith(">") and template[-2:-1] not in ("|", "｜", "}")
    words = template.endswith("}>") and not template.endswith("{_}>")
    return f"{template[:-1]}{{_}}>" if plain or words else template


@cache
def pattern(template: str) -> Pattern:
    """The pattern of a template, made once."""
    return Pattern(template)


class Placed(Protocol):
    """What can stand at a place of a text."""

    def at(self, text: str, position: int, /) -> Found | None: ...


def first_of(patterns: Sequence[Placed], text: str, position: int) -> Found | None:
    """What the first of `patterns` that stands at `position` found; `MORE` while an earlier one may yet."""
    for item in patterns:
        found = item.at(text, position)
        if found is not None:
            return found
    return None
