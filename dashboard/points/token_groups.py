"""Tokens of the corpus in lists: by their wordpiece, in parts of their sentences, and what they have in common, as exBERT shows it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.ui.markup import heading
from dashboard.ui.page import Unmade
from dashboard.web.context import Context
from store import Corpus
from store.phrases import many
from store.repository.errors import NotIngested
from store.text import Piece

#: Wordpieces shown, and sentences of each.
PIECES, SENTENCES = 20, 3
#: Wordpieces of a sentence on each side of the token.
AROUND = 7


@dataclass(frozen=True)
class FoundToken:
    """A token of the corpus in a role, and what its row says of it."""

    token: int
    role: str
    note: str = ""


@dataclass(frozen=True)
class TokenGroup:
    """The tokens of one wordpiece: how many, and the first few in different sentences where there are such."""

    wordpiece: str
    count: int
    examples: tuple[FoundToken, ...]


def token_groups(corpus: Corpus, found: Sequence[FoundToken]) -> list[TokenGroup]:
    """The most frequent wordpieces first, of equal ones the one that comes first."""
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
    """The first of each sentence, then the others."""
    _, first = np.unique(sentences[own], return_index=True)
    order = [*np.sort(first), *np.setdiff1d(np.arange(len(own)), first)][:SENTENCES]
    return tuple(found[own[place]] for place in order)


def groups_table(
    context: Context, found: Sequence[FoundToken], titles: tuple[str, str], *, unit: str = "token"
) -> html.Table:
    """The groups as a table: a line with the wordpiece and its count, below it sentences that open the token."""
    heads = html.Thead(html.Tr([html.Th(titles[0]), html.Th(titles[1], className="number")]))
    bodies = [_body(context, group, unit) for group in token_groups(context.corpus, found)]
    return html.Table([heads, *bodies], className="rows groups")


def _body(context: Context, group: TokenGroup, unit: str) -> html.Tbody:
    name = html.Th(html.Bdi(group.wordpiece), scope="rowgroup")
    count = html.Td(many(group.count, unit), className="number")
    return html.Tbody([html.Tr([name, count]), *[_row(context, found) for found in group.examples]])


def _row(context: Context, found: FoundToken) -> html.Tr:
    corpus, row = context.corpus, int(context.corpus.rows[found.token])
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    words: Any = excerpt(corpus.sentence_pieces(sentence), {position: found.role}, around=AROUND)
    href = context.state.with_(token=found.token, role=found.role, tab="point", marks=None).href
    where = f"Open this {found.role}: sentence {sentence:,}, position {position}"
    return html.Tr(
        [html.Td(dcc.Link(words, href=href, title=where), dir="auto"), html.Td(found.note, className="number")]
    )


#: Values of each property that are listed.
LISTED = 5
#: Instead of a next word, and instead of a category.
END, NONE = "end of sentence", "none"
#: Categories of a token's word, and what they are called.
TITLES = {"part_of_speech": "part of speech", "relation": "dependency"}


@dataclass(frozen=True)
class Shares:
    """How often each value of a property occurs, the most frequent first; `of` tokens in all."""

    title: str
    counts: tuple[tuple[str, int], ...]
    of: int

    @classmethod
    def among(cls, title: str, values: Iterable[str]) -> "Shares":
        """Those of the values, one of each token."""
        counts = Counter(values)
        return cls(title, tuple(counts.most_common()), counts.total())


def summary(context: Context, tokens: xr.Dataset, rows: Sequence[int], words: NDArray[np.int64] | None) -> list[object]:
    """Counts of similar tokens, which are `rows` of the token axis of `tokens`.

    `words` are their rows of the word axis, -1 for none; None where the tokens are no part of the annotated corpus.
    """
    corpus = context.corpus
    next_words = Shares.among("next word", (next_word(tokens, corpus.piece_texts, row) for row in rows))
    if words is None:
        return [_bars([next_words])]
    try:
        return [_bars([*word_shares(corpus, words), next_words])]
    except NotIngested as error:
        remedy: Any = Unmade.of(error, context.ingest).text
        return [_bars([next_words]), html.P(remedy, className="caption")]


def word_shares(corpus: Corpus, words: NDArray[np.int64]) -> list[Shares]:
    """Counts of the categories of words, rows of the word axis or -1. NotIngested where words are not annotated."""
    return [
        Shares.among(f"{title} ({corpus.words.kind})", _categories(corpus, name, words))
        for name, title in TITLES.items()
        if corpus.words.names(name)
    ]


def _categories(corpus: Corpus, name: str, words: NDArray[np.int64]) -> list[str]:
    names, codes = corpus.words.names(name), corpus.words.table[name].values
    return [names[codes[word]] if word >= 0 and codes[word] >= 0 else NONE for word in words.tolist()]


def next_word(tokens: xr.Dataset, texts: NDArray[np.object_], row: int) -> str:
    """The texts of the wordpieces of the word after the token's, joined; `END` after the last. `texts` are (vocab,)."""
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
