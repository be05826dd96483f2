"""Markdown code and quotation, a row each: ✓ stands where calls may run, ✗ where they must not.

A small driver does what the reader does: it looks for the markers, holds back what may become one, and hands
over. Every row is read whole, in two pieces, character by character and in random pieces; random texts are
also held against a second, plain reading of the rules, which sees the whole text.
"""

import random
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestream.dialects.quotes import Quotes
from sidestream.dialects.scan import Markers
from sidestream.testing import laws


class Driver:
    """The reader's part: `runs` are (live, text), neighbours of one kind joined."""

    markers = Markers(Quotes.MARKERS)

    def __init__(self):
        self.quotes = Quotes()
        self.runs = []
        self.held = ""
        self.handed = False

    def say(self, live, text):
        if text and self.runs and self.runs[-1][0] == live:
            self.runs[-1][1].append(text)
        elif text:
            self.runs.append((live, [text]))

    def feed(self, chunk):
        text, self.held, position = self.held + chunk, "", 0
        while position < len(text):
            position = self.skip(text, position) if self.handed else self.live(text, position)

    def live(self, text, position):
        found = self.markers.find(text, position)
        end = found.start() if found else self.markers.held(text, position)
        if end > position:
            self.quotes.passed(text[position:end])
            self.say(True, text[position:end])
        self.handed = found is not None
        self.held = "" if found else text[end:]
        return end if found else len(text)

    def skip(self, text, position):
        end = self.quotes.skip(text, position)
        assert position <= end <= len(text)
        assert self.quotes.live or self.quotes.inline or end == len(text)
        self.say(False, text[position:end])
        self.handed = not self.quotes.live
        return end

    def close(self):
        self.say(True, self.held)
        self.held = ""

    def state(self):
        return self.quotes.live, self.quotes.inline, self.quotes.at_line_start


def read(chunks):
    driver = Driver()
    for chunk in chunks:
        driver.feed(chunk)
    state = driver.state()
    driver.close()
    return [(live, "".join(pieces)) for live, pieces in driver.runs], state


def cut(text, places):
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def cuttings(text):
    yield list(text)
    yield [text[at : at + 4] for at in range(0, len(text), 4)]
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]
    chance = random.Random(text)
    for _ in range(10):
        yield cut(text, [chance.randrange(len(text) + 1) for _ in range(5)])


