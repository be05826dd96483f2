import dataclasses
import datetime
import enum
import uuid
from decimal import Decimal
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidestream as ss
from sidestream.codec import encode
from sidestream.messages import DataPart, FilePart, ImagePart, TextPart
from sidestream.tools.output import bounded, failure, parts_of


@dataclasses.dataclass
class Point:
    x: int
    inner: Any = None


class Struct(msgspec.Struct):
    a: int


class Model(pydantic.BaseModel):
    when: datetime.date
    inner: Any = None


class Shade(enum.Enum):
    DARK = "dark"


class Mute:
    """Its repr raises."""

    def __repr__(self) -> str:
        raise ValueError("no words")


class Plain:
    def __repr__(self) -> str:
        return "<plain \ud800>"


CIRCLE: list[Any] = [1]
CIRCLE.append(CIRCLE)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]
MOON = Point(1)
MOON.inner = MOON
DAY = datetime.date(2026, 1, 2)

TEXTS: list[tuple[Any, str]] = [
    ("text", "text"),
    ("", ""),
    ("a\ud800b", "a\ufffdb"),
    (b"ab", "ab"),
    (bytearray(b"\xffa"), "\ufffda"),
    (memoryview(b"ab"), "ab"),
    (None, "(no output)"),
    (True, "true"),
    (7, "7"),
    (2**80, str(2**80)),
    (1.5, "1.5"),
    (float("nan"), "nan"),
    (float("-inf"), "-inf"),
    ([], "[]"),
    ((), "[]"),
    ([1, "a", None], '[1,"a",null]'),
    ((1, 2), "[1,2]"),
    ({"a": {"b": [1]}}, '{"a":{"b":[1]}}'),
    ({1: "a"}, '{"1":"a"}'),
    ({"a\ud800": "b\udfff"}, '{"a\ufffd":"b\ufffd"}'),
    ({"a": b"x"}, '{"a":"eA=="}'),
    ({(1, 2): "a"}, "{(1, 2): 'a'}"),
    ({"a": 2**80}, f'{{"a":{2**80}}}'),
    (Point(1), '{"x":1,"inner":null}'),
    (Point(1, Plain()), '{"x":1,"inner":"<plain \ufffd>"}'),
    (Struct(1), '{"a":1}'),
    (Model(when=DAY), '{"when":"2026-01-02","inner":null}'),
    ([Model(when=DAY)], '[{"when":"2026-01-02","inner":null}]'),
    (Shade.DARK, "dark"),
    (DAY, "2026-01-02"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Decimal("1.50"), "1.50"),
    (Plain(), "<plain \ufffd>"),
    ([Plain()], '["<plain \ufffd>"]'),
    (CIRCLE, "[1, [...]]"),
    (range(3), "range(0, 3)"),
    (ValueError("v"), "ValueError('v')"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=lambda value: type(value).__name__)
def test_a_value_is_one_text(value, text):
    assert parts_of(value) == (TextPart(text),)


@pytest.mark.parametrize("value", [Mute(), [Mute()], {"a": Mute()}, Point(1, Mute()), Model(when=DAY, inner=Mute()),
                                   DEEP, MOON, {"a": CIRCLE}, 10**5000, {"a": 10**5000}], ids=lambda value: type(value).__name__)  # fmt: skip
def test_what_cannot_speak_is_survived(value):
    (part,) = parts_of(value)
    assert isinstance(part, TextPart)
    assert part.text
    part.text.encode()


def test_parts_pass_alone_and_in_lists_and_are_cleaned():
    image, file = ImagePart("image/\ud800", b"x", "u\ud800"), FilePart("n\ud800", "m", b"y", "u")
    assert parts_of(TextPart("a\ud800")) == (TextPart("a\ufffd"),)
    assert parts_of(image) == (ImagePart("image/\ufffd", b"x", "u\ufffd"),)
    assert parts_of((TextPart("a"), file)) == (TextPart("a"), FilePart("n\ufffd", "m", b"y", "u"))
    assert parts_of([{"a": 1}, image]) == (TextPart('{"a":1}'), ImagePart("image/\ufffd", b"x", "u\ufffd"))


@pytest.mark.parametrize("data", [Mute(), CIRCLE, DEEP, {"a\ud800": Plain()}, {(1,): 2}, float("nan"), 2**80, Model(when=DAY)], ids=lambda value: type(value).__name__)  # fmt: skip
def test_whatever_is_in_a_data_part_can_be_encoded_afterwards(data):
    (part,) = parts_of(DataPart("d\ud800", data))
    assert isinstance(part, DataPart)
    assert part.name == "d\ufffd"
    encode(ss.ToolFinished(ss.ToolResult("1.1", "ok", (part,))))


@given(st.recursive(st.none() | st.integers() | st.floats() | st.binary() | st.text(st.characters()),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner)))  # fmt: skip
def test_any_value_is_parts_that_can_be_encoded(value):
    encode(ss.ToolFinished(ss.ToolResult("1.1", "ok", parts_of(value))))


