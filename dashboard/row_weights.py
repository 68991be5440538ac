"""What a token weighs in a mean over sentences."""

import numpy as np
from numpy.typing import NDArray

from store import Corpus


def row_weights(corpus: Corpus, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What each row weighs so that every sentence that has some weighs the same: (token,); NaN where none has any."""
    sentence = corpus.tokens.sentence_index.values[corpus.rows]
    count = np.bincount(sentence[rows], minlength=corpus.n_sentences)
    sentences = int((count > 0).sum())
    if not sentences:
        return np.full(len(rows), np.nan)
    return np.where(rows, 1 / (np.maximum(count, 1)[sentence] * sentences), 0.0)
