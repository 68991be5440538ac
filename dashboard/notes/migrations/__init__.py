"""Migrations of the database of notes, which Alembic runs in their order."""
