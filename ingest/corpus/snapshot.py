"""Indexes on disk and in memory: saved so that a start is quick, refreshed so that no question is behind.

A snapshot is two files: the data, named by its own SHA-256, and `manifest.json`, which names it and is
replaced in one step. Whatever is wrong with either, the database has everything to make the index anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ingest.corpus.changes import collection_numbers
from ingest.corpus.database import Database, Session
from ingest.corpus.errors import FingerprintMismatch, SnapshotDamaged
from ingest.corpus.index import CollectionIndex, assemble, read_afresh, refresh
from ingest.corpus.keywords import LivePostings, Postings, make_live
from ingest.corpus.segments import Segment
from ingest.corpus.types import AccessList, EmbedderFingerprint
from ingest.corpus.vectors import FlatVectors

FORMAT = 1  # of the files; others are not read but made anew
MANIFEST = "manifest.json"
DAMAGED = "_damaged"  # no tenant can be called so
WORTH_SAVING = 1000  # chunks read from the database at a start: about half a second that the next start saves

LOG = logging.getLogger(__name__)

Place = tuple[str, str]  # tenant and collection
Arrays = dict[str, NDArray[Any]]


class Corpus:
    """The indexes that this process answers from: the one thing in the corpus that holds state.

    Each is replaced in one step by its newer self, so a question that runs keeps the moment it began with.
    """

    def __init__(self, database: Database, fingerprint: EmbedderFingerprint, snapshots: Path) -> None:
        self._database = database
        self._fingerprint = fingerprint
        self._snapshots = snapshots
        self._current: dict[Place, CollectionIndex] = {}
        self._saved: dict[Place, int] = {}  # the change number that the files have
        self._making = Lock()  # of the locks below
        self._locks: defaultdict[Place, Lock] = defaultdict(Lock)

    def fresh(self, session: Session, tenant_id: str, collection_ids: Iterable[str]) -> list[CollectionIndex]:
        """Indexes that hold at least all that `session` sees; a collection that is gone is left out.

        :raises FingerprintMismatch: if a collection's vectors are not of the embedder that runs here.
        """
        states = collection_numbers(session, tenant_id)
        wanted = [one for one in dict.fromkeys(collection_ids) if one in states]
        for collection_id in wanted:
            self._require_same(collection_id, states[collection_id][1])
        return [self._up_to(session, (tenant_id, one), states[one][0]) for one in wanted]

    def rebuild(self, session: Session, tenant_id: str, collection_id: str) -> CollectionIndex:
        """Read a collection anew from the database, without embedding; questions meanwhile use the old index.

        :raises NotFound: if there is no such collection.
        """
        place = (tenant_id, collection_id)
        with self._lock(place):
            index = self._current[place] = read_afresh(session, tenant_id, collection_id)
            self._save(place, index)
            return index

    def save_all(self) -> None:
        """Write every index that has changed since, and remove the files of collections that are gone."""
        for place, index in list(self._current.items()):
            with self._lock(place):
                if self._saved.get(place) != index.number:
                    self._save(place, index)
        with self._database.reading() as session:
            gone = [
                one for one in self._places_on_disk() if one[1] not in collection_numbers(session, one[0])
            ]
        for place in gone:
            self._forget(place)

    def _up_to(self, session: Session, place: Place, number: int) -> CollectionIndex:
        index = self._current.get(place)
        if index is not None and index.number >= number:
            return index
        with self._lock(place):
            index = self._current.get(place) or self._open(session, place, number)
            if index.number < number:
                index = refresh(index, session)
            self._current[place] = index
            return index

    def _open(self, session: Session, place: Place, number: int) -> CollectionIndex:
        """From the files if they can be trusted, otherwise from the database."""
        folder = self._folder(place)
        if (folder / MANIFEST).exists():
            try:
                index = load(folder, place, self._fingerprint)
            except (SnapshotDamaged, FingerprintMismatch) as error:
                LOG.warning("snapshot set aside: %s", error)
                self._set_aside(place)
            else:
                if index.number <= number:  # otherwise the database was put back to an earlier state
                    self._saved[place] = index.number
                    return index
        index = read_afresh(session, *place)
        if len(index.chunk_ids) >= WORTH_SAVING:
            self._save(place, index)
        return index

    def _require_same(self, collection_id: str, stored: EmbedderFingerprint | None) -> None:
        if stored is not None and stored != self._fingerprint:
            raise FingerprintMismatch(
                f"{collection_id!r} has vectors of {_named(stored)}; this is {_named(self._fingerprint)}.",
                why="Vectors of two embedders cannot be compared.",
                next_step=f"Ingest the collection again, or set CITEWARD_EMBEDDER={stored.name}.",
            )

    def _save(self, place: Place, index: CollectionIndex) -> None:
        save(index, self._folder(place))
        self._saved[place] = index.number

    def _set_aside(self, place: Place) -> None:
        """Keep what is damaged for whoever wants to know why, out of the way; only the latest."""
        aside = self._snapshots / DAMAGED / place[0] / place[1]
        shutil.rmtree(aside, ignore_errors=True)
        aside.parent.mkdir(parents=True, exist_ok=True)
        self._folder(place).rename(aside)

    def _forget(self, place: Place) -> None:
        with self._lock(place):
            self._current.pop(place, None)
            self._saved.pop(place, None)
            shutil.rmtree(self._folder(place), ignore_errors=True)
            shutil.rmtree(self._snapshots / DAMAGED / place[0] / place[1], ignore_errors=True)

    def _places_on_disk(self) -> Iterator[Place]:
        for manifest in self._snapshots.glob(f"*/*/{MANIFEST}"):
            yield manifest.parent.parent.name, manifest.parent.name

    def _folder(self, place: Place) -> Path:
        return self._snapshots / place[0] / place[1]

    def _lock(self, place: Place) -> Lock:
        with self._making:
            return self._locks[place]


# --- files -------------------------------------------------------------------------------------


def save(index: CollectionIndex, folder: Path) -> None:
    """Write a snapshot; whoever reads meanwhile, or after a crash, finds the old one or the new one whole."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = BytesIO()
    np.savez(packed, allow_pickle=False, **_arrays(index))
    data = packed.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    _replace(folder / f"{digest}.npz", data)
    facts = _facts(index) | {"sha256": digest, "bytes": len(data)}
    _replace(folder / MANIFEST, json.dumps({"facts": facts, "sha256": _digest(facts)}).encode())
    for other in folder.glob("*.npz"):
        if other.stem != digest:
            other.unlink(missing_ok=True)


