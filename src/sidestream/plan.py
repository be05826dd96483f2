"""What one run was asked for, and what it is made of. Values only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

from sidestream.compose import Convert, System, Transform
from sidestream.crew import After, Before
from sidestream.dialects.dialect import Dialect
from sidestream.events import Journal
from sidestream.gate import Limits, Policy
from sidestream.messages import Message, ToolCall
from sidestream.output import Output
from sidestream.providers.provider import Provider, Settings
from sidestream.session import History
from sidestream.tools.shelf import Shelf

__all__ = ["Ask", "Plan"]

Ask: TypeAlias = Callable[[ToolCall], Awaitable[bool]]
"""Whether a call may run, as a person says."""


class Plan(NamedTuple):
    """What one run was asked for, and what it is made of."""

    input: tuple[Message, ...]
    history: History
    system: System
    provider: Provider
    dialect: Dialect
    shelf: Shelf
    settings: Settings
    limits: Limits
    deps: Any
    policy: Policy
    journal: Journal | None
    before: Before | None
    after: After | None
    echo: Ask | None = None
    transform: Transform | None = None
    convert: Convert | None = None
    output: Output[Any] | None = None
