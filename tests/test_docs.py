"""The documentation tells the truth: its Python runs, its commands exist, its tables are complete.

A page's `python` blocks run in order in one namespace, in an empty folder. Addresses on port 8080 of this
machine are answered by a small chat-completions server below, which calls the first tool it is offered and then answers.
`<!-- test: compile -->` before a block: it is only compiled. Links are `mkdocs build --strict`'s work.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import re
import shlex
import subprocess
import sys
import threading
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from aiohttp import web

from sidestream import events
from sidestream.cli.arguments import parser
from sidestream.gate import Limits
from sidestream.messages import Part

CHECKOUT = Path(__file__).resolve().parents[1]
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"<!-- test: (\w+) -->\s*\Z")
THEIR_MODEL = "http://127.0.0.1:8080"


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    code: str
    mark: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for fence in FENCE.finditer(text):
        before = text[: fence.start()]
        indent = len(fence["indent"])
        code = "".join(line[indent:] or "\n" for line in fence["body"].splitlines(keepends=True))
        mark = MARK.search(before)
        found.append(Block(page, before.count("\n") + 2, fence["language"], code, mark[1] if mark else ""))
    return found


BLOCKS = [block for page in PAGES for block in blocks(page)]
PYTHON_PAGES = [p for p in PAGES if any(b.page == p and b.language == "python" for b in BLOCKS)]


def name(value: Any) -> str:
    return str(value.relative_to(CHECKOUT)) if isinstance(value, Path) else ""


# ---- a model on loopback ---------------------------------------------------------

SAMPLE: dict[str, Any] = {"string": "Bern", "integer": 3, "number": 1.5, "boolean": True}


def chunks(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One response: a call of the first tool in the first round, an answer in the next."""
    tools = request.get("tools", [])
    if tools and request["messages"][-1]["role"] == "user":
        function = tools[0]["function"]
        schema = function["parameters"]
        args = {
            key: (value.get("enum") or [SAMPLE.get(value.get("type"), "Bern")])[0]
            for key, value in schema.get("properties", {}).items()
            if key in schema.get("required", ())
        }
        yield {"delta": {"role": "assistant", "content": "Let me see. "}}
        called = {"name": function["name"], "arguments": json.dumps(args)}
        yield {"delta": {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": called}]}}
        yield {"delta": {"content": "One moment."}}
        yield {"delta": {}, "finish_reason": "tool_calls"}
    else:
        yield {"delta": {"role": "assistant", "content": "Here it is: "}}
        yield {"delta": {"content": "sunny."}}
        yield {"delta": {}, "finish_reason": "stop"}


async def answer(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for choice in chunks(await request.json()):
        record = {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
        await response.write(b"data: " + json.dumps(record).encode() + b"\n\n")
    await response.write(b"data: [DONE]\n\n")
    return response


@pytest.fixture(scope="module")
def model_address() -> Iterator[str]:
    ready, stop = threading.Event(), threading.Event()
    address: list[str] = []

    async def serve() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        ready.set()
        await asyncio.to_thread(stop.wait)
        await runner.cleanup()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    yield address[0]
    stop.set()
    thread.join(10)


# ---- code ------------------------------------------------------------------------


def compiled(block: Block, code: str) -> Any:
    """Compiled with the page's own line numbers, so that a traceback points into it."""
    tree = ast.parse(code)
    ast.increment_lineno(tree, block.line - 1)
    return compile(tree, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=name)
def test_the_python_on_a_page_runs(
    page: Path, model_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__docs__", type(sys)("__docs__"))
    namespace: dict[str, Any] = sys.modules["__docs__"].__dict__
    for block in blocks(page):
        if block.language == "python":
            code = compiled(block, block.code.replace(THEIR_MODEL, model_address))
            if block.mark != "compile":
                pending = eval(code, namespace)
                if pending is not None:
                    asyncio.run(pending)


@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.language in ("json", "jsonl")], ids=lambda b: f"{name(b.page)}:{b.line}"
)
def test_json_on_a_page_is_json(block: Block) -> None:
    for line in block.code.splitlines() if block.language == "jsonl" else [block.code]:
        json.loads(line)


# ---- commands --------------------------------------------------------------------

WELL_KNOWN = {
    "pip",
    "source",
    "python3",
    "apt",
    "git",
    "cd",
    "export",
    "curl",
    "llama-server",
    "ollama",
    "vllm",
}


def commands() -> list[Any]:
    return [
        pytest.param(line.strip().removeprefix("$ "), id=f"{name(block.page)}:{block.line + number}")
        for block in BLOCKS
        if block.language in ("sh", "bash", "console", "shell")
        for number, line in enumerate(block.code.splitlines())
        if line.strip() and not line.lstrip().startswith("#")
        if block.language != "console" or line.startswith("$ ")
    ]


@pytest.mark.parametrize("line", commands())
def test_a_command_on_a_page_exists(line: str) -> None:
    for part in re.split(r"\s(?:\||&&)\s", line):
        words = [w for w in shlex.split(part, comments=True) if not re.match(r"[A-Z_]+=", w)]
        match words:
            case ["make", *targets]:
                makefile = (CHECKOUT / "Makefile").read_text()
                for target in targets:
                    assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"no target {target}"
            case ["sh", script, *_]:
                assert (CHECKOUT / script).is_file(), f"no script {script}"
            case ["sidestream" | ".venv/bin/sidestream", *rest]:
                check_our_command(rest)
            case [program, *_]:
                assert program in WELL_KNOWN, f"{program}: a command the page did not introduce"


def check_our_command(words: list[str]) -> None:
    """The subcommand has help, and the help knows every option used."""
    verbs = [w for w in words[:1] if not w.startswith("-")]
    verbs += [w for w in words[1:2] if verbs == ["local"] and not w.startswith("-")]
    command = [str(Path(sys.executable).with_name("sidestream")), *verbs, "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0, f"sidestream {' '.join(verbs)}: {shown.stderr or shown.stdout}"
    for option in [w.split("=")[0] for w in words if w.startswith("-") and w != "-"]:
        assert option in shown.stdout, f"sidestream {' '.join(verbs)} has no {option}"


def test_the_picture_of_a_turn_is_what_is_drawn_today(tmp_path: Path) -> None:
    pictures = CHECKOUT / "docs" / "images"
    subprocess.run([sys.executable, pictures / "turn.py", tmp_path], check=True, timeout=60)
    drawn, kept = (tmp_path / "turn.svg").read_text(), (pictures / "turn.svg").read_text()
    assert drawn == kept, "the picture is out of date: .venv/bin/python docs/images/turn.py"


# ---- links of the pages that are not on the site ---------------------------------


@pytest.mark.parametrize("page", [p for p in PAGES if p.parent == CHECKOUT], ids=name)
def test_a_link_at_the_top_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"https?:", target):
            assert (CHECKOUT / target).exists(), f"{page.name} links to {target}"


# ---- the reference is complete ---------------------------------------------------


def rows(page: str) -> dict[str, str]:
    """The tables of a reference page: what a row is about → the row."""
    text = (CHECKOUT / "docs" / "reference" / page).read_text(encoding="utf-8")
    return {m[1]: m[0] for m in re.finditer(r"^\| `(\w+)` \|.*$", text, re.MULTILINE)}


@pytest.mark.parametrize(
    "kind",
    typing.get_args(events.AnyEvent) + typing.get_args(events.AnyDelta),
    ids=lambda kind: kind.__name__,
)
def test_the_reference_has_every_event_with_its_fields(kind: Any) -> None:
    row = rows("events.md").get(kind.__name__, "")
    assert row, f"docs/reference/events.md has no row for {kind.__name__}"
    named = row.split("|")[2]
    assert [f"`{field}`" for field in kind.__struct_fields__] == [f.strip() for f in named.split(",")]


@pytest.mark.parametrize("kind", typing.get_args(Part), ids=lambda kind: kind.__name__)
def test_the_reference_has_every_part_of_a_message(kind: Any) -> None:
    assert kind.__name__ in rows("messages.md")


def test_the_reference_has_every_reason() -> None:
    assert set(typing.get_args(events.Reason)) <= set(rows("events.md"))


def test_the_reference_has_every_limit_with_its_default() -> None:
    table = rows("limits.md")
    for field, default in msgspec.structs.asdict(Limits()).items():
        shown = table.get(field, "||").split("|")[2].strip().replace(",", "")
        assert shown == str(default), f"docs/reference/limits.md: {field} is {default}"


def options_of(command: argparse.ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options_of(inner)
        elif action.help is not argparse.SUPPRESS:
            yield from (option for option in action.option_strings if option.startswith("--"))


def test_the_reference_has_every_command_and_option() -> None:
    page = (CHECKOUT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    actions = parser()._actions
    (commands,) = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    for command, its_parser in commands.choices.items():
        assert f"## sidestream {command}\n" in page
        for option in set(options_of(its_parser)) - {"--help"}:
            assert option in page, f"docs/reference/cli.md: {command} has {option}"
