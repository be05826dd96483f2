"""The command as a process: on a real pseudo-terminal, interrupted, and with readers that stall or go away."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 30.0
SUM = '<tool name="calculate"><query>17*23</query></tool>'

SLOW = '''
import argparse, asyncio, sys
import sidestream as ss
from sidestream.cli.ask import turn
from sidestream.cli.turn import looped, stage
from sidestream.providers.script import Script

@ss.tool(read_only=True)
async def brew(cups: int) -> str:
    """Takes a while."""
    await asyncio.sleep(0.6)
    return "hot"

call = '<tool name="brew"><arguments>{"cups": 2}</arguments></tool>'
model = Script(["One moment. ", call, 0.2, "I go on", 0.2, " meanwhile."], ["Done."], dialect="tinyrag")
given = argparse.Namespace(no_timeline=False, timeline="", json=False)
sys.exit(looped(turn(ss.Engine(model, [brew]), "coffee", stage(), given)))
'''


class Screenful:
    """A process on a pseudo-terminal of 60 × 16, and what it has written so far."""

    def __init__(self, started: Any, terminal: Any, *words: str, **options: Any) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 16, 60, 0, 0))
        env = {"COLUMNS": "", "LINES": "", "NO_COLOR": "", **options.pop("env", {})}
        self.process = started(*words, stdin=theirs, stdout=theirs, stderr=theirs, env=env, **options)
        os.close(theirs)
        self.terminal = terminal(60, 16)
        self.written = ""
        self.over = False

    def until(self, seen: Callable[[], bool]) -> None:
        """Read on until something can be seen, or the process has ended."""
        deadline = time.monotonic() + PATIENCE
        while not seen():
            left = deadline - time.monotonic()
            assert left > 0, f"never seen; the screen: {self.terminal.lines}"
            if not select.select([self.ours], [], [], left)[0]:
                continue
            try:
                data = os.read(self.ours, 4096).decode()
            except OSError:  # the other side is closed
                data = ""
            if not data:
                self.over = True
                assert seen(), f"it ended; the screen: {self.terminal.lines}"
                return
            self.written += data
            self.terminal.feed(data)

    def shows(self, pattern: str) -> Callable[[], bool]:
        return lambda: any(re.search(pattern, line) for line in self.terminal.lines)

    def end(self) -> int:
        """The exit code, everything read."""
        self.until(lambda: self.over)
        os.close(self.ours)
        return int(self.process.wait(PATIENCE))


def test_a_card_lives_below_the_text_and_ends_in_it(started: Any, terminal: Any) -> None:
    screen = Screenful(started, terminal, program=("-c", SLOW))
    screen.until(screen.shows(r"^. brew\(cups=2\)  0\.\d s$"))
    screen.until(screen.shows(r"^One moment\. I go on$"))
    below = screen.terminal.lines
    assert re.match(r"^. brew\(cups=2\)  0\.\d s$", below[below.index("One moment. I go on") + 1])
    assert screen.end() == 0
    lines = screen.terminal.lines
    assert lines[0] == "One moment. I go on meanwhile."
    assert re.match(r"^✓ brew\(cups=2\) → hot  \d+ ms$", lines[1])
    assert lines[2] == "Done."
    assert re.match(r"^saved [\d,]+ ms against waiting$", lines[-1])
    assert sum("brew(" in line for line in lines) == 1
    assert "\x1b[32m" in screen.written


def test_no_color_still_draws_in_place(started: Any, terminal: Any) -> None:
    screen = Screenful(started, terminal, program=("-c", SLOW), env={"NO_COLOR": "1"})
    assert screen.end() == 0
    assert "\x1b[J" in screen.written
    assert not re.search(r"\x1b\[[\d;]*m", screen.written)


def test_a_dumb_terminal_gets_plain_text(started: Any, terminal: Any) -> None:
    screen = Screenful(started, terminal, program=("-c", SLOW), env={"TERM": "dumb"})
    assert screen.end() == 0
    assert "\x1b" not in screen.written


def test_ctrl_c_ends_politely(started: Any, terminal: Any, model: Any) -> None:
    screen = Screenful(started, terminal, "ask", "--model", model(["I begin", 60.0, "never"]), "x")
    screen.until(screen.shows("^I begin"))
    screen.process.send_signal(signal.SIGINT)
    assert screen.end() == 130
    assert screen.terminal.lines[:2] == ["I begin", "(interrupted)"]


def test_ctrl_c_typed_at_the_keyboard_is_the_same(started: Any, terminal: Any, model: Any) -> None:
    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    screen = Screenful(
        started, terminal, "ask", "--model", model(["I begin", 60.0, "never"]), "x", preexec_fn=own_terminal
    )
    screen.until(screen.shows("^I begin"))
    os.write(screen.ours, b"\x03")
    assert screen.end() == 130


def test_a_conversation_on_a_terminal(started: Any, terminal: Any, model: Any) -> None:
    name = model(["First", 60.0, "never"], ["Second."])
    screen = Screenful(started, terminal, "chat", "--model", name)
    screen.until(screen.shows("^>"))
    os.write(screen.ours, b"one\n")
    screen.until(screen.shows("^First"))
    screen.process.send_signal(signal.SIGINT)  # cuts the answer, and not the conversation
    screen.until(screen.shows(r"^\(interrupted\)"))
    screen.until(lambda: screen.terminal.lines[-1] == ">")
    os.write(screen.ours, b"two\n")
    screen.until(screen.shows("^Second"))
    screen.until(lambda: screen.terminal.lines[-1] == ">")
    os.write(screen.ours, b"\x04")
    assert screen.end() == 0


def test_interrupted_in_a_pipe_keeps_what_was_said(started: Any, model: Any) -> None:
    process = started("ask", "--model", model(["I begin\n", 60.0, "never"]), "x")
    assert process.stdout.readline() == b"I begin\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    assert b"(interrupted)" in process.stderr.read()


def test_a_second_ctrl_c_ends_it_even_if_nobody_reads(started: Any, model: Any) -> None:
    process = started("ask", "--model", model(["x" * 100_000, 60.0, "never"]), "x")
    assert process.stdout.read(1) == b"x"
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)  # what was said still waits to be read
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130


def test_a_reader_that_goes_away_ends_it_in_silence(started: Any, model: Any) -> None:
    process = started("ask", "--no-timeline", "--model", model(["I begin\n", 0.3, "x\n" * 10, 60.0, "never"]), "x")
    assert process.stdout.readline() == b"I begin\n"
    process.stdout.close()
    assert process.wait(PATIENCE) == 1
    assert process.stderr.read() == b""
    process.stdout = None


def test_a_stalled_reader_holds_up_no_tool(started: Any, tmp_path: Path) -> None:
    code = f'''
import argparse, pathlib, sys
import sidestream as ss
from sidestream.cli.ask import turn
from sidestream.cli.turn import looped, stage
from sidestream.providers.script import Script

@ss.tool
def touch() -> str:
    """Leaves a trace."""
    pathlib.Path({str(tmp_path / "trace")!r}).touch()
    return "ok"

model = Script(["x" * 300_000, '<tool name="touch"/>'], ["end"], dialect="tinyrag")
given = argparse.Namespace(no_timeline=True, timeline="", json=False)
sys.exit(looped(turn(ss.Engine(model, [touch]), "go", stage(), given)))
'''
    process = started(program=("-c", code))
    deadline = time.monotonic() + PATIENCE
    while not (tmp_path / "trace").exists():  # and nobody reads a byte
        assert time.monotonic() < deadline
        assert process.poll() is None
        select.select([], [], [], 0.02)
    out, _ = process.communicate(timeout=PATIENCE)
    assert out.startswith(b"x" * 300_000)
    assert process.returncode == 0


@pytest.mark.parametrize("command", ["tools", "doctor", "formats"])
def test_a_full_disk_is_one_line_and_no_traceback(command: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sidestream", command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 1
    assert done.stderr.startswith("sidestream: cannot go on:")
    assert "Traceback" not in done.stderr


def test_a_folder_in_a_pictures_place_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sidestream", "ask", "--model", "script:x", "--timeline", str(tmp_path), "hi"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "it is a folder" in done.stderr
