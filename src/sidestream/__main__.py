"""`python -m sidestream` is the command `sidestream`."""

from __future__ import annotations

import sys

from sidestream.cli import main

if __name__ == "__main__":
    sys.exit(main())
