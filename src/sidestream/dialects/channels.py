"""Messages with headers: `<|start|>assistant<|channel|>analysis<|message|>…`. Harmony's, Muse's, Inkling's.

A `Header` is the head of such a message: everything from its opener to the marker its content begins behind, which a
regular expression judges. `Channels` reads the headers of messages that are no calls: reasoning goes on until a
marker ends it, anything else is text. Calls are sections whose head is a `Header`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

import msgspec

from sidestream.dialects.block import Block, Options
from sidestream.dialects.inert import Escape
from sidestream.dialects.pattern import MORE, Found
from sidestream.events import AnyEvent, Hidden
from sidestream.messages import ToolCall, ToolSpec

__all__ = ["Channels", "Header"]

LONGEST = 256  # characters of a header


@cache
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(text, re.S)


class Header(msgspec.Struct, frozen=True):
    """A message's head: from `opener` to what `until` finds. `says` must be found in it, its groups are captured."""

    opener: str
    until: str
    says: str
    decides = True

    @property
    def prefix(self) -> str:
        """The literal text it begins with."""
        return self.opener

    def at(self, text: str, position: int) -> Found | None:
        """What stands at `position`."""
        if not text.startswith(self.opener, position):
            return MORE if self.opener.startswith(text[position : position + LONGEST]) else None
        until = _compiled(self.until).search(text, position + len(self.opener), position + LONGEST)
        if until is None:
            return MORE if len(text) - position < LONGEST else None
        found = _compiled(self.says).search(text, position, until.end())
        return None if found is None else Found(until.end(), found.groupdict())


class Channels(msgspec.Struct, frozen=True):
    """Headers of messages to the user and of reasoning (those in which `thinks` is found), and what ends it."""

    openers_: tuple[str, ...]
    until: str
    thinks: str
    ends: tuple[str, ...]
    sure: bool = True
    place: Literal["", "line", "start"] = ""

    @property
    def markers(self) -> tuple[str, ...]:
        """What untrusted text must not hold."""
        return self.openers_

    @property
    def enders(self) -> tuple[str, ...]:
        """What ends reasoning."""
        return self.ends

    def openers(self, specs: Mapping[str, ToolSpec]) -> tuple[str, ...]:
        """The literal texts at which a header may begin."""
        return self.openers_

    def headers(self) -> list[Header]:
        """Any header, at each opener."""
        return [Header(opener, self.until, "") for opener in self.openers_]

    def claims(self, text: str, position: int, specs: Mapping[str, ToolSpec]) -> bool | None:
        """True if a header stands there, whole."""
        found = [header.at(text, position) for header in self.headers()]
        return None if MORE in found else any(item is not None for item in found)

    def open(self, specs: Mapping[str, ToolSpec], new_id: Callable[[], str], options: Options) -> Block:
        """A reader for the header that begins at an opener."""
        return _Header(self, new_id, options)

    def signed(self, nonce: str) -> Channels | None:
        """Headers have no place for a nonce."""
        return None

    def wire(self, name: str, call_id: str) -> str:
        """Ids are not written."""
        return call_id

    def write(self, call: ToolCall, escape: Escape) -> str:
        """Nothing: calls are a section's."""
        return ""


class _Header(Block):
    """One header while it is read."""

    def __init__(self, row: Channels, new_id: Callable[[], str], options: Options) -> None:
        super().__init__(new_id, options)
        self._row = row
        self.spoke = False

    def feed(self, text: str, position: int, out: list[AnyEvent]) -> int:
        """All of it at once: nothing is taken before it is whole."""
        for header in self._row.headers():
            found = header.at(text, position)
            if found is MORE:
                return position
            if found is not None:
                out.append(Hidden(text[position : found.end]))
                if _compiled(self._row.thinks).search(text, position, found.end):
                    self.reasons = (self._row.ends, self._row.openers_)
                return self.finish(found.end)
        return self.refute(position)

    def close(self, held: str, out: list[AnyEvent], *, natural: bool = True) -> None:
        """A header that was cut is still a marker, and no text."""
        if held:
            out.append(Hidden(held))
