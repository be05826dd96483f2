"""One POST and its streamed answer over HTTP: the only room that knows aiohttp.

Promises: bytes are handed on as they arrive and none that arrived is lost when the connection breaks;
every wait has a bound; `ProviderError` is the only exception; leaving the block closes the socket at
once (or gives it back to the pool, if the answer was read to its end). Connections are shared by all who
have entered the same `Http` in one event loop, and closed when the last one leaves. Proxy variables and
cookies are ignored, redirects not followed. It knows no format and retries nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from sidestream.errors import (
    ConnectTimeoutError,
    FirstTokenTimeoutError,
    IdleTimeoutError,
    ProviderError,
    StageTimeoutError,
    TotalTimeoutError,
)
from sidestream.providers.failure import Fixes, hide, refusal

__all__ = ["Http", "Reply"]

_KEEP = 4.0  # seconds: uvicorn, Node and cpp-httplib close an idle connection after 5
_ERROR_BODY = 65_536  # bytes read of a refusal
_BUFFER = 65_536  # bytes; twice that unread, and the server has to wait
_GOODBYE = 0.05  # seconds for the end of a body whose format has already ended

_LOST: tuple[tuple[type[BaseException], str, bool], ...] = (
    (aiohttp.ClientConnectorCertificateError, "its certificate is not trusted", False),
    (
        aiohttp.ClientConnectorDNSError,
        "its name cannot be resolved: check the base URL and the network",
        True,
    ),
    (aiohttp.ClientConnectorSSLError, "no TLS there: check http:// or https:// in the base URL", False),
    (aiohttp.ClientConnectorError, "cannot connect: is the server running, the base URL right?", True),
    (
        aiohttp.ConnectionTimeoutError,
        "no connection in time: is the server running, the base URL right?",
        True,
    ),
    (aiohttp.ServerDisconnectedError, "the connection was closed before an answer came", True),
    (aiohttp.ClientPayloadError, "the connection broke in the middle of the answer", True),
    (aiohttp.ClientResponseError, "what answered does not speak HTTP", False),
    (aiohttp.ClientConnectionError, "the connection broke", True),
    (aiohttp.InvalidURL, "that is no URL", False),
    (OSError, "the connection broke", True),
    (ValueError, "the request cannot be sent", False),
)
_WIRE = (
    aiohttp.ClientError,
    OSError,
    ValueError,
    RuntimeError,
)  # what aiohttp raises (TimeoutError is an OSError)


def _lost(error: BaseException, where: str, secrets: tuple[str, ...], refused: str = "") -> ProviderError:
    """`refused`: what to do if nobody takes a connection there."""
    known = [row[1:] for row in _LOST if isinstance(error, row[0])]
    words, retryable = known[0] if known else ("the connection broke", True)
    if refused and type(error) is aiohttp.ClientConnectorError:
        words = f"cannot connect: {refused}"
    said = str(error).replace(" ssl:default", "") or type(error).__name__  # aiohttp says so of plain HTTP too
    kind = ConnectTimeoutError if isinstance(error, aiohttp.ConnectionTimeoutError) else ProviderError
    return kind(hide(f"{where}: {words} ({said})", secrets), retryable=retryable)


class Reply:
    """The body of one answer, while it is read."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        where: str,
        secrets: tuple[str, ...],
        patience: float,
        total: float,
    ) -> None:
        self.response = response
        self.framed = response.headers.get("Transfer-Encoding", "").lower() == "chunked" or (
            "Content-Length" in response.headers
        )
        self._where, self._secrets = where, secrets
        self._content = response.content
        self._loop = asyncio.get_running_loop()
        self._patience, self._total, self._left = patience, total, total
        self._since = 0.0  # when the present wait began; 0.0: nobody waits
        self._stalled: StageTimeoutError | None = None
        self._silent: type[StageTimeoutError] = FirstTokenTimeoutError
        self._broken: ProviderError | None = None
        self._timer = self._loop.call_later(min(patience, total), self._look)

    def hurry(self, seconds: float) -> None:
        """It has begun: from now on, no read waits longer than `seconds`."""
        self._silent = IdleTimeoutError
        if seconds != self._patience:
            self._patience = seconds
            self._timer.cancel()
            self._timer = self._loop.call_later(min(seconds, self._left), self._look)

    async def read(self) -> bytes:
        """What has arrived, as soon as something has; `b""` at the end. Raises ProviderError, after
        everything that arrived before the failure was handed out."""
        if self._broken:
            raise self._broken
        self._since = began = self._loop.time()
        try:
            return await self._content.readany()
        except _WIRE as error:
            self._broken = self._why(error)
            rest = self._rest()
            if rest:
                return rest
            raise self._broken from None  # aiohttp's own error may show headers
        finally:
            self._left -= self._loop.time() - began
            self._since = 0.0

    def _why(self, error: BaseException) -> ProviderError:
        if self._stalled:
            return self._stalled
        return _lost(error, self._where, self._secrets)

    def _rest(self) -> bytes:
        """aiohttp forgets bytes it still holds when the connection breaks; they are part of the answer."""
        left: Any = getattr(self._content, "_buffer", None)
        return b"".join(left)[getattr(self._content, "_buffer_offset", 0) :] if left else b""

    def _look(self) -> None:
        """The watch: one timer a stream, which looks when it is due how long the present wait has been."""
        allowed = min(self._patience, self._left)
        waited = self._loop.time() - self._since if self._since else 0.0
        if self._since and waited >= allowed:
            endless = TotalTimeoutError(f"{self._where}: no end in {self._total:g} s (total_timeout)")
            silent = self._silent(f"{self._where}: nothing came for {waited:.3g} s")
            self._stalled = endless if allowed < self._patience else silent
            self.response.close()
            return
        self._timer = self._loop.call_later(max(allowed - waited, 0.001), self._look)

    def end_within(self, seconds: float) -> None:
        """From now on, wait at most so long in all: whatever still comes must not keep us."""
        self._left = min(self._left, seconds)
        self.hurry(self._left)

    async def goodbye(self) -> None:
        """The format has ended: read the end of the body, so that the connection can be used again."""
        self.end_within(_GOODBYE)
        try:
            while await self.read():
                pass
        except ProviderError:
            pass

    def close(self) -> None:
        """Close the socket, unless the body was read to its end."""
        self._timer.cancel()
        self.response.close()


