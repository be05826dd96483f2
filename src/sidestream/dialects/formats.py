"""The formats: what each family's machine must know of each, as rows. The facts are the formats' own documents.

Nothing here decides anything. A new format of a known family is one more row, its lesson in `lessons.py` and its
line in `models.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidestream.dialects.body import BodyRow
from sidestream.dialects.channels import Channels, Header
from sidestream.dialects.code_body import GemmaArgs, PythonArgs
from sidestream.dialects.format import Format
from sidestream.dialects.json_body import JsonArgs, JsonObject
from sidestream.dialects.named_body import Bracket, Element
from sidestream.dialects.nested_body import Nested
from sidestream.dialects.react import ActionInput
from sidestream.dialects.section import Section
from sidestream.dialects.section_block import Grammar
from sidestream.dialects.tagged import Tagged
from sidestream.dialects.tags import TINYRAG

__all__ = ["FORMATS"]

_Pairs = Sequence[tuple[str, str]]


def _format(
    name: str,
    *rows: Section | Channels,
    think: _Pairs = (),
    hidden: Sequence[str] = (),
    pads: bool = False,
    versions: Sequence[str] = (),
) -> Format:
    grammars = [Grammar(row) if isinstance(row, Section) else row for row in rows]
    return Format(name, *grammars, think=think, hidden=hidden, pads=pads, versions=versions)


def _json(opener: str, closer: str = "", *, body: BodyRow | None = None, form: str = "", **more: object) -> Section:
    """A JSON object, or a list of them, between two markers."""
    written = form or f"{opener}\n{{body}}\n{closer}"
    return Section(body or JsonObject(), written, wrappers=((opener, closer),), **more)  # type: ignore[arg-type]


# ---- JSON

_HERMES = _json("<tool_call>", "</tool_call>", single=True)
_LONGCAT = _json("<longcat_tool_call>", "</longcat_tool_call>", single=True)
_GRANITE = _json("<|tool_call|>", form="<|tool_call|>[{body}]")
_GRANITE_TAG = _json("<tool_call>", "</tool_call>", form="<tool_call>[{body}]</tool_call>")
_GRANITE_20B = _json("<function_call>", "", form="<function_call>{body}")
_MISTRAL_V3 = _json("[TOOL_CALLS]", "", form="[TOOL_CALLS][{body}]")
_PHI4 = Section(JsonObject(lists=False), "functools[{body}]", wrappers=(("functools[", "]"),), between=",", sure=False)
_INTERNLM = _json(
    "<|action_start|>{_}<|plugin|>", "<|action_end|>", single=True,
    body=JsonObject(arguments=("parameters", "arguments")), form="<|action_start|><|plugin|>\n{body}<|action_end|>",
)  # fmt: skip
_ARRAY_TAGS = _json("<tool_calls>", "</tool_calls>", form="<tool_calls>[\n{body}\n]</tool_calls>")
_COHERE = _json(
    "<|START_ACTION|>", "<|END_ACTION|>",
    body=JsonObject(("tool_name", "name"), ("parameters", "arguments"), ("tool_call_id", "id"), numbered=True),
    form="<|START_ACTION|>[\n{body}\n]<|END_ACTION|>",
)  # fmt: skip
_APERTUS = _json(
    "<|tools_prefix|>", "<|tools_suffix|>", body=JsonObject(keyed=True), form="<|tools_prefix|>[{body}]<|tools_suffix|>"
)
_LLAMA_TAG = Section(
    JsonObject(arguments=("parameters", "arguments"), lists=False), "<|python_tag|>{body}",
    wrappers=(("<|python_tag|>", ""), ("<|python_start|>", "<|python_end|>")), between=";",
    tails=("<|eom_id|>", "<|eot_id|>"),
)  # fmt: skip
_LLAMA_BARE = Section(
    JsonObject(arguments=("parameters", "arguments"), known=True, lists=False), "{body}",
    between=";", tails=("<|eom_id|>", "<|eot_id|>"), known=True, sure=False, place="start",
)  # fmt: skip
_XLAM_BARE = Section(
    JsonObject(known=True, lists=False), "[{body}]", wrappers=(("[", "]"),), between=",",
    known=True, sure=False, place="start",
)  # fmt: skip
_XLAM_FENCE = Section(
    JsonObject(known=True), "```json\n[{body}]\n```", wrappers=(("```json", "```"), ("```", "```")),
    known=True, sure=False, place="start",
)  # fmt: skip
_GIGACHAT = Section(
    JsonObject(lists=False), "<|message_sep|>\n\nfunction call<|role_sep|>\n{body}",
    heads=("<|message_sep|>{_}function call<|role_sep|>", "<|function_call|>"), tails=("</s>", "<|message_sep|>"),
)  # fmt: skip
_MISTRAL_V11 = Section(
    JsonArgs(), "[TOOL_CALLS]{name}[ARGS]{body}",
    heads=(
        "[TOOL_CALLS]{_}{name}{_}[CALL_ID]{_}{id}{_}[ARGS]", "[TOOL_CALLS]{_}{name}{_}[ARGS]",
        "[TOOL_CALLS]{_}{name}{_}[CALL_ID]{_}{id}{_}{&{}", "[TOOL_CALLS]{_}{name}{_}{&{}",
    ),
    tails=("</s>",),
)  # fmt: skip
_FUNCTIONARY = Section(
    JsonArgs(ends="</function>"), "<function={name}>{body}</function>",
    heads=("<function={name}>",), tails=("</function>",), sure=False,
)  # fmt: skip
_V3 = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_DEEPSEEK_V3 = Section(
    JsonArgs(),
    f"{_V3[0]}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{name}}\n```json\n{{body}}\n```<｜tool▁call▁end｜>{_V3[1]}",
    wrappers=(_V3,), bare=True,
    heads=(
        "<｜tool▁call▁begin｜>{type}<｜tool▁sep｜>{name}{_}```json",
        "<｜tool▁call▁begin｜>{type}<｜tool▁sep｜>{name}{_}{&{}",
    ),
    tails=("```{_}<｜tool▁call▁end｜>", "```", "<｜tool▁call▁end｜>"),
)  # fmt: skip
_DEEPSEEK_V31 = Section(
    JsonArgs(), f"{_V3[0]}<｜tool▁call▁begin｜>{{name}}<｜tool▁sep｜>{{body}}<｜tool▁call▁end｜>{_V3[1]}",
    wrappers=(_V3,), bare=True, heads=("<｜tool▁call▁begin｜>{_}{name}{_}<｜tool▁sep｜>",),
    tails=("<｜tool▁call▁end｜>",),
)  # fmt: skip
_KIMI = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_KIMI_K2 = Section(
    JsonArgs(), f"{_KIMI[0]}<|tool_call_begin|>{{id}}<|tool_call_argument_begin|>{{body}}<|tool_call_end|>{_KIMI[1]}",
    wrappers=(_KIMI, ("<|tool_call_section_begin|>", "<|tool_call_section_end|>")), bare=True, numbered=True,
    heads=("<|tool_call_begin|>{_}{id}{_}<|tool_call_argument_begin|>",), tails=("<|tool_call_end|>",),
)  # fmt: skip


def _plamo(part: str) -> str:
    return f"<|plamo:{part}:plamo|>"


_PLAMO3 = Section(
    JsonArgs(),
    "".join(map(_plamo, ("begin_tool_requests", "begin_tool_request", "begin_tool_name"))) + "{name}"
    + "".join(map(_plamo, ("end_tool_name", "begin_tool_arguments"))) + "<|plamo:constrain|>json<|plamo:msg|>{body}"
    + "".join(map(_plamo, ("end_tool_arguments", "end_tool_request", "end_tool_requests"))),
    wrappers=((_plamo("begin_tool_requests"), _plamo("end_tool_requests")),), bare=True,
    heads=(
        f"{_plamo('begin_tool_request')}{{_}}{_plamo('begin_tool_name')}{{_}}{{name}}{{_}}{_plamo('end_tool_name')}{{_}}"
        f"{_plamo('begin_tool_arguments')}{{?<|plamo:constrain|>}}{{?json}}{{_}}<|plamo:msg|>",
    ),
    tails=(_plamo("end_tool_arguments"), _plamo("end_tool_request")),
)  # fmt: skip

# ---- tagged arguments

_PARAMETERS = Tagged(
    ("<parameter={key:[^<>\n]}>",), "</parameter>", "</function>", "<parameter={key}>\n{value}\n</parameter>",
    strip=True, glue="\n",
)  # fmt: skip
_VERBATIM = Tagged(
    ("<parameter={key:[^<>\n]}>",), "</parameter>", "</function>", "<parameter={key}>{value}</parameter>", glue="\n"
)
_NAMED = Tagged(
    ("<parameter{@}{_}>",), "</parameter>", "</invoke>", '<parameter name="{key}">{value}</parameter>', glue="\n"
)


def _functions(opener: str, closer: str, body: Tagged = _PARAMETERS) -> Section:
    return Section(
        body, f"{opener}\n<function={{name}}>\n{{body}}\n{closer}", wrappers=((opener, closer),),
        heads=("<function={name}>",),
    )  # fmt: skip


_BARE_FUNCTION = Section(
    _PARAMETERS, "<function={name}>\n{body}", heads=("<function={name}>",), tails=("</tool_call>",), sure=False
)


def _invokes(opener: str, closer: str, body: Tagged = _NAMED, head: str = "<invoke{@}{_}>") -> Section:
    name = head.replace("{@}{_}", ' name="{name}"')
    return Section(body, f"{opener}\n{name}\n{{body}}\n{closer}", wrappers=((opener, closer),), heads=(head,))


_BARE_INVOKE = Section(
    _NAMED, '<invoke name="{name}">\n{body}', heads=("<invoke{@}{_}>",),
    tails=("</function_calls>", "</minimax:tool_call>"), sure=False,
)  # fmt: skip


def _keys(mark: str = "", *, closer: str) -> Tagged:
    """GLM's pairs of key and value; `mark` stands before every tag's name."""
    pair = f"<{mark}arg_key>{{_}}{{key:[^<\n]}}</{mark}arg_key>{{_}}"
    value = f"<{mark}arg_value>"
    typed = f"{pair}<{mark}arg_type>{{_}}{{type}}{{_}}</{mark}arg_type>{{_}}{value}"
    written = f"<{mark}arg_key>{{key}}</{mark}arg_key>\n{value}{{value}}</{mark}arg_value>"
    return Tagged((f"{pair}{value}", typed), f"</{mark}arg_value>", closer, written, glue="\n")


_GLM = Section(_keys(closer="</tool_call>"), "<tool_call>{name}\n{body}", heads=("<tool_call>{_}{name}",))
_IQUEST = Section(
    _keys(closer="</iquest_tool_call>"), "<iquest_tool_call>{name}\n{body}", heads=("<iquest_tool_call>{_}{name}",)
)
_HUNYUAN_V3 = Section(
    _keys(closer="</tool_call>"), "<tool_calls>\n<tool_call>{name}<tool_sep>\n{body}\n</tool_calls>",
    wrappers=(("<tool_calls>", "</tool_calls>"),), bare=True, heads=("<tool_call>{_}{name}{_}<tool_sep>",),
)  # fmt: skip
_K2_WRAPPER = ("<ifm|tool_calls>", "</ifm|tool_calls>")
_K2_HORIZON = Section(
    _keys("ifm|", closer="</ifm|tool_call>"), "<ifm|tool_calls><ifm|tool_call>{name}\n{body}</ifm|tool_calls>",
    wrappers=(_K2_WRAPPER,), bare=True, heads=("<ifm|tool_call>{_}{name}",),
)  # fmt: skip
_K2_JSON = Section(
    JsonObject(), "<ifm|tool_calls><ifm|tool_call>{body}</ifm|tool_call></ifm|tool_calls>",
    wrappers=(_K2_WRAPPER,), bare=True, heads=("<ifm|tool_call>{_}{&{}",), tails=("</ifm|tool_call>",),
)  # fmt: skip


def _dsml(tag: str, wrapper: str) -> Section:
    """DeepSeek's marked-up tags; a blank may stand behind the mark, as V4.1 writes it."""
    blank = " " if wrapper.startswith(" ") else ""
    body = Tagged(
        ("<｜DSML｜{_}parameter{@}{_}>",), f"</｜DSML｜{blank}parameter>", f"</｜DSML｜{blank}invoke>",
        f'<｜DSML｜{blank}parameter name="{{key}}" string="{{string}}">{{value}}</｜DSML｜{blank}parameter>',
        wire="string", glue="\n",
    )  # fmt: skip
    opener, closer = f"<｜DSML｜{wrapper}>", f"</｜DSML｜{wrapper}>"
    return Section(
        body, f'{opener}\n<｜DSML｜{blank}invoke name="{{name}}">\n{{body}}\n{closer}', wrappers=((opener, closer),),
        heads=(f"<｜DSML｜{blank}invoke{{@}}{{_}}>",), bare=tag == "v4",
    )  # fmt: skip


