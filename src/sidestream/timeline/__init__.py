"""What happened when: a run's own events as lanes, one for the model's stream and one for each call.

`Timeline.of(events)` reads them, `.text(width)` draws them for a terminal, `svg(events)` as a picture.
Pure; importing it loads nothing but the words. It measures nothing itself: times are those of the events.
"""

from __future__ import annotations

from sidestream.timeline.lanes import Bar, Lane, seconds
from sidestream.timeline.picture import svg
from sidestream.timeline.printable import columns, cut, label, printable
from sidestream.timeline.reading import Timeline

__all__ = ["Bar", "Lane", "Timeline", "columns", "cut", "label", "printable", "seconds", "svg"]
