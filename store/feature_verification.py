"""Are the feature points of a model sound? Read all of them and recompute what follows from them."""

from collections.abc import Iterator

import numpy as np

from store.corpus import Corpus
from store.feature_points import SAMPLE
from store.features import TOKEN_ARRAYS, Features
from store.kernels.similarity import summed_cosine

#: Tokens whose vectors at all points are in memory at once.
TOKENS = 1_000
#: Of a cosine of vectors in float16, summed up in float32.
ROUNDED = 1e-4


def wrong_features(corpus: Corpus) -> Iterator[str]:
    """Every finding as one sentence."""
    for material in corpus.materials:
        features, said = corpus.features(material), f"{corpus.name}: the feature points of {material}"
        if material == SAMPLE and not _are_of_the_corpus(features, corpus):
            yield f"{said} are not of the corpus' tokens."
        if not _is_finite(features):
            yield f"{said} are not all finite."
        elif not _follows(features):
            yield f"{said} are not as like each other as their similarity says."


def _are_of_the_corpus(features: Features, corpus: Corpus) -> bool:
    """Token by token, by their rows."""
    rows = features.tokens.row.values
    own, others = features.tokens, corpus.tokens
    return (
        len(rows) > 0
        and int(rows.max()) < others.sizes["token"]
        and all(np.array_equal(own[name].values, others[name].values[rows]) for name in TOKEN_ARRAYS[1:])
    )


def _is_finite(features: Features) -> bool:
    vectors = all(bool(np.isfinite(features.feature[point].values).all()) for point in range(len(features.points)))
    return vectors and all(bool(np.isfinite(layer.values).all()) for layer in features.value)


def _follows(features: Features) -> bool:
    """Recomputed from the stored vectors."""
    sums = np.zeros((len(features.points),) * 2)
    for start in range(0, features.n_tokens, TOKENS):
        sums += summed_cosine(features.feature[:, start : start + TOKENS].values.astype(np.float32))
    return bool(np.allclose(sums / features.n_tokens, features.similarity.values, atol=ROUNDED))
