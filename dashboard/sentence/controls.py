"""The controls of page Sentence: a row of the most used, groups of the others that a button opens below the row, and rulers.

The button lists settings of the closed groups. The browser tab remembers whether groups are open (assets/web/room.mjs). The rulers of a
long sentence, also on page Compare, show its windows and the share of attention to keys outside of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.roles.shares import RoleShares
from dashboard.sentence.methods import MODEL_METHODS, method_info
from dashboard.sentence.picture import ShownSentence, is_mean, isolated_head, options_of
from dashboard.sentence.sentence import PatternOptions, Sentence, is_short, mean_rows
from dashboard.ui.controls import (
    OF_DATA,
    choice,
    control_group,
    explained,
    info,
    number,
    ruler,
    rulers_of,
    statistic_choice,
    switch,
    text_input,
)
from dashboard.ui.glossary import defined
from dashboard.ui.markup import scrolling
from dashboard.web.state import LEAST, LinkState
from store.phrases import many
from store.schema.model import RATIOS
from store.text import Window

SHOWN = {
    "head": "Head view",
    "model": "Model view",
    "matrix": "Matrix view",
    "neuron": "Neuron view",
    "positions": "By position",
    "mixing": "Mixing",
}
PAIRS = {"all": "All", "aa": "A → A", "ab": "A → B", "ba": "B → A", "bb": "B → B"}
MEANS = {"none": "this head", "heads": "mean of heads", "layers": "mean of layers", "both": "mean of heads and layers"}
WEIGHTS = {"attention": "attention weight", "norm": "weight x value norm ‖f(x)‖"}
_WEIGHTS = f"{defined('weight')} {defined('norm')}"
_WEIGHTS_OF_ROLLOUT = "Off here: choose it where Show is “where a token looks”."
ARRIVES = {
    "": "where a token looks",
    "layer": "what arrives in the layer (GlobEnc)",
    "globenc": "what arrives (GlobEnc)",
    **{name: f"what arrives ({method.title})" for name, method in MODEL_METHODS.items()},
    "1": "attention rollout",
}
_ARRIVES = (
    "What arrives: how much each token adds to the vector of another, as shares of 100%: in the layer alone, or of the input tokens through "
    "all layers up to it. GlobEnc, from the store: all heads, the residual connection and the layer norms (Modarressi et al. 2022). These "
    f"run the model: {method_info()} Attention rollout "
    "takes weights alone, half of each layer for the token itself (Abnar and Zuidema 2020): of these the least faithful; in GlobEnc's tables "
    "its Spearman correlation with gradients is −0.24 on SST-2, GlobEnc's 0.77."
)
_DIFFERENCE = (
    "What arrives, less where a token looks: less attention rollout, and in the layer less the mean attention weight of its heads. Blue: more "
    "arrives than attention says; vermillion: attention says more. Off where Show is attention or its rollout."
)
_HEAD_COLOUR = (
    "Role: where the clearest role of a head looks, among those that a test finds in it (page Head, tab Role). Heads with roles of one "
    "kind share a colour. Head: each head of the layer has its own."
)
#: Views of attention weights, those in which tokens can be hidden, and those with a scale of colours.
OF_WEIGHTS, HIDING, SCALED = ("head", "model", "matrix"), ("head", "matrix"), ("model", "matrix")
_SCALE = (
    "Which colour a weight has. Square root: most weights are small, and would all look alike. Largest shown and row: small weights "
    "stand out, but colours cannot be compared with those of another head. Logarithmic: each step is ten times the one before."
)
#: Id of the groups that the button opens.
MORE = "more-controls"
Floats = NDArray[np.float32]
#: Most parts of a ruler's strip, and number of shades of a part.
PARTS, SHADES = 240, 100


def sentence_inputs(state: LinkState) -> html.Div:
    """The fields for sentence A, and for B once A is typed; a narrow window shows both in a row of their own."""
    second = text_input("second", "Sentence B (optional)", "type, then Enter", state.second, 150)
    second.disabled = not state.text
    first = text_input("text", "Sentence A", "type your own, then Enter", state.text, 160)
    return html.Div([first, second], className="typed-pair")


def main_controls(
    state: LinkState, layers: int, heads: int, shares: RoleShares | None = None, *, causal: bool = False
) -> list[Any]:
    """The choices of view, layer and head, the fields for sentences, and the direction of attention between them.

    `layers` and `heads` are numbers of the model. With known roles, each head is offered with its clearest role.
    """
    view = choice("show", "View", SHOWN, state.show, 120)
    if state.show == "mixing":
        titles = {name: ratio.title for name, ratio in RATIOS.items()}
        return [view, sentence_inputs(state), statistic_choice("ratio", "Ratio", titles, state.ratio, 400)]
    return [
        view,
        *([_number("layer", "Layer", list(map(str, range(layers))), state.layer)] if _is_of_one_layer(state) else []),
        *([_head_choice(state, heads, shares)] if _is_of_one_head(state) else []),
        sentence_inputs(state),
        _directions(state, causal=causal),
        switch("words", "whole words", bool(state.words)),
    ]


def _directions(state: LinkState, *, causal: bool) -> html.Div:
    """The choice of the direction of attention between two sentences; disabled with a remark where there is no pair.

    In a causal model, no token of the first sentence sees the second sentence.
    """
    is_pair = bool(state.text and state.second)
    needed = "sentence B" if state.text else "sentences A and B"
    label = "Attention from → to" if is_pair else f"Attention: needs {needed}"
    label += " (A sees no later B)" if is_pair and causal else ""
    named: Any = {"aria-label": label}
    control = dmc.SegmentedControl(
        id={"choose": "pair", "by": "control"},
        data=[{"value": pair, "label": title, "disabled": causal and pair == "ab"} for pair, title in PAIRS.items()],
        value=state.pair,
        disabled=not is_pair,
        size="xs",
        **named,
    )
    return html.Div([html.Div(label, className="control-label"), control], className="directions")


def control_row(controls: Sequence[Any], more: html.Div | None = None) -> html.Div:
    """The row of controls; where it is wider than the window it scrolls, except the button for the other controls.

    In a narrow window the fields for sentences stand below the scrolling row.
    """
    named: Any = {"role": "group", "aria-label": "Sentence and view"}
    return html.Div(html.Div([*controls, more], className="controls control-row", **named), className="control-place")


def more_button(state: LinkState) -> html.Div:
    """The button that opens the other controls, with their settings above it (assets/web/room.mjs)."""
    used = list(_in_use(state))
    opens: Any = {"aria-controls": MORE, "aria-expanded": "false", "data-opens": "controls"}
    text, title = f"More ({len(used)})" if used else "More", "; ".join(used)
    about = f"More controls. In use: {title}" if used else "More controls"
    button = html.Button(text, id="open-controls", type="button", className="plain", title=about, **opens)
    return html.Div([html.Div(title, className="control-label", title=title), button], className="more")


def _in_use(state: LinkState) -> Iterator[str]:
    """Settings of the other controls that change the shown view, in words."""
    if state.show == "matrix" and state.mean != "none":
        yield MEANS[state.mean]
    if state.show in OF_WEIGHTS and state.rollout:
        yield ARRIVES[state.rollout] + (" minus where it looks" if options_of(state).difference else "")
    elif state.show in OF_WEIGHTS and state.weights == "norm":
        yield WEIGHTS["norm"]
    if state.show in SCALED and state.scale != "root":
        yield f"{state.scale} scale"
    if state.show == "head" and state.least != LEAST:
        yield f"minimum weight {state.least:g}"
    if state.show == "head" and state.headcolour == "head":
        yield "a colour for each head"
    if state.show != "mixing":
        yield from _left_out(state)


def _left_out(state: LinkState) -> Iterator[str]:
    if state.special == "0":
        yield "hide special tokens"
    if state.renormalize:
        yield "rescale the rest to 100%"
    if state.hide:
        yield f"{many(len(state.hide.split('.')), 'token')} hidden"


def more_groups(state: LinkState, shares: RoleShares | None, filters: Sequence[html.Fieldset]) -> html.Div:
    """The other controls in groups: the shown weights with their colours, and filters of weights and tokens."""
    groups = [*_weight_group(state, shares), *filters]
    return html.Div(groups, id=MORE, className="control-groups")


def _weight_group(state: LinkState, shares: RoleShares | None) -> list[html.Fieldset]:
    """The choices of weights, of a matrix's mean and of colours; nothing in views without attention weights."""
    if state.show not in OF_WEIGHTS:
        return []
    colour = [_head_colour(state)] if shares and state.show == "head" and not state.rollout else []
    of = [_mean(state)] if state.show == "matrix" else []
    scale = [_scale(state)] if state.show in SCALED else []
    arrives = explained(choice("rollout", "Show", ARRIVES, state.rollout or "", 190), info("what arrives", _ARRIVES))
    return [control_group("Weights", [arrives, _difference(state), *of, _weight_choice(state), *scale, *colour])]


