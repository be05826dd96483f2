"""Chat completions: OpenAI, and everything that speaks like it (vLLM, llama.cpp, Ollama, LM Studio,
OpenRouter, Azure …).

Promises what `provider.Provider` promises, and: the key goes to the base URL only and is never shown;
entered (`async with provider:`, as often as one likes, in any event loop), its requests share their
connections; not entered, each stream has its own. Its two pure halves are `openai_read` and `openai_write`,
the wire is `http`. It retries nothing, and keeps nothing between two requests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import msgspec

from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta
from sidestream.providers.endpoint import HEADERS, Credential, Key, check, endpoint, openai_header
from sidestream.providers.exchange import Exchange
from sidestream.providers.failure import Fixes
from sidestream.providers.openai_read import NAME, Answer
from sidestream.providers.openai_write import body_of, bytes_of
from sidestream.providers.provider import Request, ask_real_model
from sidestream.providers.vendors import OWN_SERVER, Quirks, quirks_of

__all__ = ["OpenAI"]


class OpenAI:
    """A model behind a chat-completions endpoint.

    `base_url` is what comes before `/chat/completions` (a query in it, such as Azure's `api-version`, is
    kept). `api_key`: a key, or an async function that gives one (asked again once if it is refused); default the
    environment's, under the service's own name (see `vendors`) or OPENAI_API_KEY, which is never sent in clear text to
    another machine; `""` for none. Times in
    seconds: for the connection, until the first bytes of an answer, between bytes (keep-alive comments count), and
    spent waiting in one answer altogether. `record_limit`: bytes of one record. `think_field`: the field in which
    the server wants its own reasoning back with the calls it led to; `quirks`: all else in which the service differs;
    both are known for the services in `vendors`. `dialect`: what
    `dialect="auto"` means for it. `stream=False`: the whole answer in one piece. Raises UsageError for what cannot
    be a URL, a model or a header.
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
        idle_timeout: float = 20.0,
        total_timeout: float = 300.0,
        record_limit: int = 16 * 1024 * 1024,
        think_field: str | None = None,
        quirks: Quirks | None = None,
        dialect: str = "auto",
        stream: bool = True,
    ) -> None:
        if not model:
            raise UsageError("a model must be named: OpenAI('gpt-…') or 'http://host/v1#model'")
        self.model, self.dialect = model, dialect
        self._at = endpoint(base_url, "/chat/completions")
        self.quirks = quirks_of(self._at.host, model) if quirks is None else quirks
        if think_field is not None:
            self.quirks = msgspec.structs.replace(self.quirks, think_field=think_field)
        credential = Credential(api_key, (self.quirks.key, "OPENAI_API_KEY"), safe=self._at.safe)
        self._keyless = self.quirks.key not in ("", OWN_SERVER.key) or self._at.host == "api.openai.com"
        self._keyless = self._keyless and credential.missing and not headers and not self._at.login
        self._headers = HEADERS | dict(headers or {})
        check(self._headers)
        self._limit, self._stream = record_limit, stream
        self._exchange = Exchange(
            secrets=(*self._at.secrets, *(headers or {}).values()),
            credential=credential,
            key_header=lambda key: openai_header(self._at, key) | dict(headers or {}),
            connect=connect_timeout,
            first=first_token_timeout,
            idle=idle_timeout,
            total=total_timeout,
            fixes=_fixes(self.quirks.key),
        )

    def __repr__(self) -> str:
        return f"OpenAI({self.model!r}, base_url={self._at.where.removesuffix('/chat/completions')!r})"

    async def __aenter__(self) -> OpenAI:
        await self._exchange.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._exchange.__aexit__(*exc)

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of one response, ending in one `Stop`. Raises ProviderError; UsageError if the request
        itself cannot be written, or real models are blocked."""
        ask_real_model(repr(self))
        if self._keyless:
            raise ProviderError(f"{self._at.where} wants a key, and {self.quirks.key} is not set")
        body = body_of(request, self.model, self.quirks)
        if not self._stream:
            body = {name: value for name, value in body.items() if name != "stream_options"} | {"stream": False}
        headers = self._headers | dict(request.settings.extra_headers)
        async for delta in self._exchange.post(self._at, bytes_of(body), headers, Answer(self._limit)):
            yield delta


def _fixes(key: str) -> Fixes:
    own = f"check the key and what it may do: set {key}, or give a provider with its own: OpenAI(model, api_key=…)"
    return {401: own, 403: own}
