"""Laws 1 to 4, 10 and 11 under Hypothesis, for every format, on texts made of marker fragments."""

import random
import re

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
    ToolSpec(
        "put",
        "",
        {
            "properties": {
                "path": {"type": "string"}, "on": {"type": "boolean"}, "n": {"type": "number"},
                "tags": {"type": "array", "items": {"type": "string"}}, "more": {"type": "object"},
            }
        },
        main="path",
    ),
]  # fmt: skip
SHARED = [
    "`", "``", "```", "\n", "```\n", "~~~", "<think>", "</think>", "<thi", "text ", " ", "a < b", "&amp;", "\u2060",
    '{"a": 1}', '{"a":', "null", '"', "'", "\\", "}", "]", "[1]", ")", ",", ";", "- ", "é", "😀", "\ud800", "> ",
    "<!--", "-->", "a", "now", '{"name": "a", "arguments": {"q": "x"}}', '{"name":"now","parameters":{}}', '{"q": "</"}',
    'a(q="x", days=3)', "now()", "{}", "null", "<![CDATA[", "]]>", "Action", ":", "=",
]  # fmt: skip
TINYRAG = [
    "<tool ", '<tool name="a">', "<tool", "</tool>", "</tool", 'name="a"', "name='b'", "name=c", ">", "/>", "<query>",
    "</query>", "<source>", "</source>", "<arguments>", "</arguments>", '{"a": "</tool>"}', '<\u2060tool name="a">',
    "<days>", "3", "</days>", '<param name="x">', "</param>", '<tool name="a"><query>1+1</query></tool>',
    '<tool name="now"/>', "<TOOL ", "＜tool ",
]  # fmt: skip
NAMES = [name for name in dialects.names() if name not in ("native", "openai_delta")]
CALLS = [
    ToolCall("1", "a", {"q": "x", "days": 3}, ""),
    ToolCall("1", "now", {}, ""),
    ToolCall("1", "put", {"path": "a\nb", "on": True, "n": 1.5, "tags": ["x", "y"], "more": {"k": "v"}}, ""),
]


def fragments_of(name):
    """Whole blocks of a format, what they are made of, and pieces of that."""
    language = dialects.get(name)
    written = [language.write(call) for call in CALLS]
    parts = {part for text in written for part in re.findall(r"<[^<>]*>|\[[^\[\]]*\]|\w+|[^\w\s<>]+", text)}
    halves = {part[: len(part) // 2] for part in (*parts, *language.patterns(SPECS)) if len(part) > 3}
    extra = TINYRAG if name == "tinyrag" else []
    return [*SHARED, *extra, *written, *sorted(parts), *sorted(halves), *language.patterns(SPECS), *written]


FRAGMENTS = {name: fragments_of(name) for name in NAMES} | {"native": SHARED}


@st.composite
def named_texts(draw, longest=25):
    name = draw(st.sampled_from([*NAMES, "native"]))
    pieces = st.sampled_from(FRAGMENTS[name]) | st.text(max_size=3)
    return name, draw(st.lists(pieces, max_size=longest).map("".join))


options = st.fixed_dictionaries(
    {},
    optional={
        "fences": st.just("live"),
        "starts_in_think": st.just(True),
        "in_think": st.just("implicit_end"),
        "entities": st.just("verbatim"),
        "react_after_call": st.just("text"),
        "complete_at_eos": st.just(False),
        "block_chars": st.sampled_from([20, 40, 80, 300]),
    },
)


def maker(name, given_options):
    return lambda: dialects.get(name, **given_options).parser(SPECS)


def cuttings(text, seed):
    chance = random.Random(seed)
    yield list(text)
    for _ in range(3):
        places = sorted({chance.randrange(len(text) + 1) for _ in range(4)})
        yield [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


@given(named_texts(), options, st.integers(0, 99), st.sampled_from(["end", "tools", "length", "error"]))
def test_nothing_is_lost_and_chunks_do_not_matter(named, given_options, seed, stop):
    name, text = named
    make = maker(name, given_options)
    laws.nothing_is_lost(make, list(text), stop)
    laws.chunks_do_not_matter(make, text, cuttings(text, seed), stop)


@given(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True), st.data(), st.integers(0, 99))
def test_several_formats_at_once(names, data, seed):
    pieces = st.sampled_from([piece for name in names for piece in FRAGMENTS[name]])
    text = data.draw(st.lists(pieces, max_size=20).map("".join))
    make = maker(names, {})
    laws.nothing_is_lost(make, list(text))
    laws.chunks_do_not_matter(make, text, cuttings(text, seed))


def patterns(name):
    """What a format may wait for: its markers; and in an open block, another call before its name is known."""
    found = [re.compile(re.escape(text)) for text in ("{", '"', "[", "<｜DSML｜")]
    return [*dialects.get(name).patterns(SPECS), *found, re.compile(r"[\w.]+\s*\(?\Z")]


@given(named_texts())
def test_nothing_waits_in_vain(named):
    name, text = named
    laws.nothing_waits_in_vain(maker(name, {}), text, patterns(name), hold=1024)


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


@pytest.mark.parametrize("name", NAMES)
def test_cost_is_linear_in_every_format(name):
    language = dialects.get(name)
    head, _, tail = language.write(ToolCall("1", "a", {"q": "@@@@@@"}, "")).partition("@@@@@@")
    make = maker(name, {"block_chars": 1_000_000})
    for inside in ("x", "<", "\\\\", "\n", tail[:5]):
        laws.cost_is_linear(make, lambda size, inside=inside: head + inside * size, small=100)
    for marker in language.markers[:4]:
        laws.cost_is_linear(make, lambda size, marker=marker: marker * size, small=100)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(
    st.dictionaries(st.sampled_from(["q", "days", "query", "source", "x y", "args", "tool"]) | st.text(), json_values),
)
def test_any_arguments_written_as_tinyrag_read_back(args):
    laws.writes_what_it_reads(dialects.get("tinyrag"), ToolCall("1", "a", scrub(args), ""), SPECS)


texts = st.text() | st.lists(st.sampled_from(SHARED), max_size=8).map("".join)
valid = st.fixed_dictionaries(
    {},
    optional={
        "path": texts,
        "on": st.booleans(),
        "n": st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False),
        "tags": st.lists(texts, max_size=3),
        "more": st.dictionaries(st.sampled_from(["k", "key_2", "z"]), texts, max_size=2),
    },
)


@given(st.sampled_from(NAMES), valid)
def test_what_is_written_reads_back(name, args):
    args = scrub(args)
    own = st.sampled_from(FRAGMENTS[name])
    del own
    laws.writes_what_it_reads(dialects.get(name), ToolCall("1", "put", args, ""), SPECS)


@given(st.sampled_from(NAMES), st.data())
def test_values_made_of_a_formats_own_markers_read_back(name, data):
    text = scrub(data.draw(st.lists(st.sampled_from(FRAGMENTS[name]), max_size=8).map("".join)))
    laws.writes_what_it_reads(dialects.get(name), ToolCall("1", "put", {"path": text}, ""), SPECS)


@given(named_texts())
def test_untrusted_text_is_inert(named):
    name, text = named
    laws.untrusted_text_is_inert(dialects.get(name), text, SPECS)
