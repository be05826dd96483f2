"""The shelf the questions are asked of, what counts as a right call, and when the model is not here."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sidestream as ss
from sidestream.builtin import TOOLS, calculate
from sidestream.messages import ToolSpec
from sidestream.providers.local import files

HERE = Path(__file__).parent


@ss.tool(
    read_only=True,
    examples=[
        "What does the manual say about installation?",
        "Search the knowledge base for opening hours",
        "What is our policy on remote work?",
        "Who is responsible for security in our company?",
        "According to the handbook, how many sick days do we have?",
    ],
)
def rag_knowledge(query: str) -> str:
    """look up in the knowledge store"""
    return f"The knowledge store says: {query} is described in chapter 4."


SHELF = (*TOOLS, rag_knowledge)


def questions(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["questions"]
    return found


def _fits(wanted: dict[str, Any], args: dict[str, Any]) -> bool:
    said = " ".join(map(str, args.values()))
    match wanted:
        case {"evaluates_to": number}:
            return bool(abs(float(calculate.fn(said)) - number) < 1e-9)
        case {"argument_is": text}:
            return bool(said == text)
        case {"argument_mentions_any": words}:
            return any(word in said.lower() for word in words)
        case {"argument_mentions_all": groups}:
            each = [[group] if isinstance(group, str) else group for group in groups]
            return all(any(word.lower() in said.lower() for word in group) for group in each)
        case _:
            return wanted["tool"] != "current_time" or not said


def right(question: dict[str, Any], calls: list[tuple[str, dict[str, Any]]]) -> bool:
    wanted = question["expected"]
    if sorted(name for name, _ in calls) != sorted(one["tool"] for one in wanted):
        return False
    return all(any(name == one["tool"] and _fits(one, args) for name, args in calls) for one in wanted)


class Asked:
    """What a test needs to ask the forty questions; one name to ask a fixture for."""

    shelf = SHELF
    specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in SHELF)
    questions: Callable[[str], list[dict[str, Any]]] = staticmethod(questions)
    right: Callable[..., bool] = staticmethod(right)


@pytest.fixture
def asked() -> type[Asked]:
    return Asked


@pytest.fixture
def model() -> None:
    """Skips where the model's packages or files are missing."""
    if missing := [name for name in files.PACKAGES if importlib.util.find_spec(name) is None]:
        pytest.skip(f"the local model needs {', '.join(missing)}: pip install 'sidestream[local]'")
    if missing := [parcel.what for parcel in files.PARCELS if files.find(parcel) is None]:
        pytest.skip(f"the local model is not here ({', '.join(missing)}): run `sidestream local pull`")
