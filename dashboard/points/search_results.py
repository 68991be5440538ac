"""Results of a search in a picture: the matching sentences, or suggestions where nothing matches."""

from difflib import get_close_matches

from dash import dcc, html

from dashboard.points.search import SentenceHit, folded, matching_tokens, occurring_pieces, spaced
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.tables import heading
from dashboard.web.state import WITHIN
from dashboard.web.view import Place
from store import Corpus
from store.wording import many

#: Suggested wordpieces, and the largest difference of their length.
OFFERED, LONGER = 4, 2
_AS = {"token": "as a token", "prefix": "as a prefix", "phrase": "as a phrase"}


def hit_table(place: Place, points: ShownPoints) -> list[object]:
    """The first matching sentences; nothing without a search."""
    if not points.selection.q:
        return []
    hits = points.hits
    if not hits.sentences:
        return []
    rows = [_row(place, sentence) for sentence in hits.rows]
    shown = f"the first {len(rows)} of {hits.sentences:,}" if hits.sentences > len(rows) else f"all {hits.sentences:,}"
    head = heading(("sentence", "token", "label", "text"), {"sentence", "token"})
    return [
        html.H2(f"Sentences with “{points.selection.q}”: {shown}"),
        html.Div(
            html.Table([head, html.Tbody(rows)], className="rows"),
            className="scroll",
            tabIndex=0,
            role="region",
            **{"aria-label": "Sentences found"},
        ),
    ]


def _row(place: Place, sentence: SentenceHit) -> html.Tr:
    address = place.address.with_(page="head", token=sentence.token, tab="point", at=None)
    text = [html.Mark(part) if marked else part for part, marked in sentence.parts]
    return html.Tr(
        [
            html.Td(
                dcc.Link(
                    f"{sentence.sentence:,}",
                    href=place.address.of_sentence(sentence.sentence).href,
                    title="Open the sentence",
                ),
                className="number",
            ),
            html.Td(
                dcc.Link(f"at {sentence.position}", href=address.href, title="Show the token in its head"),
                className="number",
            ),
            html.Td(sentence.label),
            html.Td(text),
        ]
    )


def no_hits(place: Place) -> list[html.P]:
    """A line with suggestions where a search has no match; otherwise nothing."""
    corpus, address = place.corpus, place.address
    sought = spaced(address.q or "")
    if not sought or matching_tokens(corpus, sought, address.within).any():
        return []
    offers = [*_elsewhere(place, sought), *_similar(place, sought)]
    clear = dcc.Link("Clear the search", href=address.with_(q=None, within="token").href)
    near = [" Similar: ", *[part for offer in offers for part in (", ", offer)][1:], "."] if offers else []
    text = f"No token matches “{sought}” {_AS[address.within]}. "
    return [html.P([text, clear, ".", *near], className="count no-hits", role="status")]


def _elsewhere(place: Place, sought: str) -> list[dcc.Link]:
    """The same text with another way of matching."""
    counts = {within: int(matching_tokens(place.corpus, sought, within).sum()) for within in WITHIN}
    return [
        dcc.Link(f"{many(count, 'token')} {_AS[within]}", href=place.address.with_(within=within).href)
        for within, count in counts.items()
        if count
    ]


def _similar(place: Place, sought: str) -> list[dcc.Link]:
    near = similar_pieces(place.corpus, sought)
    return [dcc.Link(f"“{piece}”", href=place.address.with_(q=piece, within="token").href) for piece in near]


def similar_pieces(corpus: Corpus, sought: str) -> list[str]:
    """Wordpieces of the corpus with a similar spelling and the same first letter, the most similar first."""
    wanted = folded(sought)
    similar = [
        piece
        for piece in occurring_pieces(corpus)
        if piece[:1] == wanted[:1] and abs(len(piece) - len(wanted)) <= LONGER
    ]
    return get_close_matches(wanted, similar, n=OFFERED)
