"""Whether a tool that needs no arguments is what a message is about: a clock is not a bus timetable.

Such a tool could answer anything, and a question that merely says `today` or `what time` is near its
examples. So the words that carry the question are held against the tool's own: each that neither the tool
nor the argument it would get has, counts against it. Promises: pure; tools with a required argument, or
with few examples, are not judged. It knows no tool by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sidestream.messages import ToolSpec

__all__ = ["misfit", "stems", "topics"]

_STEM = 5
_EXAMPLES = 5  # fewer do not show a tool's vocabulary
_STRANGE = 0.1  # what a strange word costs
_MOST = 0.3
_AT_HOME = 0.06  # every word is the tool's own
_SHARE = 4  # one example in so many speaks for what a tool is about
_WORDS = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_NUMBER = re.compile(r"\d+")
_SMALL = """a about again ah already also am an and any anyone anything are as at be been but by can could did do does
doing don for from further get give go going got had has have having he hello her here hey hi him his how i if
in into is isn it its just know let like ll local m many may me might more much must my need no not now of ok
okay on once one only or our out over please quickly re right s say see shall she should show so some someone
something t tell than thank thanks that the their them then there these they thing this those to too us ve very
want was yet we well were what when where whether which while who why will with would you your currently current
exactly moment wondering wonder check find"""
_COMMON = frozenset(_SMALL.split())


def stems(text: str) -> set[str]:
    """The beginnings of the words of `text`."""
    return {word.lower()[:_STEM] for word in _WORDS.findall(text)}


def topics(spec: ToolSpec) -> set[str]:
    """What a tool is about: its name, its description, and what a good part of its examples share."""
    each = [stems(entry) for entry in spec.examples]
    shared = {stem for own in each for stem in own if sum(stem in one for one in each) * _SHARE >= len(each)}
    return shared | stems(f"{spec.name.replace('_', ' ')} {spec.description}")


def misfit(spec: ToolSpec, vocabulary: Sequence[str], args: Mapping[str, Any], text: str) -> float:
    """What the words of `text` that are strange to the tool cost it; a little less than 0 if none is."""
    if spec.schema.get("required") or len(spec.examples) < _EXAMPLES:
        return 0.0
    given = " ".join(map(str, args.values()))
    own = {stem for entry in vocabulary for stem in stems(entry)} | stems(given)
    asking = " ".join(part for part in _SENTENCE.split(text) if part.endswith("?")) or text
    carrying = [word for word in _WORDS.findall(asking.lower()) if word not in _COMMON]
    strange = [word for word in carrying if word[:_STEM] not in own]
    numbers = set(_NUMBER.findall(asking)) - set(_NUMBER.findall(given))
    if not strange and not numbers:
        return -_AT_HOME if carrying else 0.0
    return min(_MOST, _STRANGE * (len(strange) + len(numbers)))
