"""What Alembic runs: the migrations on the connection that `dashboard.notes.database` opened, in its transaction."""

from alembic import context

from dashboard.notes.note import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
