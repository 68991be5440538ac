"""What a page says of a search: the first matching sentences, the wordpieces found, and what to do where nothing matches."""

import itertools
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.points.search import (
    BETWEEN,
    folded,
    matching_tokens,
    occurrences,
    occurring_pieces,
    spaced,
    word_starts,
)
from dashboard.ui.markup import heading, scrolling
from dashboard.web.results import cached
from dashboard.web.state import WITHIN, LinkState, Within
from store import Corpus
from store.phrases import many

#: Suggested wordpieces, and the largest difference of their length.
OFFERED, LONGER = 4, 2


#: Wordpieces whose matches are counted.
COUNTED = 12


_MATCHED = {"token": "as a token", "prefix": "as a prefix", "phrase": "as a phrase", "lemma": "as a lemma"}


@dataclass(frozen=True)
class SentenceHit:
    """A sentence with matches.

    `token` is its first matching token, `parts` its text, each part with whether it matches.
    """

    sentence: int
    token: int
    position: int
    label: str
    parts: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Hits:
    """Matches of a search in the whole corpus: how many tokens and sentences, and the first sentences."""

    tokens: int
    sentences: int
    rows: tuple[SentenceHit, ...]


@cached
def hits(corpus: Corpus, q: str, within: Within, *, limit: int = 50) -> Hits:
    """The matches of a search in the whole corpus."""
    tokens = np.flatnonzero(matching_tokens(corpus, q, within))
    sentences, first = np.unique(corpus.tokens.sentence_index.values[corpus.rows[tokens]], return_index=True)
    each = np.split(tokens, first[1 : limit + 1])[:limit] if len(tokens) else []
    rows = [_sentence(corpus, int(sentence), own) for sentence, own in zip(sentences, each, strict=False)]
    if within == "phrase":
        rows = [replace(row, parts=_marked_phrase(corpus, row.sentence, q)) for row in rows]
    return Hits(len(tokens), len(sentences), tuple(rows))


def _sentence(corpus: Corpus, sentence: int, tokens: NDArray[np.int64]) -> SentenceHit:
    """A sentence with the words of these tokens marked."""
    rows, word_index = corpus.rows[tokens], corpus.tokens.word_index.values
    text = spaced(str(corpus.sentences.text.values[sentence]))
    # Not from `texts`: at 1,000,000 tokens these are too large for the cache, and take half a second for each sentence.
    starts = word_starts(text + BETWEEN, corpus.splits_at_marks)[:-1]
    agrees = starts.sum() == word_index[corpus.sentence_rows(sentence)].max() + 1
    marked = np.isin(np.cumsum(starts) - 1, word_index[rows]) & agrees
    return SentenceHit(
        sentence=sentence,
        token=int(tokens[0]),
        position=int(corpus.tokens.position.values[rows[0]]),
        label=corpus.label_name(sentence),
        parts=_parts(text, marked),
    )


def _marked_phrase(corpus: Corpus, sentence: int, q: str) -> tuple[tuple[str, bool], ...]:
    text, sought = spaced(str(corpus.sentences.text.values[sentence])), folded(spaced(q))
    marked = np.zeros(len(text), bool)
    for at in occurrences(folded(text), sought):
        marked[at : at + len(sought)] = True
    return _parts(text, marked)


def _parts(text: str, marked: NDArray[np.bool_]) -> tuple[tuple[str, bool], ...]:
    """The text split where marks begin and end; a mark never ends in a space."""
    marked = marked & ~(np.array([letter == " " for letter in text], bool) & ~np.append(marked[1:], False))
    cuts = [0, *(np.flatnonzero(np.diff(marked)) + 1).tolist(), len(text)]
    return tuple((text[low:high], bool(marked[low])) for low, high in itertools.pairwise(cuts) if low < high)


