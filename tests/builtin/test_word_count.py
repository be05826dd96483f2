"""`word_count` counts; and the shelf of built-in tools is what it says."""

from __future__ import annotations

import pytest

from sidestream.builtin import TOOLS, word_count


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the cat sat on the mat", "6 words, 22 characters, 1 line"),
        ("a b\nc", "3 words, 5 characters, 2 lines"),
        ("", "0 words, 0 characters, 0 lines"),
        ("one", "1 word, 3 characters, 1 line"),
    ],
)
def test_words_characters_and_lines_are_counted(text: str, said: str) -> None:
    assert word_count.fn(text) == said


def test_every_built_in_tool_reads_only_and_has_examples_and_a_main_argument() -> None:
    assert [tool.spec.name for tool in TOOLS] == ["calculate", "convert_units", "current_time", "word_count"]
    for tool in TOOLS:
        assert tool.traits.read_only
        assert len(tool.spec.examples) >= 8
        assert tool.spec.bare
