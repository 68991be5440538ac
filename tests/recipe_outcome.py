"""Outcome of the recipes of docs/contributing.md in a store and on its pages: run in the copy of the code with the recipes.

    python -m tests.recipe_outcome STORE MODEL DATA

STORE was made before the recipes. The last line of the output is JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import store
from dashboard.notes.target import parse_target
from dashboard.pages import TOPICS
from dashboard.points.distance import place_vectors
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store.__main__ import main as check
from tests.stores import ingest_small

#: Sentences of a store: few, as Python itself runs the changed code.
SENTENCES = 4
VIEWS = ("pca-exact-2d", "pca-mean-2d", "channels-raw-2d")


def page(place: str, name: str, query: str = "") -> str:
    return str(TOPICS[name].layout(resolve(ServedStore(place), name, query)))


def outcome(place: str, model: str, data: str) -> dict[str, Any]:
    before = page(place, "statistics", "statistic=to_first")
    ingest_small(Path(place), model=model, data=data, sentences=SENTENCES, views=",".join(VIEWS))
    corpus = store.open_corpus(place)
    statistics = corpus.token_statistic.isel(token=corpus.rows)
    note = parse_target(f"layer/{corpus.attributes['weights_sha256']}/1")
    return {
        "before": before,
        "sound": check(["verify", place]) == 0,
        "first": statistics.sel(statistic="to_first").values.tolist(),
        "cls": statistics.sel(statistic="to_cls").values.tolist(),
        "statistics": page(place, "statistics", "statistic=to_first"),
        "normalizations": corpus.normalizations.normalization.values.tolist(),
        "mean_key": _mean_key(corpus),
        "heads": page(place, "heads", f"view={VIEWS[1]}"),
        "views": corpus.views,
        "misplaced": _misplaced(corpus),
        "pictures": page(place, "heads", f"view={VIEWS[2]}"),
        "note": note.title(corpus),
        "head": page(place, "head", "layer=1&head=0&tab=notes"),
    }


def _mean_key(corpus: store.Corpus) -> float:
    """Largest coordinate of the mean normalised key, over the sentences of the fit."""
    fitted = corpus.rows[: int(corpus.view(VIEWS[1]).attrs["sample_tokens"])]
    keys = corpus.key.isel(token=fitted).values.astype(np.float64)
    shift = corpus.normalizations["shift"].sel(normalization="mean").values
    return float(np.abs(keys.mean(axis=2) + shift).max())


def _misplaced(corpus: store.Corpus) -> float:
    """Largest distance between a stored place and the place of a typed token with the same vectors."""
    query, key = (array[0, 0, corpus.rows].values.astype(np.float32) for array in (corpus.query, corpus.key))
    typed = place_vectors(corpus, VIEWS[2], query, key, layer=0, head=0)
    return float(np.abs(typed - corpus.places(VIEWS[2], corpus.rows, layer=0, head=0)).max())


if __name__ == "__main__":
    print(json.dumps(outcome(*sys.argv[1:])))
