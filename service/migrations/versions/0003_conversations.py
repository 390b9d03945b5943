"""The conversation that an answer belongs to."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("answers") as answers:
        answers.add_column(sa.Column("conversation_id", sa.String(length=32), nullable=True))
    op.create_index(
        "answers_by_conversation", "answers", ["tenant_id", "user_id", "conversation_id", "created_at"]
    )


def downgrade() -> None:
    op.drop_index("answers_by_conversation", "answers")
    with op.batch_alter_table("answers") as answers:
        answers.drop_column("conversation_id")
