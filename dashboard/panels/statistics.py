"""Every statistic of a head, and its rank among all heads."""

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.address import Place
from dashboard.chosen import Chosen
from dashboard.file_links import file_links
from dashboard.statistics import HeadNumber, head_numbers


def _sentences(place: Place, number: HeadNumber) -> dcc.Link:
    """To the sentences in which the head has most of it."""
    address = place.address.of_sentence(0, by=number.name, heads=str(place.address.head))
    return dcc.Link(number.title, href=address.href)


def panel(place: Place, _chosen: Chosen) -> list[object]:
    """The tab Statistics."""
    numbers = head_numbers(place.corpus, place.address.layer, place.address.head)
    head = html.Thead(html.Tr([html.Th("mean over sentences"), html.Th("value"), html.Th("rank")]))
    body = html.Tbody(
        [
            html.Tr(
                [html.Td(_sentences(place, number), title=number.formula), html.Td(number.value), html.Td(number.rank)]
            )
            for number in numbers
        ]
    )
    return [
        html.H2("What it attends to"),
        dmc.Table([head, body], className="numbers"),
        html.P(
            f"Every row of all {place.corpus.n_sentences:,} sentences, each sentence weighs the same (Clark et al. 2019). Rank 1 is the largest. Each is a link to the sentences with most of it.",
            className="caption",
        ),
        file_links(place, "By the rows they are of", f"statistics/{place.address.layer}/{place.address.head}"),
    ]
