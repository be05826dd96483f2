"""Pieces of a message that can be arguments: quoted text, a place, a date, an address, a topic.

Every function takes the text of one request and returns what stands in it, best reading first; an empty
list means that it is not there. Promises: what is returned was written by the user. It knows no tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "after",
    "capitals",
    "codes",
    "dates",
    "emails",
    "links",
    "listed",
    "places",
    "quoted",
    "topic",
    "verbatim",
    "zones",
]

_QUOTED_WITHIN = 20_000  # characters
_QUOTES = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|«\s*([^»]+?)\s*»|„([^“”]+)[“”]|`([^`]+)`|(?<![\w])'((?:[^']|'(?=\w)){1,600})'(?!\w)"
    r"|(?<!\w)‘((?:[^’]|’(?=\w)){1,600})’(?!\w)"
)
_POLITE = re.compile(r"[\s,]*\b(?:please|thanks|thank you|for me|if you can)\b[\s.!?]*$", re.IGNORECASE)
_ASKING = re.compile(
    r"^(?:(?:and|then|also|so|hey|hi|hello|ok|okay|well)\b[\s,]+)*"
    r"(?:(?:please|kindly)\s+)?"
    r"(?:(?:can|could|would|will)\s+you\s+)?(?:(?:please|kindly|quickly)\s+)?"
    r"(?:(?:i\s+(?:want|need|would like|'d like)\s+(?:you\s+)?to\s+(?:know|see|find)?)\s*)?"
    r"(?:(?:do\s+you\s+know|tell\s+me|let\s+me\s+know|show\s+me|give\s+me|look\s+up|look\s+for"
    r"|look\s+at|search(?:\s+for)?"
    r"|find(?:\s+out)?(?:\s+me)?|check|get(?:\s+me)?|fetch|read\s+up\s+on|what\s+do\s+you\s+know)\s+)?"
    r"(?:(?:about|for|if|whether)\s+)?",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:what(?:'s|\s+is|\s+are|\s+was|\s+were)?|who(?:'s|\s+is|\s+are)?|where(?:'s|\s+is|\s+are)?"
    r"|when(?:'s|\s+is|\s+are)?"
    r"|which|how\s+(?:many|much|long|do|does|can|to|are|is)|how|does|do|is|are|can|why)\s+(?:i\s+"
    r"|we\s+|you\s+)?"
    r"(?:(?:the|our|a|an|my|your)\s+)?",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"\s+(?:on|in|from|using|via|with)\s+(?:the\s+|our\s+)?(?:wikipedia|web|internet|google"
    r"|knowledge\s+(?:base|store))$",
    re.IGNORECASE,
)
_NOT_OURS = "our|my|your|his|her|their|its|this|that|these|those|any|all|each|a|an|which|what"
_NO_PLACE = """moment morning evening afternoon night day week month year time hours? minutes? seconds?
present words? today now me my it utc"""
_BREAKS = """yet already right now please at and or today currently then is on if when as this tomorrow tonight
for to from time"""
_NAME = r"[^\W\d_][\w.'’/-]*"
_PLACE = re.compile(
    r"\b(?P<where>in|at|for|of|over\s+in|near|around)\s+"
    rf"(?!(?:{_NOT_OURS})\b)(?!(?:the\s+)?(?:{'|'.join(_NO_PLACE.split())})\b)"
    rf"(?P<place>(?:the\s+)?{_NAME}(?:[ ,]+(?!(?:{'|'.join(_BREAKS.split())})\b){_NAME}){{0,3}})",
    re.IGNORECASE,
)
_ZONE = re.compile(
    r"\b(?:(?:utc|gmt)\s*[+-]\s*\d{1,2}(?::\d\d)?|utc|gmt|[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+)\b", re.IGNORECASE
)
_CAPITALS = re.compile(r"(?<![.?!]\s)(?<!^)\b[^\W\d_a-z][\w'’-]*(?:\s+[^\W\d_a-z][\w'’-]*)*")
_MONTHS = """january february march april may june july august september october november december"""
_DAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DATE = re.compile(
    r"\b(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|today|tonight|tomorrow|yesterday"
    rf"|(?:next|this|last)\s+(?:week|month|year|weekend|{_DAYS})|(?:on\s+)?{_DAYS}"
    rf"|(?:\d{{1,2}}\s+)?(?:{'|'.join(_MONTHS.split())})(?:\s+\d{{1,2}})?(?:,?\s+\d{{4}})?)\b",
    re.IGNORECASE,
)


def _stripped(text: str) -> str:
    return _POLITE.sub("", text.strip()).strip().rstrip("?!., ").strip()


def quoted(text: str) -> list[str]:
    """What stands between quotation marks, the longest first."""
    found = [next(group for group in match.groups() if group) for match in _QUOTES.finditer(text[:_QUOTED_WITHIN])]
    return sorted(dict.fromkeys(found), key=len, reverse=True)


def verbatim(text: str) -> list[str]:
    """The text a person wants worked on: quoted, after a colon, or after `words in`."""
    if found := quoted(text):
        return found
    head, colon, tail = text.partition(":")
    if colon and tail.strip() and not re.search(r"\d$", head):
        return [tail.strip()]
    if "\n" in text.strip():
        return [text.strip().split("\n", 1)[1].strip()]
    match = re.search(
        r"\b(?:words?|characters?|letters?|lines?|count|length|text|sentence|phrase|translat\w+"
        r"|summari\w+|repl\w+|post|say|send|write|echo|repeat)\b"
        r"(?:\s+(?:are|is)(?:\s+there)?)?(?:\s+(?:in|of|for|does|has|have|with))?\s+(?:(?:the|this"
        r"|my|following)\s+)*"
        r"(?:(?:sentence|text|phrase|paragraph|line|string)\s+)?(?P<text>.+)",
        text,
        re.IGNORECASE,
    )
    if match is None:
        return []
    found_text = re.sub(r"\s+(?:have|has|contain|contains)\s*\??$", "", _stripped(match["text"]))
    return [found_text] if len(found_text.split()) > 1 else []


def _prepositional(text: str) -> list[str]:
    """Names after `in` or `at`; after `of` and `for` only where they are capitalised."""
    found: list[str] = []
    for match in _PLACE.finditer(text):
        parts = re.split(r",\s*(?=[A-Z])", match["place"].strip(" .,?!'’"))
        sure = match["where"].lower() not in ("of", "for")
        found += [part for part in parts if part and (sure or part.removeprefix("the ")[:1].isupper())]
    return found


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(re.sub(r"['’]s?$", "", name) for name in names))


def zones(text: str) -> list[str]:
    """Time zones and the places whose time the text asks for."""
    named = [match[0] for match in _ZONE.finditer(text)]
    before = [
        match[1]
        for match in re.finditer(
            r"\b(?!What\b|Which\b|The\b|Local\b|Current\b)([A-Z][\w'’]+(?: [A-Z][\w'’]+)*) (?:local )?time\b",
            text,
        )
    ]
    return _unique([*named, *_prepositional(text), *before])


def places(text: str) -> list[str]:
    """Cities, countries and rooms the text speaks of."""
    capital = (name for name in capitals(text) if not _DATE.fullmatch(name) and name not in ("I", "I'm"))
    found = _prepositional(text) or capital
    return _unique(re.sub(r"^the\s+", "", name) for name in found)


def listed(text: str, place: str) -> list[str]:
    """`place` and the names that follow it in a row: `Bern, Basel and Zurich`."""
    name = r"[^\W\d_a-z][\w'’-]*(?:\s+[^\W\d_a-z][\w'’-]*)*"
    link = r"(?:\s*,\s*(?:and\s+)?|\s+(?:and|or|&)\s+)"
    row = re.search(rf"{re.escape(place)}(?:{link}(?:in\s+|for\s+)?{name})+", text)
    if row is None:
        return [place]
    parts = re.split(r"\s*,\s*(?:and\s+)?|\s+(?:and|or|&)\s+", row[0])
    return [re.sub(r"^(?:in|for)\s+", "", part) for part in parts if part]


def codes(text: str) -> list[str]:
    """Symbols and identifiers: `AAPL`, `INV-2041`."""
    return re.findall(r"\b(?=[\w-]*[A-Z\d])(?![A-Z]?[a-z]+\b)[A-Z\d][A-Z\d_.-]*[A-Z\d]\b", text)


def emails(text: str) -> list[str]:
    """Mail addresses."""
    return re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", text)


def links(text: str) -> list[str]:
    """Web addresses."""
    found = re.findall(
        r"https?://[^\s<>\"']+|\b(?:www\.)?[a-z\d-]+(?:\.[a-z\d-]+)*\.[a-z]{2,}(?:/[^\s<>\"']*)?",
        text,
        re.IGNORECASE,
    )
    return [link.rstrip(".,;:!?)") for link in found]


def capitals(text: str) -> list[str]:
    """Names: capitalised words inside the text."""
    return [re.sub(r"['’]s$", "", match[0]) for match in _CAPITALS.finditer(text)]


def dates(text: str) -> list[str]:
    """Dates and days, as written."""
    return [match[0] for match in _DATE.finditer(text)]


def after(text: str, cues: str) -> list[str]:
    """What follows one of the words `cues` (a pattern), up to the next preposition or the end."""
    stop = r"from|to|into|in|on|at|for|with|by|and|then|until|about|saying"
    pattern = rf"\b(?:{cues})\s+(?:the\s+)?(.+?)(?=\s+(?:{stop})\b|[,;?!]|\.\s|\.?$)"
    found = [_DATE.sub("", match[1]).strip() for match in re.finditer(pattern, text, re.IGNORECASE)]
    return sorted((entry for entry in found if entry), key=lambda entry: not entry[0].isupper())


def topic(text: str) -> list[str]:
    """What the text is about: without the words of asking, then with them."""
    whole = _stripped(text)
    asked = _ASKING.sub("", whole, count=1).strip()
    bare = _WHERE.sub("", _QUESTION.sub("", asked, count=1)).strip()
    found = [bare if len(bare.split()) > 1 else asked, asked, whole]
    return list(dict.fromkeys([*quoted(text)[:1], *[entry for entry in found if entry]]))
