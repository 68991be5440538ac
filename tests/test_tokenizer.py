"""From sentences to wordpieces and their flags, by the tiny model's tokenizer."""

import json
import shutil
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st

from ingest.run.errors import IngestError
from ingest.text.tokenizer import Tokenizer, Tokens, concatenate
from store.schema.corpus import CLS, CONTINUATION, PUNCTUATION, SEP, SPECIAL, SYMBOL
from tests.warned import warned

TEXT = "The film, zany!"
PIECES = ["[CLS]", "the", "film", ",", "z", "##a", "##n", "##y", "!", "[SEP]"]


@pytest.fixture(scope="module")
def tokenizer(tiny_model: Path) -> Tokenizer:
    return Tokenizer(tiny_model, max_length=12)


@pytest.fixture(scope="module")
def own(tiny_model: Path) -> Any:
    """The checkpoint's tokenizer, loaded by transformers."""
    return transformers.AutoTokenizer.from_pretrained(tiny_model)


def pieces(tokenizer: Tokenizer, tokens: Tokens) -> list[str]:
    return [tokenizer.vocab[number] for number in tokens.token_id]


def test_wordpieces_stand_between_cls_and_sep(tokenizer: Tokenizer) -> None:
    assert pieces(tokenizer, tokenizer.tokenize([TEXT])) == PIECES


def test_flags_say_what_a_wordpiece_is(tokenizer: Tokenizer) -> None:
    flags = [CLS, 0, 0, PUNCTUATION, 0, CONTINUATION, CONTINUATION, CONTINUATION, SYMBOL, SEP]
    assert tokenizer.tokenize([TEXT]).token_flags.tolist() == flags


@pytest.mark.parametrize(("mark", "flag"), [(".", PUNCTUATION), (",", PUNCTUATION), ("!", SYMBOL), ("-", SYMBOL)])
def test_only_full_stop_and_comma_are_punctuation(tokenizer: Tokenizer, mark: str, flag: int) -> None:
    assert tokenizer.tokenize([f"the {mark}"]).token_flags[2] == flag


