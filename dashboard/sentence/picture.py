"""The views of a sentence: the component, and what it draws: selected tokens and heads, a title, and the URLs of the weights."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlencode

from dashboard.sentence.encoder import shown_sentence
from dashboard.sentence.pattern import FIELDS, PatternOptions, Unit, parse_options, shown_units
from dashboard.ui.component import BrowserComponent
from dashboard.ui.files import provenance_of
from dashboard.ui.theme import PALETTE, head_colours
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store.phrases import many
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
        - `toward`: the key that makes a pair with one selected query, by index among the shown keys; None for none
        - `least`: smallest weight that is drawn as a line
        - `scale`: which colour a weight has, a name of `dashboard.web.state.MATRIX_SCALES`
        - `csv`: what is shown as a file, `{"content": "Attention of L2 H3", "url": "..."}`
        - `layer_url`, `model_url`, `neuron_url`: bytes (HSL1), bytes (HST1) and JSON of what is shown, None where there is none
        - `title`: what it is, for a screen reader and in a saved file
        - `colours`: of the heads by scheme, `{"light": ["#0072B2", ...], "dark": [...]}`
        - `palette`: colours by scheme, `dashboard.ui.theme.PALETTE`
    noted
        Counts of notes on its tokens, by position, and the beginning of the data URLs of the sentence that they are for:
        `{"base": "/data/1/...", "positions": {"4": 2}}`.
    opened
        Out: a thumbnail was opened: `{"layer": 2, "head": 3, "count": 1}`.
    headed
        Out: the heads whose lines a reader wants: `{"heads": [0, 3], "count": 1}`.
    selected
        Out: the selected tokens of a column, none for nothing: `{"side": "query", "units": [4, 5], "count": 1}`.
    paired
        Out: a query, by index, and the position of a key; both None for nothing: `{"query": 4, "toward": 7, "count": 1}`.
    hidden
        Out: tokens to be left out, by the positions of their wordpieces: `{"positions": [4], "count": 1}`.
    stepped
        Out: to the layer below or above: `{"layer": 1, "count": 1}`; -1 is towards the first.
    """

    properties = ("id", "sentence", "noted", "opened", "headed", "selected", "paired", "hidden", "stepped")


def options_of(context: Context) -> PatternOptions:
    """How its patterns are shown; the view By position shows attention weights, as the means beside it."""
    options = parse_options({name: str(context.state.fields[name] or "") for name in FIELDS})
    return replace(options, weights="attention") if context.state.show == "positions" else options


def selection_column(context: Context) -> tuple[Unit, ...]:
    """The column that tokens are selected in: the shown queries or the shown keys."""
    queries, keys = shown_units(shown_sentence(context), options_of(context))
    return keys if context.state.role == "key" else queries


def selected_indices(context: Context) -> list[int]:
    """Indices of the selected tokens in that column; others are left out."""
    count = len(selection_column(context))
    return [number for number in numbers(context.state.queries) if number < count]


def selected_units(context: Context) -> list[Unit]:
    """The selected wordpieces or words."""
    column = selection_column(context)
    return [column[number] for number in selected_indices(context)]


def selected_query(context: Context) -> int | None:
    """Position of the first selected query (of a word, its first wordpiece); None without a selected query."""
    units = selected_units(context) if context.state.role == "query" else []
    return units[0].positions[0] if units else None


def drawn_heads(context: Context) -> list[int]:
    """Heads whose lines are drawn, by default all. A rollout has one."""
    if options_of(context).rollout:
        return [0]
    return numbers(context.state.heads) or list(range(context.corpus.heads))


def isolated_head(context: Context) -> int:
    """The head whose lines are drawn alone in the head view, else the head of the link."""
    state = context.state
    drawn = numbers(state.heads) if state.show == "head" and not state.rollout else []
    return drawn[0] if len(drawn) == 1 else state.head


def numbers(text: str | None) -> list[int]:
    """Numbers of a link, such as `3.4`."""
    return [int(number) for number in (text or "").split(".") if number]


def title(context: Context) -> str:
    """The title: which weights, of which heads, in which sentence."""
    whose = "a typed sentence" if context.state.text else f"sentence {context.state.sentence:,}"
    return f"{weights_name(context)} in {whose}"


def weights_name(context: Context) -> str:
    """Which weights, of which heads, such as `Attention of L2 H3`."""
    state, options = context.state, options_of(context)
    if state.show == "neuron":
        return f"Attention of {head_name(state.layer, state.head)}"
    if options.rollout:
        return _of_rollout(state)
    if is_mean(state):
        return f"Mean {_weights(options)} over {_averaged(state)}"
    return f"{_weights(options).capitalize()} of {_of(state)}"


def is_mean(state: LinkState) -> bool:
    """Whether the matrix of a mean is shown."""
    return state.show == "matrix" and state.mean != "none"


def _weights(options: PatternOptions) -> str:
    return "attention" if options.weights == "attention" else "attention x value norm"


def _of_rollout(state: LinkState) -> str:
    """A rollout already is of the mean over heads: only a mean over layers differs."""
    if is_mean(state) and state.mean != "heads":
        return "Mean attention rollout over all layers"
    return f"Attention rollout up to {'every layer' if state.show == 'model' else f'layer {state.layer}'}"


def _averaged(state: LinkState) -> str:
    if state.mean == "layers":
        return f"all layers of head {state.head}"
    return f"{_heads(state) or 'the heads'} of {'all layers' if state.mean == 'both' else f'layer {state.layer}'}"


