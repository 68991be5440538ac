"""The views of a sentence: the component, and what it draws: selected tokens and heads, a title, and the URLs of the weights."""

from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlencode

from dashboard.sentence.encoder import shown_sentence
from dashboard.sentence.pattern import FIELDS, PatternOptions, Unit, parse_options, shown_units
from dashboard.ui.component import BrowserComponent
from dashboard.ui.files import provenance_of
from dashboard.ui.theme import PALETTE, head_colours
from dashboard.web.http import data_link
from dashboard.web.state import Address
from dashboard.web.view import Place
from store.schema.model import head_name


class SentenceViews(BrowserComponent):
    """Lines, thumbnails, a heat map or the channels of one sentence. One instance serves the page.

    Parameters
    ----------
    id
        Dash id.
    sentence
        What is shown, None for nothing. A part whose URL stays is not fetched again:

        - `show`: "head" (lines), "model" (thumbnails of all heads), "matrix" (heat map of a head) or "neuron" (channels)
        - `units` and `keys`: the queries and the keys, `{"name": "the", "positions": [3], "segment": 0, "special": False}`
        - `layers`, `heads`: how many there are; `layer`, `head`: the shown ones; `chosen`: heads whose lines are drawn
        - `queries`: the selected tokens, of the column that `side` says ("query" or "key")
        - `least`: smallest weight that is drawn as a line
        - `layer_url`, `model_url`, `neuron_url`: bytes (HSL1), bytes (HST1) and JSON of what is shown, None where there is none
        - `title`: what it is, for a screen reader and in a saved file
        - `colours`: of the heads by scheme, `{"light": ["#0072B2", ...], "dark": [...]}`
        - `palette`: colours by scheme, `dashboard.ui.theme.PALETTE`
    opened
        Out: a thumbnail was opened: `{"layer": 2, "head": 3, "count": 1}`.
    headed
        Out: the heads whose lines a reader wants: `{"heads": [0, 3], "count": 1}`.
    selected
        Out: the selected tokens of a column, none for nothing: `{"side": "query", "units": [4, 5], "count": 1}`.
    hidden
        Out: a token to be left out, by the positions of its wordpieces: `{"positions": [4], "count": 1}`.
    stepped
        Out: to the layer below or above: `{"layer": 1, "count": 1}`; -1 is towards the first.
    """

    properties = ("id", "sentence", "opened", "headed", "selected", "hidden", "stepped")


def options_of(place: Place) -> PatternOptions:
    """How its patterns are shown; the view By position shows attention weights, as the means beside it."""
    options = parse_options({name: str(place.address.fields[name] or "") for name in FIELDS})
    return replace(options, weights="attention") if place.address.show == "positions" else options


def selection_column(place: Place) -> tuple[Unit, ...]:
    """The column that tokens are selected in: the shown queries or the shown keys."""
    queries, keys = shown_units(shown_sentence(place), options_of(place))
    return keys if place.address.role == "key" else queries


def selected_indices(place: Place) -> list[int]:
    """Indices of the selected tokens in that column; others are left out."""
    count = len(selection_column(place))
    return [number for number in numbers(place.address.queries) if number < count]


def selected_units(place: Place) -> list[Unit]:
    """The selected wordpieces or words."""
    column = selection_column(place)
    return [column[number] for number in selected_indices(place)]


def selected_query(place: Place) -> int | None:
    """Position of the first selected query (of a word, its first wordpiece); None without a selected query."""
    units = selected_units(place) if place.address.role == "query" else []
    return units[0].positions[0] if units else None


def drawn_heads(place: Place) -> list[int]:
    """Heads whose lines are drawn, by default all. A rollout has one."""
    if options_of(place).rollout:
        return [0]
    return numbers(place.address.heads) or list(range(place.corpus.heads))


def isolated_head(place: Place) -> int:
    """The head whose lines are drawn alone in the head view, else the head of the link."""
    address = place.address
    drawn = numbers(address.heads) if address.show == "head" and not address.rollout else []
    return drawn[0] if len(drawn) == 1 else address.head


def numbers(text: str | None) -> list[int]:
    """Numbers of a link, such as `3.4`."""
    return [int(number) for number in (text or "").split(".") if number]


def title(place: Place) -> str:
    """The title: which weights, of which heads, in which sentence."""
    whose = "a typed sentence" if place.address.text else f"sentence {place.address.sentence:,}"
    return f"{weights_name(place)} in {whose}"


def weights_name(place: Place) -> str:
    """Which weights, of which heads, such as `Attention of L2 H3`."""
    address, options = place.address, options_of(place)
    if address.show == "neuron":
        return f"Attention of {head_name(address.layer, address.head)}"
    if options.rollout:
        return _of_rollout(address)
    if is_mean(address):
        return f"Mean {_weights(options)} over {_averaged(address)}"
    return f"{_weights(options).capitalize()} of {_of(address)}"


