"""The commands, as they are typed: what they print, and the exit code."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidestream import dialects
from sidestream.codec import decode
from sidestream.events import CallClosed, RunFinished, Stamped, Text, ToolFinished

SUM = '<tool name="calculate"><query>17*23</query></tool>'
TURN: list[list[str | float]] = [["I calculate. ", SUM, "\nMeanwhile."], ["It is 391."]]


def events(out: str) -> list[Any]:
    return [decode(line) for line in out.splitlines()]


# ---- ask -------------------------------------------------------------------------


def test_ask_prints_the_text_and_beside_it_what_ran(sidestream: Any, model: Any) -> None:
    said = sidestream("ask", "--model", model(*TURN), "How", "much?")
    assert said.code == 0
    assert said.out == "I calculate. \nMeanwhile.\n\nIt is 391.\n"
    assert 'calculate(expression="17*23") → 391' in said.err or 'calculate(expression="17*23") -> 391' in said.err
    assert "against waiting" in said.err or "nothing saved" in said.err


def test_ask_as_json_is_the_events(sidestream: Any, model: Any) -> None:
    said = sidestream("ask", "--json", "--model", model(*TURN), "x")
    stamped = events(said.out)
    assert [one.seq for one in stamped] == list(range(1, len(stamped) + 1))
    assert all(isinstance(one, Stamped) for one in stamped)
    assert isinstance(stamped[-1].event, RunFinished)
    assert said.err == ""


def test_the_picture_is_a_picture(sidestream: Any, model: Any, tmp_path: Path) -> None:
    said = sidestream("ask", "--model", model(*TURN), "--timeline", str(tmp_path / "t.svg"), "x")
    assert said.code == 0
    root = xml.etree.ElementTree.parse(tmp_path / "t.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_no_timeline_draws_none(sidestream: Any, model: Any) -> None:
    assert "waiting" not in sidestream("ask", "--no-timeline", "--model", model(["hi"]), "x").err


def test_no_tools_means_none(sidestream: Any, model: Any) -> None:
    said = sidestream("ask", "--tools", "none", "--json", "--model", model(TURN[0], ["ok"]), "x")
    (result,) = [one.event.result for one in events(said.out) if isinstance(one.event, ToolFinished)]
    assert result.status == "refused"


def test_a_limit_holds(sidestream: Any, model: Any) -> None:
    said = sidestream("ask", "--limits", "rounds=0", "--json", "--model", model(*TURN), "x")
    assert events(said.out)[-1].event.reason == "done"
    (result,) = [one.event.result for one in events(said.out) if isinstance(one.event, ToolFinished)]
    assert result.status == "refused"


def test_the_question_can_come_from_a_pipe(sidestream: Any, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe\n"))
    said = sidestream("ask", "--json", "--model", model(["hi"]), "-")
    assert events(said.out)[0].event.input[0].text == "from a pipe\n"


def test_what_cannot_be_asked_is_one_line_and_fails(sidestream: Any, model: Any) -> None:
    said = sidestream("ask", "--no-timeline", "--model", model(TURN[0]), "x")  # the second request has no answer
    assert said.code == 1
    assert said.err.splitlines()[-1].startswith("sidestream: no answer: ")


def test_a_model_without_server_is_one_line(sidestream: Any, unused_address: str) -> None:
    said = sidestream("ask", "--no-timeline", "--retries", "0", "--model", f"{unused_address}/v1#m", "x")
    assert said.code == 1
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "Traceback" not in said.err


def test_the_next_model_answers_where_there_is_no_server(sidestream: Any, model: Any, unused_address: str) -> None:
    first, second = f"{unused_address}/v1#m", model(["Here."])
    said = sidestream("ask", "--no-timeline", "--retries", "0", "--model", first, "--fallback", second, "x")
    assert (said.code, said.out.strip()) == (0, "Here.")
    assert "the next model is asked" in said.err


@pytest.fixture
def unused_address() -> str:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


# ---- wrong usage -----------------------------------------------------------------

WRONG = [
    ((), "COMMAND"),
    (("aks", "x"), "'ask'"),
    (("ask",), "question"),
    (("ask", " "), "no question"),
    (("ask", "--model", "gpt", "x"), "openai:gpt"),
    (("ask", "--limits", "round=1", "x"), "per_round"),
    (("ask", "--limits", "rounds", "x"), "KEY=VALUE"),
    (("ask", "--limits", "rounds=-1", "x"), "negative"),
    (("ask", "--limits", "rounds=many", "x"), "int"),
    (("ask", "--tools", "calculat", "x"), "did you mean calculate?"),
    (("ask", "--dialect", "tinyrga", "x"), "tinyrag"),
    (("ask", "--timeline", "/no/such/folder/t.svg", "x"), "/no/such/folder"),
    (("ask", "--record", "/no/such/folder/r.jsonl", "x"), "/no/such/folder"),
    (("parse", "/no/such/file"), "/no/such/file"),
    (("parse", "--format", "tinyrg", "-"), "tinyrag"),
    (("parse", "--option", "fence=live", "-"), "fences"),
    (("parse", "--chunks", "-1", "-"), "--chunks"),
    (("parse", "--stop", "bored", "-"), "length"),
    (("replay", "/no/such/file"), "/no/such/file"),
    (("local",), "VERB"),
]


@pytest.mark.parametrize(("words", "hint"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_usage_is_one_line_with_the_fix(
    sidestream: Any, words: tuple[str, ...], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    model = ("--model", "http://127.0.0.1:9/v1#m") if words[:1] == ("ask",) and "--model" not in words else ()
    said = sidestream(*words[:1], *model, *words[1:])
    assert said.code == 2
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("sidestream: ")
    assert hint in line


def test_an_unknown_log_level_is_wrong_usage(sidestream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDESTREAM_LOG", "loud")
    assert sidestream("formats").code == 2


# ---- parse -----------------------------------------------------------------------


def merged(found: list[Any]) -> list[Any]:
    """Adjacent text and arguments joined."""
    out: list[Any] = []
    for event in found:
        if out and isinstance(event, Text) and isinstance(out[-1], Text):
            out[-1] = Text(out[-1].text + event.text)
        elif out and type(event) is type(out[-1]) and hasattr(event, "id") and hasattr(event, "text"):
            out[-1] = type(event)(event.id, out[-1].text + event.text)
        else:
            out.append(event)
    return out


@pytest.mark.parametrize("size", [0, 1, 3, 7])
def test_parse_prints_the_events_at_any_size(sidestream: Any, tmp_path: Path, size: int) -> None:
    (tmp_path / "t.txt").write_text(f"a {SUM} b", encoding="utf-8")
    whole = sidestream("parse", str(tmp_path / "t.txt"))
    cut = sidestream("parse", "--chunks", str(size), str(tmp_path / "t.txt"))
    assert cut.code == 0
    assert merged(events(cut.out)) == merged(events(whole.out))
    assert [event.call.args for event in events(whole.out) if isinstance(event, CallClosed)] == [{"query": "17*23"}]


def test_parse_knows_the_tools_it_is_given(sidestream: Any, tmp_path: Path) -> None:
    shelf = sidestream("tools", "--json").out
    (tmp_path / "tools.json").write_text(shelf, encoding="utf-8")
    (tmp_path / "t.txt").write_text(SUM, encoding="utf-8")
    said = sidestream("parse", "--tools", str(tmp_path / "tools.json"), str(tmp_path / "t.txt"))
    (call,) = [event.call for event in events(said.out) if isinstance(event, CallClosed)]
    assert call.args == {"expression": "17*23"}


def test_parse_takes_options(sidestream: Any, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(f"```\n{SUM}\n```", encoding="utf-8")
    shown = sidestream("parse", str(tmp_path / "t.txt")).out
    assert "call_closed" not in shown
    assert "call_closed" in sidestream("parse", "--option", "fences=live", str(tmp_path / "t.txt")).out


NATIVE = [
    '{"type":"call_delta","slot":0,"id":"c","name":"f","args":"{\\"a\\": 1}","done":true}',
    '{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\\"a\\": 1}"}}]}\n'
    '{"finish_reason":"tool_calls"}',
    'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f",'
    '"arguments":"{\\"a\\": 1}"}}]}}]}\n\ndata: [DONE]\n',
    '[{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\\"a\\": 1}"}}]}]',
]


@pytest.mark.parametrize("text", NATIVE, ids=["ours", "deltas", "records", "a list"])
def test_parse_reads_native_lines(sidestream: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "t.jsonl").write_text(text, encoding="utf-8")
    said = sidestream("parse", "--format", "native", str(tmp_path / "t.jsonl"))
    (call,) = [event.call for event in events(said.out) if isinstance(event, CallClosed)]
    assert (call.name, call.args, call.wire) == ("f", {"a": 1}, "c")


def test_parse_reads_the_corpus_as_it_stands(sidestream: Any, tmp_path: Path) -> None:
    corpus = Path(__file__).resolve().parents[1] / "corpus" / "openai_delta.json"
    for case in json.loads(corpus.read_text(encoding="utf-8")):
        (tmp_path / "tools.json").write_text(json.dumps(case["tools"]), encoding="utf-8")
        (tmp_path / "s.json").write_text(json.dumps(case["stream"]), encoding="utf-8")
        said = sidestream(
            "parse", "--format", "native", "--tools", str(tmp_path / "tools.json"), str(tmp_path / "s.json")
        )
        found = [event.call for event in events(said.out) if isinstance(event, CallClosed)]
        assert [call.args for call in found] == [call["arguments"] for call in case["expected"]["calls"]], case["id"]


def test_a_line_that_is_no_delta_is_named(sidestream: Any, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"type":"text_delta","text":"x"}\n{"type":"nonsense"}\n', encoding="utf-8")
    said = sidestream("parse", "--format", "native", str(tmp_path / "t.jsonl"))
    assert said.code == 2
    assert "line 2" in said.err


# ---- replay ----------------------------------------------------------------------


def test_a_printed_run_is_replayed_as_it_was(sidestream: Any, model: Any, tmp_path: Path) -> None:
    name = model(*TURN)
    asked = sidestream("ask", "--model", name, "x")
    printed = sidestream("ask", "--json", "--model", name, "x").out
    (tmp_path / "run.jsonl").write_text(printed, encoding="utf-8")
    assert sidestream("replay", "--fast", str(tmp_path / "run.jsonl")).out == asked.out
    assert sidestream("replay", "--fast", "--json", str(tmp_path / "run.jsonl")).out == printed


def test_a_recorded_model_is_recited_and_its_tools_run(sidestream: Any, model: Any, tmp_path: Path) -> None:
    asked = sidestream("ask", "--model", model(*TURN), "--record", str(tmp_path / "r.jsonl"), "x")
    again = sidestream("replay", str(tmp_path / "r.jsonl"))
    assert again.out == asked.out
    assert "391" in again.err


def test_a_replay_ends_as_the_run_did(sidestream: Any, model: Any, tmp_path: Path) -> None:
    printed = sidestream("ask", "--json", "--model", model(TURN[0]), "x")
    assert printed.code == 1
    (tmp_path / "run.jsonl").write_text(printed.out, encoding="utf-8")
    assert sidestream("replay", "--fast", str(tmp_path / "run.jsonl")).code == 1


# ---- chat ------------------------------------------------------------------------


def test_a_piped_conversation_has_a_history(sidestream: Any, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\n\n/nonsense\ntwo\n/history\n/quit\nnever\n"))
    said = sidestream("chat", "--model", model(["First."], ["Second."]))
    assert said.code == 0
    assert said.out == "First.\nSecond.\nuser: one\nassistant: First.\nuser: two\nassistant: Second.\n"
    assert "no command /nonsense" in said.err


def test_a_turn_that_fails_does_not_end_the_conversation(
    sidestream: Any, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\n"))
    said = sidestream("chat", "--model", model(["First."]))
    assert said.code == 1
    assert said.out == "First.\n"
    assert "no answer" in said.err


# ---- facts -----------------------------------------------------------------------


def test_tools_shows_the_shelf(sidestream: Any) -> None:
    assert "calculate\n" in sidestream("tools").out
    schemas = json.loads(sidestream("tools", "--json").out)
    assert "calculate" in [schema["function"]["name"] for schema in schemas]


def test_formats_lists_the_dialects(sidestream: Any) -> None:
    lines = {line.split()[0]: line for line in sidestream("formats").out.splitlines()}
    assert sorted(lines) == dialects.names()
    assert "<tool_call>" in lines["hermes"]
    assert "[/NAME]" in lines["kohaku_bracket"]
    assert "moonshotai/Kimi-K2" in lines["kimi_k2"]


def test_parse_auto_names_the_format_it_saw(sidestream: Any, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("Hi <tool_call>\n<function=noop>\n</function>\n</tool_call>")
    lines = [json.loads(line) for line in sidestream("parse", str(text), "--format", "auto").out.splitlines()]
    assert lines[0] == {"type": "note", "name": "format", "data": "qwen3_coder"}
    assert [line["call"]["name"] for line in lines if line["type"] == "call_closed"] == ["noop"]
    text.write_text("just text")
    assert '"native"' in sidestream("parse", str(text), "--format", "auto").out


def test_doctor_is_honest(sidestream: Any) -> None:
    said = sidestream("doctor")
    assert said.code == 0
    assert "router plus constrained decoding" in said.out


def test_the_embedded_model_is_announced_honestly(sidestream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDESTREAM_CACHE", "/no/such/cache")
    said = sidestream("ask", "--no-timeline", "x")
    assert said.code == 1
    assert "a real model" in said.err.splitlines()[0]
    assert "constrained decoding" in said.err.splitlines()[0]


def test_help_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    from sidestream.cli import main

    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    assert "130 interrupted" in capsys.readouterr().out


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (2, 0), (3, 1), (100, 25), (16_385, 1_900), (100_000, 9_592)])
def test_the_demo_counts_right(limit: int, count: int) -> None:
    from sidestream.cli.demo import count_primes

    function: Callable[[int], int] = count_primes.fn
    assert function(limit) == count
