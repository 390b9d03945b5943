"""The sample collection shipped with the package: documents of a fictional company, readers and questions."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from ingest.corpus.types import AccessList, Role

Language = Literal["en", "zh"]
Outcome = Literal["answered", "refused"]


@dataclass(frozen=True, slots=True)
class SampleGroup:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class SampleUser:
    id: str
    name: str
    role: Role
    group_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SampleDocument:
    """One file; `access` None inherits the collection's list, otherwise a reader must pass both."""

    path: str  # below `documents/`, parts joined by "/"
    title: str
    language: Language
    access: AccessList | None

    def read_bytes(self) -> bytes:
        return files(__name__).joinpath("documents", *self.path.split("/")).read_bytes()


@dataclass(frozen=True, slots=True)
class Ask:
    """Who asks, and what must come of it."""

    asker: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question with its right outcome for each asker; `document` is None where no document answers."""

    id: str
    kind: str
    language: Language
    text: str
    asks: tuple[Ask, ...]
    document: str | None  # path of the one that answers
    must_contain: tuple[str, ...]  # verbatim in that document and in a right answer
    demo: bool


@dataclass(frozen=True, slots=True)
class Sample:
    company: str
    collection_id: str
    collection_name: str
    description: str
    access: AccessList
    groups: tuple[SampleGroup, ...]
    users: tuple[SampleUser, ...]
    documents: tuple[SampleDocument, ...]
    questions: tuple[SampleQuestion, ...]


def load_sample() -> Sample:
    """The whole manifest; document bytes are read when asked for."""
    manifest = tomllib.loads(files(__name__).joinpath("manifest.toml").read_text(encoding="utf-8"))
    collection = manifest["collection"]
    return Sample(
        company=manifest["company"],
        collection_id=collection["id"],
        collection_name=collection["name"],
        description=collection["description"],
        access=_access(collection),
        groups=tuple(SampleGroup(**entry) for entry in manifest["groups"]),
        users=tuple(_user(entry) for entry in manifest["users"]),
        documents=tuple(_document(entry) for entry in manifest["documents"]),
        questions=tuple(_question(entry) for entry in manifest["questions"]),
    )


def _access(entry: dict[str, Any]) -> AccessList:
    return AccessList(allow=frozenset(entry["allow"]), deny=frozenset(entry.get("deny", ())))


def _user(entry: dict[str, Any]) -> SampleUser:
    return SampleUser(entry["id"], entry["name"], entry["role"], tuple(entry["groups"]))


def _document(entry: dict[str, Any]) -> SampleDocument:
    own_list = _access(entry) if "allow" in entry else None
    return SampleDocument(entry["path"], entry["title"], entry["language"], own_list)


def _question(entry: dict[str, Any]) -> SampleQuestion:
    return SampleQuestion(
        id=entry["id"],
        kind=entry["kind"],
        language=entry["language"],
        text=entry["text"],
        asks=tuple(Ask(**ask) for ask in entry["asks"]),
        document=entry.get("document"),
        must_contain=tuple(entry.get("must_contain", ())),
        demo=entry.get("demo", False),
    )
