"""Arithmetic with bounds: the operators and functions that `calculate` knows, and how values are shown.

Rational numbers stay exact (`Fraction`); what is irrational is a float. Promises: no result, intermediate or
last, has more than about 1,000 digits, and that is decided before it is computed; whatever cannot be
computed raises `CalculateError`, which says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

__all__ = ["CONSTANTS", "FUNCTIONS", "OPERATIONS", "CalculateError", "Value", "bounded", "factorial", "show"]

MAX_BITS = 3_400  # about 1,000 digits
MAX_FACTORIAL = 450

Value: TypeAlias = Fraction | float


class CalculateError(ValueError):
    """The expression cannot be computed; the message says why."""


def bounded(value: Value) -> Value:
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
            raise CalculateError("the result is too large: more than about 1,000 digits")
        return value
    if math.isnan(value) or math.isinf(value):
        raise CalculateError("the result is not a finite number")
    return value


def _whole(value: Value, what: str) -> int:
    if value != int(value):
        raise CalculateError(f"{what} needs a whole number, got {show(value)}")
    return int(value)


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        if base == 0 and exponent < 0:
            raise CalculateError("division by zero")
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(base) not in (0, 1) and (bits - 1) * abs(exponent) > MAX_BITS:
            raise CalculateError("the power is too large: more than about 1,000 digits")
        if abs(base) in (0, 1):
            parity = int(exponent) % 2 + (2 if exponent else 0)  # enough for 0, 1 and -1
            return Fraction(base**parity)
        return Fraction(base ** int(exponent))
    if base < 0:
        raise CalculateError("a negative number has no real root of that kind")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        root = _root(base) if exponent == Fraction(1, 2) else None
        if root is not None:
            return root
    try:
        real: float = float(base) ** float(exponent)
        return real
    except (OverflowError, ZeroDivisionError):
        raise CalculateError("the power is too large or divides by zero") from None


def _root(value: Fraction) -> Fraction | None:
    """The exact square root, where there is one."""
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    return Fraction(top, bottom) if Fraction(top * top, bottom * bottom) == value else None


def factorial(value: Value) -> Value:
    number = _whole(value, "factorial")
    if number < 0 or number > MAX_FACTORIAL:
        raise CalculateError(f"factorial takes 0 to {MAX_FACTORIAL}, got {show(value)}")
    return Fraction(math.factorial(number))


def _divide(left: Value, right: Value) -> Value:
    if right == 0:
        raise CalculateError("division by zero")
    return left / right


def _floor_divide(left: Value, right: Value) -> Value:
    if right == 0:
        raise CalculateError("division by zero")
    return Fraction(left // right)


def _modulo(left: Value, right: Value) -> Value:
    if right == 0:
        raise CalculateError("division by zero")
    return left % right


def _round(value: Value, digits: Value = Fraction(0)) -> Value:
    places = _whole(digits, "round")
    if abs(places) > 100:
        raise CalculateError("round takes at most 100 places")
    return Fraction(round(Fraction(value), places))


def _sqrt(value: Value) -> Value:
    if value < 0:
        raise CalculateError("a negative number has no real square root")
    return _power(value, Fraction(1, 2))


def _log(value: Value, base: Value = math.e) -> Value:
    if value <= 0 or base <= 0 or base == 1:
        raise CalculateError("log takes positive numbers and a base other than 1")
    if base == math.e:
        return math.log(value)
    return math.log10(value) if base == 10 else math.log2(value) if base == 2 else math.log(value, float(base))


OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divide,
    "//": _floor_divide,
    "mod": _modulo,
    "**": _power,
}
FUNCTIONS: dict[str, tuple[int, int, Callable[..., Value]]] = {  # name → fewest, most arguments, function
    "sqrt": (1, 1, _sqrt),
    "abs": (1, 1, lambda value: abs(value)),
    "round": (1, 2, _round),
    "floor": (1, 1, lambda value: Fraction(math.floor(value))),
    "ceil": (1, 1, lambda value: Fraction(math.ceil(value))),
    "min": (1, 100, min),
    "max": (1, 100, max),
    "sum": (1, 100, lambda *values: sum(values, Fraction(0))),
    "mean": (1, 100, lambda *values: sum(values, Fraction(0)) / len(values)),
    "log": (1, 2, _log),
    "ln": (1, 1, _log),
    "log10": (1, 1, lambda value: _log(value, Fraction(10))),
    "log2": (1, 1, lambda value: _log(value, Fraction(2))),
    "exp": (1, 1, lambda value: _power(math.e, value)),
    "sin": (1, 1, math.sin),
    "cos": (1, 1, math.cos),
    "tan": (1, 1, math.tan),
    "pow": (2, 2, _power),
    "factorial": (1, 1, factorial),
}


def show(value: Value) -> str:
    """A value as people write it: whole numbers exactly, others to 15 significant digits (irrational: 12)."""
    if value == int(value) and (isinstance(value, Fraction) or abs(value) < 1e15):
        return str(int(value))
    context = Context(prec=15 if isinstance(value, Fraction) else 12)
    if isinstance(value, Fraction):
        number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    else:
        number = context.create_decimal(Decimal(value))
    text = format(number, "f") if -7 < number.adjusted() < 15 else str(number)
    return text.rstrip("0").rstrip(".") if "." in text and "E" not in text else text


CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}
