"""Numbers and operations in words: `two hundred and fifty` is 250, `the 3rd root of 27` is 27 ^ (1 / 3).

`accounts` says whether an expression holds every number and every operation that a text names: one that
leaves something out would be a wrong answer stated as a fact. Promises: pure; text that is no number and no
operation stays as it is. It computes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["NUMBER", "accounts", "inline", "numbers", "operates", "plain"]

NUMBER = r"\d{1,40}(?:,\d{3}){0,10}(?:\.\d{1,40})?|\.\d{1,40}"
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen"""
_WORDS = {word: value for value, word in enumerate(_ONES.split())}
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS |= {word: 10 * tens for tens, word in enumerate(_TENS.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_WORD = "|".join([*_WORDS, *_SCALES])
_SPOKEN = re.compile(
    rf"\b(?:a[ ](?=(?:{'|'.join(_SCALES)})\b))?(?:{_WORD})\b"
    rf"(?:(?:[ -]|[ ]and[ ](?:(?<=hundred and )|(?<=ousand and )|(?<=illion and )))(?:{_WORD})\b){{0,12}}",
    re.IGNORECASE,
)
_SCALED = re.compile(rf"(?<![\w.])({NUMBER})\s+(hundred|thousand|million|billion)\b", re.IGNORECASE)
_HALVES = re.compile(r"(?<![\w.])(\d{1,15})\s+and\s+a\s+half\b", re.IGNORECASE)
_PERCENT = re.compile(r"(?<=\d)\s*(?:percent|per\s+cent)\b", re.IGNORECASE)
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "·": "*", "²": "^2", "³": "^3", "√": " sqrt "})

_INLINE: Sequence[tuple[str, str]] = (  # operations that stand before or behind their number
    (r"\b(?:cube|cubic|third|3rd)\s+root\s+of\s+(N)", r"\1 ^ (1 / 3)"),
    (r"\bfourth\s+root\s+of\s+(N)", r"\1 ^ (1 / 4)"),
    (r"\bfifth\s+root\s+of\s+(N)", r"\1 ^ (1 / 5)"),
    (r"\b(\d{1,3})(?:st|nd|rd|th)\s+root\s+of\s+(N)", r"\2 ^ (1 / \1)"),
    (r"\b(?:square\s+)?root\s+of\s+(N)(?!\s*\^)", r"sqrt(\1)"),
    (r"\bfactorial\s+of\s+(N)", r"factorial(\1)"),
    (r"(?<![\w.])(N)\s+factorial\b(?!\()", r"factorial(\1)"),
    (r"(?<![\w.])(N)\s+dozen\b", r"(\1 * 12)"),
    (r"(?<![\w.])(\d{1,3})\s+quarters\s+of\s+(?=\d)", r"\1 / 4 of "),
    (r"(?<![\w.])(\d{1,3})\s+thirds\s+of\s+(?=\d)", r"\1 / 3 of "),
    (r"\bhalf\s+of\s+(N)(?!\s*%)", r"\1 / 2"),
)
_INLINED = [(re.compile(rf"(?:\bthe\s+)?{p.replace('(N)', f'({NUMBER})')}", re.IGNORECASE), to) for p, to in _INLINE]

_NEEDED: Sequence[tuple[str, str]] = (  # what a text names → what its expression then holds
    (r"\bplus\b|\badd(?:ed|ing)?\b(?!\w)|(?<=\d)\s*\+\s*(?=[\d(])", r"\+"),
    (r"\bminus\b|\bsubtract\w*|(?<=\d)\s+-\s+(?=[\d(])", "-"),
    (r"(?<=\d)\s+times\b|\bmultipl\w+|(?<=\d)\s*\*\s*(?=[\d(])", r"\*"),
    (r"(?<=\d)\s+divided\b|\bdivide\b|(?<=\d)\s*/\s*(?=[\d(])", "/"),
    (r"(?<=\d)\s+squared\b|\bsquare\s+of\b", r"\^ ?2"),
    (r"(?<=\d)\s+cubed\b|\bcube\s+of\b", r"\^ ?3"),
    (r"\broot\b", r"sqrt|\^ \(1 /"),
    (r"\bfactorial\b", r"factorial|!"),
    (r"(?<=\d)\s*%(?!\s*\d)", "%"),
    (r"\bpower\b", r"\^|\*\*"),
    (r"\bhalf\s+(?:of\b|\d)", r"/ 2\b"),
    (r"\bquarters?\s+(?:of\b|\d)", r"/ 4\b"),
    (r"\b(?:sine?|cosine|cos|tangent|log\w*|logarithm|ln)\s+(?:of|base|\d|\()", r"sin|cos|tan|log|ln"),
    (r"\bthirds?\s+of\b", r"/ 3\b"),
    (r"\b(?:twice|double|triple)\s+\d", r"\b[23] \*"),
    (r"(?<=\d)\s+dozen\b", r"\b12\b"),
)
_COMPILED = [(re.compile(named, re.IGNORECASE), re.compile(held)) for named, held in _NEEDED]


def _value(match: re.Match[str]) -> str:
    """The number that a row of number words says; a row that says none stays as it is."""
    words = re.findall(r"[a-z]+", match[0].lower())
    if words == ["one"]:
        return match[0]  # mostly a pronoun
    total = part = 0
    for word in words:
        if word == "hundred":
            part = (part or 1) * 100
        elif word in _SCALES:
            total, part = total + (part or 1) * _SCALES[word], 0
        elif word in _WORDS:
            value = _WORDS[word]
            if part % 10 or (part % 100 and value > 9):
                return match[0]  # two numbers side by side
            part += value
    return str(total + part)


def _scaled(match: re.Match[str]) -> str:
    return f"{float(match[1].replace(',', '')) * _SCALES[match[2].lower()]:.15g}"


def plain(text: str) -> str:
    """Signs as ASCII; number words as digits, `percent` as its sign."""
    spelled = _SPOKEN.sub(_value, _SCALED.sub(_scaled, text))
    return _PERCENT.sub("%", _HALVES.sub(r"\1.5", spelled).translate(_SIGNS))


def inline(text: str) -> str:
    """Roots, factorials, fractions and dozens in words, as they stand in an expression."""
    for pattern, to in _INLINED:
        text = pattern.sub(to, text)
    return text


def numbers(text: str) -> list[str]:
    """The numbers in `text`, as written, percent signs included."""
    found = re.findall(rf"(?<![\w.])(?:{NUMBER})(?:\s*%)?(?![\w]*[a-z]-?\d)", plain(text))
    return [number.replace(",", "").replace(" ", "") for number in found]


def accounts(expression: str, text: str) -> bool:
    """True if `expression` holds every number and every operation that `text` names."""
    asked, held = plain(text), expression.replace(",", "")
    wanted = Counter(float(number.rstrip("%")) for number in numbers(asked))
    there = Counter(float(number) for number in re.findall(NUMBER, held))
    if wanted - there:
        return False
    return all(len(named.findall(asked)) <= len(needed.findall(held)) for named, needed in _COMPILED)


def operates(text: str) -> bool:
    """True if `text` names an operation and a number."""
    asked = plain(text)
    return bool(numbers(asked)) and any(named.search(asked) for named, _ in _COMPILED)
