"""Rows of the record splitter: each is fed whole, byte by byte, and in random cuts."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream.errors import ProviderError
from sidestream.providers.sse import Records

ROWS: dict[str, tuple[bytes, list[bytes]]] = {
    "one record": (b"data: {}\n\n", [b"{}"]),
    "many in one packet": (b"data: 1\n\ndata: 2\n\ndata: 3\n\n", [b"1", b"2", b"3"]),
    "carriage return and line feed": (b"data: 1\r\n\r\ndata: 2\r\n\r\n", [b"1", b"2"]),
    "carriage returns alone": (b"data: 1\r\rdata: 2\r\r", [b"1", b"2"]),
    "mixed line ends": (b"data: 1\r\n\ndata: 2\n\rdata: 3\r\r\n", [b"1", b"2", b"3"]),
    "no space after the colon": (b"data:1\n\ndata:  2\n\n", [b"1", b" 2"]),
    "keep-alive comments": (b": ping\n\n:\n\ndata: 1\n: ping\n\n: ping\n\n", [b"1"]),
    "several data lines": (b"data: a\ndata: b\n\ndata\ndata\n\n", [b"a\nb", b"\n"]),
    "other fields": (b"event: x\nid: 7\nretry: 10\ndata: 1\n\nevent: y\n\n", [b"1"]),
    "named records": (b"event: x\ndata: 1\n\nevent: y\ndata: 2\n\n", [b"1", b"2"]),
    "named records with more, with less and with nothing in them": (
        b"event: x\n\nevent: x\ndata: 1\ndata: 2\n\nevent: x\ndata: \n\nevent: x\ndata: 3\n\ndata: 4\n\nevent: y\nid: 1\n\n",
        [b"1\n2", b"", b"3", b"4"],
    ),
    "a field that only looks like data": (b"data-x: 1\nDATA: 2\n data: 3\n\n", []),
    "the error field of old llama.cpp": (b'error: {"code":500}\n\n', [b'{"code":500}']),
    "a byte order mark": (b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n", [b"1"]),
    "no last blank line": (b"data: 1\n\ndata: 2", [b"1", b"2"]),
    "no last blank line, but a line end": (b"data: 1\n\ndata: 2\n", [b"1", b"2"]),
    "more blank lines than needed": (b"\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n\n", [b"1", b"2"]),
    "multi-byte characters": ("data: Zürich €😀\n\n".encode(), ["Zürich €😀".encode()]),
    "separators of other standards are text": (
        "data: \x0b\x0c\x1c\x85\u2028\n\n".encode(),
        ["\x0b\x0c\x1c\x85\u2028".encode()],
    ),
    "an empty record": (b"data:\n\ndata: \n\n", [b"", b""]),
    "nothing": (b"", []),
}

FRAGMENTS = [
    b"data: ",
    b"data",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"x",
    b": p",
    b"\xef\xbb\xbf",
    b"data: {}\n\n",
    b"event: x\n",
    b"event: x\ndata: {}\n\n",
    b"\xe2",
]


def split(data: bytes, cuts: list[int], limit: int = 1000) -> list[bytes | str]:
    records = Records(limit)
    out: list[bytes | str] = []
    try:
        for start, stop in pairwise([0, *sorted(cuts), len(data)]):
            out += records.feed(data[start:stop])
        out += records.close()
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


def test_a_record_comes_out_with_its_blank_line_and_not_later() -> None:
    records = Records()
    assert records.feed(b"data: 1\n") == []
    assert records.feed(b"\n") == [b"1"]
    assert records.feed(b"data: 2\r\n\r") == [b"2"]
    assert records.feed(b"\ndata: 3\n\nda") == [b"3"]
    assert records.feed(b"ta: 4\n\ndata: 5\n\ndata: 6") == [b"4", b"5"]


@pytest.mark.parametrize("cuts", [[], list(range(1, 60))], ids=["whole", "bytewise"])
def test_a_record_beyond_the_limit_is_an_error_after_what_came_before(cuts: list[int]) -> None:
    assert split(b"data: 12345678\n\n", cuts[:15], 8) == [b"12345678"]
    *before, error = split(b"data: ok\n\ndata: 123456789\n\ndata: late\n\n", cuts[:37], 8)
    assert before == [b"ok"]
    assert error == "the provider sent a record of more than 8 bytes"


def test_memory_is_bounded_also_without_any_line_end_and_for_endless_data_lines() -> None:
    for piece in (b"x", b": x", b"data: \n", b"data: x\n"):
        said = split(piece * 1100, list(range(0, 1100 * len(piece), len(piece))))
        assert said == ["the provider sent a record of more than 1000 bytes"]


@pytest.mark.parametrize("piece", [b"abcd", b"data: abcd\n"])
def test_a_large_record_in_small_pieces_costs_what_it_holds(piece: bytes) -> None:
    def cost(count: int) -> float:
        records = Records(1 << 30)
        began = time.process_time()
        records.feed(b"data: ")
        for _ in range(count):
            records.feed(piece)
        assert len(records.feed(b"\n\n")) == 1
        return time.process_time() - began

    assert min(cost(80_000) for _ in range(3)) < 12 * min(cost(10_000) for _ in range(3)) + 0.05
