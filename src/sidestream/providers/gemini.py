"""Google's Gemini API: `streamGenerateContent`, or `generateContent` for an answer in one piece.

Promises what `provider.Provider` promises, and: the key goes to the base URL only, in a header, and is never shown;
entered, its requests share their connections. Its two pure halves are `gemini_read` and `gemini_write`, the shell
is `exchange`. It retries nothing, and keeps nothing between two requests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from urllib.parse import quote

from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta
from sidestream.providers.endpoint import HEADERS, Credential, Key, check, endpoint
from sidestream.providers.exchange import Exchange
from sidestream.providers.failure import Fixes
from sidestream.providers.gemini_read import NAME, Answer
from sidestream.providers.gemini_write import body_of
from sidestream.providers.openai_write import bytes_of
from sidestream.providers.provider import Request, ask_real_model

__all__ = ["Gemini"]
_KEY = "check the key: set GEMINI_API_KEY, or give a provider with its own: Gemini(model, api_key=…)"
_FIXES: Fixes = {401: _KEY, 403: _KEY, 404: "check the model's name and the base URL"}


class Gemini:
    """A Gemini model.

    `base_url` is what comes before `/models/…`. `api_key`: a key, or an async function that gives one (asked again
    once if it is refused); default the environment's GEMINI_API_KEY, else GOOGLE_API_KEY. `stream=False`: the whole
    answer in one piece. Times in seconds as of `OpenAI`. Raises UsageError for what cannot be a URL, a model or a
    header.
    """

    name = NAME
    structured = True  # it can be held to a JSON Schema

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://generativelanguage.googleapis.com/v1beta",
        api_key: Key = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float = 5.0,
        first_token_timeout: float = 30.0,
        idle_timeout: float = 20.0,
        total_timeout: float = 300.0,
        record_limit: int = 16 * 1024 * 1024,
        dialect: str = "auto",
        stream: bool = True,
    ) -> None:
        model = model.removeprefix("models/")
        if not model:
            raise UsageError("a model must be named: Gemini('gemini-…')")
        self.model, self.dialect = model, dialect
        verb, query = ("streamGenerateContent", "alt=sse") if stream else ("generateContent", "")
        self._path = f"/models/{quote(model, safe='')}:{verb}"
        self._at = endpoint(base_url, self._path, query)
        credential = Credential(api_key, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), safe=self._at.safe)
        self._keyless = self._at.host.endswith(".googleapis.com") and credential.missing and not headers
        self._headers = HEADERS | dict(headers or {})
        check(self._headers)
        self._limit = record_limit
        self._exchange = Exchange(
            secrets=(*self._at.secrets, *(headers or {}).values()),
            credential=credential,
            key_header=lambda key: ({"x-goog-api-key": key} if key else {}) | dict(headers or {}),
            connect=connect_timeout,
            first=first_token_timeout,
            idle=idle_timeout,
            total=total_timeout,
            fixes=_FIXES,
        )

    def __repr__(self) -> str:
        return f"Gemini({self.model!r}, base_url={self._at.where.removesuffix(self._path)!r})"

    async def __aenter__(self) -> Gemini:
        await self._exchange.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._exchange.__aexit__(*exc)

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of one response, ending in one `Stop`. Raises ProviderError; UsageError if the request
        itself cannot be written, or real models are blocked."""
        ask_real_model(repr(self))
        if self._keyless:
            raise ProviderError(f"{self._at.where} wants a key, and GEMINI_API_KEY is not set")
        body = bytes_of(body_of(request, self.model))
        headers = self._headers | dict(request.settings.extra_headers)
        async for delta in self._exchange.post(self._at, body, headers, Answer(self._limit)):
            yield delta
