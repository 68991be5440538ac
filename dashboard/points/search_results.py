"""What a search in a picture shows: the sentences it finds, or how to go on where it finds nothing."""

from difflib import get_close_matches

from dash import dcc, html

from dashboard.points.search import WITHIN, SentenceHit, folded, matching_tokens, occurring_pieces, spaced
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.tables import heading
from dashboard.web.view import Place
from store import Corpus
from store.wording import many

#: Wordpieces that are offered, and how many letters they may be longer or shorter.
OFFERED, LONGER = 4, 2
_AS = {"token": "as a token", "prefix": "at the beginning of a token", "phrase": "as a phrase"}


def hit_table(place: Place, chosen: ShownPoints) -> list[object]:
    """The first sentences of a search; nothing without one."""
    if not chosen.selection.q:
        return []
    found = chosen.hits
    if not found.sentences:
        return []
    rows = [_row(place, sentence) for sentence in found.rows]
    shown = (
        f"the first {len(rows)} of {found.sentences:,}" if found.sentences > len(rows) else f"all {found.sentences:,}"
    )
    head = heading(("sentence", "token", "label", "text"), {"sentence", "token"})
    return [
        html.H2(f"Sentences with “{chosen.selection.q}”: {shown}"),
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
                    title="Show the sentence in all heads",
                ),
                className="number",
            ),
            html.Td(
                dcc.Link(f"at {sentence.position}", href=address.href, title="Show it in a head"), className="number"
            ),
            html.Td(sentence.label),
            html.Td(text),
        ]
    )


def no_hits(place: Place) -> list[html.P]:
    """Nothing where the search finds something, or where there is none."""
    corpus, address = place.corpus, place.address
    sought = spaced(address.q or "")
    if not sought or matching_tokens(corpus, sought, address.within).any():
        return []
    offers = [*_elsewhere(place, sought), *_similar(place, sought)]
    clear = dcc.Link("Clear the search", href=address.with_(q=None, within="token").href)
    near = [" Near to it: ", *[part for offer in offers for part in (", ", offer)][1:], "."] if offers else []
    text = f"No token of the corpus matches “{sought}” {_AS[address.within]}. "
    return [html.P([text, clear, ".", *near], className="count no-hits", role="status")]


def _elsewhere(place: Place, sought: str) -> list[dcc.Link]:
    """The same text, searched for in another way."""
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
    """Wordpieces of the corpus that are spelled like it and begin with the same letter, the nearest first."""
    wanted = folded(sought)
    some = [one for one in occurring_pieces(corpus) if one[:1] == wanted[:1] and abs(len(one) - len(wanted)) <= LONGER]
    return get_close_matches(wanted, some, n=OFFERED)