def test_what_is_unknown_is_no_symbol_and_a_mask_is_special(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokenize(["\U0001f600 [MASK]"])
    assert pieces(tokenizer, tokens) == ["[CLS]", "[UNK]", "[MASK]", "[SEP]"]
    assert tokens.token_flags.tolist() == [CLS, 0, SPECIAL, SEP]


def test_word_index_counts_words_and_marks(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokenize([TEXT]).word_index.tolist() == [-1, 0, 1, 2, 3, 3, 3, 3, 4, -1]


def test_a_special_token_in_a_text_is_in_no_word(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokenize(["I [SEP] the [MASK]s [PAD] film", "[UNK] film", "the film"])
    assert tokens.word_index.tolist()[:9] == [-1, 0, -1, 1, -1, 2, -1, 3, -1]
    assert tokens.token_flags.tolist()[:9] == [CLS, 0, SEP, 0, SPECIAL, 0, SPECIAL, 0, SEP]
    assert tokens.word_index.tolist()[9:13] == [-1, 0, 1, -1]
    assert tokens.marked.tolist() == [True, False, False]


def test_a_special_token_in_a_text_stays_in_the_segment_of_its_text(tokenizer: Tokenizer) -> None:
    made = tokenizer.tokenize_pair("the [SEP] film", "odd")
    assert pieces(tokenizer, made.tokens) == ["[CLS]", "the", "[SEP]", "film", "[SEP]", "o", "##d", "##d", "[SEP]"]
    assert made.segment.tolist() == made.token_type.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_position_begins_again_with_every_sentence(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokenize(["The film", "It"])
    assert tokens.lengths.tolist() == [4, 3]
    assert tokens.position.tolist() == [0, 1, 2, 3, 0, 1, 2]


def test_a_long_sentence_is_cut_and_still_ends_in_sep(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokenize(["the " * 50, "the"])
    assert tokens.lengths.tolist() == [12, 3]
    assert np.sum(tokens.truncated) == 1
    assert tokens.token_flags[11] == SEP


def test_a_sentence_of_exactly_the_longest_length_is_not_cut(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokenize(["the " * 10])
    assert (tokens.lengths.tolist(), np.sum(tokens.truncated)) == ([12], 0)


def test_a_sentence_without_wordpieces_is_cls_and_sep(tokenizer: Tokenizer) -> None:
    assert pieces(tokenizer, tokenizer.tokenize(["\u200b"])) == ["[CLS]", "[SEP]"]


def test_token_ids_are_those_of_the_checkpoints_own_tokenizer(tokenizer: Tokenizer, tiny_model: Path) -> None:
    texts = [TEXT, "We loved MR. Wayne", "the " * 50, "caf\u00e9 \u05d0\u05d1 (1999)"]
    own = transformers.AutoTokenizer.from_pretrained(tiny_model)
    expected = [number for text in texts for number in own(text, truncation=True, max_length=12)["input_ids"]]
    assert tokenizer.tokenize(texts).token_id.tolist() == expected


@given(lengths=st.tuples(st.integers(1, 30), st.integers(1, 30)), words=st.sampled_from(["the", "zany", "a !"]))
def test_a_pair_is_cut_as_by_the_checkpoints_own_tokenizer(
    lengths: tuple[int, int], words: str, tokenizer: Tokenizer, own: Any
) -> None:
    pair = [f"{words} " * length for length in lengths]
    expected = own(*pair, truncation="longest_first", max_length=12)
    made = tokenizer.tokenize_pair(*pair)
    tokens, segment = made.tokens, made.segment
    assert (tokens.token_id.tolist(), segment.tolist()) == (expected["input_ids"], expected["token_type_ids"])
    assert bool(tokens.truncated[0]) == bool(expected.encodings[0].overflowing)


def test_nobody_is_warned_of_a_pair_that_is_cut(own: Any, tmp_path: Path) -> None:
    own.model_max_length = 8
    own.save_pretrained(tmp_path)
    with warned() as warnings:
        Tokenizer(tmp_path, max_length=8).tokenize_pair("the " * 9, "film " * 9)
    assert warnings == []


def test_a_pair_has_words_counted_through_both(tokenizer: Tokenizer) -> None:
    made = tokenizer.tokenize_pair("the film.", "odd")
    tokens, segment = made.tokens, made.segment
    assert tokens.word_index.tolist() == [-1, 0, 1, 2, -1, 3, 3, 3, -1]
    assert segment.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_a_pair_with_nothing_on_one_side_has_its_marks(tokenizer: Tokenizer) -> None:
    assert pieces(tokenizer, tokenizer.tokenize_pair("\u200b", "it").tokens) == ["[CLS]", "[SEP]", "it", "[SEP]"]


def test_vocab_is_the_wordpiece_of_every_number(tokenizer: Tokenizer, tiny_model: Path) -> None:
    own = transformers.AutoTokenizer.from_pretrained(tiny_model)
    assert tokenizer.vocab == own.convert_ids_to_tokens(range(len(own)))


def test_concatenating_equals_tokenizing_at_once(tokenizer: Tokenizer) -> None:
    texts = [TEXT, "the " * 50, "It", "the " * 60]
    parts = concatenate([tokenizer.tokenize(texts[:1]), tokenizer.tokenize(texts[1:])])
    whole = tokenizer.tokenize(texts)
    assert np.sum(parts.truncated) == np.sum(whole.truncated) == 2
    for name in ("lengths", "token_id", "position", "word_index", "token_flags"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_a_folder_without_a_tokenizer_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"save_pretrained\.$"):
        Tokenizer(tmp_path, max_length=12)


@given(
    parts=st.lists(
        st.sampled_from(["film ", "a", " ", "!", "_", "\u6620", "\u0301", "\x00", "x" * 150, "unknowable"]),
        max_size=300,
    ),
    characters=st.sampled_from([9, 20]),
)
def test_the_head_of_a_long_text_has_the_wordpieces_of_the_whole(
    parts: list[str], characters: int, tokenizer: Tokenizer, own: Any
) -> None:
    text = "".join(parts)
    hasty = copy(tokenizer)
    hasty.characters = characters
    tokens = hasty.tokenize([text])
    whole = own([text], truncation=True, max_length=12)
    assert tokens.token_id.tolist() == whole["input_ids"][0]
    assert tokens.truncated.tolist() == [bool(whole.encodings[0].overflowing)]


def test_places_after_a_word_as_long_as_a_book_are_those_in_the_text(tokenizer: Tokenizer) -> None:
    text = f"The film {'x' * 900} was, {'1' * 2000}! It"
    [spans] = tokenizer.spans([text])
    words = [text[start:stop] for start, stop in spans.tolist() if start >= 0]
    assert words == ["The", "film", "x" * 900, "was", ",", "1" * 2000, "!", "It"]


def test_the_end_of_a_long_text_is_cut_whatever_side_was_saved(tiny_model: Path, tmp_path: Path) -> None:
    left = Path(shutil.copytree(tiny_model, tmp_path / "left"))
    settings = left / "tokenizer_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"truncation_side": "left"}))
    assert transformers.AutoTokenizer.from_pretrained(left).truncation_side == "left"
    tokenizer = Tokenizer(left, max_length=5)
    assert pieces(tokenizer, tokenizer.tokenize(["the film was bad"])) == ["[CLS]", "the", "film", "was", "[SEP]"]
    assert tokenizer.spans(["the film was bad"])[0].tolist() == [[-1, -1], [0, 3], [4, 8], [9, 12], [-1, -1]]


class Measured:
    """The library's tokenizer, which notes the lengths of the texts that it gets."""

    def __init__(self, of_library: Any) -> None:
        self._of_library, self.lengths = of_library, list[int]()

    def __call__(self, texts: str | list[str], **settings: Any) -> Any:
        self.lengths.extend(map(len, [texts] if isinstance(texts, str) else texts))
        return self._of_library(texts, **settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of_library, name)


class MeasuringTokenizer(Tokenizer):
    def __init__(self, folder: Path, *, max_length: int) -> None:
        super().__init__(folder, max_length=max_length)
        self._tokenizer = self.measured = Measured(self._tokenizer)


def test_a_text_as_long_as_a_book_is_not_tokenized_whole(tiny_model: Path) -> None:
    """Whole texts of this length would take minutes and gigabytes."""
    tokenizer = MeasuringTokenizer(tiny_model, max_length=12)
    tokenizer.tokenize(["film " * 100_000, "a" * 500_000])
    assert max(tokenizer.measured.lengths) <= 64 * 12
