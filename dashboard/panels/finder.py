"""Finding a sentence of the corpus: what is wanted, and the sentences that are so."""

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.address import Address
from dashboard.controls import choice, number
from dashboard.heads.statistics import spell
from dashboard.place import Place
from dashboard.sentence.finder import MOST_TERMS, RANKED, FoundSentences, Line, Wanted, find_sentences, terms
from store import STATISTICS
from store.schema import head_name


def finder(place: Place) -> list[object]:
    """The controls and the first sentences found."""
    address = place.address
    wanted = Wanted(address.find or "", address.labelled or "", address.fewest, address.most, address.by or "")
    found = find_sentences(place.corpus, wanted, layer=address.layer, head=address.head)
    return [html.H2("Find a sentence"), _controls(place), _said(place, wanted, found), _table(place, wanted, found)]


def _controls(place: Place) -> html.Div:
    address, corpus = place.address, place.corpus
    labels = {"": "any label"} | {name: name for name in corpus.label_names}
    by = {"": "in their order"} | {name: STATISTICS[name].title for name in RANKED}
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
            choice("by", f"Most, in {head_name(address.layer, address.head)}", by, address.by or "", 190),
        ],
        className="controls",
    )


def _said(place: Place, wanted: Wanted, found: FoundSentences) -> html.P:
    count = f"{found.count:,} of {place.corpus.n_sentences:,} sentences" + (" are so" if wanted else "")
    shown = f"; the first {len(found.lines)} are listed" if found.count > len(found.lines) else ""
    cut = f" Only the first {MOST_TERMS} words are sought." if len(terms(wanted.words)) > MOST_TERMS else ""
    if not found.count:
        return html.P(f"No sentence is so. Ask for less.{cut}", role="status")
    return html.P(f"{count}{shown}.{cut}", role="status", className="caption")


def _table(place: Place, wanted: Wanted, found: FoundSentences) -> html.Div:
    names = ("sentence", *([STATISTICS[wanted.by].title] if wanted.by else []), "label", "tokens", "text")
    head = html.Thead(html.Tr([html.Th(name) for name in names]))
    body = html.Tbody([_row(place.address, wanted, line) for line in found.lines])
    return html.Div(
        html.Table([head, body], className="rows"),
        className="scroll",
        tabIndex=0,
        role="region",
        **{"aria-label": "Sentences found"},
    )


def _row(address: Address, wanted: Wanted, line: Line) -> html.Tr:
    ranked = [html.Td(spell(line.value, STATISTICS[wanted.by].unit), className="number")] if wanted.by else []
    return html.Tr(
        [
            html.Td(dcc.Link(f"{line.sentence:,}", href=address.of_sentence(line.sentence).href), className="number"),
            *ranked,
            html.Td(line.label),
            html.Td(f"{line.tokens:,}", className="number"),
            html.Td(line.text, dir="auto"),
        ]
    )
