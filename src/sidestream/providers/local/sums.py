"""Arithmetic in a sentence: from what a person wrote to expressions made of the person's own numbers.

Three readings, in this order: an expression written out (`17 * 23`, `15% of 240`, `8 times 4`), a named
operation (`the sum of 2 and 3`, `divide 10 by 4`), a word problem (numbers joined by the operator that the
caller ranked first). Promises: every number in an expression stands in the sentence. It computes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["OPERATORS", "cued", "numbers", "stories", "written"]

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen"""
_UNITS = {word: value for value, word in enumerate(_ONES.split())}
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * value for value, word in enumerate(_TENS_WORDS.split(), 2)}
_SPOKEN = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[\s-]+(?P<one>{'|'.join(list(_UNITS)[1:10])}))?"
    rf"|(?P<unit>{'|'.join(_UNITS)}))"
    r"(?:\s+(?P<scale>hundred|thousand|million))?\b",
    re.IGNORECASE,
)
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "·": "*", "²": "^2", "³": "^3", "√": " sqrt "})
_NUMBER = r"\d{1,40}(?:,\d{3}){0,10}(?:\.\d{1,40})?|\.\d{1,40}"
_OPERAND = rf"(?:[$€£]\s*)?(?:{_NUMBER})(?:\s*(?:%|percent\b|per\s+cent\b))?"

# Words between two operands that are operators.
_BETWEEN: Sequence[tuple[str, str]] = (
    (r"\bplus\b", "+"),
    (r"\bminus\b|\bless\b(?=\s*\d)", "-"),
    (r"\b(?:times|multiplied\s+by)\b", "*"),
    (r"\b(?:divided\s+by|over)\b", "/"),
    (r"\b(?:modulo|mod)\b", "%"),
    (r"\b(?:raised\s+)?to\s+the\s+(?:power\s+of|power)\b|\bto\s+the\s+(?=\d+(?:st|nd|rd|th)\b)", "^"),
    (r"(?<=\d)\s*[xX]\s*(?=[\d(])", "*"),
    (r"(?<=[\d)])\s+squared\b", "^ 2"),
    (r"(?<=[\d)])\s+cubed\b", "^ 3"),
)
_RUN = re.compile(
    rf"(?:(?:sqrt|abs|round|floor|ceil|min|max|log10|log2|log|ln|exp|sin|cos|tan|factorial)\s*\(|[(]"
    rf"|{_NUMBER}|pi\b"
    r"|\*\*|//|[-+*/^%!,)]|\bof\b|\s)+"
)
_OPERATOR_IN = re.compile(r"[-+*/^!]|%|\bof\b|\w\(")

# Named operations: pattern → how its groups are put together ({0}, {1}), tried in order.
_NAMED: Sequence[tuple[str, str]] = (
    (r"\b(?:subtract|deduct|take(?:\s+away)?|remove)\s+(N)\s+(?:away\s+)?from\s+(N)", "{1} - {0}"),
    (r"\b(?:multiply|multiplying)\s+(N)\s+(?:by|and|with|times)\s+(N)", "{0} * {1}"),
    (r"\bproduct\s+of\s+(N)\s*(?:and|,|with)\s*(N)", "{0} * {1}"),
    (r"\b(?:divide|dividing|split|share)\s+(N)[^\d]{0,25}?\s(?:by|into|among|between)\s+(N)", "{0} / {1}"),
    (r"\b(?:quotient|ratio)\s+of\s+(N)\s*(?:and|to|,)\s*(N)", "{0} / {1}"),
    (r"\b(N)\s+(?:goes?|go)\s+into\s+(N)", "{1} / {0}"),
    (r"\bdifference\s+(?:between|of)\s+(N)\s+and\s+(N)", "{high} - {low}"),
    (r"\bremainder\b[^\d]*(N)[^\d]*\bby\s+(N)", "{0} % {1}"),
    (r"\b(?:square\s+)?root\s+of\s+(N)", "sqrt({0})"),
    (r"\bcube\s+root\s+of\s+(N)", "{0} ^ (1 / 3)"),
    (r"\b(N)\s+squared|\bsquare\s+of\s+(N)", "{0} ^ 2"),
    (r"\b(N)\s+cubed|\bcube\s+of\s+(N)", "{0} ^ 3"),
    (r"\bfactorial\s+of\s+(N)|\b(N)\s+factorial", "factorial({0})"),
    (r"\b(?:increase|raise|grow|mark\s+up)[sd]?\s+(N)[^\d]*\bby\s+(P)", "{0} + {1}"),
    (r"\b(?:decrease|reduce|lower|discount|cut)[sd]?\s+(N)[^\d]*\bby\s+(P)", "{0} - {1}"),
    (r"\badd\s+(P)\s+to\s+(N)", "{1} + {0}"),
    (r"\b(P)\s+(?:tip|interest|commission)\s+(?:on|for|of)[^\d]*(N)", "{0} of {1}"),
    (r"(N)[^\d]*?\b(?:tip|interest|commission)\s+of\s+(P)", "{1} of {0}"),
    (r"\b(P)\s+(?:off|discount|reduction|less)[^\d]*(N)", "{1} - {0}"),
    (r"(N)[^%]*?\b(P)\s+(?:off|discount|reduction|less|cheaper)", "{0} - {1}"),
    (r"(N)[^%]*?\b(?:plus|with|and)\s+(P)\s+(?:tax|vat|tip|sales)", "{0} + {1}"),
    (r"\bhalf\s+of\s+(N)|\bhalf\s+(N)", "{0} / 2"),
    (r"\b(?:a\s+)?third\s+of\s+(N)", "{0} / 3"),
    (r"\b(?:a\s+)?quarter\s+of\s+(N)", "{0} / 4"),
    (r"\b(?:double|twice)\s+(?:of\s+)?(N)", "2 * {0}"),
    (r"\b(?:triple)\s+(?:of\s+)?(N)", "3 * {0}"),
)  # fmt: skip
_PERCENT = r"(?:\d{1,40}(?:\.\d{1,40})?)\s*(?:%|percent\b|per\s+cent\b)"
_COMPILED = [
    (re.compile(p.replace("(N)", f"({_OPERAND})").replace("(P)", f"({_PERCENT})"), re.IGNORECASE), template)
    for p, template in _NAMED
]
_LISTED = re.compile(r"\b(?:add|adding|sum|total\s+of|sum\s+up|average|mean)\b", re.IGNORECASE)
_AVERAGE = re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)

