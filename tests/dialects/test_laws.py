"""Laws 1 to 4, 10 and 11 under Hypothesis, on texts made of marker fragments."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream import dialects
from sidestream.codec import scrub
from sidestream.messages import ToolCall, ToolSpec
from sidestream.testing import laws

SPECS = [
    ToolSpec("a", "", {"properties": {"q": {"type": "string"}, "days": {"type": "integer"}}, "required": ["q"]}),
    ToolSpec("now", "", {"properties": {}}),
]
FRAGMENTS = [
    "<tool ", '<tool name="a">', "<tool", "</tool>", "</tool", 'name="a"', "name='b'", "name=c", ">", "/>", "<query>",
    "</query>", "<source>", "</source>", "<![CDATA[", "]]>", "]]", "<arguments>", "</arguments>", '{"a": 1}',
    '{"a": "</tool>"}', '{"a":', "null", '"', "`", "``", "```", "\n", "```\n", "~~~", "<think>", "</think>", "<thi",
    "text ", " ", "a < b", "&amp;", "\u2060", '<\u2060tool name="a">', "<days>", "3", "</days>", '<param name="x">',
    "</param>", '<tool name="a"><query>1+1</query></tool>', '<tool name="now"/>', "- ", "\\", "}", "[1]", "é", "😀",
    "\ud800", "<TOOL ", "＜tool ",
]  # fmt: skip

texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=30).map("".join)
options = st.fixed_dictionaries(
    {},
    optional={
        "fences": st.just("live"),
        "starts_in_think": st.just(True),
        "entities": st.just("verbatim"),
        "block_chars": st.sampled_from([20, 40, 80, 300]),
    },
)
names = st.sampled_from([name for name in dialects.names() if name != "openai_delta"])


def maker(name, given_options):
    return lambda: dialects.get(name, **given_options).parser(SPECS)


def cuttings(text, seed):
    chance = random.Random(seed)
    yield list(text)
    for _ in range(3):
        places = sorted({chance.randrange(len(text) + 1) for _ in range(4)})
        yield [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


@given(names, texts, options, st.integers(0, 99), st.sampled_from(["end", "tools", "length", "error"]))
def test_nothing_is_lost_and_chunks_do_not_matter(name, text, given_options, seed, stop):
    make = maker(name, given_options)
    laws.nothing_is_lost(make, list(text), stop)
    laws.chunks_do_not_matter(make, text, cuttings(text, seed), stop)


@given(names, texts)
def test_nothing_waits_in_vain(name, text):
    language = dialects.get(name)
    patterns = [*language.markers, "<think>", "</"]  # a rejected block's text goes to its closing tag
    laws.nothing_waits_in_vain(maker(name, {}), text, patterns, hold=256)


@pytest.mark.parametrize("unit", [
    "hello, world. ", "<", "<tool ", "`", "``` \n", "<think></think>", "[1] <a> ", "\u2060", "<tool name='a'><query>",
])  # fmt: skip
def test_cost_is_linear(unit):
    laws.cost_is_linear(maker("tinyrag", {}), lambda size: unit * size)


@pytest.mark.parametrize("inside", ["x", "<", "</", "]]>", "</query> ", "<b>", "\\", '"', "&amp;", "\n", "<![CDATA["])
@pytest.mark.parametrize("opening", ["<query>", "<source>", "<args>", '<args>{"a": "', "<query><![CDATA["])
def test_cost_is_linear_inside_a_block(opening, inside):
    head = f'<tool name="a">{opening}'
    make = maker("tinyrag", {"block_chars": 1_000_000})
    laws.cost_is_linear(make, lambda size: head + inside * size)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(
    names,
    st.dictionaries(st.sampled_from(["q", "days", "query", "source", "x y", "args", "tool"]) | st.text(), json_values),
)
def test_what_is_written_reads_back(name, args):
    args = scrub(args)
    if name != "native":
        laws.writes_what_it_reads(dialects.get(name), ToolCall("1", "a", args, ""), SPECS)


@given(names, texts)
def test_untrusted_text_is_inert(name, text):
    laws.untrusted_text_is_inert(dialects.get(name), text, SPECS)
