"""Which tools a message asks for: nearest examples, over the message and each request in it.

A text's score for a tool is the mean of its two nearest examples (cosine), plus what the arguments that
are there say; a class of utterances that need no tool competes with the tools. A tool whose required
arguments the text cannot fill is out. Promises: pure and deterministic; `questions` says what has to be
compared, `route` decides from the table. It will not run a model, and it can be wrong: it is a router.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sidestream.messages import ToolSpec
from sidestream.providers.local.arguments import Offer, offer, reckons
from sidestream.providers.local.clauses import pieces, starters, states
from sidestream.providers.local.fit import misfit, stems, topics
from sidestream.providers.local.spoken import accounts, operates
from sidestream.providers.local.sums import OPERATORS, cued
from sidestream.providers.local.utterances import ELSEWHERE, LOOKUP, NOTHING

__all__ = ["Choice", "Questions", "missing", "questions", "route"]

_LOOKED_AT = 600  # a longer message is one request
_LEAST = 0.2  # a whole message below this asks for no tool
_LEAST_BARE = 0.36  # a call without arguments must be clearer: anything could be one
_LEAST_MISSING = 0.45  # closer than this to a request that some other tool would serve: it is one
_LEAST_PIECE = 0.26  # a part of one must be clearer
_DOCUMENTS = re.compile(r"\b(?:knowledge|documents?|documentation|handbook|manual|wiki)\b", re.IGNORECASE)
_TELLING = 0.06  # a word that only this tool's examples use
_NAMED = 0.4  # the message names the tool
_FEW = 5  # examples; a tool with fewer borrows those of its topic


class Choice(NamedTuple):
    """One call to make: the tool and the argument objects it may get, best first."""

    spec: ToolSpec
    args: list[dict[str, Any]]


class Questions(NamedTuple):
    """What to compare: `texts` (the message, then its pieces if there are several) against `examples`."""

    texts: list[str]
    examples: list[str]
    specs: tuple[ToolSpec, ...]


def _utterances(spec: ToolSpec) -> list[str]:
    said = spec.description.strip().split("\n")[0]
    named = spec.name.replace("_", " ").replace("-", " ")
    own = LOOKUP if _DOCUMENTS.search(f"{named} {said}") else ()
    lent = _lent(named) if len(spec.examples) < _FEW else ()
    return [*spec.examples, *own, *lent, said or named, *([named] if not spec.examples else [])]


def _lent(named: str) -> list[str]:
    """What people ask of a tool of that name, where the tool itself gives few examples."""
    return [entry for words, entries in ELSEWHERE if stems(named) & stems(" ".join(words)) for entry in entries]


def questions(text: str, specs: Sequence[ToolSpec]) -> Questions:
    """What the embedding model has to compare for this message."""
    begins = starters(example for spec in specs for example in spec.examples)
    cut = pieces(text, begins) if len(text) <= _LOOKED_AT else ()
    parts = [part for part in (_TRAILING.sub("", part).strip() for part in cut) if part]
    examples = [entry for spec in specs for entry in _utterances(spec)]
    examples += [*NOTHING, *_elsewhere(specs), *[entry for entries in OPERATORS.values() for entry in entries]]
    texts = [text.strip(), *(parts[:6] if len(parts) > 1 else [])]
    return Questions(texts, list(dict.fromkeys(examples)), tuple(specs))


_TRAILING = re.compile(r"(?:[\s,;]+(?:and|then|also|plus|but|as\s+well\s+as|&)\b)*[\s,;]*$", re.IGNORECASE)


def _elsewhere(specs: Sequence[ToolSpec]) -> list[str]:
    """Utterances that need a tool which is not here: topics that no offered tool speaks of."""
    spoken = {stem for spec in specs for stem in topics(spec)}
    return [entry for words, entries in ELSEWHERE if not spoken & stems(" ".join(words)) for entry in entries]


def _telling(specs: Sequence[ToolSpec]) -> list[frozenset[str]]:
    """For each tool the words (their beginnings) that only its own utterances hold."""
    held = [{stem for entry in _utterances(spec) for stem in stems(entry)} for spec in specs]
    common = {stem for entry in NOTHING for stem in stems(entry)}
    return [
        frozenset(own.difference(common, *(held[k] for k in range(len(held)) if k != at)))
        for at, own in enumerate(held)
    ]


class _Scored(NamedTuple):
    score: float
    spec: ToolSpec | None
    offer: Offer


def _near(row: Mapping[str, float], entries: Sequence[str], most: int = 2) -> float:
    best = sorted((row[entry] for entry in entries), reverse=True)[: most if len(entries) > 3 else 1]
    return sum(best) / len(best) if best else 0.0


def _operators(text: str, row: Mapping[str, float]) -> list[str]:
    cues = cued(text)
    scores = {sign: _near(row, entries) + cues[sign] for sign, entries in OPERATORS.items()}
    return sorted(scores, key=lambda sign: -scores[sign])


def _best(text: str, row: Mapping[str, float], specs: Sequence[ToolSpec], force: bool) -> _Scored:
    """The best tool for one text, or the class of no tool."""
    operators = _operators(text, row)
    nothing = max(_near(row, NOTHING), _near(row, _elsewhere(specs)))
    best = _Scored(-1.0 if force else nothing, None, Offer([]))
    words = stems(text)
    for spec, telling in zip(specs, _telling(specs), strict=True):
        found = offer(spec, text, operators)
        if not found.args:
            continue
        named = _NAMED if "_" in spec.name and spec.name.lower() in text.lower() else 0.0
        score = _near(row, _utterances(spec)) + found.bonus + named + min(_TELLING * len(words & telling), 2 * _TELLING)
        score -= misfit(spec, _utterances(spec), found.args[0], text)
        if not found.args[0] and score < _LEAST_BARE:
            continue
        if score > best.score:
            best = _Scored(score, spec, found)
    return best


def route(asked: Questions, table: Sequence[Sequence[float]], choice: str | None = None) -> list[Choice]:
    """The calls a message asks for, in its order; none if it needs no tool.

    `table` has a row per text and a column per example. `choice` is the caller's: `none`, `required` or a
    tool's name.
    """
    if choice == "none" or not asked.specs:
        return []
    named = [spec for spec in asked.specs if spec.name == choice]
    specs = named or asked.specs
    force = bool(named) or choice == "required"
    rows = [dict(zip(asked.examples, row, strict=True)) for row in table]
    whole = _best(asked.texts[0], rows[0], specs, force)
    parts = [
        _best(text, row, specs, False) for text, row in zip(asked.texts[1:], rows[1:], strict=True) if not states(text)
    ]
    clear = [part for part in parts if part.spec is not None and part.score >= _LEAST_PIECE]
    if whole.spec is not None and reckons(whole.spec) and all(part.spec is whole.spec for part in clear):
        clear = []  # one expression holds it all
    if len(clear) > 1:
        return _complete(_distinct(clear), asked.texts[1:])
    if clear and clear[0].score > whole.score and whole.spec is not clear[0].spec:
        return _complete(_distinct(clear), asked.texts[1:])
    return _distinct([whole]) if whole.score >= _LEAST or force else []


def _complete(choices: list[Choice], parts: Sequence[str]) -> list[Choice]:
    """`choices` without sums, if a part of the message goes on reckoning and no call has its numbers."""
    held = " ".join(str(value) for choice in choices for value in choice.args[0].values())
    bound = [part for part in parts if operates(part) or (states(part) and part[-1] not in ".!?")]
    if all(accounts(held, part) for part in bound):
        return choices
    return [choice for choice in choices if not reckons(choice.spec)]


def missing(asked: Questions, table: Sequence[Sequence[float]]) -> bool:
    """True if the message asks for what only a tool could know or do, and none such is offered."""
    if operates(asked.texts[0]) and any(reckons(spec) for spec in asked.specs):
        return True  # a sum that no expression holds: the model would make one up
    row = dict(zip(asked.examples, table[0], strict=True))
    near = _near(row, _elsewhere(asked.specs))
    return near >= _LEAST_MISSING and near > _near(row, NOTHING)


def _distinct(scored: Sequence[_Scored]) -> list[Choice]:
    found: list[Choice] = []
    for entry in scored:
        if entry.spec is None:
            continue
        own = entry.offer.args[:1] if entry.offer.more else entry.offer.args
        for args in (own, *([one] for one in entry.offer.more)):
            if not any(one.spec.name == entry.spec.name and one.args[0] == args[0] for one in found):
                found.append(Choice(entry.spec, list(args)))
    return found
