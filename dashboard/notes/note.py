"""Notes with their replies and former texts, saved views, and what may be written in them."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from dashboard.notes.target import Target, corpus_identity, link_of_model, model_identity
from dashboard.web.bounds import short_name
from dashboard.web.errors import Refusal
from store import Corpus

#: Characters of a note, tags of it and characters of a tag, characters of a saved view's name.
MOST_TEXT, MOST_TAGS, MOST_TAG, MOST_NAME = 10_000, 20, 40, 100
#: Marks, embeddings, overrides and isolates of the direction of a text.
_DIRECTION = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
#: Characters of a search.
MOST_SOUGHT = 200


@dataclass(frozen=True)
class Origin:
    """The model and the corpus that somebody looked at when they wrote: identities, and names for people."""

    model: str
    model_name: str
    corpus: str
    corpus_name: str

    @classmethod
    def of(cls, corpus: Corpus) -> "Origin":
        """What an opened corpus is of."""
        name = str(corpus.corpus_attributes["name"])
        return cls(model_identity(corpus), short_name(corpus)[:200], corpus_identity(corpus), name[:200])


@dataclass(frozen=True)
class Draft:
    """What an author writes: Markdown and tags; `checked_draft` makes one."""

    text: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Note:
    """A note or a reply.

    Attributes
    ----------
    title
        What its target was called when it was written.
    parent
        Of a reply, the note that it replies to.
    version
        1, and one more with each edit; an edit names the version that its author read.
    edited
        When the newest version was written.
    deleted
        When it was deleted; its text and tags are then empty.
    imported_by
        Who imported it from a file, where that was not its author.
    """

    id: str
    target: Target
    title: str
    origin: Origin
    text: str
    tags: tuple[str, ...]
    author: str
    created: datetime
    edited: datetime
    version: int = 1
    parent: str | None = None
    deleted: datetime | None = None
    imported_by: str | None = None


@dataclass(frozen=True)
class FormerText:
    """What a note was before an edit."""

    version: int
    text: str
    tags: tuple[str, ...]
    edited: datetime


@dataclass(frozen=True)
class Thread:
    """A note and its replies, the oldest first."""

    note: Note
    replies: tuple[Note, ...] = ()


@dataclass(frozen=True)
class SavedView:
    """A link with a name, which is unique among the saved views of a corpus."""

    id: str
    name: str
    link: str
    origin: Origin
    author: str
    created: datetime

    def href(self, corpus: Corpus) -> str | None:
        """The link to it in a corpus; None where model or corpus is another one."""
        if (self.origin.model, self.origin.corpus) != (model_identity(corpus), corpus_identity(corpus)):
            return None
        return link_of_model(self.link, corpus)


def now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """The id of a new note or saved view."""
    return str(uuid4())


def checked_id(text: str) -> str:
    """An id that a browser made, in its one spelling. Refusal where it is none."""
    try:
        return str(UUID(text))
    except (ValueError, AttributeError) as error:
        raise Refusal("This is not the id of a note. Reload the page.") from error


def checked_draft(text: str, tags: Iterable[str]) -> Draft:
    """What an author has written, without blanks around it. Refusal where it is empty or too long."""
    written, each = checked_text(text).strip(), tuple(dict.fromkeys(filter(None, map(checked_tag, tags))))
    if not written:
        raise Refusal("The note is empty. Write something.")
    if len(written) > MOST_TEXT:
        raise Refusal(f"The note has {len(written):,} characters. Shorten it to {MOST_TEXT:,}.")
    if len(each) > MOST_TAGS:
        raise Refusal(f"The note has {len(each)} tags. Keep at most {MOST_TAGS}.")
    return Draft(written, each)


def checked_tag(text: str) -> str:
    """A tag in lower case with single blanks; Refusal where it is too long."""
    tag = " ".join(folded(without_direction(checked_text(text))).replace(",", " ").split())
    if len(tag) > MOST_TAG:
        raise Refusal(f"The tag “{tag[:MOST_TAG]}...” is too long. Shorten it to {MOST_TAG} characters.")
    return tag


def checked_name(text: str) -> str:
    """The name of a saved view, with single blanks; Refusal where it is empty or too long."""
    name = " ".join(without_direction(checked_text(text)).split())
    if not name:
        raise Refusal("The view has no name. Give it one.")
    if len(name) > MOST_NAME:
        raise Refusal(f"The name has {len(name):,} characters. Shorten it to {MOST_NAME}.")
    return name


def checked_text(text: str) -> str:
    """A text that every database can hold; Refusal where it has half a character or a control character."""
    if any(unicodedata.category(letter) == "Cs" or (letter < " " and letter not in "\t\n\r") for letter in text):
        raise Refusal("The text has characters that cannot be stored. Remove control characters and send it again.")
    return text


def without_direction(text: str) -> str:
    """A name without the characters by which it could turn the direction of what stands around it (UAX 9)."""
    return text.translate(_DIRECTION)


def folded(text: str) -> str:
    """A text as searches compare it: without differences of case or of composed accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