# ---- failures


class BrokenError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class OddError(BaseException):
    pass


def wrapped(cause: BaseException) -> RuntimeError:
    error = RuntimeError("on its way")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom happened"), "ValueError: boom happened"),
        (ValueError(), "ValueError"),
        (KeyError("a"), "KeyError: 'a'"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (ValueError("a\ud800\nb"), "ValueError: a\ufffd\nb"),
        (TimeoutError(), "TimeoutError"),
        (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup: two (2 sub-exceptions); ValueError: a; KeyError: 'b'"),
        (BaseExceptionGroup("one", [OddError("a")]), "BaseExceptionGroup: one (1 sub-exception); OddError: a"),
        (wrapped(StopIteration("a")), "StopIteration: a"),
        (wrapped(OddError("a")), "OddError: a"),
        (wrapped(ValueError("a")), "RuntimeError: on its way"),
        (wrapped(SystemExit(3)), "RuntimeError: on its way"),
        (ss.Retry("use three letters"), "Try differently: use three letters"),
        (ss.Retry(), "Try differently: these arguments do not work."),
    ],
    ids=repr,
)  # fmt: skip
def test_a_failure_is_its_type_and_message(error, text):
    assert failure(error, "show") == (TextPart(text),)


def test_an_exception_that_cannot_speak_is_still_named():
    (part,) = failure(BrokenError(), "show")
    assert isinstance(part, TextPart)
    assert part.text.startswith("BrokenError: <exception str() failed>")


def test_a_hidden_failure_says_nothing_of_itself_but_advice_is_meant_for_the_model():
    assert failure(ValueError("password"), "hide") == (TextPart("The tool failed. Its error is not shown."),)
    assert failure(ss.Retry("ask again"), "hide") == (TextPart("Try differently: ask again"),)


@pytest.mark.parametrize("error", [ValueError("x" * 9999), ss.Retry("x" * 9999), ValueError("x" * 2000)])
def test_a_failure_is_bounded(error):
    (part,) = failure(error, "show")
    assert isinstance(part, TextPart)
    assert len(part.text) == 2_000
    assert "characters left out" in part.text


# ---- bounds


def text_of(parts):
    return [part.text if isinstance(part, TextPart) else type(part).__name__ for part in parts]


def test_what_fits_is_left_alone():
    parts = (TextPart("a" * 10), ImagePart(), TextPart("b" * 10))
    assert bounded(parts, 20) == parts
    assert bounded((), 0) == ()


def test_a_long_text_keeps_its_head_and_its_tail_and_says_what_is_missing():
    (part,) = bounded((TextPart("a" * 500 + "b" * 500),), 130)
    assert isinstance(part, TextPart)
    head, note, tail = part.text.split("\n")
    assert len(part.text) == 130
    assert (set(head), set(tail)) == ({"a"}, {"b"})
    assert note == f"[… {1000 - len(head) - len(tail)} characters left out …]"


def test_the_bound_is_of_all_texts_together_and_other_parts_stay():
    image = ImagePart(data=b"x" * 999)
    parts = bounded((TextPart("a" * 100), image, TextPart("b" * 100), TextPart("c" * 100)), 100)
    assert "ImagePart" in text_of(parts)
    joined = "".join(text for text in text_of(parts) if text != "ImagePart")
    head, note, tail = joined.split("\n")
    assert len(joined) == 100
    assert (set(head), set(tail)) == ({"a"}, {"c"})
    assert note == f"[… {300 - len(head) - len(tail)} characters left out …]"


@pytest.mark.parametrize(("most", "texts"), [(0, []), (-5, []), (3, ["aaa"])])
def test_where_no_note_fits_there_is_only_a_head(most, texts):
    assert text_of(bounded((TextPart("a" * 100),), most)) == texts


@given(st.lists(st.integers(0, 300).map(lambda n: TextPart("x" * n)) | st.just(ImagePart())), st.integers(0, 400))
def test_the_bound_is_exact_and_the_number_true(parts, most):
    total = sum(len(part.text) for part in parts if isinstance(part, TextPart))
    out = bounded(parts, most)
    texts = [part.text for part in out if isinstance(part, TextPart)]
    assert sum(map(len, texts)) == min(total, most)
    assert len([p for p in out if p == ImagePart()]) == len([p for p in parts if p == ImagePart()])
    joined = "".join(texts)
    if "left out" in joined:
        assert f"[… {total - joined.count('x')} characters left out …]" in joined
