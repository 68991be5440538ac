"""The dependency tree of a sentence of the corpus, as a picture; dependencies that a head links stand out."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.sentence.picture import isolated_head
from dashboard.ui.markup import file_href, scrolling
from dashboard.ui.text import printable
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store import Corpus
from store.repository.errors import NotIngested
from store.schema.corpus import ROOT
from store.schema.model import head_name

#: Pixels of a monospaced letter, of the space between words, and between two levels of arcs.
LETTER, SPACE, LEVEL = 8.0, 26.0, 22.0
#: Colours of other arcs and of linked arcs: legible on white and on black.
QUIET, LINKED = "#868E96", "#2B8CD6"
#: Most words of a drawn tree: nobody reads a larger picture.
MOST_WORDS = 60
UNKNOWN_LINKS = "Which words heads link is not computed yet."


@dataclass(frozen=True)
class Arc:
    """A dependency: dependent, governor, label, and whether the head links the two words; None where links are not computed."""

    dependent: int
    governor: int
    label: str
    linked: bool | None

    @property
    def ends(self) -> tuple[int, int]:
        """Indices of the left and of the right word."""
        return min(self.dependent, self.governor), max(self.dependent, self.governor)


@dataclass(frozen=True)
class Tree:
    """The tree of a sentence of the corpus: its words and arcs; no arcs where the sentence has too few or too many words.

    `kind` and `source` say where the grammar comes from; `head` names the head whose links stand out; `svg` is the URL of the drawing.
    """

    kind: str
    source: str
    head: str
    words: list[str]
    arcs: list[Arc]
    svg: str


def read_tree(corpus: Corpus, state: LinkState) -> Tree | None:
    """The tree of a link's sentence, which must have vectors; None for a typed sentence, or in a corpus without words."""
    if state.text or not corpus.has_words:
        return None
    words = corpus.words.texts(corpus.words.rows(state.sentence))
    drawn, head = 1 < len(words) <= MOST_WORDS, isolated_head(state)
    return Tree(
        corpus.words.kind,
        corpus.words.source,
        head_name(state.layer, head),
        words,
        tree_arcs(corpus, state.sentence, state.layer, head) if drawn else [],
        file_href(data_link(corpus), f"tree/{state.sentence}/{state.layer}/{head}.svg"),
    )


def dependency_tree(tree: Tree) -> list[object]:
    """The section with the drawing of a tree; its alternative text lists the dependencies that the head links."""
    title = html.H2(f"Dependency tree ({tree.kind})")
    if not 1 < len(tree.words) <= MOST_WORDS:
        words = f"The sentence has {len(tree.words)} words; a tree is drawn of 2 to {MOST_WORDS}."
        return [title, html.P(words, className="caption")]
    right, name, spelled, source = [arc for arc in tree.arcs if arc.linked], tree.head, tree.words, tree.svg
    said = ", ".join(f"{spelled[arc.dependent]} to {spelled[arc.governor]} ({arc.label})" for arc in right) or "none"
    links, counted = UNKNOWN_LINKS, UNKNOWN_LINKS
    if all(arc.linked is not None for arc in tree.arcs):
        links = f"{name} links: {said}."
        counted = f"Thick blue: {name} links the two words, in either direction ({len(right)} of {len(tree.arcs)})."
    image = html.Img(src=source, alt=f"Dependency tree. {links}", className="tree")
    caption = f"{tree.source.capitalize()}. {counted} "
    return [
        title,
        scrolling(image, "Dependency tree"),
        html.P([caption, html.A("Save SVG", href=source, download=""), "."], className="caption"),
    ]


def tree_arcs(corpus: Corpus, sentence: int, layer: int, head: int) -> list[Arc]:
    """The dependencies of a sentence; `linked` is None where the ingest has not computed the links of heads."""
    rows, table = corpus.words.rows(sentence), corpus.words.table
    governor, labels = table.governor.values[rows], table.relation.values[rows]
    names = corpus.words.names("relation")
    attended = _attended(corpus, rows, layer, head)
    return [
        Arc(
            word,
            int(own),
            names[code] if code >= 0 else "",
            None if attended is None else bool(attended[word] == own or attended[own] == word),
        )
        for word, (own, code) in enumerate(zip(governor, labels, strict=True))
        if own > ROOT
    ]


def _attended(corpus: Corpus, rows: slice, layer: int, head: int) -> NDArray[np.int16] | None:
    try:
        most: NDArray[np.int16] = corpus.strongest_words.most_attended.isel(layer=layer, head=head, word=rows).values
    except NotIngested:
        return None
    return most


def tree_svg(words: Sequence[str], arcs: Sequence[Arc]) -> str:
    """The picture: words in a row, and above them an arc for every dependency with its arrow at the dependent."""
    middles = _middles(words)
    levels = _levels(arcs)
    height = LEVEL * (max(levels.values(), default=0) + 1) + 34
    width = middles[-1] + LETTER * len(words[-1]) / 2 + SPACE
    text = "".join(
        f'<text x="{middle:.0f}" y="{height - 10:.0f}" text-anchor="middle" fill="{QUIET}">{escape(printable(word))}</text>'
        for middle, word in zip(middles, words, strict=True)
    )
    drawn = "".join(
        _arc(arc, levels[arc], middles, height - 26) for arc in sorted(arcs, key=lambda arc: bool(arc.linked))
    )
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    style = 'font-family="ui-monospace, monospace" font-size="13"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{drawn}{text}</svg>'


def _middles(words: Sequence[str]) -> list[float]:
    """The horizontal middle of each word, in pixels."""
    middles, left = [], SPACE / 2
    for word in words:
        width = max(LETTER * len(word), LETTER * 4)
        middles.append(left + width / 2)
        left += width + SPACE
    return middles


def _levels(arcs: Sequence[Arc]) -> dict[Arc, int]:
    """The level of each arc: above all arcs that it spans."""
    levels: dict[Arc, int] = {}
    for arc in sorted(arcs, key=lambda arc: arc.ends[1] - arc.ends[0]):
        left, right = arc.ends
        below = [level for other, level in levels.items() if left <= other.ends[0] and other.ends[1] <= right]
        levels[arc] = max(below, default=-1) + 1
    return levels


def _arc(arc: Arc, level: int, middles: Sequence[float], base: float) -> str:
    colour, width = (LINKED, 2.5) if arc.linked else (QUIET, 1)
    side = 5 if arc.governor > arc.dependent else -5
    start, end = middles[arc.governor] - side, middles[arc.dependent] + side
    top = base - LEVEL * (level + 1) + 8
    path = f"M{start:.0f} {base:.0f} C{start:.0f} {top:.0f} {end:.0f} {top:.0f} {end:.0f} {base - 4:.0f}"
    arrow = f"M{end - 3:.0f} {base - 6:.0f} L{end:.0f} {base:.0f} L{end + 3:.0f} {base - 6:.0f} Z"
    highest = base + 0.75 * (top - base)
    label = (
        f'<text x="{(start + end) / 2:.0f}" y="{highest - 3:.0f}" text-anchor="middle" font-size="10" fill="{colour}">'
        f"{escape(printable(arc.label))}</text>"
    )
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        f'<path d="{arrow}" fill="{colour}"/>{label}'
    )
