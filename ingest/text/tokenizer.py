"""Wordpieces of sentences with their flags, as the tokenizer says: special, punctuation, or continuation of a word.

The spelling of a wordpiece plays no part. The tokenizer itself says where it puts its special tokens around one text, or
around the two of a pair, and which text a wordpiece stands for.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.run.errors import IngestError
from ingest.text.own_tokenizer import SAMPLE, load_tokenizer, whose
from store.schema.corpus import CLS, CONTINUATION, FIRST, NO_WORD, PUNCTUATION, SEP, SPECIAL, SYMBOL

#: The owner of a special token.
NO_TEXT = -1


@dataclass(frozen=True)
class Slot:
    """A special token, or the place of a text."""

    owner: int
    token_id: int
    token_type: int


@dataclass(frozen=True)
class LaidOut:
    """Texts with the special tokens around them: arrays (token,).

    Attributes
    ----------
    owner
        Number of the text, -1 for a special token of the tokenizer.
    segment
        1 from the place of the second text on, else 0.
    token_type
        Token type that the model reads, which some tokenizers set to 0 for both texts of a pair.
    """

    token_id: NDArray[np.int32]
    owner: NDArray[np.int8]
    segment: NDArray[np.uint8]
    token_type: NDArray[np.uint8]


@dataclass(frozen=True)
class Layout:
    """The tokenizer's own way to encode one text or a pair, found by encoding a short one.

    A tokenizer that is told to cut a pair also returns every part of one text with every part of the other, which takes
    time and memory quadratic in the length: texts are cut first, and laid out here.
    """

    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, tokenizer: Any, *, texts: int) -> "Layout":
        """The layout of one text, or of two."""
        [encoded] = tokenizer(*[[SAMPLE]] * texts).encodings
        types = encoded.type_ids if "token_type_ids" in tokenizer.model_input_names else [0] * len(encoded)
        owners = (NO_TEXT if owner is None else owner for owner in encoded.sequence_ids)
        tokens = list(map(Slot, owners, encoded.ids, types))
        parted = groupby(enumerate(tokens), lambda numbered: _part(*numbered))
        return cls(tuple(next(part)[1] for _, part in parted))

    @property
    def special(self) -> int:
        """Number of special tokens that the tokenizer adds."""
        return sum(slot.owner == NO_TEXT for slot in self.slots)

    @property
    def before(self) -> int:
        """Number of special tokens before the first text."""
        return next(place for place, slot in enumerate(self.slots) if slot.owner != NO_TEXT)

    @property
    def after(self) -> int:
        """Number of special tokens after the last text."""
        return next(place for place, slot in enumerate(reversed(self.slots)) if slot.owner != NO_TEXT)

    def fill(self, texts: Sequence[Sequence[int]]) -> LaidOut:
        """The wordpieces of the texts in their places."""
        parts = [[slot.token_id] if slot.owner == NO_TEXT else texts[slot.owner] for slot in self.slots]
        sizes, owners = [len(part) for part in parts], np.array([slot.owner for slot in self.slots], np.int8)
        return LaidOut(
            np.array([number for part in parts for number in part], np.int32),
            np.repeat(owners, sizes),
            np.repeat(np.maximum.accumulate(owners == 1).astype(np.uint8), sizes),
            np.repeat(np.array([slot.token_type for slot in self.slots], np.uint8), sizes),
        )


def _part(place: int, slot: Slot) -> tuple[int, int]:
    """Key that the tokens of a text have in common; a special token is a part of its own."""
    return (slot.owner, place if slot.owner == NO_TEXT else NO_TEXT)


#: Texts of more than one word, if white space divides words, and if marks do.
AT_SPACE, AT_MARK = "a a", "a,a"
#: Stands before a wordpiece while it is decoded: the first wordpiece of a text may be decoded otherwise than the others.
BEFORE = "a"
#: Character that a decoder gives for a part of a character.
PART = "\ufffd"
#: Endings of the Unicode names of full stops and commas, in any script.
NAMES = ("FULL STOP", "COMMA", "DANDA")
#: Full stops and commas whose names do not say so: of Tibetan, Myanmar and Khmer.
STOPS = frozenset("\u0f0d\u0f0e\u104a\u104b\u17d4\u17d5")


@dataclass(frozen=True)
class Tokens:
    """Wordpieces of sentences, one sentence after the other, without padding.

    `truncated` and `marked` are (sentence,): whether it was cut, and whether a special token stands in its text.
    """

    lengths: NDArray[np.int32]
    token_id: NDArray[np.int32]
    position: NDArray[np.int16]
    word_index: NDArray[np.int16]
    token_flags: NDArray[np.uint8]
    truncated: NDArray[np.bool_]
    marked: NDArray[np.bool_]


@dataclass(frozen=True)
class Pair:
    """Two texts as one sentence.

    Attributes
    ----------
    segment
        0 from the first token on, 1 from the place of the second text on: (token,).
    token_type
        Token types that the model reads, by the tokenizer: (token,).
    """

    tokens: Tokens
    segment: NDArray[np.uint8]
    token_type: NDArray[np.uint8]


class Tokenizer:
    """The checkpoint's own tokenizer."""

    def __init__(self, folder: Path, *, max_length: int, name: str = "") -> None:
        self._tokenizer, self._whose = load_tokenizer(folder, name), whose(folder, name)
        self.max_length = max_length
        #: Characters of a text for each wordpiece that is kept: of a longer text a part is tried.
        self.characters = 64
        self.vocab = vocabulary(self._tokenizer)
        #: Id of the wordpiece that stands for a hidden one, if the model knows any.
        self.mask_id: int | None = self._tokenizer.mask_token_id
        self._special = _special_flags(self._tokenizer)
        self._flags = dict(self._special)

    def cut_at(self, max_length: int) -> "Tokenizer":
        """A copy of the tokenizer, which keeps at most `max_length` wordpieces of a text."""
        shorter = copy(self)
        shorter.max_length = min(max_length, self.max_length)
        return shorter

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """Wordpieces of each text between its special tokens, cut at `max_length`."""
        heads = list(map(self._head, texts))
        encoded = self._tokenizer(heads, truncation=True, max_length=self.max_length)
        truncated = np.fromiter((bool(encoding.overflowing) for encoding in encoded.encodings), np.bool_)
        words = [self._words(encoding, text) for encoding, text in zip(encoded.encodings, heads, strict=True)]
        return self._tokens(encoded["input_ids"], words, truncated)

    def spans(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """First character of each wordpiece of `tokenize` in its text and the one after its last, -1 and -1 for special tokens.

        White space that is a wordpiece has the characters of the next one of its word. One array (token, 2) per text.
        """
        encoded = self._tokenizer(list(map(self._head, texts)), truncation=True, max_length=self.max_length)
        found = zip(map(self._spans, encoded.encodings), texts, strict=True)
        return [self._in_whole_text(spans, text) for spans, text in found]

    def _spans(self, encoding: Any) -> NDArray[np.int64]:
        spans = np.array(encoding.offsets, np.int64).reshape(-1, 2)
        words, pieces = encoding.word_ids, encoding.ids
        for place in reversed(range(len(pieces))):
            if words[place] is None or pieces[place] in self._special:
                spans[place] = -1
            elif not self.piece_text(pieces[place]):
                goes_on = place + 1 < len(words) and words[place + 1] == words[place]
                spans[place] = spans[place + 1] if goes_on else spans[place, 1]
        return spans

    def piece_text(self, number: int) -> str:
        """The text that a wordpiece stands for; of a special token its name."""
        return self.vocab[number] if number in self._special else self._read(self.vocab[number])

    @cached_property
    def layout(self) -> Layout:
        """Layout of the special tokens around one text."""
        return Layout.of(self._tokenizer, texts=1)

    @cached_property
    def _pair_layout(self) -> Layout:
        """Layout of the special tokens around a pair; refused where a pair is no first text and then a second one."""
        layout, texts = Layout.of(self._tokenizer, texts=2), (SAMPLE, f"{SAMPLE} {SAMPLE}")
        owners = [slot.owner for slot in layout.slots if slot.owner != NO_TEXT]
        parts = self._tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        if owners != [0, 1] or layout.fill(parts).token_id.tolist() != self._tokenizer(*texts)["input_ids"]:
            raise IngestError(
                f"{self._whose} makes of a pair something else than the first text and then the second, each once. "
                "Give one text, or save the tokenizer again with another post-processor."
            )
        return layout

    @cached_property
    def _read(self) -> Callable[[str], str]:
        return piece_reader(self._tokenizer)

    def _head(self, text: str) -> str:
        """The beginning of a text that has the same wordpieces once it is cut: all of a text as long as a library takes minutes.

        A word of more than `_room` letters is cut: it is unknown to any vocabulary, or has more wordpieces than are kept.
        """
        size = self._room
        if len(text) <= size:
            return text
        text = self._long_word.sub(r"\1", text)
        while size < len(text):
            head = text[:size].rpartition(" ")[0]
            if self._tokenizer(head, truncation=True, max_length=self.max_length).encodings[0].overflowing:
                return head
            size *= 4
        return text

    @property
    def _room(self) -> int:
        """Characters of a text from which on a part of it is tried, and that are kept of a word in it."""
        return self.characters * self.max_length

    @property
    def _long_word(self) -> re.Pattern[str]:
        """Pattern of more letters in a row than are kept of a word; its group is the letters that are kept."""
        letter = "[0-9A-Za-z]"
        return re.compile(rf"(?<!{letter})({letter}{{{self._room}}}){letter}+")

    def _in_whole_text(self, spans: NDArray[np.int64], text: str) -> NDArray[np.int64]:
        """The places in a text of places in its `_head`, which has only the first letters of a long word."""
        if len(text) <= self._room:
            return spans
        for word in self._long_word.finditer(text):  # in their order: places before a word are right already
            spans[spans >= word.end(1)] += word.end() - word.end(1)
        return spans

    def tokenize_pair(self, first: str, second: str) -> Pair:
        """Wordpieces of [CLS] first [SEP] second [SEP], or what the tokenizer makes of a pair, as one sentence.

        The longer text of a pair above `max_length` is cut. Words are counted on through both texts.
        """
        # Told nothing, the tokenizer warns of a text that is longer than the model reads.
        encoded = self._tokenizer([first, second], add_special_tokens=False, verbose=False)
        whole = [len(row) for row in encoded["input_ids"]]
        lengths = longest_first(*whole, room=max(0, self.max_length - self._pair_layout.special))
        kept = [row[:length] for row, length in zip(encoded["input_ids"], lengths, strict=True)]
        laid = self._pair_layout.fill(kept)
        words = [
            self._words(encoding, text)[:length]
            for encoding, text, length in zip(encoded.encodings, (first, second), lengths, strict=True)
        ]
        word = np.full(len(laid.owner), -1)
        word[laid.owner == 0] = words[0]
        word[laid.owner == 1] = words[1] + words[0].max(initial=-1) + 1
        tokens = self._tokens([laid.token_id.tolist()], [word], np.array([lengths != (whole[0], whole[1])]))
        return Pair(tokens, laid.segment, laid.token_type)

    def _words(self, encoding: Any, text: str) -> NDArray[np.int64]:
        """Number of the word of each wordpiece of an encoded text, ascending, -1 for a special token around the text.

        A word is a part that the tokenizer splits a text into first; if it does not split at white space, parts are divided there.
        """
        words = np.array([-1 if word is None else word for word in encoding.word_ids], np.int64)
        if self._splits_at_space or not len(words):
            return words
        spans = np.array(encoding.offsets, np.int64).reshape(-1, 2)
        return np.where(words < 0, -1, words + _parts_before(text)[spans[:, 0]])

    @cached_property
    def splits_at_marks(self) -> bool:
        """Whether a mark is a word of its own."""
        return self._parts_of(AT_MARK) > 1

    @cached_property
    def _splits_at_space(self) -> bool:
        return self._parts_of(AT_SPACE) != 1

    def _parts_of(self, text: str) -> int:
        """Number of parts that the tokenizer splits a text into first."""
        [encoding] = self._tokenizer([text], add_special_tokens=False).encodings
        return len(set(encoding.word_ids))

    def _tokens(
        self, token_ids: Sequence[Sequence[int]], words: Sequence[NDArray[np.int64]], truncated: NDArray[np.bool_]
    ) -> Tokens:
        """Sentences from their wordpieces and the number of each one's word, -1 for a special token around the text.

        A special token that stands in a text is what the model reads, so that it is special here too, and in no word.
        """
        lengths = np.fromiter(map(len, token_ids), np.int32)
        token_id = np.fromiter((token for row in token_ids for token in row), np.int32)
        position = np.concatenate([np.arange(length, dtype=np.int16) for length in lengths])
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        flags, word = self._flags_of(token_id), np.concatenate(words)
        of_text = word >= 0
        ordinary = of_text & ((flags & NO_WORD) == 0)
        starts = ordinary & ((np.diff(word, prepend=-1) != 0) | ~np.append(False, ordinary[:-1]) | (position == 0))
        counted = np.cumsum(starts)
        before = np.append(0, counted)[np.cumsum(lengths) - lengths][sentence]
        word_index = np.where(ordinary, counted - before - 1, -1).astype(np.int16)
        flags[ordinary & ~starts] |= CONTINUATION
        if not self.layout.before:
            flags[ordinary & (position == 0)] |= FIRST
        marked = np.zeros(len(lengths), bool)
        marked[sentence[of_text & ~ordinary]] = True
        return Tokens(lengths, token_id, position, word_index, flags, truncated, marked)

    def _flags_of(self, token_id: NDArray[np.int32]) -> NDArray[np.uint8]:
        different, place = np.unique(token_id, return_inverse=True)
        for number in different.tolist():
            if number not in self._flags:
                self._flags[number] = piece_flags(self.piece_text(number))
        return np.array([self._flags[number] for number in different.tolist()], np.uint8)[place]


def longest_first(first: int, second: int, *, room: int) -> tuple[int, int]:
    """Number of wordpieces of each text of a pair that are kept: the longer text is cut first, as transformers' `longest_first`."""
    short = min(first, second, room // 2)
    long = min(max(first, second), room - short)
    return (short, long) if first <= second else (long, short)


def concatenate(parts: Sequence[Tokens]) -> Tokens:
    """Join the tokens of several texts."""
    names = [field.name for field in fields(Tokens)]
    return Tokens(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def vocabulary(tokenizer: Any) -> list[str]:
    """The wordpiece of every number, "" for a number without one."""
    by_id = {number: piece for piece, number in tokenizer.get_vocab().items()}
    return [by_id.get(number, "") for number in range(max(by_id) + 1)]


def _special_flags(tokenizer: Any) -> dict[int, int]:
    """Flags of the special tokens by their ids. The unknown token stands for a part of the text: it is not special."""
    # GPT-2's unknown token is also the end of a text.
    unknown = {tokenizer.unk_token_id} - {tokenizer.bos_token_id, tokenizer.eos_token_id}
    others = set(tokenizer.all_special_ids) - unknown
    flags = dict.fromkeys(others, SPECIAL) | {tokenizer.sep_token_id: SEP, tokenizer.cls_token_id: CLS}
    return {number: flag for number, flag in flags.items() if number is not None}


def _parts_before(text: str) -> NDArray[np.int64]:
    """Number of parts between white space before each character and the one after the last; white space belongs to the next part."""
    space = np.array([letter.isspace() for letter in text] + [True])
    begun = np.cumsum(~space & np.append(True, space[:-1]))
    return np.where(space, begun, begun - 1)


def piece_reader(tokenizer: Any) -> Callable[[str], str]:
    """Returns a function from a wordpiece to the text that it stands for, empty for white space alone.

    The decoder of the tokenizer says it: `##ing` of BERT and `▁film` of SentencePiece stand for "ing" and "film".
    """
    backend = tokenizer.backend_tokenizer
    decoder = backend.decoder
    prefix = getattr(backend.model, "continuing_subword_prefix", None) or ""

    def text_of(piece: str) -> str:
        if decoder is None:
            return piece.removeprefix(prefix)
        text = str(decoder.decode([BEFORE, piece])).removeprefix(BEFORE).strip()
        return piece if PART in text else text

    return text_of


def piece_flags(text: str) -> int:
    """PUNCTUATION of a text of full stops and commas, SYMBOL of other marks, else 0."""
    if not text:
        return 0
    if all(map(is_stop, text)):
        return PUNCTUATION
    return SYMBOL if all(unicodedata.category(letter)[0] in "PS" for letter in text) else 0


def is_stop(letter: str) -> bool:
    """Whether a character is a full stop or a comma, of any script."""
    named = unicodedata.category(letter) == "Po" and unicodedata.name(letter, "").endswith(NAMES)
    return named or letter in STOPS
