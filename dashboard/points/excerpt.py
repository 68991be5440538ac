"""A part of a sentence around some of its wordpieces, which are marked."""

from collections.abc import Mapping, Sequence

from dash import html

from store.text import Piece


def excerpt(pieces: Sequence[Piece], marked: Mapping[int, str], *, around: int) -> list[object]:
    """The wordpieces `around` the marked ones, joined to words; a mark has the class of its position.

    Special tokens have no text of their own: they are shown where they are marked.
    """
    first, last = max(0, min(marked) - around), min(len(pieces), max(marked) + around + 1)
    shown = [position for position in range(first, last) if position in marked or not pieces[position].special]
    before = [] if all(piece.special for piece in pieces[:first]) else ["… "]
    after = [] if all(piece.special for piece in pieces[last:]) else [" …"]
    words = [part for position in shown for part in _word(pieces[position], marked.get(position), position == shown[0])]
    return [*before, *words, *after]


def _word(piece: Piece, kind: str | None, is_first: bool) -> list[object]:
    """A wordpiece, after a space where it begins a word."""
    space = "" if piece.continues or is_first else " "
    return [space + piece.text] if kind is None else [space, html.Mark(piece.text or piece.name, className=kind)]
