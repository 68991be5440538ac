"""Finding a sentence: what is wanted, and the sentences that are so."""

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.controls import choice, number
from dashboard.place import Place
from dashboard.sentence.finder import MOST_TERMS, FoundSentences, Line, Wanted, find_sentences, terms
from dashboard.sentence.search import Search, wanted_of
from dashboard.tables import heading
from store.schema import head_name


def finder(place: Place, search: Search) -> list[object]:
    """The controls and the first sentences found."""
    wanted = wanted_of(place.address)
    found = find_sentences(place.corpus, wanted, among=search.among, ranking=search.ranking)
    return [_controls(place, search), _said(wanted, found, search), _table(search, found)]


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


def _said(wanted: Wanted, found: FoundSentences, search: Search) -> html.P:
    count = f"{found.count:,} of {found.among:,} sentences" + (" are so" if wanted else "")
    shown = f"; the first {len(found.lines)} are listed" if found.count > len(found.lines) else ""
    cut = f" Only the first {MOST_TERMS} words are sought." if len(terms(wanted.words)) > MOST_TERMS else ""
    says = f" {search.says}" if search.says else ""
    if not found.count:
        return html.P(f"No sentence is so. Ask for less.{cut}{says}", role="status")
    return html.P(f"{count}{shown}.{cut}{says}", role="status", className="caption")


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
