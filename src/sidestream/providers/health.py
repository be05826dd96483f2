"""Is it worth asking again? What all requests to one provider know together, so that its outage makes no storm.

Two bounds. The *budget*: every request earns a fraction of a retry, so that retries stay a fraction of the traffic
however many requests fail at once (a few are in stock, for those who ask seldom). The *circuit*: after so many
failures in a row nobody asks for a while; then one request tries, and its outcome decides for all. Pure: whoever
asks brings the time.
"""

from __future__ import annotations

from sidestream.errors import ProviderError

__all__ = ["Health"]

_RATE_LIMITED = 429  # the service is well, it just had enough of us


class Health:
    """`budget`: retries earned by each request; `stock`: the most that can be saved, and what there is at first.
    `failures` in a row open the circuit for `seconds` (0 failures: never)."""

    def __init__(self, *, budget: float, stock: float, failures: int, seconds: float) -> None:
        self._budget, self._stock, self._limit, self._seconds = budget, stock, failures, seconds
        self._saved = stock
        self._failed = 0  # in a row
        self._closed_at = 0.0  # until then nobody asks
        self._trying = False  # one request is finding out

    def asked(self) -> None:
        """A new request (not a retry) is made."""
        self._saved = min(self._stock, self._saved + self._budget)

    def admit(self, now: float, who: str) -> None:
        """A request is about to be sent. Raises ProviderError while the circuit is open."""
        if not self._limit or self._failed < self._limit:
            return
        left = self._closed_at - now
        if left > 0 or self._trying:
            raise ProviderError(
                f"{who} failed {self._failed} times in a row and is not asked for {max(left, 0):.3g} s more",
                retryable=True,
                retry_after=max(left, 0.0),
            )
        self._trying = True

    def well(self) -> None:
        """It answers."""
        self._failed, self._trying = 0, False

    def failed(self, error: ProviderError, now: float) -> None:
        """It did not, or broke off."""
        self._trying = False
        if error.retryable and error.status != _RATE_LIMITED:
            self._failed += 1
            self._closed_at = now + self._seconds

    def left(self) -> None:
        """Nobody waited for the outcome."""
        self._trying = False

    def may_retry(self) -> bool:
        """True if there is a retry left in the budget; it is taken then."""
        if self._saved < 1:
            return False
        self._saved -= 1
        return True
