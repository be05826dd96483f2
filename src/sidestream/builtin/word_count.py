"""`word_count`: how many words, characters and lines a text has."""

from __future__ import annotations

from sidestream.tools.tool import tool

__all__ = ["word_count"]


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


EXAMPLES = (
    "How many words does this text have: a quick brown fox",
    'Count the words in "to be or not to be"',
    "Give me the word count of this sentence: we went home",
    "number of words in 'small steps every day'",
    "How many characters are in 'banana'?",
    "How many letters has the phrase 'open door'?",
    "How long is this text: see you later",
    "How many words did I write here: good morning everyone",
    "Count how many lines and words are in this paragraph",
    "What's the length in words of: the end is near",
)


@tool(read_only=True, idempotent=True, examples=EXAMPLES)
def word_count(text: str) -> str:
    """Count the words, characters and lines of a text.

    Args:
        text: The text to count, exactly as it stands.
    """
    lines = text.splitlines()
    return f"{_many(len(text.split()), 'word')}, {_many(len(text), 'character')}, {_many(len(lines), 'line')}"
