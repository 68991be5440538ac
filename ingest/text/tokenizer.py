"""Wordpieces of sentences with their flags: special, punctuation, or continuation of a word."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.text.own_tokenizer import load_tokenizer
from store.schema.corpus import CLS, CONTINUATION, PUNCTUATION, SEP, SYMBOL

#: Of a text per wordpiece that is kept, before a part of it is tried.
CHARACTERS = 64


@dataclass(frozen=True)
class Tokens:
    """Wordpieces of sentences, one sentence after the other, without padding."""

    lengths: NDArray[np.int32]
    token_id: NDArray[np.int32]
    position: NDArray[np.int16]
    word_index: NDArray[np.int16]
    token_flags: NDArray[np.uint8]
    truncated: NDArray[np.bool_]


class Tokenizer:
    """The checkpoint's own tokenizer."""

    def __init__(self, folder: Path, *, max_length: int) -> None:
        self._tokenizer = load_tokenizer(folder)
        self.max_length = max_length
        self.vocab = vocabulary(self._tokenizer)
        #: Id of the wordpiece that stands for a hidden one, if the model knows any.
        self.mask_id: int | None = self._tokenizer.mask_token_id
        self._flags = _vocab_flags(self.vocab, self._tokenizer.cls_token_id, self._tokenizer.sep_token_id)

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """Wordpieces of each text between [CLS] and [SEP], cut at `max_length`."""
        encoded = self._tokenizer(list(map(self._head, texts)), truncation=True, max_length=self.max_length)
        lengths = np.fromiter(map(len, encoded["input_ids"]), np.int32)
        token_id = np.fromiter((token for row in encoded["input_ids"] for token in row), np.int32)
        words = (-1 if word is None else word for row in range(len(lengths)) for word in encoded.word_ids(row))
        position = np.concatenate([np.arange(length, dtype=np.int16) for length in lengths])
        truncated = np.fromiter((bool(encoding.overflowing) for encoding in encoded.encodings), np.bool_)
        return Tokens(lengths, token_id, position, np.fromiter(words, np.int16), self._flags[token_id], truncated)

    def spans(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """First character of each wordpiece of `tokenize` in its text and the one after its last, 0 and 0 for [CLS] and [SEP].

        One array (token, 2) per text.
        """
        heads = list(map(self._head, texts))
        encoded = self._tokenizer(heads, truncation=True, max_length=self.max_length, return_offsets_mapping=True)
        return [np.array(spans, np.int64).reshape(-1, 2) for spans in encoded["offset_mapping"]]

    def _head(self, text: str) -> str:
        """As much of a text as has the same wordpieces once it is cut; all of a text as long as a library takes minutes.

        A word of so many letters is unknown to any vocabulary, or has more wordpieces than are kept.
        """
        size = CHARACTERS * self.max_length
        if len(text) <= size:
            return text
        text = re.sub(rf"([0-9A-Za-z]{{{size}}})[0-9A-Za-z]+", r"\1", text)
        while size < len(text):
            head = text[:size].rpartition(" ")[0]
            if self._tokenizer(head, truncation=True, max_length=self.max_length).encodings[0].overflowing:
                return head
            size *= 4
        return text

    def tokenize_pair(self, first: str, second: str) -> tuple[Tokens, NDArray[np.uint8]]:
        """Wordpieces of [CLS] first [SEP] second [SEP] as one sentence, and the segment of each: (token,), 0 or 1.

        Of a pair longer than `max_length` the longer one is cut. Words are counted on through both.
        """
        # Told to cut a pair, the tokenizer also returns every part of one with every part of the other; told nothing, it warns.
        encoded = self._tokenizer([first, second], add_special_tokens=False, verbose=False)
        whole = [len(row) for row in encoded["input_ids"]]
        lengths = longest_first(*whole, room=self.max_length - 3)
        ids = [row[:length] for row, length in zip(encoded["input_ids"], lengths, strict=True)]
        words = [np.array(encoded.word_ids(row)[:length], np.int16) for row, length in enumerate(lengths)]
        cls, sep = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        token_id = np.array([cls, *ids[0], sep, *ids[1], sep], np.int32)
        counted_on = words[1] + words[0].max(initial=-1) + 1
        word_index = np.array([-1, *words[0], -1, *counted_on, -1], np.int16)
        segment = np.repeat(np.array([0, 1], np.uint8), [lengths[0] + 2, lengths[1] + 1])
        length, position = np.array([len(token_id)], np.int32), np.arange(len(token_id), dtype=np.int16)
        tokens = Tokens(
            length, token_id, position, word_index, self._flags[token_id], np.array([lengths != (whole[0], whole[1])])
        )
        return tokens, segment


def longest_first(first: int, second: int, *, room: int) -> tuple[int, int]:
    """How many wordpieces of each text of a pair are kept: the longer text is cut first, as transformers' `longest_first`."""
    short = min(first, second, room // 2)
    long = min(max(first, second), room - short)
    return (short, long) if first <= second else (long, short)


def concatenate(parts: Sequence[Tokens]) -> Tokens:
    """Join the tokens of several texts."""
    fields = ("lengths", "token_id", "position", "word_index", "token_flags", "truncated")
    joined = {field: np.concatenate([getattr(part, field) for part in parts]) for field in fields}
    return Tokens(**joined)


def vocabulary(tokenizer: Any) -> list[str]:
    """The wordpiece of every number, "" for a number without one."""
    by_id = {number: piece for piece, number in tokenizer.get_vocab().items()}
    return [by_id.get(number, "") for number in range(max(by_id) + 1)]


def _vocab_flags(vocab: Sequence[str], cls: int, sep: int) -> NDArray[np.uint8]:
    flags = np.fromiter(map(_wordpiece_flags, vocab), np.uint8)
    flags[[cls, sep]] = CLS, SEP
    return flags


def _wordpiece_flags(piece: str) -> int:
    letters = piece.removeprefix("##")
    flags = CONTINUATION if piece != letters else 0
    if piece in (".", ","):
        return flags | PUNCTUATION
    if letters and all(unicodedata.category(letter)[0] in "PS" for letter in letters):
        return flags | SYMBOL
    return flags