def load(folder: Path, place: tuple[str, str], fingerprint: EmbedderFingerprint) -> CollectionIndex:
    """The snapshot in `folder`, if it is whole, of this tenant and collection, and of this embedder.

    :raises SnapshotDamaged: saying what does not agree.
    :raises FingerprintMismatch: if its vectors are of another embedder.
    """
    facts = _read_facts(folder)
    found = (facts["format"], facts["tenant_id"], facts["collection_id"])
    if found != (FORMAT, *place):
        raise _damaged(folder, f"it is {found}, wanted {(FORMAT, *place)}")
    stored = EmbedderFingerprint(**facts["fingerprint"]) if facts["fingerprint"] else None
    if stored not in (None, fingerprint):
        raise FingerprintMismatch(
            f"The snapshot in {folder} is of another embedder.", next_step="It is made anew."
        )
    data = _read_bytes(folder / f"{facts['sha256']}.npz")
    if len(data) != facts["bytes"] or hashlib.sha256(data).hexdigest() != facts["sha256"]:
        raise _damaged(folder, "its data are not what was written")
    try:
        with np.load(BytesIO(data), allow_pickle=False) as arrays:
            return _index(facts, stored, {name: arrays[name] for name in arrays.files})
    except (BadZipFile, KeyError, ValueError) as error:
        raise _damaged(folder, "its data are not laid out as its manifest says") from error


