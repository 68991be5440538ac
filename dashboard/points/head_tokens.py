"""Queries and keys of heads as a set of points: the first tokens of a corpus, in one head or in all, and all columns of them.

Columns of the corpus colour, size and filter the points. Every `read_...` function returns (panel, token, role); an axis that makes no
difference has length 1. Numbers are float64 with NaN for no value, categories int64 codes with -1 for no value.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.canvas.spec import grid_tokens
from dashboard.points.lasso import Lasso
from dashboard.points.point_set import Column, Values, column_named
from dashboard.points.search import matching_tokens
from dashboard.ui.theme import COLOURED
from dashboard.web.results import cached
from dashboard.web.state import Within
from store import STATISTICS, Corpus
from store.repository.errors import NotIngested
from store.schema.corpus import CONTINUATION, NO_WORD, OPENS, PUNCTUATION, SEP, SPECIAL, SYMBOL
from store.schema.model import ROLES

#: Vectors in memory at once; at least `CHUNK` tokens of each head, a chunk of the store.
VECTORS, CHUNK = 131_072, 2_048
Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]
#: Lowest number of occurrences of the second and later frequency bands; each band is about ten times the one before.
FREQUENCIES = (2, 10, 100, 1_000)
KINDS = ("[CLS]", "[SEP]", "full stop or comma", "symbol", "continuation", "word", "other special token")
#: AttentionViz colours [CLS] and [SEP] with the punctuation; here they are a category of their own beside it.
PUNCTUATION_NAMES = ("word", "punctuation", "[CLS] or [SEP]")
#: Target vector of a reach -> title of the column.
REACHES = {
    "cls": "share of [CLS]'s vector",
    "sentence": "share of the sentence vector",
    "word": "share of the mean word vector",
}
#: Names of the bands that begin at `FREQUENCIES`.
FREQUENCY_BANDS = ("once", "2 to 9 times", "10 to 99 times", "100 to 999 times", "1,000 times and more")


@dataclass(frozen=True)
class HeadTokens:
    """The first `tokens` tokens of a corpus in one head; without `layer` and `head`, in every head, one panel each."""

    corpus: Corpus
    tokens: int
    layer: int | None = None
    head: int | None = None

    @property
    def roles(self) -> tuple[str, ...]:
        """A query and a key of each token."""
        return ROLES

    @property
    def columns(self) -> dict[str, Column]:
        """All columns of the corpus."""
        return columns(self.corpus)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the token axis that are drawn."""
        return self.corpus.rows[: self.tokens]

    @property
    def panels(self) -> int:
        """Number of drawn heads."""
        return self.corpus.layers * self.corpus.heads if self.head is None else 1

    def places(self, view: str) -> NDArray[np.float32]:
        """Positions of the points in a view: (panel, token, role, component)."""
        places = self.corpus.places(view, self.rows, layer=self.layer, head=self.head)
        return places.reshape(self.panels, *places.shape[-3:])

    def read(self, column: Column) -> Values:
        """The values of a column: (panel, token, role), of length 1 where an axis makes no difference."""
        return column.read(self)

    def coloured_like(self, column: Column) -> "HeadTokens":
        """The points that decide which categories have colours: the grid's, so that all pictures agree; these if every category has one."""
        every_has_one = column.kind == "number" or 0 < len(column.names) <= COLOURED
        return self if every_has_one else replace(self, tokens=grid_tokens(self.corpus))

    def matching(self, q: str, within: Within) -> NDArray[np.bool_]:
        """Whether a search finds each token: (token,). Queries and keys of found tokens are selected."""
        return matching_tokens(self.corpus, q, within)[: self.tokens]

    def inside(self, region: Lasso) -> NDArray[np.bool_]:
        """Whether each point is inside a lasso in the head in which the lasso was drawn: (token, role)."""
        return region.holds(self.corpus.places(region.view, self.rows, layer=region.layer, head=region.head))

    def of_tokens(self, name: str) -> NDArray[np.integer]:
        """A coordinate of the tokens, such as `position`: (token,)."""
        values: NDArray[np.integer] = self.corpus.tokens[name].values[self.rows]
        return values

    def of_sentences(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """Values of each sentence, repeated for its tokens: (token,)."""
        return values[self.of_tokens("sentence_index")]

    def of_heads(self, array: xr.DataArray) -> NDArray[np.float32]:
        """A lazy array (layer, head, token), read: (panel, token)."""
        return self._read(array, self.rows)[..., 0]

    def lengths(self, vectors: xr.DataArray) -> NDArray[np.float32]:
        """Norms of lazy vectors (layer, head, token, channel), read tile by tile: (panel, token)."""
        parts = [np.linalg.norm(self._read(vectors, rows), axis=-1) for rows in self._tiles()]
        return np.concatenate(parts, axis=1)

    def _tiles(self) -> Iterator[NDArray[np.int64]]:
        tile = max(CHUNK, VECTORS // self.panels)
        return (self.rows[start : start + tile] for start in range(0, len(self.rows), tile))

    def _read(self, array: xr.DataArray, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Some rows of a lazy array, read: (panel, token, channel), one channel where the array has none."""
        of_head = {} if self.head is None else {"layer": self.layer, "head": self.head}
        start, stop = int(rows[0]), int(rows[-1]) + 1
        read = array.isel(of_head).isel(token=slice(start, stop)).values
        return read.reshape(self.panels, stop - start, -1)[:, rows - start].astype(np.float32)


def read_role(drawn: HeadTokens) -> Codes:
    """Role: 0 for a query, 1 for a key."""
    return np.broadcast_to(np.arange(2), (1, len(drawn.rows), 2))


def read_position(drawn: HeadTokens) -> Numbers:
    """Position in the sentence, 0 for [CLS]."""
    return _numbers(drawn.of_tokens("position"))


def read_position_share(drawn: HeadTokens) -> Numbers:
    """Normalised position: 0 for [CLS], 1 for the last token."""
    last = read_sentence_length(drawn) - 1
    return read_position(drawn) / np.where(last > 0, last, 1)


def read_position_modulo_5(drawn: HeadTokens) -> Codes:
    """Position modulo 5."""
    return _codes(drawn.of_tokens("position") % 5)


def read_kind(drawn: HeadTokens) -> Codes:
    """Token type as a code of `KINDS`, the first that applies."""
    return _codes(kinds_of(drawn.of_tokens("token_flags")))


def kinds_of(flags: NDArray[np.integer]) -> Codes:
    """Token types, as codes of `KINDS`, from token flags of any shape."""
    bits = {OPENS: 0, SEP: 1, PUNCTUATION: 2, SYMBOL: 3, CONTINUATION: 4, SPECIAL: 6}
    return np.select([flags & bit != 0 for bit in bits], list(bits.values()), 5).astype(np.int64)


def read_punctuation(drawn: HeadTokens) -> Codes:
    """Punctuation as a code of `PUNCTUATION_NAMES`; other special tokens have none."""
    flags = drawn.of_tokens("token_flags")
    bits = {OPENS | SEP: 2, PUNCTUATION | SYMBOL: 1, SPECIAL: -1}
    return _codes(np.select([flags & bit != 0 for bit in bits], list(bits.values()), 0))


def read_token_length(drawn: HeadTokens) -> Numbers:
    """Characters of the text that the wordpiece stands for; special tokens have none."""
    special = drawn.of_tokens("token_flags") & NO_WORD != 0
    return _numbers(np.where(special, np.nan, piece_lengths(drawn.corpus)[drawn.of_tokens("token_id")]))


def read_sentence_length(drawn: HeadTokens) -> Numbers:
    """Tokens of the sentence, with [CLS] and [SEP]."""
    return _numbers(drawn.of_sentences(drawn.corpus.sentences.row_size.values))


def read_frequency(drawn: HeadTokens) -> Numbers:
    """How often the wordpiece occurs in the whole corpus."""
    return _numbers(piece_counts(drawn.corpus)[drawn.of_tokens("token_id")])


def read_frequency_band(drawn: HeadTokens) -> Codes:
    """Frequency band as a code of `FREQUENCY_BANDS`."""
    return frequency_bands(read_frequency(drawn))


def frequency_bands(times: NDArray[np.number]) -> Codes:
    """Codes of `FREQUENCY_BANDS` from numbers of occurrences, of any shape."""
    return np.searchsorted(FREQUENCIES, times, side="right").astype(np.int64)


def read_norm(drawn: HeadTokens) -> Numbers:
    """Norm of the query vector and of the key vector."""
    lengths = [drawn.lengths(vectors) for vectors in (drawn.corpus.query, drawn.corpus.key)]
    return np.stack(lengths, axis=-1).astype(np.float64)


def read_value_norm(drawn: HeadTokens) -> Numbers:
    """Value norm ||f(x)|| (Kobayashi et al. 2020)."""
    return drawn.of_heads(drawn.corpus.value_norm).astype(np.float64)[..., None]


def read_statistic(drawn: HeadTokens, *, name: str) -> Numbers:
    """A statistic of the token's query: one of `store.STATISTICS`."""
    return drawn.of_heads(drawn.corpus.token_statistic.sel(statistic=name)).astype(np.float64)[..., None]


def read_given(drawn: HeadTokens) -> Numbers:
    """The share of a token's attention that goes to other tokens: 1 - p(i,i)."""
    return 1 - read_statistic(drawn, name="to_self")


def read_reach(drawn: HeadTokens, *, target: str) -> Numbers:
    """Share of the token in a vector after the last layer, over an even share (`store.reach`)."""
    return _numbers(last_reach(drawn.corpus, target)[drawn.rows])


def read_label(drawn: HeadTokens) -> Codes:
    """Label of the sentence's review, as a code of the data's label names."""
    return _codes(drawn.of_sentences(drawn.corpus.sentences.label.values))


def read_review(drawn: HeadTokens) -> Codes:
    """Number of the sentence's review in the data."""
    return _codes(drawn.of_sentences(drawn.corpus.sentences.document.values))


def read_word_category(drawn: HeadTokens, *, name: str) -> Codes:
    """Codes of a category of the token's word (`store.schema.corpus`)."""
    word = drawn.corpus.token_words[drawn.rows]
    return _codes(np.where(word >= 0, drawn.corpus.words.table[name].values[word], -1))


def read_data_column(drawn: HeadTokens, *, name: str) -> Codes:
    """Codes of a column of the data set."""
    return _codes(drawn.of_sentences(drawn.corpus.columns[name].values))


@cached
def piece_counts(corpus: Corpus) -> NDArray[np.int64]:
    """Occurrences of each wordpiece in the corpus: (vocab,)."""
    return np.bincount(corpus.tokens.token_id.values[corpus.rows], minlength=len(corpus.vocab))


@cached
def last_reach(corpus: Corpus, target: str) -> NDArray[np.float16]:
    """Reach of every token after the last layer: (row,)."""
    reach: NDArray[np.float16] = corpus.token_reach.sel(target=target).isel(layer=-1).values
    return reach


@cached
def piece_lengths(corpus: Corpus) -> NDArray[np.int64]:
    """Characters of the text that each wordpiece stands for: (vocab,)."""
    return np.fromiter((len(str(text)) for text in corpus.piece_texts), np.int64)


def _numbers(values: NDArray[np.generic]) -> Numbers:
    return values.astype(np.float64)[None, :, None]


def _codes(values: NDArray[np.generic]) -> Codes:
    return values.astype(np.int64)[None, :, None]


@cached
def columns(corpus: Corpus) -> dict[str, Column]:
    """All columns of a corpus by name, in the order of the menu."""
    own = [*_position_columns(), *_token_columns(), *_frequency_columns()]
    of_model = [*_head_columns(), *_reach_columns(corpus)]
    every = [*own, *of_model, *_word_columns(corpus), *_sentence_columns(corpus), *_data_columns(corpus)]
    return {column.name: column for column in every}


def column_of(corpus: Corpus, name: str) -> Column:
    """A column by its name. Raises StoreError for an unknown one."""
    return column_named(columns(corpus), name)


def _position_columns() -> list[Column]:
    return [
        Column("role", "query or key", "category", per_role=True, names=ROLES, read=read_role),
        Column("position", "position", unit="tokens", read=read_position),
        Column("position_share", "normalised position", unit="share", read=read_position_share),
        Column(
            "position_mod_5",
            "position modulo 5",
            "category",
            names=tuple("01234"),
            read=read_position_modulo_5,
        ),
    ]


def _token_columns() -> list[Column]:
    return [
        Column("kind", "token type", "category", names=KINDS, read=read_kind),
        Column("is_punctuation", "punctuation", "category", names=PUNCTUATION_NAMES, read=read_punctuation),
        Column("token_length", "wordpiece length", unit="characters", read=read_token_length),
        Column("sentence_length", "sentence length", unit="tokens", read=read_sentence_length),
    ]


def _frequency_columns() -> list[Column]:
    return [
        Column(
            "frequency",
            "wordpiece frequency",
            unit="times",
            logarithmic=True,
            read=read_frequency,
        ),
        Column(
            "frequency_band",
            "frequency band",
            "category",
            names=FREQUENCY_BANDS,
            read=read_frequency_band,
        ),
    ]


def _head_columns() -> list[Column]:
    """Columns that differ between heads. A statistic is of the token's query; its key has the same value."""
    statistics = [
        Column(name, known.title, unit=known.unit, per_head=True, read=partial(read_statistic, name=name))
        for name, known in STATISTICS.items()
    ]
    return [
        Column("norm", "query / key norm", per_head=True, per_role=True, read=read_norm),
        Column("value_norm", "value norm ‖f(x)‖", per_head=True, read=read_value_norm),
        *statistics,
        Column("given", "attention given to other tokens", unit="share", per_head=True, read=read_given),
    ]


def _reach_columns(corpus: Corpus) -> list[Column]:
    """Columns of what arrives of a token in vectors after the last layer; none of a store without reach."""
    try:
        targets = corpus.token_reach.target.values.tolist()
    except NotIngested:
        return []
    return [
        Column(f"reach_{target}", REACHES[target], unit="× even share", read=partial(read_reach, target=target))
        for target in targets
    ]


def _word_columns(corpus: Corpus) -> list[Column]:
    """Columns of the grammar of a token's word; none of a corpus without words. The title says gold or silver."""
    if not corpus.has_words:
        return []
    words = corpus.words
    titles = {"part_of_speech": "part of speech", "relation": "dependency", "tag": "tag", "entity": "entity"}
    names = {name: tuple(words.names(name)) for name in titles} | {"lemma": tuple(map(str, words.lemma_names))}
    return [
        Column(
            name,
            f"{titles.get(name, name)} ({words.kind})",
            "category",
            names=known,
            read=partial(read_word_category, name=name),
        )
        for name, known in names.items()
        if known
    ]


def _sentence_columns(corpus: Corpus) -> list[Column]:
    label = Column("label", "review label", "category", names=corpus.label_names, read=read_label)
    return [
        *([label] if corpus.label_names else []),
        Column("review", "review number", "category", read=read_review),
    ]


def _data_columns(corpus: Corpus) -> list[Column]:
    return [
        Column(
            f"data.{name}",
            str(array.attrs["title"]),
            "category",
            names=tuple(map(str, array.attrs["names"])),
            read=partial(read_data_column, name=str(name)),
        )
        for name, array in corpus.columns.items()
    ]
