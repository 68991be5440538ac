"""A query and every key, number by number: how a weight comes about (BertViz's neuron view)."""

import numpy as np

from dashboard.sentences import Sentence
from dashboard.significant import significant
from store.kernels.attention import softmax


def neuron(sentence: Sentence, layer: int, head: int, query: int) -> dict[str, object]:
    """JSON-ready: the query vector, and of every key its vector, their product, its sum, the logit and the weight.

    logit = dot / sqrt(channel); weight = softmax of the logits over all keys (Vaswani et al. 2017, section 3.2.1).
    """
    vector, keys = sentence.query[layer, head, query], sentence.key[layer, head]
    products = vector * keys
    dots = products.sum(axis=-1)
    logits = dots * np.float32(len(vector) ** -0.5)
    numbers = [significant(array.tolist()) for array in (dots, logits, softmax(logits))]
    vectors = [[significant(row) for row in array.tolist()] for array in (keys, products)]
    names = ("name", "key", "product", "dot", "logit", "weight")
    every = zip(sentence.wordpieces, *vectors, *numbers, strict=True)
    return {"query": significant(vector.tolist()), "keys": [dict(zip(names, one, strict=True)) for one in every]}
