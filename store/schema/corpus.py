"""The groups `/corpus/<key>`, sentences and tokens of one data set under one tokenizer, `/corpus/<key>/words`, words and their grammar, and `/models/<key>/words`, which word each attends to most."""

from collections.abc import Mapping

from store.schema import Array, numbered
from store.schema.model import MODEL_ARRAYS

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
#: Instead of the index of a governor: the word is a root; its governor is not known, or was cut off with the sentence.
ROOT, NO_GOVERNOR = -1, -2
#: Words of a chunk.
WORDS = 16384


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


def _word(dtype: str, meaning: str, fill: int = -1) -> Array:
    return Array(("word",), dtype, (WORDS,), meaning, fill=fill)


def _sentence_words(dtype: str, meaning: str) -> Array:
    return Array(("sentence",), dtype, (WORDS,), meaning, fill=0)


def _category(meaning: str) -> Array:
    return _word("int16", f"{meaning}: index into the attribute `names`, -1 if it has none")


#: Categories of a word whose names are few; each is an array of codes with the attribute `names`.
CATEGORIES: Mapping[str, Array] = {
    "relation": _category("label of its dependency"),
    "part_of_speech": _category("universal part of speech"),
    "tag": _category("part of speech in the scheme of the annotation"),
    "entity": _category("kind of the named entity it is in"),
}

WORD_ARRAYS: Mapping[str, Array] = {
    "word_start": _sentence_words("int64", "first word of the sentence"),
    "word_size": _sentence_words("int32", "words of the sentence; those that were cut off with it are not counted"),
    "character_start": _word("int32", "first character in the text of the sentence"),
    "character_stop": _word("int32", "character after the last"),
    "token_start": _word("int16", "position of its first wordpiece in the sentence"),
    "token_stop": _word("int16", "position after its last wordpiece"),
    "governor": _word(
        "int16", f"word of the sentence it depends on; {ROOT} for a root, {NO_GOVERNOR} if not known", NO_GOVERNOR
    ),
    **CATEGORIES,
    "lemma": _word("int32", "dictionary form: index into lemma_names, -1 if it has none"),
    "lemma_names": numbered("lemma", "dictionary form of each code", "str"),
}


def _strongest(meaning: str) -> Array:
    return Array(("layer", "head", "word"), "int16", (1, "head", WORDS), meaning, fill=-1)


#: Both from attention between words: to a word the sum over its wordpieces, from a word their mean (Clark 2019, section 4.1).
STRONGEST_ARRAYS: Mapping[str, Array] = {
    "layer": MODEL_ARRAYS["layer"],
    "head": MODEL_ARRAYS["head"],
    "most_attended": _strongest("other word of the sentence that this word attends to most, -1 if there is none"),
    "most_attending": _strongest("other word of the sentence that attends most to this word, -1 if there is none"),
    "words_hash": Array(("task",), "uint64", (1,), "hash of the block the words were found in, 0 if not written"),
}
