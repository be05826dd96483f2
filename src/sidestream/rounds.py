"""The loop: a model streams, calls are admitted and run beside it, results go back for another round.

A token's way is one plain call per arrow: the provider's delta → `reader.feed` → `_route` → `run.emit`; a
closed call → `gate.refuse` → `crew.start` or `crew.answer`. `_listen` is the heart. The loop knows `Provider`,
`AnyTool`, `Journal` and `Dialect` as protocols; it has never heard of a wire format, a text format or a file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing

from sidestream.compose import RunContext, composed
from sidestream.crew import Crew
from sidestream.dialects.evidence import words
from sidestream.dialects.render import rejected_part
from sidestream.errors import ProviderError
from sidestream.events import (
    AnyDelta,
    AnyEvent,
    CallClosed,
    CallOpened,
    CallRejected,
    ModelChosen,
    Note,
    Reason,
    Retrying,
    RoundFinished,
    RoundStarted,
    RunFinished,
    RunStarted,
    Said,
    Stop,
    ToolFinished,
)
from sidestream.gate import ECHO, Refusal, Tally, refuse
from sidestream.messages import Message, TextPart, ToolCall, ToolSpec
from sidestream.output import FINAL
from sidestream.plan import Plan
from sidestream.providers.provider import Request, closable, for_run, meaningful, opened
from sidestream.run import Run

__all__ = ["Rounds"]

_FAILED = Refusal("refused", "A hook of this application failed.")
_GO_ON = "The connection failed while you were writing. Go on exactly where your last message stops."
_BREATH = 64  # deltas after which the loop gets a turn, however fast they come


class Rounds:
    """One run of an engine: rounds until there is nothing more to ask."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._limits, self._dialect = plan.limits, plan.dialect
        self._names: dict[str, str] = {}  # call id → the tool it named
        self._failed: ProviderError | None = None
        self._trouble = ""  # why the run failed
        self._reasked = 0
        self._chosen = self._started = False
        self._deltas = 0
        self._broken: list[str] = []  # what could not be read in the last round, if nothing else was called

    async def play(self, run: Run) -> None:
        """All of it: what `Run` drives. The last event is one RunFinished, whatever happens."""
        self._run, history = run, self._plan.history
        reason: Reason = "cancelled"
        left: list[Message] | None = history.messages  # what the session goes on from, should its history not be read
        try:
            try:
                run.begin(await history.load(run.id, self._plan.journal))
            finally:
                run.emit(RunStarted(run.id, history.name, "", self._plan.input))
            left = None
            run.alive()
            reason = await self._staffed()
        except asyncio.CancelledError:
            reason = "cancelled"
        except ProviderError as error:  # it could not even be opened
            reason, self._trouble = "provider", str(error)
        except Exception as bug:
            self._trouble = f"{type(bug).__name__}: {bug}"
            raise
        finally:
            run.deaf()
            try:
                run.emit(RunFinished(reason, run.usage, self._trouble or run.trouble))
            finally:
                history.end(run.messages if left is None else left)

    async def _staffed(self) -> Reason:
        """The rounds, with the provider and the tools' sources open around them."""
        run, stack = self._run, AsyncExitStack()
        failed: Sequence[tuple[str, str]] = ()
        told = 0
        try:
            self._provider = for_run(self._plan.provider)
            await stack.enter_async_context(opened(self._provider))
            self._shelf = await stack.enter_async_context(self._plan.shelf.open())
            failed = self._shelf.failed
            told = self._tell_failures(failed, 0)
            self._hire()
            try:
                return await self._rounds()
            finally:
                run.deaf()
                await self._crew.leave()
        finally:
            try:
                async with asyncio.timeout(self._limits.closing):
                    await stack.aclose()
            except TimeoutError:
                run.emit(Note("not_closed", {"seconds": self._limits.closing}))
            self._tell_failures(failed, told)

    def _calls_in(self, text: str) -> list[ToolCall]:
        """The blocks that this dialect reads in a text which nobody may call from."""
        if not self._dialect.markers:
            return []
        parser = self._dialect.parser(self._shelf.specs, fences="live")
        events = [*parser.feed(text), *parser.close("end")]
        return [event.call for event in events if isinstance(event, CallClosed)]

    def _tell_failures(self, failed: Sequence[tuple[str, str]], start: int) -> int:
        for source, error in failed[start:]:
            self._run.emit(Note("source_failed", {"source": source, "error": error}))
        return len(failed)

    def _hire(self) -> None:
        """The gate's tally and the crew, now that the tools are known."""
        run, plan = self._run, self._plan
        untrusted = plan.history.untrusted if self._dialect.markers else None
        plan.history.untrusted.ready(self._calls_in)
        if untrusted is not None:
            plan.history.distrust(plan.input)
        self._tools = self._shelf.tools
        traits = {name: tool.traits for name, tool in self._tools.items()}
        self._tally = Tally(
            traits, self._limits, plan.policy, untrusted, self._dialect.markers, asks=plan.echo is not None
        )
        journal = plan.journal
        self._crew = Crew(
            run=run.id,
            session=plan.history.name,
            emit=self._hear,
            limits=self._limits,
            deps=plan.deps,
            before=plan.before if plan.echo is None else self._asked,
            after=plan.after,
            barrier=None if journal is None else lambda: journal.barrier(run.id),
            broken=run.abort,
        )

    async def _asked(self, call: ToolCall) -> ToolCall | str:
        """The hook `before`, once somebody has allowed what was copied from untrusted text."""
        plan = self._plan
        if plan.echo is not None and call.id in self._tally.echoed and not await plan.echo(call):
            return ECHO
        return call if plan.before is None else await plan.before(call)

    async def _rounds(self) -> Reason:
        """Rounds with tools, then, where a limit forces it, one closing request without. Only what a model asked
        for counts as a continuation; what a person said on the way does not."""
        plan, number, continued = self._plan, 0, 0
        closing: Reason | None = None
        while True:
            number += 1
            tools_on = closing is None and self._limits.rounds > 0
            await self._round(number, tools_on=tools_on)
            self._run.alive()  # a provider may have swallowed that we were cancelled
            if self._failed is not None and not self._goes_on():
                self._trouble = str(self._failed)
                return "provider"
            lost = self._lost if tools_on and continued < self._limits.rounds else []
            if lost:
                parts = tuple(rejected_part(event, self._names[event.id]) for event in lost)
                self._run.emit(Said(Message("tool", parts)))
            steering = self._run.steering()
            plan.history.distrust(steering)
            for message in steering:
                self._run.emit(Said(message))
            asked = bool(tools_on and (self._calls or lost))
            if self._failed is not None:
                self._ask_again(alone=not (self._calls or self._lost or steering))
                continue
            if self._answered(ended=not steering and not asked, steered=bool(steering)):
                return closing or "done"
            continued += asked
            if tools_on and self._calls and self._capped == len(self._calls):
                closing = "calls"
            elif asked and (continued > self._limits.rounds or self._stuck()):
                closing = "rounds"

    def _goes_on(self) -> bool:
        """True if what broke off had begun, and may be asked for again."""
        return self._spoke and self._reasked < self._limits.reasks

    def _ask_again(self, *, alone: bool) -> None:
        """The next request goes on where the last response broke off; `alone`: nothing else would say so."""
        self._reasked += 1
        self._run.emit(Retrying(self._reasked, 0.0, str(self._failed)))
        self._failed = None
        if alone:
            self._run.emit(Said(Message("user", (TextPart(_GO_ON),))))

    def _answered(self, *, ended: bool, steered: bool) -> bool:
        """True if there is nothing more to ask. `ended`: the model asked for nothing, and nobody said anything."""
        output = self._plan.output
        if output is None:
            return ended
        if output.settled(self._run.answer, ended=ended, steered=steered):
            self._trouble = output.trouble
            return True
        if output.told:
            self._run.emit(Said(Message("user", (TextPart(output.told),))))
        return False

    def _stuck(self) -> bool:
        """True if the model only wrote what could not be read, and the very same as the round before."""
        before, self._broken = self._broken, [] if self._calls else [event.raw for event in self._lost]
        return bool(self._broken) and self._broken == before

    async def _round(self, number: int, *, tools_on: bool) -> None:
        """One response, its calls beside it; over when the model has ended and every call is answered."""
        run = self._run
        run.emit(RoundStarted(number))
        self._tally.begin_round(number, tools_on=tools_on)
        self._calls: list[ToolCall] = []
        self._lost: list[CallRejected] = []
        self._capped = 0
        self._spoke = False
        if self._plan.output is not None:
            self._plan.output.begin_round()
        run.cuttable = True
        try:
            await self._listen(number, await self._request(number, tools_on=tools_on))
            await self._crew.settle()
        except asyncio.CancelledError:
            if not run.interrupted():
                raise
            self._crew.cancel()
        finally:
            run.cuttable = False

    async def _request(self, number: int, *, tools_on: bool) -> Request:
        """What is asked now. What the application's functions add to it is nobody's call to run."""
        plan, before = self._plan, tuple(self._run.messages)
        accepts = getattr(self._provider, "accepts", None)
        context = RunContext(self._run.id, plan.history.name, number, before, plan.deps, accepts)
        system, messages, added = await composed(context, plan.system, plan.transform, plan.convert)
        plan.history.distrust(added)
        settings = plan.settings if plan.output is None else plan.output.asked_for(plan.settings)
        return Request(messages, self._dialect, system, self._specs(tools_on=tools_on), settings)

    def _specs(self, *, tools_on: bool) -> tuple[ToolSpec, ...]:
        """What the model is offered: with tools off, nothing but the way to answer."""
        output = self._plan.output
        final = () if output is None or output.native else (output.spec,)
        return (*(self._shelf.specs if tools_on else ()), *final)

    async def _listen(self, number: int, request: Request) -> None:
        """The heart: every delta is read, every event routed, while the model goes on talking."""
        limits, end = self._limits, Stop("error")  # until the provider says otherwise
        bounds = {"block_chars": limits.block_chars, "args_chars": limits.args_chars}
        reader = self._dialect.parser(self._specs(tools_on=True), prefix=f"{number}.", **bounds)
        try:
            async with aclosing(closable(self._provider.stream(request))) as deltas:
                async for delta in deltas:
                    if isinstance(delta, Stop):
                        end = delta
                    elif not self._spoke:
                        self._begun(delta)
                    for event in reader.feed(delta):
                        self._route(event)
                    await self._breathe()
        except ProviderError as error:
            self._failed = error
        finally:  # also when we are cancelled: what was held back is said, what was open is told
            for event in reader.close(end.reason):
                self._route(event)
            self._run.cuttable = self._crew.busy
            self._run.emit(RoundFinished(number, end.reason, end.usage))

    def _begun(self, delta: AnyDelta) -> None:
        """Tell who answers, once it is certain; a provider that asks several says so itself."""
        self._spoke = meaningful(delta)
        chosen, self._chosen = self._chosen, self._chosen or self._spoke or isinstance(delta, ModelChosen)
        if chosen or not self._spoke:
            return
        provider = self._provider
        name = getattr(provider, "name", type(provider).__name__.lower())
        self._run.emit(ModelChosen(name, str(getattr(provider, "model", ""))))

    async def _breathe(self) -> None:
        """Give started tools their turn, and wait while the run's reader is too far behind."""
        self._deltas += 1
        if self._started or self._deltas % _BREATH == 0:
            self._started = False
            await asyncio.sleep(0)
        if self._run.full:
            await self._run.room()

    def _route(self, event: AnyEvent) -> None:
        """Tell the event, and do what it asks for."""
        try:
            self._run.emit(event)
        except BaseException:  # a watch or a journal of the application: every call is answered, also then
            if isinstance(event, CallClosed):
                self._crew.answer(event.call, _FAILED)
            raise
        match event:
            case CallOpened():
                self._names[event.id] = event.name
            case CallClosed():
                self._admit(event.call)
            case CallRejected() if self._names.get(event.id) in self._tools:
                self._lost.append(event)
            case _:
                pass

    def _admit(self, call: ToolCall) -> None:
        self._calls.append(call)
        output = self._plan.output
        if output is not None and not output.native and call.name == FINAL:
            self._crew.answer(call, output.call(call))
            return
        try:
            refusal = refuse(call, self._tally)
        except BaseException:  # a policy of the application: likewise
            self._crew.answer(call, _FAILED)
            raise
        if refusal is None:
            self._crew.start(call, self._tools[call.name])
            self._started = True
        else:
            self._capped += refusal.cap
            self._crew.answer(call, refusal)

    def _hear(self, event: AnyEvent) -> None:
        """What the crew tells: on its way out, a result is remembered."""
        if isinstance(event, ToolFinished):
            result = event.result
            self._tally.answered(result.call, result.status)
            if self._tally.untrusted is not None:
                self._tally.untrusted.add(words(result.parts))
        self._run.emit(event)
