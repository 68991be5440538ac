"""Small data with coreference, of words that the tiny models know."""

import random
from pathlib import Path

from ingest.text.coreference import GAP_COLUMNS

_NOUNS = ("film", "plot", "scene", "ending")
_VERBS = ("loved", "hated", "watch")


def write_chains(path: Path, *, documents: int = 40, seed: int = 0) -> Path:
    """Write CoNLL-2012 in three columns: sentences of two noun phrases; phrases of the same noun corefer."""
    choose = random.Random(seed)
    path.write_text("".join(_document(choose, number) for number in range(documents)), "utf-8")
    return path


def _document(choose: random.Random, number: int) -> str:
    words: list[tuple[str, str]] = []
    for _ in range(3):
        for noun in choose.sample(_NOUNS, 2):
            entity = _NOUNS.index(noun) + 1
            words += [("the", f"({entity}"), (noun, f"{entity})"), (choose.choice(_VERBS), "_")]
        words[-1] = (".", "_")
    lines = (f"{place}\t{word}\t{bracket}" for place, (word, bracket) in enumerate(words))
    return "\n".join([f"# begin document {number}", *lines, "# end document", ""])


def write_gap(path: Path, *, rows: int = 60, seed: int = 0) -> Path:
    """Write a table of GAP: the pronoun of a sentence stands for one of two names, or for neither."""
    choose = random.Random(seed)
    lines = ["\t".join((*GAP_COLUMNS, "URL")), *(_gap_row(choose, number) for number in range(rows))]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _gap_row(choose: random.Random, number: int) -> str:
    one, other = choose.sample(_NOUNS, 2)
    pronoun = choose.choice(("he", "her"))
    text = f"the {one} {choose.choice(_VERBS)} the {other} and {pronoun} {choose.choice(_VERBS)} the film {number} ."
    right = choose.choice((0, 1, 2))
    places = [str(text.index(f" {word} ") + 1) for word in (pronoun, one)]
    places.append(str(text.index(f"the {other} and") + 4))
    names = zip((one, other), places[1:], (right == 0, right == 1), strict=True)
    fields = [value for name, place, is_right in names for value in (name, place, str(is_right).upper())]
    return "\t".join([f"made-{number}", text, pronoun, places[0], *fields, "http://made"])
