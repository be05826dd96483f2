"""Ollama's own API: `/api/chat`, which streams JSON lines. (It speaks chat completions as well: `openai.OpenAI`.)

Promises what `provider.Provider` promises, and: a key goes to the base URL only and is never shown; entered, its
requests share their connections. What goes wrong with a server of one's own is told with what to do about it. Its two
pure halves are `ollama_read` and `ollama_write`, the shell is `exchange`. It fetches no model, retries nothing, and
keeps nothing between two requests.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping

from sidestream.errors import ProviderError, UsageError
from sidestream.events import AnyDelta
from sidestream.providers.endpoint import HEADERS, Credential, Key, check, endpoint
from sidestream.providers.exchange import Exchange
from sidestream.providers.failure import Fixes
from sidestream.providers.ollama_read import NAME, Answer
from sidestream.providers.ollama_write import body_of
from sidestream.providers.openai_write import bytes_of
from sidestream.providers.provider import Request, ask_real_model

__all__ = ["Ollama", "address"]

_PATH = "/api/chat"
_HERE, _PORT = "127.0.0.1", 11434
_EVERYWHERE = ("0.0.0.0", "::")  # where a server listens; a client finds it at home
_ACCEPT = {"Accept": "application/x-ndjson, application/json"}


class Ollama:
    """A model that Ollama serves: `Ollama("qwen3:8b")`.

    `base_url`: a host, `host:port`, `:port` or a URL, in front of `/api/chat`; default the environment's OLLAMA_HOST,
    else this machine's port 11434. `api_key`: a key, or an async function that gives one (asked again once if it is
    refused); default the environment's OLLAMA_API_KEY, which is never sent in clear text to another machine; most
    servers want none. `stream=False`: the whole answer in one piece. Times in seconds as of `OpenAI`, but
    `first_token_timeout` is as long as Ollama itself gives a model to load, for it answers only after that and after
    reading the prompt, and `idle_timeout` is as long, for it hands calls on whole and is silent while one is written.
    A prompt longer than the server's context is cut by it without a word: `Settings(extra_body={"options":
    {"num_ctx": 16384}})` asks for more. Raises UsageError for what cannot be a URL, a model or a header.
    """

    name = NAME
    structured = True  # it can be held to a JSON Schema
    accepts = frozenset(("image",))

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: Key = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float = 5.0,
        first_token_timeout: float = 300.0,
        idle_timeout: float = 300.0,
        total_timeout: float = 3600.0,
        record_limit: int = 16 * 1024 * 1024,
        dialect: str = "auto",
        stream: bool = True,
    ) -> None:
        if not model:
            raise UsageError("a model must be named: Ollama('qwen3:8b'); `ollama list` shows those that are there")
        self.model, self.dialect = model, dialect
        self._at = at = endpoint(address(os.environ.get("OLLAMA_HOST", "") if base_url is None else base_url), _PATH)
        credential = Credential(api_key, ("OLLAMA_API_KEY",), safe=at.safe)
        self._keyless = at.host == "ollama.com" and credential.missing and not headers
        self._headers = HEADERS | _ACCEPT | dict(headers or {})
        check(self._headers)
        self._limit, self._stream = record_limit, stream
        self._exchange = Exchange(
            secrets=(*at.secrets, *(headers or {}).values()),
            credential=credential,
            key_header=lambda key: _key_header(key, has_login=at.login) | dict(headers or {}),
            connect=connect_timeout,
            first=first_token_timeout,
            idle=idle_timeout,
            total=total_timeout,
            fixes=_fixes(model),
        )

    def __repr__(self) -> str:
        return f"Ollama({self.model!r}, base_url={self._at.where.removesuffix(_PATH)!r})"

    async def __aenter__(self) -> Ollama:
        await self._exchange.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._exchange.__aexit__(*exc)

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The deltas of one response, ending in one `Stop`. Raises ProviderError; UsageError if the request
        itself cannot be written, or real models are blocked."""
        ask_real_model(repr(self))
        if self._keyless:
            raise ProviderError(f"{self._at.where} wants a key, and OLLAMA_API_KEY is not set")
        body = bytes_of(body_of(request, self.model, stream=self._stream))
        headers = self._headers | dict(request.settings.extra_headers)
        async for delta in self._exchange.post(self._at, body, headers, Answer(self._limit)):
            yield delta


def address(said: str) -> str:
    """The base URL that OLLAMA_HOST means: `host`, `host:port`, `:port`, an IPv6 address, or a URL; `""` is this
    machine. An address to listen on everywhere is this machine, too."""
    said = said.strip().strip("\"'").strip()
    scheme, found, rest = said.partition("://")
    if not found:
        scheme, rest = "http", said
    place, slash, path = rest.partition("/")
    login, at, place = place.rpartition("@")
    host, colon, port = place.rpartition(":")
    if not colon or "]" in port or (place.count(":") > 1 and "[" not in place):  # no port, or a bare IPv6 address
        host, port = place, ""
    host = host.strip("[]") or _HERE
    host = _HERE if host in _EVERYWHERE else f"[{host}]" if ":" in host else host
    port = port or ("" if found else str(_PORT))
    return f"{scheme}://{login}{at}{host}{':' if port else ''}{port}{slash}{path}".rstrip("/")


def _key_header(key: str, *, has_login: bool) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key and not has_login else {}


def _fixes(model: str) -> Fixes:
    pull = f"`ollama pull {model}` fetches a model that is not there; the base URL has no /v1"
    key = "set OLLAMA_API_KEY, or give a provider with its own: Ollama(model, api_key=…)"
    return {
        "does not support tools": 'name a format that its text can hold calls in: dialect="hermes", or another',
        "does not support thinking": "leave Settings.thinking out for this model",
        0: "is Ollama running? `ollama serve` starts it; OLLAMA_HOST or base_url says where it is",
        401: key,
        403: key,
        404: pull,
    }