def _difference(state: LinkState) -> html.Div:
    """The switch that subtracts where a token looks from what arrives; disabled where nothing arrives."""
    control = switch("difference", "minus where it looks", options_of(state).difference)
    control.disabled = state.rollout in (None, "1")
    return explained(control, info("the difference", _DIFFERENCE))


def _head_colour(state: LinkState) -> html.Div:
    control = choice("headcolour", "Colour heads by", {"role": "role", "head": "head"}, state.headcolour, 136)
    return explained(control, info("the colours of heads", _HEAD_COLOUR))


def filter_group(shown: ShownSentence) -> list[html.Fieldset]:
    """The filters of weights and tokens; nothing in view Mixing, which shows all tokens."""
    state = shown.state
    if state.show == "mixing":
        return []
    least = [number("least", "minimum weight", state.least, 0, 1, 0.01)] if state.show == "head" else []
    switches = [
        switch("special", "hide special tokens", state.special == "0"),
        switch("renormalize", "rescale the rest to 100%", bool(state.renormalize)),
    ]
    return [
        control_group(
            "Filter",
            [*least, *(switches if state.show in OF_WEIGHTS else []), _hidden_tokens(shown), *_hide(shown)],
        )
    ]


def _hidden_tokens(shown: ShownSentence) -> dmc.MultiSelect:
    """The list of hidden tokens, from which a reader can show each again."""
    pieces, (queries, keys) = shown.sentence.wordpieces, shown.units
    hidden = [str(position) for position in shown.options.hide if position < len(pieces)]
    # A long sentence offers the tokens of its windows alone: a list of thousands takes seconds to open.
    offered = {position for unit in (*queries, *keys) for position in unit.positions} | set(shown.options.hide)
    within = range(len(pieces)) if is_short(shown.sentence) else sorted(offered.intersection(range(len(pieces))))
    return dmc.MultiSelect(
        id={"choose": "hide", "by": "control"},
        label="Hidden tokens",
        data=[{"value": str(position), "label": f"{pieces[position]} ({position})"} for position in within],
        value=hidden,
        placeholder="" if hidden else "none",
        size="xs",
        w=150,
        searchable=True,
        clearable=True,
        maxDropdownHeight=320,
        className="one-line",
        **OF_DATA,
    )


