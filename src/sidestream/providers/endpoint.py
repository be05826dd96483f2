"""Where requests go and who asks: a base URL, a key, headers. What every HTTP provider shares, without I/O.

Promises: a key is never sent in clear text to another machine unless it was given for it; nothing secret is in
`where`, the URL as it may be shown. `Credential` is a key that is given, stands in the environment, or is asked
for (an async function), and then asked for again once it was refused.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from sidestream.errors import UsageError

__all__ = ["HEADERS", "Credential", "Endpoint", "Key", "check", "endpoint", "openai_header"]

Key: TypeAlias = str | Callable[[], Awaitable[str]] | None
"""A key; a function that gives one; None: the environment's."""

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "text/event-stream, application/json",
    "Accept-Encoding": "identity",  # a compressed stream is a stream that waits
    "User-Agent": "sidestream",
}
_LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))


class Endpoint(NamedTuple):
    """An address: `url` to post to, `where` as it may be shown, its host, what of it is secret."""

    url: str
    where: str
    host: str
    secrets: tuple[str, ...]
    login: bool  # the URL itself says who asks
    safe: bool  # a key may go there: TLS, or this machine

    @property
    def azure(self) -> bool:
        """True for Microsoft's Azure, which has OpenAI's APIs with other headers."""
        return self.host.endswith(".azure.com")


def endpoint(base_url: str, path: str, query: str = "") -> Endpoint:
    """The address of `path` below `base_url`, whose own query is kept. Raises UsageError."""
    try:
        parts = urlsplit(base_url.strip())
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"base_url={base_url!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"base_url={base_url!r} is not a URL like http://127.0.0.1:8080/v1")
    whole = parts.path.rstrip("/").removesuffix(path) + path
    asked = "&".join(item for item in (parts.query, query) if item)
    url = urlunsplit((parts.scheme, parts.netloc, whole, asked, ""))
    where = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], whole, "", ""))
    secrets = (parts.password or "", *(value for _, value in parse_qsl(parts.query)))
    safe = parts.scheme == "https" or host in _LOOPBACK
    return Endpoint(url, where, host, secrets, "@" in parts.netloc, safe)


class Credential:
    """A key, as it was given. `variables`: the environment's names for it, the first that is set counts."""

    def __init__(self, key: Key, variables: tuple[str, ...], *, safe: bool) -> None:
        self._ask = key if callable(key) else None
        self._asked = ""
        if callable(key):
            self.known = ""
        elif key is None:
            found = next((value for name in variables if (value := os.environ.get(name, "").strip())), "")
            self.known = found if safe else ""
        else:
            self.known = key.strip()

    @property
    def missing(self) -> bool:
        """True if there is none, and nobody to ask."""
        return not self.known and self._ask is None

    async def get(self) -> str:
        """The key; asked for the first time if it has to be."""
        if self._ask is None:
            return self.known
        if not self._asked:
            self._asked = (await self._ask()).strip()
        return self._asked

    def refused(self) -> bool:
        """The service refused it: True if asking for another may help."""
        again, self._asked = bool(self._asked), ""
        return again


def openai_header(at: Endpoint, key: str) -> dict[str, str]:
    """The header in which OpenAI's APIs want a key: Azure has its own, and a URL that says who asks needs none."""
    if not key or at.login:
        return {}
    return {"api-key": key} if at.azure else {"Authorization": f"Bearer {key}"}


def check(headers: Mapping[str, str]) -> None:
    """Raises UsageError for a header that cannot be sent."""
    for name, value in headers.items():
        if not (name + value).isprintable() or not (name + value).isascii():
            raise UsageError(f"the value of header {name!r} (or the key) holds what no header can hold")
