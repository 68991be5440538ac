"""What a wordpiece is, as its tokenizer says: the text that it stands for, and its flags. How it is spelled plays no part."""

import unicodedata
from collections.abc import Callable
from typing import Any

from store.schema.corpus import PUNCTUATION, SYMBOL

#: Stands before a wordpiece while it is decoded: the first wordpiece of a text may be decoded otherwise than the others.
BEFORE = "a"
#: What a decoder makes of a part of a character.
PART = "\ufffd"
#: How the Unicode names of full stops and commas end, in any script.
NAMES = ("FULL STOP", "COMMA", "DANDA")
#: Full stops and commas whose names do not say so: of Tibetan, Myanmar and Khmer.
STOPS = frozenset("\u0f0d\u0f0e\u104a\u104b\u17d4\u17d5")


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
