"""`current_time` knows zones, cities and offsets, and names near matches for a place it does not know."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from sidestream.builtin import current_time
from sidestream.builtin.current_time import find_zone

SHAPE = re.compile(r"\w+day, \d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d \([^,]+, UTC[+-]\d\d:\d\d, week \d{1,2}\)")


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("asia/tokyo", "Asia/Tokyo"),
        ("New York", "America/New_York"),
        ("new_york", "America/New_York"),
        ("San Francisco, CA", "America/Los_Angeles"),
        ("Paris time", "Europe/Paris"),
        ("the UK", "Europe/London"),
        ("EST", "America/New_York"),
        ("Mumbai", "Asia/Kolkata"),
        ("UTC", "UTC"),
        ("São Paulo", "America/Sao_Paulo"),
        ("Zürich", "Europe/Zurich"),
        ("Bogotá", "America/Bogota"),
    ],
)
def test_a_place_has_a_zone(name: str, zone: str) -> None:
    assert find_zone(name)[1] == zone
    assert zone in current_time.fn(name)


@pytest.mark.parametrize(("name", "minutes"), [("UTC+2", 120), ("+05:30", 330), ("gmt -3", -180), ("utc−11", -660)])
def test_an_offset_is_a_zone(name: str, minutes: int) -> None:
    assert find_zone(name)[0].utcoffset(datetime.now(UTC)) == timedelta(minutes=minutes)


@pytest.mark.parametrize("zone", ["", "here", "Tokyo", "UTC+5:30"])
def test_the_answer_has_date_time_weekday_week_and_offset(zone: str) -> None:
    assert SHAPE.fullmatch(current_time.fn(zone))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Tokio", "near matches: Asia/Tokyo"),
        ("qqqqqq", "IANA zone"),
        ("UTC+19", "at most 14"),
        ("x" * 9_999, "unknown"),
    ],
)
def test_an_unknown_place_is_an_error_that_helps(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        current_time.fn(name)
    assert len(str(caught.value)) < 300
