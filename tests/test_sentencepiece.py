"""Kinds of wordpieces come from the tokenizer: SentencePiece gives the same facts as BERT's own wordpieces."""

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import transformers
from hypothesis import given
from hypothesis import strategies as st

from ingest.text.tokenizer import Layout, Tokenizer, Tokens, is_stop
from ingest.words.annotate import covered_tokens
from store.schema.corpus import CLS, CONTINUATION, PUNCTUATION, SEP, SPECIAL, SYMBOL

TEXT = "the film, zany !"
PIECES = ["<s>", "▁the", "▁film", ",", "▁", "z", "a", "n", "y", "▁", "!", "</s>"]


@pytest.fixture(scope="module")
def tokenizer(piece_model: Path) -> Tokenizer:
    return Tokenizer(piece_model, max_length=12)


@pytest.fixture(scope="module")
def own(piece_model: Path) -> Any:
    """The checkpoint's tokenizer as transformers has it."""
    return transformers.AutoTokenizer.from_pretrained(piece_model)


def pieces(tokenizer: Tokenizer, tokens: Tokens) -> list[str]:
    return [tokenizer.vocab[number] for number in tokens.token_id]


def test_flags_say_what_a_wordpiece_is(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokenize([TEXT])
    assert pieces(tokenizer, tokens) == PIECES
    more = CONTINUATION
    assert tokens.token_flags.tolist() == [
        CLS,
        0,
        0,
        PUNCTUATION | more,
        0,
        more,
        more,
        more,
        more,
        0,
        SYMBOL | more,
        SEP,
    ]


def test_words_are_what_the_tokenizer_splits_a_text_into(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokenize([TEXT]).word_index.tolist() == [-1, 0, 1, 1, 2, 2, 2, 2, 2, 3, 3, -1]


def test_white_space_is_no_symbol(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokenize(["z"])
    assert pieces(tokenizer, tokens) == ["<s>", "▁", "z", "</s>"]
    assert tokens.token_flags.tolist() == [CLS, 0, CONTINUATION, SEP]


@pytest.mark.parametrize("mark", [".", ",", "\N{IDEOGRAPHIC FULL STOP}", "\N{FULLWIDTH COMMA}", "\N{DEVANAGARI DANDA}"])
def test_full_stops_and_commas_of_any_script_are_punctuation(mark: str, tokenizer: Tokenizer) -> None:
    assert tokenizer.tokenize([f"film{mark}"]).token_flags[2] == PUNCTUATION | CONTINUATION


STOPS = [
    *("FULL STOP", "COMMA", "IDEOGRAPHIC FULL STOP", "IDEOGRAPHIC COMMA", "FULLWIDTH FULL STOP", "FULLWIDTH COMMA"),
    *(
        "HALFWIDTH IDEOGRAPHIC FULL STOP",
        "DEVANAGARI DANDA",
        "DEVANAGARI DOUBLE DANDA",
        "ARABIC FULL STOP",
        "ARABIC COMMA",
    ),
    *("ETHIOPIC FULL STOP", "ETHIOPIC COMMA", "ARMENIAN FULL STOP", "ARMENIAN COMMA", "MONGOLIAN COMMA"),
    *("MYANMAR SIGN LITTLE SECTION", "KHMER SIGN KHAN", "TIBETAN MARK SHAD"),
]
OTHERS = [
    *("EXCLAMATION MARK", "QUESTION MARK", "SEMICOLON", "COLON", "HYPHEN-MINUS", "HORIZONTAL ELLIPSIS", "MIDDLE DOT"),
    *("FULLWIDTH EXCLAMATION MARK", "FULLWIDTH QUESTION MARK", "ARABIC QUESTION MARK", "ARABIC SEMICOLON"),
    *("LEFT CORNER BRACKET", "COMBINING COMMA ABOVE", "DIGIT ONE FULL STOP", "MODIFIER LETTER TURNED COMMA"),
]


@pytest.mark.parametrize(("name", "expected"), [*((name, True) for name in STOPS), *((name, False) for name in OTHERS)])
def test_full_stops_and_commas_are_those_of_unicode(name: str, expected: bool) -> None:
    assert is_stop(unicodedata.lookup(name)) == expected


def test_a_wordpiece_stands_for_the_text_that_its_tokenizer_decodes(tokenizer: Tokenizer) -> None:
    texts = {tokenizer.vocab[number]: tokenizer.piece_text(number) for number in range(len(tokenizer.vocab))}
    assert [texts[piece] for piece in ("▁film", "ing", ",", "▁", "</s>")] == ["film", "ing", ",", "", "</s>"]


@given(lengths=st.tuples(st.integers(1, 30), st.integers(1, 30)), words=st.sampled_from(["the", "zany", "a !"]))
def test_a_pair_is_the_tokenizers_own(lengths: tuple[int, int], words: str, tokenizer: Tokenizer, own: Any) -> None:
    pair = [f"{words} " * length for length in lengths]
    expected = own(*pair, truncation="longest_first", max_length=12)
    made = tokenizer.tokenize_pair(*pair)
    assert made.tokens.token_id.tolist() == expected["input_ids"]
    assert bool(made.tokens.truncated[0]) == bool(expected.encodings[0].overflowing)


def test_a_pair_without_token_types_still_has_two_segments(tokenizer: Tokenizer) -> None:
    made = tokenizer.tokenize_pair("the film", "a plot")
    assert pieces(tokenizer, made.tokens) == ["<s>", "▁the", "▁film", "</s>", "</s>", "▁a", "▁plot", "</s>"]
    assert made.segment.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert made.token_type.tolist() == [0] * 8
    assert made.tokens.word_index.tolist() == [-1, 0, 1, -1, -1, 2, 3, -1]


def test_a_special_token_in_a_text_is_in_no_word(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.tokenize(["the</s>film<mask>ing", "film"])
    assert pieces(tokenizer, tokens)[:8] == ["<s>", "▁the", "</s>", "▁film", "<mask>", "▁", "ing", "</s>"]
    assert tokens.word_index.tolist()[:8] == [-1, 0, -1, 1, -1, 2, 2, -1]
    assert tokens.token_flags.tolist()[:8] == [CLS, 0, SEP, 0, SPECIAL, 0, CONTINUATION, SEP]
    assert tokens.marked.tolist() == [True, False]


def test_a_word_covers_its_white_space(tokenizer: Tokenizer) -> None:
    [spans] = tokenizer.spans(["film zany"])
    words = np.array([[0, 4], [5, 9]])
    assert [tuple(map(int, span)) for span in covered_tokens(words, spans)] == [(1, 2), (2, 7)]


def test_words_are_parted_at_white_space_where_the_tokenizer_splits_nothing(piece_model: Path, tmp_path: Path) -> None:
    own = transformers.AutoTokenizer.from_pretrained(piece_model)
    own.backend_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(split=False)
    own.save_pretrained(tmp_path)
    tokens = Tokenizer(tmp_path, max_length=12).tokenize([TEXT])
    assert tokens.word_index.tolist() == [-1, 0, 1, 1, 2, 2, 2, 2, 2, 3, 3, -1]


def test_a_mark_is_no_word_of_its_own(tokenizer: Tokenizer, tiny_model: Path) -> None:
    assert (tokenizer.splits_at_marks, Tokenizer(tiny_model, max_length=12).splits_at_marks) == (False, True)


def test_one_text_stands_between_the_special_tokens_of_the_tokenizer(own: Any) -> None:
    layout = Layout.of(own, texts=1)
    assert (layout.before, layout.after, layout.special) == (1, 1, 2)
    assert layout.fill([[7, 8]]).token_id.tolist() == [own.cls_token_id, 7, 8, own.sep_token_id]
