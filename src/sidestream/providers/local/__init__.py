"""The embedded model: llama.cpp in a child process, a router in front of it, and the files they need.

`Local` is the provider; `pull`, `doctor` and `find_weights` are what the terminal calls. Importing this
package loads nothing heavy: the native libraries live in the child process (`worker`).
"""

from __future__ import annotations

from sidestream.providers.local.files import doctor, find_weights
from sidestream.providers.local.model import Local
from sidestream.providers.local.pull import pull

__all__ = ["Local", "doctor", "find_weights", "pull"]
