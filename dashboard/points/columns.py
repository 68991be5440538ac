"""Everything a point can be coloured by, sized by and filtered by: the columns of a corpus, and how each is read.

Every `read_...` function returns (panel, token, role), with 1 for what makes no difference: numbers as float64 with NaN for
none, categories as int64 codes with -1 for none. `dashboard/points/colours.py` makes colours of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dashboard.points.drawn import Drawn
from dashboard.web.results import cached
from store import STATISTICS, Corpus, StoreError
from store.schema.corpus import CLS, CONTINUATION, NO_WORD, PUNCTUATION, SEP, SPECIAL, SYMBOL
from store.schema.model import ROLES

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]
#: Lowest number of occurrences of the second and later frequency bands; each band is about ten times the one before.
FREQUENCIES = (2, 10, 100, 1_000)
Kind = Literal["category", "number"]
Values = NDArray[np.float64 | np.int64]
KINDS = ("[CLS]", "[SEP]", "full stop or comma", "symbol", "continuation", "word", "other special token")
#: AttentionViz colours [CLS] and [SEP] with the punctuation; here they are a category of their own beside it.
PUNCTUATION_NAMES = ("word", "punctuation", "[CLS] or [SEP]")
#: Names of the bands that begin at `FREQUENCIES`.
FREQUENCY_BANDS = ("once", "2 to 9 times", "10 to 99 times", "100 to 999 times", "1,000 times and more")


def read_role(drawn: Drawn) -> Codes:
    """Role: 0 for a query, 1 for a key."""
    return np.broadcast_to(np.arange(2), (1, len(drawn.rows), 2))


def read_position(drawn: Drawn) -> Numbers:
    """Position in the sentence, 0 for [CLS]."""
    return _numbers(drawn.of_tokens("position"))


def read_position_share(drawn: Drawn) -> Numbers:
    """Normalised position: 0 for [CLS], 1 for the last token."""
    last = read_sentence_length(drawn) - 1
    return read_position(drawn) / np.where(last > 0, last, 1)


def read_position_modulo_5(drawn: Drawn) -> Codes:
    """Position modulo 5."""
    return _codes(drawn.of_tokens("position") % 5)


def read_kind(drawn: Drawn) -> Codes:
    """Token type as a code of `KINDS`, the first that applies."""
    return _codes(kinds_of(drawn.of_tokens("token_flags")))


def kinds_of(flags: NDArray[np.integer]) -> Codes:
    """Token types, as codes of `KINDS`, from token flags of any shape."""
    bits = {CLS: 0, SEP: 1, PUNCTUATION: 2, SYMBOL: 3, CONTINUATION: 4, SPECIAL: 6}
    return np.select([flags & bit != 0 for bit in bits], list(bits.values()), 5).astype(np.int64)


def read_punctuation(drawn: Drawn) -> Codes:
    """Punctuation as a code of `PUNCTUATION_NAMES`; other special tokens have none."""
    flags = drawn.of_tokens("token_flags")
    bits = {CLS | SEP: 2, PUNCTUATION | SYMBOL: 1, SPECIAL: -1}
    return _codes(np.select([flags & bit != 0 for bit in bits], list(bits.values()), 0))


def read_token_length(drawn: Drawn) -> Numbers:
    """Characters of the text that the wordpiece stands for; special tokens have none."""
    special = drawn.of_tokens("token_flags") & NO_WORD != 0
    return _numbers(np.where(special, np.nan, piece_lengths(drawn.corpus)[drawn.of_tokens("token_id")]))


def read_sentence_length(drawn: Drawn) -> Numbers:
    """Tokens of the sentence, with [CLS] and [SEP]."""
    return _numbers(drawn.of_sentences(drawn.corpus.sentences.row_size.values))


def read_frequency(drawn: Drawn) -> Numbers:
    """How often the wordpiece occurs in the whole corpus."""
    return _numbers(piece_counts(drawn.corpus)[drawn.of_tokens("token_id")])


def read_frequency_band(drawn: Drawn) -> Codes:
    """Frequency band as a code of `FREQUENCY_BANDS`."""
    return np.searchsorted(FREQUENCIES, read_frequency(drawn), side="right").astype(np.int64)


def read_norm(drawn: Drawn) -> Numbers:
    """Norm of the query vector and of the key vector."""
    lengths = [drawn.lengths(vectors) for vectors in (drawn.corpus.query, drawn.corpus.key)]
    return np.stack(lengths, axis=-1).astype(np.float64)


def read_value_norm(drawn: Drawn) -> Numbers:
    """Value norm ||f(x)|| (Kobayashi et al. 2020)."""
    return drawn.of_heads(drawn.corpus.value_norm).astype(np.float64)[..., None]


def read_statistic(drawn: Drawn, *, name: str) -> Numbers:
    """A statistic of the token's query: one of `store.STATISTICS`."""
    return drawn.of_heads(drawn.corpus.token_statistic.sel(statistic=name)).astype(np.float64)[..., None]


