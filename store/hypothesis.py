"""A reader's hypothesis on what heads attend to, tested on the sentences of a corpus."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from store.kernels.attention import attention_pattern
from store.kernels.hypothesis import MEASURES, HypothesisCounts, count_sentence
from store.kernels.intervals import draw_counts
from store.kernels.rules import SentenceTokens
from store.repository.errors import StoreError
from store.rules import RuleText
from store.schema.model import BOUNDS, HEADS, ROLES
from store.text import CorpusText

#: Sentences that a hypothesis is tested on, if a reader says no other number: the first, a uniform sample.
SENTENCES = 500
#: Sentences whose vectors are read at once.
READ = 250


class HypothesisSentence(NamedTuple):
    """A sentence as a hypothesis sees it.

    Attributes
    ----------
    number, text
        Of the corpus.
    wordpieces
        (token,), special tokens included.
    tokens
        What rules see (token,): flags, words, and the grammar where the corpus has it.
    """

    number: int
    text: str
    wordpieces: tuple[str, ...]
    tokens: SentenceTokens


#: Names the keys of every query: (query_token, key_token) of bool.
Hypothesis = Callable[[HypothesisSentence], ArrayLike]


def test_hypothesis(
    corpus: CorpusText, vectors: Mapping[str, xr.DataArray], names: Hypothesis, sentences: int, seed: int
) -> xr.Dataset:
    """See `store.Corpus.hypothesis`; `vectors` are the queries and keys of the model, lazy (layer, head, token, channel)."""
    count = min(sentences, corpus.n_sentences)
    if count < 1:
        raise StoreError(f"A hypothesis cannot be tested on {sentences} sentences. Give at least 1.")
    text = RuleText(corpus, corpus.n_sentences)
    texts = corpus.sentences.text.values[:count]
    counts: list[NDArray[np.float64]] = []
    for first in range(0, count, READ):
        for index, pattern in read_patterns(corpus, vectors, range(first, min(first + READ, count))):
            pieces = tuple(map(str, corpus.wordpieces(corpus.sentence_rows(index))))
            sentence = HypothesisSentence(index, str(texts[index]), pieces, text.sentence(index))
            counts.append(count_sentence(pattern, _named(names, sentence), sentence.tokens.is_word))
    shape = vectors["query"].shape[:2]
    return _labelled(shape, HypothesisCounts(np.stack(counts, axis=-1)), draw_counts(seed, 0, count))


def read_patterns(
    corpus: CorpusText, vectors: Mapping[str, xr.DataArray], sentences: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Index and pattern (head through all layers, query_token, key_token) of each sentence; what lies between is read, too."""
    first, stop = corpus.sentence_rows(sentences[0]).start, corpus.sentence_rows(sentences[-1]).stop
    query, key = (vectors[role].variable[:, :, first:stop].values for role in ROLES)
    query, key = (part.reshape(-1, *part.shape[2:]) for part in (query, key))
    for index in sentences:
        rows = corpus.sentence_rows(index)
        own = slice(rows.start - first, rows.stop - first)
        yield index, attention_pattern(query[:, own].astype(np.float32), key[:, own].astype(np.float32))


def _named(names: Hypothesis, sentence: HypothesisSentence) -> NDArray[np.bool_]:
    named, size = np.asarray(names(sentence)), len(sentence.wordpieces)
    if named.shape != (size, size):
        raise StoreError(
            f"The hypothesis gave an array of shape {named.shape} for sentence {sentence.number}, which has {size} tokens. "
            f"Return {size} x {size}: True where the query (row) attends to the key (column)."
        )
    return named.astype(bool)


def _labelled(heads: tuple[int, ...], counts: HypothesisCounts, drawn: NDArray[np.floating]) -> xr.Dataset:
    """The numbers by their names; `heads`: how many layers, and heads of each."""
    shape = len(MEASURES), *heads
    measures, interval = counts.measures.reshape(shape), counts.interval(drawn).reshape(len(BOUNDS), *shape)
    coordinates: dict[str, Any] = {"bound": list(BOUNDS), "layer": range(heads[0]), "head": range(heads[1])}
    arrays: dict[str, Any] = {name: (HEADS, measures[place]) for place, name in enumerate(MEASURES)}
    arrays |= {f"{name}_interval": (("bound", *HEADS), interval[:, place]) for place, name in enumerate(MEASURES)}
    return xr.Dataset(arrays, coordinates, {"sentences": counts.counts.shape[-1], "named_queries": counts.named})
