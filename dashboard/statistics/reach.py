"""What a vector is made of, by class of token: which words, parts of speech, dependencies and positions; by label; and what attention hides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.statistics.reach_figures import Dots, LabelLine, class_dots, dots_height, label_lines
from dashboard.ui.charts import chart
from dashboard.ui.controls import action, choice, info
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import Unmade, file_href, scrolling, stacked_table, unmade_line
from dashboard.ui.text import decimal, in_brackets
from dashboard.ui.work import current_job
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.phrases import as_label, many
from store.reach import FEWEST, KINDS, ClassedTokens, reach_by, reach_contrast
from store.repository.errors import NotIngested
from store.schema.corpus import NO_WORD
from store.schema.mixing import TARGETS

#: Classes of each figure; those of the table that attention hides, and that it overrates.
DRAWN, HIDDEN, OVERRATED = 20, 6, 2
#: Fields of a link that say what is shown.
FIELDS = ("reached", "reachedby", "after", "reachedclass", "labelled")
_REACH = (
    "Reach of a token: its share of the vector after the layer, by GlobEnc through the layers, times the tokens of the sentence; 1 is an even "
    "share. Attention: the weight that the token gets from the vector's tokens, mean over heads and over the layers so far, over even attention. "
    f"Means over sentences of the mean over the tokens of a class; classes of fewer than {FEWEST} sentences are left out. Bars: 95% intervals "
    "by bootstrap over sentences; they ignore that the classes were chosen as the largest of all."
)
_CONTRAST = (
    "Share of the vector that all tokens of a class make up, 0 in a sentence without it, mean over the sentences of a label; in points. Hollow: "
    "the same if every token counted alike, so what the number of its tokens alone explains. Drawn: the largest differences that are told apart "
    "by Welch's t test over sentences at 5% false discoveries among all classes (Benjamini and Hochberg 1995)."
)
_HIDDEN = (
    "Reach less attention, both over an even share. Listed: the largest differences on either side that a t test over sentences tells from 0 at 5% "
    "false discoveries among all classes. The example is the token nearest to the mean of its class."
)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HiddenClass:
    """A class whose reach differs from the attention that it gets, and a sentence with a usual token of it."""

    name: str
    reach: float
    received: float
    low: float
    high: float
    sentences: int
    href: str | None


@dataclass(frozen=True)
class Reach:
    """What the part shows.

    Attributes
    ----------
    largest
        Classes with the largest reach; of `reach_by` at one layer.
    contrast
        Those whose share differs most between labels, of `reach_contrast` at one layer; None without two labels.
    labels
        Names of the two sides.
    chosen, lines
        The class that is shown by layer.
    hidden
        Classes that attention hides, and those that it overrates.
    layer, target
        The layer, and the vector in words.
    state, files
        The link, and the beginning of the URLs of the files.
    """

    largest: xr.Dataset
    contrast: xr.Dataset | None
    labels: tuple[str, str]
    chosen: str
    lines: Sequence[LabelLine]
    hidden: Sequence[HiddenClass]
    layer: int
    target: str
    state: LinkState
    files: str


def reach_controls(state: LinkState, layers: int, kinds: Mapping[str, str], labels: Sequence[str]) -> html.Div:
    """Of what vector, by what, after which layer; and of more than two labels which one is compared."""
    after = {str(layer): f"L{layer}" for layer in range(layers)}
    chosen = layers - 1 if state.after is None else state.after
    controls: list[Any] = [
        choice("reached", "Vector", TARGETS, state.reached, 170, by="reach"),
        choice("reachedby", "By", kinds, state.reachedby, 150, by="reach"),
        choice("after", "After layer", after, str(chosen), 90, by="reach", of_data=True),
    ]
    if len(labels) > 2:
        names = {label: label for label in labels}
        controls.append(choice("labelled", "Label", names, state.labelled or labels[-1], 140, by="reach", of_data=True))
    return html.Div(controls, className="controls")


def kinds_of(corpus: Corpus) -> dict[str, str]:
    """Kinds of class that the corpus has."""
    return {name: title for name, title in KINDS.items() if corpus.has_words or name in ("wordpiece", "position")}


def shown_labels(corpus: Corpus) -> list[str]:
    """Labels that sentences of the corpus have; fewer than two are no contrast."""
    codes = np.unique(corpus.sentences.label.values)
    return [corpus.label_names[code] for code in codes if code >= 0] if len(codes) > 1 else []


def reach_part(context: Context) -> list[object]:
    """The figures and the table."""
    corpus, state = context.corpus, context.state
    try:
        return draw_reach(read_reach(corpus, state))
    except NotIngested as error:
        return [unmade_line(Unmade.of(error, context.ingest))]


def read_reach(corpus: Corpus, state: LinkState) -> Reach:
    """Means of all classes, and intervals of those that are drawn."""
    layer = corpus.layers - 1 if state.after is None else state.after
    kind, target = (state.reachedby if state.reachedby in kinds_of(corpus) else "wordpiece"), state.reached
    labels, label = shown_labels(corpus), state.labelled
    every = _by(corpus, kind, target, layer, ())
    largest = _first(every, every.reach.values[0])
    hidden = _hidden_places(every)
    named = tuple(map(str, [*largest.category.values, *every.category.values[hidden]]))
    drawn = _by(corpus, kind, target, layer, named)
    label = label if label in labels else (labels[-1] if labels else "")
    contrast, chosen, lines = None, "", list[LabelLine]()
    if label:
        contrast = _differing(corpus, kind, target, layer, label)
        chosen = _chosen_class(corpus, kind, target, layer, label, state.reachedclass, contrast)
        lines = _lines(corpus, kind, target, label, chosen, _sides(labels, label)) if chosen else []
    return Reach(
        largest=drawn.sel(category=largest.category.values),
        contrast=contrast,
        labels=_sides(labels, label),
        chosen=chosen,
        lines=lines,
        hidden=_hidden_classes(
            corpus, state, drawn, [str(every.category.values[place]) for place in hidden], kind, layer
        ),
        layer=layer,
        target=TARGETS[target],
        state=state,
        files=data_link(corpus),
    )


def _sides(labels: Sequence[str], label: str) -> tuple[str, str]:
    others = [name for name in labels if name != label]
    return label, others[0] if len(others) == 1 else "all others"


@cached
def _by(corpus: Corpus, kind: str, target: str, layer: int, only: tuple[str, ...]) -> xr.Dataset:
    watch = current_job().watch
    return reach_by(corpus, kind, target, layers=[layer], chosen=None, fewest=FEWEST, watch=watch, only=only)


@cached
def _contrast(
    corpus: Corpus, kind: str, target: str, layers: tuple[int, ...], label: str, only: tuple[str, ...]
) -> xr.Dataset:
    chosen, watch = tokens_of_label(corpus, label), current_job().watch
    return reach_contrast(
        corpus, kind, target, chosen=chosen, others=~chosen, layers=layers, fewest=FEWEST, watch=watch, only=only
    )


def tokens_of_label(corpus: Corpus, label: str) -> NDArray[np.bool_]:
    """Which tokens are in sentences of a label: (token,)."""
    of_token = corpus.sentences.label.values[corpus.tokens.sentence_index.values[corpus.rows]]
    chosen: NDArray[np.bool_] = of_token == corpus.label_names.index(label)
    return chosen


def _first(every: xr.Dataset, values: Floats) -> xr.Dataset:
    """The classes with the largest values."""
    return every.isel(category=np.argsort(-values, kind="stable")[:DRAWN])


def _differing(corpus: Corpus, kind: str, target: str, layer: int, label: str) -> xr.Dataset:
    """Classes whose share differs between the labels, the largest difference first, with intervals."""
    every = _contrast(corpus, kind, target, (layer,), label, ())
    is_found = every.share_found.values[0] & ~np.isin(every.category.values.astype(str), _special(corpus))
    found = every.isel(category=np.flatnonzero(is_found))
    first = _first(found, np.abs(found.share_difference.values[0])).category.values
    drawn = _contrast(corpus, kind, target, (layer,), label, tuple(map(str, first)))
    return drawn.sel(category=first)


@cached
def _special(corpus: Corpus) -> list[str]:
    """Special tokens, whose shares differ where sentences differ in length."""
    special = corpus.tokens.token_flags.values[corpus.rows] & NO_WORD != 0
    return list(map(str, corpus.vocab[np.unique(corpus.tokens.token_id.values[corpus.rows[special]])]))


def _chosen_class(
    corpus: Corpus, kind: str, target: str, layer: int, label: str, wanted: str | None, contrast: xr.Dataset
) -> str:
    """The class of the link where the corpus has it, else the one that differs most clearly; empty where none does."""
    known = _contrast(corpus, kind, target, (layer,), label, ()).category.values.astype(str)
    if wanted in known:
        return str(wanted)
    if not contrast.sizes["category"]:
        return ""
    low, high = contrast.share_difference_interval.values[:, 0]
    clear = np.abs(contrast.share_difference.values[0]) / (high - low)
    return str(contrast.category.values[int(np.argmax(clear))])


def _lines(corpus: Corpus, kind: str, target: str, label: str, chosen: str, sides: tuple[str, str]) -> list[LabelLine]:
    of = _contrast(corpus, kind, target, tuple(range(corpus.layers)), label, (chosen,)).sel(category=chosen)
    return [
        LabelLine(title, of[f"{side}_share"].values, of[f"{side}_share_interval"].values, _even(of, side))
        for side, title in zip(("own", "rest"), sides, strict=True)
    ]


def _even(of: xr.Dataset, side: str) -> float:
    return float(of[f"{side}_share"][0] - of[f"{side}_excess"][0])


def _hidden_places(every: xr.Dataset) -> list[int]:
    """Places of the classes that attention hides most, then of those that it overrates most, the last of all last."""
    order = np.argsort(-every.hidden.values[0], kind="stable")
    found = [int(place) for place in order if every.hidden_found.values[0, place]]
    values = every.hidden.values[0]
    above = [place for place in found if values[place] > 0][:HIDDEN]
    return above + [place for place in found if values[place] < 0][-OVERRATED:]


def _hidden_classes(
    corpus: Corpus, state: LinkState, drawn: xr.Dataset, names: Sequence[str], kind: str, layer: int
) -> list[HiddenClass]:
    tokens = ClassedTokens(corpus, kind, state.reached, [layer])
    return [_hidden_class(corpus, state, drawn.sel(category=name).isel(layer=0), tokens, layer) for name in names]


def _hidden_class(corpus: Corpus, state: LinkState, own: xr.Dataset, tokens: ClassedTokens, layer: int) -> HiddenClass:
    name = str(own.category.item())
    token = tokens.typical("hidden", name)
    href = None
    if token is not None:
        row = corpus.rows[token]
        position = int(corpus.tokens.position.values[row])
        sentence = int(corpus.tokens.sentence_index.values[row])
        of = {"layer": layer, "show": "matrix", "rollout": "globenc", "role": "key", "queries": str(position)}
        href = state.of_sentence(sentence, **of).href
    low, high = own.hidden_interval.values.tolist()
    return HiddenClass(name, float(own.reach), float(own.received), low, high, int(own.sentences), href)


def draw_reach(shown: Reach) -> list[object]:
    """The figures of classes and labels, one class by layer, and the table of what attention hides."""
    files = {"reached": shown.state.reached, "reachedby": shown.state.reachedby, "after": str(shown.layer)}
    figures: list[Any] = [_largest(shown, files)]
    if shown.contrast is not None:
        figures.append(_labels(shown, files))
    return [
        html.Div(figures, className="figures halves"),
        *([_by_layer(shown)] if shown.lines else []),
        *_hidden_table(shown),
    ]


def _of(shown: Reach) -> str:
    return f"{shown.target} after layer {shown.layer}"


def _largest(shown: Reach, files: Mapping[str, str]) -> html.Div:
    own = shown.largest.isel(layer=0)
    low, high = own.reach_interval.values
    hover = [
        f"{as_label(str(name))}: {decimal(reach)} × even share (95%: {decimal(least)} to {decimal(most)}), "
        f"attention {decimal(received)}, {share:.1%} of the vector<br>{many(int(sentences), 'sentence')}"
        for name, reach, least, most, received, share, sentences in zip(
            own.category.values,
            own.reach.values,
            low,
            high,
            own.received.values,
            own.share.values,
            own.sentences.values,
            strict=True,
        )
    ]
    dots = Dots(
        _names(own, shown.state.reachedby),
        own.reach.values,
        own.reach_interval.values,
        own.received.values,
        hover,
        ("share of the vector", "attention"),
        "× even share",
        1.0,
    )
    title = html.H3(["Largest share for one token", info("the reach of a token", _REACH)])
    label = f"The classes that {_of(shown)} is made of most"
    of = f"{_of(shown)}; classes of at least {FEWEST} sentences"
    return _dots_figure(title, dots, name="reach", label=label, of=of, csv=file_href(shown.files, "reach.csv", files))


def _labels(shown: Reach, files: Mapping[str, str]) -> html.Div:
    assert shown.contrast is not None
    own, (label, other) = shown.contrast.isel(layer=0), shown.labels
    title = html.H3([f"Share of the vector, {label} minus {other}", info("the difference between labels", _CONTRAST)])
    if not own.sizes["category"]:
        return html.Div(
            [title, html.P("No class is told apart between the labels.", className="caption")], className="figure"
        )
    low, high = 100 * own.share_difference_interval.values
    hover = [
        f"{as_label(str(name))}: {decimal(100 * value, 2, '+')} points (95%: {decimal(least)} to {decimal(most)}), "
        f"by its number alone {decimal(100 * even, 2, '+')}<br>{first:,} sentences {label}, {second:,} {other}"
        for name, value, least, most, even, first, second in zip(
            own.category.values,
            own.share_difference.values,
            low,
            high,
            own.even_difference.values,
            own.own_sentences.values,
            own.rest_sentences.values,
            strict=True,
        )
    ]
    dots = Dots(
        _names(own, shown.state.reachedby),
        100 * own.share_difference.values,
        100 * own.share_difference_interval.values,
        100 * own.even_difference.values,
        hover,
        ("share of the vector", "by number of tokens alone"),
        "points",
        0.0,
    )
    csv = file_href(shown.files, "reach-labels.csv", {**files, "labelled": label})
    said = f"Share of {_of(shown)}, {label} minus {other}"
    return _dots_figure(title, dots, name="reach-labels", label=said, of=_of(shown), csv=csv)


def _dots_figure(title: html.H3, dots: Dots, *, name: str, label: str, of: str, csv: str) -> html.Div:
    drawn: list[Any] = chart(
        class_dots(dots), name=name, caption="", label=label, of=of, data=csv, height=dots_height(DRAWN)
    )
    return html.Div([title, *drawn], className="figure")


def _by_layer(shown: Reach) -> html.Div:
    assert shown.contrast is not None
    links = [
        part
        for name in map(str, shown.contrast.category.values[:DRAWN])
        for part in (
            ", ",
            html.Bdi(name) if name == shown.chosen else action(html.Bdi(name), _href(shown, name), look="link"),
        )
    ][1:]
    drawn: list[Any] = chart(
        label_lines(shown.lines),
        name="reach-layers",
        caption="Dotted: if every token counted alike.",
        label=f"Share of “{shown.chosen}” in {shown.target} by layer and label",
        of=shown.target,
        height=280,
    )
    title = html.H3(["From which layer on: ", html.Bdi(shown.chosen)])
    return html.Div([title, html.P(["Show: ", *links, "."], className="how-to-read"), *drawn], className="figure")


def _href(shown: Reach, name: str) -> str:
    return shown.state.with_(reachedclass=name).href


def _hidden_table(shown: Reach) -> list[object]:
    title = html.H3(["What attention hides", info("what attention hides", _HIDDEN)])
    if not shown.hidden:
        return [title, html.P("No class is told apart from the attention that it gets.", className="caption")]
    titles = (KINDS[shown.state.reachedby], "share", "attention", "difference", "95%", "sentences", "example")
    rows = [
        [
            html.Bdi(own.name),
            decimal(own.reach),
            decimal(own.received),
            decimal(own.reach - own.received, 2, "+"),
            f"{decimal(own.low)} to {decimal(own.high)}",
            f"{own.sentences:,}",
            dcc.Link("sentence", href=own.href) if own.href else "",
        ]
        for own in shown.hidden
    ]
    caption = f"Share of {_of(shown)} and attention, both over an even share: what attention hides first, what it overrates last."
    table = stacked_table(titles, rows, titles[1:-1])
    return [title, html.P(caption, className="caption"), scrolling(table, "What attention hides")]


def _names(own: xr.Dataset, kind: str) -> list[str]:
    return [
        as_label(f"{name}{in_brackets(name) if kind == 'relation' else ''}") for name in map(str, own.category.values)
    ]


#: Its height at 1440 pixels and in a narrow window.
REACH = DeferredPart("reach", "what vectors are made of", reach_part, FIELDS, 1340, 2110, shape="box")