def averaged_heads(context: Context) -> str:
    """The heads of a mean, such as `Mean of 2 heads of layer 3, chosen in Head view: H0, H5`."""
    state, layers = context.state, many(context.corpus.layers, "layer")
    if state.rollout:
        return f"Rollout up to layer {state.layer}" if state.mean == "heads" else f"Mean of the rollouts of {layers}"
    if state.mean == "layers":
        return f"Mean of H{state.head} of each of {layers}"
    chosen, where = numbers(state.heads), f"each of {layers}" if state.mean == "both" else f"layer {state.layer}"
    if chosen:
        names = ", ".join(f"H{head}" for head in chosen)
        return f"Mean of {many(len(chosen), 'head')} of {where}, chosen in Head view: {names}"
    if state.mean == "both":
        return f"Mean of all {many(context.corpus.layers * context.corpus.heads, 'head')}"
    return f"Mean of all {many(context.corpus.heads, 'head')} of {where}"


def _of(state: LinkState) -> str:
    if state.show == "model":
        return "all layers"
    if state.show != "head":
        return head_name(state.layer, state.head)
    heads = _heads(state)
    return f"{heads} of layer {state.layer}" if heads else f"layer {state.layer}"


def _heads(state: LinkState) -> str:
    """The selected heads; empty where all are drawn."""
    heads = numbers(state.heads)
    return f"head{'s' if len(heads) > 1 else ''} {', '.join(map(str, heads))}" if heads else ""


def sentence_picture(context: Context) -> dict[str, Any]:
    """The prop `sentence` of `dashboard.sentence.picture`."""
    state, corpus = context.state, context.corpus
    options = options_of(context)
    queries, keys = shown_units(shown_sentence(context), options)
    return {
        "show": "matrix" if state.show == "positions" else state.show,
        "units": [asdict(unit) for unit in queries],
        "keys": [asdict(unit) for unit in keys],
        "layers": corpus.layers,
        "heads": 1 if options.rollout else corpus.heads,
        "head_names": ["rollout"] if options.rollout else [f"H{head}" for head in range(corpus.heads)],
        "layer": state.layer,
        "chosen": drawn_heads(context),
        "head": 0 if options.rollout or is_mean(state) else state.head,
        "queries": selected_indices(context),
        "side": state.role,
        "toward": _paired_key(state, keys),
        "scale": state.scale if state.show in ("matrix", "model") else "root",
        "csv": csv_file(context),
        "least": state.least,
        "layer_url": _weights_url(context, options),
        "model_url": f"{data_url(context)}/model.bin{query_string(context, options.fields)}",
        "neuron_url": neuron_url(context, "json") if state.show == "neuron" else None,
        "title": title(context),
        **provenance_of(context),
        "colours": head_colours(corpus.heads),
        "palette": PALETTE,
    }


def _paired_key(state: LinkState, keys: Sequence[Unit]) -> int | None:
    """Index of the selected key among the shown ones."""
    return next((index for index, key in enumerate(keys) if state.toward in key.positions), None)


def csv_file(context: Context) -> dict[str, str]:
    """Content and URL of the file of what is shown; in the model view, that of the selected layer."""
    state = context.state
    if state.show == "neuron" and (steps := neuron_url(context, "csv")):
        return {"content": f"Every step of {head_name(state.layer, state.head)}", "url": steps}
    if state.show == "model":
        context = replace(context, state=state.with_(show="head", heads=None))
    return {"content": weights_name(context), "url": weights_file(context)}


def _weights_url(context: Context, options: PatternOptions) -> str:
    """URL of one layer's weights, or of the mean that a matrix shows."""
    state = context.state
    if not is_mean(state):
        return f"{data_url(context)}/layer/{state.layer}.bin{query_string(context, options.fields)}"
    of = {"layer": str(state.layer), "head": str(state.head), **_of_mean(context)}
    return f"{data_url(context)}/matrix.bin{query_string(context, options.fields | of)}"


def weights_file(context: Context) -> str:
    """The weights of what is shown, as CSV: of the drawn heads, of a mean, or of a head."""
    state, options = context.state, options_of(context)
    if is_mean(state):
        fields = options.fields | _of_mean(context)
    elif state.show == "head":
        fields = options.fields | {"heads": ".".join(map(str, drawn_heads(context)))}
    else:
        fields = {} if state.show == "neuron" else options.fields
    return f"{data_url(context)}/weights/{state.layer}/{state.head}.csv{query_string(context, fields)}"


def neuron_url(context: Context, form: str) -> str | None:
    """URL of the steps to the weights of the selected query, as `json` or `csv`; None without a selected query."""
    query, at = selected_query(context), f"{context.state.layer}/{context.state.head}"
    return None if query is None else f"{data_url(context)}/neuron/{at}/{query}.{form}{query_string(context, {})}"


def _of_mean(context: Context) -> dict[str, str]:
    return {"mean": context.state.mean, "heads": context.state.heads or ""}


def data_url(context: Context) -> str:
    """The URL that the sentence's data is below."""
    whose = "typed" if context.state.text else f"sentence/{context.state.sentence}"
    return f"{data_link(context.corpus)}/{whose}"


def query_string(context: Context, fields: dict[str, str]) -> str:
    """The query string of a data URL, with the text of a typed sentence."""
    typed = {"text": context.state.text, "second": context.state.second}
    query = {name: text for name, text in typed.items() if text} | fields
    return f"?{urlencode(query)}" if query else ""
