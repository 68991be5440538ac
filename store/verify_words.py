"""Check the words of a store: their places, the words that each head links, and the number of linked pairs of each relation."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.corpus import Corpus
from store.kernels.attention import ROOM
from store.repository.errors import NotIngested
from store.results import count_links
from store.schema.corpus import ALL, NO_GOVERNOR

#: Difference of weights in float32 whose order may differ on another machine.
TIED = 1e-5


def wrong_words(corpus: Corpus, recomputed: Sequence[int], *, room: int = ROOM) -> Iterator[str]:
    """A finding each; recomputes the strongest words of the `recomputed` sentences. Nothing where the corpus has no words.

    A sentence with more than `room` weights in the heads of a layer is computed head by head.
    """
    if not corpus.has_words:
        return
    if impossible := list(_impossible(corpus)):
        yield from impossible  # nothing can be recomputed from them
        return
    try:
        strongest = corpus.strongest_words
    except NotIngested:
        return
    wrong = [sentence for sentence in recomputed if _differs(corpus, strongest, sentence, room)]
    if wrong:
        yield f"{corpus.name}: the strongest words of sentence {wrong[0]} are not those of its attention."
    yield from _wrong_counts(corpus, strongest)


def _impossible(corpus: Corpus) -> Iterator[str]:
    """Findings on words outside of their sentence, or with a governor outside of it."""
    table = corpus.words.table
    size = np.bincount(table.sentence.values, minlength=corpus.n_sentences)[table.sentence.values]
    length = corpus.sentences.row_size.values[table.sentence.values]
    start, stop, governor = (table[name].values for name in ("token_start", "token_stop", "governor"))
    if ((start < 0) | (start >= stop) | (stop > length)).any():
        yield f"{corpus.name}: a word has wordpieces outside of its sentence."
    if ((governor < NO_GOVERNOR) | (governor >= size)).any():
        yield f"{corpus.name}: a word depends on a word outside of its sentence."


def _differs(corpus: Corpus, strongest: xr.Dataset, sentence: int, room: int) -> bool:
    """Whether a stored word is not the strongest, by more than `TIED`."""
    rows = corpus.words.rows(sentence)
    if rows.stop - rows.start < 2:
        return False
    tokens = int(corpus.sentences.row_size.values[sentence])
    layers, part = range(corpus.layers), strongest.isel(word=rows)
    if corpus.heads * tokens**2 <= room:
        chosen = [{"layer": layer} for layer in layers]
    else:
        chosen = [{"layer": layer, "head": head} for layer, head in product(layers, range(corpus.heads))]
    return any(_are_others(part.isel(each), corpus.word_pattern(sentence, **each).values.copy()) for each in chosen)


def _are_others(part: xr.Dataset, pattern: NDArray[np.float32]) -> bool:
    """Whether stored words (..., word) are not the strongest of a pattern between words."""
    own = np.arange(pattern.shape[-1])
    pattern[..., own, own] = -1
    for name, weights in (("most_attended", pattern), ("most_attending", pattern.swapaxes(-1, -2))):
        stored = part[name].values[..., None].astype(np.int64)
        none = stored < 0
        if (none[..., 0] & (weights.max(axis=-1) > TIED)).any() or (stored >= len(own)).any():
            return True
        stored = np.where(none, weights.argmax(axis=-1)[..., None], stored)
        if (np.take_along_axis(weights, stored, axis=-1)[..., 0] < weights.max(axis=-1) - TIED).any():
            return True
    return False


def _wrong_counts(corpus: Corpus, strongest: xr.Dataset) -> Iterator[str]:
    """A finding where the counts of the relation of all pairs do not follow from the strongest words."""
    try:
        stored = corpus.relations.sel(relation=ALL)
    except NotIngested:
        return
    counted = count_links(strongest, corpus.words.dependencies, sentences=corpus.n_sentences, seed=0)
    if not (stored.linked == counted.linked).all() or not (stored.pairs.values == counted.pairs.values).all():
        yield f"{corpus.name}: the counts of relations are not those of its words."
