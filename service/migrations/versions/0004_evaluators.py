"""A third role: evaluators."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None
NAME = "ck_users_known_role"


def upgrade() -> None:
    _know("'admin', 'evaluator', 'reader'")


def downgrade() -> None:
    """An evaluator becomes a reader, who may see less."""
    op.execute("UPDATE users SET role = 'reader' WHERE role = 'evaluator'")
    _know("'admin', 'reader'")


def _know(roles: str) -> None:
    with op.batch_alter_table("users") as users:
        users.drop_constraint(op.f(NAME), type_="check")
        users.create_check_constraint(op.f(NAME), f"role in ({roles})")
