"""What a round consists of, and the grammars it is written under: pure, with made-up results."""

from __future__ import annotations

import pytest

from sidestream import dialects
from sidestream.messages import Message, TextPart, ToolCall, ToolResult, ToolSpec, user
from sidestream.providers.local import grammar, turn
from sidestream.providers.local.router import Choice
from sidestream.providers.local.wordpiece import WordPiece
from sidestream.providers.provider import Request

SPEC = ToolSpec("lookup", "Look up a word.", {"type": "object", "properties": {"query": {"type": "string"}}})


def request(*results: tuple[str, str], dialect: str = "tinyrag") -> Request:
    calls = tuple(ToolCall(f"1.{n}", "lookup", {"query": "x"}, "") for n in range(len(results)))
    said = tuple(
        ToolResult(call.id, status, (TextPart(text),))  # type: ignore[arg-type]
        for call, (status, text) in zip(calls, results, strict=True)
    )
    messages = (user("What is the price?"), Message("assistant", calls), Message("tool", said))
    return Request(messages if results else messages[:1], dialects.get(dialect), tools=(SPEC,))


def certain(steps: list[turn.Step]) -> str:
    return "".join(step.text for step in steps if isinstance(step, turn.Say))


@pytest.mark.parametrize("text", ["plain", "a < b & c </query>", '"quoted" \\ and\nlines', "<tool name='x'>"])
def test_a_block_reads_back_as_the_call_that_was_chosen(text: str) -> None:
    asked = request()
    steps = turn.calling(asked, [Choice(SPEC, [{"query": text}])])
    reader = asked.dialect.parser([SPEC])
    events = [*reader.feed(certain(steps)), *reader.close()]
    calls = [event.call for event in events if type(event).__name__ == "CallClosed"]
    assert [(call.name, call.args) for call in calls] == [("lookup", {"query": text})]


def test_the_model_decides_only_where_the_candidates_differ() -> None:
    steps = turn.calling(request(), [Choice(SPEC, [{"query": "red car"}, {"query": "red cart"}])])
    written = [step for step in steps if isinstance(step, turn.Write)]
    assert len(written) == 2
    assert written[1].grammar == 'root ::= ("" | "t")'
    assert certain(steps).endswith("</tool>")


def test_a_native_call_is_opened_and_its_arguments_are_json() -> None:
    steps = turn.calling(request(dialect="native"), [Choice(SPEC, [{"query": 'say "hi"'}])])
    assert turn.Open(0, "lookup") in steps
    assert turn.Say('{"query": "say \\"hi\\""}', 0) in steps


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (("ok", "391"), "391."),
        (("ok", "It costs 5 euros."), "It costs 5 euros."),
        (("duplicate", "391"), "391."),
        (("ok", ""), "returned nothing"),
        (("error", "a.b.CalculateError: division by zero"), "from lookup: division by zero."),
        (("timeout", ""), "it ran out of time."),
        (("refused", "not on the list"), "it was not allowed (not on the list)."),
        (("unknown", ""), "not known whether it ran"),
        (("running", ""), "still running"),
    ],
)
def test_an_answer_carries_the_result_or_the_failure_verbatim(result: tuple[str, str], said: str) -> None:
    assert said in certain(turn.answering(request(result)))


def test_a_long_result_is_cut_at_a_word_and_a_block_in_it_is_inert() -> None:
    answer = certain(turn.answering(request(("ok", "word " * 1_000))))
    assert answer.endswith("word …")
    assert len(answer) < 1_300
    assert '<tool name="lookup">' not in certain(turn.answering(request(("ok", '<tool name="lookup">x</tool>'))))


def test_each_result_has_its_paragraph() -> None:
    assert certain(turn.answering(request(("ok", "1"), ("error", "no"), ("ok", "3")))).count("\n") == 2


def test_history_is_plain_text_without_calls_and_bounded() -> None:
    talk = [
        user("hi"),
        Message("assistant", (TextPart("a"), ToolCall("1.1", "lookup", {}, "<tool>"))),
        *request(("ok", "z")).messages,
    ]
    said = turn.history(talk, "Be brief.")
    assert said[0] == {"role": "system", "content": "Be brief."}
    assert "<tool" not in str(said)
    assert "z" not in said[-1]["content"]
    assert sum(len(one["content"]) for one in turn.history([user("x" * 9_000)] * 9, "")) < 4_000


def test_grammar_texts_are_escaped() -> None:
    assert grammar.literal('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert grammar.without("<[") == "root ::= [^<\\[]+"
    assert grammar.fork(["abc", "abd"]) == ("ab", ["c", "d"], "")
    assert grammar.fork(["xay", "xy"]) == ("x", ["a", ""], "y")
    assert grammar.fork(["one", "one"]) == ("one", [], "")


def test_wordpiece_takes_the_longest_piece_and_folds_case_and_accents() -> None:
    words = ["[UNK]", "[CLS]", "[SEP]", "stream", "##ing", "##s", "cafe", "!", "漢"]
    pieces = WordPiece({word: number for number, word in enumerate(words)})
    assert pieces.encode("Streaming Café!") == [1, 3, 4, 6, 7, 2]
    assert pieces.encode("streams 漢 zebra") == [1, 3, 5, 8, 0, 2]
    assert len(pieces.encode("stream " * 999)) == 128


def test_several_results_are_told_apart_by_what_was_asked() -> None:
    answer = certain(turn.answering(request(("ok", "1"), ("ok", ""))))
    assert answer == "For x, 1.\nFor x, the tool ran and returned nothing."
    assert '"the answer is "' in grammar.lead(short=True, follows=True)
    assert '"The answer is "' in grammar.lead(short=True)
