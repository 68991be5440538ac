"""The steps from a query and a key to their weight, channel by channel (BertViz's neuron view)."""

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.sentence import Sentence
from dashboard.ui.files import Table
from dashboard.ui.text import significant
from store.kernels.attention import softmax

Floats = NDArray[np.float32]


def neuron(sentence: Sentence, layer: int, head: int, query: int) -> dict[str, object]:
    """JSON-ready: the query vector, and of every key its vector, their product, its sum, the logit and the weight.

    logit = dot / sqrt(channel); weight = softmax of the logits over all keys (Vaswani et al. 2017, section 3.2.1).
    """
    vector, both, steps = _steps(sentence, layer, head, query)
    vectors = [[significant(row) for row in array.tolist()] for array in both]
    numbers = [significant(array.tolist()) for array in steps]
    names = ("name", "key", "product", "dot", "logit", "weight")
    every = zip(sentence.wordpieces, *vectors, *numbers, strict=True)
    return {"query": significant(vector.tolist()), "keys": [dict(zip(names, values, strict=True)) for values in every]}


def neuron_table(sentence: Sentence, layer: int, head: int, query: int) -> Table:
    """The same as a file: a row a key, a column for each channel of q, k and their product."""
    vector, both, steps = _steps(sentence, layer, head, query)
    keys, products, *numbers = (_rounded(array) for array in (*both, *steps))
    queries = np.broadcast_to(_rounded(vector), keys.shape)
    channels = (("q", queries), ("k", keys), ("product", products))
    return {
        "key": np.array(sentence.wordpieces, object),
        "key_position": np.arange(len(keys)),
        **dict(zip(("dot", "logit", "weight"), numbers, strict=True)),
        **{f"{name}{channel}": array[:, channel] for name, array in channels for channel in range(keys.shape[-1])},
    }


def _rounded(array: Floats) -> NDArray[np.float64]:
    rounded: NDArray[np.float64] = np.array(significant(array.ravel().tolist())).reshape(array.shape)
    return rounded


def _steps(sentence: Sentence, layer: int, head: int, query: int) -> tuple[Floats, list[Floats], list[Floats]]:
    """Query (channel); keys and products (key, channel); dot, logit and weight (key)."""
    vector, keys = sentence.query[layer, head, query], sentence.key[layer, head]
    products = vector * keys
    dots = products.sum(axis=-1)
    logits = dots * np.float32(len(vector) ** -0.5)
    return vector, [keys, products], [dots, logits, softmax(logits)]
