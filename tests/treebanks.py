"""A small treebank of the words that the tiny models know."""

import random
from pathlib import Path

#: Words with lemma, part of speech, tag, governor in the phrase and relation; the noun is the governor of its phrase.
_DETERMINERS = ("the", "a")
_ADJECTIVES = ("good", "bad", "sad", "funny", "slow")
_NOUNS = ("film", "plot", "scene", "ending", "zanyword")
_VERBS = ("loved", "hated", "watch")


def write_treebank(path: Path, *, sentences: int = 80, seed: int = 0) -> Path:
    """Write CoNLL-U sentences: noun phrase, verb, noun phrase and full stop; some nouns have an adjective."""
    choose = random.Random(seed)
    path.write_text("\n".join(_sentence(choose) for _ in range(sentences)), "utf-8")
    return path


def _sentence(choose: random.Random) -> str:
    words: list[tuple[str, str, str, str]] = [*_phrase(choose, "nsubj")]
    verb = len(words)
    words += [(choose.choice(_VERBS), "VERB", "VBD", "root"), *_phrase(choose, "obj"), (".", "PUNCT", ".", "punct")]
    nouns = [place for place, word in enumerate(words) if word[1] == "NOUN"]
    lines = []
    for number, (form, part_of_speech, tag, relation) in enumerate(words, 1):
        to_noun = relation in ("det", "amod")
        governor = (
            min(place for place in nouns if place >= number) + 1 if to_noun else (verb + 1) * (relation != "root")
        )
        lines.append("\t".join([str(number), form, form, part_of_speech, tag, "_", str(governor), relation, "_", "_"]))
    return "\n".join([f"# text = {' '.join(word[0] for word in words)}", *lines, ""])


def _phrase(choose: random.Random, relation: str) -> list[tuple[str, str, str, str]]:
    adjectives = [(choose.choice(_ADJECTIVES), "ADJ", "JJ", "amod")] * choose.randint(0, 1)
    return [
        (choose.choice(_DETERMINERS), "DET", "DT", "det"),
        *adjectives,
        (choose.choice(_NOUNS), "NOUN", "NN", relation),
    ]
