"""Sentences, tokens and words of a corpus, independent of a model; a wordpiece for pages, and a window of a long sentence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.repository.arrays import Groups, with_written_attributes
from store.repository.errors import NotIngested, check_index
from store.schema.corpus import CONTINUATION, NO_WORD, PAD
from store.words import Words

#: Name of an answer of a classifier without names.
NUMBER = re.compile(r"(LABEL_)?\d+")
#: Tokens of a window: an ingest's default limit of a sentence.
WINDOW = 128


def match_labels(answers: Sequence[str], names: Sequence[str]) -> NDArray[np.int64] | None:
    """Index of a classifier's answer for each label of the data: by name; by number where the answers are numbers.

    None where the data has other labels than the classifier, or no labels.
    """
    by_name = {answer.lower(): number for number, answer in enumerate(answers)}
    if names and all(name.lower() in by_name for name in names):
        return np.array([by_name[name.lower()] for name in names])
    if len(names) == len(answers) and all(map(NUMBER.fullmatch, answers)):
        return np.arange(len(names))
    return None


@dataclass(frozen=True)
class Piece:
    """A wordpiece in a text.

    Attributes
    ----------
    name
        Its spelling in the vocabulary.
    text
        Its text, empty for white space.
    continues
        Whether it continues the word of the wordpiece before.
    special
        Whether it is a special token.
    """

    name: str
    text: str
    continues: bool
    special: bool

    @property
    def spaced(self) -> str:
        """The text of the wordpiece, after a space unless it continues a word."""
        return self.text if self.continues else f" {self.text}"


TOKEN_COORDINATES = ("token_id", "position", "word_index", "sentence_index", "token_flags")


SENTENCE_ARRAYS = ("row_start", "row_size", "label", "document", "sentence_hash", "text")


#: Sentences whose text is read at a time: the size of a chunk.
TEXTS_AT_ONCE = 4096


REMEDY = "Run `headscape ingest`."


WORDS_REMEDY = "Run `headscape ingest`; where the text is not English, with --annotate=<spaCy pipeline>."


class CorpusText:
    """The first sentences of a corpus, those with vectors of a model. Every array is read when it is first used.

    Later sentences, which are counted without vectors, have texts, labels and wordpieces.

    Attributes
    ----------
    corpus_attributes
        Provenance of the sentences and tokens.
    n_sentences, n_tokens
        Sizes. Padding is not counted.
    counted_sentences, counted_tokens
        Sizes of all sentences that the model was run on; statistics of heads and layers are means over them.
    block
        Rows of the token axis that were encoded at once; no sentence crosses a block.
    """

    def __init__(
        self, groups: Groups, key: str, *, sentences: int, tokens: int, counted_sentences: int, counted_tokens: int
    ) -> None:
        self._groups, self._corpus_path = groups, f"corpus/{key}"
        self._text = groups.open(self._corpus_path)
        self.corpus_attributes: Mapping[str, Any] = self._text.attrs
        self.n_sentences, self.n_tokens = sentences, tokens
        self.counted_sentences, self.counted_tokens = counted_sentences, counted_tokens
        self.block = int(self._text.token_id.encoding["chunks"][0])

    @cached_property
    def sentences(self) -> xr.Dataset:
        """Sentences: row_start, row_size, label, document, sentence_hash, text (sentence). Loaded at first use."""
        return self._public(SENTENCE_ARRAYS).isel(sentence=slice(0, self.n_sentences)).load()

    @cached_property
    def tokens(self) -> xr.Dataset:
        """Rows of the token axis, padding included: TOKEN_COORDINATES (token). Loaded at first use."""
        return self._public(TOKEN_COORDINATES).isel(token=slice(0, self._token_stop)).load()

    def _public(self, names: tuple[str, ...]) -> xr.Dataset:
        return with_written_attributes(self._text[list(names)])

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the token axis that are not padding, ascending: (n_tokens,)."""
        return np.flatnonzero((self.tokens.token_flags.values & PAD) == 0)

    @cached_property
    def vocab(self) -> NDArray[np.object_]:
        """Wordpiece of each token id: (vocab,)."""
        return self._text.vocab.values

    @cached_property
    def piece_texts(self) -> NDArray[np.object_]:
        """The text of the wordpiece of each token id, empty for white space: (vocab,).

        An older store has no texts: the wordpiece without BERT's mark of continuations then serves.
        """
        if "vocab_text" in self._text:
            return self._text.vocab_text.values
        return np.array([str(piece).removeprefix("##") for piece in self.vocab], object)

    @property
    def splits_at_marks(self) -> bool:
        """Whether the tokenizer treats a punctuation mark as a word of its own, as BERT's does, or as a part of its word."""
        return bool(self.corpus_attributes.get("splits_at_marks", True))

    @cached_property
    def counted_lengths(self) -> NDArray[np.int32]:
        """Tokens of each sentence that the model was run on: (counted_sentences,)."""
        lengths: NDArray[np.int32] = self._text.row_size.isel(sentence=slice(0, self.counted_sentences)).values
        return lengths

    @cached_property
    def counted_labels(self) -> NDArray[np.int16]:
        """Label of the review of each sentence that the model was run on, -1 for none: (counted_sentences,)."""
        labels: NDArray[np.int16] = self._text.label.isel(sentence=slice(0, self.counted_sentences)).values
        return labels

    @cached_property
    def counted_documents(self) -> NDArray[np.int32]:
        """Review of each sentence that the model was run on, as an index in the data: (counted_sentences,)."""
        documents: NDArray[np.int32] = self._text.document.isel(sentence=slice(0, self.counted_sentences)).values
        return documents

    @cached_property
    def _counted_hashes(self) -> NDArray[np.uint64]:
        hashes: NDArray[np.uint64] = self._text.sentence_hash.isel(sentence=slice(0, self.counted_sentences)).values
        return hashes

    def sentence_of_hash(self, sentence_hash: int) -> int | None:
        """Index of the sentence with a content hash, among sentences that the model was run on; None where there is none."""
        place = int(np.searchsorted(self._counted_hashes, np.uint64(sentence_hash)))
        is_there = place < self.counted_sentences and int(self._counted_hashes[place]) == sentence_hash
        return place if is_there else None

    def counted_text(self, sentence: int) -> str:
        """The text of any sentence that the model was run on. StoreError where there is no such sentence."""
        check_index("sentence", sentence, self.counted_sentences)
        return str(self._text.text.variable[sentence].values)

    def counted_texts(self, count: int) -> Iterator[list[str]]:
        """The texts of the first sentences that the model was run on, in parts, as all texts of a large corpus would fill the memory."""
        for start in range(0, count, TEXTS_AT_ONCE):
            part = slice(start, min(start + TEXTS_AT_ONCE, count))
            stored = part.stop <= self.n_sentences
            yield list(map(str, (self.sentences.text if stored else self._text.text).variable[part].values))

    def piece_labels(self, sentence: int) -> dict[str, Any]:
        """Wordpieces of a sentence, as coordinates of queries and keys."""
        pieces = self.wordpieces(self.sentence_rows(sentence))
        return {f"{side}_wordpiece": (f"{side}_token", pieces) for side in ("query", "key")}

    def counted_wordpieces(self, sentence: int) -> list[str]:
        """Wordpieces of any sentence that the model was run on. StoreError where there is no such sentence."""
        check_index("sentence", sentence, self.counted_sentences)
        start, size = (int(self._text[name].variable[sentence].values) for name in ("row_start", "row_size"))
        return [str(piece) for piece in self.vocab[self._text.token_id.variable[start : start + size].values]]

    @cached_property
    def _token_stop(self) -> int:
        last = self._text[["row_start", "row_size"]].isel(sentence=self.n_sentences - 1)
        return int(last.row_start + last.row_size)

    def wordpieces(self, rows: slice | NDArray[np.int64]) -> list[str]:
        """Wordpieces of some rows of the token axis."""
        return [str(piece) for piece in self.vocab[self.tokens.token_id.values[rows]]]

    def pieces(self, tokens: xr.Dataset) -> list[Piece]:
        """The wordpieces of tokens of the corpus or of feature points, from token_id and token_flags."""
        ids, flags = tokens.token_id.values, tokens.token_flags.values
        every = zip(
            self.vocab[ids], self.piece_texts[ids], (flags & CONTINUATION) != 0, (flags & NO_WORD) != 0, strict=True
        )
        return [Piece(str(name), str(text), bool(goes_on), bool(special)) for name, text, goes_on, special in every]

    def sentence_pieces(self, sentence: int) -> list[Piece]:
        """The wordpieces of a sentence."""
        return self.pieces(self.tokens.isel(token=self.sentence_rows(sentence)))

    def sentence_rows(self, sentence: int) -> slice:
        """Rows of the token axis that hold a sentence. StoreError where the corpus has no such sentence."""
        check_index("sentence", sentence, self.n_sentences)
        start = int(self.sentences.row_start.values[sentence])
        return slice(start, start + int(self.sentences.row_size.values[sentence]))

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the reviews' labels by code; empty where the data has no labels."""
        return tuple(map(str, self.corpus_attributes.get("label_names", ())))

    def label_name(self, sentence: int) -> str:
        """Label of the sentence's review, empty where it has none; of any sentence that the model was run on."""
        check_index("sentence", sentence, self.counted_sentences)
        label = int(self.counted_labels[sentence])
        return self.label_names[label] if 0 <= label < len(self.label_names) else ""

    @cached_property
    def columns(self) -> xr.Dataset:
        """Categorical columns of the data as int16 codes (sentence), -1 for no category. Loaded at first use.

        Each array has the attributes `title` (name of the column in the data) and `names` (category of each code).
        Empty where the data has no such columns.
        """
        group = self._groups.open_optional(f"{self._corpus_path}/columns")
        columns = (
            group[list(group.attrs.get("titles", []))]
            .isel(sentence=slice(0, self.n_sentences), missing_dims="ignore")
            .load()
        )
        for name, column in columns.items():
            column.attrs |= {"title": group.attrs["titles"][name], "names": group.attrs["names"][name]}
        return with_written_attributes(columns)

    @cached_property
    def words(self) -> Words:
        """Words with their grammar. NotIngested where the sentences are not annotated."""
        group = self._groups.open_optional(f"{self._corpus_path}/words")
        if int(group.attrs.get("sentences", 0)) < self.n_sentences:
            raise NotIngested("Words: not annotated.", WORDS_REMEDY)
        mentions = self._groups.open_optional(f"{self._corpus_path}/mentions")
        return Words(group, self.sentences.text.values, mentions)

    @cached_property
    def token_words(self) -> NDArray[np.int64]:
        """Word of every row of the token axis as a row of `words.table`, -1 for none; of two words on a token, the first."""
        table = self.words.table
        first = self.sentences.row_start.values[table.sentence.values] + table.token_start.values
        pieces = (table.token_stop - table.token_start).values
        word = np.repeat(np.arange(len(pieces)), pieces)
        place = np.arange(len(word)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        words = np.full(self._token_stop, len(pieces), np.int64)
        np.minimum.at(words, np.repeat(first, pieces) + place, word)
        return np.where(words < len(pieces), words, -1)

    @cached_property
    def has_words(self) -> bool:
        """Whether the sentences are annotated."""
        try:
            return self.words is not None
        except NotIngested:
            return False


@dataclass(frozen=True)
class Window:
    """A window on a sentence: tokens `first` to `stop` - 1 of `tokens`."""

    first: int
    stop: int
    tokens: int

    @classmethod
    def at(cls, first: int, tokens: int) -> "Window":
        """The window from a token on, shorter at the end of the sentence; a short sentence is one window."""
        first = max(0, first)
        last = max(0, tokens - 1) // WINDOW * WINDOW
        start = 0 if tokens <= WINDOW else first if first < tokens else last
        return cls(start, min(tokens, start + WINDOW), tokens)

    @classmethod
    def around(cls, token: int, tokens: int) -> "Window":
        """The window with a token, of the consecutive windows of a sentence, so that selecting another token in it does not move it."""
        return cls.at(token - token % WINDOW, tokens)

    @property
    def is_whole(self) -> bool:
        """Whether the window has all tokens of the sentence."""
        return self.stop - self.first == self.tokens

    @property
    def name(self) -> str:
        """Name of the window, such as `tokens 1 to 128 of 8,000`."""
        return f"tokens {self.first + 1:,} to {self.stop:,} of {self.tokens:,}"

    @property
    def positions(self) -> NDArray[np.intp]:
        """Positions of the window's tokens in the sentence: (token,)."""
        return np.arange(self.first, self.stop)

    def of(self, tokens: Any) -> Any:
        """The items within the window, of items for each token of the sentence."""
        return tokens[self.first : self.stop]

    def __contains__(self, token: int) -> bool:
        return self.first <= token < self.stop
