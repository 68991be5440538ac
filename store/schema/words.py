"""The groups `/corpus/<key>/words`, words and their grammar, and `/models/<key>/words`, which word each attends to most."""

from collections.abc import Mapping

from store.schema.array import Array, numbered
from store.schema.model import MODEL_ARRAYS

#: Instead of the index of a governor: the word is a root; its governor is not known, or was cut off with the sentence.
ROOT, NO_GOVERNOR = -1, -2
#: Words of a chunk.
WORDS = 16384


def _word(dtype: str, meaning: str, fill: int = -1) -> Array:
    return Array(("word",), dtype, (WORDS,), meaning, fill=fill)


def _sentence(dtype: str, meaning: str) -> Array:
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
    "word_start": _sentence("int64", "first word of the sentence"),
    "word_size": _sentence("int32", "words of the sentence; those that were cut off with it are not counted"),
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
