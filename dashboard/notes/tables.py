"""The tables of the database. A change here needs a migration in `migrations/versions`, and a new `REVISION`."""

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

#: The newest migration.
REVISION = "0001"
#: Where Alembic notes which migrations have run; a PostgreSQL database may be shared with other programs.
VERSION_TABLE = "headscape_version"

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "uq": "uq_%(table_name)s_%(column_0_name)s"}
)

_ORIGIN = ("model", "model_name", "corpus", "corpus_name")


def _origin() -> list[Column[str]]:
    return [Column(name, String(200), nullable=False) for name in _ORIGIN]


def _time(name: str, *, nullable: bool = False) -> Column[str]:
    """A time as a text of one length, which sorts as the times do: `2026-11-24T22:08:45.786028+00:00`."""
    return Column(name, String(32), nullable=nullable)


notes = Table(
    "headscape_notes",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("parent", String(36), ForeignKey("headscape_notes.id"), index=True),
    Column("kind", String(10), nullable=False),
    Column("target", Text, nullable=False),  # the key; too long for an index, so `place` is its hash
    Column("place", String(64), nullable=False, index=True),
    Column("title", String(300), nullable=False),
    *_origin(),
    Column("text", Text, nullable=False),
    Column("folded", Text, nullable=False),  # what a search reads
    Column("author", String(200), nullable=False, index=True),
    _time("created"),
    _time("edited"),
    Column("version", Integer, nullable=False),
    _time("deleted", nullable=True),
    Column("imported_by", String(200)),
    Index("ix_headscape_notes_model", "model"),
)

tags = Table(
    "headscape_tags",
    metadata,
    Column("note", String(36), ForeignKey("headscape_notes.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", String(80), primary_key=True, index=True),
    Column("number", Integer, nullable=False),  # in the order of their author
)

former_texts = Table(
    "headscape_former_texts",
    metadata,
    Column("note", String(36), ForeignKey("headscape_notes.id", ondelete="CASCADE"), primary_key=True),
    Column("edited", String(32), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("tags", Text, nullable=False),  # as JSON
)

views = Table(
    "headscape_views",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("folded", String(300), nullable=False),
    Column("link", Text, nullable=False),
    *_origin(),
    Column("author", String(200), nullable=False),
    _time("created"),
    UniqueConstraint("corpus", "folded"),
)
