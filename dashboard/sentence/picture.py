"""The views of a sentence: the component and what it draws: selected tokens and heads, a title, and the URLs of the weights."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from dashboard.roles.shares import RoleShares, groups_by_kind, known_shares, summary
from dashboard.sentence.arrival import lacking
from dashboard.sentence.encoder import shown_sentence
from dashboard.sentence.marks import MARK_COLOURS, marked_pairs
from dashboard.sentence.methods import ROLLOUT_NAMES
from dashboard.sentence.sentence import (
    FIELDS,
    PatternOptions,
    Sentence,
    Unit,
    is_short,
    parse_options,
    unhidden_units,
)
from dashboard.ui.charts import DotGroup
from dashboard.ui.markup import BrowserComponent
from dashboard.ui.text import capital
from dashboard.ui.theme import KIND_LINES, PALETTE, head_colours
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store.phrases import many
from store.schema.model import head_name
from store.text import Window

#: Names of what a difference draws in place of heads: its part above 0, and its part below.
SIGNS = ("arrives more", "looks more")
#: Ends of a difference's name: what is subtracted from what arrives through all layers, and in one layer.
_MINUS = (" minus attention rollout", " minus mean attention")
#: Views that show attention weights alone: they have no choice of other weights.
_OF_ATTENTION = ("positions", "neuron")


class SentenceViews(BrowserComponent):
    """Lines, thumbnails, a heat map or the channels of one sentence. One instance serves the page.

    Parameters
    ----------
    id
        Dash id.
    sentence
        The shown sentence, None for nothing. Data with an unchanged URL is not fetched again:

        - `show`: "head" (lines), "model" (thumbnails of all heads), "matrix" (heat map of a head) or "neuron" (channels)
        - `units` and `keys`: the queries and the keys, `{"name": "the", "positions": [3], "segment": 0, "special": False}`
        - `layers`, `heads`: numbers of them; `layer`, `head`: those shown; `chosen`: heads whose lines are drawn
        - `queries`: the selected tokens, of the column that `side` says ("query" or "key"), counted from the first shown
        - `first`: of a long sentence, the first shown query and the first shown key
        - `toward`: the key that makes a pair with one selected query, by index among the shown keys; None without a pair
        - `is_pair`: whether sentence A has a sentence B
        - `marks`: the marked pairs, `MarkedPair` of `dashboard.sentence.marks`; `mark_colours`: their colours in order, by scheme
        - `least`: smallest weight that is drawn as a line
        - `signed`: whether the two heads are the parts of a difference above 0 and below 0
        - `scale`: the colour scale of weights, a name of `dashboard.web.state.MATRIX_SCALES`
        - `csv`: the file of the shown weights, `{"content": "Attention of L2 H3", "url": "..."}`
        - `layer_url`, `model_url`, `neuron_url`: bytes (HSL1), bytes (HST1) and JSON; `neuron_url` is None without a query in view Neuron
        - `title`: name of the picture, for a screen reader and in a saved file
        - `colours`: colours of the heads by scheme, `{"light": ["#0072B2", ...], "dark": [...]}`
        - `roles`: what the shown heads do, `HeadRoles`; None for a store without roles
        - `palette`: colours by scheme, `dashboard.ui.theme.PALETTE`
    noted
        Counts of notes on the sentence's tokens by position, and the beginning of the sentence's data URLs:
        `{"base": "/data/1/...", "positions": {"4": 2}}`.
    opened
        Out: a thumbnail was opened: `{"layer": 2, "head": 3, "count": 1}`.
    headed
        Out: the heads that a reader has chosen to draw: `{"heads": [0, 3], "count": 1}`.
    selected
        Out: the selected tokens of a column, an empty list without any: `{"side": "query", "units": [4, 5], "count": 1}`.
    paired
        Out: index of a query and position of a key, both None without a pair: `{"query": 4, "toward": 7, "count": 1}`.
    marked
        Out: all marked pairs, by the positions of query and key: `{"pairs": [[4, 7]], "count": 1}`.
    hidden
        Out: tokens to be left out, by the positions of their wordpieces: `{"positions": [4], "count": 1}`.
    stepped
        Out: a step to the layer below or above: `{"layer": 1, "count": 1}`; -1 is towards the first.
    """

    properties = ("id", "sentence", "noted", "opened", "headed", "selected", "paired", "marked", "hidden", "stepped")


def options_of(state: LinkState) -> PatternOptions:
    """The options of a link's patterns; view By position (as the means beside it) and view Neuron always show attention weights."""
    options = parse_options({name: str(state.fields[name] or "") for name in FIELDS})
    is_free = state.show not in _OF_ATTENTION
    return options if is_free else replace(options, weights="attention", rollout=None, difference=False)


