"""Untrusted text stays text: how results, documents and users' words are kept from becoming calls.

A word joiner (U+2060) after the first character of a marker makes it inert for every reader; one more is
put where the text already had one, so `restore` gives back exactly what was there. `fingerprint` folds
what an obfuscated copy may differ in (case, entities, zero-width and full-width characters, white space),
so that a block which stood in untrusted text is known again. Nothing here knows a format or a tool.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from sidestream.messages import ToolCall

__all__ = ["JOINER", "Escape", "Untrusted", "escape", "fingerprint", "neutralise", "restore"]

JOINER = "\u2060"
_HEX = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_ESCAPED = re.compile(r"\\[nrtbf]")
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
                        "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]")  # fmt: skip


class Escape(Protocol):
    """`escape` for the first characters of one dialect's markers."""

    def __call__(self, text: str, guard: Sequence[str] = ..., /) -> str: ...


def neutralise(text: str, markers: Iterable[str]) -> str:
    """`text` in which none of `markers` can be read as one; undone by `restore`."""
    found = [marker for marker in markers if marker]
    firsts = {marker[0] for marker in found}
    if not firsts or not any(first in text for first in firsts):
        return text
    starts = "|".join(f"{re.escape(marker[0])}(?={re.escape(marker[1:])})" for marker in found)
    kept = "|".join(f"{re.escape(first)}(?={JOINER})" for first in firsts)
    return re.sub(f"{kept}|{starts}", lambda match: match[0] + JOINER, text)


def escape(text: str, firsts: Iterable[str], guard: Iterable[str] = ()) -> str:
    """`text` as it must be written so that `restore` gives it back, whatever joiners it holds; and so that none of
    `guard` (texts that begin with one of `firsts`) can be read in it."""
    starts = [f"{re.escape(text[0])}(?={re.escape(text[1:])})" for text in guard if text]
    if not firsts or (JOINER not in text and not starts):
        return text
    kept = f"[{re.escape(''.join(sorted(firsts)))}](?={JOINER})"
    return re.sub("|".join([kept, *starts]), lambda found: found[0] + JOINER, text)


def restore(text: str, firsts: Iterable[str]) -> str:
    """What `neutralise` was given; `firsts` are the first characters of its markers."""
    if JOINER not in text:
        return text
    return re.sub(f"([{re.escape(''.join(sorted(firsts)))}]){JOINER}", r"\1", text) if firsts else text


def _unescaped(text: str) -> str:
    """`text` as it was before it was put into a JSON string, whether or not it was."""
    if "\\" not in text:
        return text
    plain = _HEX.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    return _ESCAPED.sub(" ", plain).replace("\\", "")


def fingerprint(text: str) -> str:
    """`text` with everything folded that a copy may have changed without changing what it says."""
    plain = _INVISIBLE.sub("", html.unescape(html.unescape(_unescaped(text))))
    return "".join(unicodedata.normalize("NFKC", plain).casefold().split())


class Untrusted:
    """The untrusted texts of one session, kept as fingerprints, and the calls that a reader finds in them.

    `ready` is given what finds the calls in a text, for every enabled format; with it a block is known again also
    where it was written differently (other quotes, another element for the same argument). What was added before
    that is read then.
    """

    __slots__ = ("_calls", "_read", "_texts", "_unread")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: set[str] = set()
        self._unread: list[str] = []
        self._read: Callable[[str], Iterable[ToolCall]] | None = None

    def ready(self, read: Callable[[str], Iterable[ToolCall]]) -> None:
        """`read` gives the calls in a text from now on."""
        self._read, unread = read, self._unread
        self._unread = []
        for text in unread:
            self._learn(text)

    def add(self, text: str) -> None:
        """Remember `text`."""
        print_ = fingerprint(text)
        if print_:
            self._texts.append(print_)
            self._learn(text)

    def _learn(self, text: str) -> None:
        if self._read is None:
            self._unread.append(text)
            return
        for version in {text, html.unescape(_unescaped(text))}:
            self._calls.update(map(_gist, self._read(version)))

    def holds(self, call: ToolCall) -> bool:
        """True if the block that `call` was read from stands in one of the texts, however disguised."""
        print_ = fingerprint(call.raw)
        return _gist(call) in self._calls or (bool(print_) and any(print_ in text for text in self._texts))


def _gist(call: ToolCall) -> str:
    """The same for calls of one tool with the same values, whatever their arguments are called."""
    return "\n".join([call.name, *sorted(fingerprint(str(value)) for value in call.args.values())])
