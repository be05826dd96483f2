"""Rows of the line splitter: each is fed whole, byte by byte, and in random cuts."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream.errors import ProviderError
from sidestream.providers.lines import Lines

ROWS: dict[str, tuple[bytes, list[bytes]]] = {
    "one line": (b"{}\n", [b"{}"]),
    "many in one packet": (b"1\n2\n3\n", [b"1", b"2", b"3"]),
    "carriage return and line feed": (b"1\r\n2\r\n", [b"1", b"2"]),
    "a carriage return alone ends nothing": (b"1\r2\n", [b"1\r2"]),
    "blank lines": (b"\n\r\n  \n1\n\n\n \t\r\n2\n\n", [b"1", b"2"]),
    "spaces around a line": (b"  1 \n", [b"1"]),
    "no last line end": (b"1\n2", [b"1", b"2"]),
    "half a line end": (b"1\n2\r", [b"1", b"2"]),
    "multi-byte characters": ('{"a":"Zürich €😀"}\n'.encode(), ['{"a":"Zürich €😀"}'.encode()]),
    "separators of other standards are text": (
        '"\x0b\x0c\x1c\x85\u2028"\n'.encode(),
        ['"\x0b\x0c\x1c\x85\u2028"'.encode()],
    ),
    "nothing": (b"", []),
}

FRAGMENTS = [b"{}", b"\n", b"\r", b"\r\n", b"\n\n", b"x", b" ", b"\xe2", b"{}\n"]


def split(data: bytes, cuts: list[int], limit: int = 1000) -> list[bytes | str]:
    lines = Lines(limit)
    out: list[bytes | str] = []
    try:
        for start, stop in pairwise([0, *sorted(cuts), len(data)]):
            out += lines.feed(data[start:stop])
        out += lines.close()
    except ProviderError as error:
        out.append(str(error))
    return out


@pytest.mark.parametrize("row", ROWS)
def test_a_row_whole_bytewise_and_cut_in_two(row: str) -> None:
    data, expected = ROWS[row]
    assert split(data, []) == expected
    assert split(data, list(range(1, len(data)))) == expected
    for cut in range(len(data) + 1):
        assert split(data, [cut]) == expected


@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=20),
    st.lists(st.integers(0, 60)),
    st.sampled_from([0, 1, 3, 99]),
)
def test_cuts_do_not_matter_and_neither_does_where_the_limit_bites(
    pieces: list[bytes], cuts: list[int], limit: int
) -> None:
    data = b"".join(pieces)
    assert split(data, [cut for cut in cuts if cut <= len(data)], limit) == split(data, [], limit)


def test_a_line_comes_out_with_its_end_and_not_later() -> None:
    lines = Lines()
    assert lines.feed(b"1") == []
    assert lines.feed(b"\n") == [b"1"]
    assert lines.feed(b"2\r") == []
    assert lines.feed(b"\n3\n4") == [b"2", b"3"]
    assert lines.feed(b"5\n6\n7") == [b"45", b"6"]
    assert lines.close() == [b"7"]
    assert lines.close() == []


@pytest.mark.parametrize("cuts", [[], list(range(1, 60))], ids=["whole", "bytewise"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_beyond_the_limit_is_an_error_after_what_came_before(cuts: list[int], end: bytes) -> None:
    assert split(b"12345678" + end, cuts[:7], 8) == [b"12345678"]
    *before, error = split(b"ok\n123456789" + end, cuts[:11], 8)
    assert before == [b"ok"]
    assert error == "the provider sent a record of more than 8 bytes"


def test_after_the_error_there_is_nothing_but_the_error() -> None:
    lines = Lines(8)
    assert lines.feed(b"ok\n123456789\nlate\n") == [b"ok"]
    for again in (lambda: lines.feed(b"late\n"), lines.close):
        with pytest.raises(ProviderError, match="more than 8 bytes"):
            again()


def test_memory_is_bounded_without_any_line_end() -> None:
    assert split(b"x" * 1100, list(range(0, 1100, 7))) == ["the provider sent a record of more than 1000 bytes"]
    assert split(b"\r" * 1100, list(range(0, 1100, 7))) == ["the provider sent a record of more than 1000 bytes"]


def test_a_large_line_in_small_pieces_costs_what_it_holds() -> None:
    def cost(count: int) -> float:
        lines = Lines(1 << 30)
        began = time.process_time()
        for _ in range(count):
            lines.feed(b"abcd")
        assert len(lines.feed(b"\n")) == 1
        return time.process_time() - began

    assert min(cost(80_000) for _ in range(3)) < 12 * min(cost(10_000) for _ in range(3)) + 0.05
