"""Chat completions: OpenAI, and everything that speaks like it (vLLM, llama.cpp, Ollama, LM Studio,
OpenRouter, Azure …).

Promises what `provider.Provider` promises, and: the key goes to the base URL only and is never shown;
entered (`async with provider:`, as often as one likes, in any event loop), its requests share their
connections; not entered, each stream has its own. Its two pure halves are `openai_read` and `openai_write`,
the wire is `http`. It retries nothing, and keeps nothing between two requests.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta
from sidestream.providers.failure import hide
from sidestream.providers.http import Http, Reply
from sidestream.providers.openai_read import NAME, Answer
from sidestream.providers.openai_write import body_of, bytes_of
from sidestream.providers.provider import Request, ask_real_model

__all__ = ["OpenAI"]

_log = logging.getLogger("sidestream.providers")
_AFTER_FINISH = 2.0  # seconds for usage and [DONE] once the model has finished; the answer is whole by then
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "text/event-stream, application/json",
    "Accept-Encoding": "identity",  # a compressed stream is a stream that waits
    "User-Agent": "sidestream",
}
_LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))


class OpenAI:
    """A model behind a chat-completions endpoint.

    `base_url` is what comes before `/chat/completions` (a query in it, such as Azure's `api-version`, is
    kept). `api_key`: default the environment's OPENAI_API_KEY, which is never sent
    in clear text to another machine; `""` for none. Times in seconds: for the
    connection, until the first bytes of an answer, between bytes (keep-alive comments count), and spent
    waiting in one answer altogether. `record_limit`: bytes of one record. `think_field`: the field in which
    the server wants its own reasoning back (`reasoning_content` for DeepSeek with tools). `dialect`: what
    `dialect="auto"` means for it. Raises UsageError for what cannot be a URL, a model or a header.
    """

    name = NAME

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float = 5.0,
        first_token_timeout: float = 30.0,
        idle_timeout: float = 20.0,
        total_timeout: float = 3600.0,
        record_limit: int = 16 * 1024 * 1024,
        think_field: str = "",
        dialect: str = "auto",
    ) -> None:
        if not model:
            raise UsageError("a model must be named: OpenAI('gpt-…') or 'http://host/v1#model'")
        self.model, self.dialect = model, dialect
        self._url, self._where, host, hidden = _endpoint(base_url)
        if api_key is None:
            safe = urlsplit(self._url).scheme == "https" or host in _LOOPBACK
            api_key = os.environ.get("OPENAI_API_KEY", "") if safe else ""
        key = api_key.strip()
        has_login = "@" in urlsplit(self._url).netloc
        self._keyless = host == "api.openai.com" and not key and not headers
        self._newest = host == "api.openai.com" or host.endswith(".azure.com")
        self._headers = _HEADERS | _key_header(key, host, has_login) | dict(headers or {})
        _check(self._headers)
        self._idle, self._limit, self._think_field = idle_timeout, record_limit, think_field
        secrets = (key, *hidden, *(headers or {}).values())
        self._http = Http(
            connect=connect_timeout,
            first=first_token_timeout,
            total=total_timeout,
            secrets=tuple(secret for secret in secrets if len(secret) > 5),
        )

    def __repr__(self) -> str:
        return f"OpenAI({self.model!r}, base_url={self._where.removesuffix('/chat/completions')!r})"

    async def __aenter__(self) -> OpenAI:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._http.__aexit__(*exc)

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of one response, ending in one `Stop`. Raises ProviderError; UsageError if the request
        itself cannot be written, or real models are blocked."""
        ask_real_model(repr(self))
        if self._keyless:
            raise ProviderError(f"{self._where} wants a key, and OPENAI_API_KEY is not set")
        body = bytes_of(body_of(request, self.model, newest=self._newest, think_field=self._think_field))
        headers = self._headers | dict(request.settings.extra_headers)
        debug = _log.isEnabledFor(logging.DEBUG)
        if debug:
            self._debug("POST", body)
        answer = Answer(self._limit)
        async with self._http.post(self._url, self._where, body, headers) as reply:
            while not answer.ended:
                broken, data = await _next(reply)
                if debug:
                    self._debug("read", data)
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

    def _debug(self, word: str, data: bytes) -> None:
        _log.debug("%s %s %s", self._where, word, hide(data.decode("utf-8", "replace"), self._http.secrets))


def _hidden(error: ProviderError, secrets: tuple[str, ...]) -> ProviderError:
    """The same error; what a server said may hold what we sent it."""
    text = hide(str(error), secrets)
    return ProviderError(text, status=error.status, retryable=error.retryable, retry_after=error.retry_after)


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


def _endpoint(base_url: str) -> tuple[str, str, str, list[str]]:
    """(URL to post to, the same as it may be shown, host, what of it is secret) of a base URL."""
    try:
        parts = urlsplit(base_url.strip())
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"base_url={base_url!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"base_url={base_url!r} is not a URL like http://127.0.0.1:8080/v1")
    path = parts.path.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
    url = urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
    where = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, "", ""))
    return url, where, host, [parts.password or "", *[value for _, value in parse_qsl(parts.query)]]


def _key_header(key: str, host: str, has_login: bool) -> dict[str, str]:
    if not key or has_login:
        return {}
    return {"api-key": key} if host.endswith(".azure.com") else {"Authorization": f"Bearer {key}"}


def _check(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name + value).isprintable() or not (name + value).isascii():
            raise UsageError(f"the value of header {name!r} (or the key) holds what no header can hold")
