"""What the views of a sentence are asked to draw: names of its tokens and the URLs of its weights."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from dashboard.sentence.chosen import chosen_heads, chosen_places, chosen_query, showing_of
from dashboard.sentence.shown_pattern import Showing, shown_units
from dashboard.sentence.title import is_mean, title
from dashboard.ui.theme import PALETTE, head_colours
from dashboard.web.data_links import data_link
from dashboard.web.provenance import provenance_of
from dashboard.web.view import Place


def sentence_picture(place: Place) -> dict[str, Any]:
    """The prop `sentence` of `dashboard.sentence.component`."""
    address, corpus = place.address, place.corpus
    showing = showing_of(place)
    queries, keys = shown_units(place.sentence, showing)
    return {
        "show": "matrix" if address.show == "positions" else address.show,
        "units": [asdict(unit) for unit in queries],
        "keys": [asdict(unit) for unit in keys],
        "layers": corpus.layers,
        "heads": 1 if showing.rollout else corpus.heads,
        "head_names": ["rollout"] if showing.rollout else [f"H{head}" for head in range(corpus.heads)],
        "layer": address.layer,
        "chosen": chosen_heads(place),
        "head": 0 if showing.rollout or is_mean(address) else address.head,
        "queries": chosen_places(place),
        "side": address.role,
        "least": address.least,
        "layer_url": _weights_url(place, showing),
        "model_url": f"{base_of(place)}/model.bin{link(place, showing.fields)}",
        "neuron_url": neuron_url(place, "json") if address.show == "neuron" else None,
        "title": title(place),
        **provenance_of(place),
        "colours": head_colours(corpus.heads),
        "palette": PALETTE,
    }


def _weights_url(place: Place, showing: Showing) -> str:
    """One layer's weights; for a matrix that is a mean, those alone."""
    address = place.address
    if not is_mean(address):
        return f"{base_of(place)}/layer/{address.layer}.bin{link(place, showing.fields)}"
    of = {"layer": str(address.layer), "head": str(address.head), **_of_mean(place)}
    return f"{base_of(place)}/matrix.bin{link(place, showing.fields | of)}"


def weights_file(place: Place) -> str:
    """The weights of what is shown, as CSV: of the drawn heads, of a mean, or of a head."""
    address, showing = place.address, showing_of(place)
    if is_mean(address):
        asked = showing.fields | _of_mean(place)
    elif address.show == "head":
        asked = showing.fields | {"heads": ".".join(map(str, chosen_heads(place)))}
    else:
        asked = {} if address.show == "neuron" else showing.fields
    return f"{base_of(place)}/weights/{address.layer}/{address.head}.csv{link(place, asked)}"


def neuron_url(place: Place, form: str) -> str | None:
    """Every step to the weights of the chosen query, as `json` or `csv`; None where none is chosen."""
    query, at = chosen_query(place), f"{place.address.layer}/{place.address.head}"
    return None if query is None else f"{base_of(place)}/neuron/{at}/{query}.{form}{link(place, {})}"


def _of_mean(place: Place) -> dict[str, str]:
    return {"mean": place.address.mean, "heads": place.address.heads or ""}


def base_of(place: Place) -> str:
    """Where the sentence's data is served."""
    whose = "typed" if place.address.text else f"sentence/{place.address.sentence}"
    return f"{data_link(place.corpus)}/{whose}"


def link(place: Place, fields: dict[str, str]) -> str:
    """The query string of a data URL: a typed sentence is in it."""
    typed = {"text": place.address.text, "second": place.address.second}
    given = {name: text for name, text in typed.items() if text} | fields
    return f"?{urlencode(given)}" if given else ""
