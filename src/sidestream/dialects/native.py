"""Providers' own calls: fragments in, the same events out as from any text format.

Promises: a call closes at the character that makes its JSON root whole, or when the provider says
`done`; what a server may do wrong with slots, ids and names (see `Calls._find`) never merges two
calls or loses one; arguments are never repaired. A root `{}` is not believed at once, because some
servers send it before the real arguments: it closes when the tool takes no parameters, at `done`, when
another call begins, or at a natural end. Not its job: what a provider's JSON looks like (`providers/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sidestream.dialects.block import NATURAL
from sidestream.dialects.scan import Balance
from sidestream.dialects.values import arguments
from sidestream.events import AnyEvent, CallArgs, CallClosed, CallDelta, CallOpened, CallRejected, Hidden
from sidestream.messages import ToolCall, ToolSpec, clean

__all__ = ["Calls"]


class _Call:
    """One call while it is read."""

    __slots__ = ("args", "balance", "closed", "id", "name", "opened", "raw", "size", "slot", "whole", "wire")

    def __init__(self, call_id: str, slot: int, wire: str) -> None:
        self.id, self.slot, self.wire, self.name = call_id, slot, wire, ""
        self.raw: list[str] = []  # every character of arguments, for `ToolCall.raw`
        self.args: list[str] = []  # those that count: what came after a `{}` that was not meant
        self.size = 0
        self.balance = Balance()
        self.whole = False  # the root is whole, and was not believed yet
        self.opened = self.closed = False

    @property
    def blank(self) -> bool:
        return not self.balance.root

    @property
    def empty(self) -> bool:
        """True if the whole root is an object without any member."""
        return self.balance.root == "{" and not "".join(self.args).strip()[1:-1].strip()


class Calls:
    """Reads the native calls of one response. `new_id` gives our id for the next call, `limit` is the
    most characters of arguments one call may have, `restored` undoes what made untrusted text inert."""

    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        new_id: Callable[[], str],
        *,
        limit: int = 1_048_576,
        restored: Callable[[Any], Any] | None = None,
    ) -> None:
        self._specs, self._new_id, self._limit, self._restored = specs, new_id, limit, restored
        self._slots: dict[int, _Call] = {}  # the call that fragments without an id belong to
        self._wires: dict[tuple[int, str], _Call] = {}
        self._open: list[_Call] = []
        self._repeat: dict[int, str] = {}  # slot → a name that came again after its call had closed

    def feed(self, delta: CallDelta) -> list[AnyEvent]:
        """The events that this fragment makes certain."""
        out: list[AnyEvent] = []
        call = self._find(delta, out)
        if call is None:
            if delta.args:
                out.append(Hidden(clean(delta.args)))
            return out
        if delta.name and not call.closed:
            name = clean(delta.name)
            if delta.id:
                call.name = name
            elif name != call.name:
                call.name = call.name + name
            if call.whole and self._believed(call):
                self._finish(call, "invalid_json", out)
        if delta.args:
            self._arguments(call, clean(delta.args), out)
        if delta.done and not call.closed:
            self._finish(call, "invalid_json", out)
        return out

    def close(self, stop: str) -> list[AnyEvent]:
        """The stream has ended: what is still open closes at a natural end, and is rejected at a cut."""
        out: list[AnyEvent] = []
        for call in list(self._open):
            if stop in NATURAL:
                self._finish(call, "truncated", out)
            else:
                self._reject(call, "truncated", out)
        return out

    def _find(self, delta: CallDelta, out: list[AnyEvent]) -> _Call | None:
        """The call a fragment belongs to; a new one where it begins one; None where it belongs to none."""
        current = self._slots.get(delta.slot)
        said = bool(delta.args) and not delta.args.isspace()
        if delta.id:
            known = self._wires.get((delta.slot, delta.id))
            anew = known is not None and known.closed and bool(delta.name) and said
            if known and not (anew and delta.args.strip() != "".join(known.raw).strip()):
                return known  # what comes behind its end, and the whole of it once more, is no other call
            named = bool(delta.name and current and current.name)
            if (
                current
                and not current.wire
                and not current.closed
                and (not named or (delta.name == current.name and current.blank))
            ):
                current.wire = delta.id  # the id came after the name
                self._wires[delta.slot, delta.id] = current
                return current
            return self._begin(delta, out)
        if current and not current.closed:
            return current
        if current is None:
            return self._begin(delta, out) if delta.name or said else None
        again = self._repeat.pop(delta.slot, "")
        if delta.name and not said and delta.name == current.name:
            self._repeat[delta.slot] = delta.name
            return None
        if delta.name or (again and said):
            call = self._begin(delta, out)
            call.name = "" if delta.name else again
            return call
        return None

    def _begin(self, delta: CallDelta, out: list[AnyEvent]) -> _Call:
        for other in list(self._open):
            spec = self._specs.get(other.name)
            if (other.whole and other.name) or (other.blank and spec is not None and spec.takes_nothing):
                self._finish(other, "invalid_json", out)
        call = _Call(self._new_id(), delta.slot, delta.id)
        self._slots[delta.slot] = call
        if delta.id:
            self._wires[delta.slot, delta.id] = call
        self._open.append(call)
        return call

    def _arguments(self, call: _Call, text: str, out: list[AnyEvent]) -> None:
        if call.closed:
            out.append(Hidden(text))
            return
        room = self._limit - call.size
        text, rest = (text, "") if len(text) <= room else (text[:room], text[room:])
        position = 0
        while position < len(text):
            if call.whole:
                if text[position:].isspace() or not call.empty:
                    self._take(call, text[position:], out)
                    break
                call.whole, call.balance, call.args = False, Balance(), []  # the `{}` was not meant
            end = call.balance.feed(text, position)
            piece = text[position:] if end < 0 else text[position:end]
            self._take(call, piece, out)
            position += len(piece)
            if end >= 0 and self._believed(call):
                self._finish(call, "invalid_json", out)
                rest = text[position:] + rest
                break
        if rest:
            if not call.closed:
                self._reject(call, "too_long", out)
            out.append(Hidden(rest))

    def _take(self, call: _Call, piece: str, out: list[AnyEvent]) -> None:
        call.raw.append(piece)
        call.args.append(piece)
        call.size += len(piece)
        if call.opened:
            out.append(CallArgs(call.id, piece))
        elif call.name:
            self._announce(call, out)

    def _announce(self, call: _Call, out: list[AnyEvent]) -> None:
        if not call.opened and call.name:
            call.opened = True
            out.append(CallOpened(call.id, call.name))
            if call.raw:
                out.append(CallArgs(call.id, "".join(call.raw)))

    def _believed(self, call: _Call) -> bool:
        """True if the whole root closes the call now; an empty object mostly has to wait."""
        spec = self._specs.get(call.name)
        call.whole = not call.name or (call.empty and not (spec is not None and spec.takes_nothing))
        return not call.whole

    def _finish(self, call: _Call, why: str, out: list[AnyEvent]) -> None:
        """Close a call whose text is all there. `why`: the word if its root turns out not to be whole."""
        raw = "".join(call.raw)
        if not call.name:
            self._reject(call, "missing_name", out)
            return
        try:
            args = arguments("".join(call.args))
        except ValueError:
            whole = call.balance.root not in '{["' or call.balance.whole
            self._reject(call, "invalid_json" if whole else why, out)
            return
        if self._restored is not None:
            args = self._restored(args)
        self._announce(call, out)
        self._forget(call)
        out.append(CallClosed(ToolCall(call.id, call.name, args, raw, call.wire)))

    def _reject(self, call: _Call, why: str, out: list[AnyEvent]) -> None:
        self._announce(call, out)
        self._forget(call)
        out.append(CallRejected(call.id, "".join(call.raw), why, native=True))

    def _forget(self, call: _Call) -> None:
        call.closed = True
        self._open.remove(call)
