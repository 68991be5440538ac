"""Sentences of the corpus in which a head makes most links of a kind."""

from dataclasses import dataclass

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.notes.listing import note_panels
from dashboard.notes.target import PairTarget
from dashboard.relations.data import sentence_link, strongest_of
from dashboard.relations.kinds import CommonKind, NamedKind
from dashboard.ui.controls import action
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.text import naming
from dashboard.web.context import Context
from dashboard.web.results import cached
from store import Corpus
from store.kernels.relations import WordPairs
from store.phrases import many
from store.schema.model import head_name

#: Sentences that are listed.
LISTED = 10
#: Pairs of a sentence that a note can be on.
NOTED = 20
Kind = NamedKind | CommonKind


@dataclass(frozen=True)
class LinkedSentence:
    """A sentence, how many of the pairs in it a head links, and the words of these: from and to, by index."""

    sentence: int
    pairs: int
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class LinkedSentences:
    """The first sentences by number of links, and how many links, pairs and sentences with links the corpus has."""

    rows: tuple[LinkedSentence, ...]
    links: int
    pairs: int
    sentences: int


@cached
def linked_sentences(corpus: Corpus, kind: Kind, layer: int, head: int) -> LinkedSentences:
    """Sentences by the number of links that a head makes; of as many, those with the largest share of pairs first."""
    links, possible = kind.made(corpus.words, strongest_of(corpus, layer, head))
    count, pairs = (np.bincount(each, minlength=corpus.n_sentences) for each in (links.sentence, possible))
    order = np.lexsort((pairs, -count))[:LISTED]
    rows = [_row_of(links, sentence, int(pairs[sentence])) for sentence in order[count[order] > 0].tolist()]
    return LinkedSentences(tuple(rows), len(links.sentence), len(possible), int(np.count_nonzero(count)))


def _row_of(links: WordPairs, sentence: int, pairs: int) -> LinkedSentence:
    own: NDArray[np.intp] = np.flatnonzero(links.sentence == sentence)
    ends = zip(links.source_word[own].tolist(), links.target_word[own].tolist(), strict=True)
    return LinkedSentence(sentence, pairs, tuple(sorted(ends)))


def show_link(context: Context, layer: int, head: int, shown: tuple[int, int]) -> html.Td:
    """A button that chooses the head whose sentences are listed: a cell of a table."""
    if (layer, head) == shown:
        return html.Td("shown")
    href = context.state.with_(examples="chosen", layer=layer, head=head).href
    return html.Td(action("show", href, title=f"Show the sentences of {head_name(layer, head)}"))


def best_sentence(context: Context, kind: Kind, layer: int, head: int) -> html.Td:
    """The one sentence in which a head makes most links: a cell of a table."""
    found = linked_sentences(context.corpus, kind, layer, head)
    if not found.rows:
        return html.Td("none")
    best = found.rows[0]
    text = f"sentence {best.sentence:,}: {len(best.links)} of {best.pairs}"
    return html.Td(dcc.Link(text, href=_href(context, best, layer, head)))


def most_linked(context: Context, kind: Kind, layer: int, head: int) -> list[object]:
    """The sentences in which a head makes most links of a kind."""
    found = linked_sentences(context.corpus, kind, layer, head)
    name = head_name(layer, head)
    title = f"Sentences in which {name} makes most links {kind.such}".rstrip()
    if not found.rows:
        text = f"{name} makes no such link in the corpus ({many(found.pairs, kind.counted)}). Choose another head."
        return [html.H3(naming(title, kind.named)), html.P(text, className="caption", role="status")]
    caption = (
        f"{found.links:,} of {many(found.pairs, kind.counted)} of the corpus are linked, in {many(found.sentences, 'sentence')}; "
        f"the first {len(found.rows)}. "
    )
    rows = [html.Tr(_row(context, kind, row, layer, head)) for row in found.rows]
    table = html.Table([heading(("sentence", "text"), {"sentence"}), html.Tbody(rows)], className="rows found pair")
    return [
        html.H3(naming(title, kind.named)),
        html.P([caption, *_legend(kind)], className="caption pair", role="status"),
        scrolling(table, title),
    ]


def _legend(kind: Kind) -> list[object]:
    source, target = kind.ends
    return [html.Mark(source, className="dependent"), ", ", html.Mark(target, className="governor")]


def _row(context: Context, kind: Kind, row: LinkedSentence, layer: int, head: int) -> list[html.Td]:
    link = dcc.Link(f"{row.sentence:,}", href=_href(context, row, layer, head))
    share = f"{len(row.links)} of {many(row.pairs, kind.counted)} linked ({100 * len(row.links) / row.pairs:.0f}%)"
    words, below = html.Div(_words(context.corpus, row), dir="auto"), html.Div(share, className="below")
    text = [words, below, *_notes(context, kind, row)]
    return [html.Td(link, className="number"), html.Td(text, className="text")]


def _notes(context: Context, kind: Kind, row: LinkedSentence) -> list[object]:
    """Notes on the pairs that the head links; pairs like a marked example are of no named relation."""
    if not isinstance(kind, NamedKind):
        return []
    corpus, sentence = context.corpus, row.sentence
    targets = [PairTarget.of(corpus, sentence, *pair, kind.relation, kind.direction) for pair in row.links[:NOTED]]
    each = {f"{target.spelling} ({target.source}, {target.target})": target for target in targets}
    return [note_panels(f"pairs-{sentence}", each, "Notes on its pairs")]


def _words(corpus: Corpus, row: LinkedSentence) -> list[object]:
    """The words of a sentence, those of its links marked."""
    marks = {target: "governor" for _, target in row.links} | {source: "dependent" for source, _ in row.links}
    words = corpus.words.texts(corpus.words.rows(row.sentence))
    shown = [html.Mark(word, className=marks[at]) if at in marks else word for at, word in enumerate(words)]
    return [part for each in shown for part in (each, " ")]


def _href(context: Context, row: LinkedSentence, layer: int, head: int) -> str:
    """The page of the sentence with the first word of its first link selected."""
    return sentence_link(context, row.sentence, row.links[0][0], layer, head)