class Kind(NamedTuple):
    """A kind of clearest roles, or no role: its name, its colour, and the colour of its lines by scheme."""

    name: str
    colour: str
    lines: Mapping[str, str]


@dataclass(frozen=True)
class HeadRoles:
    """Roles of the heads in a view.

    Attributes
    ----------
    kinds
        The kinds that colours of heads mean; empty where colours do not mean roles.
    of
        Index in `kinds` of each head's kind: [layer][head].
    does
        Layer -> what each head does, in one line; only of the shown layer, in Model view of all layers.
    """

    kinds: list[Kind]
    of: list[list[int]]
    does: dict[int, list[str]]


@dataclass(frozen=True, eq=False)
class ShownSentence:
    """A sentence as a link shows it.

    Attributes
    ----------
    layers, heads
        Numbers of layers and heads of the model.
    files
        The beginning of the URLs of the corpus' data.
    shares
        Roles of every head; None for a store without roles.
    """

    state: LinkState
    sentence: Sentence
    layers: int
    heads: int
    files: str
    shares: RoleShares | None = None

    @cached_property
    def options(self) -> PatternOptions:
        """The options of the shown patterns."""
        queries, keys = self.windows
        return replace(options_of(self.state), window=queries.first, keywindow=keys.first)

    @cached_property
    def unhidden(self) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
        """The queries and the keys that are not hidden, in the windows or not."""
        return unhidden_units(self.sentence, options_of(self.state))

    @cached_property
    def windows(self) -> tuple[Window, Window]:
        """The windows of queries and of keys: those of the link, else around the selected tokens, else the first."""
        state, (queries, keys) = self.state, self.unhidden
        first = next(iter(self.selected_indices), 0)
        of_queries = _window(state.window, first, len(queries))
        of_keys = Window.at(of_queries.first if state.keywindow is None else state.keywindow, len(keys))
        toward = _paired_key(state, keys) if state.keywindow is None else None
        return of_queries, of_keys if toward is None or toward in of_keys else Window.around(toward, len(keys))

    @property
    def units(self) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
        """The shown queries and the shown keys."""
        queries, keys = (tuple(window.of(units)) for window, units in zip(self.windows, self.unhidden, strict=True))
        return queries, keys

    @property
    def column(self) -> tuple[Unit, ...]:
        """The column that tokens are selected in: the queries or the keys that are not hidden."""
        queries, keys = self.unhidden
        return keys if self.state.role == "key" else queries

    @property
    def selected_indices(self) -> list[int]:
        """Indices in `column` of the selected tokens; invalid indices are left out."""
        return [number for number in numbers(self.state.queries) if number < len(self.column)]

    @property
    def selected_units(self) -> list[Unit]:
        """The selected wordpieces or words."""
        return [self.column[number] for number in self.selected_indices]

    @property
    def selected_query(self) -> int | None:
        """Position of the first selected query (of a word, its first wordpiece); None without a selected query."""
        units = self.selected_units if self.state.role == "query" else []
        return units[0].positions[0] if units else None

    @property
    def drawn_heads(self) -> list[int]:
        """Heads whose lines are drawn, by default all. A rollout counts as one head, a difference as two (its signs)."""
        return (
            list(range(len(instead_of_heads(self.options))))
            if self.options.rollout
            else numbers(self.state.heads) or list(range(self.heads))
        )

    @property
    def url(self) -> str:
        """The beginning of the URLs of the sentence's data."""
        return data_url(self.state, self.files)


def _window(first: int | None, token: int, tokens: int) -> Window:
    return Window.around(token, tokens) if first is None else Window.at(first, tokens)


def read_shown(context: Context) -> ShownSentence:
    """The sentence of a link. Raises `Refusal` where it cannot be encoded."""
    corpus = context.corpus
    sentence, shares, state = shown_sentence(context), known_shares(corpus), context.state
    if (how := options_of(state).rollout) and lacking(corpus, sentence, how):
        state = state.with_(rollout=None)  # the page says why
    return ShownSentence(state, sentence, corpus.layers, corpus.heads, data_link(corpus), shares)


def isolated_head(state: LinkState) -> int:
    """The head whose lines are drawn alone in the head view, else the head of the link."""
    drawn = numbers(state.heads) if state.show == "head" and not state.rollout else []
    return drawn[0] if len(drawn) == 1 else state.head


def numbers(text: str | None) -> list[int]:
    """Numbers of a link, such as `3.4`."""
    return [int(number) for number in (text or "").split(".") if number]


def title(state: LinkState) -> str:
    """The title of the picture: the weights, their heads, and the sentence."""
    whose = "a typed sentence" if state.text else f"sentence {state.sentence:,}"
    return f"{weights_name(state)} in {whose}"


def weights_name(state: LinkState) -> str:
    """The name of the shown weights and their heads, such as `Attention of L2 H3`."""
    options = options_of(state)
    if options.rollout:
        return _rollout_name(state)
    if is_mean(state):
        return f"Mean {_weights(options)} over {_averaged(state)}"
    return f"{_weights(options).capitalize()} of {_of(state)}"


