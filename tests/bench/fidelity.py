"""How faithful every normalisation x projection is, over all heads of the default model on the default corpus."""

from pathlib import Path

import xarray as xr

from ingest.pipeline import run
from ingest.run.settings import Settings
from store import Corpus, open_corpus
from store.schema.pictures import NORMALIZATIONS, ViewName
from tests.bench.table import show

#: A store beside that of `make dashboard`, which is kept: all its pictures take most of an hour on two cores.
STORE = "data/bench-fidelity"
PRESET = "attentionviz-centroid-2d"
NAMES = [f"{projection}-{name}-2d" for projection in ("pca", "attention", "tsne", "umap") for name in NORMALIZATIONS]
SOLID = ["pca-exact-3d", "attention-raw-3d", "tsne-raw-3d", "umap-raw-3d", "attentionviz-centroid-3d"]


def fidelity(store: str = STORE) -> None:
    """Make every picture, and print the tables."""
    Path(store).parent.mkdir(parents=True, exist_ok=True)
    run(Settings(store=store, views=",".join([*NAMES, PRESET, *SOLID]), features="none"))
    corpus = open_corpus(store)
    _normalizations(corpus)
    views = [PRESET, *NAMES, *SOLID]
    columns = (
        "view",
        "Spearman",
        "recall@3",
        "across",
        "trustworthy",
        "fitted: Spearman",
        "recall@3",
        "worse heads",
        "s",
    )
    rows = [_row(corpus, view) for view in views]
    show(
        f"Fidelity over {corpus.layers * corpus.heads} heads, {corpus.view(views[0]).attrs['judged_on']}", columns, rows
    )


def _row(corpus: Corpus, view: str) -> tuple[object, ...]:
    """A row of the table: means over heads on held-out sentences and on the fit's, and how many heads are worse than AttentionViz's."""
    opened = corpus.view(view)
    held, fitted = (opened.fidelity.sel(judged=judged).mean(("layer", "head")) for judged in ("held_out", "fitted"))
    numbers = [f"{float(held.sel(measure=name)):.3f}" for name in ("spearman", "recall", "across", "trustworthiness")]
    numbers += [f"{float(fitted.sel(measure=name)):.3f}" for name in ("spearman", "recall")]
    worse = _worse(opened, corpus.view(PRESET)) if ViewName.parse(view).components == 2 else "-"
    return (view, *numbers, worse, f"{opened.attrs['seconds']:.0f}")


def _worse(view: xr.Dataset, preset: xr.Dataset) -> str:
    """Heads whose Spearman or recall falls behind the AttentionViz look, fitted on few tokens (`attentionviz.py` has its own size).

    The look counts with its better case: held-out sentences or those of its fit.
    """
    ours = view.fidelity.sel(judged="held_out")
    spearman = ours.sel(measure="spearman") > preset.fidelity.sel(measure="spearman").min("judged")
    recall = ours.sel(measure="recall") < preset.fidelity.sel(measure="recall").max("judged")
    return f"{int(spearman.sum())} / {int(recall.sum())}"


def _normalizations(corpus: Corpus) -> None:
    constants = corpus.normalizations
    rows = []
    for name in NORMALIZATIONS:
        constant = constants.sel(normalization=name)
        improved = int((constant.spearman < constants.spearman.sel(normalization="raw")).sum())
        rows.append(
            (
                name,
                f"{float(constant.spearman.mean()):.3f}",
                f"{float(constant.spearman.max()):.3f}",
                f"{float(constant.weighted_correlation.mean()):.3f}",
                f"{float(constant.scale.min()):.2f} to {float(constant.scale.max()):.2f}",
                int(constant.pairs.min()),
                improved,
            )
        )
    columns = (
        "normalisation",
        "Spearman in head space",
        "worst head",
        "weighted correlation",
        "c",
        "fewest pairs",
        "heads better than raw",
    )
    show("Normalisations, mean over heads", columns, rows)
