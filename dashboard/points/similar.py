"""Lists of tokens of the corpus: by wordpiece, each token in a part of its sentence, and what they have in common, as in exBERT.

The most similar tokens come from an exact search over the vectors of a head. All cores score every token: an index would miss some of
the nearest. Vectors stay in float16, as stored; only a piece that fits a core's cache becomes float32: reading all in float32 took
twice the time.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import Unmade, heading, scrolling
from dashboard.ui.text import searched_tokens
from dashboard.ui.work import watched
from dashboard.web.context import Context
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.schema.model import ROLES
from store.text import Piece, Window

#: Most wordpieces in a list, and most sentences of each.
PIECES, SENTENCES = 20, 3
#: Wordpieces of a sentence on each side of the token.
AROUND = 7
#: Most values of each property in a list.
LISTED = 5
#: Texts in place of a next word at the end of a sentence, and in place of a missing category.
END, NONE = "end of sentence", "none"
#: Categories of a token's word -> their titles.
TITLES = {"part_of_speech": "part of speech", "relation": "dependency"}
#: Most tokens that are searched, from the first: the first are a uniform sample.
SEARCHED = 1_048_576
Floats = NDArray[np.floating]
#: A function from vectors (token, channel), which it may overwrite, to their scores (token,).
Score = Callable[[NDArray[np.float32]], NDArray[np.float32]]
#: Number of similar tokens that are listed and summarised.
SUMMARIZED = 50


@dataclass(frozen=True)
class FoundToken:
    """A token of the corpus in a role, and the note in its row of the list."""

    token: int
    role: str
    note: str = ""


@dataclass(frozen=True)
class TokenGroup:
    """The tokens of one wordpiece: their number, and a few examples, in different sentences where possible."""

    wordpiece: str
    count: int
    examples: tuple[FoundToken, ...]


def token_groups(corpus: Corpus, found: Sequence[FoundToken]) -> list[TokenGroup]:
    """The found tokens by wordpiece, the most frequent wordpiece first; equal ones in the order of `found`."""
    tokens = np.array([token.token for token in found], np.int64)
    ids = corpus.tokens.token_id.values[corpus.rows[tokens]]
    sentences = corpus.tokens.sentence_index.values[corpus.rows[tokens]]
    different, first, counts = np.unique(ids, return_index=True, return_counts=True)
    order = np.lexsort((first, -counts))[:PIECES]
    members = [np.flatnonzero(ids == different[group]) for group in order]
    return [
        TokenGroup(str(corpus.vocab[different[group]]), int(counts[group]), _examples(found, own, sentences))
        for group, own in zip(order, members, strict=True)
    ]


def _examples(
    found: Sequence[FoundToken], own: NDArray[np.int64], sentences: NDArray[np.integer]
) -> tuple[FoundToken, ...]:
    """Examples of a group: the first token of each sentence, then the others."""
    _, first = np.unique(sentences[own], return_index=True)
    order = [*np.sort(first), *np.setdiff1d(np.arange(len(own)), first)][:SENTENCES]
    return tuple(found[own[place]] for place in order)


def groups_table(
    corpus: Corpus, state: LinkState, found: Sequence[FoundToken], titles: tuple[str, str], *, unit: str = "token"
) -> html.Table:
    """The groups as a table: a line with the wordpiece and its count, then sentences that link to the token."""
    heads = html.Thead(html.Tr([html.Th(titles[0]), html.Th(titles[1], className="number")]))
    bodies = [_body(corpus, state, group, unit) for group in token_groups(corpus, found)]
    return html.Table([heads, *bodies], className="rows groups")


def _body(corpus: Corpus, state: LinkState, group: TokenGroup, unit: str) -> html.Tbody:
    name = html.Th(html.Bdi(group.wordpiece), scope="rowgroup")
    count = html.Td(many(group.count, unit), className="number")
    return html.Tbody([html.Tr([name, count]), *[_row(corpus, state, found) for found in group.examples]])


def _row(corpus: Corpus, state: LinkState, found: FoundToken) -> html.Tr:
    row = int(corpus.rows[found.token])
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    words: Any = excerpt(corpus.sentence_pieces(sentence), {position: found.role}, around=AROUND)
    href = state.with_(token=found.token, role=found.role, tab="point", marks=None).href
    where = f"Open this {found.role}: sentence {sentence:,}, position {position}"
    return html.Tr(
        [html.Td(dcc.Link(words, href=href, title=where), dir="auto"), html.Td(found.note, className="number")]
    )


@dataclass(frozen=True)
class Shares:
    """How often each value of a property occurs, the most frequent first; `of` is the number of tokens."""

    title: str
    counts: tuple[tuple[str, int], ...]
    of: int

    @classmethod
    def among(cls, title: str, values: Iterable[str]) -> "Shares":
        """The counts of `values`, one value of each token."""
        counts = Counter(values)
        return cls(title, tuple(counts.most_common()), counts.total())


def summary(
    corpus: Corpus,
    ingest: IngestProgress | None,
    tokens: xr.Dataset,
    rows: Sequence[int],
    words: NDArray[np.int64] | None,
) -> list[object]:
    """Counts of similar tokens, which are `rows` of the token axis of `tokens`.

    `words` are their rows of the word axis, -1 for no word; None where the annotated corpus does not have the tokens.
    """
    next_words = Shares.among("next word", (next_word(tokens, corpus.piece_texts, row) for row in rows))
    if words is None:
        return [_bars([next_words])]
    try:
        return [_bars([*word_shares(corpus, words), next_words])]
    except NotIngested as error:
        remedy: Any = Unmade.of(error, ingest).text
        return [_bars([next_words]), html.P(remedy, className="caption")]


def word_shares(corpus: Corpus, words: NDArray[np.int64]) -> list[Shares]:
    """Counts of the categories of `words`: rows of the word axis, -1 for no word. NotIngested where words are not annotated."""
    return [
        Shares.among(f"{title} ({corpus.words.kind})", _categories(corpus, name, words))
        for name, title in TITLES.items()
        if corpus.words.names(name)
    ]


def _categories(corpus: Corpus, name: str, words: NDArray[np.int64]) -> list[str]:
    names, codes = corpus.words.names(name), corpus.words.table[name].values
    return [names[codes[word]] if word >= 0 and codes[word] >= 0 else NONE for word in words.tolist()]


def next_word(tokens: xr.Dataset, texts: NDArray[np.object_], row: int) -> str:
    """The text of the word after the token's word; `END` after the last word. `texts` are those of wordpieces: (vocab,)."""
    sentence, word = tokens.sentence_index.values, tokens.word_index.values
    rest = takewhile(lambda other: sentence[other] == sentence[row], range(row + 1, len(word)))
    first = next((other for other in rest if word[other] >= 0 and word[other] != word[row]), None)
    if first is None:
        return END
    following = takewhile(
        lambda other: (sentence[other], word[other]) == (sentence[first], word[first]), range(first, len(word))
    )
    return "".join(str(texts[tokens.token_id.values[other]]) for other in following) or END


