"""OpenAI's Responses API, and services that speak it (Azure, OpenRouter, vLLM, LM Studio …).

Promises what `provider.Provider` promises, and: the key goes to the base URL only and is never shown; entered, its
requests share their connections. Its two pure halves are `responses_read` and `responses_write`, the shell is
`exchange`. It retries nothing, and keeps nothing between two requests, nor has the service keep anything.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta
from sidestream.providers.endpoint import HEADERS, Credential, Key, check, endpoint, openai_header
from sidestream.providers.exchange import Exchange
from sidestream.providers.openai_write import bytes_of
from sidestream.providers.provider import Request, ask_real_model
from sidestream.providers.responses_read import NAME, Answer
from sidestream.providers.responses_write import body_of

__all__ = ["Responses"]

_PATH = "/responses"


class Responses:
    """A model behind a Responses endpoint.

    `base_url` is what comes before `/responses` (a query in it, such as Azure's `api-version`, is kept). `api_key`: a
    key, or an async function that gives one (asked again once if it is refused); default the environment's
    OPENAI_API_KEY, which is never sent in clear text to another machine; `""` for none. `stream=False`: the whole
    answer in one piece. Times in seconds as of `OpenAI`, but between bytes longer by default: a model that reasons
    may be silent for minutes (with `stream=False` before its first bytes, too: then the longer of the two times
    counts for them). Raises UsageError for what cannot be a URL, a model or a header.
    """

    name = NAME
    structured = True  # it can be held to a JSON Schema

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: Key = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float = 5.0,
        first_token_timeout: float = 30.0,
        idle_timeout: float = 300.0,
        total_timeout: float = 3600.0,
        record_limit: int = 16 * 1024 * 1024,
        dialect: str = "auto",
        stream: bool = True,
    ) -> None:
        if not model:
            raise UsageError("a model must be named: Responses('gpt-…')")
        self.model, self.dialect = model, dialect
        self._at = endpoint(base_url, _PATH)
        credential = Credential(api_key, ("OPENAI_API_KEY",), safe=self._at.safe)
        self._keyless = self._at.host == "api.openai.com" and credential.missing and not headers
        self._headers = HEADERS | dict(headers or {})
        check(self._headers)
        self._limit, self._stream = record_limit, stream
        self._exchange = Exchange(
            secrets=(*self._at.secrets, *(headers or {}).values()),
            credential=credential,
            key_header=lambda key: openai_header(self._at, key) | dict(headers or {}),
            connect=connect_timeout,
            first=first_token_timeout if stream else max(first_token_timeout, idle_timeout),
            idle=idle_timeout,
            total=total_timeout,
        )

    def __repr__(self) -> str:
        return f"Responses({self.model!r}, base_url={self._at.where.removesuffix(_PATH)!r})"

    async def __aenter__(self) -> Responses:
        await self._exchange.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._exchange.__aexit__(*exc)

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of one response, ending in one `Stop`. Raises ProviderError; UsageError if the request
        itself cannot be written, or real models are blocked."""
        ask_real_model(repr(self))
        if self._keyless:
            raise ProviderError(f"{self._at.where} wants a key, and OPENAI_API_KEY is not set")
        body = body_of(request, self.model) | {"stream": self._stream}
        headers = self._headers | dict(request.settings.extra_headers)
        async for delta in self._exchange.post(self._at, bytes_of(body), headers, Answer(self._limit)):
            yield delta
