"""Values written as code: Python's literals, and Gemma's own. A parser over a table of tokens, nothing is run.

`python(text)` and `Quoted(delimiter)` read one value that is all of a text. Promises: only literals (text, numbers,
truth values, nothing, lists, tuples, dicts) are read; whatever else stands there raises ValueError, as does
nesting deeper than 64. Python's escapes are decoded as Python does; tuples become lists, for JSON has no others.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

__all__ = ["Quoted", "python"]

_DEEPEST = 64
_WORDS: dict[str, Any] = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_FLOAT = re.compile(rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_WHOLE = re.compile(r"[+-]?(?:0+|[1-9](?:_?[0-9]+)*|0[xX]_?[0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+)")
_TOKEN = re.compile(
    r"\s*(?:(?P<mark>[\[\](){},:])|(?P<quote>[rRuU]?(?:'''|\"\"\"|'|\"))|(?P<word>[+-]?\s{0,4}[\w.]+(?:(?<=[eE])[+-][0-9]+)?))"
)
_ENDS = {
    quote: re.compile(
        rf"[^\\{quote[0]}]*(?:(?:\\.|{quote[0]}(?!{quote[1:]}))[^\\{quote[0]}]*)*{quote}"
        if len(quote) == 3
        else rf"[^\\{quote}\n]*(?:\\.[^\\{quote}\n]*)*{quote}",
        re.S,
    )
    for quote in ("'''", '"""', "'", '"')
}
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^{}]{1,88})\}|(.))", re.S
)
_PLAIN = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "a": "\a",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "\n": "",
}


def _escape(found: re.Match[str]) -> str:
    octal, two, four, eight, name, other = found.groups()
    if other is not None:
        return _PLAIN.get(other, found[0])
    if name is not None:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            raise ValueError(f"no character is named {name}") from None
    code = int(octal, 8) if octal else int(two or four or eight, 16)
    if code > 0x10FFFF:
        raise ValueError("an escape that is no character")
    return chr(code)


def _number(word: str) -> int | float:
    word = "".join(word.split())
    if _WHOLE.fullmatch(word):
        return int(word, 0)
    if not _FLOAT.fullmatch(word) or word.lstrip("+-").replace("_", "").isdigit():
        raise ValueError(f"not a literal: {word[:40]}")
    value = float(word)
    if not math.isfinite(value):
        raise ValueError(f"{word} is too large for a number")
    return value


class _Reader:
    """A place in a text, and the values that begin there."""

    def __init__(self, text: str, position: int = 0) -> None:
        self.text, self.position = text, position

    def value(self, depth: int = 0) -> Any:
        """The value that begins here."""
        found = _TOKEN.match(self.text, self.position)
        if found is None or depth > _DEEPEST:
            raise ValueError("not a literal, or nested too deep")
        self.position = found.end()
        if word := found["word"]:
            return _WORDS[word] if word in _WORDS else _number(word)
        if quote := found["quote"]:
            return self._string(quote)
        match found["mark"]:
            case "[":
                return self._items("]", depth)
            case "(":
                return self._items(")", depth)
            case "{":
                return self._pairs(depth)
            case _:
                raise ValueError(f"{found['mark']} where a value should be")

    def _string(self, quote: str) -> str:
        text = self._piece(quote)
        while (found := _TOKEN.match(self.text, self.position)) and found["quote"]:
            self.position = found.end()
            text += self._piece(found["quote"])  # adjacent texts are one, as in Python
        return text

    def _piece(self, quote: str) -> str:
        raw, quote = quote[0] in "rR", quote.lstrip("rRuU")
        found = _ENDS[quote].match(self.text, self.position)
        if found is None:
            raise ValueError("a text that does not end")
        self.position = found.end()
        text = found[0][: -len(quote)]
        if "\\" not in text or raw:
            return text
        text = _ESCAPE.sub(_escape, text)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # pairs are one character

    def mark(self, wanted: str) -> bool:
        """Take `wanted` if it comes next."""
        found = _TOKEN.match(self.text, self.position)
        if found is None or found["mark"] != wanted:
            return False
        self.position = found.end()
        return True

    def _items(self, closer: str, depth: int) -> Any:
        items: list[Any] = []
        while not self.mark(closer):
            items.append(self.value(depth + 1))
            if self.mark(closer):
                return items[0] if closer == ")" and len(items) == 1 else items
            self.need(",")
        return items

    def need(self, wanted: str) -> None:
        """Take `wanted`; raises ValueError if something else comes."""
        if not self.mark(wanted):
            raise ValueError(f"{wanted} is missing")

    def _pairs(self, depth: int) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        while not self.mark("}"):
            key = self.value(depth + 1)
            self.need(":")
            if not isinstance(key, str) or key in pairs:
                raise ValueError("a key that is no text, or stands twice")
            pairs[key] = self.value(depth + 1)
            if not self.mark(","):
                self.need("}")
                break
        return pairs


