"""What a head does, in numbers: its label, every statistic among all heads, how far it looks, at which positions, at which words."""

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.head_map.nearest import nearest
from dashboard.points.shown_points import ShownPoints
from dashboard.statistics.definitions import brief
from dashboard.statistics.definitions_panel import definitions
from dashboard.statistics.frequency_norm import frequency_norm
from dashboard.statistics.grid import Values, values_of
from dashboard.statistics.importance_panel import head_importance
from dashboard.statistics.norm_by_frequency import norm_by_frequency
from dashboard.statistics.profiles import head_profile
from dashboard.statistics.ranks import ranks
from dashboard.statistics.received_at import received_at
from dashboard.statistics.statistics import OF_CLS, spell
from dashboard.statistics.strip import strip
from dashboard.ui.charts import chart
from dashboard.ui.file_links import file_href, file_links
from dashboard.ui.tables import heading
from dashboard.web.state import telling
from dashboard.web.view import Place
from store import STATISTICS
from store.kernels.labels import LABELS
from store.schema.model import head_name
from store.wording import many


def panel(place: Place, _chosen: ShownPoints) -> list[object]:
    """The tab Statistics."""
    address = place.address
    return [
        *_label(place),
        *head_importance(place),
        _table(place),
        html.P(
            f"Means over {many(place.corpus.n_sentences, 'sentence')}, each weighs the same, with 95 % intervals (bootstrap over sentences). "
            "Rank 1 has most; a grey line is another head. Each of all rows is a link to the sentences with most of it.",
            className="caption",
        ),
        definitions(),
        file_links(place, "By the rows they are of", f"statistics/{address.layer}/{address.head}"),
        html.H2("How far it looks"),
        *head_profile(place, height=230),
        html.H2("Which positions get its attention"),
        *_received(place),
        *nearest(place, listed=5),
        html.H2("What it hands on of frequent words"),
        *_frequency(place),
    ]


def _label(place: Place) -> list[object]:
    """The label with its rule."""
    label = str(place.corpus.head_labels.values[place.address.layer, place.address.head])
    if not label:
        return [html.H2("What it attends to"), html.P("No label: it passes no threshold.", className="caption")]
    return [
        html.H2(f"What it attends to: {label}"),
        html.P(f"Labelled so because {LABELS[label]}.", className="caption"),
    ]


def _table(place: Place) -> html.Table:
    names = heading(("mean of all queries", "value", "rank"), {"value", "rank"})
    every = [(name, "all", STATISTICS[name].title) for name in telling("all")]
    of_cls = [(name, "cls", title) for name, title in OF_CLS.items()]
    rows = [_row(place, *one) for one in [*every, *of_cls]]
    return html.Table([names, html.Tbody(rows)], className="rows strips")


def _row(place: Place, name: str, source: str, title: str) -> html.Tr:
    """A statistic: its value and interval, its rank, and where it is among all heads."""
    chosen = place.address.layer, place.address.head
    values = values_of(place.corpus.head_statistic, name, source)
    unit, order = STATISTICS[name].unit, ranks(values)
    picture = html.Img(src=strip(values, float(values[chosen])), alt=_among(values, chosen, unit))
    number = [
        html.Div(spell(float(values[chosen]), unit)),
        html.Div(_interval(place, name, source, unit), className="between"),
    ]
    rank = [html.Div(f"{order[chosen]:.0f} of {values.size}"), picture]
    return html.Tr(
        [
            html.Td(_name(place, name, source, title)),
            html.Td(number, className="number"),
            html.Td(rank, className="number"),
        ]
    )


def _name(place: Place, name: str, source: str, title: str) -> object:
    """Sentences are ranked by the mean of all their rows: what is of others leads to none."""
    formula = STATISTICS[name].formula
    if source != "all":
        return html.Span(title, title=formula)
    address = place.address.of_sentence(0, by=name, heads=str(place.address.head))
    return dcc.Link(title, href=address.href, title=formula)


def _interval(place: Place, name: str, source: str, unit: str) -> str:
    ends = place.corpus.head_interval.sel(source=source, statistic=name)
    low, high = ends.values[:, place.address.layer, place.address.head].tolist()
    return "" if low != low else f"{brief(low, unit)} to {brief(high, unit)}"


def _among(values: Values, chosen: tuple[int, int], unit: str) -> str:
    low, high = (spell(float(end), unit) for end in (np.nanmin(values), np.nanmax(values)))
    return f"All heads have {low} to {high}, this one {spell(float(values[chosen]), unit)}"


def _received(place: Place) -> list[object]:
    address, corpus = place.address, place.corpus
    found = corpus.received_at.sel(layer=address.layer)
    count: NDArray[np.int64] = found["count"].values
    there = count > 0
    own, mean = found.sel(head=address.head).values[there], found.mean("head").values[there]
    says = f"Mean weight on the key at a position, over the rows of its sentence; {many(int(count[0]), 'sentence')} with position 0, {int(count[there][-1]):,} with the last. "
    label = f"Attention received by position in {head_name(address.layer, address.head)}"
    data = file_href(place, f"received/{address.layer}/{address.head}.csv")
    drawn = received_at(own, mean, count[there])
    return chart(drawn, of="received-at", says=says, label=label, data=data, height=230)


def _frequency(place: Place) -> list[object]:
    address, corpus = place.address, place.corpus
    found = norm_by_frequency(corpus, address.layer, address.head)
    together = (
        "no rank correlation, as all are alike"
        if found.spearman != found.spearman
        else f"Spearman {found.spearman:.2f}"
    )
    says = (
        f"||f(x)|| of all {many(corpus.n_tokens, 'token')} by how often their wordpiece occurs: {together}. Line: median, band: quartiles, of tenths "
        "of the tokens (Kobayashi et al. 2020, section 4.3). "
    )
    label = f"Length of the vectors handed on, by frequency, in {head_name(address.layer, address.head)}"
    return chart(frequency_norm(found), of="frequency-norm", says=says, label=label, height=230)
