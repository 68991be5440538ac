"""The clicked token at a feature point: its sentence, and the tokens nearest to it there."""

from dash import dcc, html

from dashboard.features.nearest import NearToken, nearest_tokens, sentence_tokens, where_of
from dashboard.features.pieces import pieces_of
from dashboard.features.shown import ShownFeatures
from store.schema.features import SAMPLE

EMPTY = "Click a token, or press p and Enter in the picture: its sentence and the tokens nearest to it at this point stand here."


def feature_token(shown: ShownFeatures) -> list[object]:
    """What stands beside the large panel."""
    token, features = shown.place.address.ftoken, shown.series.features
    if token is None or shown.panel is None:
        return [html.H2("Token"), html.P(EMPTY)]
    clear = dcc.Link("clear the token", href=shown.place.address.with_(ftoken=None).href)
    return [
        html.H2(f"“{pieces_of(features)[token]}”"),
        html.P(where_of(features, token), className="caption"),
        _sentence(shown, token),
        html.Div([*_page(shown, token), clear], className="controls"),
        *_nearest(shown, token, shown.panel),
    ]


def _sentence(shown: ShownFeatures, token: int) -> html.P:
    """Its wordpieces, each a link to that token."""
    own, pieces = sentence_tokens(shown.series.features, token), pieces_of(shown.series.features)
    links = [
        dcc.Link(
            pieces[one],
            href=shown.place.address.with_(ftoken=one).href,
            className="piece token here" if one == token else "piece",
            title=f"position {one - own.start}",
        )
        for one in own
    ]
    return html.P([part for link in links for part in (link, " ")], className="sentence-pieces")


def _page(shown: ShownFeatures, token: int) -> list[object]:
    """To the page of its sentence, which only a sentence of the corpus has."""
    if shown.series.features.name != SAMPLE:
        return []
    tokens = shown.series.features.tokens
    sentence, position = (int(tokens[name].values[token]) for name in ("sentence_index", "position"))
    return [dcc.Link("its sentence", href=shown.place.address.of_sentence(sentence, queries=str(position)).href)]


def _nearest(shown: ShownFeatures, token: int, panel: str) -> list[object]:
    title = shown.series.titles[shown.series.index(panel)]
    found = nearest_tokens(shown.series, panel, token)
    head = html.Thead(html.Tr([html.Th("token"), html.Th("cosine", className="number"), html.Th("in sentence")]))
    body = html.Tbody([_row(shown, one) for one in found])
    count = shown.series.features.n_tokens
    said = f"By the cosine of the vectors themselves, not of places in the picture, among all {count:,} tokens."
    return [
        html.H3(f"Nearest at {title}"),
        html.Table([head, body], className="rows"),
        html.P(said, className="caption"),
    ]


def _row(shown: ShownFeatures, one: NearToken) -> html.Tr:
    link = dcc.Link(one.piece, href=shown.place.address.with_(ftoken=one.token).href)
    own = " its own" if one.same_sentence else ""
    return html.Tr([html.Td(link), html.Td(f"{one.cosine:.3f}", className="number"), html.Td(_around(shown, one, own))])


def _around(shown: ShownFeatures, one: NearToken, own: str) -> list[object]:
    """The wordpieces round it."""
    within, pieces = sentence_tokens(shown.series.features, one.token), pieces_of(shown.series.features)
    before, after = (
        range(max(within.start, one.token - 3), one.token),
        range(one.token + 1, min(within.stop, one.token + 4)),
    )
    text = [" ".join(pieces[other] for other in part) for part in (before, after)]
    return [
        f"{text[0]} ",
        html.B(one.piece),
        f" {text[1]} ",
        html.Span(f"({one.sentence:,} at {one.position}{own})", className="between"),
    ]
