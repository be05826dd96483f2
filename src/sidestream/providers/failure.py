"""From an HTTP refusal or an error object to one `ProviderError` that says what to do about it.

Promises: the message names who answered, what they said (at most 500 characters, secrets removed) and,
where it is known, the fix; `retryable` is true for what may pass by itself (408, 409, 429, every 5xx);
`retry_after` is in seconds, however it was written. Pure: the caller gives the time. It retries nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

from sidestream.errors import ProviderError

__all__ = ["Fixes", "complaint", "hide", "may_pass", "reported", "retry_after", "refusal"]

Fixes: TypeAlias = Mapping[int | str, str]
"""What to do about a refusal: an HTTP status, or a part of what was said → the fix. 0: nobody took the connection."""

_SHOWN = 500  # characters of a server's own words
_KEYS = re.compile(r"(?i)(bearer\s+|\b(?:sk|pk|rk|gsk|xai|hf)[-_])[\w*.~+/=-]{6,}")
_PASSING = frozenset((408, 409, 429))
_PASSING_WORDS = frozenset(("rate_limit_exceeded", "rate_limit_error", "server_error", "overloaded_error"))
_FIXES = {
    401: "check the key: set OPENAI_API_KEY, or give a provider with its own: OpenAI(model, api_key=…)",
    403: "check what this key may do: pass another api_key=… or set OPENAI_API_KEY",
    404: "check the model's name and the base URL (most end in /v1; GET <base URL>/models lists the models)",
}


def may_pass(status: int) -> bool:
    """True if the same request may succeed later: 408, 409, 429 and every 5xx."""
    return status in _PASSING or 500 <= status < 600


def hide(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with the given secrets, and whatever looks like a key, as `***`."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return _KEYS.sub(r"\1***", text)


def complaint(value: Any) -> str:
    """What an error object says in words; servers put it under `error`, `message`, `detail`, or bare."""
    match value:
        case str():
            return value
        case {"message": str(text)} if text:
            return text
        case {"error": inner} | {"detail": inner} | {"msg": inner} | [inner, *_] if inner:
            return complaint(inner)
        case None:
            return ""
        case _:
            return json.dumps(value, ensure_ascii=False, default=repr)


def _words(body: bytes) -> str:
    """What a body says: its error object's words, a page's title, or its own beginning."""
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        title = re.search(r"(?is)<title[^>]*>(.{1,200}?)</title", text)
        return f"an HTML page ({title[1].strip() if title else text[:60]})"
    try:
        return complaint(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _code(value: Any) -> int:
    try:
        code = int(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return code if 100 <= code < 600 else 0


def _bounded(text: str, secrets: Iterable[str]) -> str:
    text = " ".join(hide(text[: 4 * _SHOWN], secrets).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def reported(error: Any, secrets: Iterable[str] = ()) -> ProviderError:
    """The ProviderError for an error object that came as, or instead of, a part of the answer."""
    about = error if isinstance(error, Mapping) else {}
    status = _code(about.get("code")) or _code(about.get("status"))
    words = {about.get(key) for key in ("type", "code") if isinstance(about.get(key), str)}
    return ProviderError(
        f"the provider reported an error: {_bounded(complaint(error), secrets) or 'no reason given'}",
        status=status,
        retryable=may_pass(status) or bool(words & _PASSING_WORDS),
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `Retry-After` (seconds, or an HTTP date against the
    answer's own `Date`, else `now`, seconds since 1970); None if the server named none. Never negative."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        then = parsedate_to_datetime(headers["retry-after"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None
    try:
        now = parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        pass
    return max(0.0, then - now)


def refusal(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    where: str,
    now: float,
    secrets: Iterable[str] = (),
    fixes: Fixes | None = None,
) -> ProviderError:
    """The ProviderError for an answer that is not a 2xx. `where`: the URL as it may be shown. `fixes` of the
    service come before the general ones, the first that fits."""
    words = _words(body)
    if 300 <= status < 400:
        words = f"it redirects to {headers.get('location', 'nowhere')}, which is not followed"
    fitting = [fix for at, fix in (fixes or {}).items() if (at in words if isinstance(at, str) else at == status)]
    general = _FIXES.get(status, "use that base URL if you trust it" if 300 <= status < 400 else "")
    fix = fitting[0] if fitting else general
    text = f"{where} answered {status}: {_bounded(words, secrets) or 'no reason given'}"
    return ProviderError(
        f"{text} - {fix}" if fix else text,
        status=status,
        retryable=may_pass(status),
        retry_after=retry_after(headers, now),
    )
