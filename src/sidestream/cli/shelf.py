"""The built-in tools as the terminal offers them: all of them, or the ones named."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from sidestream.builtin import TOOLS
from sidestream.errors import UsageError
from sidestream.tools.tool import Tool

__all__ = ["chosen"]


def chosen(names: str | None) -> Sequence[Tool]:
    """The tools of these names, with commas between; None: all, `none`: none. Raises UsageError."""
    if names is None:
        return TOOLS
    by_name = {tool.spec.name: tool for tool in TOOLS}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if wanted in ([], ["none"]):
        return ()
    for name in wanted:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(f"no built-in tool is named {name!r}; {hint}There are: {', '.join(sorted(by_name))}")
    return [by_name[name] for name in dict.fromkeys(wanted)]
