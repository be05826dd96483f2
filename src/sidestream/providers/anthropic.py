"""Anthropic's Messages API, and services that speak it.

Promises what `provider.Provider` promises, and: the key goes to the base URL only and is never shown; entered, its
requests share their connections. Its two pure halves are `anthropic_read` and `anthropic_write`, the shell is
`exchange`. It retries nothing, and keeps nothing between two requests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta
from sidestream.providers.anthropic_read import NAME, Answer
from sidestream.providers.anthropic_write import MAX_TOKENS, body_of
from sidestream.providers.endpoint import HEADERS, Credential, Key, check, endpoint
from sidestream.providers.exchange import Exchange
from sidestream.providers.failure import Fixes
from sidestream.providers.openai_write import bytes_of
from sidestream.providers.provider import Request, ask_real_model

__all__ = ["Anthropic"]

_PATH = "/v1/messages"
_VERSION = "2023-06-01"
_KEY = "check the key: set ANTHROPIC_API_KEY, or give a provider with its own: Anthropic(model, api_key=…)"
_FIXES: Fixes = {401: _KEY, 403: _KEY, 404: "check the model's name and the base URL"}


class Anthropic:
    """A Claude model, or one behind the same API.

    `base_url` is what comes before `/v1/messages`. `api_key`: a key, or an async function that gives one (asked again
    once if it is refused); default the environment's ANTHROPIC_API_KEY. `max_tokens`: the bound of an answer whose
    settings name none (the API wants one). `eager`: arguments of calls arrive as they are written, also where they
    are not valid yet; switch it off for look-alike services that refuse it. `stream=False`: the whole answer in one
    piece. Times in seconds as of `OpenAI`. Raises UsageError for what cannot be a URL, a model or a header.
    """

    name = NAME
    structured = True  # it can be held to a JSON Schema
    accepts = frozenset(("image", "file"))

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.anthropic.com",
        api_key: Key = None,
        headers: Mapping[str, str] | None = None,
        max_tokens: int = MAX_TOKENS,
        eager: bool = True,
        connect_timeout: float = 5.0,
        first_token_timeout: float = 30.0,
        idle_timeout: float = 20.0,
        total_timeout: float = 300.0,
        record_limit: int = 16 * 1024 * 1024,
        dialect: str = "auto",
        stream: bool = True,
    ) -> None:
        if not model:
            raise UsageError("a model must be named: Anthropic('claude-…')")
        self.model, self.dialect = model, dialect
        self._at = endpoint(base_url, _PATH)
        credential = Credential(api_key, ("ANTHROPIC_API_KEY",), safe=self._at.safe)
        self._keyless = self._at.host == "api.anthropic.com" and credential.missing and not headers
        self._headers = HEADERS | {"anthropic-version": _VERSION} | dict(headers or {})
        check(self._headers)
        self._limit, self._max_tokens, self._eager, self._stream = record_limit, max_tokens, eager, stream
        self._exchange = Exchange(
            secrets=(*self._at.secrets, *(headers or {}).values()),
            credential=credential,
            key_header=lambda key: ({"x-api-key": key} if key else {}) | dict(headers or {}),
            connect=connect_timeout,
            first=first_token_timeout,
            idle=idle_timeout,
            total=total_timeout,
            fixes=_FIXES,
        )

    def __repr__(self) -> str:
        return f"Anthropic({self.model!r}, base_url={self._at.where.removesuffix(_PATH)!r})"

    async def __aenter__(self) -> Anthropic:
        await self._exchange.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._exchange.__aexit__(*exc)

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of one response, ending in one `Stop`. Raises ProviderError; UsageError if the request
        itself cannot be written, or real models are blocked."""
        ask_real_model(repr(self))
        if self._keyless:
            raise ProviderError(f"{self._at.where} wants a key, and ANTHROPIC_API_KEY is not set")
        body = body_of(request, self.model, max_tokens=self._max_tokens, eager=self._eager)
        body |= {"stream": self._stream}
        headers = self._headers | dict(request.settings.extra_headers)
        async for delta in self._exchange.post(self._at, bytes_of(body), headers, Answer(self._limit)):
            yield delta