def _hide(shown: ShownSentence) -> list[html.Button]:
    """The button that hides the selected tokens (assets/sentence/views.mjs); disabled without a selection: nothing moves."""
    if shown.state.show not in HIDING:
        return []
    named: Any = {"data-sentence": "hide"}
    is_none = not shown.selected_indices
    return [
        html.Button("Hide selected", type="button", className="plain", disabled=is_none, title="Or press h", **named)
    ]


def _mean(state: LinkState) -> dmc.Select:
    """The choice of a matrix's mean; a rollout is already a mean over heads, so it offers only a mean over layers."""
    if not state.rollout:
        return choice("mean", "Matrix of", MEANS, state.mean, 210)
    one, every = ("heads" if state.mean == "heads" else "none"), ("both" if state.mean == "both" else "layers")
    return choice("mean", "Matrix of", {one: "this layer", every: "mean of layers"}, state.mean, 210)


def _is_of_one_layer(state: LinkState) -> bool:
    return state.show not in ("model", "mixing") and not (is_mean(state) and state.mean in ("layers", "both"))


def _is_of_one_head(state: LinkState) -> bool:
    if state.show == "matrix":
        return state.mean in ("none", "layers") and not state.rollout
    return state.show in ("neuron", "positions")


def _head_choice(state: LinkState, heads: int, shares: RoleShares | None) -> dmc.Select:
    """The choice of a head, with clearest roles; for a mean over layers with numbers alone."""
    if shares is None or is_mean(state):
        return _number("head", "Head", list(map(str, range(heads))), state.head)
    roles = [shares.clearest_title(state.layer, head) for head in range(heads)]
    titles = [f"{head}: {role}" if role else str(head) for head, role in enumerate(roles)]
    return _number("head", "Head", titles, state.head, 170)


def _number(field: str, label: str, titles: Sequence[str], value: int, width: int = 72) -> dmc.Select:
    """A choice of a layer or a head by number; `titles` are the options."""
    options = {str(number): title for number, title in enumerate(titles)}
    return choice(field, label, options, str(value), width, of_data=True)


def _scale(state: LinkState) -> html.Div:
    """The choice of the colour scale: it ends at 1, or at the largest weight where value norms lift weights above 1."""
    is_off = state.show == "matrix" and options_of(state).difference  # a difference has its own colours
    end = ", 0 to 1" if options_of(state).shares else ", 0 to largest"
    titles = {
        "root": f"square root{end}",
        "linear": f"linear{end}",
        "largest": "linear, 0 to largest shown",
        "row": "each row to its largest",
        "log": "logarithmic",
    }
    return explained(choice("scale", "Scale", titles, state.scale, 170, disabled=is_off), info("the scale", _SCALE))


def _weight_choice(state: LinkState) -> html.Div:
    control = choice("weights", "Weight", WEIGHTS, state.weights, 190, disabled=bool(state.rollout))
    return explained(control, info("weights", _WEIGHTS_OF_ROLLOUT if state.rollout else _WEIGHTS))


