"""A part of a sentence around some of its wordpieces, which are marked."""

from collections.abc import Mapping, Sequence

from dash import html

#: Wordpieces without a text of their own.
_SILENT = ("[CLS]", "[SEP]")


def excerpt(wordpieces: Sequence[str], marked: Mapping[int, str], *, around: int) -> list[object]:
    """The wordpieces `around` the marked ones, joined to words; a mark has the class of its position."""
    first, last = max(0, min(marked) - around), min(len(wordpieces), max(marked) + around + 1)
    shown = [position for position in range(first, last) if position in marked or wordpieces[position] not in _SILENT]
    before = ["… "] if any(piece not in _SILENT for piece in wordpieces[:first]) else []
    after = [" …"] if any(piece not in _SILENT for piece in wordpieces[last:]) else []
    words = [
        part for position in shown for part in _word(wordpieces[position], marked.get(position), position == shown[0])
    ]
    return [*before, *words, *after]


def _word(wordpiece: str, kind: str | None, is_first: bool) -> list[object]:
    """A wordpiece, after a space where it begins a word."""
    joined = wordpiece.startswith("##")
    text = wordpiece.removeprefix("##") if joined else wordpiece
    space = "" if joined or is_first else " "
    return [space + text] if kind is None else [space, html.Mark(text, className=kind)]
