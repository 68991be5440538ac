"""Targets: what notes are about. A target names nothing that a refresh of the store changes: no snapshot, no row of an array.

A model is known by the SHA-256 of its weights, so a fine-tuned checkpoint is another model. A sentence is known by the hash
of its text, so a note on it fits every model whose corpus has the sentence.
"""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Annotated, ClassVar, Literal, Protocol, Self, get_args
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import numpy as np
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from dashboard.web.context import MAX_QUERY
from dashboard.web.errors import Refusal
from dashboard.web.paths import page_links, page_name, root
from dashboard.web.state import FIELDS, OF_SNAPSHOT, LinkState, encode_fields
from store import Corpus
from store.features import Features
from store.kernels.relations import DIRECTIONS
from store.phrases import whole_number
from store.schema.features import SAMPLE, point_title
from store.schema.model import head_name

Kind = Literal["head", "token", "sentence", "pair", "point", "view"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: Most characters of a target's title; a longer title is cut.
TITLE = 300
Model = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
SentenceHash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Index = Annotated[int, Field(ge=0, le=99_999_999)]
Name = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f]*$")]
Link = Annotated[str, StringConstraints(max_length=MAX_QUERY, pattern=r"^/[a-z_]*(\?[^\x00-\x20]*)?$")]
_UNKNOWN = "This is nothing that a note can be about. Reload the page and open the note from there."
_LINK = "This is not the link of a page. Copy the link of a page with the button in its header."


@dataclass(frozen=True)
class Target:
    """The target of a note: each kind is a class below, and `parse_target` reads a key."""

    kind: ClassVar[Kind]

    @property
    def key(self) -> str:
        """The target as a text, the same on every server: `head/<weights>/3/7`."""
        return "/".join([self.kind, *(quote(str(part), safe="") for part in astuple(self))])

    def fits(self, corpus: Corpus) -> bool:
        """Whether the model and its corpus still have the target."""
        return self.href(corpus) is not None

    def title(self, corpus: Corpus) -> str:
        """The title of the target in a corpus that it fits."""
        raise NotImplementedError

    def href(self, corpus: Corpus) -> str | None:
        """The link that opens the target; None where the model or its corpus lacks it."""
        raise NotImplementedError


@dataclass(frozen=True)
class HeadTarget(Target):
    """A head of a model, on any corpus."""

    kind = "head"
    model: Model
    layer: Index
    head: Index

    @classmethod
    def of(cls, corpus: Corpus, layer: int, head: int) -> Self:
        """A head of this model."""
        return cls(model_identity(corpus), layer, head)

    def title(self, _corpus: Corpus) -> str:
        """The name of the head, such as `L3 H7`."""
        return head_name(self.layer, self.head)

    def href(self, corpus: Corpus) -> str | None:
        """A link to page Head."""
        if self.model != model_identity(corpus) or self.layer >= corpus.layers or self.head >= corpus.heads:
            return None
        return _opened(corpus, "head").with_(layer=self.layer, head=self.head).href


@dataclass(frozen=True)
class SentenceTarget(Target):
    """A sentence, in any corpus; of two equal sentences of a corpus the first is opened."""

    kind = "sentence"
    sentence: SentenceHash

    @classmethod
    def of(cls, corpus: Corpus, sentence: int) -> Self:
        """A sentence by its index in the corpus."""
        return cls(sentence_name(corpus, sentence))

    def title(self, corpus: Corpus) -> str:
        """The text of the sentence."""
        return _text(corpus, find_sentence(corpus, self.sentence))

    def href(self, corpus: Corpus) -> str | None:
        """A link to page Sentence."""
        sentence = find_sentence(corpus, self.sentence)
        return None if sentence is None else _opened(corpus, "sentence").of_sentence(sentence).href


@dataclass(frozen=True)
class TokenTarget(Target):
    """A wordpiece at its position in a sentence; another tokenizer has another wordpiece there."""

    kind = "token"
    sentence: SentenceHash
    position: Index
    wordpiece: Name

    @classmethod
    def of(cls, corpus: Corpus, token: int) -> Self:
        """A token by its number in the corpus, as the field `token` of a link."""
        row = int(corpus.rows[token])
        sentence = int(corpus.tokens.sentence_index.values[row])
        return cls.at(corpus, sentence, int(corpus.tokens.position.values[row]))

    @classmethod
    def at(cls, corpus: Corpus, sentence: int, position: int) -> Self:
        """A token by its position in a sentence of the corpus."""
        row = int(corpus.sentences.row_start.values[sentence]) + position
        return cls(sentence_name(corpus, sentence), position, corpus.wordpieces(slice(row, row + 1))[0])

    def token(self, corpus: Corpus) -> int | None:
        """Number of the token in the corpus; None where the corpus lacks it."""
        sentence = find_sentence(corpus, self.sentence)
        if sentence is None or self.position >= int(corpus.sentences.row_size.values[sentence]):
            return None
        row = int(corpus.sentences.row_start.values[sentence]) + self.position
        same = corpus.wordpieces(slice(row, row + 1)) == [self.wordpiece]
        return int(np.searchsorted(corpus.rows, row)) if same else None

    def title(self, corpus: Corpus) -> str:
        """The wordpiece in its sentence."""
        text = _text(corpus, find_sentence(corpus, self.sentence))
        return f"{self.wordpiece}, position {self.position} in: {text}"[:TITLE]

    def href(self, corpus: Corpus) -> str | None:
        """A link to page Sentence with the token as the selected query."""
        sentence = find_sentence(corpus, self.sentence)
        if sentence is None or self.token(corpus) is None:
            return None
        return _opened(corpus, "sentence").of_sentence(sentence, queries=str(self.position)).href


