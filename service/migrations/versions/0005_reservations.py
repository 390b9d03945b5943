"""Who holds room in the engine's KV cache and who waits for it, shared by all processes of the service."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "kv_reservations",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("engine", sa.String(length=300), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("priority", sa.String(length=16), nullable=False),
        sa.Column("blocks", sa.Integer(), nullable=False),
        sa.Column("until", sa.Float(precision=53), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("granted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kv_reservations")),
    )
    op.create_table(
        "kv_turns",
        sa.Column("engine", sa.String(length=300), nullable=False),
        sa.Column("priority", sa.String(length=16), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("engine", "priority", name=op.f("pk_kv_turns")),
    )


def downgrade() -> None:
    op.drop_table("kv_turns")
    op.drop_table("kv_reservations")