ROWS = {
    # fences
    "nothing": "✓ a\n\n✓",
    "a fence": "✓\n```\n✗\n```\n✓",
    "a fence of tildes": "~~~\n✗\n~~~\n✓",
    "a fence with a language": "```xml ✗\n✗\n```\n✓",
    "a fence at the very beginning, and another": "```\n✗\n```\n✓\n```\n✗\n```\n✓",
    "an empty fence": "```\n```\n✓",
    "a fence that never ends": "```\n✗\n\n✗",
    "a longer fence holds shorter ones": "````\n```\n✗\n```\n✗\n````\n✓",
    "a longer run closes": "```\n✗\n`````\n✓",
    "tildes do not close backticks": "```\n~~~\n✗\n```\n✓",
    "backticks do not close tildes": "~~~\n```\n✗\n~~~\n✓",
    "a closing run stands alone on its line": "```\n``` x\n✗\n``` ```\n✗\nx ```\n✗\n```\n✓",
    "blanks behind a closing run": "```\n✗\n``` \t\r\n✓",
    "a closing run with the line's end still to come": "```\n✗\n``` ",
    "windows line ends": "```\r\n✗\r\n```\r\n✓",
    "a fence in a list": "- a\n  ```\n  ✗\n  ```\n✓",
    "a fence right behind a list marker": "- ```\n  ✗\n  ```\n✓",
    "a fence behind two list markers": "1. - ~~~\n     ✗\n     ~~~\n✓",
    "a list marker inside a fence closes nothing": "```\n- ```\n✗\n```\n✓",
    "not a list marker before a run": "1234567890. ```\n✓",
    "two backticks or tildes make no fence": "``\n✓\n~~\n✓",
    "tildes in the middle of a line": "a ~~~ ✓\n✓ ~~b~~ ✓",
    "backticks in tildes' info are info": "~~~ `a` ```\n✗\n~~~\n✓",
    "tildes in backticks' info are info": "``` ~~~\n✗\n```\n✓",
    "a lead of a hundred": " " * 100 + "~~~\n✗\n~~~\n✓",
    "a longer lead": " " * 101 + "~~~\n✓",
    "a longer lead of a closing run": "~~~\n" + " " * 101 + "~~~\n✗\n" + " " * 100 + "~~~\n✓",
    "a run split by a blank": "`` `\n✓",
    # inline code
    "inline code": "✓ `✗` ✓",
    "inline code ends with its line": "a ` ✗\n✓",
    "inline code of two backticks": "``✗ ` ✗`` ✓",
    "a longer run does not close": "`✗ `` ✗` ✓",
    "three backticks on one line": "```✗``` ✓\n✓",
    "three backticks behind text": "a ```\n✓",
    "another run behind what looked like a fence": "``` a `b` ✗\n✓",
    "and its own run behind that": "``` a `b` ✗ ``` ✓\n✓",
    "one inline code after another": "`✗`✓`✗`✓",
    "tildes in inline code": "`~~~` ✓\n✓",
    # block quotes
    "a block quote": "✓\n> ✗\n✓",
    "a block quote at the very beginning": "> ✗\n✓",
    "without a blank": ">✗\n✓",
    "a line of only the sign": ">\n✓\n>\n> ✗",
    "several lines": "> ✗\n> ✗\n>\n> ✗\n\n✓",
    "no lazy continuation": "> ✗\n✓\n> ✗\n✓",
    "three blanks": "   > ✗\n✓",
    "four blanks": "    > ✗\n✓",
    "a tab": "\t> ✗\n✓",
    "quotes in quotes": "> > ✗\n>> ✗\n✓",
    "in a list": "- > ✗\n  > ✗\n✓",
    "in a list in a list, indented": "     1. * > ✗\n✓",
    "a list marker needs a blank": "-> ✓\n1.> ✓\n> ✗",
    "a sign in the middle of a line": "a > ✓ > ✓\n✓",
    "a sign behind one that meant nothing": "a > > ✓\n> ✗\n✓",
    "an arrow and a tag": "a -> ✓ <b> ✓ --> ✓\n=> ✓",
    "a sign behind inline code": "`✗` > ✓",
    "a sign behind tildes": "~> ✓\n~~> ✓",
    "a fence in a quote": "> ```\n> ✗\n> ```\n> ✗\n✓",
    "a fence in a quote ends with it": "> ```\n✓\n> ✗\n✓",
    "a list and a fence in a quote": "> - ~~~\n>   ✗\n✓",
    "inline code in a quote ends with its line": "> ` ✗\n✓ `✗",
    "a comment in a quote ends with its line": "> <!-- ✗\n✓",
    "a quote in a fence is the fence's text": "```\n> ✗\n> ```\n✗\n```\n✓",
    "a quote in a fence's first line": "```>\n✗\n```\n✓",
    "a fence right behind a quote": "> ✗\n```\n✗\n```\n✓",
    "a quote right behind a fence": "```\n✗\n```\n> ✗\n✓",
    "a quote right behind inline code's line": "a ` ✗\n> ✗\n✓",
    "windows line ends in a quote": "> ✗\r\n> ✗\r\n✓",
    "a longer lead of list markers": "- " * 50 + "> ✗\n" + "- " * 51 + "> ✓",
    # comments
    "a comment": "✓ <!-- ✗ --> ✓",
    "a comment of many lines": "<!--\n✗\n\n✗\n--> ✓\n✓",
    "a comment that never ends": "<!-- ✗ -- > ✗ -> ✗ ->\n✗",
    "the shortest comments": "<!-->✓ <!--->✓ <!---->✓ <!----->✓",
    "too many dashes": "<!--✗--- ✗ ---->✓",
    "what is no end": "<!-- ✗ --✗> ✗ --\n> ✗ -✗-> ✗ --> ✓",
    "one comment after another": "<!--✗--><!--✗-->✓",
    "comments do not nest": "<!-- <!-- ✗ --> ✓ --> ✓",
    "backticks in a comment": "<!-- ` ✗ --> ✓\n<!--\n```\n✗\n-->\n✓",
    "a sign at a line's start in a comment": "<!--\n> ✗\n✗ --> ✓",
    "a comment in inline code": "`<!--` ✓ `✗ -->` ✓",
    "a comment in a fence": "```\n<!-- ✗\n```\n✓",
    "a comment in a fence's first line": "``` <!--\n✗\n```\n✓ <!-- ✗",
    "a comment behind a run that meant nothing": "~<!-- ✗ -->✓",
    "no fence and no quote behind a comment": "<!-- ✗ --> ~~~ ✓\n<!--\n--> > ✓\n✓",
    "the line after a comment": "<!-- ✗ -->\n> ✗\n<!--\n-->\n~~~\n✗",
    "what is no comment": "<! ✓ <!- ✓ <-- ✓ <!-\n- ✓ <<!✓<",
    "a comment behind its own beginning": "<<!-- ✗ --> ✓ <!<!-- ✗ --> ✓ <!-<!-- ✗",
}  # fmt: skip


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS)
def test_a_row(text):
    runs, state = read([text])
    assert "".join(part for _, part in runs) == text
    for live, part in runs:
        assert ("✗" if live else "✓") not in part, runs
    for chunks in cuttings(text):
        assert read(chunks) == (runs, state), chunks


