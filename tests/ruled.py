"""Sentences as rules see them, written by hand, and heads that attend by one rule."""

import numpy as np

from store.kernels.rules import COMMA, NONE, OTHER_TEXT, SENTENCE_END, Grammar, SentenceTokens
from store.schema.corpus import CLS, NO_GOVERNOR, PUNCTUATION, ROOT, SEP

#: [CLS] the film was not good , and bad ##ly made . [SEP], with its grammar: word, part of speech, label, governor.
PIECES = ("[CLS]", "the", "film", "was", "not", "good", ",", "and", "bad", "##ly", "made", ".", "[SEP]")
_WORDS = (
    ("DET", "det", 1),
    ("NOUN", "nsubj", 2),
    ("AUX", "root", ROOT),
    ("PART", "neg", 4),
    ("ADJ", "acomp", 2),
    ("PUNCT", "punct", 2),
    ("CCONJ", "cc", 2),
    ("ADV", "advmod", 8),
    ("VERB", "conj", 2),
    ("PUNCT", "punct", 2),
)
_WORD_OF = (NONE, 0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, NONE)
_CLASSES = {",": COMMA, ".": SENTENCE_END}
_FLAGS = {"[CLS]": CLS, "[SEP]": SEP, ",": PUNCTUATION, ".": PUNCTUATION}


def written_sentence(*, words: bool = True) -> SentenceTokens:
    """The sentence of `PIECES`."""
    names = sorted(set(PIECES))
    word = np.array(_WORD_OF)
    column = [[*(each[place] for each in _WORDS), none][::1] for place, none in enumerate(("", "", NO_GOVERNOR))]
    grammar = Grammar(
        word,
        np.array(column[0])[word],
        np.array(column[1])[word],
        np.array(column[2])[word],
        np.full(len(word), NONE),
    )
    return SentenceTokens(
        np.array([names.index(piece) for piece in PIECES]),
        np.array([_FLAGS.get(piece, 0) for piece in PIECES], np.uint8),
        np.array([_CLASSES.get(piece, OTHER_TEXT) for piece in PIECES]),
        word,
        np.array([9, 5, 2, 4, 3, 2, 8, 7, 1, 1, 1, 9, 9]),
        grammar if words else None,
    )


def shuffled_sentence(seed: int) -> SentenceTokens:
    """The tokens of `PIECES` in random order, without words; [CLS] and [SEP] stay in place."""
    tokens = written_sentence(words=False)
    order = np.arange(len(tokens))
    order[1:-1] = np.random.default_rng(seed).permutation(order[1:-1])
    parts = (tokens.token_id, tokens.flags, tokens.text_class, tokens.word_index, tokens.count)
    return SentenceTokens(*(part[order] for part in parts))


def attending(targets: np.ndarray, share: float = 0.9) -> np.ndarray:
    """Pattern of a head that gives `share` of its attention evenly to the targets of each query, the rest evenly to all keys."""
    sums = targets.sum(axis=-1, keepdims=True)
    even = np.full(targets.shape, 1 / targets.shape[-1])
    given = np.divide(targets, sums, out=even.copy(), where=sums > 0)
    return (share * given + (1 - share) * even).astype(np.float32)
