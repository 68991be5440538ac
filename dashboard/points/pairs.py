"""The tab Top pairs: the highest-scoring query-key pairs of a head in the whole corpus."""

from dataclasses import dataclass

import numpy as np
from dash import dcc, html

from dashboard.points.picture import ShownPoints
from dashboard.ui.controls import info
from dashboard.ui.markup import file_links, heading
from dashboard.ui.page import Unmade
from dashboard.ui.text import decimal, first_of
from dashboard.web.context import Context
from dashboard.web.http import data_link
from store import Corpus
from store.repository.errors import NotIngested

SHOWN = 40
_RANKING = (
    "The query-key pairs of one sentence with the largest logits q.k / sqrt(channels). Each pair of wordpieces is listed once, "
    "without [CLS], [SEP] and self-attention."
)


@dataclass(frozen=True)
class Pair:
    """A query and a key of one sentence: token numbers in the corpus and positions in the sentence."""

    rank: int
    query_token: int
    key_token: int
    query_piece: str
    key_piece: str
    query_position: int
    key_position: int
    sentence: int
    logit: float
    weight: float


def strongest_pairs(corpus: Corpus, layer: int, head: int, *, limit: int = 100) -> list[Pair]:
    """The highest-scoring pairs of a head, in order. Raises a StoreError where the store has none yet."""
    stored = corpus.pairs.isel(layer=layer, head=head, rank=slice(0, limit))
    present = stored.query_token.values >= 0
    query, key = (stored[name].values[present] for name in ("query_token", "key_token"))
    tokens, query_of, key_of = corpus.tokens, query.tolist(), key.tolist()
    position, sentence = tokens.position.values, tokens.sentence_index.values
    number = dict(zip([*query_of, *key_of], np.searchsorted(corpus.rows, [*query_of, *key_of]).tolist(), strict=True))
    pieces = corpus.wordpieces(query), corpus.wordpieces(key)
    strengths = stored.logit.values[present].tolist(), stored.weight.values[present].tolist()
    return [
        Pair(
            rank=rank + 1,
            query_token=number[q],
            key_token=number[k],
            query_piece=pieces[0][rank],
            key_piece=pieces[1][rank],
            query_position=int(position[q]),
            key_position=int(position[k]),
            sentence=int(sentence[q]),
            logit=strengths[0][rank],
            weight=strengths[1][rank],
        )
        for rank, (q, k) in enumerate(zip(query_of, key_of, strict=True))
    ]


def panel(context: Context, _points: ShownPoints) -> list[object]:
    """The tab Top pairs."""
    title = html.H2(["Highest-scoring pairs in the corpus", info("highest-scoring pairs", _RANKING)])
    try:
        pairs = strongest_pairs(context.corpus, context.state.layer, context.state.head)
    except NotIngested as error:
        return [title, html.P(Unmade.of(error, context.ingest).text)]
    head = heading(("query", "key", "logit", "weight", "show", "sentence"), {"logit", "weight", "sentence"})
    rows = [_row(context, pair) for pair in pairs[:SHOWN]]
    return [
        title,
        html.Table([head, html.Tbody(rows)], className="rows"),
        html.P(
            f"The first {len(rows)} of {len(pairs)}, over {first_of(context.corpus, 'sentence')}.",
            className="caption",
        ),
        file_links(data_link(context.corpus), "All of them", f"pairs/{context.state.layer}/{context.state.head}"),
    ]


def _row(context: Context, pair: Pair) -> html.Tr:
    """A row of the table: links show the pair in the picture and open its sentence."""
    marks = f"{pair.query_position}-{pair.key_position}"
    state = context.state.with_(
        token=pair.query_token, role="query", marks=marks, tab="point", lines="sentence", at=None
    )
    return html.Tr(
        [
            html.Td(html.Bdi(pair.query_piece)),
            html.Td(html.Bdi(pair.key_piece)),
            html.Td(decimal(pair.logit), className="number"),
            html.Td(f"{100 * pair.weight:.0f}%", className="number"),
            html.Td(dcc.Link("show", href=state.href, title="Show the pair in the picture")),
            html.Td(_sentence(context, pair), className="number"),
        ]
    )


def _sentence(context: Context, pair: Pair) -> dcc.Link:
    state = context.state.of_sentence(
        pair.sentence,
        queries=str(pair.query_position),
        role="query",
        toward=pair.key_position,
        heads=str(context.state.head),
    )
    return dcc.Link(f"{pair.sentence:,}", href=state.href, title="Open the sentence with the pair selected")
