"""The strongest query-key pairs of a head over the whole corpus."""

from dash import dcc, html

from dashboard.points.chosen import Chosen
from dashboard.points.pairs import Pair, strongest_pairs
from dashboard.ui.file_links import file_links
from dashboard.ui.tables import heading
from dashboard.ui.under_way import unmade_of
from dashboard.web.view import Place
from store.amounts import many
from store.errors import NotIngested

SHOWN = 40


def panel(place: Place, _chosen: Chosen) -> list[object]:
    """The tab Top pairs."""
    title = html.H2("Strongest pairs over the corpus")
    try:
        found = strongest_pairs(place.corpus, place.address.layer, place.address.head)
    except NotIngested as error:
        return [title, html.P(unmade_of(place, error))]
    head = heading(("query", "key", "logit", "weight", "show", "sentence"), {"logit", "weight", "sentence"})
    rows = [_row(place, pair) for pair in found[:SHOWN]]
    return [
        title,
        html.Table([head, html.Tbody(rows)], className="rows"),
        html.P(
            f"The first {len(rows)} of {len(found)}: the largest q.k / sqrt(channel) within a sentence, over all "
            f"{many(place.corpus.n_sentences, 'sentence')}. Each two wordpieces once; [CLS], [SEP] and a token with itself are left out, "
            "they would fill the list.",
            className="caption",
        ),
        file_links(place, "All of them", f"pairs/{place.address.layer}/{place.address.head}"),
    ]


def _row(place: Place, pair: Pair) -> html.Tr:
    """A pair, with a link to it in its sentence, where it is marked."""
    marks = f"{pair.query_position}-{pair.key_position}"
    address = place.address.with_(
        token=pair.query_token, role="query", marks=marks, tab="point", lines="sentence", at=None
    )
    return html.Tr(
        [
            html.Td(pair.query_piece),
            html.Td(pair.key_piece),
            html.Td(f"{pair.logit:.2f}", className="number"),
            html.Td(f"{100 * pair.weight:.0f} %", className="number"),
            html.Td(dcc.Link("mark", href=address.href, title="Mark the pair in the picture")),
            html.Td(_sentence(place, pair), className="number"),
        ]
    )


def _sentence(place: Place, pair: Pair) -> dcc.Link:
    address = place.address.of_sentence(
        pair.sentence,
        queries=str(pair.query_position),
        role="query",
        toward=pair.key_position,
        heads=str(place.address.head),
    )
    return dcc.Link(f"{pair.sentence:,}", href=address.href, title="Show the pair in its sentence, in all heads")
