"""What similar tokens have in common: how many have which part of speech, dependency and next word, as exBERT shows it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import xarray as xr
from dash import html
from numpy.typing import NDArray

from dashboard.ui.markup import heading
from dashboard.ui.page import Unmade
from dashboard.web.context import Context
from store import Corpus
from store.phrases import many
from store.repository.errors import NotIngested

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