def is_mean(state: LinkState) -> bool:
    """Whether the matrix of a mean is shown."""
    return state.show == "matrix" and state.mean != "none"


def _weights(options: PatternOptions) -> str:
    return "attention" if options.weights == "attention" else "attention x value norm"


def _rollout_name(state: LinkState) -> str:
    """The name of a rollout: it is already a mean over heads, so only a mean over layers changes the name."""
    options = options_of(state)
    name = f"{ROLLOUT_NAMES[options.rollout]}{_MINUS[state.rollout == 'layer'] if options.difference else ''}"
    if is_mean(state) and state.mean != "heads":
        return f"Mean {name} over all layers"
    of = "every layer" if state.show == "model" else f"layer {state.layer}"
    return f"{capital(name)} {'in' if state.rollout == 'layer' else 'up to'} {of}"


def _averaged(state: LinkState) -> str:
    if state.mean == "layers":
        return f"all layers of head {state.head}"
    return f"{_heads(state) or 'the heads'} of {'all layers' if state.mean == 'both' else f'layer {state.layer}'}"


def averaged_heads(state: LinkState, layers_of_model: int, heads_of_layer: int) -> str:
    """The heads of a mean, such as `Mean of 2 heads of layer 3, chosen in Head view: H0, H5`."""
    layers = many(layers_of_model, "layer")
    if state.rollout:
        return f"{_rollout_name(state)}" if state.mean == "heads" else f"Mean over {layers}"
    if state.mean == "layers":
        return f"Mean of H{state.head} of each of {layers}"
    chosen, where = numbers(state.heads), f"each of {layers}" if state.mean == "both" else f"layer {state.layer}"
    if chosen:
        names = ", ".join(f"H{head}" for head in chosen)
        return f"Mean of {many(len(chosen), 'head')} of {where}, chosen in Head view: {names}"
    if state.mean == "both":
        return f"Mean of all {many(layers_of_model * heads_of_layer, 'head')}"
    return f"Mean of all {many(heads_of_layer, 'head')} of {where}"


def _of(state: LinkState) -> str:
    if state.show == "model":
        return "all layers"
    if state.show != "head":
        return head_name(state.layer, state.head)
    heads = _heads(state)
    return f"{heads} of layer {state.layer}" if heads else f"layer {state.layer}"


def _heads(state: LinkState) -> str:
    """The selected heads in words; empty where all heads are drawn."""
    heads = numbers(state.heads)
    return f"head{'s' if len(heads) > 1 else ''} {', '.join(map(str, heads))}" if heads else ""


def sentence_picture(shown: ShownSentence) -> dict[str, Any]:
    """The prop `sentence` of `SentenceViews`, without the provenance."""
    state, options = shown.state, shown.options
    queries, keys = shown.units
    roles, own = head_roles(shown), shown.windows[state.role == "key"]
    names = instead_of_heads(options) or [f"H{head}" for head in range(shown.heads)]
    return {
        "show": "matrix" if state.show == "positions" else state.show,
        "units": [asdict(unit) for unit in queries],
        "keys": [asdict(unit) for unit in keys],
        "layers": shown.layers,
        "heads": len(names),
        "head_names": names,
        "layer": state.layer,
        "chosen": shown.drawn_heads,
        "head": 0 if options.rollout or is_mean(state) else state.head,
        "queries": [index - own.first for index in shown.selected_indices if index in own],
        "first": {side: window.first for side, window in zip(("query", "key"), shown.windows, strict=True)},
        "side": state.role,
        "toward": _paired_key(state, keys),
        "is_pair": bool(shown.sentence.second),
        "marks": [asdict(pair) for pair in marked_pairs(state, shown.sentence, options, (queries, keys))],
        "mark_colours": MARK_COLOURS,
        "signed": options.difference,
        "scale": state.scale if state.show in ("matrix", "model") else "root",
        "csv": csv_file(shown),
        "least": state.least,
        "layer_url": _weights_url(shown),
        "model_url": f"{shown.url}/model.bin{query_string(state, options.fields)}",
        "neuron_url": neuron_url(shown, "json") if state.show == "neuron" else None,
        "title": f"{title(state)}{_part(shown.windows)}",
        "colours": _colours(shown, roles),
        "roles": None if roles is None else asdict(roles) | {"kinds": [kind._asdict() for kind in roles.kinds]},
        "palette": PALETTE,
    }


def instead_of_heads(options: PatternOptions) -> list[str]:
    """Names of what is drawn in place of heads; empty where heads are drawn."""
    if options.difference:
        return list(SIGNS)
    return [ROLLOUT_NAMES[options.rollout]] if options.rollout else []


