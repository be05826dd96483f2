"""A model that recites: written responses for tests and demos, recordings of real ones, and the recorder.

Promises: each request gets the next response, item by item, exactly as written; time passes through
`asyncio.sleep` only, so that a virtual clock works; a replay says the same deltas at the same times. A
recording is JSON lines: a header, then `{"response": n}` where a request begins, and each delta with the
`response` it belongs to and `at`, the seconds since that request. Requests, headers and keys are not
written. It will not check that a script makes sense.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from sidestream.codec import decode, encode
from sidestream.errors import DecodeError, ProviderError, UsageError
from sidestream.events import AnyDelta, CallDelta, Stop, TextDelta
from sidestream.providers.choose import choose
from sidestream.providers.provider import Provider, Request, closable, for_run, opened

__all__ = ["Item", "Recording", "Response", "Script", "recording"]

VERSION = 1


class _At(NamedTuple):
    """Wait until so many seconds after the request."""

    seconds: float


class _Header(msgspec.Struct):
    sidestream: str
    version: int
    provider: str = ""
    model: str = ""
    dialect: str | list[str] = "native"


class _Failure(msgspec.Struct):
    message: str
    status: int = 0
    retryable: bool = False
    retry_after: float | None = None


class _Mark(msgspec.Struct):
    """What is read of every line beside the delta in it."""

    response: int
    at: float = 0.0
    type: str = ""
    error: _Failure | str | None = None  # text: of a `Retrying`


Item: TypeAlias = AnyDelta | str | float | BaseException | _At
Response: TypeAlias = str | Iterable[Item]


class Script:
    """Recites. A response is a text, or a sequence of deltas, texts (`TextDelta`), numbers (seconds to
    wait) and exceptions (raised); or a function of the request that returns one. A missing `Stop` is added:
    `tools` after native calls, else `end`. A request beyond the last response raises ProviderError.

    `name` is the model's. `requests` are those it saw, in order; `open` is how many of its streams are being
    read right now.
    """

    def __init__(
        self,
        *responses: Response | Callable[[Request], Response],
        name: str = "script",
        dialect: str | list[str] = "native",
    ) -> None:
        self.name, self.model = "script", name
        self.dialect = dialect
        self.requests: list[Request] = []
        self.open = 0
        self._responses = [one if callable(one) or isinstance(one, str) else tuple(one) for one in responses]

    @classmethod
    def replay(cls, path: str | Path, speed: float = 1.0) -> Script:
        """Recites the recording in `path`, `speed` times as fast as it was; 0: at once. Raises UsageError if
        there is no such file or it is no recording."""
        if not speed >= 0:
            raise UsageError(f"speed must be 0 (at once) or more, got {speed}")
        header, responses = _load(Path(path), speed)
        script = cls(*responses, name=header.model or "script", dialect=header.dialect)
        script.name = header.provider or script.name
        return script

    def __repr__(self) -> str:
        return f"Script({self.model!r}, responses={len(self._responses)}, asked={len(self.requests)})"

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """The next response. Raises ProviderError if there is none, and whatever the script raises."""
        began = asyncio.get_running_loop().time()
        turn = len(self.requests)
        self.requests.append(request)
        if turn >= len(self._responses):
            ended = f"the script {self.model!r} is at its end (responses: {turn})"
            raise ProviderError(f"{ended}: give it one for every request")
        response = self._responses[turn]
        items = response if isinstance(response, (str, tuple)) else response(request)
        self.open += 1
        try:
            stopped = called = False
            for item in (items,) if isinstance(items, str) else items:
                delta = await _performed(item, began)
                if delta is not None:
                    stopped, called = (
                        stopped or isinstance(delta, Stop),
                        called or isinstance(delta, CallDelta),
                    )
                    yield delta
            if not stopped:
                yield Stop("tools" if called else "end")
        finally:
            self.open -= 1


async def _performed(item: Item, began: float) -> AnyDelta | None:
    """The delta to say, if the item is one; else it is done here."""
    match item:
        case str():
            return TextDelta(item)
        case _At(seconds):
            wait = began + seconds - asyncio.get_running_loop().time()
            if wait > 0:
                await asyncio.sleep(wait)
        case int() | float():
            await asyncio.sleep(item)
        case BaseException():
            raise item
        case _:
            return item
    return None


def _load(path: Path, speed: float) -> tuple[_Header, list[list[Item]]]:
    try:
        first, *lines = path.read_bytes().splitlines() or [b""]
    except OSError as error:
        raise UsageError(f"cannot read the recording {path}: {error.strerror or error}") from error
    try:
        header = msgspec.json.decode(first, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a recording: its first line is not the header ({error})") from error
    if header.sidestream != "recording" or header.version != VERSION:
        raise UsageError(f"{path}: this reads recordings of version {VERSION}, not {first[:80]!r}")
    responses: dict[int, list[Item]] = {}
    for number, line in enumerate(lines, 2):
        try:
            mark = msgspec.json.decode(line, type=_Mark)
            response = responses.setdefault(mark.response, [])
            if speed and mark.at:
                response.append(_At(mark.at / speed))
            if mark.type:
                response.append(decode(line, delta=True))
            elif isinstance(mark.error, _Failure):
                failed = mark.error
                response.append(
                    ProviderError(
                        failed.message,
                        status=failed.status,
                        retryable=failed.retryable,
                        retry_after=failed.retry_after,
                    )
                )
        except (msgspec.DecodeError, UnicodeDecodeError, DecodeError) as error:
            raise UsageError(f"{path}, line {number}: not a line of a recording ({error})") from error
    return header, [response for _, response in sorted(responses.items())]


class Recording:
    """A provider that writes down what another one says; else it is that other one."""

    def __init__(self, provider: Provider, path: str | Path) -> None:
        self.name: str = getattr(provider, "name", "")
        self.model: str = getattr(provider, "model", "")
        self.dialect: str | list[str] = getattr(provider, "dialect", "native")
        self._provider, self._path, self._numbers = provider, Path(path), itertools.count(1)
        header = _Header("recording", VERSION, self.name, self.model, self.dialect)
        try:
            self._path.write_bytes(msgspec.json.encode(header) + b"\n")
        except OSError as error:
            raise UsageError(f"cannot write the recording {path}: {error.strerror or error}") from error

    def __repr__(self) -> str:
        return f"recording({self._provider!r}, {str(self._path)!r})"

    async def __aenter__(self) -> Recording:
        await opened(self._provider).__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await opened(self._provider).__aexit__(*exc)

    def for_run(self) -> Recording:
        """The same for one run."""
        own = copy.copy(self)
        own._provider = for_run(self._provider)
        return own

    def _file(self) -> FileIO:
        return FileIO(self._path, "a")  # unbuffered, a whole line a write: streams may interleave

    async def stream(self, request: Request, /) -> AsyncIterator[AnyDelta]:
        """What the provider says, each delta written before it is handed on."""
        clock = asyncio.get_running_loop().time
        began = clock()
        number = next(self._numbers)
        stamp = b'"response":%d,"at":%%.6f}\n' % number
        with self._file() as file:
            file.write(b'{"response":%d}\n' % number)
            try:
                async with aclosing(closable(self._provider.stream(request))) as deltas:
                    async for delta in deltas:
                        file.write(encode(delta)[:-1] + b"," + stamp % (clock() - began))
                        yield delta
            except ProviderError as error:
                said = _Failure(str(error), error.status, error.retryable, error.retry_after)
                file.write(b'{"error":%b,' % msgspec.json.encode(said) + stamp % (clock() - began))
                raise


def recording(model: str | Provider, path: str | Path) -> Recording:
    """A provider, or the one that `model` names, with everything it says written to `path` (which is begun anew)
    as a recording that `Script.replay` reads. Raises UsageError if the file cannot be written."""
    return Recording(choose(model), path)
