"""Activations as they are stored, and the three ways to add one: for all, for a share, and back."""

from __future__ import annotations

import json
from dataclasses import asdict

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Integer, String, Text, insert, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from ingest.corpus.clock import now_utc
from ingest.corpus.errors import Conflict, InvalidInput
from ingest.corpus.tables import Base
from service.audit import note
from service.releases.release import ALL
from service.releases.standing import Action, Activation, Grounds, Standing, standing


class ActivationRow(Base):
    """Rows are added and never changed; the newest one of a tenant says what is in force there."""

    __tablename__ = "activations"

    tenant_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    action: Mapped[str] = mapped_column(String(16))
    release: Mapped[str] = mapped_column(String(200))
    previous: Mapped[str] = mapped_column(String(200))
    share: Mapped[int]
    actor: Mapped[str] = mapped_column(String(100))
    at: Mapped[str] = mapped_column(String(32))
    gate: Mapped[str | None] = mapped_column(Text)  # JSON
    override_reason: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        CheckConstraint("action in ('activate', 'canary', 'rollback')", name="known_action"),
        CheckConstraint("share between 1 and 100", name="share_in_percent"),
    )


def newest_activation(session: Session, tenant_id: str) -> Activation | None:
    """What is in force; None: nobody has activated anything. One row by its key: asked for each question."""
    row = session.scalars(
        select(ActivationRow)
        .where(ActivationRow.tenant_id == tenant_id)
        .order_by(ActivationRow.number.desc())
        .limit(1)
    ).first()
    return None if row is None else _activation(row)


def activation_history(session: Session, tenant_id: str) -> tuple[Activation, ...]:
    """The oldest first."""
    rows = session.scalars(
        select(ActivationRow).where(ActivationRow.tenant_id == tenant_id).order_by(ActivationRow.number)
    )
    return tuple(_activation(row) for row in rows)


def activate(
    session: Session,
    tenant_id: str,
    release: str,
    share: int,
    actor: str,
    shipped: str,
    grounds: Grounds | None,
) -> Activation:
    """Put a release in force for `share` percent of the users, from the next question on.

    :param grounds: None: those of the canary that it is in already.
    :raises InvalidInput: for a share that is none, or if there are no grounds.
    :raises Conflict: if it is in force for everybody already, or another change came first.
    """
    if not 1 <= share <= ALL:
        raise InvalidInput(
            f"The share is {share} %.", next_step="Give 1 to 99, or 100 for everybody.", field="share"
        )
    history = activation_history(session, tenant_id)
    now = standing(history, shipped)
    if release == now.in_force:
        raise Conflict(
            f"{release} is in force already.",
            why="Nothing would change." if now.canary is None else "A canary runs beside it.",
            next_step="" if now.canary is None else "`citeward prompts rollback` ends the canary.",
        )
    action: Action = "activate" if share == ALL else "canary"
    return _add(
        session, tenant_id, len(history), action, release, now.in_force, share, actor,
        grounds or _grounds_of_canary(now, release),
    )  # fmt: skip


def roll_back(session: Session, tenant_id: str, actor: str, shipped: str) -> Activation:
    """End the canary if there is one; else back to what was in force for everybody before.

    :raises Conflict: if nothing was in force before, or another change came first.
    """
    history = activation_history(session, tenant_id)
    now = standing(history, shipped)
    if now.canary is not None:
        back, away = now.in_force, now.canary.release
    elif len(now.stable) > 1:
        back, away = now.stable[-2], now.in_force
    else:
        raise Conflict(
            "There is nothing to go back to.",
            why=f"{now.in_force} is in force as it was shipped.",
            next_step="Activate another release.",
        )
    return _add(session, tenant_id, len(history), "rollback", back, away, ALL, actor, None)


def _grounds_of_canary(now: Standing, release: str) -> Grounds:
    """:raises InvalidInput: if it is in no canary."""
    if now.canary is None or now.canary.release != release or now.canary.grounds is None:
        raise InvalidInput(
            f"Nothing says that {release} may be put in force.",
            why="A release needs a gate run that it has passed.",
            next_step="Give the result of `citeward eval gate SET --baseline … --release … --out FILE`, "
            "or override with a reason, which is kept.",
            field="gate",
        )
    return now.canary.grounds


def _add(
    session: Session,
    tenant_id: str,
    number: int,
    action: Action,
    release: str,
    previous: str,
    share: int,
    actor: str,
    grounds: Grounds | None,
) -> Activation:
    made = Activation(number + 1, action, release, previous, share, actor, now_utc(), grounds)
    gate = grounds.gate if grounds else None
    override = grounds.override if grounds else None
    values = asdict(made) | {"gate": gate and json.dumps(dict(gate)), "override_reason": override}
    del values["grounds"]
    session.execute(insert(ActivationRow).values(tenant_id=tenant_id, **values))
    proof = gate["sha256"] if gate else None
    details = {"previous": previous, "share": share, "gate": proof, "override": override}
    note(session, tenant_id, actor, f"release.{action}", release, details)
    return made


def _activation(row: ActivationRow) -> Activation:
    grounds = Grounds(None if row.gate is None else json.loads(row.gate), row.override_reason)
    action: Action = row.action  # type: ignore[assignment]  # the table's own constraint
    return Activation(
        row.number, action, row.release, row.previous, row.share, row.actor, row.at,
        None if action == "rollback" else grounds,
    )  # fmt: skip