def read_given(drawn: Drawn) -> Numbers:
    """The share of a token's attention that goes to other tokens: 1 - p(i,i)."""
    return 1 - read_statistic(drawn, name="to_self")


def read_label(drawn: Drawn) -> Codes:
    """Label of the sentence's review, as a code of the data's label names."""
    return _codes(drawn.of_sentences(drawn.corpus.sentences.label.values))


def read_review(drawn: Drawn) -> Codes:
    """Number of the sentence's review in the data."""
    return _codes(drawn.of_sentences(drawn.corpus.sentences.document.values))


def read_word_category(drawn: Drawn, *, name: str) -> Codes:
    """Codes of a category of the token's word (`store.schema.corpus`)."""
    word = drawn.corpus.token_words[drawn.rows]
    return _codes(np.where(word >= 0, drawn.corpus.words.table[name].values[word], -1))


def read_data_column(drawn: Drawn, *, name: str) -> Codes:
    """Codes of a column of the data set."""
    return _codes(drawn.of_sentences(drawn.corpus.columns[name].values))


@cached
def piece_counts(corpus: Corpus) -> NDArray[np.int64]:
    """Occurrences of each wordpiece in the corpus: (vocab,)."""
    return np.bincount(corpus.tokens.token_id.values[corpus.rows], minlength=len(corpus.vocab))


@cached
def piece_lengths(corpus: Corpus) -> NDArray[np.int64]:
    """Characters of the text that each wordpiece stands for: (vocab,)."""
    return np.fromiter((len(str(text)) for text in corpus.piece_texts), np.int64)


def _numbers(values: NDArray[np.generic]) -> Numbers:
    return values.astype(np.float64)[None, :, None]


def _codes(values: NDArray[np.generic]) -> Codes:
    return values.astype(np.int64)[None, :, None]


@dataclass(frozen=True)
class Column:
    """A property of every point: a number, or one of a few categories.

    Attributes
    ----------
    title, unit
        As shown to a reader. The unit `share` is shown in per cent.
    per_head, per_role
        Whether it differs between heads, and between query and key of a token.
    names
        Category of each code; empty where the code itself is the category's number.
    logarithmic
        Whether its colour scale is logarithmic.
    """

    name: str
    title: str
    kind: Kind = "number"
    unit: str = ""
    per_head: bool = False
    per_role: bool = False
    names: tuple[str, ...] = ()
    logarithmic: bool = False
    read: Callable[[Drawn], Values] = field(default=read_position, repr=False, compare=False)

    def category(self, code: int) -> str:
        """Name of a category."""
        return self.names[code] if code < len(self.names) else f"{code}"

    def code(self, name: str) -> int | None:
        """Code of a category by its name; None for an unknown name."""
        if self.names:
            return self.names.index(name) if name in self.names else None
        return int(name) if name.isascii() and name.isdigit() and len(name) < 10 else None


@cached
def columns(corpus: Corpus) -> dict[str, Column]:
    """All columns of a corpus by name, in the order of the menu."""
    own = [*_of_positions(), *_of_tokens(), *_of_frequencies()]
    every = [*own, *_of_heads(), *_of_words(corpus), *_of_sentences(corpus), *_of_data(corpus)]
    return {column.name: column for column in every}


def column_of(corpus: Corpus, name: str) -> Column:
    """A column by its name."""
    column = columns(corpus).get(name)
    if column is None:
        raise StoreError(f"There is no column {name[:60]!r}. Choose one of {', '.join(columns(corpus))}.")
    return column


def values(column: Column, drawn: Drawn) -> Values:
    """The values of the drawn points: (panel, token, role), read-only.

    One panel where all heads share them. Numbers are float64 with NaN for none, categories int64 codes with -1 for none.
    """
    read = column.read(drawn)
    return np.broadcast_to(read, (len(read), len(drawn.rows), len(ROLES)))


def _of_positions() -> list[Column]:
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


def _of_tokens() -> list[Column]:
    return [
        Column("kind", "token type", "category", names=KINDS, read=read_kind),
        Column("is_punctuation", "punctuation", "category", names=PUNCTUATION_NAMES, read=read_punctuation),
        Column("token_length", "wordpiece length", unit="characters", read=read_token_length),
        Column("sentence_length", "sentence length", unit="tokens", read=read_sentence_length),
    ]


def _of_frequencies() -> list[Column]:
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


def _of_heads() -> list[Column]:
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


def _of_words(corpus: Corpus) -> list[Column]:
    """Grammar of a token's word, where the corpus has words; gold or silver stands in the title."""
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


def _of_sentences(corpus: Corpus) -> list[Column]:
    label = Column("label", "review label", "category", names=corpus.label_names, read=read_label)
    return [
        *([label] if corpus.label_names else []),
        Column("review", "review number", "category", read=read_review),
    ]


def _of_data(corpus: Corpus) -> list[Column]:
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
