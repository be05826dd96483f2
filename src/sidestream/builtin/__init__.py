"""The tools we ship. Each is a function under `@tool`; `TOOLS` is the shelf that a door puts out.

Promises: those here only read (arithmetic, the clock, a text, a table of units); none touches a file or a
network. Importing this loads nothing heavy.
"""

from __future__ import annotations

from sidestream.builtin.calculate import calculate
from sidestream.builtin.convert_units import convert_units
from sidestream.builtin.current_time import current_time
from sidestream.builtin.word_count import word_count
from sidestream.tools.tool import Tool

__all__ = ["TOOLS", "calculate", "convert_units", "current_time", "word_count"]

TOOLS: tuple[Tool, ...] = (calculate, convert_units, current_time, word_count)