@dataclass(frozen=True)
class PairTarget(Target):
    """Two words of a sentence that a relation joins, by their numbers in the sentence; another spelling means another annotation."""

    kind = "pair"
    sentence: SentenceHash
    source: Index
    target: Index
    relation: Name
    direction: Annotated[str, Field(pattern=f"^({'|'.join(DIRECTIONS)})$")]
    spelling: Name

    @classmethod
    def of(cls, corpus: Corpus, sentence: int, source: int, target: int, relation: str, direction: str) -> Self:
        """Two words by their numbers in a sentence of the corpus."""
        spelling = _spelling(corpus, sentence, source, target)
        return cls(sentence_name(corpus, sentence), source, target, relation, direction, spelling)

    def title(self, corpus: Corpus) -> str:
        """The words, the relation and the sentence."""
        text = _text(corpus, find_sentence(corpus, self.sentence))
        return f"{self.spelling} ({self.relation}, {self.direction}) in: {text}"[:TITLE]

    def href(self, corpus: Corpus) -> str | None:
        """A link to page Sentence with the first wordpieces of both words selected."""
        sentence = find_sentence(corpus, self.sentence)
        if sentence is None or not corpus.has_words:
            return None
        rows = corpus.words.rows(sentence)
        if max(self.source, self.target) >= rows.stop - rows.start:
            return None
        if _spelling(corpus, sentence, self.source, self.target) != self.spelling:
            return None
        start = corpus.words.table.token_start.values[rows]
        selected = {"queries": str(start[self.source]), "toward": int(start[self.target])}
        return _opened(corpus, "sentence").of_sentence(sentence, **selected).href


@dataclass(frozen=True)
class PointTarget(Target):
    """A feature point of a model, or a token at it.

    Attributes
    ----------
    point
        Stored name of the point, such as `L03.mixed`.
    token_set, token
        Both empty for the feature point itself. A token of the sample is `<sentence hash>-<position>`, so that a larger sample
        has it too; a token of a whole review is `<corpus>-<number in the review>`.
    """

    kind = "point"
    model: Model
    point: Name
    token_set: Name = ""
    token: Name = ""

    @classmethod
    def of(cls, corpus: Corpus, point: str) -> Self:
        """A feature point of this model."""
        return cls(model_identity(corpus), point)

    @classmethod
    def at(cls, corpus: Corpus, point: str, features: Features, token: int) -> Self:
        """A token of a token set, by its number in the set, at a feature point."""
        return cls(model_identity(corpus), point, features.name, _token_name(corpus, features, token))

    def number(self, corpus: Corpus) -> int | None:
        """The token's number in its token set; None where the corpus lacks it, and for a feature point itself."""
        if not self.token or self.token_set not in corpus.token_sets:
            return None
        features, (place, _, index) = corpus.features(self.token_set), self.token.rpartition("-")
        number = whole_number(index)
        if number is None:
            return None
        if self.token_set == SAMPLE:
            return _in_sample(corpus, features, place, number)
        return number if place == corpus_identity(corpus) and number < features.n_tokens else None

    def title(self, corpus: Corpus) -> str:
        """The feature point, and the token."""
        number = self.number(corpus)
        piece = "" if number is None else f"{corpus.features(self.token_set).wordpieces()[number]} at "
        return f"{piece}{point_title(self.point)}"

    def href(self, corpus: Corpus) -> str | None:
        """A link to page Features with the large panel of the point, and the token selected."""
        token_set = self.token_set or next(iter(corpus.token_sets), "")
        if self.model != model_identity(corpus) or token_set not in corpus.token_sets:
            return None
        number = self.number(corpus)
        if self.point not in corpus.features(token_set).points or (self.token and number is None):
            return None
        material = None if token_set == SAMPLE else token_set
        return _opened(corpus, "features").with_(point=self.point, material=material, ftoken=number).href


@dataclass(frozen=True)
class ViewTarget(Target):
    """A whole view: a model on a corpus, and a link without snapshot, model and camera."""

    kind = "view"
    model: Model
    corpus: Name
    link: Link

    @classmethod
    def of(cls, corpus: Corpus, state: LinkState) -> Self:
        """The view that a state shows of this corpus."""
        return cls(model_identity(corpus), corpus_identity(corpus), lasting_link(state.with_(at=None).href))

    def title(self, _corpus: Corpus) -> str:
        """The page of the view."""
        return f"page {self.link.partition('?')[0].strip('/') or 'overview'}"

    def href(self, corpus: Corpus) -> str | None:
        """The link of the view, with the key of the model in this store."""
        if (self.model, self.corpus) != (model_identity(corpus), corpus_identity(corpus)):
            return None
        return link_of_model(self.link, corpus)


