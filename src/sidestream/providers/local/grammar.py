"""GBNF, the grammar language of llama.cpp: literals, choices, and the few grammars a turn is made of.

Promises: what `sentence` and `lead` admit cannot state a fact: verbs of a fixed list, words of the user's.
`fork` finds where texts that share a beginning and an end really differ, so that the model decides only
that. It knows no tool and no dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["any_of", "fork", "lead", "literal", "regret", "sentence", "without"]

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_OPENERS = ("I'll ", "Let me ", "I will ")
_ENDINGS = ("", " for you", " now", " first")
_DOING: Sequence[tuple[str, tuple[str, ...]]] = (  # what a tool is said to do → how one says so
    (r"calculat|arithmetic|comput|math", ("work that out", "calculate that", "do the calculation")),
    (r"\bcount", ("count that", "count them")),
    (r"convert|conversion", ("convert that", "do the conversion")),
    (r"\btime\b|\bclock\b|\bdate\b", ("check the clock", "check the time", "look at the clock")),
    (r"search|look up|knowledge|find|retriev|lookup", ("look that up", "look it up", "search for that")),
    (r"weather|forecast", ("check the weather", "look at the weather")),
    (r"translat", ("translate that",)),
    (r"fetch|download|\burl\b", ("fetch that", "get that page")),
    (r"send|post|\bmail", ("send that", "take care of that")),
    (r"book|reserv|order|schedul", ("arrange that", "take care of that")),
)
_ANYTHING = ("check that", "take care of that", "find that out", "look into that")
_CERTAIN = ("The answer is ", "The result is ", "That is ", "It is ")
_REGRETS = ("Sorry, ", "I'm sorry, ", "Unfortunately, ")
_LONG = ("Here is what I found: ", "I found this: ", "This is what I found: ")


def literal(text: str) -> str:
    """`text` as a GBNF string."""
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def any_of(texts: Iterable[str]) -> str:
    """One of `texts`."""
    return "(" + " | ".join(literal(text) for text in dict.fromkeys(texts)) + ")"


def without(chars: Iterable[str]) -> str:
    """A grammar of any text that has none of `chars` (what a block begins with)."""
    escaped = "".join("\\" + char if char in "\\]^-[" else char for char in sorted(set(chars)))
    return f"root ::= [^{escaped}]+"


def sentence(about: str) -> str:
    """A short sentence that says what is being done; `about` is the tool's name and description."""
    fitting = [phrase for pattern, said in _DOING if re.search(pattern, about, re.IGNORECASE) for phrase in said]
    return f'root ::= {any_of(_OPENERS)} {any_of(fitting[:6] or _ANYTHING)} {any_of(_ENDINGS)} "."'


def lead(short: bool, follows: bool = False) -> str:
    """What stands before a result: words that are true of any, for the question's own may not fit it."""
    leads = _CERTAIN if short else _LONG
    lower = [text if text.startswith("I ") else text[0].lower() + text[1:] for text in leads]
    return f"root ::= {any_of(lower if follows else leads)}"


def regret() -> str:
    """What stands before a failure."""
    return f"root ::= {any_of(_REGRETS)}"


def _shared(texts: Sequence[str]) -> str:
    """The common beginning."""
    first, last = min(texts), max(texts)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]


def fork(texts: Sequence[str]) -> tuple[str, list[str], str]:
    """The common beginning, what differs, and the common end. One text is all beginning."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) == 1:
        return distinct[0], [], ""
    head = _shared(distinct)
    rests = [text[len(head) :] for text in distinct]
    tail = _shared([rest[::-1] for rest in rests])[::-1]
    return head, [rest[: len(rest) - len(tail)] for rest in rests], tail
