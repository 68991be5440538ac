"""What every picture says of itself: colours, n of N, method, and how far it can be trusted."""

from dash import html

from dashboard.address import Place
from store import Corpus
from store.schema import head_name


def legend() -> html.P:
    """Which mark is what."""
    return html.P(
        [
            html.Span("●", className="mark query", **{"aria-hidden": "true"}),
            " query ",
            html.Span("◆", className="mark key", **{"aria-hidden": "true"}),
            " key",
        ],
        className="legend",
    )


def sample_caption(place: Place, view: str, tokens: int) -> html.P:
    """How many tokens of how many, and by which method they were placed."""
    corpus = place.corpus
    attributes = corpus.view(view).attrs
    shown = "all" if tokens >= corpus.n_tokens else f"the first {tokens:,} of"
    return html.P(
        f"Shown: {shown} {corpus.n_tokens:,} tokens of {corpus.n_sentences:,} sentences (in hash order: a uniform sample). "
        f"{attributes['title']}, fitted on {attributes['fitted_on']}; every other token placed by the same formula. "
        "x and y have one scale.",
        className="caption",
    )


def fidelity_caption(corpus: Corpus, view: str) -> html.P:
    """Mean agreement of the pictures with attention."""
    opened = corpus.view(view)
    spearman, recall = opened.fidelity.mean(("layer", "head")).values
    worst = opened.fidelity.sel(measure="spearman").argmax(("layer", "head"))
    name = head_name(int(worst["layer"]), int(worst["head"]))
    return html.P(
        f"How faithful: Spearman of attention and screen distance {spearman:.2f} on average (-1 is perfect; worst head {name}), "
        f"{100 * recall:.0f} % of the 3 most attended keys are among the 3 nearest, on {opened.attrs['judged_on']}.",
        className="caption",
    )


def head_fidelity_caption(corpus: Corpus, view: str, layer: int, head: int) -> html.P:
    """Agreement of one head's picture with attention."""
    opened = corpus.view(view)
    spearman, recall = opened.fidelity[:, layer, head].values
    return html.P(
        f"How faithful: Spearman of attention and screen distance {spearman:.2f} (-1 is perfect), {100 * recall:.0f} % of the 3 most "
        f"attended keys are among the 3 nearest, on {opened.attrs['judged_on']}.",
        className="caption",
    )
