"""Quantities to convert: `How many pounds is 70 kg?` → 70, kg, pounds.

The patterns are the ways people put it, made of four fragments: an amount, `a` or `one`, a unit (a word or
sign and up to three more words), and the end of the thought. A unit is whatever stands in a unit's place;
`known` says whether it surely is one. Promises: what is returned was written by the user, and at most the
first 600 characters are looked at. It converts nothing.
"""

from __future__ import annotations

import re

__all__ = ["known", "quantity"]

_LOOKED_AT = 600
_AMOUNT = r"(?P<n>[-−]?\d[\d,]{0,20}(?:\.\d{1,20})?(?:\s*/\s*\d{1,20})?)"
_ONE = r"(?P<n>\ban?\b|\bone\b)"
_SOME = r"(?P<n>[-−]?\d[\d,]{0,20}(?:\.\d{1,20})?(?:\s*/\s*\d{1,20})?|\ban?\b|\bone\b)"
_SIGN = r"(?:°\s?[A-Za-z]|[A-Za-zµ]+(?:[²³]|\^?[23])?(?:/[A-Za-z]+)?|\"|')"
_MORE = r"(?:\s+(?!(?:to|into|in|is|are|as|equals?|make|please|now)\b)[A-Za-z²³]+)"
_GIVEN = rf"(?P<u>{_SIGN}{_MORE}{{0,3}}?)"
_WANTED = rf"(?P<to>{_SIGN}{_MORE}{{0,3}}?)"
_END = r"\s*(?:[?.!,;]|$|\bplease\b|\bfor\s+me\b|\band\b|\bthen\b|\bmakes?\b|\bha(?:ve|s)\b)"
_IS = r"(?:is|are|equals?|makes?)"
_IN = r"(?:\b(?:(?:expressed\s+|measured\s+)?in|to|into|as)\b|->|→|=)"

_WAYS = (
    # how many pounds is 70 kg, how many feet are there in a mile, how many feet does it make in 3 meters
    rf"\bhow\s+(?:many|much)\s+{_WANTED}\s+(?:{_IS}(?:\s+there)?(?:\s+in)?|in|(?:does|do|would)\s+\w+\s+\w+)\s+"
    rf"{_SOME}\s*{_GIVEN}{_END}",
    # 70 kg is how many pounds
    rf"{_SOME}\s*{_GIVEN}\s+{_IS}\s+(?:how\s+(?:many|much)|what\s+in)\s+{_WANTED}{_END}",
    # 10 miles to km
    rf"{_AMOUNT}\s*{_GIVEN}\s*{_IN}\s*(?:\?\s*)?{_WANTED}{_END}",
    # into km: 10 miles
    rf"\b(?:to|into|in)\s+{_WANTED}\b[\s,:]*(?:convert\s+|is\s+)?{_AMOUNT}\s*{_GIVEN}{_END}",
    # a mile in feet
    rf"{_ONE}\s+{_GIVEN}\s+(?:to|into|in|as)\s+{_WANTED}{_END}",
    # what is the length of a 10 foot pole in meters
    rf"\b(?:what|how\s+\w+)\b.*?{_AMOUNT}\s*{_GIVEN}\b.*?\b(?:in|to)\s+{_WANTED}{_END}",
    # I'm 175 cm tall, what is that in feet
    rf"{_AMOUNT}\s*(?P<u>{_SIGN})\s.*?\b(?:what|how|that|it)\b.*?\bin\s+{_WANTED}{_END}",
)
_PATTERNS = [re.compile(way, re.IGNORECASE) for way in _WAYS]

_PREFIXED = """meters? metres? grams? liters? litres? bytes? bits? watts? joules? calories? pascals? seconds?"""
_WHOLE = """inch(?:es)? foot feet yards? miles? pounds? ounces? stones? tons? tonnes? gallons? pints? quarts?
cups? tablespoons? teaspoons? acres? hectares? knots? minutes? hours? days? weeks? months? years? decades?
celsius fahrenheit kelvin degrees?.* bar psi atm mph kmh kph km/h m/s [kcmdµn]?m [kmµ]?g [mcd]?l [kmgt]i?b
lbs? oz ft in yd mi ha hrs? mins? secs? [kmg]?wh? k?cal k?j k?pa hp horsepower °?\\s?[cfk] fl\\s+oz
fluid\\s+ounces?"""
_UNIT = re.compile(
    r"(?:(?:square|cubic|sq|cu)\.?\s+)?"
    rf"(?:(?:milli|micro|nano|centi|deci|kilo|mega|giga|tera|kibi|mebi|gibi)?(?:{'|'.join(_PREFIXED.split())})"
    rf"|{'|'.join(_WHOLE.split())})"
    r"(?:[²³]|\^?[23])?(?:(?:/|\s+per\s+)\w+(?:\s+inch)?)?",
    re.IGNORECASE,
)


def known(unit: str) -> bool:
    """True if `unit` surely is a unit of measure."""
    return _UNIT.fullmatch(unit) is not None


def quantity(text: str) -> list[tuple[str, str, str]]:
    """Amount, its unit and the wanted unit: `("10", "miles", "kilometers")`."""
    for pattern in _PATTERNS:
        if match := pattern.search(text[:_LOOKED_AT]):
            given, wanted = match["u"].strip(), match["to"].strip()
            if given.lower() != wanted.lower():
                return [(match["n"].strip(), given, wanted)]
    return []
