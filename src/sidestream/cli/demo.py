"""`sidestream demo`: one real turn of the embedded model whose question needs two tools.

`count_primes` really works for about a second, on a thread of its own, while the model is still writing the
second half of its turn. Nothing is staged: the times in the timeline are those of this run on this machine.
"""

from __future__ import annotations

import argparse
from math import isqrt

from sidestream.builtin import calculate
from sidestream.cli.ask import honestly, turn
from sidestream.cli.turn import Stage, looped, stage, writable
from sidestream.engine import Engine
from sidestream.providers.choose import choose
from sidestream.providers.local import Local
from sidestream.tools.tool import tool

__all__ = ["QUESTION", "count_primes", "demo"]

QUESTION = "How many primes are there below 50000000, and what is 17 * 23?"

_MOST = 1_000_000_000
_WINDOW = 16_384  # numbers looked at before other threads get their turn

_EXAMPLES = (
    "How many primes are there below 5000?",
    "Count the primes below 1000000",
    "how many prime numbers are smaller than 200",
    "number of primes up to 10000",
)


@tool(read_only=True, main="limit", examples=_EXAMPLES)
def count_primes(limit: int) -> int:
    """Count the prime numbers below a limit.

    Args:
        limit: The number below which primes are counted.
    """
    if not 0 <= limit <= _MOST:
        raise ValueError(f"the limit must be between 0 and {_MOST}")
    small = _primes(isqrt(max(limit - 1, 0)) + 1)
    return sum(_in_window(start, min(start + _WINDOW, limit), small) for start in range(0, limit, _WINDOW))


def _primes(limit: int) -> list[int]:
    """The primes below `limit`, by trial division."""
    found: list[int] = []
    for number in range(2, limit):
        if all(number % prime for prime in found if prime * prime <= number):
            found.append(number)
    return found


def _in_window(start: int, end: int, primes: list[int]) -> int:
    """How many primes there are from `start` on below `end`: what no smaller prime divides."""
    window = bytearray(b"\x01") * (end - start)
    for number in range(start, min(2, end)):
        window[number - start] = 0
    for prime in primes:
        first = max(prime * prime, -(-start // prime) * prime)
        if first >= end:
            if prime * prime >= end:
                break
            continue
        window[first - start :: prime] = bytes(len(range(first, end, prime)))
    return window.count(1)


async def _demo(model: str, on: Stage, given: argparse.Namespace) -> int:
    provider = choose(model)
    async with Engine(provider, [count_primes, calculate]) as engine:
        if isinstance(provider, Local):
            on.view.say(honestly(model))
            await provider.load()  # so that the timeline shows the turn, not the reading of a file
        on.view.say(f"question: {QUESTION}\n\n")
        return await turn(engine, QUESTION, on, given)


def demo(given: argparse.Namespace) -> int:
    """Do it; the exit code."""
    writable(given.timeline)
    return looped(_demo(given.model, stage(json=given.json), given))
