"""Which release of prompt and policy is in force, and the log of who changed what."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "activations",
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("release", sa.String(length=200), nullable=False),
        sa.Column("previous", sa.String(length=200), nullable=False),
        sa.Column("share", sa.Integer(), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("gate", sa.Text(), nullable=True),
        sa.Column("override_reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "action in ('activate', 'canary', 'rollback')", name=op.f("ck_activations_known_action")
        ),
        sa.CheckConstraint("share between 1 and 100", name=op.f("ck_activations_share_in_percent")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_activations_tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "number", name=op.f("pk_activations")),
    )
    op.create_table(
        "audit",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("tenant_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_audit_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_tenant", "audit", ["tenant_id", "id"])


def downgrade() -> None:
    """Then the shipped release is in force for everybody, as before there was another."""
    op.drop_table("audit")
    op.drop_table("activations")
