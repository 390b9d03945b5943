"""A released set from its folder: each file as its manifest has it, and the manifest as the ledger has it.

`NAME/VERSION/` holds `manifest.toml` (what, why, licence, people, documents with readers and SHA-256),
`questions.jsonl` and `corpus/`. `released.toml`, two folders up, holds the hashes of manifests once released.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ingest.corpus.errors import InvalidInput
from ingest.corpus.types import AccessList
from service.evaluation.sets.cases import Case, CaseDocument, CaseGroup, CaseSet, CaseUser
from service.evaluation.sets.row import row_of

MANIFEST, QUESTIONS, CORPUS, LEDGER = "manifest.toml", "questions.jsonl", "corpus", "released.toml"
CASES = TypeAdapter(Case)


def is_released(folder: Path) -> bool:
    """Whether the folder has the form of a set of ours, and not another one."""
    return (folder / MANIFEST).is_file()


def read_case_set(folder: Path) -> CaseSet:
    """:raises InvalidInput: if a file is missing, cannot be used, or is not what it was when released."""
    folder = folder.resolve()
    text = _bytes(folder / MANIFEST)
    _require_as_released(folder, hashlib.sha256(text).hexdigest())
    try:
        one = _read(folder, text)
    except InvalidInput:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"{folder / MANIFEST} cannot be used.",
            why=f"{type(error).__name__}: {error}.",
            next_step="Correct it, or give the folder of another set.",
        ) from error
    _require_whole(one)
    return one


def _read(folder: Path, text: bytes) -> CaseSet:
    manifest = tomllib.loads(text.decode())
    questions = _unchanged(folder / QUESTIONS, manifest["questions_sha256"])
    documents = tuple(_document(folder / CORPUS, entry) for entry in manifest["documents"])
    return CaseSet(
        name=manifest["name"],
        version=manifest["version"],
        sha256=hashlib.sha256(text).hexdigest(),
        what=manifest["what"],
        licence=manifest["licence"],
        access=_access(manifest["collection"]),
        groups=tuple(CaseGroup(entry["id"], entry["name"]) for entry in manifest["groups"]),
        users=tuple(map(_user, manifest["users"])),
        documents=documents,
        cases=tuple(_cases(questions, folder / QUESTIONS)),
    )


def _require_as_released(folder: Path, sha256: str) -> None:
    ledger = folder.parent.parent / LEDGER
    released = tomllib.loads(ledger.read_text("utf-8")) if ledger.is_file() else {}
    label = f"{folder.parent.name}/{folder.name}"
    if released.get(label, sha256) != sha256:
        raise _edited(folder / MANIFEST)


def _unchanged(path: Path, sha256: str) -> bytes:
    content = _bytes(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _edited(path)
    return content


def _edited(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path.name} of a released set was changed.",
        why=f"The hash of {path} is not the one that was released: figures of it could not be compared.",
        next_step="Put it back, or release the change as a new version beside it.",
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"There is no {path.name} in {path.parent}.",
            why="A set is a manifest.toml, a questions.jsonl and a folder corpus.",
            next_step="Give the folder of a version, as eval_sets/company_handbook/v1.",
        ) from error


def _document(corpus: Path, entry: Mapping[str, Any]) -> CaseDocument:
    return CaseDocument(
        name=entry["path"],
        title=entry["title"],
        language=entry["language"],
        domain=entry["domain"],
        access=_access(entry) if "allow" in entry or "deny" in entry else None,
        original=_unchanged(corpus.joinpath(*entry["path"].split("/")), entry["sha256"]),
    )


def _access(entry: Mapping[str, Any]) -> AccessList:
    return AccessList(frozenset(entry.get("allow", ())), frozenset(entry.get("deny", ())))


def _user(entry: Mapping[str, Any]) -> CaseUser:
    return CaseUser(entry["id"], entry["name"], entry["role"], tuple(entry["groups"]))


def _cases(content: bytes, path: Path) -> Iterator[Case]:
    for number, line in enumerate(content.decode().removesuffix("\n").split("\n"), start=1):
        try:
            row = row_of(line)
            row["evidence"] = [
                [{"document": one["document"], "text": one["quote"]} for one in group]
                for group in row["evidence"]
            ]
            yield CASES.validate_python(row)
        except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
            raise InvalidInput(
                f"Line {number} of {path} cannot be used.", why=f"{error}.", next_step="Correct the line."
            ) from error


def _require_whole(one: CaseSet) -> None:
    """:raises InvalidInput: if a case names what the set has not."""
    documents, users = {each.name for each in one.documents}, {each.id for each in one.users}
    ids = [case.id for case in one.cases]
    for case in one.cases:
        named = {quote.document for group in case.evidence for quote in group}
        unknown = [
            *sorted(named - documents),
            *({case.asker} - users),
            *({case.follows or case.id} - set(ids)),
        ]
        if unknown or ids.count(case.id) > 1:
            raise InvalidInput(
                f"The question {case.id} of {one.label} cannot be used.",
                why=f"It names {', '.join(unknown)}, of which the set has nothing."
                if unknown
                else "Two have its id.",
                next_step="Correct the set.",
            )