OPERATORS: Mapping[str, tuple[str, ...]] = {
    "+": (
        "I have some and get more, how many altogether?",
        "She finds another few. How many does she have now?",
        "What is the total of both amounts?",
        "There are some red and some blue ones, how many in all?",
        "How much is it when both are put together?",
        "He earned this on Monday and that on Tuesday. How much did he earn in total?",
    ),
    "-": (
        "I had some and gave a few away. How many are left?",
        "How much money remains after paying?",
        "How many more does she have than he has?",
        "Some of them left the bus. How many stayed?",
        "What is my change if I pay with a larger note?",
        "How much older is she than her brother?",
        "How many are still missing until the goal?",
    ),
    "*": (
        "Each box holds several. How many are in all the boxes?",
        "What do I pay for several items at this price each?",
        "They travel at a speed per hour for some hours. How far do they get?",
        "There are rows with the same number of seats. How many seats are there?",
        "I save this much every week. How much is it after several weeks?",
        "How much do several tickets cost when one costs this much?",
    ),
    "/": (
        "Sweets are shared equally among children. How many does each get?",
        "We split the bill. How much does each person pay?",
        "How many groups of this size can be made?",
        "How many boxes are needed to pack all of them?",
        "How long does it take at this speed?",
        "What is the price of one if several cost this much?",
    ),
}
_CUES: Mapping[str, str] = {
    "+": r"\b(?:altogether|together|in all|in total|both|combined|sum|another|additional"
    r"|gets? \d+ more|buys? \d+ more|finds?|joined|now have)\b",
    "-": r"\b(?:left|remain\w*|gave|gives?|spen[dt]s?|lost|loses?|ate|eats?|sold|sells?|took|flew"
    r"|change|fewer|than|off"
    r"|still|difference|away|broke|used)\b",
    "*": r"\b(?:each|apiece|every|times|rows?|at [$€£]?\d|per (?!person|head)\w+)\b|\ba piece\b",
    "/": r"\b(?:split|shared?|equally|evenly|among|amongst|divided?|does each|per person|per head"
    r"|for each)\b",
}


def _digits(match: re.Match[str]) -> str:
    if match["unit"]:
        value = _UNITS[match["unit"].lower()]
    else:
        value = _TENS[match["tens"].lower()] + _UNITS.get((match["one"] or "").lower(), 0)
    return str(value * _SCALES.get((match["scale"] or "").lower(), 1))


def _plain(text: str) -> str:
    """Signs as ASCII; number words as digits, except a lone `one`, which mostly is a pronoun."""
    spelled = _SPOKEN.sub(lambda match: match[0] if match[0].lower() == "one" else _digits(match), text)
    return spelled.translate(_SIGNS)


def numbers(text: str) -> list[str]:
    """The numbers in `text`, as written, percent signs included."""
    found = re.findall(rf"(?<![\w.])(?:{_NUMBER})(?:\s*%)?(?![\w]*[a-z]-?\d)", _plain(text))
    return [number.replace(",", "").replace(" ", "") for number in found]


