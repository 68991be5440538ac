"""What every head is worth to the model: the change of its loss when the head is silenced."""

import math

from dash import html

from dashboard.statistics.importance import importance_of
from dashboard.statistics.ranks import ranks
from dashboard.ui.amounts import signed
from dashboard.ui.charts import chart
from dashboard.ui.heat_map import heat_map
from dashboard.ui.under_way import unmade_of
from dashboard.web.view import Place
from store.errors import NotIngested


def importance(place: Place) -> list[object]:
    """The heat map of changes; a sentence where no ingest was asked for them."""
    title = html.H2("Head importance")
    try:
        found = place.corpus.importance
    except NotIngested as error:
        return [title, html.P(unmade_of(place, error), className="caption")]
    change = found["change"].values
    written = [[signed(float(one), 3) for one in row] for row in change]
    attributes = found.attrs
    says = (
        f"Change of the {attributes['measure']}, when the head hands on nothing (Michel et al. 2019), on {int(attributes['sentences']):,} "
        f"sentences; the whole model has {float(attributes['loss']):.3f}. Above 0 the model gets worse without the head. {_of_sign(place)}"
    )
    drawn = heat_map(change, written=written, said=written, unit="change of the loss", diverging=True)
    height = 70 + 30 * place.corpus.layers
    label = "Change of the loss without each head; the table below has every number"
    return [title, *chart(drawn, of="importance", says=says, label=label, height=height, opens=True, turns=True)]


def head_importance(place: Place) -> list[object]:
    """The change without the link's head, and its rank; nothing where no ingest was asked for it."""
    change = importance_of(place.corpus)
    if change is None:
        return []
    head, attributes = (place.address.layer, place.address.head), place.corpus.importance.attrs
    says = (
        f"Change of the {attributes['measure']}, when it hands on nothing, on {int(attributes['sentences']):,} sentences; "
        f"the whole model has {float(attributes['loss']):.3f}. Rank {ranks(change)[head]:.0f} of {change.size}: rank 1 is missed most. "
        f"{_of_sign(place)}"
    )
    return [
        html.H2(f"Head importance: {signed(float(change[head]), 3)}"),
        html.P(says, className="caption"),
    ]


def _of_sign(place: Place) -> str:
    """Said of a classifier that is worse than a guess: without a head that it needs it may be less sure, and so less wrong."""
    attributes, labels = place.corpus.importance.attrs, len(place.corpus.label_names)
    if attributes["kind"] != "classification" or float(attributes["loss"]) <= math.log(labels):
        return ""
    return (
        f"A guess without looking has {math.log(labels):.3f}: of single sentences the model is surer than it is right, "
        "so a change below 0 may only say that it is less sure without the head. "
    )
