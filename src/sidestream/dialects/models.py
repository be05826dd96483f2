"""Which text format a model writes its tool calls in, told by the model's name: one table.

`formats_of` takes a name as people type it (a hub id, a GGUF file, an Ollama tag, an API id) and gives the
formats of the first row that matches, the likeliest first. `()` means that no text format is known, or that
the model has native calls only. It promises that a name gives the same answer however it is spelled. It reads
no file, asks no network, and trusts a name: who renames a model, or gives it another template, must choose
the format himself.

In the table's patterns `~` is a dot, a dash or nothing, `#` stands behind a version and says that no digit
follows and that it is no size (so `llama~3~1#` takes `llama3.1`, `Llama-3-1`, `llama31`, but not
`llama-3-1b`). A pattern begins at a letter or digit behind none, and one that holds `/` also sees the owner.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["TABLE", "formats_of", "rows"]

_V3, _V11 = "mistral_v3", "mistral_v11"

# Pattern, formats, a typical name. The order counts: the first match wins.
TABLE: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # ---- names that hold other names
    (r"gpt~oss", ("harmony",), "openai/gpt-oss-20b"),
    (
        r"[a-z0-9.]*(?:embed|rerank|guard|whisper|colbert|ocr)[a-z]*|(?:bge|e5|gte|gme|clip|siglip|reward|prm|moderation"
        r"|asr|tts|image|video|translat[a-z]+|mt[0-9]*|hunyuan(?:image|video|3d|world)|hy3d)(?![a-z])",
        (),
        "Qwen/Qwen3-Embedding-0.6B",
    ),
    (r"[a-z]*llava|moondream", (), "llava:13b"),
    (r"^(?:[a-z]+[.:])*claude-(?:v?[12](?!\d)|instant)", ("anthropic_legacy",), "claude-2.1"),
    (
        r"^(?:[a-z]+[.:])*(?:gpt-?[345]|chatgpt|o[134](?![a-z0-9])|claude|gemini|grok|nova-|codex|sonar|kimi-latest)",
        (),
        "gpt-5",
    ),
    (r"[a-z]*hermes(?!-agent)", ("hermes",), "NousResearch/Hermes-3-Llama-3.1-8B"),
    (r"llama~3-groq", ("hermes",), "llama3-groq-tool-use:8b"),
    (r"xlam|hammer~[12]", ("xlam",), "Salesforce/Llama-xLAM-2-8b-fc-r"),
    (r"functionary.*v?3~1#", ("functionary_v31",), "meetkai/functionary-small-v3.1"),
    (r"functionary", (), "meetkai/functionary-small-v3.2"),
    (r"firefunction-?v?2", ("phi4",), "fireworks-ai/llama-3-firefunction-v2"),
    (r"toolace|watt-tool|bitagent", ("pythonic",), "Team-ACE/ToolACE-2-Llama-3.1-8B"),
    (r"functiongemma", ("functiongemma",), "google/functiongemma-270m-it"),
    # ---- Nemotron: version 3 and what comes from it; before that, tags of its own that no format reads
    (r"nemotron-cascade-2", ("qwen3_coder",), "nvidia/Nemotron-Cascade-2-30B-A3B"),
    (r"nemotron-(?:cascade|orchestrator)", ("hermes",), "nvidia/Nemotron-Orchestrator-8B"),
    (r"nemotron~3(?!\d|-8b|-22b)", ("qwen3_coder",), "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
    (r"nemotron-(?:nano|super|ultra|mini|h|4)(?![a-z])", (), "nvidia/NVIDIA-Nemotron-Nano-9B-v2"),
    (r"nemotron(?:-70b|:|$)", ("llama3_json",), "nvidia/Llama-3.1-Nemotron-70B-Instruct-HF"),
    # ---- DeepSeek; distilled models are named after the R1 whose template they use
    (r"deepseek.*?(?<![a-z0-9])r1|r1-1776", ("deepseek_v3",), "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"),
    (r"deepseek~(?:[a-z]+-)*v?3~2-exp", ("deepseek_v31",), "deepseek-ai/DeepSeek-V3.2-Exp"),
    (r"deepseek~(?:[a-z]+-)*v?(?:3~2|4|4~1)#", ("deepseek_dsml",), "deepseek-ai/DeepSeek-V3.2"),
    (r"deepseek~(?:[a-z]+-)*v?3~1#|deepseek\.v3-v1", ("deepseek_v31",), "deepseek-ai/DeepSeek-V3.1"),
    (r"deepseek~(?:[a-z]+-)*v?(?:3|2~5)#", ("deepseek_v3",), "deepseek-ai/DeepSeek-V3-0324"),
    (r"deepseek-(?:chat|reasoner)(?:[:@]|$)", ("deepseek_dsml", "deepseek_v3"), "deepseek-chat"),
    (r"deepseek", (), "deepseek-coder-v2:16b"),
    # ---- Moonshot, and K2 of others
    (r"kimi~k3", ("kimi_k3",), "moonshotai/Kimi-K3"),
    (r"kimi~k2|kimi-(?:linear|for-coding)", ("kimi_k2",), "moonshotai/Kimi-K2-Instruct-0905"),
    (r"kimi-dev", ("hermes",), "moonshotai/Kimi-Dev-72B"),
    (r"k2-horizon", ("k2_horizon",), "IFM/K2-Horizon-7B"),
    (r"k2-think(?!-v?2)", ("hermes",), "LLM360/K2-Think"),
    # ---- GLM and its relatives
    (r"glm~(?:4~7|5)v?#", ("glm47",), "zai-org/GLM-4.7"),
    (r"glm~4~[56]v?#", ("glm45",), "zai-org/GLM-4.5-Air"),
    (r"[a-z]*glm", (), "THUDM/glm-4-9b-chat"),
    (r"laguna|poolside/", ("glm45",), "poolside/Laguna-XS.2"),
    (r"spark-?x?2~5#", ("glm45",), "XHToken/Spark-X2.5-4B"),
    (r"(?:ling|ring)-?(?:[a-z]+-)?3(?:\.\d)?(?![a-z0-9])", ("glm47",), "inclusionAI/Ling-3.0-flash"),
    (r"(?:ling|ring)-(?:1t|flash|mini|lite|plus|2)", ("hermes",), "inclusionAI/Ling-flash-2.0"),
    (r"iquest-q\d", ("iquest",), "IQuestLab/IQuest-Q1"),
    # ---- Tencent, Baidu, MiniMax, Meituan, Xiaomi, StepFun, ByteDance, Red Note
    (r"(?:hunyuan|hy)-?v?[34](?![a-z0-9])", ("hunyuan_v3",), "tencent/Hy3-preview"),
    (r"hunyuan.*a13b|hunyuan-(?:[0-9.]+b)", ("hunyuan_a13b",), "tencent/Hunyuan-A13B-Instruct"),
    (r"ernie~4~5", ("ernie45",), "baidu/ERNIE-4.5-21B-A3B-Thinking"),
    (r"minimax~m3", ("minimax_m3",), "MiniMaxAI/MiniMax-M3"),
    (r"minimax~m2", ("minimax_m2",), "MiniMaxAI/MiniMax-M2"),
    (r"longcat", ("longcat",), "meituan-longcat/LongCat-Flash-Chat"),
    (r"mimo-?v?[2-9](?!\d|b|\.\d+b)", ("mimo",), "XiaomiMiMo/MiMo-V2-Flash"),
    (r"mimo-(?:vl-)?7b", ("hermes",), "XiaomiMiMo/MiMo-7B-RL"),
    (r"step~(?:3~[5-9]|[45])#", ("qwen3_coder",), "stepfun-ai/Step-3.5-Flash"),
    (r"step~3-vl", ("hermes",), "stepfun-ai/Step3-VL-10B"),
    (r"step~3#", ("step3",), "stepfun-ai/step3"),
    (r"seed-?oss", ("seed_oss",), "ByteDance-Seed/Seed-OSS-36B-Instruct"),
    (r"dots~[3-9]", ("dots",), "dots-studio/dots3-note-prev"),
    # ---- Mistral: names tell the version by number or by date
    (r"magistral|devstral|voxtral|leanstral", (_V11,), "mistralai/Magistral-Small-2509"),
    (r"ministral~3#|mistral~(?:small~(?:3~2|4)|large~3)#|mistral~medium", (_V11,), "mistral-medium-2508"),
    (r"[a-z]*[sx]tral.*-(?:250[5-9]|251\d|2[6-9]\d\d)", (_V11,), "mistral-small-2506"),
    (r"mistral~nemo|mixtral.8x22b|mistral~small~3(?:~[01])?#", (_V3,), "mistral-nemo"),
    (r"[a-z]*[sx]tral.*-(?:24\d\d|250[1-4])|mistral~small:2[24]b|mistral~large:123b", (_V3,), "mistral-large-2411"),
    (r"mistral[-:]7b.*v0?[.:-]?[12](?!\d)|mixtral", (), "mistralai/Mistral-7B-Instruct-v0.2"),
    (r"mistral(?:-7b|:|$)|mistral.*v0[.-]?3|(?:math|code)stral|mistral-saba", (_V3,), "mistral:7b"),
    (r"mistral|ministral|pixtral", (_V11, _V3), "mistral-large-latest"),
    # ---- IBM, Google, Microsoft, Cohere, AI21, Liquid, Allen, and others with a format of their own
    (r"granite-20b-function", ("granite_20b",), "ibm-granite/granite-20b-functioncalling"),
    (r"granite~4~2#", ("qwen3_coder", "hermes"), "ibm-granite/granite-4.2-small"),
    (r"granite~4#", ("hermes",), "ibm-granite/granite-4.0-h-small"),
    (r"granite~3#", ("granite",), "ibm-granite/granite-3.3-8b-instruct"),
    (r"gemma~4#", ("gemma4",), "google/gemma-4-E4B-it"),
    (r"gemma~3n?#", ("pythonic",), "google/gemma-3-27b-it"),
    (r"phi~4-(?:mini(?!-(?:flash-)?reasoning)|multimodal)", ("phi4",), "microsoft/Phi-4-mini-instruct"),
    (r"command-?(?:r7b|a(?![a-z])|[4-9])", ("cohere",), "CohereLabs/c4ai-command-a-03-2025"),
    (r"jamba-?(?:reasoning|2)", ("hermes", "jamba"), "ai21labs/AI21-Jamba-Reasoning-3B"),
    (r"jamba", ("jamba",), "ai21labs/AI21-Jamba-1.5-Mini"),
    (r"lfm~2", ("lfm2",), "LiquidAI/LFM2-1.2B"),
    (r"olmo~3", ("olmo3",), "allenai/Olmo-3-7B-Instruct"),
    (r"apertus", ("apertus",), "swiss-ai/Apertus-8B-Instruct-2509"),
    (r"gigachat~3", ("gigachat3",), "ai-sage/GigaChat3-10B-A1.8B"),
    (r"inkling", ("inkling",), "thinkingmachines/Inkling"),
    (r"internlm~[23]|intern-?s1", ("internlm",), "internlm/internlm2_5-7b-chat"),
    (r"plamo~3", ("plamo3",), "pfnet/plamo-3-nict-8b-base"),
    (r"minicpm~5", ("minicpm5",), "openbmb/MiniCPM5-1B"),
    (r"minicpm-?[vo]~4~5", ("hermes",), "openbmb/MiniCPM-V-4_5"),
    (r"minicpm-?[vo]~(?:4~[6-9]|[5-9])#", ("qwen3_coder",), "openbmb/MiniCPM-V-4.6"),
    (r"muse-(?:glimmer|spark)|meta[a-z-]*/muse", ("muse",), "meta-models/Muse-Glimmer-30B"),
    (r"trinity-large-thinking", ("qwen3_coder", "hermes"), "arcee-ai/Trinity-Large-Thinking"),
    # ---- Qwen
    (r"qwen~2~5|qwq", ("hermes",), "Qwen/Qwen2.5-7B-Instruct"),
    (r"qwen~3-coder|qwen~coder", ("qwen3_coder",), "Qwen/Qwen3-Coder-30B-A3B-Instruct"),
    (r"qwen~3~[5-9]#|qwen~[4-9]#", ("qwen3_coder",), "Qwen/Qwen3.5-27B"),
    (r"qwen~3#", ("hermes", "qwen3_coder"), "Qwen/Qwen3-8B"),
    (r"qwen~2#", ("hermes", "react"), "Qwen/Qwen2-7B-Instruct"),
    (r"qwen~1~5#|qwen[:-]?(?:[0-9.]+b)", ("react",), "Qwen/Qwen-7B-Chat"),
    (r"qwen-(?:max|plus|turbo|flash|long|vl)", ("hermes", "qwen3_coder"), "qwen-plus"),
    # ---- Llama
    (r"llama~v?4#", ("pythonic", "llama3_json"), "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
    (r"llama~v?3~2[-:](?:instruct[-:])?[13]b|llama3\.2(?::latest)?$", ("llama3_json", "pythonic"), "llama3.2:3b"),
    (r"llama~v?3#", ("llama3_json",), "meta-llama/Llama-3.3-70B-Instruct"),
    # ---- models that others trained on hermes calls
    (
        r"k-exaone|exaone~4|falcon-?h1|smollm~[23]|trinity|nanbeige~4|tongyi-?deepresearch|jan-(?:nano|v\d)|rnj-?1"
        r"|arch-(?:function|agent)|kat-dev|cogito",
        ("hermes",),
        "HuggingFaceTB/SmolLM3-3B",
    ),
)


def _compiled(pattern: str) -> re.Pattern[str]:
    """A row's pattern, its two short signs written out."""
    full = pattern.replace("~", "[-.]?").replace("#", r"(?!\d|(?:\.\d+)?b(?![a-z]))")
    return re.compile(full if full.startswith("^") else rf"(?<![a-z0-9])(?:{full})")


