"""WordPiece: the tokenizer of the BERT family, uncased, read from a `tokenizer.json`.

Promises: the same ids as the reference tokenizer for any text of natural language; no dependency. It will
not decode, and it cuts at 128 tokens: a question is shorter.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["WordPiece"]

_MAX_TOKENS = 128
_MAX_WORD = 100
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))


def _stands_alone(char: str) -> bool:
    """True for what is a token of its own: punctuation, ASCII symbols, ideographs."""
    code = ord(char)
    if code < 128:
        return not char.isalnum() and char.isprintable()
    return unicodedata.category(char).startswith("P") or any(low <= code <= high for low, high in _IDEOGRAPHS)


def _words(text: str) -> Iterator[str]:
    """Lower-case words without accents; what stands alone as its own word."""
    word: list[str] = []
    for char in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(char)
        if category == "Mn" or (category.startswith("C") and not char.isspace()):
            continue
        alone = not char.isspace() and _stands_alone(char)
        if not alone and not char.isspace():
            word.append(char)
            continue
        if word:
            yield "".join(word)
            word.clear()
        if alone:
            yield char
    if word:
        yield "".join(word)


class WordPiece:
    """Text to token ids: the longest known piece first, `##` before a piece inside a word."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._ids = vocabulary
        self._unknown, self._first, self._last = (vocabulary[name] for name in ("[UNK]", "[CLS]", "[SEP]"))

    @classmethod
    def load(cls, path: Path) -> WordPiece:
        """Read a `tokenizer.json`."""
        return cls(json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"])

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _MAX_WORD:
            return [self._unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = self._ids.get(("##" if start else "") + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                return [self._unknown]
        return found

    def encode(self, text: str) -> list[int]:
        """The ids of `text` between `[CLS]` and `[SEP]`."""
        ids = [self._first]
        for word in _words(text):
            ids += self._pieces(word)
            if len(ids) >= _MAX_TOKENS:
                break
        return [*ids[: _MAX_TOKENS - 1], self._last]
