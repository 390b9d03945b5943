"""What the tests of storage share: two tenants with people, and documents put in without reader or model."""

from __future__ import annotations

import hashlib

from ingest.corpus import store
from ingest.corpus.collections import create_collection, set_collection_access
from ingest.corpus.database import Database, Session
from ingest.corpus.people import add_member, create_group, create_tenant, create_user
from ingest.corpus.types import AccessList, Block, Chunk, Document, Principal
from tests.fakes import HashEmbedder

EMBEDDER = HashEmbedder(dimension=8)
ADMIN = Principal("acme", "root", role="admin")
ANA = Principal("acme", "ana", frozenset({"hr"}))
BEN = Principal("acme", "ben", frozenset({"sales"}))
STRANGER = Principal("other", "root", role="admin")  # admin, but of another tenant


def allow(*subjects: str) -> AccessList:
    return AccessList(frozenset(subjects))


def deny(*subjects: str, allowed: tuple[str, ...] = ("everyone",)) -> AccessList:
    return AccessList(frozenset(allowed), frozenset(subjects))


def furnish(database: Database) -> None:
    """Tenants acme and other, alike in all ids: root, ana of hr, ben of sales, collection "docs"."""
    with database.writing() as session:
        for tenant_id in ("acme", "other"):
            _furnish_tenant(session, tenant_id)


def _furnish_tenant(session: Session, tenant_id: str) -> None:
    create_tenant(session, tenant_id)
    create_user(session, tenant_id, "root", "admin")
    for user_id, group_id in (("ana", "hr"), ("ben", "sales")):
        create_user(session, tenant_id, user_id)
        create_group(session, tenant_id, group_id)
        add_member(session, tenant_id, group_id, user_id)
    create_collection(session, tenant_id, "docs", "Documents")
    set_collection_access(session, tenant_id, "docs", allow("everyone"))


def as_document(text: str) -> tuple[Document, list[Chunk]]:
    """One chunk a line."""
    chunks, start = [], 0
    for line in text.split("\n"):
        chunks.append(Chunk(len(chunks), line, start, start + len(line), page=1, section="Top"))
        start += len(line) + 1
    blocks = tuple(Block("paragraph", chunk.start, chunk.end, 1, "Top") for chunk in chunks)
    return Document(text, f"Title of {text[:20]}", "en", "text/plain", blocks, pages=1), chunks


def add(
    session: Session,
    name: str,
    text: str,
    *,
    tenant_id: str = "acme",
    collection_id: str = "docs",
    access: AccessList | None = None,
) -> store.AddedVersion:
    """Queue `text` as a file."""
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    return store.add_version(session, tenant_id, collection_id, name, data, digest, access)


def keep(session: Session, added: store.AddedVersion, text: str, embedder: HashEmbedder = EMBEDDER) -> bool:
    """Make a queued version ready."""
    document, chunks = as_document(text)
    vectors = embedder.embed_passages([chunk.text for chunk in chunks])
    return store.keep_version(
        session, added.document_id, added.version, document, chunks, vectors, embedder.fingerprint
    )


def put(
    database: Database,
    name: str,
    text: str,
    *,
    tenant_id: str = "acme",
    collection_id: str = "docs",
    access: AccessList | None = None,
) -> str:
    """A ready document; its id."""
    with database.writing() as session:
        added = add(session, name, text, tenant_id=tenant_id, collection_id=collection_id, access=access)
        assert keep(session, added, text)
    return added.document_id
