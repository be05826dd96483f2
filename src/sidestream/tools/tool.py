"""What a tool is: a spec, traits, and something to call. `@tool` makes one from a function.

Promises: name, description, schema and validation come from the function's own name, docstring and
signature; bad arguments are an answer that names field, expected and got, and the function is not called;
blocking functions run on threads of our own; yielded strings are progress at once, and the last value
yielded is the result. Raising is the tool's right: the crew makes a result of it. It will not keep
deadlines, bound results, or know a run.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, closing
from typing import Annotated, Any, Generic, Literal, Protocol, TypedDict, TypeVar, Unpack, overload

import msgspec

from sidestream.errors import UsageError
from sidestream.messages import TextPart, ToolCall, ToolResult, ToolSpec
from sidestream.tools.output import parts_of
from sidestream.tools.signature import Signature, signature_of, under_schema
from sidestream.tools.threads import in_thread

__all__ = ["AnyTool", "CallInfo", "Context", "Tool", "Traits", "named", "tool"]

Deps = TypeVar("Deps")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")  # 64: the longest that OpenAI's API takes


class Traits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a tool may be run.

    `timeout`: seconds, None for `Limits.tool_timeout`. `read_only`: it changes nothing. `idempotent`:
    running it twice is as running it once. `repeatable`: the same call may run again. `max_output`:
    characters of its result, None for `Limits.result_chars`. `group`: for policies. `errors`: whether the
    model is shown what it raised.
    """

    timeout: Annotated[float, msgspec.Meta(gt=0)] | None = None
    read_only: bool = False
    idempotent: bool = False
    repeatable: bool = False
    max_output: Annotated[int, msgspec.Meta(ge=1)] | None = None
    group: str = ""
    errors: Literal["show", "hide"] = "show"


class GivenTraits(TypedDict, total=False):
    """`Traits` as keyword arguments."""

    timeout: float | None
    read_only: bool
    idempotent: bool
    repeatable: bool
    max_output: int | None
    group: str
    errors: Literal["show", "hide"]


class CallInfo(msgspec.Struct, frozen=True):
    """Where a tool is: `call` is our id of it, `deadline` in the event loop's time, `idempotency_key` the
    same for the same call however often it is tried."""

    run: str
    session: str
    call: str
    idempotency_key: str
    deadline: float


class Context(Generic[Deps]):
    """What a tool may ask of its run. A parameter annotated with it is given it, and the model never sees
    it. `deps` are the caller's own objects. `say` and `note` may be called from any thread."""

    __slots__ = ("_loop", "_note", "_say", "_thread", "deps", "run")

    def __init__(self, run: CallInfo, deps: Deps, say: Callable[[str], None], note: Callable[[str, Any], None]) -> None:
        self.run, self.deps = run, deps
        self._say, self._note = say, note
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    def say(self, text: str) -> None:
        """Tell of progress: a ToolOutput event."""
        self._do(self._say, text)

    def note(self, name: str, data: Any) -> None:
        """Tell a named fact: a Note event."""
        self._do(self._note, name, data)

    def _do(self, what: Callable[..., None], *args: Any) -> None:
        if threading.get_ident() == self._thread:
            what(*args)
            return
        try:
            self._loop.call_soon_threadsafe(what, *args)
        except RuntimeError:  # the loop is closed: the run is long over
            pass


