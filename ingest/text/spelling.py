"""Where a word stands in a text that spells it otherwise: escaped, composed of other characters, or with invisible ones."""

import re
import unicodedata
from itertools import accumulate

#: Brackets as the Penn Treebank writes them.
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
#: Punctuation after a slash as in OntoNotes, slash and asterisk after a backslash as in the Penn Treebank.
PUNCTUATION, ESCAPED = re.compile(r"/([.,?!:;-])"), re.compile(r"\\([/*])")
#: Words of a corpus that is given away without them, for its licence: https://github.com/UniversalDependencies/UD_English-GUMReddit
WITHHELD = re.compile(r"_|\[WORD\]")
#: Characters without a width or a glyph, such as a zero-width space or a soft hyphen.
INVISIBLE = "Cf"


def unescaped(word: str) -> str:
    """What a word stands for: `(` for `-LRB-`, `.` for `/.`."""
    punctuation = PUNCTUATION.fullmatch(word)
    return punctuation[1] if punctuation else BRACKETS.get(word.upper(), ESCAPED.sub(r"\1", word))


def place_of(word: str, text: str, place: int) -> tuple[int, int] | None:
    """First character of a word that stands next in a text, and the one after its last; None where another stands there.

    Canonically equivalent characters are equal, invisible ones are none.
    """
    start = len(text) - len(text[place:].lstrip())
    if text.startswith(word, start):
        return start, start + len(word)
    letters, _ = _folded(word)
    standing, places = _folded(text[start:])
    before = len(standing) - len(standing.lstrip())
    if not letters or not standing.startswith(letters, before):
        return None
    found = places[before : before + len(letters)]
    return start + min(found), start + max(found) + 1


def _folded(text: str) -> tuple[str, list[int]]:
    """The characters of a text in canonical decomposition without invisible ones, and the place of each in the text."""
    letters = [
        (letter, place)
        for place, character in enumerate(text)
        if unicodedata.category(character) != INVISIBLE
        for letter in unicodedata.normalize("NFD", character)
    ]
    classes = [unicodedata.combining(letter) for letter, _ in letters]
    clusters = accumulate(kind == 0 for kind in classes)
    order = sorted(range(len(letters)), key=list(zip(clusters, classes, strict=True)).__getitem__)
    return "".join(letters[at][0] for at in order), [letters[at][1] for at in order]
