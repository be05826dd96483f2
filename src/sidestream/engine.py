"""The engine: a model, its tools and how they run, and the short ways to ask it.

It puts together what one run is made of (`Plan`) and hands it to the loop (`rounds.py`). It knows `Provider`,
`Journal` and `Dialect` as protocols; which one a name means is decided in `choose` and `dialects.get`. It keeps
the histories of its sessions and nothing else.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, TypeVar, overload

from sidestream import dialects
from sidestream.compose import Convert, System, Transform
from sidestream.crew import After, Before
from sidestream.dialects.dialect import Dialect
from sidestream.errors import RunError, UsageError
from sidestream.events import Journal
from sidestream.gate import Limits, Policy
from sidestream.messages import Message, cleaned, user
from sidestream.output import wanted
from sidestream.plan import Ask, Plan
from sidestream.providers.choose import choose
from sidestream.providers.provider import Provider, Settings, opened
from sidestream.rounds import Rounds
from sidestream.run import Run, TypedRun, Watch
from sidestream.session import History, Session
from sidestream.tools.shelf import Shelf, Shelvable

__all__ = ["Engine"]

Kind = TypeVar("Kind")


class Engine:
    """A model, its tools and how they run. `async with engine` keeps the provider's connections (or its local
    model) open between runs; without it each run or session opens and closes its own.

    `model`: `"http://host/v1#name"`, `"openai:name"`, `"local"`, … or any Provider. `tools`: decorated or plain
    functions, tools, sources. `dialect`: a name, several, a Dialect, or `"auto"` (what the provider prefers, else
    `native` and what the model's name says it writes). `nonce`: blocks count only with an attribute that nobody
    but this session's own system text can know (formats with attributes only). `policy`: the names allowed, or a
    function from a call to the reason it is not. `before` and `after`: async hooks around every tool. `watch`:
    plain functions of each stamped event. `echo`: an async function that is asked whether a block which was copied
    from untrusted text may run; without one it may not. `transform` and `convert` change what is sent (see
    `compose`); `system` may be a function of the run's context. Raises UsageError.
    """

    def __init__(
        self,
        model: str | Provider,
        tools: Sequence[Shelvable] = (),
        *,
        system: System = "",
        dialect: str | Sequence[str] | Dialect = "auto",
        nonce: bool = False,
        settings: Settings | None = None,
        limits: Limits | None = None,
        journal: Journal | None = None,
        deps: Any = None,
        policy: Policy = None,
        before: Before | None = None,
        after: After | None = None,
        watch: Sequence[Watch] = (),
        echo: Ask | None = None,
        transform: Transform | None = None,
        convert: Convert | None = None,
    ) -> None:
        limits = _given("limits", limits, Limits)
        self._dialect, self._nonce = dialect, nonce
        if nonce and not isinstance(dialect, str | Sequence):
            raise UsageError("nonce=True needs the dialect by name: a Dialect of your own must make its own")
        provider = choose(model)
        self._plan = Plan(
            (), History(""), system, provider, self._language(provider, limits, "-"), Shelf(tools),
            _given("settings", settings, Settings), limits, deps, _policy(policy), journal, before, after, echo,
            transform, convert,
        )  # fmt: skip
        if callable(watch):
            raise UsageError("watch takes a list of functions: watch=[function]")
        self._watch = tuple(watch)
        self._histories: dict[str, History] = {}
        self._stacks: list[AsyncExitStack] = []

    def _language(self, provider: Provider, limits: Limits, nonce: str) -> Dialect:
        wanted = self._dialect
        if wanted == "auto" or wanted == ["auto"]:
            wanted = getattr(provider, "dialect", "auto")
        if isinstance(wanted, str | Sequence):
            model = getattr(provider, "model", "")
            signed = nonce if self._nonce else False
            return dialects.get(wanted, model=model, nonce=signed, evidence_chars=limits.evidence_chars)
        return wanted

    @overload
    def run(
        self,
        input: str | Message | Sequence[Message],
        *,
        session: str = "",
        system: System | None = None,
        tools: Sequence[Shelvable] | None = None,
        model: str | Provider | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        deps: Any = None,
        output: None = None,
    ) -> Run: ...

    @overload
    def run(
        self,
        input: str | Message | Sequence[Message],
        *,
        session: str = "",
        system: System | None = None,
        tools: Sequence[Shelvable] | None = None,
        model: str | Provider | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        deps: Any = None,
        output: type[Kind],
    ) -> TypedRun[Kind]: ...

    def run(
        self,
        input: str | Message | Sequence[Message],
        *,
        session: str = "",
        system: System | None = None,
        tools: Sequence[Shelvable] | None = None,
        model: str | Provider | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        deps: Any = None,
        output: Any = None,
    ) -> Run:
        """A run of this engine on `input`, to be entered with `async with`; what is given here replaces what
        the engine was made with. `output`: the type of the answer (a msgspec.Struct, a dataclass, a pydantic model …),
        which is then `run.output`. Raises UsageError."""
        base = self._plan
        provider = base.provider if model is None else choose(model)
        limits = base.limits if limits is None else _given("limits", limits, Limits)
        same = provider is base.provider and limits is base.limits and not self._nonce
        history = self._history(session)
        history.check()
        plan = base._replace(
            input=_messages(input),
            history=history,
            system=base.system if system is None else system,
            provider=provider,
            dialect=base.dialect if same else self._language(provider, limits, history.nonce),
            shelf=base.shelf if tools is None else Shelf(tools),
            settings=base.settings if settings is None else _given("settings", settings, Settings),
            limits=limits,
            deps=base.deps if deps is None else deps,
            output=None if output is None else wanted(output, provider, limits.output_retries),
        )
        return self._made(plan)

    def _made(self, plan: Plan) -> Run:
        kind = Run if plan.output is None else TypedRun
        return kind(
            Rounds(plan).play,
            id=uuid.uuid4().hex,
            claim=plan.history.claim,
            limits=plan.limits,
            journal=plan.journal,
            watch=self._watch,
            output=plan.output,
        )

    def _history(self, session: str) -> History:
        return self._histories.setdefault(session, History(session)) if session else History("")

    @overload
    async def ask(self, input: str | Message | Sequence[Message], *, output: None = None, **options: Any) -> str: ...

    @overload
    async def ask(self, input: str | Message | Sequence[Message], *, output: type[Kind], **options: Any) -> Kind: ...

    async def ask(self, input: str | Message | Sequence[Message], *, output: Any = None, **options: Any) -> Any:
        """The answer to `input`, of the type `output` if one is given; options as of `run`. Raises RunError if the
        model could not be asked, OutputError if it gave no answer of that type."""
        async with self.run(input, output=output, **options) as run:
            await run.result()
        if run.reason == "provider":
            raise RunError(f"no answer: {run.error}", reason="provider", text=run.text)
        return run.output if isinstance(run, TypedRun) else run.answer

    @overload
    def run_sync(self, input: str | Message | Sequence[Message], *, output: None = None, **options: Any) -> str: ...

    @overload
    def run_sync(self, input: str | Message | Sequence[Message], *, output: type[Kind], **options: Any) -> Kind: ...

    def run_sync(self, input: str | Message | Sequence[Message], *, output: Any = None, **options: Any) -> Any:
        """`ask` for programs without an event loop. Raises UsageError inside a running one."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # as it should be
            pass
        else:
            raise UsageError("an event loop is running here: use `await engine.ask(…)` instead of `run_sync`")
        return asyncio.run(self.ask(input, output=output, **options))

    def session(self, name: str) -> Session:
        """The conversation of this name, to be entered with `async with`. Raises UsageError."""
        if not name:
            raise UsageError("a session needs a name")
        return Session(self._history(name), self.run, self.ask, opened(self._plan.provider))

    def forget(self, session: str) -> None:
        """Drop what is kept in memory of a session. Raises UsageError while it has a live run."""
        self._history(session).check()
        self._histories.pop(session, None)

    async def __aenter__(self) -> Engine:
        stack = AsyncExitStack()
        await stack.enter_async_context(opened(self._plan.provider))
        self._stacks.append(stack)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stacks.pop().aclose()


def _given(name: str, value: Kind | None, kind: type[Kind]) -> Kind:
    """`value` of its right kind; the default where it is None."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise UsageError(f"{name} must be {kind.__name__}(…), got {value!r}")
    return value


def _policy(policy: Policy) -> Policy:
    if policy is None or callable(policy):
        return policy
    if isinstance(policy, str):
        raise UsageError(f"policy takes a list of the names allowed, or a function: policy=[{policy!r}]")
    return frozenset(policy)


def _messages(given: str | Message | Sequence[Message]) -> tuple[Message, ...]:
    if isinstance(given, str):
        given = user(given)
    if isinstance(given, Message):
        return (cleaned(given),)
    if not isinstance(given, Iterable):
        raise UsageError(f"input must be a text or a list of Messages, got {type(given).__name__}")
    messages = tuple(given)
    for message in messages:
        if not isinstance(message, Message):
            raise UsageError(f"input must be a text or a list of Messages, got {type(message).__name__} in it")
    return tuple(map(cleaned, messages))