def _trim(run: str) -> str:
    """`run` without what cannot begin or end an expression, brackets balanced."""
    before = ""
    while run != before:
        before = run
        run = run.strip().lstrip("*/^%!,)").rstrip("+-*/^,(").strip()
        run = re.sub(r"^of\b|\bof$", "", run).strip()
        run = re.sub(r"^\+\s*", "", run)
        if run.count("(") > run.count(")"):
            run = run.replace("(", "", 1) if run.startswith("(") else run[: run.rindex("(")]
        elif run.count(")") > run.count("("):
            run = run[: run.rindex(")")] + run[run.rindex(")") + 1 :]
    return re.sub(r"\s+", " ", run)


def _runs(text: str) -> list[str]:
    found = []
    for match in _RUN.finditer(text):
        run = _trim(match[0])
        if len(re.findall(r"\d", run)) and _OPERATOR_IN.search(run) and _complete(run):
            found.append(run)
    return found


def _complete(run: str) -> bool:
    """True where operators and operands could make an expression; two numbers side by side cannot."""
    if re.search(r"[\d)]\s+[\d(]|,(?![^()]*\))", run.replace(" of ", "*")):
        return False
    operands = len(re.findall(rf"{_NUMBER}|\bpi\b", run))
    return operands > 1 or bool(re.search(r"\w\(|!", run))


def written(text: str) -> list[str]:
    """Expressions that stand in `text`, written out or named; the best first."""
    plain = _plain(text)
    plain = re.sub(r"(?<=\d)\s*(?:percent|per\s+cent)\b", "%", plain, flags=re.IGNORECASE)
    plain = re.sub(r"[$€£]\s*(?=\d)", "", plain)
    spoken = plain
    for pattern, sign in _BETWEEN:
        spoken = re.sub(pattern, f" {sign} ", spoken, flags=re.IGNORECASE)
    spoken = re.sub(r"(\^\s*\d+)(?:st|nd|rd|th)\b(?:\s+power)?", r"\1", spoken)
    named = _named(plain)
    runs = sorted(_runs(spoken), key=len, reverse=True)
    if named and runs and len(re.findall(_NUMBER, runs[0])) < len(re.findall(_NUMBER, named[0])):
        return [*named, *runs]
    return list(dict.fromkeys([*runs, *named]))


def _named(plain: str) -> list[str]:
    found = []
    for pattern, template in _COMPILED:
        match = pattern.search(plain)
        if match is None:
            continue
        parts = [part for part in match.groups() if part]
        bare = [re.sub(r"[$€£\s]", "", part) for part in parts]
        low, high = sorted(bare, key=_size)[0], sorted(bare, key=_size)[-1]
        found.append(template.format(*bare, low=low, high=high))
    listed = numbers(plain)
    if _LISTED.search(plain) and len(listed) > 1 and not any("%" in number for number in listed):
        joined = " + ".join(listed)
        found.append(f"({joined}) / {len(listed)}" if _AVERAGE.search(plain) else joined)
    return found


def _size(number: str) -> float:
    return float(number.replace(",", "").rstrip("%") or 0)


def cued(text: str) -> dict[str, float]:
    """How strongly the words of `text` speak for each operator, 0 or more."""
    return {sign: 0.12 * len(re.findall(cue, text, re.IGNORECASE)) for sign, cue in _CUES.items()}


_PRICED = re.compile(
    rf"({_NUMBER})\s+(?:[a-z-]+\s+){{1,4}}(?:at|for|with|of|cost\w*|holding"
    rf"|containing)\s+[$€£]?\s*({_NUMBER})"
    r"(?:\s+[a-z]+){0,3}?\s+(?:each|apiece|a piece|per\s+[a-z]+)\b",
    re.IGNORECASE,
)


def stories(text: str, ranked: Sequence[str]) -> list[str]:
    """A word problem's numbers joined by operators, likeliest first (`ranked`: operators, best first)."""
    plain = _plain(text)
    found = numbers(plain)
    if len(found) < 2:
        return []
    groups = [f"{a} * {b}".replace(",", "") for a, b in _PRICED.findall(plain)]
    rest = numbers(_PRICED.sub(" ", plain))
    if groups and (rest or len(groups) > 1):
        sold = " + ".join(groups)
        if not rest:
            return [sold]
        less = next((sign for sign in ranked if sign in "+-"), "+") == "-"
        return [f"{rest[0]} - ({sold})" if less else f"{sold} + {' + '.join(rest)}"]
    return [_joined(sign, found) for sign in ranked]


def _joined(sign: str, found: Sequence[str]) -> str:
    ordered = list(found)
    if sign in "-/" and len(ordered) == 2 and _size(ordered[0]) < _size(ordered[1]):
        ordered.reverse()
    return f" {sign} ".join(ordered)
