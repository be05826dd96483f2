"""The pure half that reads a message: pieces, sums, quantities, places, topics, arguments."""

from __future__ import annotations

import time
from typing import Any

import pytest

from sidestream.builtin import TOOLS
from sidestream.messages import ToolSpec
from sidestream.providers.local import measures, spans, sums
from sidestream.providers.local.arguments import offer
from sidestream.providers.local.clauses import pieces, starters
from sidestream.providers.local.router import questions


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("What is 9 * 9, and what time is it?", ["What is 9 * 9, and ", "what time is it?"]),
        ("add 899 and 1203", ["add 899 and 1203"]),
        ("Count the words: stop and tell me", ["Count the words: stop and tell me"]),
        ("count the words in 'a and what b' please", ["count the words in 'a and what b' please"]),
        ("What's the time? And how late is it?", ["What's the time? And ", "how late is it?"]),
        ("If I buy 6 pens, what do I pay?", ["If I buy 6 pens, what do I pay?"]),
        ("What is 12*12 and 7*8?", ["What is 12*12 and ", "7*8?"]),
        ("2 km to miles, count 'x y'", ["2 km to miles, ", "count 'x y'"]),
    ],
)
def test_a_message_is_cut_where_a_request_could_begin(text: str, parts: list[str]) -> None:
    found = list(pieces(text, starters(())))
    assert found == parts
    assert "".join(found) == text


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("What is 17 * 23?", "17 * 23"),
        ("How much is 1250 divided by 8?", "1250 / 8"),
        ("what is 12 times (3 plus 4)", "12 * (3 + 4)"),
        ("What's 15% of 240?", "15% of 240"),
        ("subtract 45 from 200", "200 - 45"),
        ("the sum of 12, 30 and 58", "12 + 30 + 58"),
        ("average of 4, 8 and 15", "(4 + 8 + 15) / 3"),
        ("square root of 144", "sqrt(144)"),
        ("3 to the power of 4", "3 ^ 4"),
        ("14 squared plus 6", "14 ^ 2 + 6"),
        ("five times nine", "5 * 9"),
        ("A 60 dollar coat is 25% off", "60 - 25%"),
        ("half of 50", "50 / 2"),
        ("8 factorial", "factorial(8)"),
        ("two hundred and fifty times 12", "250 * 12"),
        ("a hundred and twenty divided by 4", "120 / 4"),
        ("one thousand two hundred plus 7", "1200 + 7"),
        ("2.5 million minus 300 thousand", "2500000 - 300000"),
        ("5 minus two and a half", "5 - 2.5"),
        ("5 factorial plus the 3rd root of 27", "factorial(5) + 27 ^ (1 / 3)"),
        ("the square root of 16 plus 5 squared", "sqrt(16) + 5 ^ 2"),
        ("Multiply 3 by 4 and add 5", "(3 * 4) + 5"),
        ("Add 3 and 4, then multiply by 2", "(3 + 4) * 2"),
        ("half of 50 plus 3", "50 / 2 + 3"),
        ("three quarters of 80", "3 / 4 of 80"),
        ("A jacket costs 89 dollars and is reduced by 30 percent.", "89 - 30%"),
        ("It rose by 10 percent from 50 euros", "50 + 10%"),
    ],
)
def test_a_written_expression_is_found(text: str, expression: str) -> None:
    assert sums.written(text)[0] == expression


@pytest.mark.parametrize("text", ["Who won in 2014?", "I have 3 cats", "an on-call contact", "2 3", "hello"])
def test_what_is_no_expression_gives_none(text: str) -> None:
    assert sums.written(text) == []


def test_a_word_problem_joins_its_own_numbers_with_the_likeliest_operator() -> None:
    assert sums.stories("6 notebooks at 4 dollars", "*+")[0] == "6 * 4"
    assert sums.stories("gave away 35 of 80", "-+")[0] == "80 - 35"
    assert sums.stories("2 pens at 3 euros each and 4 books at 5 euros each", "+")[0] == "2 * 3 + 4 * 5"
    assert sums.stories("one number: 7", "+") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Convert 10 miles to kilometers", ("10", "miles", "kilometers")),
        ("How many pounds is 70 kg?", ("70", "kg", "pounds")),
        ("How many feet are there in a mile?", ("a", "mile", "feet")),
        ("70 kg is how many pounds?", ("70", "kg", "pounds")),
        ("5 feet in centimeters", ("5", "feet", "centimeters")),
        ("I'm 175 cm tall, what is that in feet?", ("175", "cm", "feet")),
        ("60 miles per hour in km/h please", ("60", "miles per hour", "km/h")),
    ],
)
def test_a_quantity_is_found_however_it_is_put(text: str, found: tuple[str, str, str]) -> None:
    assert measures.quantity(text) == [found]
    assert measures.known(found[1])
    assert measures.known(found[2])


