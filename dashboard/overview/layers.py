"""Where attention goes in each layer, by weight and by value norm, as bars."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dash import dcc, html

from dashboard.statistics.parts import label_contrasts
from dashboard.ui.controls import info
from dashboard.web.state import LinkState
from store import Corpus

#: What gets attention -> the statistics of its share, by weight and by norm; all other tokens get the rest.
TARGETS: Mapping[str, tuple[str, str]] = {
    "[CLS]": ("to_cls", "norm_to_cls"),
    "[SEP]": ("to_sep", "norm_to_sep"),
    "full stops and commas": ("to_punctuation", "norm_to_punctuation"),
}
OTHERS = "other tokens"
_NORMS = (
    "By norm: each weight is multiplied by the value norm of its key, which is how much the key adds to the head's output "
    "(Kobayashi et al. 2020). Means over the heads of a layer and all sentences; every sentence has the same weight."
)


@dataclass(frozen=True)
class Shares:
    """Shares of attention by target, by weight and by norm, which sum to 1 each."""

    weight: Mapping[str, float]
    norm: Mapping[str, float]

    @property
    def largest(self) -> str:
        """The special target with the largest share by weight."""
        return max(TARGETS, key=lambda name: self.weight[name])


@dataclass(frozen=True)
class WhereAttentionGoes:
    """Shares of each layer and of all heads, and links that compare the labels by the target with the largest share."""

    layers: list[Shares]
    mean: Shares
    contrasts: Mapping[str, str]
    href: str


def read_attention(corpus: Corpus, state: LinkState) -> WhereAttentionGoes:
    """The shares of a corpus; links are on the statistic of the special target with the largest share."""
    mean = mean_shares(corpus)
    state = state.on("statistics").with_(statistic=TARGETS[mean.largest][0])
    return WhereAttentionGoes(layer_shares(corpus), mean, label_contrasts(corpus, state), state.href)


def layer_shares(corpus: Corpus) -> list[Shares]:
    """The shares of each layer, means over its heads."""
    means = corpus.head_statistic.sel(source="all").mean("head")
    return [_shares(means.sel(layer=layer).to_series().to_dict()) for layer in means["layer"].values]


def mean_shares(corpus: Corpus) -> Shares:
    """The shares of all heads."""
    return _shares(corpus.head_statistic.sel(source="all").mean(("layer", "head")).to_series().to_dict())


def _shares(means: Mapping[str, float]) -> Shares:
    weight, norm = ({name: means[of[by]] for name, of in TARGETS.items()} for by in range(2))
    return Shares(_with_rest(weight), _with_rest(norm))


def _with_rest(shares: dict[str, float]) -> dict[str, float]:
    return shares | {OTHERS: max(0.0, 1 - sum(shares.values()))}


def where_attention_goes(shown: WhereAttentionGoes) -> list[object]:
    """A sentence on all heads, then two bars for each layer."""
    rows: list[Any] = [
        html.Tr([html.Th(f"L{layer}", scope="row"), html.Td(_bar(shares.weight)), html.Td(_bar(shares.norm))])
        for layer, shares in enumerate(shown.layers)
    ]
    legend = [
        html.Span([html.Span(className=f"part part-{number}"), name], className="chip")
        for number, name in enumerate([*TARGETS, OTHERS])
    ]
    titles = html.Thead(html.Tr([html.Th("layer"), html.Th("by attention weight"), html.Th("by norm")]))
    return [
        html.H2(["Where attention goes, layer by layer", info("value norms", _NORMS)]),
        _finding(shown),
        html.P(legend, className="legend"),
        html.Table([titles, html.Tbody(rows)], className="layer-bars"),
    ]


def _finding(shown: WhereAttentionGoes) -> html.P:
    """The special target with the largest share: its weight, and its norm."""
    shares, target = shown.mean, shown.mean.largest
    weight, norm = 100 * shares.weight[target], 100 * shares.norm[target]
    compared = [part for title, href in shown.contrasts.items() for part in (", ", dcc.Link(title, href=href))][1:]
    return html.P(
        [
            html.Strong(f"{target} gets {weight:.0f}% of all attention and {norm:.0f}% by value norm"),
            f"; other tokens get {100 * shares.weight[OTHERS]:.0f}% and {100 * shares.norm[OTHERS]:.0f}%. Each head: ",
            dcc.Link("Statistics", href=shown.href),
            *([". By label: ", *compared] if compared else []),
            ".",
        ]
    )


def _bar(shares: Mapping[str, float]) -> html.Div:
    parts = [
        html.Span(
            f"{100 * share:.0f}%" if share >= 0.12 else None,
            className=f"part part-{number}",
            style={"width": f"{100 * share:.2f}%"},
            title=f"{name}: {100 * share:.1f}%",
        )
        for number, (name, share) in enumerate(shares.items())
    ]
    text = ", ".join(f"{name} {100 * share:.0f}%" for name, share in shares.items())
    label: Any = {"role": "img", "aria-label": text}
    return html.Div(parts, className="share-bar", **label)
