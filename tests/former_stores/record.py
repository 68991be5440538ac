"""Arrays that a former commit reads of its own store, run with that commit's packages: `python record.py STORE FILE`."""

import sys
from itertools import chain
from typing import Any

import numpy as np

import store

#: Arrays of a picture of heads that its page shows.
OF_A_VIEW = ("coordinates", "explained", "fidelity")


def read(address: str) -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of a store by names: pictures, feature points, statistics, attention of the first sentence."""
    corpus = store.open_corpus(address)
    views = {
        f"view {name} {array}": corpus.view(name)[array].values for name in corpus.views for array in OF_A_VIEW
        if array in corpus.view(name)
    }  # fmt: skip
    points = corpus.features("sample")
    features = {f"features {name}": points.view(name)["coordinates"].values for name in points.views}
    statistics = {
        f"statistic {name}": corpus.head_statistic.sel(statistic=name).values
        for name in corpus.head_statistic["statistic"].values
    }
    attention = {f"attention {sentence}": corpus.pattern(sentence).values for sentence in range(3)}
    return dict(chain(views.items(), features.items(), statistics.items(), attention.items()))


if __name__ == "__main__":
    np.savez_compressed(sys.argv[2], **read(sys.argv[1]))
