"""Every exception sidestream raises, and nothing else.

Exceptions are for the programmer; what happens in the world (a broken block, a failed tool, a lost
provider) is an event. The tree::

    SidestreamError
    ├── UsageError        the caller misused us: raised at the call site, at once
    │   └── DecodeError   bytes that are not one of our words (unknown type, wrong shape, bad JSON)
    ├── ProviderError     a model could not be asked, or stopped answering
    │   └── StageTimeoutError          a wait for it took longer than its setting allows
    │       ├── ConnectTimeoutError        no connection
    │       ├── FirstTokenTimeoutError     connected, and nothing came
    │       ├── IdleTimeoutError           it had begun, and fell silent
    │       └── TotalTimeoutError          it went on for too long
    ├── OutputError       `output=Model`: the model gave no answer of that type, also when told what was wrong
    ├── RunError          `engine.ask` got no answer; `.reason` and `.text` say how far it came
    └── Retry             raised *by a tool*: advice to the model to try differently

Every message names the fix where one is known.
"""

from __future__ import annotations

__all__ = [
    "ConnectTimeoutError",
    "DecodeError",
    "FirstTokenTimeoutError",
    "IdleTimeoutError",
    "OutputError",
    "ProviderError",
    "Retry",
    "RunError",
    "SidestreamError",
    "StageTimeoutError",
    "TotalTimeoutError",
    "UsageError",
]


class SidestreamError(Exception):
    """The root: catch this to catch everything of ours."""


class UsageError(SidestreamError, ValueError):
    """The caller asked for something that cannot be; the message names what can."""


class DecodeError(UsageError):
    """Bytes or JSON that are not one of our words."""


class ProviderError(SidestreamError):
    """A model could not be asked, or its stream broke.

    `status` is the HTTP status (0 where there was none), `retryable` whether the same request may
    succeed later, `retry_after` the seconds the provider asked us to wait (None: it did not say).
    """

    def __init__(
        self, message: str, *, status: int = 0, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after


class StageTimeoutError(ProviderError):
    """A wait for a model took longer than its setting allows. Always worth another try."""

    def __init__(
        self, message: str, *, status: int = 0, retryable: bool = True, retry_after: float | None = None
    ) -> None:
        super().__init__(message, status=status, retryable=retryable, retry_after=retry_after)


class ConnectTimeoutError(StageTimeoutError):
    """No connection within `connect_timeout`."""


class FirstTokenTimeoutError(StageTimeoutError):
    """Nothing came within `first_token_timeout`."""


class IdleTimeoutError(StageTimeoutError):
    """Nothing more came within `idle_timeout`."""


class TotalTimeoutError(StageTimeoutError):
    """The answer was not whole within `total_timeout`."""


class OutputError(SidestreamError):
    """A run with `output=Model` ended without an answer of that type. `text` is the last answer, `why` what was
    wrong with it."""

    def __init__(self, message: str, *, text: str, why: str) -> None:
        super().__init__(message)
        self.text = text
        self.why = why


class RunError(SidestreamError):
    """A run that was asked for an answer ended without one.

    `reason` is the run's reason (see `events.Reason`), `text` what the model had written by then.
    """

    def __init__(self, message: str, *, reason: str, text: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.text = text


class Retry(SidestreamError):  # noqa: N818 - a tool says `raise Retry("…")`; it is advice, not a failure of ours
    """Raised by a tool to tell the model how to ask differently; the text reaches the model as advice."""
