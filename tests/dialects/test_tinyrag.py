"""tinyRAG blocks, a row each: what a text says, whole, character by character, and with more text behind it."""

import pytest

from sidestream import dialects
from sidestream.errors import UsageError
from sidestream.events import CallClosed, CallOpened, CallRejected, Text, Thinking
from sidestream.messages import ToolCall, ToolSpec
from sidestream.testing.laws import chunks_do_not_matter, merged, nothing_is_lost, parse, writes_what_it_reads

SPECS = [
    ToolSpec("calculate", "", {"properties": {"expression": {"type": "string"}}, "required": ["expression"]}),
    ToolSpec("weather", "", {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}),
    ToolSpec("nanogo", "", {"properties": {"source": {"type": "string"}}}),
    ToolSpec("now", "", {"properties": {}}),
]


def make(**options):
    return lambda: dialects.get("tinyrag").parser(SPECS, **options)


def story(events):
    """What people and tools get: texts, (name, args) of calls, why of rejections."""
    out = []
    for event in merged(events):
        match event:
            case Text():
                out.append(event.text)
            case Thinking():
                out.append(("think", event.text))
            case CallClosed():
                out.append((event.call.name, event.call.args))
            case CallRejected():
                out.append((event.why, event.raw))
            case _:
                pass
    return out


Q = '<tool name="calculate"><query>'
E = "</query></tool>"
NOW = '<tool name="now"/>'

