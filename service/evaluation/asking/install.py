"""A set's people, permissions and documents in a scratch installation, as an admin would put them there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingest.corpus import collections, lookup, people
from ingest.corpus.types import Principal
from ingest.pipeline import Workbench, submit_document, work_off_next
from service.bootstrap import open_workbench
from service.evaluation.asking.scratch import ASKER, TENANT
from service.evaluation.sets.cases import CaseSet
from service.parts import Parts
from service.watch import Watch

COLLECTION = "evaluation"


@dataclass(frozen=True, slots=True)
class Installed:
    """What the set has become, by the names of its documents."""

    texts: Mapping[str, str]  # as read; "" of one that was not
    names: Mapping[str, str]  # document id -> name in the set
    chunks: Mapping[str, tuple[tuple[int, int], ...]]  # (start, end) of each, in order; {}: not known


def install(case_set: CaseSet, parts: Parts, watch: Watch) -> Installed:
    """Every document goes through reader, splitter and embedder; one that cannot be read is left empty."""
    _let_in(case_set, parts)
    bench = open_workbench(parts)
    for done, one in enumerate(case_set.documents, start=1):
        if not one.original.strip():  # as sets of others have: there is nothing to be found in it
            continue
        submit_document(
            parts.database,
            TENANT,
            COLLECTION,
            one.name,
            one.original,
            max_bytes=parts.settings.corpus.max_upload_bytes,
            access=one.access,
        )
        _work_off_all(bench)
        watch(f"{case_set.label}: documents ingested", done, len(case_set.documents))
    return _what_is_there(case_set, parts)


def asker_of(parts: Parts, user_id: str) -> Principal:
    with parts.database.reading() as session:
        return people.find_principal(session, TENANT, user_id)


def _let_in(case_set: CaseSet, parts: Parts) -> None:
    with parts.database.writing() as session:
        for group in case_set.groups:
            people.create_group(session, TENANT, group.id)
        for user in case_set.users:
            people.create_user(session, TENANT, user.id, user.role)
            for group_id in user.group_ids:
                people.add_member(session, TENANT, group_id, user.id)
        collections.create_collection(session, TENANT, COLLECTION, case_set.label)
        collections.set_collection_access(session, TENANT, COLLECTION, case_set.access)


def _work_off_all(bench: Workbench) -> None:
    while work_off_next(bench):
        pass


def _what_is_there(case_set: CaseSet, parts: Parts) -> Installed:
    with parts.database.reading() as session:
        documents = lookup.list_documents(session, ASKER, COLLECTION)
        texts = {one.name: "" for one in case_set.documents}
        for one in documents:
            if one.state == "ready":
                texts[one.source_name] = lookup.version_text(session, ASKER, one.id, one.version).text
        ids = [one.chunk_id for one in lookup.indexed_chunks(session, TENANT, COLLECTION)]
        stored = lookup.look_up(session, ASKER, ids).values()
    places = sorted((one.source_name, one.chunk.start, one.chunk.end) for one in stored)
    chunks = {name: tuple((start, end) for of, start, end in places if of == name) for name in texts}
    return Installed(texts, {one.id: one.source_name for one in documents}, chunks)