_V32, _V4, _V41 = _dsml("v32", "function_calls"), _dsml("v4", "tool_calls"), _dsml("v41", " calls")
_DSML_MORE = (_dsml("", "toolcalls"), _dsml("", "tool"))


def _k3(tag: str, more: str = "") -> str:
    return f"<|open|>{tag}{more}<|sep|>"


def _k3_end(tag: str) -> str:
    return f"<|close|>{tag}<|sep|>"


_KIMI_K3 = Section(
    Tagged(
        (_k3("argument", "{@}{_}"),), _k3_end("argument"), _k3_end("call"),
        _k3("argument", ' key="{key}" type="{type}"') + "{value}" + _k3_end("argument"),
        wire="type", attributes_escaped=True,
    ),
    _k3("tools") + _k3("call", ' tool="{name}" index="1"') + "{body}" + _k3_end("tools"),
    wrappers=((_k3("tools"), _k3_end("tools")),), bare=True, heads=(_k3("call", "{@}{_}"),),
)  # fmt: skip
_STEP3 = Section(
    Tagged(
        ("<steptml:parameter{@}{_}>",), "</steptml:parameter>", "</steptml:invoke>",
        '<steptml:parameter name="{key}">{value}</steptml:parameter>', glue="\n",
    ),
    '<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">\n{body}'
    "<｜tool_call_end｜>\n<｜tool_calls_end｜>",
    wrappers=(("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),), bare=True,
    heads=("<｜tool_call_begin｜>{_}{type}{_}<｜tool_sep｜>{_}<steptml:invoke{@}{_}>", "<steptml:invoke{@}{_}>"),
    tails=("<｜tool_call_end｜>",),
)  # fmt: skip
_MINICPM5 = Section(
    Tagged(
        ("<param{@}{_}>",), "</param>", "</function>", '<param name="{key}">{value}</param>', cdata=True
    ),
    '<function name="{name}">{body}', heads=("<function{@}{_}>",), sure=False,
)  # fmt: skip
_CLINE = Section(
    Tagged(
        ("<{key:[A-Za-z_0-9.-]}>",), "</{key}>", "</{name}>", "<{key}>\n{value}\n</{key}>",
        strip=True, known=True, glue="\n",
    ),
    "<{name}>\n{body}", heads=("<{name}>",), known=True, named=True, sure=False,
)  # fmt: skip
_KOHAKU_XML = Section(Element(), "<{name}{body}", heads=("<{name:[^\\s<>/\"'=]}",), known=True, named=True, sure=False)
_KOHAKU_BRACKET = Section(Bracket(), "[/{name}]{body}", heads=("[/{name}]",), known=True, named=True, sure=False)
_M3 = "]<]minimax[>["
_MINIMAX_M3 = Section(
    Nested(_M3, "invoke"), f'{_M3}<tool_call>\n{_M3}<invoke name="{{name}}">\n{{body}}\n{_M3}</tool_call>',
    wrappers=((f"{_M3}<tool_call>", f"{_M3}</tool_call>"),), bare=True, heads=(f"{_M3}<invoke{{@}}{{_}}>",),
)  # fmt: skip

# ---- code-like

_GEMMA4 = Section(
    GemmaArgs('<|"|>', "<tool_call|>"), "<|tool_call>call:{name}{body}", heads=("<|tool_call>{_}call:{_}{name}",)
)
_FUNCTIONGEMMA = Section(
    GemmaArgs("<escape>", "<end_function_call>", texts=True), "<start_function_call>call:{name}{body}",
    heads=("<start_function_call>{_}call:{_}{name}",), tails=("<start_function_response>",),
)  # fmt: skip
_CALL = "{name:[\\w.:-]}{_}("
_PYTHONIC = Section(
    PythonArgs(),
    "[{name}({body}]",
    wrappers=(("[", "]"),),
    heads=(_CALL,),
    between=",",
    known=True,
    sure=False,
    late="(",
)
_PYTHON_TAG = Section(
    PythonArgs(lists=True), "<|python_start|>[{name}({body}]<|python_end|>",
    wrappers=(("<|python_start|>", "<|python_end|>"),), heads=(_CALL,), between=",",
)  # fmt: skip
_LFM2 = Section(
    PythonArgs(lists=True), "<|tool_call_start|>[{name}({body}]<|tool_call_end|>",
    wrappers=(("<|tool_call_start|>", "<|tool_call_end|>"),), heads=(_CALL,), between=",",
)  # fmt: skip
_OLMO3 = Section(
    PythonArgs(lists=True), "<function_calls>{name}({body}</function_calls>",
    wrappers=(("<function_calls>", "</function_calls>"),), heads=(_CALL,),
)  # fmt: skip
_REACT = Section(
    ActionInput(), "Action: {name}\nAction Input: {body}\n",
    heads=("Action:{_}{name:[^\n]}\n{_}Action Input:",), tails=("Observation:",), sure=False, place="line",
    discards=True,
)  # fmt: skip

# ---- channels

_ENDS = ("<|end|>", "<|return|>", "<|call|>")
_RECIPIENT = r"to=(?:functions\.)?(?P<name>(?!user\b|assistant\b|all\b)[^\s<]+)"
_HARMONY = Section(
    JsonArgs(),
    "<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{body}<|call|>",
    heads=tuple(Header(opener, r"<\|message\|>", _RECIPIENT) for opener in ("<|start|>", "<|channel|>")),
    tails=_ENDS,
)
_HARMONY_TALK = Channels(
    ("<|start|>", "<|channel|>"), r"<\|message\|>", r"<\|channel\|>\s*analysis(?!.*<\|channel\|>)", _ENDS
)
_CONTENT = r"<\|content_\w+\|>"
_INKLING = Section(
    JsonObject(arguments=("args", "arguments", "parameters"), lists=False),
    "<|message_model|>{name}<|content_invoke_tool_json|>{body}<|end_message|>",
    heads=(Header("<|message_model|>", _CONTENT, r"<\|content_invoke_tool_json\|>"),),
    tails=("<|end_message|>",),
)
_INKLING_TALK = Channels(("<|message_model|>",), _CONTENT, r"<\|content_thinking\|>", ("<|end_message|>",))
_ATEM = Tagged(
    ("<atem:parameter{@}{_}>",), "</atem:parameter>", "</atem:invoke>",
    '<atem:parameter name="{key}">{value}</atem:parameter>', glue="\n",
)  # fmt: skip
_MUSE = Section(
    _ATEM, '<|start|>assistant to=default.{name}<|message|><atem:function_calls>\n<atem:invoke name="{name}">\n{body}'
    "\n</atem:function_calls><|eom|>",
    wrappers=((Header("<|start|>", r"<\|message\|>", r"to=(?!self\b|user\b)\S"), "<|eom|>"),),
    heads=("{?<atem:function_calls>}{_}<atem:invoke{@}{_}>",), tails=("</atem:function_calls>",),
)  # fmt: skip
_MUSE_TALK = Channels(("<|start|>",), r"<\|message\|>", r"to=self\b", ("<|eom|>", "<|eot|>"))

_MISTRAL_THINK = (("[THINK]", "[/THINK]"),)
_SEED_THINK = (("<seed:think>", "</seed:think>"),)

FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("tinyrag", TINYRAG),
        _format("hermes", _HERMES),
        _format("longcat", _LONGCAT, think=(("<longcat_think>", "</longcat_think>"),)),
        _format("ernie45", _HERMES),
        _format("granite", _GRANITE, _GRANITE_TAG),
        _format("granite_20b", _GRANITE_20B),
        _format("mistral_v3", _MISTRAL_V3, think=_MISTRAL_THINK, hidden=("</s>",)),
        _format("mistral_v11", _MISTRAL_V11, _MISTRAL_V3, think=_MISTRAL_THINK, hidden=("</s>",)),
        _format("phi4", _PHI4),
        _format("internlm", _INTERNLM),
        _format("jamba", _ARRAY_TAGS),
        _format("hunyuan_a13b", _ARRAY_TAGS, hidden=("<answer>", "</answer>"), pads=True),
        _format(
            "cohere", _COHERE, think=(("<|START_THINKING|>", "<|END_THINKING|>"),),
            hidden=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
        ),
        _format("apertus", _APERTUS, think=(("<|inner_prefix|>", "<|inner_suffix|>"),)),
        _format("llama3_json", _LLAMA_TAG, _LLAMA_BARE),
        _format("xlam", _XLAM_BARE, _XLAM_FENCE, _MISTRAL_V3, _HERMES),
        _format("gigachat3", _GIGACHAT, hidden=("</s>",)),
        _format("functionary_v31", _FUNCTIONARY, _LLAMA_TAG),
        _format("deepseek_v3", _DEEPSEEK_V3),
        _format("deepseek_v31", _DEEPSEEK_V31),
        _format("kimi_k2", _KIMI_K2),
        _format("plamo3", _PLAMO3),
        _format("qwen3_coder", _functions("<tool_call>", "</tool_call>"), _BARE_FUNCTION),
        _format("seed_oss", _functions("<seed:tool_call>", "</seed:tool_call>"), think=_SEED_THINK),
        _format(
            "mimo",
            _functions("<tool_call>", "</tool_call>", _VERBATIM),
        ),
        _format("glm45", _GLM),
        _format("glm47", _GLM),
        _format("iquest", _IQUEST),
        _format("hunyuan_v3", _HUNYUAN_V3),
        _format("k2_horizon", _K2_HORIZON, _K2_JSON),
        _format("minimax_m2", _invokes("<minimax:tool_call>", "</minimax:tool_call>"), _BARE_INVOKE),
        _format("dots", _invokes("<dots_function_call>", "</dots_function_call>"), _BARE_INVOKE),
        _format("anthropic_legacy", _invokes("<function_calls>", "</function_calls>"), _BARE_INVOKE),
        _format("minimax_m3", _MINIMAX_M3),
        _format("deepseek_dsml", _V32, _V4, _V41, *_DSML_MORE, versions=("v32", "v4", "v41")),
        _format(
            "kimi_k3", _KIMI_K3, think=((_k3("think"), _k3_end("think")),),
            hidden=(_k3("response"), _k3_end("response"), _k3("message"), _k3_end("message"), _k3_end("think")),
        ),
        _format("step3", _STEP3),
        _format("minicpm5", _MINICPM5),
        _format("cline", _CLINE),
        _format("kohaku_xml", _KOHAKU_XML),
        _format("kohaku_bracket", _KOHAKU_BRACKET),
        _format("gemma4", _GEMMA4, think=(("<|channel>thought\n", "<channel|>"),)),
        _format("functiongemma", _FUNCTIONGEMMA),
        _format("pythonic", _PYTHONIC, _PYTHON_TAG),
        _format("lfm2", _LFM2),
        _format("olmo3", _OLMO3),
        _format("react", _REACT),
        _format("harmony", _HARMONY, _HARMONY_TALK, hidden=_ENDS),
        _format("inkling", _INKLING, _INKLING_TALK, hidden=("<|end_message|>",)),
        _format("muse", _MUSE, _MUSE_TALK, hidden=("<|eom|>", "<|eot|>")),
    )
}  # fmt: skip