def _part(windows: tuple[Window, Window]) -> str:
    """The shown part of a long sentence, as the end of a title; empty where all is shown."""
    queries, keys = windows
    if queries.is_whole and keys.is_whole:
        return ""
    return f", {queries.name}" if queries == keys else f", queries: {queries.name}, keys: {keys.name}"


def head_roles(shown: ShownSentence) -> HeadRoles | None:
    """Roles of the heads in the views with several heads; None for a rollout, which is no head's, and for a store without roles."""
    state, shares = shown.state, shown.shares
    if shares is None or shown.options.rollout or state.show not in ("head", "model"):
        return None
    groups = groups_by_kind(shares, size=0)
    of = np.stack([group.heads for group in groups]).argmax(axis=0)
    layers = range(shown.layers) if state.show == "model" else [state.layer]
    return HeadRoles(
        [_kind(group) for group in groups] if is_by_role(state) else [],
        of.tolist(),
        {layer: [summary(shares, layer, head) for head in range(shown.heads)] for layer in layers},
    )


def _kind(group: DotGroup) -> Kind:
    colour = group.marker["color"]
    return Kind(group.title, colour, {scheme: lines.get(colour, colour) for scheme, lines in KIND_LINES.items()})


def is_by_role(state: LinkState) -> bool:
    """Whether colours of heads mean roles, if the store has roles; thumbnails have no other colours."""
    return state.show == "model" or state.headcolour == "role"


def _colours(shown: ShownSentence, roles: HeadRoles | None) -> Mapping[str, list[str]]:
    """Scheme -> the colour of each head of the layer, or of the two signs of a difference."""
    if shown.options.difference:
        return {scheme: [colours["query"], colours["key"]] for scheme, colours in PALETTE.items()}
    if roles is None or not roles.kinds:
        return head_colours(shown.heads)
    return {scheme: [roles.kinds[kind].lines[scheme] for kind in roles.of[shown.state.layer]] for scheme in KIND_LINES}


def _paired_key(state: LinkState, keys: Sequence[Unit]) -> int | None:
    """Index of the selected key among the shown keys; None where it is not shown."""
    return next((index for index, key in enumerate(keys) if state.toward in key.positions), None)


def csv_file(shown: ShownSentence) -> dict[str, str]:
    """Content and URL of the file of the shown weights; in the model view, of the selected layer."""
    state = shown.state
    if state.show == "neuron" and (steps := neuron_url(shown, "csv")):
        return {"content": f"Every step of {head_name(state.layer, state.head)}", "url": steps}
    if state.show == "model":
        shown = replace(shown, state=state.with_(show="head", heads=None))
    return {"content": weights_name(shown.state), "url": weights_file(shown)}


def _weights_url(shown: ShownSentence) -> str:
    """URL of the bytes of one layer's weights, or of a matrix's mean."""
    state, options = shown.state, shown.options
    if not is_mean(state):
        return f"{shown.url}/layer/{state.layer}.bin{query_string(state, options.fields)}"
    of = {"layer": str(state.layer), "head": str(state.head), **_mean_fields(state)}
    return f"{shown.url}/matrix.bin{query_string(state, options.fields | of)}"


def weights_file(shown: ShownSentence) -> str:
    """URL of the shown weights as CSV: those of the drawn heads, of a mean, or of a head."""
    state, fields = shown.state, shown.options.fields
    if is_mean(state):
        fields |= _mean_fields(state)
    elif state.show == "head":
        fields |= {"heads": ".".join(map(str, shown.drawn_heads))}
    elif state.show == "neuron":
        fields = {name: start for name, start in fields.items() if name in ("window", "keywindow")}
    return f"{shown.url}/weights/{state.layer}/{state.head}.csv{query_string(state, fields)}"


def neuron_url(shown: ShownSentence, form: str) -> str | None:
    """URL of the steps to the weights of the selected query, as `json` or `csv`; None without a selected query."""
    query, at = shown.selected_query, f"{shown.state.layer}/{shown.state.head}"
    fields = {} if is_short(shown.sentence) else shown.options.fields
    return None if query is None else f"{shown.url}/neuron/{at}/{query}.{form}{query_string(shown.state, fields)}"


def _mean_fields(state: LinkState) -> dict[str, str]:
    return {"mean": state.mean, "heads": state.heads or ""}


def data_url(state: LinkState, files: str) -> str:
    """The beginning of the URLs of a sentence's data; `files` begins the URLs of the corpus' data."""
    return f"{files}/typed" if state.text else f"{files}/sentence/{state.sentence}"


def query_string(state: LinkState, fields: dict[str, str]) -> str:
    """The query string of a data URL, with the text of a typed sentence."""
    typed = {"text": state.text, "second": state.second}
    query = {name: text for name, text in typed.items() if text} | fields
    return f"?{urlencode(query)}" if query else ""
