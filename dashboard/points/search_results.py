"""Results of a search in a picture: the matching sentences, or suggestions where nothing matches."""

from difflib import get_close_matches

from dash import dcc, html

from dashboard.points.search import SentenceHit, folded, matching_tokens, occurring_pieces, spaced
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.tables import heading
from dashboard.web.context import Context
from dashboard.web.state import WITHIN
from store import Corpus
from store.wording import many

#: Suggested wordpieces, and the largest difference of their length.
OFFERED, LONGER = 4, 2
_AS = {"token": "as a token", "prefix": "as a prefix", "phrase": "as a phrase"}


def hit_table(context: Context, points: ShownPoints) -> list[object]:
    """The first matching sentences; nothing without a search."""
    if not points.selection.q:
        return []
    hits = points.hits
    if not hits.sentences:
        return []
    rows = [_row(context, sentence) for sentence in hits.rows]
    shown = f"the first {len(rows)} of {hits.sentences:,}" if hits.sentences > len(rows) else f"all {hits.sentences:,}"
    head = heading(("sentence", "token", "label", "text"), {"sentence", "token"})
    return [
        html.H2(f"Sentences with “{points.selection.q}”: {shown}"),
        html.Div(
            html.Table([head, html.Tbody(rows)], className="rows"),
            className="scroll",
            tabIndex=0,
            role="region",
            **{"aria-label": "Matching sentences"},
        ),
    ]


def _row(context: Context, sentence: SentenceHit) -> html.Tr:
    state = context.state.with_(page="head", token=sentence.token, tab="point", at=None)
    text = [html.Mark(part) if marked else part for part, marked in sentence.parts]
    return html.Tr(
        [
            html.Td(
                dcc.Link(
                    f"{sentence.sentence:,}",
                    href=context.state.of_sentence(sentence.sentence).href,
                    title="Open the sentence",
                ),
                className="number",
            ),
            html.Td(
                dcc.Link(f"at {sentence.position}", href=state.href, title="Show the token in its head"),
                className="number",
            ),
            html.Td(sentence.label),
            html.Td(text),
        ]
    )


def no_hits(context: Context) -> list[html.P]:
    """A line with suggestions where a search has no match; otherwise nothing."""
    corpus, state = context.corpus, context.state
    sought = spaced(state.q or "")
    if not sought or matching_tokens(corpus, sought, state.within).any():
        return []
    offers = [*_elsewhere(context, sought), *_similar(context, sought)]
    clear = dcc.Link("Clear the search", href=state.with_(q=None, within="token").href)
    near = [" Similar: ", *[part for offer in offers for part in (", ", offer)][1:], "."] if offers else []
    text = f"No token matches “{sought}” {_AS[state.within]}. "
    return [html.P([text, clear, ".", *near], className="count no-hits", role="status")]


def _elsewhere(context: Context, sought: str) -> list[dcc.Link]:
    """The same text with another way of matching."""
    counts = {within: int(matching_tokens(context.corpus, sought, within).sum()) for within in WITHIN}
    return [
        dcc.Link(f"{many(count, 'token')} {_AS[within]}", href=context.state.with_(within=within).href)
        for within, count in counts.items()
        if count
    ]


def _similar(context: Context, sought: str) -> list[dcc.Link]:
    near = similar_pieces(context.corpus, sought)
    return [dcc.Link(f"“{piece}”", href=context.state.with_(q=piece, within="token").href) for piece in near]


def similar_pieces(corpus: Corpus, sought: str) -> list[str]:
    """Wordpieces of the corpus with a similar spelling and the same first letter, the most similar first."""
    wanted = folded(sought)
    similar = [
        piece
        for piece in occurring_pieces(corpus)
        if piece[:1] == wanted[:1] and abs(len(piece) - len(wanted)) <= LONGER
    ]
    return get_close_matches(wanted, similar, n=OFFERED)