_CLASSES: Mapping[str, type[Target]] = {
    each.kind: each for each in (HeadTarget, TokenTarget, SentenceTarget, PairTarget, PointTarget, ViewTarget)
}
_READERS: Mapping[str, TypeAdapter[Target]] = {kind: TypeAdapter(each) for kind, each in _CLASSES.items()}


def parse_target(key: str) -> Target:
    """The target of a key. Refusal where the key has no target."""
    kind, *parts = key.split("/")
    names = [field.name for field in fields(_CLASSES[kind])] if kind in _CLASSES else []
    if not names or len(parts) != len(names) or len(key) > 4 * MAX_QUERY:
        raise Refusal(_UNKNOWN)
    try:
        values = dict(zip(names, map(unquote, parts, ["utf-8"] * len(parts), ["strict"] * len(parts)), strict=True))
        return _READERS[kind].validate_python(values)
    except (ValidationError, UnicodeError) as error:
        raise Refusal(_UNKNOWN) from error


class Opened(Protocol):
    """A target or a saved view, which a link opens in a corpus that it fits."""

    def href(self, corpus: Corpus) -> str | None:
        """The link; None where it does not fit."""


def link_to(opened: Opened, corpora: Iterable[Corpus]) -> str | None:
    """The link that opens a target or view in the first corpus that it fits; None where it fits no corpus."""
    links = (opened.href(corpus) for corpus in corpora)
    return next((link for link in links if link is not None), None)


def lasting_link(href: str) -> str:
    """A link of a page without prefix, snapshot and model: the same after a refresh. Refusal where it is no link of a page.

    A link in a file of notes has no prefix, and may begin with the name of one: page `/head` under the prefix `/he`.
    """
    try:
        parts = urlsplit(href[: MAX_QUERY + 1])
        written = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise Refusal(_LINK) from error
    page = page_name(parts.path)
    is_page = page in ("", *page_links()) and parts.path in (f"/{page}", f"{root()}/{page}")
    if len(href) > MAX_QUERY or parts.scheme or parts.netloc or not is_page:
        raise Refusal(_LINK)
    lasting = {name: value for name, value in written.items() if name in FIELDS and name not in OF_SNAPSHOT}
    return f"/{page}" + (f"?{encode_fields(lasting)}" if lasting else "")


def link_of_model(link: str, corpus: Corpus) -> str:
    """A lasting link with the key of a model."""
    page, _, query = link.partition("?")
    return f"{root()}{page}?{encode_fields({'model': corpus.name})}" + (f"&{query}" if query else "")


def model_identity(corpus: Corpus) -> str:
    """Identity of a model: the same in every store and after every refresh, another one for another checkpoint."""
    return str(corpus.attributes["weights_sha256"])


def corpus_identity(corpus: Corpus) -> str:
    """Identity of a corpus: the same after every refresh; other data, another splitter or tokenizer make another corpus."""
    return str(corpus.attributes["corpus"])


def sentence_name(corpus: Corpus, sentence: int) -> str:
    """The hash of a sentence of the corpus as hexadecimal digits."""
    return f"{int(corpus.sentences.sentence_hash.values[sentence]):016x}"


def find_sentence(corpus: Corpus, name: str) -> int | None:
    """The first sentence with this hash; sentences are in the order of their hashes."""
    hashes, wanted = corpus.sentences.sentence_hash.values, np.uint64(int(name, 16))
    place = int(np.searchsorted(hashes, wanted))
    return place if place < len(hashes) and hashes[place] == wanted else None


def _opened(corpus: Corpus, page: str) -> LinkState:
    return LinkState(page=page, model=corpus.name)


def _text(corpus: Corpus, sentence: int | None) -> str:
    return "" if sentence is None else str(corpus.sentences.text.values[sentence])[:TITLE]


def _spelling(corpus: Corpus, sentence: int, source: int, target: int) -> str:
    words = corpus.words.texts(corpus.words.rows(sentence))
    return f"{words[source][:80]} → {words[target][:80]}"


def _token_name(corpus: Corpus, features: Features, token: int) -> str:
    if features.name != SAMPLE:
        return f"{corpus_identity(corpus)}-{token}"
    sentence = int(features.tokens.sentence_index.values[token])
    return f"{sentence_name(corpus, sentence)}-{int(features.tokens.position.values[token])}"


def _in_sample(corpus: Corpus, features: Features, name: str, position: int) -> int | None:
    try:
        sentence = find_sentence(corpus, name)
    except (ValueError, OverflowError):
        return None
    own = features.tokens
    there = np.flatnonzero((own.sentence_index.values == sentence) & (own.position.values == position))
    return int(there[0]) if len(there) else None
