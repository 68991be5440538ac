"""The group `/corpus/<key>`: sentences and tokens of one data set under one tokenizer."""

from collections.abc import Mapping

from store.schema.array import Array, numbered

CLS, SEP, PUNCTUATION, CONTINUATION, PAD, SYMBOL, SPECIAL = 1, 2, 4, 8, 16, 32, 64
#: Bits of `token_flags`. PUNCTUATION: full stops and commas of any script (Clark 2019: "." and ","). SYMBOL: other tokens
#: without letter or digit. SPECIAL: a special token other than [CLS] and [SEP], such as [MASK]; older stores lack it.
TOKEN_FLAGS = {
    "cls": CLS,
    "sep": SEP,
    "punctuation": PUNCTUATION,
    "continuation": CONTINUATION,
    "pad": PAD,
    "symbol": SYMBOL,
    "special": SPECIAL,
}
#: Special tokens, which are in no word, whether the tokenizer adds them or they stand in a text.
NO_WORD = CLS | SEP | SPECIAL


def _token(dtype: str, meaning: str, fill: int = 0) -> Array:
    return Array(("token",), dtype, ("block",), meaning, fill=fill)


def _sentence(dtype: str, meaning: str, fill: int = 0) -> Array:
    return Array(("sentence",), dtype, (16384,), meaning, fill=fill)


CORPUS_ARRAYS: Mapping[str, Array] = {
    "token_id": _token("int32", "index into vocab"),
    "position": _token("int16", "position in the sentence, [CLS] is 0"),
    "word_index": _token("int16", "word of the sentence this wordpiece belongs to, -1 for special tokens", -1),
    "sentence_index": _token("int32", "sentence of the token, -1 for padding at the end of a block", -1),
    "token_flags": _token("uint8", "bits: " + ", ".join(f"{bit} {name}" for name, bit in TOKEN_FLAGS.items()), PAD),
    "row_start": _sentence("int64", "first token of the sentence"),
    "row_size": _sentence("int32", "tokens of the sentence, [CLS] and [SEP] included"),
    "label": _sentence("int16", "label of the review, -1 if it has none", -1),
    "document": _sentence("int32", "index of the review in the data"),
    "sentence_hash": _sentence(
        "uint64", "content hash; sentences are sorted by it, so every prefix is a uniform sample"
    ),
    "text": Array(("sentence",), "str", (4096,), "the sentence as it stands in the review"),
    "vocab": numbered("vocab", "wordpiece of each token id", "str"),
    "vocab_text": numbered("vocab", "text that the wordpiece stands for, empty for white space", "str"),
}

#: Declaration of each array of `/corpus/<key>/columns`: a categorical column of the data.
COLUMN = _sentence("int16", "category of the sentence's review: index into `names`, -1 if it has none", -1)
