"""The table behind `convert_units`: every unit as a factor (and offset) to its dimension's base.

Promises: names are matched without regard to case (except where case is the meaning: Mb and MB), with or
without a plural s; values are exact rationals, so a conversion there and back is the same number. It
will not guess between dimensions, and it knows no currencies, whose rates are not constants.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

__all__ = ["Unit", "by_name", "names"]


class Unit(NamedTuple):
    """base = value * factor + offset."""

    name: str
    dimension: str
    factor: Fraction
    offset: Fraction = Fraction(0)


# dimension → rows of "names, the first is shown: factor to the base". `1/3600` and `5/9` are allowed.
_TABLE: dict[str, str] = {
    "length": """
        m, meter, metre: 1
        km, kilometer, kilometre, kms: 1000
        dm, decimeter, decimetre: 0.1
        cm, centimeter, centimetre, cms: 0.01
        mm, millimeter, millimetre: 0.001
        µm, micrometer, micrometre, micron, um: 0.000001
        nm, nanometer, nanometre: 0.000000001
        in, inch, inches, ": 0.0254
        ft, foot, feet, ': 0.3048
        yd, yard: 0.9144
        mi, mile: 1609.344
        nautical mile, nmi: 1852
        light-year, light year, ly: 9460730472580800
        au, astronomical unit: 149597870700
    """,
    "mass": """
        kg, kilogram, kilogramme, kilo, kgs: 1
        g, gram, gramme: 0.001
        mg, milligram, milligramme: 0.000001
        µg, microgram, ug: 0.000000001
        t, tonne, metric ton, metric tonne: 1000
        lb, pound, lbs: 0.45359237
        oz, ounce: 0.028349523125
        st, stone: 6.35029318
        short ton, ton, us ton: 907.18474
        long ton, imperial ton: 1016.0469088
        ct, carat: 0.0002
    """,
    "volume": """
        l, liter, litre: 1
        ml, milliliter, millilitre, cc: 0.001
        cl, centiliter, centilitre: 0.01
        dl, deciliter, decilitre: 0.1
        hl, hectoliter, hectolitre: 100
        m³, cubic meter, cubic metre, m3, m^3: 1000
        cm³, cubic centimeter, cubic centimetre, cm3, cm^3: 0.001
        gal, gallon, us gallon: 3.785411784
        imperial gallon, uk gallon: 4.54609
        qt, quart: 0.946352946
        pt, pint, us pint: 0.473176473
        imperial pint, uk pint: 0.56826125
        cup, us cup: 0.2365882365
        fl oz, fluid ounce: 0.0295735295625
        tbsp, tablespoon: 0.01478676478125
        tsp, teaspoon: 0.00492892159375
        ft³, cubic foot, cubic feet, ft3, ft^3: 28.316846592
        in³, cubic inch, cubic inches, in3, in^3: 0.016387064
        bbl, barrel, oil barrel: 158.987294928
    """,
    "speed": """
        m/s, meter per second, meters per second, metre per second, metres per second, mps: 1
        km/h, kmh, kph, kilometer per hour, kilometers per hour, kilometre per hour, kilometres per hour: 5/18
        mph, mile per hour, miles per hour, mi/h: 0.44704
        kn, knot, kt: 463/900
        ft/s, foot per second, feet per second, fps: 0.3048
    """,
    "area": """
        m², square meter, square metre, m2, m^2, sqm, sq m: 1
        km², square kilometer, square kilometre, km2, km^2, sq km: 1000000
        cm², square centimeter, square centimetre, cm2, cm^2, sq cm: 0.0001
        ha, hectare: 10000
        acre: 4046.8564224
        ft², square foot, square feet, ft2, ft^2, sq ft, sqft: 0.09290304
        in², square inch, square inches, in2, in^2, sq in: 0.00064516
        yd², square yard, yd2, yd^2, sq yd: 0.83612736
        mi², square mile, mi2, mi^2, sq mi: 2589988.110336
    """,
    "time": """
        s, second, sec: 1
        ms, millisecond: 0.001
        µs, microsecond, us: 0.000001
        ns, nanosecond: 0.000000001
        min, minute: 60
        h, hour, hr: 3600
        d, day: 86400
        wk, week: 604800
        fortnight: 1209600
        month: 2629746
        yr, year: 31556952
        decade: 315569520
        century, centuries: 3155695200
    """,
    "data": """
        B, byte: 1
        bit: 1/8
        kB, kilobyte, KB: 1000
        MB, megabyte: 1000000
        GB, gigabyte: 1000000000
        TB, terabyte: 1000000000000
        PB, petabyte: 1000000000000000
        KiB, kibibyte: 1024
        MiB, mebibyte: 1048576
        GiB, gibibyte: 1073741824
        TiB, tebibyte: 1099511627776
        kb, kilobit, kbit, Kb: 125
        Mb, megabit, Mbit: 125000
        Gb, gigabit, Gbit: 125000000
    """,
    "energy": """
        J, joule: 1
        kJ, kilojoule: 1000
        MJ, megajoule: 1000000
        cal, calorie: 4.184
        kcal, kilocalorie, food calorie: 4184
        Wh, watt hour, watt-hour: 3600
        kWh, kilowatt hour, kilowatt-hour: 3600000
        MWh, megawatt hour, megawatt-hour: 3600000000
        BTU, british thermal unit: 1055.05585262
        eV, electronvolt, electron volt: 0.0000000000000000001602176634
    """,
    "pressure": """
        Pa, pascal: 1
        hPa, hectopascal: 100
        kPa, kilopascal: 1000
        MPa, megapascal: 1000000
        bar: 100000
        mbar, millibar: 100
        atm, atmosphere: 101325
        psi, pound per square inch, pounds per square inch: 6894.757293168361
        mmHg, torr, millimeter of mercury, millimeters of mercury: 133.322387415
        inHg, inch of mercury, inches of mercury: 3386.389
    """,
    "power": """
        W, watt: 1
        kW, kilowatt: 1000
        MW, megawatt: 1000000
        hp, horsepower: 745.69987158227022
    """,
    "angle": """
        deg, degree: 1
        rad, radian: 57.29577951308232
        turn, revolution: 360
    """,
}
_TEMPERATURE = {  # names → factor and offset to kelvin
    "°C, c, celsius, centigrade, degree celsius, degrees celsius, deg c, degrees c": ("1", "273.15"),
    "°F, f, fahrenheit, degree fahrenheit, degrees fahrenheit, deg f, degrees f": ("5/9", "45967/180"),
    "K, k, kelvin, degrees kelvin": ("1", "0"),
    "°R, rankine": ("5/9", "0"),
}


def _rows() -> dict[str, Unit]:
    found: dict[str, Unit] = {}

    def add(listed: str, dimension: str, factor: str, offset: str = "0") -> None:
        spoken = [name.strip() for name in listed.split(",")]
        unit = Unit(spoken[0], dimension, Fraction(factor), Fraction(offset))
        for name in spoken:
            found.setdefault(name, unit)

    for dimension, rows in _TABLE.items():
        for row in rows.strip().splitlines():
            listed, factor = row.rsplit(":", 1)
            add(listed.strip(), dimension, factor.strip())
    for listed, (factor, offset) in _TEMPERATURE.items():
        add(listed, "temperature", factor, offset)
    return found


_EXACT = _rows()
_FOLDED: dict[str, Unit] = {}
for _name, _unit in _EXACT.items():
    _FOLDED.setdefault(_name.casefold(), _unit)
_FOLDED["mb"], _FOLDED["gb"] = _EXACT["MB"], _EXACT["GB"]


def names() -> list[str]:
    """Every name a unit is known by."""
    return list(_EXACT)


def by_name(name: str) -> Unit | None:
    """The unit of that name, or None."""
    exact = " ".join(name.split()).rstrip(".")
    if exact in _EXACT:
        return _EXACT[exact]
    folded = exact.casefold()
    singular = [folded[:-1]] if folded.endswith("s") and len(folded) > 2 else []
    plural_head = [f"{head[:-1]} {rest}" for head, _, rest in [folded.partition(" ")] if rest and head.endswith("s")]
    for candidate in (folded, *singular, *plural_head):
        if candidate in _FOLDED:
            return _FOLDED[candidate]
    return None