def _bars(every: Sequence[Shares]) -> html.Div:
    return html.Div([_table(shares) for shares in every], className="shares")


def _table(shares: Shares) -> html.Table:
    rows = [_bar(name, count, shares.of) for name, count in shares.counts[:LISTED]]
    left = shares.counts[LISTED:]
    if left:
        rows.append(_bar(f"{many(len(left), 'other')}", sum(count for _, count in left), shares.of, "quiet"))
    titles = (shares.title, "tokens")
    return html.Table([heading(titles, titles[1:]), html.Tbody(rows)], className="rows bars")


def _bar(name: str, count: int, of: int, kind: str = "") -> html.Tr:
    """A value and its count, with a bar as long as its share."""
    bar = html.Div(className=f"bar {kind}".strip(), style={"width": f"{100 * count / of:.0f}%"})
    return html.Tr([html.Td([html.Bdi(name), bar]), html.Td(f"{count} of {of}", className="number")])


def excerpt(pieces: Sequence[Piece], marked: Mapping[int, str], *, around: int) -> list[object]:
    """The words from `around` wordpieces before the marked ones to as many after; `marked` has the class of each position.

    Special tokens have no text: only marked ones are shown.
    """
    first, last = max(0, min(marked) - around), min(len(pieces), max(marked) + around + 1)
    while first > 0 and pieces[first].continues:
        first -= 1
    while last < len(pieces) and pieces[last].continues:
        last += 1
    shown = [position for position in range(first, last) if position in marked or not pieces[position].special]
    before = [] if all(piece.special for piece in pieces[:first]) else ["… "]
    after = [] if all(piece.special for piece in pieces[last:]) else [" …"]
    words = [part for position in shown for part in _word(pieces[position], marked.get(position), position == shown[0])]
    return [*before, *words, *after]


