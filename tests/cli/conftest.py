"""A terminal to draw on, scripted models in files, and `sidestream` as a function and as a process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sidestream.cli import main
from sidestream.timeline import columns

SEQUENCE = re.compile(r"\x1b(?:\[(?P<count>\d*)(?P<csi>[A-Za-z])|(?P<single>[D78]))|(?P<colour>\x1b\[[\d;]*m)")


class Terminal:
    """As much of a terminal as we use; anything else in the stream is an error. `sticky`: moving the cursor keeps
    the state in which a full row waits to wrap (terminals differ)."""

    def __init__(self, width: int, height: int, *, sticky: bool = False) -> None:
        self.width, self.height, self.sticky = width, height, sticky
        self.gone: list[str] = []
        self.rows = [[" "] * width for _ in range(height)]
        self.row = self.column = 0
        self.full = False
        self.saved = (0, 0, False)

    def feed(self, text: str) -> None:
        position = 0
        while position < len(text):
            if text[position] == "\x1b":
                found = SEQUENCE.match(text, position)
                assert found, f"not a sequence of ours: {text[position : position + 10]!r}"
                self._obey(found)
                position = found.end()
            else:
                self._put(text[position])
                position += 1

    def _obey(self, found: re.Match[str]) -> None:
        count = int(found["count"] or 1)
        match found["csi"] or found["single"]:
            case "A":
                self.row = max(0, self.row - count)
            case "B":
                self.row = min(self.height - 1, self.row + count)
            case "J":
                self.rows[self.row][self.column :] = [" "] * (self.width - self.column)
                self.rows[self.row + 1 :] = [[" "] * self.width for _ in self.rows[self.row + 1 :]]
                return
            case "D":
                self._down()
            case "7":
                self.saved = (self.row, self.column, self.full)
                return
            case "8":
                self.row, self.column, self.full = self.saved
                return
            case "m":
                return
            case other:
                raise AssertionError(f"not a sequence of ours: {other}")
        self.full = self.full and self.sticky

    def _down(self) -> None:
        if self.row == self.height - 1:
            self.gone.append("".join(self.rows.pop(0)))
            self.rows.append([" "] * self.width)
        else:
            self.row += 1

    def _put(self, character: str) -> None:
        if character == "\r":
            self.column, self.full = 0, False
        elif character == "\n":
            self._down()
            self.full = False
        else:
            assert character.isprintable(), f"a control character reached the terminal: {character!r}"
            size = columns(character)
            if self.full or self.column + size > self.width:
                self.column, self.full = 0, False
                self._down()
            self.rows[self.row][self.column : self.column + size] = [character, *[""] * (size - 1)]
            self.column += size
            if self.column == self.width:
                self.column, self.full = self.width - 1, True

    @property
    def lines(self) -> list[str]:
        """Everything that can be seen, also by scrolling back."""
        lines = [line.rstrip() for line in [*self.gone, *map("".join, self.rows)]]
        while lines and not lines[-1]:
            lines.pop()
        return lines


@pytest.fixture(scope="session")
def terminal() -> type[Terminal]:
    return Terminal


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def sidestream(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """The command, in this process."""
    for name in ("SIDESTREAM_LOG", "SIDESTREAM_MODEL"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str) -> Said:
        code = main(words)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """The command as a process, killed at the end of the test if it still runs."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*words: str, program: tuple[str, ...] = ("-m", "sidestream"), **options: Any) -> Any:
        env = {**os.environ, "TERM": "xterm", **options.pop("env", {})}
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": env, **options}
        process = subprocess.Popen([sys.executable, *program, *words], **given)
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., str]:
    """A scripted model's name; each response is a list of texts and of seconds at which to go on."""

    def write(*responses: list[str | float], dialect: str = "tinyrag") -> str:
        head = {
            "sidestream": "recording",
            "version": 1,
            "provider": "script",
            "model": "toy",
            "dialect": dialect,
        }
        lines: list[dict[str, Any]] = [head]
        for number, response in enumerate(responses, 1):
            at = 0.0
            lines.append({"response": number})
            for item in response:
                if isinstance(item, str):
                    lines.append({"type": "text_delta", "text": item, "response": number, "at": at})
                else:
                    at = item
            lines.append({"type": "stop", "reason": "end", "response": number, "at": at})
        path = tmp_path / f"model{len(list(tmp_path.iterdir()))}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return f"script:{path}"

    return write
