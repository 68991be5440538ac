"""What stands below a picture: how much of the corpus it shows, how faithful it is, and what is drawn over the points."""

import xarray as xr
from dash import html

from dashboard.web.state import Address
from dashboard.web.view import Place
from store import Corpus
from store.schema.model import ROLES, head_name
from store.schema.pictures import ATTENTIONVIZ_TOKENS, ViewName
from store.wording import many

RING, SENTENCE = ("ring", "clicked point"), ("sentence", "tokens of its sentence, larger")
LASSO = ("lasso", "lasso")


def shown_fidelity(opened: xr.Dataset) -> xr.DataArray:
    """Measures (measure, layer, head) on the sentences that `judged_on` of a view names."""
    held_out = opened.fidelity.sel(judged="held_out")
    any_held_out = bool(held_out.sel(measure="spearman").notnull().any())
    return held_out if any_held_out else opened.fidelity.sel(judged="fitted")


def caption(*says: object) -> html.P:
    """A line that a saved picture has too (`assets/points/told.js`)."""
    return html.P(list(says), className="caption of-picture")


def sample_caption(place: Place, tokens: int) -> html.P:
    """How many tokens of how many, and by which method they were placed."""
    corpus = place.corpus
    attributes = corpus.view(place.view).attrs
    shown = "all" if tokens >= corpus.n_tokens else f"the first {tokens:,} of"
    return caption(
        f"Shown: {shown} {many(corpus.n_tokens, 'token')} of {many(corpus.n_sentences, 'sentence')} (in hash order: a uniform sample). "
        f"{attributes['title']}, fitted on {attributes['fitted_on']}{authors_size(place.view)}; every other token placed {attributes['placed']}. "
        "Both axes have the same scale."
    )


def authors_size(view: str) -> str:
    """What a reader of the AttentionViz look has to know: how many tokens its authors fit; nothing for other pictures."""
    return f" (AttentionViz: {ATTENTIONVIZ_TOKENS:,})" if ViewName.parse(view).projection == "attentionviz" else ""


def fidelity_caption(corpus: Corpus, view: str) -> html.P:
    """Mean agreement of the pictures with attention."""
    opened = corpus.view(view)
    fidelity = shown_fidelity(opened)
    worst = fidelity.sel(measure="spearman").argmax(("layer", "head"))
    name = head_name(int(worst["layer"]), int(worst["head"]))
    measures = _measures(fidelity.mean(("layer", "head")).to_series().to_dict())
    return caption(f"How faithful, mean over heads, worst {name}: {measures}; on {opened.attrs['judged_on']}.")


def head_fidelity_caption(corpus: Corpus, view: str, layer: int, head: int, *, of: str = "") -> html.P:
    """Agreement of one head's picture with attention; `of` says in which model, where there are two."""
    opened = corpus.view(view)
    measures = _measures(shown_fidelity(opened)[:, layer, head].to_series().to_dict())
    return caption(f"How faithful{of}: {measures}; on {opened.attrs['judged_on']}.")


def _measures(values: dict[str, float]) -> str:
    return (
        f"Spearman of attention and distance on screen {values['spearman']:.2f} in a sentence and {values['across']:.2f} "
        f"across sentences (-1 is perfect), {100 * values['recall']:.0f} % of the 3 most attended keys among the 3 nearest, "
        f"trustworthiness {values['trustworthiness']:.2f} (1 is perfect)"
    )


def overlays_of_head(address: Address) -> list[tuple[str, str]]:
    """What is drawn over the points of a head: the kind of each mark and what it means."""
    drawn: list[tuple[str, str]] = []
    if address.token is not None:
        others = "keys" if address.role == ROLES[0] else "queries"
        drawn += [RING, SENTENCE, ("near", f"highest-scoring {others} in the corpus")]
    elif address.text:
        drawn += [("sentence", "tokens of the typed sentence, larger")]
    if drawn:
        drawn.insert(len(drawn) - (address.token is not None), ("line", "attention weight: thicker is more"))
    if address.marks and address.token is not None:
        drawn.append(("pair", "marked pair"))
    return [*drawn, LASSO] if address.lasso else drawn


def overlays_of_feature(address: Address) -> list[tuple[str, str]]:
    """What is drawn over the tokens at one feature point; nothing over all points at once but a lasso."""
    drawn = (
        [RING, SENTENCE, ("near", "tokens with the nearest vectors")]
        if address.point and address.ftoken is not None
        else []
    )
    return [*drawn, LASSO] if address.flasso and address.point else drawn


def overlay_legend(marks: list[tuple[str, str]]) -> list[html.P]:
    """The legend; nothing where nothing is drawn."""
    chips = [html.Span([html.Span(className=f"over {kind}"), meaning], className="chip") for kind, meaning in marks]
    return [html.P([html.Span("Over the points:"), *chips], className="legend over-points")] if chips else []
