"""Captions below a picture: its sample, its fidelity, and the legend of what is drawn over the points."""

import xarray as xr
from dash import html

from dashboard.ui.controls import info
from dashboard.ui.text import all_of, decimal, every_of, of_first
from dashboard.web.context import Context
from dashboard.web.state import LinkState
from store import Corpus
from store.schema.model import head_name
from store.schema.pictures import ATTENTIONVIZ_TOKENS, ViewName

#: The measures of fidelity, explained.
FIDELITY = (
    "Spearman: rank correlation of attention weight and distance in the picture, query by query; −1 is perfect. Across: the same "
    "over keys of other sentences. Recall@3: the share of a query's 3 most attended keys among its 3 nearest. Trustworthiness: "
    "whether neighbours in the picture are neighbours of the vectors; 1 is perfect."
)
RING, SENTENCE = ("ring", "clicked point"), ("sentence", "tokens of its sentence, larger")
LASSO = ("lasso", "lasso")


def shown_fidelity(opened: xr.Dataset) -> xr.DataArray:
    """Fidelity (measure, layer, head) on held-out sentences; on the fitted ones where the corpus has no others."""
    held_out = opened.fidelity.sel(judged="held_out")
    any_held_out = bool(held_out.sel(measure="spearman").notnull().any())
    return held_out if any_held_out else opened.fidelity.sel(judged="fitted")


def caption(*parts: object) -> html.P:
    """A caption that is also written into a saved picture."""
    return html.P(list(parts), className="caption of-picture")


def sample_caption(context: Context, tokens: int) -> html.P:
    """How many of the corpus' tokens are shown, and how they were projected."""
    corpus = context.corpus
    attributes = corpus.view(context.view).attrs
    every = tokens >= corpus.n_tokens
    shown = every_of(corpus, "token") if every else f"{tokens:,} of {all_of(corpus, 'token')}, a uniform sample"
    about = (
        f"Fitted on {attributes['fitted_on']}{authors_size(context.view)}; tokens beyond the fit are placed {attributes['placed']}. "
        f"Equal axis scales. The corpus has {all_of(corpus, 'sentence')}, ordered by hash: the first are a uniform sample.{of_first(corpus)}"
    )
    return caption(f"{attributes['title']}; {shown}.", info("the sample", about))


def authors_size(view: str) -> str:
    """How many tokens the authors of AttentionViz fitted, for its projection; empty for others."""
    return f" (AttentionViz: {ATTENTIONVIZ_TOKENS:,})" if ViewName.parse(view).projection == "attentionviz" else ""


def fidelity_caption(corpus: Corpus, view: str) -> html.P:
    """Mean fidelity of a view over all heads, and the head with the lowest."""
    opened = corpus.view(view)
    fidelity = shown_fidelity(opened)
    worst = fidelity.sel(measure="spearman").argmax(("layer", "head"))
    name = head_name(int(worst["layer"]), int(worst["head"]))
    measures = _measures(fidelity.mean(("layer", "head")).to_series().to_dict())
    text = f"Fidelity, mean of all heads (worst: {name}): {measures}; on {opened.attrs['judged_on']}."
    return caption(text, info("fidelity", FIDELITY))


def head_fidelity_caption(corpus: Corpus, view: str, layer: int, head: int, *, of: str = "") -> html.P:
    """Fidelity of one head's picture; `of` names the head where two are shown."""
    opened = corpus.view(view)
    measures = _measures(shown_fidelity(opened)[:, layer, head].to_series().to_dict())
    return caption(f"Fidelity{of}: {measures}; on {opened.attrs['judged_on']}.", info("fidelity", FIDELITY))


def _measures(values: dict[str, float]) -> str:
    return (
        f"Spearman {decimal(values['spearman'])} within and {decimal(values['across'])} across sentences (−1 is perfect), "
        f"recall@3 {values['recall']:.2f}, trustworthiness {values['trustworthiness']:.2f}"
    )


def overlays_of_feature(state: LinkState) -> list[tuple[str, str]]:
    """Marks over the tokens at one feature point."""
    drawn = (
        [RING, SENTENCE, ("near", "tokens with the nearest vectors")]
        if state.point and state.ftoken is not None
        else []
    )
    return [*drawn, LASSO] if state.flasso and state.point else drawn


def overlay_legend(marks: list[tuple[str, str]]) -> html.P:
    """The legend of the marks; empty without any, with the same room: a click moves nothing."""
    chips = [html.Span([html.Span(className=f"over {kind}"), meaning], className="chip") for kind, meaning in marks]
    return html.P([html.Span("Over the points:"), *chips] if chips else [], className="legend over-points")
