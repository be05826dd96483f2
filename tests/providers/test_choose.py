"""From a model's name to its provider, and what is said of a name that has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sidestream.errors import UsageError
from sidestream.providers import choose as choosing
from sidestream.providers.choose import choose, forms
from sidestream.providers.openai import OpenAI
from sidestream.providers.script import Script


@pytest.mark.parametrize(
    ("name", "model", "posts_to"),
    [
        ("openai:gpt-x", "gpt-x", "https://api.openai.com/v1/chat/completions"),
        ("openai:ft:gpt-x:org", "ft:gpt-x:org", "https://api.openai.com/v1/chat/completions"),
        ("http://127.0.0.1:8080/v1#m", "m", "http://127.0.0.1:8080/v1/chat/completions"),
        ("https://h/api/v1#org/model:free", "org/model:free", "https://h/api/v1/chat/completions"),
        ("https://h/v1?api-version=1#a%20b", "a b", "https://h/v1/chat/completions?api-version=1"),
    ],
)
def test_endpoints(name: str, model: str, posts_to: str) -> None:
    provider = choose(name)
    assert isinstance(provider, OpenAI)
    assert (provider.model, provider._at.url) == (model, posts_to)


def test_a_provider_is_handed_back_and_anything_else_is_not() -> None:
    script = Script()
    assert choose(script) is script
    with pytest.raises(UsageError, match="got int"):
        choose(7)  # type: ignore[arg-type]


def test_a_recording_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"sidestream":"recording","version":1,"model":"m"}\n')
    provider = choose(f"script:{path}")
    assert isinstance(provider, Script)
    assert provider.model == "m"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("http://h/v1", "write http://h/v1#MODEL"),
        ("https://h/v1#", "write https://h/v1#MODEL"),
        ("http:h#m", "no provider"),
        ("openai:", "openai:NAME"),
        ("openai", "openai:NAME"),
        ("local:", "local:PATH.gguf"),
        ("script", "script:FILE"),
        ("opnai:gpt", "did you mean openai:…?"),
        ("gpt-x", "did you mean openai:gpt-x?"),
        ("", "There are: "),
    ],
)
def test_a_name_of_no_known_form_is_answered_with_the_known_ones(name: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose(name)
    assert words in str(caught.value)


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    row = choosing._TABLE["local"]._replace(target="sidestream.providers.no_such:Local")
    monkeypatch.setitem(choosing._TABLE, "local", row)
    with pytest.raises(UsageError, match=r"pip install 'sidestream\[local\]'"):
        choose("local")


def test_the_forms_are_those_of_the_table() -> None:
    assert len(forms()) == 8
    assert any(form.startswith("local") for form in forms())


def test_choosing_one_provider_loads_no_other_and_none_is_loaded_before() -> None:
    code = (
        "import sys, sidestream.providers.choose as c; from sidestream.providers.script import Script\n"
        "c.choose(Script()); assert 'aiohttp' not in sys.modules, 'aiohttp'\n"
        "assert not any(name.startswith('sidestream.providers.local') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
