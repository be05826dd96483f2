"""Coverage-guided fuzzing of the format readers: `sh scripts/fuzz [SECONDS] [FORMAT …]`.

An input is three bytes (format, options, cutting) and a text in UTF-8. What is checked is what every reader promises:
nothing is lost, chunks do not matter, each call is closed or rejected once, nothing raises. `seeds` makes the corpus
of `tests/corpus` into inputs, `words` the formats' markers into a dictionary; `--replay FILE` runs one input without
atheris, and says which call in Python does the same.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from sidestream import dialects
from sidestream.events import AnyEvent, CallClosed, CallRejected
from sidestream.messages import ToolSpec
from sidestream.testing.laws import chunks_do_not_matter, nothing_is_lost, parse

__all__ = ["check", "seeds", "target", "words"]

CORPUS = Path(__file__).parent.parent / "tests" / "corpus"
FORMATS = [name for name in dialects.names() if name not in ("native", "openai_delta")]
STOPS = ("end", "length")
OPTIONS: tuple[dict[str, object], ...] = (
    {},
    {"fences": "live"},
    {"in_think": "implicit_end"},
    {"starts_in_think": True},
    {"block_chars": 40},
    {"complete_at_eos": False},
    {"react_after_call": "text"},
    {"entities": "decode"},
)
LONGEST = 1_500  # characters of one input
_TEXT = {"type": "string"}
SPECS = [
    ToolSpec("noop", "", {"properties": {}}),
    ToolSpec("bash", "", {"properties": {"command": _TEXT}, "required": ["command"]}),
    ToolSpec("get_weather", "", {"properties": {"city": _TEXT, "days": {"type": "integer"}}, "required": ["city"]}),
    ToolSpec("write_file", "", {"properties": {"path": _TEXT, "content": _TEXT}, "required": ["path", "content"]}),
    ToolSpec("search", "", {"properties": {"query": _TEXT, "tags": {"type": "array"}, "filters": {"type": "object"}}}),
]


def check(name: str, options: dict[str, object], stop: str, text: str, seed: int) -> None:
    """Raises AssertionError, or whatever the reader raised, if it breaks a promise on `text`."""

    def make() -> dialects.StreamParser:
        return dialects.get(name, **options).parser(SPECS)

    nothing_is_lost(make, [text], stop)
    chunks_do_not_matter(make, text, _cuttings(text, seed), stop)
    _once(parse(make(), [text], stop))


def _cuttings(text: str, seed: int) -> Iterator[list[str]]:
    yield list(text)
    chance = random.Random(seed)
    places = sorted({chance.randrange(len(text) + 1) for _ in range(6)})
    yield [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def _once(events: list[AnyEvent]) -> None:
    over: set[str] = set()
    for event in events:
        if isinstance(event, CallClosed | CallRejected):
            call = event.call.id if isinstance(event, CallClosed) else event.id
            assert call not in over, f"call {call} is over twice"
            over.add(call)


def target(data: bytes, names: list[str] = FORMATS) -> None:
    """Check one input."""
    if len(data) < 4:
        return
    text = data[3:].decode("utf-8", "replace")[:LONGEST]
    if not text:
        return
    name, options = names[data[0] % len(names)], OPTIONS[data[1] % len(OPTIONS)]
    stop = STOPS[data[1] // len(OPTIONS) % len(STOPS)]
    try:
        check(name, options, stop, text, data[2])
    except BaseException:
        print(f"\nfuzz.readers.check({name!r}, {options!r}, {stop!r}, {text!r}, {data[2]})", file=sys.stderr)
        raise


def seeds(names: list[str] = FORMATS) -> Iterator[bytes]:
    """The corpus as inputs."""
    for path in sorted(CORPUS.rglob("*.json")):
        for case in json.loads(path.read_text()):
            if case["format"] in names:
                text = case.get("text") or "".join(case.get("stream", ()))
                yield bytes([names.index(case["format"]), 0, 0]) + text.encode("utf-8", "replace")


def words(names: list[str] = FORMATS) -> str:
    """The markers as a libFuzzer dictionary."""
    found = {word for name in names for word in dialects.get(name).patterns(SPECS) if word}
    quoted = ["".join(f"\\x{byte:02x}" for byte in word.encode()) for word in sorted(found)]
    return "".join(f'"{word}"\n' for word in quoted)


def main() -> None:
    """Fuzz, or replay one input."""
    given = sys.argv[1:]
    if given[:1] == ["--replay"]:
        target(Path(given[1]).read_bytes())
        return
    seconds = given.pop(0) if given and given[0].isdigit() else "60"
    names = given or FORMATS
    if unknown := set(names) - set(FORMATS):
        sys.exit(f"no such format: {', '.join(sorted(unknown))}; there are {', '.join(FORMATS)}")
    import atheris  # only where it is installed: scripts/fuzz

    room = Path("build/fuzz")
    corpus = room / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(names)):
        (corpus / f"seed-{number}").write_bytes(seed)
    (room / "words.dict").write_text(words(names))
    atheris.instrument_all()
    options = [f"-max_total_time={seconds}", f"-dict={room / 'words.dict'}", f"-artifact_prefix={room}/", "-timeout=20"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda data: target(data, names))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
