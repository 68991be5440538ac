"""What the views of a sentence are asked to draw: names of its tokens and the URLs of its weights."""

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from dashboard.address import Place
from dashboard.sentence.shown_pattern import Showing, Unit, parse_showing, shown_units
from dashboard.theme import PALETTE, head_colours
from store.schema import head_name


def sentence_picture(place: Place) -> dict[str, Any]:
    """The prop `sentence` of `dashboard.sentence.views`."""
    address, corpus = place.address, place.corpus
    showing = showing_of(place)
    queries, keys = shown_units(place.sentence, showing)
    asked = link(place, showing.fields)
    chosen = chosen_queries(place, len(queries))
    base, at = base_of(place), f"{address.layer}/{address.head}"
    neuron = f"{base}/neuron/{at}/{queries[chosen[0]].positions[0]}.json{link(place, {})}" if chosen else None
    return {
        "show": "matrix" if address.show == "positions" else address.show,
        "units": [_unit(unit) for unit in queries],
        "keys": [_unit(unit) for unit in keys],
        "layers": corpus.layers,
        "heads": 1 if showing.rollout else corpus.heads,
        "layer": address.layer,
        "chosen": chosen_heads(place),
        "head": 0 if showing.rollout or _is_mean(place) else address.head,
        "queries": chosen,
        "side": address.role,
        "least": address.least,
        "layer_url": _weights_url(place, showing),
        "model_url": f"{base}/model.bin{asked}",
        "neuron_url": neuron if address.show == "neuron" else None,
        "title": title(place),
        "colours": head_colours(corpus.heads),
        "palette": PALETTE,
    }


def _weights_url(place: Place, showing: Showing) -> str:
    """One layer's weights; for a matrix that is a mean, those alone."""
    address = place.address
    if not _is_mean(place):
        return f"{base_of(place)}/layer/{address.layer}.bin{link(place, showing.fields)}"
    of = {"mean": address.mean, "layer": str(address.layer), "head": str(address.head), "heads": address.heads or ""}
    return f"{base_of(place)}/matrix.bin{link(place, showing.fields | of)}"


def _is_mean(place: Place) -> bool:
    return place.address.show == "matrix" and place.address.mean != "none"


def title(place: Place) -> str:
    """What is shown, for a screen reader and under a saved picture."""
    whose = "a typed sentence" if place.address.text else f"sentence {place.address.sentence:,}"
    showing = showing_of(place)
    what = "Attention rollout up to" if showing.rollout else "Attention of"
    if place.address.show in ("matrix", "neuron", "positions") and not showing.rollout:
        return f"{what} {head_name(place.address.layer, place.address.head)} in {whose}"
    return f"{what} layer {place.address.layer} in {whose}"


def showing_of(place: Place) -> Showing:
    """What of its patterns is shown."""
    names = ("weights", "pair", "hide", "special", "renormalize", "words", "rollout")
    return parse_showing({name: str(place.address.fields[name] or "") for name in names})


def base_of(place: Place) -> str:
    """Where the sentence's data is served."""
    whose = "typed" if place.address.text else f"sentence/{place.address.sentence}"
    return f"/data/{place.snapshot.id}/{place.corpus.name}/{whose}"


def link(place: Place, fields: dict[str, str]) -> str:
    """The query string of a data URL: a typed sentence is in it."""
    typed = {"text": place.address.text, "second": place.address.second}
    given = {name: text for name, text in typed.items() if text} | fields
    return f"?{urlencode(given)}" if given else ""


def numbers(text: str | None) -> list[int]:
    """From `3.4`."""
    return [int(number) for number in (text or "").split(".") if number]


def chosen_queries(place: Place, count: int) -> list[int]:
    """The selected units that there are."""
    return [number for number in numbers(place.address.queries) if number < count]


def chosen_heads(place: Place) -> list[int]:
    """Heads whose lines are drawn; all, unless some were chosen."""
    chosen = [head for head in numbers(place.address.heads) if head < place.corpus.heads]
    return chosen or list(range(place.corpus.heads))


def _unit(unit: Unit) -> dict[str, object]:
    return {name: value for name, value in asdict(unit).items() if name != "positions"}
