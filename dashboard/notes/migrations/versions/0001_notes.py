"""Create the tables of notes, their tags and former texts, and of saved views."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NOTES, TAGS, FORMER_TEXTS, VIEWS = "headscape_notes", "headscape_tags", "headscape_former_texts", "headscape_views"


def upgrade() -> None:
    """Create everything."""
    _notes()
    _of_notes()
    _views()


def downgrade() -> None:
    """Drop everything."""
    for table in (VIEWS, FORMER_TEXTS, TAGS, NOTES):
        op.drop_table(table)


def _text(name: str, length: int, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(length), nullable=nullable)


def _origin() -> list[sa.Column[str]]:
    return [_text(name, 200) for name in ("model", "model_name", "corpus", "corpus_name")]


def _notes() -> None:
    op.create_table(
        NOTES,
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("parent", sa.String(36), sa.ForeignKey(f"{NOTES}.id")),
        _text("kind", 10),
        sa.Column("target", sa.Text, nullable=False),
        _text("place", 64),
        _text("title", 300),
        *_origin(),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False),
        _text("author", 200),
        _text("created", 32),
        _text("edited", 32),
        sa.Column("version", sa.Integer, nullable=False),
        _text("deleted", 32, nullable=True),
        _text("imported_by", 200, nullable=True),
    )
    for column in ("parent", "place", "author", "model"):
        op.create_index(f"ix_{NOTES}_{column}", NOTES, [column])


def _of_notes() -> None:
    """Tables of which a note has several rows."""
    tag = sa.Column("tag", sa.String(80), primary_key=True)
    op.create_table(TAGS, _note(), tag, sa.Column("number", sa.Integer, nullable=False))
    op.create_index(f"ix_{TAGS}_tag", TAGS, ["tag"])
    op.create_table(
        FORMER_TEXTS,
        _note(),
        sa.Column("edited", sa.String(32), primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("tags", sa.Text, nullable=False),
    )


def _note() -> sa.Column[str]:
    return sa.Column("note", sa.String(36), sa.ForeignKey(f"{NOTES}.id", ondelete="CASCADE"), primary_key=True)


def _views() -> None:
    op.create_table(
        VIEWS,
        sa.Column("id", sa.String(36), primary_key=True),
        _text("name", 100),
        _text("folded", 300),
        sa.Column("link", sa.Text, nullable=False),
        *_origin(),
        _text("author", 200),
        _text("created", 32),
        sa.UniqueConstraint("corpus", "folded", name=f"uq_{VIEWS}_corpus"),
    )