@dataclass(frozen=True)
class KeyRuler:
    """The window of the keys, and the attention along the whole sentence.

    Attributes
    ----------
    outside
        Share of the shown queries' attention that goes to keys outside of the window; hidden keys do not count.
    shades
        Attention to each part of the sentence by the square root, 0 to 100; the largest part has 100.
    """

    window: Window
    outside: float
    shades: list[int]


@dataclass(frozen=True)
class Rulers:
    """The windows of a long sentence; `keys` is None in a view without keys, `where` names the layer in a view of all layers."""

    state: LinkState
    queries: Window
    keys: KeyRuler | None
    where: str = ""


def read_rulers(shown: ShownSentence) -> Rulers | None:
    """The rulers of page Sentence; None where all tokens are shown."""
    state, (queries, keys) = shown.state, shown.windows
    if state.show == "mixing":
        of_tokens = Window.at(queries.first, len(shown.sentence.wordpieces))
        return None if of_tokens.is_whole else Rulers(state, of_tokens, None)
    if queries.is_whole and keys.is_whole:
        return None
    rows = mean_rows(shown.sentence, _shown_options(shown), **_heads_of(shown)).weights
    # One layer: all layers would take as long as all thumbnails.
    where = f" in layer {state.layer}" if state.show == "model" else ""
    return Rulers(state, queries, key_ruler(rows, keys), where)


def key_ruler(weights: Floats, window: Window) -> KeyRuler:
    """The ruler of keys from weights (query, key) that have every key, in the window or not."""
    received = weights.sum(axis=0, dtype=np.float64)
    total = float(received.sum())
    outside = 1 - float(window.of(received).sum()) / total if total else 0.0
    starts = np.arange(min(PARTS, len(received))) * len(received) // min(PARTS, len(received))
    parts = np.sqrt(np.maximum(np.add.reduceat(received, starts), 0))
    return KeyRuler(window, max(0.0, outside), np.rint(SHADES * parts / (parts.max() or 1)).astype(int).tolist())


def _shown_options(shown: ShownSentence) -> PatternOptions:
    """The options of the shown weights; the neuron view hides no token and shows attention weights."""
    window, keywindow = (of.first for of in shown.windows)
    return PatternOptions(window=window, keywindow=keywindow) if shown.state.show == "neuron" else shown.options


def _heads_of(shown: ShownSentence) -> dict[str, Any]:
    """The heads of the shown weights, as arguments of `mean_rows`."""
    state = shown.state
    if state.show in ("head", "model"):
        heads = shown.drawn_heads if state.show == "head" else ()
        return {"mean": "heads", "layer": state.layer, "head": 0, "heads": heads}
    mean = state.mean if is_mean(state) else "none"
    return {"mean": mean, "layer": state.layer, "head": isolated_head(state), "heads": _chosen(shown)}


def _chosen(shown: ShownSentence) -> Sequence[int]:
    return shown.drawn_heads if shown.state.heads else ()


def draw_text(sentence: Sentence, content: Any) -> html.P | html.Div:
    """The text of a sentence; a long text stands in a box that scrolls."""
    text = html.P(content, className="sentence-text", dir="auto")
    return text if is_short(sentence) else scrolling(text, "The sentence", "scroll long-text")


def draw_rulers(rulers: Rulers | None) -> list[object]:
    """A ruler for the queries and one for the keys, each with its window in words."""
    if rulers is None:
        return []
    state, queries, keys = rulers.state, rulers.queries, rulers.keys
    first = ruler("Queries" if keys else "Tokens", "window", state.window, queries, queries.name.capitalize())
    if keys is None:
        return [rulers_of(first)]
    follows = state.keywindow is None
    moved = [] if follows else ["; ", dcc.Link("follow the queries", href=state.with_(keywindow=None).href)]
    share = f"{keys.window.name.capitalize()}; {_percent(keys.outside)} of the queries' attention goes outside{rulers.where}"
    of_keys = ruler("Keys", "keywindow", state.keywindow, keys.window, share, *moved, shades=keys.shades, about=False)
    return [rulers_of(first, of_keys)]


def draw_ruler_of_both(
    state: LinkState, window: Window, weights: Sequence[Floats], names: Sequence[str]
) -> list[object]:
    """One ruler for queries and keys of several named weights (query, key); nothing where all tokens are shown."""
    if window.is_whole:
        return []
    outside = [
        f"{_percent(key_ruler(each, window).outside)} in {name}" for each, name in zip(weights, names, strict=True)
    ]
    text = f"{window.name.capitalize()}; of the attention of these tokens, {' and '.join(outside)} goes outside"
    shades = key_ruler(np.sum(weights, axis=0), window).shades
    return [rulers_of(ruler("Tokens", "window", state.window, window, text, shades=shades))]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.1 or not share else f"{100 * share:.1f}%"