def linked_pieces(pieces: Sequence[str], hrefs: Sequence[str], chosen: int, role: str) -> html.P:
    """The wordpieces of a sentence, each with its link, the chosen one with the class of its role.

    A long sentence shows the window around the chosen wordpiece, with links to what stands before and after.
    """
    window = Window.around(chosen, len(pieces))
    more = [(window.first - 1, "… before"), (window.stop, "after …")]
    before, after = ([dcc.Link(text, href=hrefs[at])] if 0 <= at < len(pieces) else [] for at, text in more)
    links = [
        dcc.Link(
            piece,
            href=href,
            className=f"piece {role} here" if position == chosen else "piece",
            title=f"position {position}",
        )
        for position, (piece, href) in window.of(list(enumerate(zip(pieces, hrefs, strict=True))))
    ]
    shown = [*before, *links, *after]
    of = [] if window.is_whole else [html.Span(window.name, className="caption")]
    return html.P([*(part for link in shown for part in (link, " ")), *of], className="sentence-pieces")


def _word(piece: Piece, kind: str | None, is_first: bool) -> list[object]:
    """A wordpiece, after a space where it begins a word."""
    space = "" if piece.continues or is_first else " "
    return [space + piece.text] if kind is None else [space, html.Mark(piece.text or piece.name, className=kind)]


@dataclass(frozen=True)
class AtOnce:
    """Numbers of rows of the token axis that are read at once, and that are scored at once."""

    read: int = 32_768
    scored: int = 4_096


AT_ONCE = AtOnce()


@dataclass(frozen=True)
class Point:
    """A token of the corpus (padding not counted) as query or key of a head."""

    layer: int
    head: int
    role: str
    token: int


def logits(corpus: Corpus, point: Point, tokens: int, at_once: AtOnce = AT_ONCE) -> Floats:
    """Logits q.k / sqrt(channels) of the point with the vectors of the other role, of the first `tokens` tokens: (token,)."""
    own, (others, constant) = _vector(corpus, point), _others(corpus, point)
    own *= np.float32(len(own) ** -0.5)
    # The constant part of all keys adds the same number to all logits.
    return _scan(corpus, others, lambda stored: stored @ own, tokens, at_once) + constant @ own


def cosines(corpus: Corpus, point: Point, tokens: int, at_once: AtOnce = AT_ONCE) -> Floats:
    """Cosines of the point's vector with the vectors of the same role, of the first `tokens` tokens: (token,)."""
    own, (others, constant) = _vector(corpus, point), _vectors_of_role(corpus, point, point.role)

    def score(stored: NDArray[np.float32]) -> NDArray[np.float32]:
        stored += constant
        norms = np.sqrt(np.einsum("tc,tc->t", stored, stored) * (own @ own))
        return (stored @ own) / np.maximum(norms, np.finfo(np.float32).tiny)

    return _scan(corpus, others, score, tokens, at_once)


def highest_scores(scores: Floats, count: int) -> NDArray[np.int64]:
    """Indices of the `count` largest scores, the largest first, equal ones in order; sorting all took most of a request."""
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    candidates = np.flatnonzero(scores >= least)
    return candidates[np.argsort(-scores[candidates], kind="stable")[:count]]


def _vectors_of_role(corpus: Corpus, point: Point, role: str) -> tuple[xr.Variable, NDArray[np.float32]]:
    return corpus.stored_vectors(role, layer=point.layer, head=point.head)


