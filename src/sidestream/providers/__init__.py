"""The water: whoever can be asked for an answer, and what is asked. `choose.choose` picks one by name,
`retrying` and `falling_back` stand around any.

One file a wire format (its bytes → deltas, a request → its bytes) over `sse`, `http` and `failure`, which
know none. Importing this room loads none of them.
"""

from sidestream.providers.fallback import falling_back
from sidestream.providers.provider import Provider, Request, Settings
from sidestream.providers.retry import retrying

__all__ = ["Provider", "Request", "Settings", "falling_back", "retrying"]
