"""Finding a sentence: what is wanted, and the sentences that match."""

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.sentence.finder import MOST_TERMS, FoundSentences, Line, Wanted, find_sentences, terms
from dashboard.sentence.search import Search, wanted_of
from dashboard.ui.controls import choice, number
from dashboard.ui.tables import heading
from dashboard.web.view import Place
from store.amounts import many
from store.schema import head_name


def finder(place: Place, search: Search) -> list[object]:
    """The controls and the first sentences found."""
    wanted = wanted_of(place.address)
    found = find_sentences(place.corpus, wanted, among=search.among, ranking=search.ranking)
    return [_controls(place, search), _said(place, wanted, found, search), _table(search, found)]


def _controls(place: Place, search: Search) -> html.Div:
    address, corpus = place.address, place.corpus
    labels = {"": "any label"} | {name: name for name in corpus.label_names}
    longest = int(corpus.corpus_attributes["max_length"])
    words = dmc.TextInput(
        id={"choose": "find", "by": "finder"},
        label="Words in it",
        placeholder='dull "the film", then Enter',
        value=address.find or "",
        debounce=True,
        size="xs",
        w=200,
    )
    return html.Div(
        [
            words,
            *([choice("labelled", "Label", labels, address.labelled or "", 110)] if len(labels) > 1 else []),
            number("fewest", "tokens from", address.fewest, 1, longest, 1),
            number("most", "to", address.most, 1, longest, 1),
            choice("by", f"Most, in {head_name(address.layer, search.head)}", search.rankings, search.by, 190),
        ],
        className="controls",
    )


def _said(place: Place, wanted: Wanted, found: FoundSentences, search: Search) -> html.P:
    match = " matches" if found.count == 1 else " match"
    count = f"{found.count:,} of {many(found.among, 'sentence')}{match if wanted else ''}"
    shown = f"; the first {len(found.lines)} are listed" if found.count > len(found.lines) else ""
    cut = f" Only the first {MOST_TERMS} words are sought." if len(terms(wanted.words)) > MOST_TERMS else ""
    says = f" {search.says}" if search.says else ""
    if not found.count:
        none = f"None of {many(found.among, 'sentence')} has {' and '.join(_conditions(wanted))}. "
        return html.P([none, _clear(place), f".{cut}{says}"], role="status")
    return html.P(f"{count}{shown}.{cut}{says}", role="status", className="caption")


def _conditions(wanted: Wanted) -> list[str]:
    """What is asked of a sentence, in words."""
    sought = [f"“{term}”" for term in terms(wanted.words)[:MOST_TERMS]]
    return [
        *([f"the word{'s' if len(sought) > 1 else ''} {', '.join(sought)}"] if sought else []),
        *([f"the label “{wanted.label}”"] if wanted.label else []),
        *([f"at least {many(wanted.fewest, 'token')}"] if wanted.fewest is not None else []),
        *([f"at most {many(wanted.most, 'token')}"] if wanted.most is not None else []),
    ]


def _clear(place: Place) -> dcc.Link:
    """To the same page without a condition."""
    href = place.address.with_(find=None, labelled=None, fewest=None, most=None).href
    return dcc.Link("Clear the conditions", href=href)


def _table(search: Search, found: FoundSentences) -> html.Div:
    ranked = [search.ranking.title] if search.ranking else []
    head = heading(["sentence", *ranked, "text", "label", "tokens"], {"sentence", *ranked, "tokens"})
    body = html.Tbody([_row(search, line) for line in found.lines])
    return html.Div(
        html.Table([head, body], className="rows found"),
        className="scroll",
        tabIndex=0,
        role="region",
        **{"aria-label": "Sentences found"},
    )


def _row(search: Search, line: Line) -> html.Tr:
    ranked = [html.Td(search.ranking.spell(line.value), className="number")] if search.ranking else []
    return html.Tr(
        [
            html.Td(dcc.Link(f"{line.sentence:,}", href=search.href(line.sentence)), className="number"),
            *ranked,
            html.Td(line.text, dir="auto", className="text"),
            html.Td(line.label),
            html.Td(f"{line.tokens:,}", className="number"),
        ]
    )