ROWS = {
    "a query goes to the main argument": (f"{Q}1+1{E}", [("calculate", {"expression": "1+1"})]),
    "a child named like an argument is that argument": (
        '<tool name="weather"><city>Bern</city><days>3</days></tool>',
        [("weather", {"city": "Bern", "days": 3})],
    ),
    "a value that does not fit its type stays a text": (
        '<tool name="weather"><days>three</days></tool>',
        [("weather", {"days": "three"})],
    ),
    "a param with a name": (
        '<tool name="weather"><param name="city">Bern</param></tool>',
        [("weather", {"city": "Bern"})],
    ),
    "arguments as JSON": (
        '<tool name="weather">\n <arguments>{"city": "</tool>", "days": 1}</arguments>\n</tool>',
        [("weather", {"city": "</tool>", "days": 1})],
    ),
    "args is short for arguments": ('<tool name="now"><args>{}</args></tool>', [("now", {})]),
    "no arguments at all": ('<tool name="now"><arguments></arguments></tool>', [("now", {})]),
    "null arguments": ('<tool name="now"><arguments> null </arguments></tool>', [("now", {})]),
    "a string that holds an object": (
        '<tool name="weather"><args>"{\\"city\\": \\"X\\"}"</args></tool>',
        [("weather", {"city": "X"})],
    ),
    "self-closing": (NOW, [("now", {})]),
    "an empty block": ('<tool name="now"></tool>', [("now", {})]),
    "single quotes, white space and a newline": ("<tool\n  name = 'now' ></tool >", [("now", {})]),
    "no quotes": ("<tool name=now />", [("now", {})]),
    "upper case is text": ('<TOOL name="now"/>', ['<TOOL name="now"/>']),
    "unknown attributes do not matter": ('<tool id="7" name="now"/>', [("now", {})]),
    "entities are decoded once": (f"{Q}1 &lt; 2 &amp;&amp; &amp;lt; &#65;&#x42;{E}", [
        ("calculate", {"expression": "1 < 2 && &lt; AB"})]),
    "what only looks like an entity stays": (f"{Q}&nbsp; &#0; &#xD800; &{E}", [
        ("calculate", {"expression": "&nbsp; &#0; &#xD800; &"})]),
    "source is verbatim": (
        '<tool name="nanogo"><source>a &lt; b && c <- d</source></tool>',
        [("nanogo", {"source": "a &lt; b && c <- d"})],
    ),
    "CDATA is verbatim and may hold anything": (
        f"{Q}<![CDATA[</tool> &lt; </query><tool name='x'>]] ]]>{E}",
        [("calculate", {"expression": "</tool> &lt; </query><tool name='x'>]] "})],
    ),
    "a closing tag that no tag follows is data": (f"{Q}use </query> so{E}", [
        ("calculate", {"expression": "use </query> so"})]),
    "fences inside an argument are data": (f"{Q}```\n`x`\n```{E}", [("calculate", {"expression": "```\n`x`\n```"})]),
    "an unknown tool is still a call": ('<tool name="nope"><foo>1</foo></tool>', [("nope", {"foo": "1"})]),
    "two blocks": (f"a{NOW}b{NOW}c", ["a", ("now", {}), "b", ("now", {}), "c"]),
    "lookalikes are text": ("<tools> <toolbox> <tool> </tool> a < b [1] [/b]", [
        "<tools> <toolbox> <tool> </tool> a < b [1] [/b]"]),
    "prose that begins like a block is text": (f"the <tool is broken {NOW}", [
        "the <tool is broken ", ("now", {})]),
    "an opener after an opener": (f"<tool <tool {NOW}", ["<tool <tool ", ("now", {})]),
    "no name": ('<tool name=""><query>q</query></tool>', [
        ("missing_name", '<tool name="">'), "<query>q</query></tool>"]),
    "attributes that cannot be read": (f'<tool name="now" !></tool>{NOW}', [
        ("malformed", '<tool name="now"'), " !></tool>", ("now", {})]),
    "a name twice": ('<tool name="now" name="x"/>', [("malformed", '<tool name="now"'), ' name="x"/>']),
    "stray text between children": ('<tool name="now">hello</tool>', [
        ("malformed", '<tool name="now">'), "hello</tool>"]),
    "a value that is never closed": (f"{Q}1+1</tool>{NOW}", [
        ("malformed", f"{Q}1+1</tool>"), ("now", {})]),
    "an argument twice": (f"{Q}1</query><query>2{E}", [
        ("malformed", f"{Q}1</query><query>2</query>"), "</tool>"]),
    "broken JSON": ('<tool name="weather"><args>{"city": }</args></tool>', [
        ("invalid_json", '<tool name="weather"><args>{"city": }</args>'), "</tool>"]),
    "a list is no arguments": ('<tool name="weather"><args>[1]</args></tool>', [
        ("invalid_json", '<tool name="weather"><args>[1]</args>'), "</tool>"]),
    "a key twice": ('<tool name="weather"><args>{"a":1,"a":2}</args></tool>', [
        ("invalid_json", '<tool name="weather"><args>{"a":1,"a":2}</args>'), "</tool>"]),
    "NaN is no JSON": ('<tool name="weather"><args>{"a":NaN}</args></tool>', [
        ("invalid_json", '<tool name="weather"><args>{"a":NaN}</args>'), "</tool>"]),
    "a block in a block never runs, the next one does": (f"{Q}x {NOW.replace('/>', '></tool>')}{E} {NOW}", [
        ("nested", f"{Q}x "), f'<tool name="now"></tool>{E} ', ("now", {})]),
    "two blocks in a block": (f"{Q}<tool name='a'></tool> <tool name='b'></tool>{E}{NOW}", [
        ("nested", Q), f"<tool name='a'></tool> <tool name='b'></tool>{E}", ("now", {})]),
    "a block in a block that closes itself": (f"{Q}a {NOW}{E} {NOW}", [
        ("nested", f"{Q}a "), f"{NOW}{E} ", ("now", {})]),
    "a block begun where one was left open": (f"{Q}1 {Q}2{E} then {NOW}", [
        ("nested", f"{Q}1 "), f"{Q}2{E} then ", ("now", {})]),
    "the stream ends inside a block": (f"a {Q}1+", ["a ", ("truncated", f"{Q}1+")]),
    "the stream ends inside an opening tag": ('a <tool name="no', ['a <tool name="no']),
    "an attribute of a broken block that closes itself": (f'<tool name="now" !/>{NOW}', [
        ("malformed", '<tool name="now"'), " !/>", ("now", {})]),
    "a name whose quote is never closed": (f'<tool name="now><query>{NOW}</query></tool>{NOW}', [
        ("malformed", "<tool name="), f'"now><query>{NOW}</query></tool>', ("now", {})]),
    "curly quotes": (f"<tool name=“now”/>{NOW}", [("malformed", "<tool name="), "“now”/>", ("now", {})]),
    "a blank name": (f'<tool name=" "/>{NOW}', [("missing_name", '<tool name=" "/>'), ("now", {})]),
    "what a rejected block holds does not run": (f'<tool name="now"><a b="c"><![CDATA[{NOW}]]></a></tool>{NOW}', [
        ("malformed", '<tool name="now">'), f'<a b="c"><![CDATA[{NOW}]]></a></tool>', ("now", {})]),
    "nor what one without a name holds": (f'<tool id="x"><query>{NOW}</query></tool>{NOW}', [
        ("missing_name", '<tool id="x">'), f"<query>{NOW}</query></tool>", ("now", {})]),
    "nor what stands behind its JSON": (f"<tool name='now'><args>{{}} {{\"x\": \"{NOW}\"}}</args></tool>{NOW}", [
        ("invalid_json", "<tool name='now'><args>{} "), f"{{\"x\": \"{NOW}\"}}</args></tool>", ("now", {})]),
    "an opener that opens nothing is data": (f"{Q}how do I use <tool in html{E}{NOW}", [
        ("calculate", {"expression": "how do I use <tool in html"}), ("now", {})]),
    "a comparison is data": (f"{Q}if x <tool and y == <tool: z{E}", [
        ("calculate", {"expression": "if x <tool and y == <tool: z"})]),
    "JSON that breaks off hurts only its own block": (f'<tool name="now"><args>{{"a": "b"</args></tool>{NOW}', [
        ("invalid_json", '<tool name="now"><args>{"a": "b"'), "</args></tool>", ("now", {})]),
    "a newline in a JSON string ends it": (f'<tool name="now"><args>{{"a": "b</args></tool>\n{NOW}', [
        ("invalid_json", '<tool name="now"><args>{"a": "b</args></tool>\n'), ("now", {})]),
    "a number too large for a float is no JSON": ('<tool name="now"><args>{"a": 1e999}</args></tool>', [
        ("invalid_json", '<tool name="now"><args>{"a": 1e999}</args>'), "</tool>"]),
    "a fenced example is shown": (f"```xml\n{NOW}\n```\n{NOW}", [f"```xml\n{NOW}\n```\n", ("now", {})]),
    "a fence in a list": (f"- a\n  ~~~\n  {NOW}\n  ~~~\n{NOW}", [f"- a\n  ~~~\n  {NOW}\n  ~~~\n", ("now", {})]),
    "a longer fence is not closed by a shorter one": (f"````\n```\n{NOW}\n````\n", [f"````\n```\n{NOW}\n````\n"]),
    "a closing fence stands alone on its line": (
        f"```\n``` ```\n{NOW}\n```\n{NOW}",
        [f"```\n``` ```\n{NOW}\n```\n", ("now", {})],
    ),
    "inline code is shown, and a whole block in it is told of": (
        f"write `{NOW}` so: {NOW}",
        [f"write `{NOW}`", ("quoted", ""), " so: ", ("now", {})],
    ),
    "a block that inline code holds in part is none": (f"`<tool name` {NOW[5:]}", [f"`<tool name` {NOW[5:]}"]),
    "inline code ends with its line": (f"a ` b\n{NOW}", ["a ` b\n", ("now", {})]),
    "inline code of two backticks": (
        f"``a ` {NOW}`` {NOW}",
        [f"``a ` {NOW}``", ("quoted", ""), " ", ("now", {})],
    ),
    "three backticks on one line are inline code": (f"```{NOW}``` {NOW}", [f"```{NOW}``` ", ("now", {})]),
    "a call in reasoning is not run": (f"<think>{NOW}</think>{NOW}", [("think", NOW), ("now", {})]),
    "a closing think tag in prose erases nothing": ("a </think> b", ["a </think> b"]),
    "think tags in arguments are data": (f"{Q}<think>1</think>{E}", [
        ("calculate", {"expression": "<think>1</think>"})]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_a_text_says(text, expected):
    for tail in ("", " and more"):
        whole = text + tail
        nothing_is_lost(make(), list(whole))
        chunks_do_not_matter(make(), whole, [list(whole), *([whole[:at], whole[at:]] for at in range(len(whole)))])
    assert story(parse(make()(), [text])) == expected


def test_fences_may_be_live():
    assert story(parse(make(fences="live")(), [f"```\n{NOW}\n```"])) == ["```\n", ("now", {}), "\n```"]


def test_a_stream_may_start_in_reasoning():
    assert story(parse(make(starts_in_think=True)(), [f"plan {NOW}</think>{NOW}"])) == [
        ("think", f"plan {NOW}"),
        ("now", {}),
    ]


def test_entities_may_stay_verbatim():
    events = parse(make(entities="verbatim")(), [f"{Q}a &amp; b{E}"])
    assert story(events) == [("calculate", {"expression": "a &amp; b"})]


@pytest.mark.parametrize("more", [0, 1])
def test_a_block_is_bounded_at_an_exact_character(more):
    block = f"{Q}{'x' * 100}{E}"
    text = f"{block} after {NOW}"
    events = parse(make(block_chars=len(block) - more)(), list(text))
    first = ("too_long", block[:-1]) if more else ("calculate", {"expression": "x" * 100})
    rest = "> after " if more else " after "
    assert story(events) == [first, rest, ("now", {})]


def test_the_card_can_be_drawn_before_the_call_is_whole():
    parser = make()()
    opened = [event for event in parser.feed('<tool name="calculate">') if isinstance(event, CallOpened)]
    assert opened == [CallOpened("1", "calculate")]
    assert parser.feed("<query>1+") != []


def test_text_before_any_marker_is_out_at_once():
    parser = make()()
    assert parser.feed("Hello") == [Text("Hello")]
    assert parser.feed(" a <") == [Text(" a ")]
    assert parser.feed(" b") == [Text("< b")]


WRITTEN = [
    {"expression": "1 < 2 & 3"},
    {"city": "Bern", "days": 3},
    {"city": "007"},
    {"source": "if a < b { f('</source></tool>') } ]]>"},
    {"source": "plain & simple"},
    {"x y": [1, {"a": None}], "z": "<tool name='now'/>"},
    {"query": "<\u2060tool \u2060\u2060"},
    {"tool": "x", "param": "y", "args": "z"},
    {},
]


@pytest.mark.parametrize("args", WRITTEN)
def test_what_is_written_reads_back(args):
    for name in ("calculate", "weather", "nanogo", "nope"):
        writes_what_it_reads(dialects.get("tinyrag"), ToolCall("1", name, args, ""), SPECS)


def test_bad_options_and_names_are_usage_errors():
    with pytest.raises(UsageError, match="fences"):
        dialects.get("tinyrag", fences="maybe")
    with pytest.raises(UsageError, match="options are"):
        dialects.get("tinyrag").parser(SPECS, fence="live")
    with pytest.raises(UsageError, match="did you mean 'tinyrag'"):
        dialects.get("tinyrga")