def test_text_to_work_on_is_quoted_or_follows_a_colon_or_the_words_of_asking() -> None:
    assert spans.verbatim("How many words are in 'the cat's mat'?") == ["the cat's mat"]
    assert spans.verbatim('word count of "hello brave world" please') == ["hello brave world"]
    assert spans.verbatim("Count the words: one two and three") == ["one two and three"]
    assert spans.verbatim("how many words are in one two three") == ["one two three"]
    assert spans.verbatim("hello there") == []


def test_places_zones_dates_codes_and_addresses_are_found() -> None:
    assert spans.zones("what time is it in new york right now") == ["new york"]
    assert spans.zones("Tokyo time please") == ["Tokyo"]
    assert spans.zones("What time is it?") == []
    assert spans.zones("the opening hours of our desk") == []
    assert spans.listed("Weather in Bern, Basel and Zurich", "Bern") == ["Bern", "Basel", "Zurich"]
    assert spans.dates("on Friday or 2026-12-01") == ["on Friday", "2026-12-01"]
    assert spans.codes("price of AAPL") == ["AAPL"]
    assert spans.emails("mail a.b@example.com now") == ["a.b@example.com"]
    assert spans.links("read https://example.com/a?b=1.") == ["https://example.com/a?b=1"]
    assert spans.topic("Can you tell me what our refund policy is?")[-1].startswith("Can you")


def spec(name: str, required: list[str], **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(name, name.replace("_", " "), schema)


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("tool", "text", "args"),
    [
        (spec("weather", ["city"], city=TEXT), "Weather in Bern?", {"city": "Bern"}),
        (spec("timer", ["minutes"], minutes=WHOLE), "Set a timer for 10 minutes", {"minutes": 10}),
        (
            spec("hotel", ["city", "nights", "guests"], city=TEXT, guests=WHOLE, nights=WHOLE),
            "A hotel in Lisbon for 3 nights and 2 guests",
            {"city": "Lisbon", "guests": 2, "nights": 3},
        ),
        (
            spec("flights", ["origin", "destination"], origin=TEXT, destination=TEXT, date=TEXT),
            "Fly from Rome to Oslo tomorrow",
            {"origin": "Rome", "destination": "Oslo", "date": "tomorrow"},
        ),
        (
            spec("ticket", ["title", "priority"], title=TEXT, priority={"enum": ["low", "high"]}),
            "Open a ticket 'printer broken' with high priority",
            {"title": "printer broken", "priority": "high"},
        ),
        (spec("lamp", ["on"], on={"type": "boolean"}), "lights!", {"on": True}),
        (spec("wait", ["hours"], hours={"type": "number"}), "wait 2.5 hours", {"hours": 2.5}),
        (spec("stock", ["symbol"], symbol=TEXT), "What is AAPL at?", {"symbol": "AAPL"}),
        (spec("now", []), "anything", {}),
        (
            spec("convert", ["value", "from_unit", "to_unit"], value=WHOLE, from_unit=TEXT, to_unit=TEXT),
            "10 miles to km",
            {"value": 10, "from_unit": "miles", "to_unit": "km"},
        ),
    ],
)
def test_each_parameter_is_filled_from_the_message(tool: ToolSpec, text: str, args: dict[str, Any]) -> None:
    assert offer(tool, text).args[0] == args


@pytest.mark.parametrize(
    "text",
    [
        "A shirt costs 40 euros, 20% off, plus 10% tax",
        "I have 3 boxes with 4 apples and eat 2. How many are left?",
        "What is log base 2 of 8?",
        "7 liters per 100 km, how much for 300 km?",
    ],
)
def test_an_expression_that_would_leave_something_out_is_not_offered(text: str) -> None:
    assert offer(TOOLS[0].spec, text).args == []


def test_a_required_parameter_that_the_message_cannot_fill_makes_the_tool_impossible() -> None:
    assert offer(spec("timer", ["minutes"], minutes=WHOLE), "Set a timer").args == []
    assert offer(spec("two", ["a", "b"], a=WHOLE, b=WHOLE), "just 1 number").args == []


def test_an_enum_that_is_not_mentioned_is_left_to_the_model() -> None:
    tool = spec("lamp", ["state"], state={"enum": ["on", "off"]})
    assert [args["state"] for args in offer(tool, "the lamp, please").args] == ["on", "off"]


@pytest.mark.parametrize(
    "text",
    ["1" * 100_000, "1," * 20_000, "how many a " * 10_000, "'a " * 10_000, "and what " * 10_000, "(" * 9_999],
)
def test_a_hostile_message_costs_little(text: str) -> None:
    began = time.perf_counter()
    questions(text, [tool.spec for tool in TOOLS])
    for tool in TOOLS:
        offer(tool.spec, text)
    assert time.perf_counter() - began < 2