def is_mean(address: Address) -> bool:
    """Whether the matrix of a mean is shown."""
    return address.show == "matrix" and address.mean != "none"


def _weights(options: PatternOptions) -> str:
    return "attention" if options.weights == "attention" else "attention x value norm"


def _of_rollout(address: Address) -> str:
    """A rollout already is of the mean over heads: only a mean over layers differs."""
    if is_mean(address) and address.mean != "heads":
        return "Mean attention rollout over all layers"
    return f"Attention rollout up to {'every layer' if address.show == 'model' else f'layer {address.layer}'}"


def _averaged(address: Address) -> str:
    if address.mean == "layers":
        return f"all layers of head {address.head}"
    return f"{_heads(address) or 'the heads'} of {'all layers' if address.mean == 'both' else f'layer {address.layer}'}"


def _of(address: Address) -> str:
    if address.show == "model":
        return "all layers"
    if address.show != "head":
        return head_name(address.layer, address.head)
    heads = _heads(address)
    return f"{heads} of layer {address.layer}" if heads else f"layer {address.layer}"


def _heads(address: Address) -> str:
    """The selected heads; empty where all are drawn."""
    heads = numbers(address.heads)
    return f"head{'s' if len(heads) > 1 else ''} {', '.join(map(str, heads))}" if heads else ""


def sentence_picture(place: Place) -> dict[str, Any]:
    """The prop `sentence` of `dashboard.sentence.picture`."""
    address, corpus = place.address, place.corpus
    options = options_of(place)
    queries, keys = shown_units(shown_sentence(place), options)
    return {
        "show": "matrix" if address.show == "positions" else address.show,
        "units": [asdict(unit) for unit in queries],
        "keys": [asdict(unit) for unit in keys],
        "layers": corpus.layers,
        "heads": 1 if options.rollout else corpus.heads,
        "head_names": ["rollout"] if options.rollout else [f"H{head}" for head in range(corpus.heads)],
        "layer": address.layer,
        "chosen": drawn_heads(place),
        "head": 0 if options.rollout or is_mean(address) else address.head,
        "queries": selected_indices(place),
        "side": address.role,
        "least": address.least,
        "layer_url": _weights_url(place, options),
        "model_url": f"{data_url(place)}/model.bin{query_string(place, options.fields)}",
        "neuron_url": neuron_url(place, "json") if address.show == "neuron" else None,
        "title": title(place),
        **provenance_of(place),
        "colours": head_colours(corpus.heads),
        "palette": PALETTE,
    }


def _weights_url(place: Place, options: PatternOptions) -> str:
    """URL of one layer's weights, or of the mean that a matrix shows."""
    address = place.address
    if not is_mean(address):
        return f"{data_url(place)}/layer/{address.layer}.bin{query_string(place, options.fields)}"
    of = {"layer": str(address.layer), "head": str(address.head), **_of_mean(place)}
    return f"{data_url(place)}/matrix.bin{query_string(place, options.fields | of)}"


def weights_file(place: Place) -> str:
    """The weights of what is shown, as CSV: of the drawn heads, of a mean, or of a head."""
    address, options = place.address, options_of(place)
    if is_mean(address):
        fields = options.fields | _of_mean(place)
    elif address.show == "head":
        fields = options.fields | {"heads": ".".join(map(str, drawn_heads(place)))}
    else:
        fields = {} if address.show == "neuron" else options.fields
    return f"{data_url(place)}/weights/{address.layer}/{address.head}.csv{query_string(place, fields)}"


def neuron_url(place: Place, form: str) -> str | None:
    """URL of the steps to the weights of the selected query, as `json` or `csv`; None without a selected query."""
    query, at = selected_query(place), f"{place.address.layer}/{place.address.head}"
    return None if query is None else f"{data_url(place)}/neuron/{at}/{query}.{form}{query_string(place, {})}"


def _of_mean(place: Place) -> dict[str, str]:
    return {"mean": place.address.mean, "heads": place.address.heads or ""}


def data_url(place: Place) -> str:
    """The URL that the sentence's data is below."""
    whose = "typed" if place.address.text else f"sentence/{place.address.sentence}"
    return f"{data_link(place.corpus)}/{whose}"


def query_string(place: Place, fields: dict[str, str]) -> str:
    """The query string of a data URL, with the text of a typed sentence."""
    typed = {"text": place.address.text, "second": place.address.second}
    query = {name: text for name, text in typed.items() if text} | fields
    return f"?{urlencode(query)}" if query else ""
