"""How services that speak chat completions differ in what they take: data, a row for each. Pure.

A row is found by the end of the host's name, then by the model's. What a service says in its own way needs no row:
`openai_read` reads all of it. Sources: each service's API reference, and the refusals its users report; a host that is
not here is taken for a server of one's own (vLLM, llama.cpp, SGLang, LM Studio …), which takes what they all take.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, Literal

import msgspec

__all__ = ["OWN_SERVER", "Quirks", "quirks_of", "thinking_fields", "wire_id"]

Thinking = Literal["effort", "three", "two", "switch", "enable", "template", "unsent"]
_NINE = re.compile(r"[A-Za-z0-9]{9}\Z")


class Quirks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one service wants. `key`: the environment variable of its key. `max_tokens`: that field's name.
    `system_role`: who says the system text. `stream_usage`: it must be asked for usage in a stream (a service that
    gives it anyway may refuse the field). `think_field`: the field in which it wants its reasoning back. `thinking`:
    how a level is told (see `thinking_fields`). `ids`: which ids of calls it takes: any, those of up to 40
    characters, or exactly 9 letters and digits. `required`: its word for "some tool must be called"."""

    key: str = "OPENAI_API_KEY"
    max_tokens: str = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    stream_usage: bool = True
    think_field: str = ""
    thinking: Thinking = "effort"
    ids: Literal["any", "40", "9"] = "any"
    required: str = "required"


OWN_SERVER = Quirks(thinking="template")
_OPENAI = Quirks(max_tokens="max_completion_tokens", ids="40")
_DEVELOPER = msgspec.structs.replace(_OPENAI, system_role="developer")
_REASONING = r"(?:o\d|gpt-5)"  # OpenAI's models that take a developer's message instead of the system's

_ROWS: tuple[tuple[str, str, Quirks], ...] = (  # end of the host, beginning of the model, quirks
    ("api.openai.com", _REASONING, _DEVELOPER),
    ("api.openai.com", "", _OPENAI),
    (".azure.com", "", _OPENAI),
    ("openrouter.ai", "", Quirks("OPENROUTER_API_KEY")),
    ("api.mistral.ai", "", Quirks("MISTRAL_API_KEY", stream_usage=False, thinking="unsent", ids="9", required="any")),
    ("api.deepseek.com", "", Quirks("DEEPSEEK_API_KEY", think_field="reasoning_content", thinking="switch")),
    ("moonshot.ai", "", Quirks("MOONSHOT_API_KEY", think_field="reasoning_content", thinking="switch")),
    ("moonshot.cn", "", Quirks("MOONSHOT_API_KEY", think_field="reasoning_content", thinking="switch")),
    ("api.z.ai", "", Quirks("ZAI_API_KEY", think_field="reasoning_content", thinking="switch")),
    ("bigmodel.cn", "", Quirks("ZHIPUAI_API_KEY", think_field="reasoning_content", thinking="switch")),
    ("volces.com", "", Quirks("ARK_API_KEY", thinking="switch")),
    ("aliyuncs.com", "", Quirks("DASHSCOPE_API_KEY", thinking="enable")),
    ("siliconflow.cn", "", Quirks("SILICONFLOW_API_KEY", thinking="enable")),
    ("api.groq.com", "", Quirks("GROQ_API_KEY", max_tokens="max_completion_tokens", thinking="three")),
    ("api.cerebras.ai", "", Quirks("CEREBRAS_API_KEY", max_tokens="max_completion_tokens", thinking="three")),
    ("api.x.ai", "", Quirks("XAI_API_KEY", max_tokens="max_completion_tokens", thinking="two")),
    ("api.together.xyz", "", Quirks("TOGETHER_API_KEY", thinking="three")),
    ("api.fireworks.ai", "", Quirks("FIREWORKS_API_KEY", thinking="three")),
    ("googleapis.com", "", Quirks("GEMINI_API_KEY")),
    ("huggingface.co", "", Quirks("HF_TOKEN", thinking="three")),
    ("integrate.api.nvidia.com", "", Quirks("NVIDIA_API_KEY", thinking="template")),
)


def quirks_of(host: str, model: str) -> Quirks:
    """Those of the first row that fits."""
    for end, beginning, quirks in _ROWS:
        mine = host == end or host.endswith(end if end.startswith(".") else f".{end}")
        if mine and re.match(beginning, model):
            return quirks
    return OWN_SERVER


_LOW = {"minimal": "low"}
_MUCH = ("medium", "high")
_STYLES: dict[Thinking, Callable[[str], dict[str, Any]]] = {
    "effort": lambda level: {"reasoning_effort": "none" if level == "off" else level},
    "three": lambda level: {"reasoning_effort": "none" if level == "off" else _LOW.get(level, level)},
    "two": lambda level: {} if level == "off" else {"reasoning_effort": "high" if level in _MUCH else "low"},
    "switch": lambda level: {"thinking": {"type": "disabled" if level == "off" else "enabled"}},
    "enable": lambda level: {"enable_thinking": level != "off"},
    "template": lambda level: (
        {"chat_template_kwargs": {"enable_thinking": False}}
        if level == "off"
        else {"reasoning_effort": _LOW.get(level, level)}
    ),
    "unsent": lambda level: {},
}


def thinking_fields(quirks: Quirks, level: str | None) -> dict[str, Any]:
    """The fields of a body that ask for this much reasoning; none where the service cannot be told."""
    return {} if level is None else _STYLES[quirks.thinking](level)


def wire_id(quirks: Quirks, given: str) -> str:
    """The id under which a call goes to this service: the given one if it takes it, else one made of it, the same
    every time."""
    digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()
    if quirks.ids == "9":
        return given if _NINE.match(given) else digest[:9]
    if quirks.ids == "40" and len(given) > 40:
        return f"call_{digest[:32]}"
    return given