def python(text: str) -> Any:
    """The Python literal that `text` is. Raises ValueError."""
    stripped = text.strip()
    reader = _Reader(stripped)
    value = reader.value()
    if reader.position != len(stripped):
        raise ValueError("more than one value")
    return value


class Quoted:
    """Gemma's literals: text stands between `delimiter`s, keys are bare. `bare`: what a word that is none of the
    others counts as."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._mark = re.compile(r"\s*([\[\]{},:])")
        self._bare = re.compile(r"\s*([^\[\]{},:<]+)")
        self._opening = re.compile(rf"\s*{re.escape(delimiter)}")
        self._closing = re.compile(rf"{re.escape(delimiter)}(?=\s{{0,16}}(?:[,:}}\]]|\Z))")

    def pairs(self, text: str) -> dict[str, Any]:
        """The object that `text` is. Raises ValueError."""
        value, end = self._value(text, 0, 0)
        if not isinstance(value, dict) or text[end:].strip():
            raise ValueError("not one object")
        return value

    def _value(self, text: str, position: int, depth: int) -> tuple[Any, int]:
        if depth > _DEEPEST:
            raise ValueError("nested too deep")
        if (string := self._text(text, position)) is not None:
            return string
        if found := self._mark.match(text, position):
            if found[1] == "{":
                return self._members(text, found.end(), depth, keyed=True)
            if found[1] == "[":
                return self._members(text, found.end(), depth, keyed=False)
            raise ValueError(f"{found[1]} where a value should be")
        found = self._bare.match(text, position)
        if found is None:
            raise ValueError("a value is missing")
        word = found[1].strip()
        return _WORDS[word] if word in _WORDS else _number(word), found.end()

    def _text(self, text: str, position: int) -> tuple[str, int] | None:
        opening = self._opening.match(text, position)
        if opening is None:
            return None
        closing = self._closing.search(text, opening.end())
        if closing is None:
            raise ValueError("a text that does not end")
        return text[opening.end() : closing.start()], closing.end()

    def _key(self, text: str, position: int) -> tuple[str, int]:
        if (string := self._text(text, position)) is not None:
            return string[0], self._need(text, string[1], ":")
        found = self._bare.match(text, position)
        if found is None or not found[1].strip():
            raise ValueError("a key is missing")
        return found[1].strip(), self._need(text, found.end(), ":")

    def _need(self, text: str, position: int, wanted: str) -> int:
        found = self._mark.match(text, position)
        if found is None or found[1] != wanted:
            raise ValueError(f"{wanted} is missing")
        return found.end()

    def _members(self, text: str, position: int, depth: int, *, keyed: bool) -> tuple[Any, int]:
        closer = "}" if keyed else "]"
        pairs: dict[str, Any] = {}
        items: list[Any] = []
        while True:
            found = self._mark.match(text, position)
            if found is not None and found[1] == closer:
                return pairs if keyed else items, found.end()
            key = ""
            if keyed:
                key, position = self._key(text, position)
                if key in pairs:
                    raise ValueError("a key stands twice")
            value, position = self._value(text, position, depth + 1)
            pairs[key] = value
            items.append(value)
            found = self._mark.match(text, position)
            if found is None or found[1] not in (",", closer):
                raise ValueError("a comma is missing")
            position = found.end() if found[1] == "," else position