_PATTERNS = tuple((_compiled(pattern), "/" in pattern) for pattern, _, _ in TABLE)
_BLANKS = re.compile(r"[\s_]+")
_POINT = re.compile(r"(?<=\d)p(?=\d)")  # Fireworks writes "v3p1" for 3.1
_FILE = re.compile(r"\.(?:gguf|safetensors|bin)\Z")
_TEACHER = re.compile(
    r"\A(?!deepseek)(.*?(?:qwen|gemma|llama|stral|granite|nemotron|lfm)[^/]*?)"
    r"-(?:claude|gpt|gemini|grok|deepseek|kimi|glm|minimax|opus|sonnet)-?.*distill.*\Z"
)


@lru_cache(maxsize=256)
def formats_of(model: str) -> tuple[str, ...]:
    """The formats that a model of this name writes, the likeliest first; `()` if none is known."""
    row = _row_of(model)
    return () if row is None else TABLE[row][1]


def rows() -> list[tuple[str, tuple[str, ...]]]:
    """A typical name and its formats for each row, in the table's order."""
    return [(name, formats) for _, formats, name in TABLE]


def _row_of(model: str) -> int | None:
    """The first row that matches the last part of the name; of a file, the folders are asked too."""
    parts, is_file = _parts(model)
    for at in range(len(parts) - 1, -1, -1):
        name = parts[at]
        owned = f"{parts[at - 1]}/{name}" if at else name
        for row, (pattern, wants_owner) in enumerate(_PATTERNS):
            if pattern.search(owned if wants_owner else name):
                return row
        if not is_file:
            return None
    return None


def _parts(model: str) -> tuple[list[str], bool]:
    """The name in one spelling, cut at its slashes, and whether it is a file's or a folder's path."""
    text = _BLANKS.sub("-", model.strip().lower()).replace("\\", "/")
    is_file = text.startswith(("/", ".", "~")) or text[1:3] == ":/" or bool(_FILE.search(text))
    text = _POINT.sub(".", _FILE.sub("", text))
    parts = [part[:200] for part in text.split("/") if part][-8:]
    return [_TEACHER.sub(r"\1", part) for part in parts], is_file
