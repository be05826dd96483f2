"""Where runs are kept: append-only logs of events. `MemoryJournal` forgets with its process."""

from sidestream.journal.memory import MemoryJournal

__all__ = ["MemoryJournal"]
