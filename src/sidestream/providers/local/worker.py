"""The child process that owns the native library: `python -m sidestream.providers.local.worker CONFIG`.

JSON lines in, JSON lines out; `CONFIG` is JSON (paths, threads, context). Requests are answered in order,
each by lines with its `id`, the last one with `done` or `error`; `cancel` is heard while one is running.
Promises: nothing but these lines goes to the pipe (a chatty library is sent to stderr), and it ends at
once when its input closes, without the library's own teardown, which can dead-lock. It never retries.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import xllamacpp  # type: ignore[import-not-found,import-untyped,unused-ignore]

from sidestream.providers.local.embed import Embedder
from sidestream.providers.local.sums import OPERATORS
from sidestream.providers.local.utterances import ELSEWHERE, LOOKUP, NOTHING

__all__ = ["main"]


class _Pipe:
    """The way out: file descriptor 1 as it was, while the library's own prints go to stderr."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def say(self, **fields: Any) -> None:
        with self._lock:
            self._out.write(json.dumps(fields, separators=(",", ":")) + "\n")
            self._out.flush()


def _server(config: dict[str, Any]) -> Any:
    params = xllamacpp.CommonParams()  # pyright: ignore[reportAttributeAccessIssue]
    params.model.path = config["weights"]
    params.n_ctx = config["context"]
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = config["threads"]
    params.warmup = False
    params.verbosity = -1
    params.n_threads_http = 1
    params.api_keys = [secrets.token_urlsafe(24)]  # the library opens a loopback port: nobody else may use it
    return xllamacpp.Server(params)  # pyright: ignore[reportAttributeAccessIssue]


class _Models:
    """Both models, loaded side by side; one answers `similar`, the other `chat`."""

    def __init__(self, config: dict[str, Any], pipe: _Pipe) -> None:
        self._pipe = pipe
        self._cancelled: set[int] = set()
        self._embedder: Embedder | None = None
        loading = threading.Thread(target=self._load_embedder, args=(config,), daemon=True)
        loading.start()
        self._server = _server(config)
        loading.join()

    def _load_embedder(self, config: dict[str, Any]) -> None:
        embedder = Embedder(
            Path(config["embedder"]), Path(config["tokenizer"]), config["threads"], Path(config["kept"])
        )
        always = [*NOTHING, *LOOKUP, *(entry for entries in OPERATORS.values() for entry in entries)]
        always += [entry for _, entries in ELSEWHERE for entry in entries]
        embedder.embed(always, keep=True)
        self._embedder = embedder

    def cancel(self, id_: int) -> None:
        self._cancelled.add(id_)

    def similar(self, id_: int, texts: list[str], examples: list[str]) -> None:
        if self._embedder is None:
            raise RuntimeError("the embedding model could not be loaded")
        self._pipe.say(id=id_, rows=self._embedder.similar(texts, examples), done=True)

    def chat(self, id_: int, body: dict[str, Any]) -> None:
        finish, failed = "stop", ""
        usage: dict[str, Any] = {}

        def piece(chunk: dict[str, Any]) -> bool:
            nonlocal finish, usage, failed
            if "error" in chunk:
                failed = str(chunk["error"].get("message", chunk["error"]))
                return True
            usage = chunk.get("usage") or usage
            for choice in chunk.get("choices") or ():
                finish = choice.get("finish_reason") or finish
                if text := choice["delta"].get("content"):
                    self._pipe.say(id=id_, text=text)
            return id_ in self._cancelled

        self._server.handle_chat_completions(body, piece)
        self._cancelled.discard(id_)
        if failed:
            self._pipe.say(id=id_, error=failed)
        else:
            self._pipe.say(id=id_, done=True, finish=finish, usage=usage)


def _serve(models: _Models, pipe: _Pipe, asked: queue.SimpleQueue[dict[str, Any]]) -> None:
    while True:
        request = asked.get()
        id_ = request.pop("id")
        try:
            match request.pop("op"):
                case "similar":
                    models.similar(id_, **request)
                case "chat":
                    models.chat(id_, **request)
        except (RuntimeError, ValueError, TypeError, KeyError) as error:
            pipe.say(id=id_, error=f"{type(error).__name__}: {error}")


def main() -> None:
    """Load, say `ready`, answer until the input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is for whoever started us
    pipe = _Pipe()
    try:
        models = _Models(json.loads(sys.argv[1]), pipe)
    except (RuntimeError, OSError, ValueError, MemoryError) as error:
        pipe.say(error=f"{type(error).__name__}: {error}")
        os._exit(1)
    pipe.say(ready=True)
    asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_serve, args=(models, pipe, asked), daemon=True).start()
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "cancel":
            models.cancel(request["id"])
        else:
            asked.put(request)
    os._exit(0)


if __name__ == "__main__":
    main()
