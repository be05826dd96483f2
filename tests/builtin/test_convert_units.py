"""`convert_units` reads one line of text, converts exactly, and names what it does not know."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream.builtin import convert_units
from sidestream.builtin.units import by_name, names

ROWS = [
    ("10 miles to kilometers", "10 mi = 16.09344 km"),
    ("70 kg to pounds", "70 kg = 154.3236 lb"),
    ("100 fahrenheit in celsius", "100 °F = 37.77778 °C"),
    ("72°F to °C", "72 °F = 22.22222 °C"),
    ("-40 f to c", "-40 °F = -40 °C"),
    ("0 kelvin in degrees celsius", "0 K = -273.15 °C"),
    ("5 in to cm", "5 in = 12.7 cm"),
    ("5 in in cm", "5 in = 12.7 cm"),
    ("a mile in feet", "1 mi = 5280 ft"),
    ("half a mile in meters", "0.5 mi = 804.672 m"),
    ("1/2 cup to ml", "0.5 cup = 118.2941 ml"),
    ("1,000 MB to GB", "1000 MB = 1 GB"),
    ("8 Mb to MB", "8 Mb = 1 MB"),
    ("2.5 hours to minutes", "2.5 h = 150 min"),
    ("36 km/h in m/s", "36 km/h = 10 m/s"),
    ("60 miles per hour to kilometers per hour", "60 mph = 96.56064 km/h"),
    ("1 hectare into m2", "1 ha = 10000 m²"),
    ("1 kWh to J", "1 kWh = 3600000 J"),
    ("1 atm in pascals", "1 atm = 101325 Pa"),
    ("3 liters to gallons.", "3 l = 0.7925162 gal"),
    ("convert 12 inches to feet", "12 in = 1 ft"),
]
REFUSED = [
    ("10 parsecks to km", "unknown unit 'parsecks'"),
    ("70 kilogramm to pound", "near matches: kilogramme"),
    ("5 dollars to euros", "unknown unit"),
    ("3 kg to km", r"cannot convert kg \(mass\) to km \(length\)"),
    ("-300 c to k", "below absolute zero"),
    ("6 feet", "write it as"),
    ("1/0 m to km", "division by zero"),
    ("x" * 1_000, "too long"),
]


@pytest.mark.parametrize(("query", "answer"), ROWS)
def test_a_quantity_is_converted(query: str, answer: str) -> None:
    assert convert_units.fn(query) == answer


@pytest.mark.parametrize(("query", "why"), REFUSED)
def test_what_cannot_be_converted_says_why_and_what_is_known(query: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        convert_units.fn(query)
    assert type(caught.value).__name__ == "UnitError"


def test_every_name_in_the_table_finds_its_unit() -> None:
    for name in names():
        assert by_name(name) is not None


@given(st.sampled_from(sorted(names())), st.fractions(min_value=1, max_value=1000))
def test_to_the_base_and_back_is_the_same_number(name: str, value: Fraction) -> None:
    unit = by_name(name)
    assert unit is not None
    assert (value * unit.factor + unit.offset - unit.offset) / unit.factor == value