class Http:
    """Connections to one service. Times in seconds: `connect` for the connection, `first` until the
    first bytes of the answer, `idle` between bytes (`Reply.hurry`), `total` spent waiting in one answer."""

    def __init__(
        self, *, connect: float, first: float, total: float, secrets: tuple[str, ...] = (), fixes: Fixes | None = None
    ) -> None:
        self._connect, self._first, self._total, self.secrets = connect, first, total, secrets
        self._fixes: Fixes = fixes or {}
        self._pools: dict[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, int]] = {}

    async def __aenter__(self) -> Http:
        loop = asyncio.get_running_loop()
        session, users = self._pools.get(loop) or (self._session(), 0)
        self._pools[loop] = (session, users + 1)
        return self

    async def __aexit__(self, *exc: object) -> None:
        loop = asyncio.get_running_loop()
        session, users = self._pools.pop(loop)
        if users > 1:
            self._pools[loop] = (session, users - 1)
        else:
            await session.close()

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP),
            timeout=aiohttp.ClientTimeout(total=None, connect=self._connect, sock_connect=self._connect),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_BUFFER,
            trust_env=False,
        )

    @asynccontextmanager
    async def post(self, url: str, where: str, body: bytes, headers: Mapping[str, str]) -> AsyncIterator[Reply]:
        """The reply to `body` (JSON) sent to `url`; `where` is the URL as it may be shown. Raises
        ProviderError for whatever keeps a 2xx answer from beginning."""
        async with self:
            session, _ = self._pools[asyncio.get_running_loop()]
            response, left = await self._answer(session, url, where, body, headers)
            reply = Reply(response, where, self.secrets, left, self._total)
            try:
                if not 200 <= response.status < 300:
                    raise await self._refusal(reply, where)
                yield reply
            finally:
                reply.close()

    async def _answer(
        self, session: aiohttp.ClientSession, url: str, where: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[aiohttp.ClientResponse, float]:
        """The answer's head, and the seconds that are left for its first bytes."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        limit = asyncio.timeout(self._first)
        try:
            async with limit:
                response = await session.post(url, data=body, headers=headers, allow_redirects=False)
        except _WIRE as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise FirstTokenTimeoutError(f"{where}: no answer in {self._first:g} s") from None
            raise _lost(error, where, self.secrets, self._fixes.get(0, "")) from None
        return response, max(self._first - (loop.time() - began), 0.001)

    async def _refusal(self, reply: Reply, where: str) -> ProviderError:
        body = b""
        try:
            while len(body) < _ERROR_BODY and (data := await reply.read()):
                body += data
        except ProviderError:
            pass  # the status says enough
        headers = {name.lower(): value for name, value in reply.response.headers.items()}
        status, now = reply.response.status, time.time()
        return refusal(status, headers, body, where=where, now=now, secrets=self.secrets, fixes=self._fixes)
