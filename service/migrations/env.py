"""What Alembic runs to apply the migrations: the connection is handed in by `service/migrate.py`."""

from alembic import context

from ingest.corpus.tables import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata)
with context.begin_transaction():
    context.run_migrations()
