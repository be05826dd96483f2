"""One request to a model's HTTP API and its answer: the shell that every wire's two pure halves stand in.

A wire writes a body and reads an `Answer`; `Exchange` sends the one and feeds the other. Promises what
`provider.Provider` promises: deltas are handed on as they arrive, all that arrived before a failure is handed on
first, `ProviderError` is the only exception, and leaving closes the connection. A key that was asked for and is
refused (401) is asked for once more, before anything was said. It retries nothing else and knows no format.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

from sidestream.errors import ProviderError
from sidestream.events import AnyDelta
from sidestream.providers.endpoint import Credential, Endpoint, check
from sidestream.providers.failure import Fixes, hide
from sidestream.providers.http import Http, Reply

__all__ = ["Answer", "Exchange"]

_log = logging.getLogger("sidestream.providers")
_AFTER_FINISH = 2.0  # seconds for usage and an end mark once the model has finished; the answer is whole by then
_SHORTEST_SECRET = 6  # shorter texts are hidden nowhere: they stand in words


class Answer(Protocol):
    """Reads the body of one answer."""

    @property
    def ended(self) -> bool:
        """True once nothing more is to come."""
        ...

    @property
    def quiet(self) -> bool:
        """True once the model has finished, and only an end mark may come."""
        ...

    def feed(self, data: bytes, out: list[AnyDelta], /) -> None:
        """Read on. Raises ProviderError, after what was understood is in `out`."""
        ...

    def end(self, out: list[AnyDelta], /, *, framed: bool, broken: ProviderError | None = None) -> None:
        """The body has ended. Raises ProviderError if it was no whole answer."""
        ...


class Exchange:
    """Requests of one provider. `key_header`: the headers that carry a key. `fixes`: what to do about a refusal of
    this service, where that is not the same everywhere. Times in seconds: `connect` for the
    connection, `first` until the first bytes of an answer, `idle` between bytes (keep-alive comments count), `total`
    spent waiting in one answer altogether."""

    def __init__(
        self,
        *,
        secrets: tuple[str, ...],
        credential: Credential,
        key_header: Callable[[str], Mapping[str, str]],
        connect: float,
        first: float,
        idle: float,
        total: float,
        fixes: Fixes | None = None,
    ) -> None:
        self._credential, self._key_header, self._idle = credential, key_header, idle
        check(key_header(credential.known or "x"))
        known = (credential.known, *secrets)
        self._http = Http(connect=connect, first=first, total=total, secrets=_worth_hiding(known), fixes=fixes)

    async def __aenter__(self) -> Exchange:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._http.__aexit__(*exc)

    async def post(
        self, where: Endpoint, body: bytes, headers: Mapping[str, str], answer: Answer
    ) -> AsyncIterator[AnyDelta]:
        """The deltas of the answer to `body`. Raises ProviderError."""
        while True:
            key = await self._credential.get()
            if key not in self._http.secrets:
                self._http.secrets = (*self._http.secrets, *_worth_hiding((key,)))
            begun = False
            try:
                async for delta in self._answers(where, body, {**headers, **self._key_header(key)}, answer):
                    begun = True
                    yield delta
                return
            except ProviderError as error:
                if begun or error.status != 401 or not self._credential.refused():
                    raise

    async def _answers(
        self, where: Endpoint, body: bytes, headers: Mapping[str, str], answer: Answer
    ) -> AsyncIterator[AnyDelta]:
        debug = _log.isEnabledFor(logging.DEBUG)
        if debug:
            self._debug(where.where, "POST", body)
        async with self._http.post(where.url, where.where, body, headers) as reply:
            while not answer.ended:
                broken, data = await _next(reply)
                if debug:
                    self._debug(where.where, "read", data)
                out: list[AnyDelta] = []
                failed = _understood(answer, data, out, reply.framed, broken)
                for delta in out:
                    yield delta
                if failed:
                    raise _hidden(failed, self._http.secrets)
                if answer.quiet:
                    reply.end_within(min(self._idle, _AFTER_FINISH))
                else:
                    reply.hurry(self._idle)
            await reply.goodbye()

    def _debug(self, where: str, word: str, data: bytes) -> None:
        _log.debug("%s %s %s", where, word, hide(data.decode("utf-8", "replace"), self._http.secrets))


def _worth_hiding(secrets: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)


def _hidden(error: ProviderError, secrets: tuple[str, ...]) -> ProviderError:
    """The same error; what a server said may hold what we sent it."""
    text = hide(str(error), secrets)
    return type(error)(text, status=error.status, retryable=error.retryable, retry_after=error.retry_after)


async def _next(reply: Reply) -> tuple[ProviderError | None, bytes]:
    try:
        return None, await reply.read()
    except ProviderError as error:
        return error, b""


def _understood(
    answer: Answer, data: bytes, out: list[AnyDelta], framed: bool, broken: ProviderError | None
) -> ProviderError | None:
    """What `data` says goes to `out`; the error is to be raised after that was handed on."""
    try:
        if data:
            answer.feed(data, out)
        else:
            answer.end(out, framed=framed, broken=broken)
    except ProviderError as error:
        return error
    return None
