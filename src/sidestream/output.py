"""`output=Model`: an answer of a type, not a text.

Where the provider can hold a model to a JSON Schema, it is asked to; elsewhere the model is offered one more tool,
`final_answer`, whose arguments are the answer. Either way what comes is checked here, an answer that does not fit is
told of with what is wrong, and after so many attempts there is none: `OutputError`. Nothing is coerced or repaired.
Pure: `rounds.py` says when.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec

from sidestream.errors import OutputError, UsageError
from sidestream.gate import Refusal
from sidestream.messages import ToolCall, ToolSpec
from sidestream.providers.provider import Settings
from sidestream.tools.check import listed
from sidestream.tools.schema import converted, object_schema, property_schemas, wrong

__all__ = ["FINAL", "Output", "wanted"]

T = TypeVar("T")

FINAL = "final_answer"
_WRAPPED = "answer"  # the property that holds what is no object
_FENCED = re.compile(r"(?s)\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z")
_SHORT = 200


class Output(Generic[T]):
    """What is wanted of one run, and what came. `native`: the provider holds the model to the schema. `retries`: how
    often it is told that its answer does not fit. Raises UsageError for a type that JSON cannot carry."""

    def __init__(self, kind: type[T], *, native: bool, retries: int) -> None:
        self._kind, self.native, self._left = kind, native, retries
        self.name = getattr(kind, "__name__", str(kind))
        own = property_schemas({_WRAPPED: kind})[_WRAPPED]
        whole = object_schema({_WRAPPED: own}, [_WRAPPED], open_ended=False)
        self._schema: Mapping[str, Any] = whole["properties"][_WRAPPED]
        self._wrapped = self._schema.get("type") != "object" or "properties" not in self._schema
        defs = {"$defs": whole["$defs"]} if "$defs" in whole else {}
        self.schema: dict[str, Any] = whole if self._wrapped else {**self._schema, **defs}
        if native:
            self.schema = {"title": re.sub(r"\W+", "_", self.name)[:60] or _WRAPPED, **self.schema}
        self.spec = ToolSpec(FINAL, "Give the final answer. Call it once, when you know all of it.", self.schema)
        self.found = self._misfit = False
        self.told = ""  # what the model must hear before it is asked again
        self._why, self._text = "nothing was answered", ""

    def take(self, value: Any) -> str:
        """An answer came, as JSON data: `""` if it is one, else what is wrong with it."""
        if self._wrapped and isinstance(value, dict) and _WRAPPED in value:
            value = value[_WRAPPED]
        try:
            self._value: T = converted(value, self._kind)
        except (msgspec.ValidationError, ValueError, TypeError) as error:
            self._why = listed(wrong(_WRAPPED, value, self._schema, self.schema, error))
            return self._why
        self.found = True
        return ""

    def read(self, text: str) -> str:
        """An answer came as text: `""` if it is one, else what is wrong with it."""
        self._text = text
        if not text.strip():
            self._why = "nothing was answered"
            return self._why
        fenced = _FENCED.match(text)
        try:
            value = json.loads(fenced[1] if fenced else text)
        except (ValueError, RecursionError) as error:
            self._why = f"it is no JSON ({error})"
            return self._why
        return self.take(value)

    def asked_for(self, settings: Settings) -> Settings:
        """`settings` of a request for it."""
        return msgspec.structs.replace(settings, response=self.schema) if self.native else settings

    def begin_round(self) -> None:
        """Another response is about to come."""
        self._misfit = False

    def call(self, call: ToolCall) -> Refusal:
        """What a call of `final_answer` is answered."""
        if self.found:
            return Refusal("refused", "The answer was given already.")
        if self.take(call.args):
            self._misfit = True
            return Refusal("error", self._advice)
        return Refusal("ok", "That is the answer.")

    def settled(self, answer: str, *, ended: bool, steered: bool) -> bool:
        """A round is over: True if nothing more is to be asked. `ended`: the model asked for nothing,
        `steered`: somebody said something meanwhile, which may change the answer."""
        self.told = ""
        if self.found:
            self.found = not steered
            return self.found
        if self._misfit:
            return self._spent()
        if not ended:
            return False
        if not self.read(answer) or self._spent():
            return True
        self.told = self._advice
        return False

    def _spent(self) -> bool:
        self._left -= 1
        return self._left < 0

    @property
    def _advice(self) -> str:
        how = f"Call {FINAL} with it." if not self.native else "Answer with nothing but JSON that fits the schema."
        return f"That is not the answer that is wanted: {self._why}. {how}"

    @property
    def trouble(self) -> str:
        """Why there is no answer; `""` if there is."""
        return "" if self.found else f"no answer of type {self.name}: {self._why}"

    def value(self) -> T:
        """The answer. Raises OutputError."""
        if not self.found:
            shown = f": {self._text[:_SHORT]!r}" if self._text else ""
            raise OutputError(f"{self.trouble}{shown}", text=self._text, why=self._why)
        return self._value


def wanted(kind: Any, provider: Any, retries: int) -> Output[Any]:
    """The output of a run on this provider. Raises UsageError."""
    if kind is None or isinstance(kind, str):
        raise UsageError(f"output takes a type (a msgspec.Struct, a dataclass, a pydantic model), got {kind!r}")
    return Output(kind, native=bool(getattr(provider, "structured", False)), retries=retries)
