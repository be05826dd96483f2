"""The fuzzer's target runs on its own seeds, so that it cannot rot; `make fuzz` goes on from there."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "fuzz" / "readers.py"
spec = importlib.util.spec_from_file_location("fuzz_readers", FILE)
readers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(readers)


def test_every_format_has_seeds_and_words():
    found = {readers.FORMATS[seed[0]] for seed in readers.seeds()}
    assert set(readers.FORMATS) - found <= {"granite_20b", "iquest"}
    assert readers.words().count("\n") > 100


def test_the_target_passes_on_its_seeds():
    for seed in list(readers.seeds())[::3]:
        readers.target(seed)


def test_the_target_fails_when_a_reader_loses_text(monkeypatch, capsys):
    monkeypatch.setattr(readers.dialects, "get", lambda *_, **__: Losing())
    with pytest.raises(AssertionError):
        readers.target(b"\x00\x00\x00text")
    assert "fuzz.readers.check(" in capsys.readouterr().err


class Losing:
    """A dialect whose reader says nothing."""

    def parser(self, specs):
        return self

    def feed(self, text):
        return []

    def close(self, stop):
        return []
