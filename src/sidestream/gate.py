"""Admission: why may this call *not* run? Pure, and the same for every format and tool.

`refuse` asks a tuple of checks in order; the first that answers decides. Only admitted calls count. A
limit is one more check here. It never runs, waits or asks anybody: approval is the crew's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import msgspec

from sidestream.dialects.inert import Untrusted
from sidestream.errors import UsageError
from sidestream.messages import Status, ToolCall
from sidestream.tools.tool import Traits

__all__ = ["ECHO", "Limits", "Policy", "Refusal", "Tally", "refuse"]

Policy: TypeAlias = Collection[str] | Callable[[ToolCall], str | None] | None
"""Which calls are allowed: the names that are, or a function that gives the reason why one is not."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every bound of a run; `UsageError` for a negative one.

    `rounds`: continuations with tools on. `per_round`, `per_run`: admitted calls. `tool_timeout`: seconds a
    tool may take. `block_chars`: one text block. `args_chars`: one native call's arguments. `result_chars`: one
    result. `evidence_chars`: all results of one continuation. `progress_chars`: a tool's unread progress.
    `river_chars`: unread events before the model has to wait. `output_retries`: how often a model is told that
    its answer is not of the type wanted. `reasks`: how often a model whose response broke off
    after its first word is asked to go on, with what it had said and its results in the transcript. `grace`: seconds
    that cancelled code gets before it is abandoned, `closing`: those that sources and the provider get to close.
    """

    rounds: int = 3
    per_round: int = 3
    per_run: int = 5
    tool_timeout: float = 30
    block_chars: int = 65_536
    args_chars: int = 1_048_576
    result_chars: int = 32_768
    evidence_chars: int = 65_536
    progress_chars: int = 65_536
    river_chars: int = 1_048_576
    reasks: int = 0
    output_retries: int = 2
    grace: float = 1
    closing: float = 5

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            whole = name not in ("tool_timeout", "grace", "closing")
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise UsageError(f"Limits.{name} must be a {'whole ' if whole else ''}number, got {value!r}")
            if name == "block_chars" and value < 1:
                raise UsageError("Limits.block_chars must be at least 1")
            if not value >= 0:
                raise UsageError(f"Limits.{name} must not be negative, got {value!r}")


ECHO = "echo: this very block stands in a result, a document or the user's text."
"""Why a block that was copied does not run."""


class Refusal(msgspec.Struct, frozen=True):
    """Why a call does not run. `first`: the call it repeats; `cap`: a limit on the number of calls."""

    status: Status
    why: str
    first: str = ""
    cap: bool = False


class _First(msgspec.Struct):
    """The call that others may repeat; `status` once it is answered."""

    call: str
    round: int
    status: Status | None = None


class Tally:
    """What the checks of one run know: what may be called, and what was. `blocks` are the markers that a
    text block's raw text begins with; `untrusted` is None where no text is searched for calls."""

    def __init__(
        self,
        traits: Mapping[str, Traits],
        limits: Limits,
        policy: Policy,
        untrusted: Untrusted | None,
        blocks: tuple[str, ...],
        *,
        asks: bool = False,
    ) -> None:
        self.traits, self.limits, self.policy = traits, limits, policy
        self.untrusted, self.blocks = untrusted, blocks
        self.asks, self.echoed = asks, set[str]()  # an echo is asked about, not refused: the calls that are
        self.tools_on = True
        self.round = 0
        self.in_round = 0
        self.in_run = 0
        self._seen: dict[str, _First] = {}
        self._by_call: dict[str, _First] = {}

    def begin_round(self, number: int, *, tools_on: bool) -> None:
        """Count for a new round."""
        self.round, self.in_round, self.tools_on = number, 0, tools_on

    def first(self, call: ToolCall) -> _First | None:
        """The admitted call that this one repeats."""
        return self._seen.get(_key(call))

    def admit(self, call: ToolCall) -> None:
        """The call runs, and counts."""
        self.in_round += 1
        self.in_run += 1
        self._by_call[call.id] = self._seen[_key(call)] = _First(call.id, self.round)

    def answered(self, call: str, status: Status) -> None:
        """An admitted call has its result."""
        if found := self._by_call.get(call):
            found.status = status


def _key(call: ToolCall) -> str:
    return f"{call.name}\n{json.dumps(call.args, sort_keys=True, ensure_ascii=False)}"


def _known(call: ToolCall, tally: Tally) -> Refusal | None:
    if not tally.tools_on:
        return Refusal("refused", "Tools are off for this answer: no more calls are run.")
    if call.name in tally.traits:
        return None
    names = ", ".join(sorted(tally.traits)) or "none"
    return Refusal("refused", f"There is no tool named {call.name[:100]!r}. The tools are: {names}.")


def _allowed(call: ToolCall, tally: Tally) -> Refusal | None:
    if tally.policy is None:
        return None
    if callable(tally.policy):
        why = tally.policy(call)
        if why is not None and not isinstance(why, str):
            raise UsageError(f"policy must return None (allowed) or a text that says why not, got {why!r}")
        return None if why is None else Refusal("refused", why)
    if call.name in tally.policy:
        return None
    return Refusal(
        "refused", f"The tool {call.name!r} is not allowed here. Allowed: {', '.join(sorted(tally.policy))}."
    )


def _echo(call: ToolCall, tally: Tally) -> Refusal | None:
    block = call.raw.startswith(tally.blocks) or call.name in call.raw  # a native call's text is its arguments alone
    if tally.untrusted and block and tally.untrusted.holds(call):
        if tally.asks:
            tally.echoed.add(call.id)
            return None
        return Refusal("refused", ECHO)
    return None


def _duplicate(call: ToolCall, tally: Tally) -> Refusal | None:
    first = tally.first(call)
    if first is None or tally.traits[call.name].repeatable:
        return None
    if first.round < tally.round and first.status not in (None, "ok", "running"):
        return None  # it failed: asking again is a retry
    return Refusal("duplicate", "", first.call)


def _per_run(call: ToolCall, tally: Tally) -> Refusal | None:
    most = tally.limits.per_run
    return (
        Refusal("refused", f"The limit of {most} calls per run is reached.", cap=True) if tally.in_run >= most else None
    )


def _per_round(call: ToolCall, tally: Tally) -> Refusal | None:
    most = tally.limits.per_round
    if tally.in_round < most:
        return None
    return Refusal("refused", f"The limit of {most} calls per round is reached.", cap=True)


_CHECKS = (_known, _allowed, _echo, _duplicate, _per_run, _per_round)


def refuse(call: ToolCall, tally: Tally) -> Refusal | None:
    """The first reason why `call` may not run; None if it may, and then it counts."""
    for check in _CHECKS:
        if refusal := check(call, tally):
            return refusal
    tally.admit(call)
    return None
