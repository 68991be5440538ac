"""Tables of what every head does, for files: a row for each head, for each two heads, for each place in a profile."""

from itertools import product

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.head_map.data import mean_divergence
from dashboard.points.exports import Table
from dashboard.statistics.ranks import ranks
from dashboard.web.state import telling
from store import Corpus
from store.schema.model import head_name


def heads_table(means: xr.DataArray, labels: xr.DataArray, importance: NDArray[np.float64] | None = None) -> Table:
    """Every head with its label, its statistics and its rank in each: 1 has the most, NaN where there is no number.

    Parameters
    ----------
    means
        (statistic, layer, head), with the source they are over as a coordinate.
    labels
        (layer, head), empty where a head has none.
    importance
        (layer, head), a column more.
    """
    layer, head = _heads(*labels.shape)
    numbers = {name: means.sel(statistic=name).values.ravel() for name in telling(str(means.source.item()))}
    if importance is not None:
        numbers["importance"] = importance.ravel()
    return {
        "layer": layer,
        "head": head,
        "name": _names(layer, head),
        "label": labels.values.astype(object).ravel(),
        **numbers,
        **{f"{name}_rank": ranks(values) for name, values in numbers.items()},
    }


def divergence_table(corpus: Corpus) -> Table:
    """Each two heads once, with their mean Jensen-Shannon divergence a token of the sample, in nats."""
    heads = corpus.layers * corpus.heads
    mean = mean_divergence(corpus).reshape(heads, heads)
    layer, head = _heads(corpus.layers, corpus.heads)
    one, other = np.triu_indices(heads, 1)
    return {
        "layer": layer[one],
        "head": head[one],
        "name": _names(layer, head)[one],
        "other_layer": layer[other],
        "other_head": head[other],
        "other_name": _names(layer, head)[other],
        "divergence": mean[one, other],
    }


def map_table(corpus: Corpus) -> Table:
    """Where every head is on the map of heads."""
    layer, head = _heads(corpus.layers, corpus.heads)
    places = corpus.divergence["place"].values.reshape(len(layer), -1)
    return {
        "layer": layer,
        "head": head,
        "name": _names(layer, head),
        "label": corpus.head_labels.values.astype(object).ravel(),
        **dict(zip("xyz", places.T, strict=False)),
    }


def profile_table(corpus: Corpus, layer: int, head: int) -> Table:
    """Share of a head's weight at each offset (key - query); the outermost are all keys farther than 10 tokens."""
    shares = corpus.head_profile.sel(layer=layer, head=head)
    return {"offset": shares.offset.values, "share": shares.values}


def received_table(corpus: Corpus, layer: int, head: int) -> Table:
    """Mean weight that the rows of a sentence give to each position, and how many sentences have it."""
    received = corpus.received_at.sel(layer=layer, head=head)
    count = received["count"].values
    return {
        "position": np.arange(len(count))[count > 0],
        "sentences": count[count > 0],
        "received": received.values[count > 0],
    }


def grid_table(values: NDArray[np.float64], column: str) -> Table:
    """The numbers (layer, head) of a heat map of all heads, under the name of what they are."""
    layer, head = _heads(*values.shape)
    return {"layer": layer, "head": head, "name": _names(layer, head), column: values.ravel()}


def expansion_table(corpus: Corpus) -> Table:
    """By how much f of every layer lengthens vectors."""
    return {"layer": np.arange(corpus.layers), "rate": corpus.expansion_rate.values}


def mixing_table(found: xr.DataArray) -> Table:
    """Every mixing ratio (source, ratio, layer), a row each."""
    rows = list(product(found.source.values, found.ratio.values, found.layer.values))
    source, ratio, layer = (np.array(column, object) for column in zip(*rows, strict=True))
    return {"layer": layer.astype(np.int64), "source": source, "ratio": ratio, "share": found.values.ravel()}


def _heads(layers: int, heads: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Layer and head of every head, layer by layer."""
    layer, head = np.divmod(np.arange(layers * heads), heads)
    return layer, head


def _names(layer: NDArray[np.int64], head: NDArray[np.int64]) -> NDArray[np.object_]:
    return np.array([head_name(*one) for one in zip(layer.tolist(), head.tolist(), strict=True)], object)