def _facts(index: CollectionIndex) -> dict[str, Any]:
    """What fits into JSON; access lists once each, with the documents that have them."""
    lists: dict[AccessList, list[str]] = defaultdict(list)
    for document_id, access in index.document_access.items():
        lists[access].append(document_id)
    return {
        "format": FORMAT,
        "tenant_id": index.tenant_id,
        "collection_id": index.collection_id,
        "number": index.number,
        "fingerprint": asdict(index.fingerprint) if index.fingerprint else None,
        "segments": len(index.segments),
        "access": _dump_access(index.access),
        "document_access": [_dump_access(access) | {"of": documents} for access, documents in lists.items()],
    }


def _arrays(index: CollectionIndex) -> Arrays:
    """The rest: one array for the vocabulary and some for each segment, their names led by its number."""
    vocabulary = "\n".join(index.words.vocabulary).encode()
    arrays: Arrays = {"vocabulary": np.frombuffer(vocabulary, dtype=np.uint8)}
    for number, segment in enumerate(index.segments):
        postings = segment.words.postings
        parts: Arrays = {
            "chunk_ids": segment.chunk_ids,
            "documents": np.array(segment.documents, dtype=np.str_),
            "document_of": segment.document_of,
            "scripts": segment.scripts,
            "vectors": segment.vectors.vectors,
            "alive": segment.alive,
            "terms": postings.terms,
            "starts": postings.starts,
            "rows": postings.rows,
            "counts": postings.counts,
            "lengths": postings.lengths,
        }
        arrays |= {f"{number}.{name}": part for name, part in parts.items()}
    return arrays


def _index(facts: dict[str, Any], fingerprint: EmbedderFingerprint | None, arrays: Arrays) -> CollectionIndex:
    known = arrays["vocabulary"].tobytes().decode()
    segments = [_segment(number, arrays) for number in range(facts["segments"])]
    if any(fingerprint is None or one.vectors.vectors.shape[1] != fingerprint.dimension for one in segments):
        raise ValueError("The vectors are not as long as the embedder's.")
    return assemble(
        facts["tenant_id"],
        facts["collection_id"],
        facts["number"],
        fingerprint,
        {word: number for number, word in enumerate(known.split("\n"))} if known else {},
        segments,
        _read_access(facts["access"]),
        {one: _read_access(access) for access in facts["document_access"] for one in access["of"]},
    )


def _segment(number: int, arrays: Arrays) -> Segment:
    def part(name: str) -> NDArray[Any]:
        return arrays[f"{number}.{name}"]

    postings = Postings(*map(part, ("terms", "starts", "rows", "counts", "lengths")))
    live: LivePostings = make_live(postings, part("alive"))
    documents = tuple(part("documents").tolist())
    vectors = FlatVectors(part("vectors"))
    return Segment(part("chunk_ids"), documents, part("document_of"), part("scripts"), vectors, live)


def _dump_access(access: AccessList) -> dict[str, list[str]]:
    return {"allow": sorted(access.allow), "deny": sorted(access.deny)}


def _read_access(entries: dict[str, list[str]]) -> AccessList:
    return AccessList(frozenset(entries["allow"]), frozenset(entries["deny"]))


def _read_facts(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(_read_bytes(folder / MANIFEST))
        facts: dict[str, Any] = manifest["facts"]
        intact = manifest["sha256"] == _digest(facts)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, "its manifest cannot be read") from error
    if not intact:
        raise _damaged(folder, "its manifest is not what was written")
    return facts


def _digest(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _damaged(path.parent, f"{path.name} cannot be read") from error


def _replace(path: Path, data: bytes) -> None:
    """Write beside `path`, make sure that it lies on the disk, then take the name in one step."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix="new-", delete=False) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _damaged(folder: Path, why: str) -> SnapshotDamaged:
    return SnapshotDamaged(
        f"The snapshot in {folder} cannot be used.",
        why=f"{why[0].upper()}{why[1:]}.",
        next_step="It is made anew from the database.",
    )


def _named(fingerprint: EmbedderFingerprint) -> str:
    return f"{fingerprint.name} ({fingerprint.dimension} numbers, {fingerprint.digest[:12]})"