class AnyTool(Protocol):
    """Whatever the engine can run. It may raise: the crew makes a result of it."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def traits(self) -> Traits: ...

    async def __call__(self, call: ToolCall, ctx: Context[Any], /) -> ToolResult | str: ...


class Tool:
    """A function as a tool; `fn` is the function itself."""

    def __init__(self, spec: ToolSpec, traits: Traits, fn: Callable[..., Any], signature: Signature) -> None:
        self.spec, self.traits, self.fn = spec, traits, fn
        self._signature = signature

    def __repr__(self) -> str:
        return f"<tool {self.spec.name}>"

    @staticmethod
    def from_schema(
        name: str,
        description: str,
        schema: Mapping[str, Any],
        fn: Callable[..., Any],
        *,
        main: str = "",
        examples: Sequence[str] = (),
        **traits: Unpack[GivenTraits],
    ) -> Tool:
        """A tool whose schema is given. `fn` is called with the arguments by name, after they passed the
        schema (`check.py` says which of its words are read). Raises UsageError."""
        read = under_schema(schema, fn, Context)
        return _made(fn, read, name, description, main, examples, traits)

    async def __call__(self, call: ToolCall, ctx: Context[Any], /) -> ToolResult:
        """Check the arguments and run the function. What it raises is raised."""
        try:
            args = self._signature.convert(call.args)
        except ValueError as error:
            return ToolResult(call.id, "error", (TextPart(f"bad arguments for {self.spec.name}: {error}"),))
        if self._signature.context:
            args[self._signature.context] = ctx
        value = await self._run(args, ctx)
        if isinstance(value, ToolResult):
            return ToolResult(call.id, value.status, value.parts and parts_of(value.parts), value.seconds)
        return ToolResult(call.id, "ok", parts_of(value))

    async def _run(self, args: dict[str, Any], ctx: Context[Any]) -> Any:
        code = _code(self.fn)
        if inspect.iscoroutinefunction(code):
            return await self.fn(**args)
        if inspect.isasyncgenfunction(code):
            return await _last(self.fn(**args), ctx)
        left = threading.Event()
        try:
            value = await in_thread(f"{ctx.run.run}/{ctx.run.call}", lambda: _blocking(self.fn, args, ctx, left))
        finally:
            left.set()
        if isinstance(value, AsyncGenerator):
            return await _last(value, ctx)
        return await value if inspect.isawaitable(value) else value


async def _last(generator: AsyncGenerator[Any, Any], ctx: Context[Any]) -> Any:
    """Strings are progress at once; the last value is the result."""
    last = None
    async with aclosing(generator) as values:
        async for last in values:
            if isinstance(last, str):
                ctx.say(last)
    return last


def _blocking(function: Callable[..., Any], args: dict[str, Any], ctx: Context[Any], left: threading.Event) -> Any:
    """On a thread: call, and if that gave a generator, run it there, no further than anyone waits for it."""
    value = function(**args)
    if not inspect.isgenerator(value):
        return value
    last = None
    with closing(value):
        for last in value:
            if left.is_set():
                break
            if isinstance(last, str):
                ctx.say(last)
    return last


def _code(function: Callable[..., Any]) -> Any:
    """The function under a `partial` or behind a `__call__`: what tells how to run it."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def named(name: str) -> str:
    """`name`, if it can be a tool's: what every provider takes. Raises UsageError."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise UsageError(
            f"{name!r} cannot be a tool's name: letters, digits, '_', '-' and '.', at most 64, "
            "beginning with a letter or '_'; give another with name=…"
        )
    return name


def _made(
    fn: Callable[..., Any],
    read: Signature,
    name: str,
    description: str,
    main: str,
    examples: Sequence[str],
    traits: GivenTraits,
) -> Tool:
    if isinstance(examples, str):
        raise UsageError(f"examples of tool {name!r} must be a list of texts: [{examples!r}]")
    if main and main not in read.schema["properties"]:
        known = ", ".join(read.schema["properties"]) or "none"
        raise UsageError(f"main={main!r} is not a parameter of tool {name!r}; its parameters are {known}")
    spec = ToolSpec(named(name), description, read.schema, main, tuple(examples))
    try:
        return Tool(spec, msgspec.convert(traits, Traits), fn, read)
    except msgspec.ValidationError as error:
        known = ", ".join(Traits.__struct_fields__)
        raise UsageError(f"a bad trait of tool {name!r}: {error}; the traits are {known}") from error


@overload
def tool(
    fn: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    main: str = "",
    examples: Sequence[str] = (),
    **traits: Unpack[GivenTraits],
) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    main: str = "",
    examples: Sequence[str] = (),
    **traits: Unpack[GivenTraits],
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    main: str = "",
    examples: Sequence[str] = (),
    **traits: Unpack[GivenTraits],
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A tool from a function: `@tool`, `@tool(timeout=10, read_only=True)`, `tool(shop.order, name="buy")`.

    `main`: the argument that a bare body goes to (default: the first required). `examples`: utterances that
    should lead to it. Raises UsageError for a signature that cannot be described, a bad name or trait.
    """
    here = inspect.currentframe()
    names = here.f_back.f_locals if here is not None and here.f_back is not None else {}

    def make(function: Callable[..., Any]) -> Tool:
        function = function.__func__ if isinstance(function, staticmethod) else function
        if inspect.isclass(function) or isinstance(function, Tool) or not callable(function):
            raise UsageError(f"a tool is made from a function, not from {function!r}")
        code = function.func if isinstance(function, functools.partial) else function
        called = getattr(code, "__name__", type(code).__name__) if name is None else name
        try:
            read = signature_of(function, Context, names)
        except UsageError as error:
            raise UsageError(f"tool {called}: {error}") from error
        text = read.description if description is None else description
        return _made(function, read, called, text, main, examples, traits)

    return make if fn is None else make(fn)
