"""`calculate` gives the right number, and says no to what is too large, in no time."""

from __future__ import annotations

import time

import pytest

from sidestream.builtin import calculate

ROWS = [
    ("3 * (17 + 5) / 2", "33"),
    ("15% of 240", "36"),
    ("20 percent of 350", "70"),
    ("200 + 10%", "220"),
    ("100 - 15%", "85"),
    ("50% * 20", "10"),
    ("2^10", "1024"),
    ("2**3**2", "512"),
    ("-2**2", "-4"),
    ("2**-3", "0.125"),
    ("(-1)**7", "-1"),
    ("0**0", "1"),
    ("10 % 3", "1"),
    ("-7 mod 3", "2"),
    ("8 // 3", "2"),
    ("1,250 / 8", "156.25"),
    ("1,000,000 + 1", "1000001"),
    ("0.1 + 0.2", "0.3"),
    ("1/3", "0.333333333333333"),
    ("7 × 8 − 3 ÷ 1", "53"),
    ("6 x 4", "24"),
    ("3x4", "12"),
    ("10 divided by 4", "2.5"),
    ("3 squared + 4 squared", "25"),
    ("5²", "25"),
    ("sqrt(16) + √9", "7"),
    ("sqrt(2)", "1.41421356237"),
    ("9**(1/2)", "3"),
    ("5!", "120"),
    ("factorial(5)", "120"),
    ("abs(-3) + max(1, 2, 3) + min(4, 5)", "10"),
    ("round(3.14159, 2)", "3.14"),
    ("log(100, 10)", "2"),
    ("log10(1000)", "3"),
    ("sin(0) + cos(0)", "1"),
    ("pi", "3.14159265359"),
    ("e", "2.71828182846"),
    ("7.5 * 2 = ?", "15"),
    ("$12 * 3", "36"),
    ("2**100", "1267650600228229401496703205376"),
]
REFUSED = [
    ("9**9**9", "too large"),
    ("factorial(10**7)", "factorial takes"),
    ('"a"*10**9', "cannot read"),
    ("(" * 10_000, "too long"),
    ("(" * 400 + "1" + ")" * 400, "nested too deeply"),
    ("-" * 900 + "1", "nested too deeply"),
    ("1" * 5_000, "too long"),
    ("2**99999999999999", "too large"),
    ("1e9999", "too large"),
    ("exp(99999999999999999999)", "too large"),
    ("sin(10**999)", "out of range"),
    ("round(1, 99999)", "at most 100"),
    ("5 / 0", "division by zero"),
    ("5 mod 0", "division by zero"),
    ("0 ** -1", "division by zero"),
    ("sqrt(-1)", "negative"),
    ("(-8) ** 0.5", "negative"),
    ("log(0)", "positive"),
    ("2 3", "operator is missing"),
    ("2(3)", "operator is missing"),
    ("(1 + 2", "closing bracket"),
    ("1 + ", "ends where"),
    ("* 3", "did not expect"),
    ("", "empty"),
    ("__import__('os')", "cannot read"),
    ("open", "unknown name"),
    ("foo(1)", "unknown name"),
    ("min()", "did not expect"),
    ("sqrt(1, 2)", "takes 1 to 1"),
    ("factorial(2.5)", "whole number"),
]


@pytest.mark.parametrize(("expression", "value"), ROWS)
def test_an_expression_has_its_value(expression: str, value: str) -> None:
    assert calculate.fn(expression) == value


@pytest.mark.parametrize(("expression", "why"), REFUSED)
def test_what_cannot_be_computed_is_refused_at_once_and_says_why(expression: str, why: str) -> None:
    began = time.perf_counter()
    with pytest.raises(ValueError, match=why) as caught:
        calculate.fn(expression)
    assert time.perf_counter() - began < 2  # some milliseconds; a machine may be busy
    assert type(caught.value).__name__ == "CalculateError"
