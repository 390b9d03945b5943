"""The tables of the corpus. Every row names its tenant; migrations are made from these by Alembic.

What makes a document visible is one column: `documents.current_version`. What makes an index stale is one
number: `collections.change_number`, taken from the tenant's counter in the same transaction as the change.
The counter's row is locked until the commit: numbers are in commit order and a follower can miss none.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# SQLite gives out ascending keys only for INTEGER; PostgreSQL needs the 64 bits.
BigKey = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    # A constraint without a name could not be changed by a later migration.
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        }
    )


# --- people ------------------------------------------------------------------------------------


class TenantRow(Base):
    __tablename__ = "tenants"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    change_number: Mapped[int] = mapped_column(BigInteger, default=0)  # of the newest change in this tenant
    created_at: Mapped[str] = mapped_column(String(32))


class UserRow(Base):
    __tablename__ = "users"

    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    role: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[str] = mapped_column(String(32))

    __table_args__ = (
        ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        CheckConstraint("role in ('admin', 'evaluator', 'reader')", name="known_role"),
    )


class GroupRow(Base):
    __tablename__ = "groups"

    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    created_at: Mapped[str] = mapped_column(String(32))

    __table_args__ = (ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),)


class MembershipRow(Base):
    __tablename__ = "memberships"

    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    group_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(64), primary_key=True)

    __table_args__ = (
        ForeignKeyConstraint(
            ["tenant_id", "group_id"], ["groups.tenant_id", "groups.id"], ondelete="CASCADE"
        ),
        ForeignKeyConstraint(["tenant_id", "user_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
        Index("memberships_by_user", "tenant_id", "user_id"),
    )


class ApiKeyRow(Base):
    """Only a keyed hash of the secret is stored; the prefix finds the row."""

    __tablename__ = "api_keys"

    prefix: Mapped[str] = mapped_column(String(16), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    user_id: Mapped[str] = mapped_column(String(64))
    secret_hash: Mapped[str] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[str] = mapped_column(String(32))
    revoked_at: Mapped[str | None] = mapped_column(String(32))

    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "user_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
    )


# --- documents ---------------------------------------------------------------------------------


class CollectionRow(Base):
    __tablename__ = "collections"

    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    title: Mapped[str] = mapped_column(String(200))
    # Of the vectors inside; set by the first document, so that a second embedder cannot mix in.
    embedder: Mapped[str | None] = mapped_column(String(200))
    dimension: Mapped[int | None]
    embedder_digest: Mapped[str | None] = mapped_column(String(128))
    change_number: Mapped[int] = mapped_column(
        BigInteger, default=0
    )  # of the newest change in this collection
    created_at: Mapped[str] = mapped_column(String(32))

    __table_args__ = (ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),)


class DocumentRow(Base):
    __tablename__ = "documents"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    collection_id: Mapped[str] = mapped_column(String(64))
    source_name: Mapped[str] = mapped_column(
        String(500)
    )  # more would not fit into an index row of PostgreSQL
    current_version: Mapped[int | None]  # None until one version is ready
    latest_version: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[str] = mapped_column(String(32))
    updated_at: Mapped[str] = mapped_column(String(32))
    deleted_at: Mapped[str | None] = mapped_column(String(32))

    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "collection_id"], ["collections.tenant_id", "collections.id"]),
        # A deleted name is free again.
        Index(
            "one_living_document_a_name",
            "tenant_id",
            "collection_id",
            "source_name",
            unique=True,
            sqlite_where=text("deleted_at IS NULL"),
            postgresql_where=text("deleted_at IS NULL"),
        ),
    )


class VersionRow(Base):
    """One version of a document: what came in, what became of it. The newest ready one is the document."""

    __tablename__ = "document_versions"

    document_id: Mapped[str] = mapped_column(String(32), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16))
    title: Mapped[str] = mapped_column(String(500), default="")
    language: Mapped[str] = mapped_column(String(16), default="und")
    media_type: Mapped[str] = mapped_column(String(100), default="")
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    pages: Mapped[int | None]
    warnings: Mapped[str] = mapped_column(Text, default="[]")  # JSON list of sentences
    failure_code: Mapped[str | None] = mapped_column(String(64))
    failure_reason: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(String(32))
    # The large ones last: SQLite walks through all that lies before a column to reach it.
    blocks: Mapped[str | None] = mapped_column(Text)  # JSON list of [kind, start, end, page, section]
    text: Mapped[str | None] = mapped_column(Text)
    original: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (ForeignKeyConstraint(["document_id"], ["documents.id"], ondelete="CASCADE"),)


class ChunkRow(Base):
    """Chunks of current versions only: replacing or deleting a document removes its chunks and vectors."""

    __tablename__ = "chunks"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    collection_id: Mapped[str] = mapped_column(String(64))
    document_id: Mapped[str] = mapped_column(String(32))
    version: Mapped[int]
    ordinal: Mapped[int]
    start: Mapped[int]
    end: Mapped[int]
    page: Mapped[int | None]
    section: Mapped[str] = mapped_column(Text, default="")
    context: Mapped[str] = mapped_column(Text, default="")
    text: Mapped[str] = mapped_column(Text)
    vector: Mapped[bytes] = mapped_column(LargeBinary)  # float32, little-endian

    __table_args__ = (
        ForeignKeyConstraint(
            ["document_id", "version"],
            ["document_versions.document_id", "document_versions.version"],
            ondelete="CASCADE",
        ),
        Index("one_chunk_a_place", "document_id", "version", "ordinal", unique=True),
        Index("chunks_by_collection", "tenant_id", "collection_id"),
        # An id is never given out twice: a stale index must not find somebody else's passage under it.
        {"sqlite_autoincrement": True},
    )


class AccessRow(Base):
    """One entry of an access list: of a collection (`document_id` empty) or of a document."""

    __tablename__ = "access"

    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    collection_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    document_id: Mapped[str] = mapped_column(String(32), primary_key=True, default="")
    subject: Mapped[str] = mapped_column(String(80), primary_key=True)  # "everyone", "user:ana", "group:hr"
    effect: Mapped[str] = mapped_column(String(8))

    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "collection_id"], ["collections.tenant_id", "collections.id"]),
        CheckConstraint("effect in ('allow', 'deny')", name="known_effect"),
        Index("access_by_document", "document_id"),
    )


class ChangeRow(Base):
    """What happened, in order; indexes follow it. Rows outlive their collection: another may take its id."""

    __tablename__ = "changes"

    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    collection_id: Mapped[str] = mapped_column(String(64))
    # "collection": created or deleted, start afresh; "document": read its chunks and access again;
    # "access": read the collection's own access list again.
    kind: Mapped[str] = mapped_column(String(16))
    document_id: Mapped[str] = mapped_column(String(32), default="")
    at: Mapped[str] = mapped_column(String(32))

    __table_args__ = (
        ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        Index("changes_by_collection", "tenant_id", "collection_id", "number"),
    )


# --- work to do --------------------------------------------------------------------------------


class JobRow(Base):
    """One document version to be read, split and embedded."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    collection_id: Mapped[str] = mapped_column(String(64))
    document_id: Mapped[str] = mapped_column(String(32))
    version: Mapped[int]
    state: Mapped[str] = mapped_column(String(16))  # queued, running, done, failed
    attempts: Mapped[int] = mapped_column(default=0)
    lease_until: Mapped[float | None]  # seconds since the epoch; a dead worker's job is free again after it
    failure_code: Mapped[str | None] = mapped_column(String(64))
    failure_reason: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(String(32))
    finished_at: Mapped[str | None] = mapped_column(String(32))

    __table_args__ = (
        Index("jobs_by_state", "state", "created_at"),
        Index("jobs_by_tenant", "tenant_id", "created_at"),
    )
