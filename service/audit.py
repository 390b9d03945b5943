"""Who changed what, and when, kept for good. No text of a question, a document or an answer belongs in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ForeignKeyConstraint, Index, String, Text, insert, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from ingest.corpus.clock import now_utc
from ingest.corpus.tables import Base, BigKey

Value = str | int | None


class AuditRow(Base):
    """Rows are written and never changed; their ids are in the order of writing."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    tenant_id: Mapped[str] = mapped_column(String(64))
    at: Mapped[str] = mapped_column(String(32))
    actor: Mapped[str] = mapped_column(String(100))  # "user:root"; "command:NAME", an account of the machine
    action: Mapped[str] = mapped_column(String(64))  # "release.activate": what it is about, what was done
    target: Mapped[str] = mapped_column(String(200))
    details: Mapped[str] = mapped_column(Text)  # a flat JSON object

    __table_args__ = (
        ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        Index("audit_by_tenant", "tenant_id", "id"),
        {"sqlite_autoincrement": True},  # an id is never given out twice
    )


@dataclass(frozen=True, slots=True)
class Audited:
    at: str
    actor: str
    action: str
    target: str
    details: dict[str, Value]


def note(
    session: Session, tenant_id: str, actor: str, action: str, target: str, details: Mapping[str, Value]
) -> None:
    """In the transaction of the change itself: both are kept, or neither."""
    session.execute(
        insert(AuditRow).values(
            tenant_id=tenant_id,
            at=now_utc(),
            actor=actor,
            action=action,
            target=target,
            details=json.dumps(dict(details), ensure_ascii=False),
        )
    )


def list_audit(
    session: Session, tenant_id: str, most: int, actor: str | None = None, about: str | None = None
) -> tuple[Audited, ...]:
    """The newest first; None: of all.

    :param about: what an action begins with, as "release" or "release.activate".
    """
    wanted = (
        select(AuditRow.at, AuditRow.actor, AuditRow.action, AuditRow.target, AuditRow.details)
        .where(AuditRow.tenant_id == tenant_id)
        .order_by(AuditRow.id.desc())
        .limit(most)
    )
    if actor is not None:
        wanted = wanted.where(AuditRow.actor == actor)
    if about is not None:
        wanted = wanted.where(AuditRow.action.startswith(about, autoescape=True))
    rows = session.execute(wanted)
    return tuple(Audited(*row[:4], details=json.loads(row.details)) for row in rows)
