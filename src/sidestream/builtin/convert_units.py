"""`convert_units`: a quantity in another unit, from one line of text such as `10 miles to km`.

Promises: an exact factor table (see `units`), a `UnitError` that names near matches for an unknown unit and
both dimensions where they differ. It will not convert currencies.
"""

from __future__ import annotations

import difflib
import re
from fractions import Fraction

from sidestream.builtin.operations import show
from sidestream.builtin.units import Unit, by_name, names
from sidestream.tools.tool import tool

__all__ = ["UnitError", "convert_units"]

_MAX_CHARS = 200
_NUMBER = r"[-+−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d{1,3})?"
_QUERY = re.compile(
    rf"(?:convert|change|turn|express)?\s*(?P<value>{_NUMBER}|an?\b|one\b|half\s+an?\b)?\s*(?P<top>/\s*\d+)?\s*"
    r"(?P<unit>.+?)\s*(?:\bto\b|\binto\b|\bas\b|->|→|=|\bin\b(?!\s*(?:to\b|into\b|in\b|->|→|=)))\s*(?P<to>.+?)[?.!\s]*",
    re.IGNORECASE,
)
_WORDS = {"a": "1", "an": "1", "one": "1"}


class UnitError(ValueError):
    """The conversion cannot be made; the message says why and what is known."""


def _unit(name: str) -> Unit:
    unit = by_name(name)
    if unit is not None:
        return unit
    near = difflib.get_close_matches(name.casefold(), names(), n=4, cutoff=0.6)
    hint = f"near matches: {', '.join(near)}" if near else "known are units of " + _dimensions()
    raise UnitError(f"unknown unit {name[:40]!r}; {hint}")


def _dimensions() -> str:
    found = [unit.dimension for name in names() if (unit := by_name(name)) is not None]
    return ", ".join(dict.fromkeys(found))


def _value(match: re.Match[str]) -> Fraction:
    spoken = " ".join((match["value"] or "1").lower().split()).replace(",", "").replace("−", "-")
    if spoken.startswith("half"):
        return Fraction(1, 2)
    value = Fraction(_WORDS.get(spoken, spoken))
    if match["top"]:
        below = int(match["top"].lstrip("/ "))
        if below == 0:
            raise UnitError("division by zero in the value")
        value /= below
    return value


EXAMPLES = (
    "Convert 12 inches to meters",
    "How many kilometers are 26 miles?",
    "What is 30 degrees celsius in fahrenheit?",
    "Turn 8 ounces into grams",
    "20 cups in milliliters",
    "How many feet are in 3 meters?",
    "180 cm to feet",
    "Express 2 hours in minutes",
    "How much is 50 mph in km/h?",
    "What's 4 gigabytes in megabytes?",
    "How heavy is 150 pounds in kilograms?",
    "change 5 acres into hectares",
    "How many seconds in a day?",
    "What is 2 bar in psi?",
)


@tool(read_only=True, idempotent=True, examples=EXAMPLES)
def convert_units(query: str) -> str:
    """Convert a quantity from one unit of measure to another.

    Args:
        query: The quantity and the unit it is wanted in, such as "10 miles to km".
    """
    if len(query) > _MAX_CHARS:
        raise UnitError(f"the text is too long: {len(query)} characters, at most {_MAX_CHARS}")
    match = _QUERY.fullmatch(query.strip())
    if match is None:
        raise UnitError(f"cannot read {query[:60]!r}: write it as `10 miles to km`")
    value, given, wanted = _value(match), _unit(match["unit"]), _unit(match["to"])
    if given.dimension != wanted.dimension:
        raise UnitError(f"cannot convert {given.name} ({given.dimension}) to {wanted.name} ({wanted.dimension})")
    base = value * given.factor + given.offset
    if given.dimension == "temperature" and base < 0:
        raise UnitError(f"{show(value)} {given.name} is below absolute zero")
    result = (base - wanted.offset) / wanted.factor
    return f"{show(value)} {given.name} = {_rounded(result)} {wanted.name}"


def _rounded(value: Fraction) -> str:
    """At most seven significant digits after a whole number's own."""
    if value.denominator == 1:
        return show(value)
    return show(Fraction(f"{float(value):.7g}") if abs(value) < 10**6 else Fraction(round(value, 2)))
