"""A message into the requests it may hold: `What is 9 * 9, and what time is it?` is two.

A cut is possible after a sentence or an `and` where the next words (or a sum) begin a request, after a
bare comma only before a command; never inside quotation marks or brackets, and after a colon only at a
sentence's end. Which cuts are real is decided by the router: this file only says where they could be.
Promises: the pieces, joined, are the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["pieces", "starters", "states"]

_ASKING = """what what's whats how which who who's when when's where where's why is are do does did can could
would i'll i'd list name want"""
_COMMANDING = """will should please tell give show find look search check compute calculate work add subtract
multiply divide convert change turn express count translate write explain let's get fetch say send set remind
book play create make open read define evaluate solve determine"""
_STATING = """a an the there i i'm i've we we're he she they it my our his her their if in from after when
while since some each every this that these those"""
_STATES = frozenset(_STATING.split())
_ASKS = frozenset(_ASKING.split())
_STARTERS = _ASKS.union(_COMMANDING.split())
_CUT = re.compile(
    r"(?P<end>[.?!;]+[\s]+|\n+)(?:(?:and|also|then|plus|next|finally)\b,?\s+)*"
    r"|(?P<soft>,?\s+(?:and(?:\s+(?:then|also))?|then|as\s+well\s+as|plus|also|but\s+also"
    r"|&)\s+(?:also\s+)?|(?P<comma>,\s+))",
    re.IGNORECASE,
)
_SUM = re.compile(  # a sum or a conversion that begins with its number
    r"[(\d][\d.,]*\s*(?:[-+*/×÷^]\s*[\d(]|%\s*of\b|(?:times|plus|minus|divided)\b"
    r"|[a-z°]+\s+(?:to|into|in)\s+[a-z]+)",
    re.IGNORECASE,
)
_SHIELD = re.compile(
    r"\"[^\"]*\"|“[^”]*”|«[^»]*»|`[^`]*`|(?<!\w)'(?:[^']|'(?=\w))*'(?!\w)|(?<!\w)‘(?:[^’]|’(?=\w))*’(?!\w)"
    r"|\([^()]*\)"
)
_ABBREVIATION = re.compile(r"\b(?:mr|mrs|dr|st|vs|e\.g|i\.e|no|approx)\.\s*$", re.IGNORECASE)


def starters(examples: Iterable[str]) -> frozenset[str]:
    """Words that begin a request: the common ones, and the first word of every example."""
    return _STARTERS | {words[0].lower() for example in examples if (words := re.findall(r"[\w']+", example))}


def _shielded(text: str) -> list[tuple[int, int]]:
    """Where no cut may be: quotations and brackets."""
    return [match.span() for match in _SHIELD.finditer(text)]


def states(piece: str) -> bool:
    """True for what tells something rather than asks for it."""
    first = re.match(r"[\w'’]+", piece)
    return not piece.endswith("?") and first is not None and first[0].lower().replace("’", "'") in _STATES


def pieces(text: str, begins: frozenset[str]) -> Sequence[str]:
    """The message cut wherever a request could begin."""
    shields = _shielded(text)
    open_colon = re.search(r":\s+(?![\"'“«`])", text)
    found: list[str] = []
    start = 0
    for cut in _CUT.finditer(text):
        at = cut.end()
        word = re.match(r"[\w'’]+", text[at:])
        if any(low < at <= high or low <= cut.start() < high for low, high in shields):
            continue
        if open_colon and cut.start() > open_colon.start() and not cut["end"]:
            continue
        first = word[0].lower().replace("’", "'") if word else ""
        begun = first in begins or _SUM.match(text, at)
        if not begun or (cut["comma"] and first in _ASKS) or _ABBREVIATION.search(text[:at]):
            continue
        found.append(text[start:at])
        start = at
    return [*found, text[start:]]