def _others(corpus: Corpus, point: Point) -> tuple[xr.Variable, NDArray[np.float32]]:
    return _vectors_of_role(corpus, point, ROLES[1 - ROLES.index(point.role)])


def _vector(corpus: Corpus, point: Point) -> NDArray[np.float32]:
    stored, constant = _vectors_of_role(corpus, point, point.role)
    vector: NDArray[np.float32] = stored[int(corpus.rows[point.token])].values.astype(np.float32) + constant
    return vector


def _scan(corpus: Corpus, stored: xr.Variable, score: Score, tokens: int, at_once: AtOnce) -> NDArray[np.float32]:
    """Scores of the first `tokens` tokens by their stored vectors (token, channel): (token,)."""
    rows = corpus.rows[:tokens]
    stop = int(rows[-1]) + 1

    def scored(start: int) -> NDArray[np.float32]:
        return _by_pieces(stored[start : min(start + at_once.read, stop)].values, score, at_once.scored)

    with ThreadPoolExecutor(os.cpu_count(), "scan") as pool:
        parts = [pool.submit(scored, start) for start in range(0, stop, at_once.read)]
        try:
            # Padding is scored, too, and dropped afterwards: faster than copying all other rows, and no block is read twice.
            return np.concatenate([part.result() for part in watched(parts)])[rows]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # the reader may have left


def _by_pieces(tile: NDArray[np.float16], score: Score, rows: int) -> NDArray[np.float32]:
    piece = np.empty((min(rows, len(tile)), tile.shape[1]), np.float32)
    parts = []
    for start in range(0, len(tile), rows):
        own = tile[start : start + rows]
        vectors = piece[: len(own)]
        vectors[...] = own
        parts.append(score(vectors))
    return np.concatenate(parts)


@dataclass(frozen=True)
class Similar:
    """The most similar tokens of the corpus (token,), their cosines (token,), and how many tokens were searched."""

    tokens: NDArray[np.int64]
    cosines: NDArray[np.float32]
    searched: int


@cached
def similar_tokens(corpus: Corpus, point: Point, most: int = SEARCHED) -> Similar:
    """The other tokens whose vectors of the same role have the largest cosines with the point's vector, the largest first."""
    searched = min(corpus.n_tokens, most)
    scores = cosines(corpus, point, searched)
    if point.token < searched:
        scores[point.token] = -np.inf
    order = highest_scores(scores, min(SUMMARIZED, searched - 1))
    return Similar(order, scores[order], searched)


def similar_part(context: Context) -> list[object]:
    """The most similar tokens of the clicked point, and what they have in common."""
    corpus, state = context.corpus, context.state
    if state.token is None:
        return []
    point = Point(state.layer, state.head, state.role, state.token)
    similar = similar_tokens(corpus, point)
    names = {"query": "queries", "key": "keys"}
    title = html.H3(f"Most similar {names[state.role]} in the corpus")
    if not len(similar.tokens):
        return [title, html.P("The corpus has no other token. Run `headscape ingest` with more sentences.")]
    rows = corpus.rows[similar.tokens]
    words = corpus.token_words[rows] if corpus.has_words else np.full(len(rows), -1)
    searched = searched_tokens(corpus, similar.searched)
    found = [
        FoundToken(token, state.role, f"{cosine:.3f}")
        for token, cosine in zip(similar.tokens.tolist(), similar.cosines.tolist(), strict=True)
    ]
    caption = (
        f"By cosine of the {names[state.role]} of this head, over {searched}. "
        f"The first {len(rows)} by wordpiece; below, what they have in common."
    )
    return [
        title,
        scrolling(groups_table(corpus, state, found, (state.role, "cosine")), f"Most similar {names[state.role]}"),
        html.P(caption, className="caption"),
        *summary(corpus, context.ingest, corpus.tokens, rows.tolist(), words),
    ]


SIMILAR = DeferredPart(
    "similar", "the most similar tokens", similar_part, ("layer", "head", "role", "token"), 1016, middle=540
)
