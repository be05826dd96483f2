"""The arithmetic behind `calculate`: text → exact value, with hard bounds and no evaluation of code.

A Pratt parser over numbers, operators and a few named functions (see `operations`). Promises: every input
gives a value or a `CalculateError` whose message says what was wrong, in a few milliseconds: the text, the
depth of nesting and the size of every intermediate result are bounded. It has no variables, no strings, no
attributes and no way to reach Python.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from sidestream.builtin.operations import (
    CONSTANTS,
    FUNCTIONS,
    OPERATIONS,
    CalculateError,
    Value,
    bounded,
    factorial,
)

__all__ = ["evaluate"]

MAX_CHARS = 1_000
MAX_DEPTH = 60


class Token(NamedTuple):
    """`kind` is `number`, `name`, `op` or `end`."""

    kind: str
    text: str


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,4}(?![\w.]))?|\.\d+)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<op>\*\*|//|[-+*/%^(),!]))"
)
_SIGNS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "∕": "/", "−": "-", "–": "-",
                        "—": "-", "²": " squared ", "³": " cubed ", "π": " pi ", "√": " sqrt ",
                        "[": "(", "]": ")", "{": "(", "}": ")", "$": " ", "€": " ", "£": " "})  # fmt: skip
_WORDS = {
    "plus": "+", "minus": "-", "times": "*", "x": "*", "of": "*", "over": "/", "mod": "mod", "modulo": "mod",
    "percent": "%", "divided by": "/", "multiplied by": "*", "to the power of": "**", "squared": "**2",
    "cubed": "**3",
}  # fmt: skip
_TIMES = re.compile(r"(?<=\d)\s*[xX]\s*(?=\d)")
_PHRASE = re.compile(r"\b(divided|multiplied)\s+by\b|\bto\s+the\s+power\s+of\b|\bper\s+cent\b", re.IGNORECASE)
_INFIX = {"+": 10, "-": 10, "*": 20, "/": 20, "//": 20, "mod": 20, "**": 40}
_PREFIX_POWER = 30  # below **: -2**2 is -4


def _tokens(text: str) -> list[Token]:
    if len(text) > MAX_CHARS:
        raise CalculateError(f"the expression is too long: {len(text)} characters, at most {MAX_CHARS}")
    plain = _TIMES.sub(" * ", _PHRASE.sub(_phrase, text.translate(_SIGNS))).strip().rstrip("=?.! ")
    if text.rstrip().endswith("!"):
        plain += "!" * (len(text.rstrip()) - len(text.rstrip().rstrip("!")))
    found: list[Token] = []
    position = 0
    while position < len(plain):
        match = _TOKEN.match(plain, position)
        if match is None:
            raise CalculateError(f"cannot read {plain[position:].strip()[:20]!r}: numbers and operators only")
        position = match.end()
        kind = match.lastgroup or ""
        word = match[kind]
        if kind == "name" and word.lower() in _WORDS:
            sign = _WORDS[word.lower()]
            found += (
                [Token("op", "**"), Token("number", sign[2:])]
                if len(sign) == 3 and sign[:2] == "**"
                else [Token("op", sign)]
            )
        else:
            found.append(Token(kind, "**" if word == "^" else word))
    return [*found, Token("end", "")]


def _phrase(match: re.Match[str]) -> str:
    words = " ".join(match[0].lower().split())
    return " % " if words == "per cent" else f" {_WORDS[words]} "


class _Parser:
    """One expression; `depth` counts open brackets, prefixes and right-hand sides."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def whole(self) -> Value:
        """The value of everything."""
        value = self._expression(0)
        if self._next.kind != "end":
            raise CalculateError(f"did not expect {self._next.text!r} there")
        return value

    def _expression(self, power: int) -> Value:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CalculateError(f"nested too deeply: at most {MAX_DEPTH} levels")
        value = self._postfix(self._prefix())
        while (strength := self._strength()) > power:
            value = self._infix(value, strength)
        self._depth -= 1
        return value

    def _strength(self) -> int:
        token = self._next
        if token.kind == "op" and token.text == "%":
            return _INFIX["mod"]
        if token.text == "(" or token.kind in ("name", "number"):
            raise CalculateError(f"an operator is missing before {token.text!r}")
        return _INFIX.get(token.text, 0) if token.kind == "op" else 0

    def _infix(self, left: Value, strength: int) -> Value:
        sign = self._take().text
        sign = "mod" if sign == "%" else sign
        start = self._at
        right = self._expression(strength - 1 if sign == "**" else strength)
        if sign in "+-" and self._is_percentage(start):  # 200 + 10%: of what stands before it
            right = left * right
        return self._postfix(bounded(OPERATIONS[sign](left, right)))

    def _is_percentage(self, start: int) -> bool:
        return self._at == start + 2 and self._tokens[start + 1].text == "%"

    def _postfix(self, value: Value) -> Value:
        while self._next.kind == "op":
            if self._next.text == "!":
                self._take()
                value = factorial(value)
            elif self._next.text == "%" and not self._operand_after():
                self._take()
                value = value / 100
            else:
                break
        return value

    def _operand_after(self) -> bool:
        """True where `%` stands between two operands: it is the remainder then."""
        after = self._tokens[self._at + 1]
        return after.kind in ("number", "name") or after.text == "("

    def _prefix(self) -> Value:
        token = self._take()
        match token.kind, token.text:
            case "number", text:
                return bounded(Fraction(text.replace(",", "")))
            case "op", "-" | "+":
                value = self._expression(_PREFIX_POWER)
                return -value if token.text == "-" else value
            case "op", "(":
                value = self._expression(0)
                self._close()
                return value
            case "name", text:
                return self._name(text.lower())
            case "end", _:
                raise CalculateError("the expression ends where a number was expected")
            case _:
                raise CalculateError(f"did not expect {token.text!r} there")

    def _close(self) -> None:
        if self._take().text != ")":
            raise CalculateError("a closing bracket is missing")

    def _name(self, name: str) -> Value:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name not in FUNCTIONS:
            raise CalculateError(f"unknown name {name!r}; known: {', '.join([*FUNCTIONS, *CONSTANTS])}")
        fewest, most, function = FUNCTIONS[name]
        if self._next.text != "(":
            values = [self._expression(_PREFIX_POWER)]  # `sqrt 16`
        else:
            self._take()
            values = [self._expression(0)]
            while self._next.text == ",":
                self._take()
                values.append(self._expression(0))
            self._close()
        if not fewest <= len(values) <= most:
            raise CalculateError(f"{name} takes {fewest} to {most} arguments, got {len(values)}")
        try:
            return bounded(function(*values))
        except OverflowError:
            raise CalculateError(f"{name} of so large a number is out of range") from None


def evaluate(text: str) -> Value:
    """The value of an arithmetic expression. Raises CalculateError."""
    tokens = _tokens(text)
    if len(tokens) == 1:
        raise CalculateError("the expression is empty")
    try:
        return bounded(_Parser(tokens).whole())
    except OverflowError:
        raise CalculateError("the result is too large") from None