STATES = {  # live, inline, at the line's start
    "": (True, False, True),
    "a\n": (True, False, True),
    "a\n \t": (True, False, True),
    "a": (True, False, False),
    "- ": (True, False, False),
    "~ ": (True, False, False),
    "    >": (False, False, False),
    "<!-- -->": (True, False, False),
    "<!--\n-->": (True, False, False),
    "<!-- -->\n": (True, False, True),
    "<!-- -": (False, False, False),
    "<!--\n": (False, False, False),
    ">": (False, False, False),
    "> a\n": (True, False, True),
    "`": (False, False, False),
    "`a": (False, True, False),
    "`a`": (False, True, False),
    "`a` ": (True, False, False),
    "`a\n": (True, False, True),
    "```a": (False, False, False),
    "```a`": (False, False, False),
    "```a`b": (False, True, False),
    "```\n": (False, False, False),
    "```\n`a": (False, False, False),
    "```\n```": (False, False, False),
    "```\n```\n": (True, False, True),
    "~~~": (False, False, False),
    " " * 101: (True, False, False),
}  # fmt: skip


@pytest.mark.parametrize(("text", "state"), STATES.items(), ids=map(repr, STATES))
def test_the_state(text, state):
    assert [read(chunks)[1] for chunks in ([text], list(text))] == [state, state]


FRAGMENTS = [
    "`", "``", "```", "````", "~", "~~~", "~~~~", ">", "> ", "<!--", "-->", "<!", "<", "--", "-", "!", "\n", "\n\n",
    " ", "   ", "\t", "- ", "1. ", "* ", "x", "word ", "\r\n", "\n```\n", "\n~~~\n", "\n> ", "\n>", "\\", "<!-->",
    "<!--->", " " * 97,
]  # fmt: skip
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)
places = st.lists(st.integers(0, 400), max_size=12)


@given(texts, places)
def test_chunks_do_not_matter(text, where):
    assert read(cut(text, where)) == read([text]) == read(list(text))


ITEM = r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)"


def plain(text):
    """The rules again, line by line and with all of the text in sight: is each character live?"""
    mask, fence, comment = [], "", False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if fence:
            mask += [False] * len(line)
            if re.fullmatch(rf"[ \t]{{0,100}}{fence}{fence[0]}*[ \t\r]*\n", line):
                fence = ""
            continue
        at, first = 0, True
        while at < len(line):
            if comment:
                end = line.find("-->", max(at - 2, 0) if line[:at].endswith("<!--") else at)
                comment, end = end < 0, len(line) if end < 0 else end + 3
                mask += [False] * (end - at)
                at, first = end, False
                continue
            found = re.compile(r"`+|~+|>|<!--").search(line, at)
            if not found:
                mask += [True] * (len(line) - at)
                break
            mask += [True] * (found.start() - at) + [False] * len(found[0])
            lead, at, mark = line[: found.start()], found.end(), found[0]
            lead = lead if first and len(lead) <= 100 else "x"
            first, comment = False, mark == "<!--"
            fenced = len(mark) > 2 and mark[0] in "`~" and re.fullmatch(rf"[ \t]*{ITEM}*", lead)
            if fenced and (mark[0] == "~" or "`" not in line[at:]):
                fence, end = mark, len(line)
            elif mark == ">" and re.fullmatch(rf"[ \t]*(?:{ITEM})*", lead):
                end = len(line)
            elif mark[0] == "`":
                closing = re.compile(rf"(?<!`){mark}(?!`)").search(line, at)
                end = closing.end() if closing else len(line)
            else:
                end = at
            mask += [False] * (end - at)
            at = end
    return mask


@given(texts)
def test_it_reads_as_the_rules_say(text):
    runs, _ = read([text])
    mask = [live for live, part in runs for _ in part]
    # a marker that meant nothing goes by as if it were inert: only what stands between markers counts
    counts = [at for at, character in enumerate(text) if character not in "`~>"]
    assert [mask[at] for at in counts] == [plain(text)[at] for at in counts]


@pytest.mark.parametrize("opening", ["", "a `", "```\n", "~~~\n", "> ", "<!-- "])
@pytest.mark.parametrize(
    "unit",
    ["word ", "`", "~", ">", "> a\n", "a > ", "-", "-->", "<!--", "<!-- a -->", "`a` ", "```\n", "\n", "- ", "<"],
)
def test_cost_is_linear(opening, unit):
    laws.cost_is_linear(Driver, lambda size: opening + unit * size)


@pytest.mark.parametrize("lead", ["-  " * 33, " " * 99, "1. " * 33, "- \t" * 33 + "x", "-" * 99])
@pytest.mark.parametrize("marker", ["~~~", ">"])
def test_a_lead_is_read_in_one_way_only(lead, marker):
    # a pattern that can split blanks in two ways would be at this for years
    for _ in range(100):
        read([lead[:-1] + "x" + marker, "\n"])


@pytest.mark.parametrize("unit", ["a", "- ", "> ", "`", "```\n", "<!-- ", "\n", "<!--\n", "a`"])
def test_little_is_kept(unit):
    driver = Driver()
    for _ in range(1_000):
        driver.feed(unit)
        kept = [getattr(driver.quotes, name) for name in Quotes.__slots__]
        assert max(len(value) for value in kept if isinstance(value, str)) <= 100
