"""Arithmetic in a sentence: from what a person wrote to expressions made of the person's own numbers.

Three readings, in this order: an expression written out (`17 * 23`, `15% of 240`, `8 times 4`), a named
operation (`the sum of 2 and 3`, `divide 10 by 4`), a word problem (numbers joined by the operator that the
caller ranked first). Promises: every number in an expression stands in the sentence. It computes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sidestream.providers.local.spoken import NUMBER, accounts, inline, numbers, operates, plain

__all__ = ["OPERATORS", "asked_alone", "cued", "numbers", "stories", "undated", "written"]

_OPERAND = rf"(?:[$€£]\s*)?(?:{NUMBER})(?:\s*(?:%|percent\b|per\s+cent\b))?"

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
    rf"|{NUMBER}|pi\b"
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
    (r"\b(N)\s+squared|\bsquare\s+of\s+(N)", "{0} ^ 2"),
    (r"\b(N)\s+cubed|\bcube\s+of\s+(N)", "{0} ^ 3"),
    (r"\bfactorial\s+of\s+(N)|\b(N)\s+factorial", "factorial({0})"),
    (r"\b(?:increase|raise|grow|mark\s+up)[sd]?\s+(N)[^\d]*\bby\s+(P)", "{0} + {1}"),
    (r"\b(?:decrease|reduce|lower|discount|cut)[sd]?\s+(N)[^\d]*\bby\s+(P)", "{0} - {1}"),
    (r"(N)[^%]*?\b(?:reduced|lowered|cut|discounted|decreased|fe?ll|drop\w*|falls|down)\s+by\s+(P)", "{0} - {1}"),
    (r"(N)[^%]*?\b(?:increased|raised|rises|rose|grows|grew|goes\s+up|went\s+up)\s+by\s+(P)", "{0} + {1}"),
    (r"\b(?:rises|rose|grew|increased?|up)\s+(?:by\s+)?(P)\s+from\s+(N)", "{1} + {0}"),
    (r"\b(?:falls|fell|drop\w*|decreased?|down)\s+(?:by\s+)?(P)\s+from\s+(N)", "{1} - {0}"),
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
_VERBS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_THEN = re.compile(
    r"(?:[,;.]\s*|\s)(?:and\s+)?(?:then\s+)?(?P<verb>add|subtract|(?:multiply|divide)(?:\s+(?:it|that|the\s+\w+))?\s+by)\s+"
    rf"(?P<number>{_OPERAND})(?:\s+(?:to|from)\s+(?:it|that|the\s+\w+))?\s*[?.!]*$",
    re.IGNORECASE,
)
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
    if re.search(r"(?<![%\d\s])\s+of\b|(?<!/ )(?<![/\d.])\d+ of\b", run):
        return False  # a part of a number needs a percentage or a fraction before it
    if re.search(r"[\d)]\s+[\d(]|,(?![^()]*\))", run.replace(" of ", "*")):
        return False
    operands = len(re.findall(rf"{NUMBER}|\bpi\b", run))
    return operands > 1 or bool(re.search(r"\w\(|!", run))


def written(text: str) -> list[str]:
    """Expressions that stand in `text`, written out or named; the best first."""
    bare = re.sub(r"[$€£]\s*(?=\d)", "", plain(text))
    spoken = inline(bare)
    for pattern, sign in _BETWEEN:
        spoken = re.sub(pattern, f" {sign} ", spoken, flags=re.IGNORECASE)
    spoken = re.sub(r"(\^\s*\d+)(?:st|nd|rd|th)\b(?:\s+power)?", r"\1", spoken)
    if chained := _chained(text):
        return chained
    named = _named(bare)
    runs = sorted(_runs(spoken), key=len, reverse=True)
    if named and runs and len(re.findall(NUMBER, runs[0])) < len(re.findall(NUMBER, named[0])):
        return [*named, *runs]
    return list(dict.fromkeys([*runs, *named]))


def _chained(text: str) -> list[str]:
    """`Multiply 3 by 4 and add 5`: what the text goes on to do with the result, around it."""
    if (then := _THEN.search(plain(text))) is None:
        return []
    head = plain(text)[: then.start()]
    found = written(head) or (numbers(head) if len(numbers(head)) == 1 else [])
    sign = next(sign for verb, sign in _VERBS.items() if then["verb"].lower().startswith(verb))
    return [f"({found[0]}) {sign} {then['number']}" for _ in found[:1]]


def _named(text: str) -> list[str]:
    found = []
    for pattern, template in _COMPILED:
        match = pattern.search(text)
        if match is None:
            continue
        parts = [part for part in match.groups() if part]
        bare = [re.sub(r"[$€£\s]", "", part) for part in parts]
        low, high = sorted(bare, key=_size)[0], sorted(bare, key=_size)[-1]
        found.append(template.format(*bare, low=low, high=high))
    listed = numbers(text)
    if _LISTED.search(text) and len(listed) > 1 and not any("%" in number for number in listed):
        joined = " + ".join(listed)
        found.append(f"({joined}) / {len(listed)}" if _AVERAGE.search(text) else joined)
    return found


def _size(number: str) -> float:
    return float(number.replace(",", "").rstrip("%") or 0)


def cued(text: str) -> dict[str, float]:
    """How strongly the words of `text` speak for each operator, 0 or more."""
    return {sign: 0.12 * len(re.findall(cue, text, re.IGNORECASE)) for sign, cue in _CUES.items()}


_BARE = re.compile(r"(?:what(?:['’]s|\s+is)|how\s+much\s+is|calculate|compute|work\s+out)\s+[\d(]", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:in|since|of)\s+(?:19|20)\d\d\b(?!\s*[-+*/%])", re.IGNORECASE)
_PRICED = re.compile(
    rf"({NUMBER})\s+(?:[a-z-]+\s+){{1,4}}(?:at|for|with|of|cost\w*|holding"
    rf"|containing)\s+[$€£]?\s*({NUMBER})"
    r"(?:\s+[a-z]+){0,3}?\s+(?:each|apiece|a piece|per\s+[a-z]+)\b",
    re.IGNORECASE,
)


def asked_alone(text: str) -> list[str]:
    """The one sum that a sentence of its own asks for, where the other sentences only tell something."""
    parts = re.split(r"(?<=[?.!])\s+", text)
    sums = [part for part in parts if operates(part)]
    if len(parts) < 2 or len(sums) != 1 or not _BARE.match(sums[0]):
        return []
    return [found for found in written(sums[0]) if accounts(found, sums[0])]


def undated(text: str) -> str:
    """`text` without the years that date it (`in 2019`), which nobody reckons with."""
    return _YEAR.sub(" ", text)


def stories(text: str, ranked: Sequence[str]) -> list[str]:
    """A word problem's numbers joined by operators, likeliest first (`ranked`: operators, best first)."""
    said = plain(undated(text))
    found = numbers(said)
    if len(found) < 2 or any("%" in number for number in found):
        return []
    groups = [f"{a} * {b}".replace(",", "") for a, b in _PRICED.findall(said)]
    rest = numbers(_PRICED.sub(" ", said))
    if groups and (rest or len(groups) > 1):
        sold = " + ".join(groups)
        if not rest:
            return [sold]
        less = next((sign for sign in ranked if sign in "+-"), "+") == "-"
        return [f"{rest[0]} - ({sold})" if less else f"{sold} + {' + '.join(rest)}"]
    return [_joined(sign, found) for sign in ranked[:1] if len(found) == 2 or _plausible(sign, found)] or []


def _plausible(sign: str, found: Sequence[str]) -> bool:
    """Three numbers and more are only added, or taken from the largest."""
    return sign == "+" or (sign == "-" and _size(found[0]) >= sum(map(_size, found[1:])))


def _joined(sign: str, found: Sequence[str]) -> str:
    ordered = list(found)
    if sign in "-/" and len(ordered) == 2 and _size(ordered[0]) < _size(ordered[1]):
        ordered.reverse()
    return f" {sign} ".join(ordered)
