"""sidestream runs an LLM's tool calls beside its token stream, not after it.

    engine = sidestream.Engine("http://127.0.0.1:8080/v1#my-model", tools=[weather])
    async with engine.run("Weather in Bern?") as run:
        async for event in run: ...

Everything a user types is here; what is below has its own modules (`sidestream.dialects`,
`sidestream.testing`, `sidestream.providers`). Importing this loads no network library.
"""

from sidestream import dialects
from sidestream._version import __version__
from sidestream.codec import dump_messages, load_messages
from sidestream.engine import Engine
from sidestream.errors import ProviderError, Retry, RunError, SidestreamError, UsageError
from sidestream.events import (
    AnyEvent,
    ApprovalAsked,
    CallArgs,
    CallClosed,
    CallDelta,
    CallOpened,
    CallRejected,
    Child,
    Compacted,
    Hidden,
    JobFinished,
    ModelChosen,
    Note,
    Retrying,
    RoundFinished,
    RoundStarted,
    RunFinished,
    RunStarted,
    Said,
    Stamped,
    Stop,
    Text,
    TextDelta,
    ThinkDelta,
    Thinking,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from sidestream.fold import fold
from sidestream.gate import Limits
from sidestream.messages import (
    AudioPart,
    DataPart,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ThinkPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    Vendor,
)
from sidestream.providers.openai_history import from_openai, to_openai
from sidestream.providers.provider import Settings
from sidestream.run import Run
from sidestream.session import Session
from sidestream.tools.tool import Context, Tool, tool

__all__ = [
    "AnyEvent",
    "ApprovalAsked",
    "AudioPart",
    "CallArgs",
    "CallClosed",
    "CallDelta",
    "CallOpened",
    "CallRejected",
    "Child",
    "Compacted",
    "Context",
    "DataPart",
    "Engine",
    "FilePart",
    "Hidden",
    "ImagePart",
    "JobFinished",
    "Limits",
    "Message",
    "ModelChosen",
    "Note",
    "ProviderError",
    "Retry",
    "Retrying",
    "RoundFinished",
    "RoundStarted",
    "Run",
    "RunError",
    "RunFinished",
    "RunStarted",
    "Said",
    "Session",
    "Settings",
    "SidestreamError",
    "Stamped",
    "Stop",
    "Text",
    "TextDelta",
    "TextPart",
    "ThinkDelta",
    "ThinkPart",
    "Thinking",
    "Tool",
    "ToolCall",
    "ToolFinished",
    "ToolOutput",
    "ToolResult",
    "ToolSpec",
    "ToolStarted",
    "Usage",
    "UsageError",
    "Vendor",
    "__version__",
    "dialects",
    "dump_messages",
    "fold",
    "from_openai",
    "load_messages",
    "to_openai",
    "tool",
]