def hit_table(corpus: Corpus, state: LinkState, sought: str, hits: Hits | None) -> list[object]:
    """The first matching sentences; nothing without any."""
    if not hits or not hits.sentences:
        return []
    rows = [_hit_row(state, sentence) for sentence in hits.rows]
    shown = f"the first {len(rows)} of {hits.sentences:,}" if hits.sentences > len(rows) else f"all {hits.sentences:,}"
    head = heading(("sentence", "token", "label", "text"), {"sentence", "token"})
    return [
        html.H2(f"Sentences with “{sought}”: {shown}"),
        *_by_wordpiece(corpus, state, sought),
        scrolling(html.Table([head, html.Tbody(rows)], className="rows"), "Matching sentences"),
    ]


def _by_wordpiece(corpus: Corpus, state: LinkState, sought: str) -> list[html.P]:
    """How many matching tokens are of which wordpiece, each a search of its own; nothing where all are of one."""
    ids = corpus.tokens.token_id.values[corpus.rows[matching_tokens(corpus, sought, state.within)]]
    different, counts = np.unique(ids, return_counts=True)
    if len(different) < 2 or state.within == "phrase":
        return []
    order = np.argsort(-counts, kind="stable")
    pieces = [(str(corpus.vocab[different[piece]]), int(counts[piece])) for piece in order[:COUNTED]]
    links = [
        html.Span(
            [dcc.Link(html.Bdi(piece), href=state.with_(q=piece, within="token").href), f" {count:,}"], className="chip"
        )
        for piece, count in pieces
    ]
    more = [f"and {many(len(order) - COUNTED, 'other wordpiece')}"] if len(order) > COUNTED else []
    return [html.P([html.Span("Tokens by wordpiece:"), *links, *more], className="legend")]


def _hit_row(state: LinkState, sentence: SentenceHit) -> html.Tr:
    in_head = state.with_(page="head", token=sentence.token, tab="point", at=None)
    text = [html.Mark(part) if marked else part for part, marked in sentence.parts]
    return html.Tr(
        [
            html.Td(
                dcc.Link(
                    f"{sentence.sentence:,}",
                    href=state.of_sentence(sentence.sentence).href,
                    title="Open the sentence",
                ),
                className="number",
            ),
            html.Td(
                dcc.Link(f"at {sentence.position}", href=in_head.href, title="Show the token in its head"),
                className="number",
            ),
            html.Td(html.Bdi(sentence.label)),
            html.Td(text, dir="auto"),
        ]
    )


def no_hits(corpus: Corpus, state: LinkState) -> html.P | None:
    """A line with suggestions where a search has no match; it stands where the number of matches would."""
    sought = spaced(state.q or "")
    if not sought or matching_tokens(corpus, sought, state.within).any():
        return None
    offers = [*_elsewhere(corpus, state, sought), *_similar(corpus, state, sought)]
    clear = dcc.Link("Clear the search", href=state.with_(q=None, within="token").href)
    near = [" Similar: ", *[part for offer in offers for part in (", ", offer)][1:], "."] if offers else []
    text = f"No token matches “{sought}” {_MATCHED[state.within]}. "
    return html.P([text, clear, ".", *near], className="count one-row no-hits", role="status")


def _elsewhere(corpus: Corpus, state: LinkState, sought: str) -> list[dcc.Link]:
    """The same text with another way of matching."""
    counts = {within: int(matching_tokens(corpus, sought, within).sum()) for within in WITHIN}
    return [
        dcc.Link(f"{many(count, 'token')} {_MATCHED[within]}", href=state.with_(within=within).href)
        for within, count in counts.items()
        if count
    ]


def _similar(corpus: Corpus, state: LinkState, sought: str) -> list[dcc.Link]:
    near = similar_pieces(corpus, sought)
    return [dcc.Link(f"“{piece}”", href=state.with_(q=piece, within="token").href) for piece in near]


def similar_pieces(corpus: Corpus, sought: str) -> list[str]:
    """Wordpieces of the corpus with a similar spelling and the same first letter, the most similar first."""
    wanted = folded(sought)
    similar = [
        piece
        for piece in occurring_pieces(corpus)
        if piece[:1] == wanted[:1] and abs(len(piece) - len(wanted)) <= LONGER
    ]
    return get_close_matches(wanted, similar, n=OFFERED)
