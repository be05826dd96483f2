"""Other people's clients beside ours: their scripts, their Pythons, one turn. `run.py` tells of `PEERS`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from measures import Row

PORT = 28_475
SECONDS = 300


def measured(python: str, script: Path, mode: str) -> dict[str, Any]:
    """What the script says in this mode; `error` where it says nothing."""
    command = [python, str(script), "--mode", mode, "--port", str(PORT)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=script.parent)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    said: dict[str, Any] = json.loads(lines[-1]) if lines else {"error": done.stderr.strip()[-80:] or "no line"}
    return said


def row_of(name: str, python: str, folder: Path) -> Row:
    script = folder / f"peer_{name}.py"
    turn, chunk = measured(python, script, "latency"), measured(python, script, "throughput")
    if failed := turn.get("error") or chunk.get("error"):
        return Row(f"peer {name}", "-", str(failed))
    waits = " / ".join(f"{wait:,.0f}" for wait in turn["start_after_args_ms"] if wait is not None)
    return Row(
        f"peer {name}: turn, starts, a text chunk",
        f"{turn['total_ms']:,.0f} ms, {waits} ms, {chunk['us_per_chunk']} µs",
        f"ideal {turn.get('ideal_ms', 0):,.0f} ms",
    )


def rows_of_peers(named: str, folder: str) -> list[Row]:
    """A row for each `name=PYTHON` (or `name`: this Python)."""
    place = Path(folder)
    if not (place / "fake_llm.py").is_file():
        sys.exit("bench: PEERS needs PEERS_DIR=FOLDER, with fake_llm.py and a peer_NAME.py for each")
    command = [sys.executable, str(place / "fake_llm.py"), "--port", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            pairs = [item.partition("=") for item in named.split()]
            return [row_of(name, python or sys.executable, place) for name, _, python in pairs]
        finally:
            process.terminate()
