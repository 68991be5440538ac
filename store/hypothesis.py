"""A reader's hypothesis on what heads attend to, tested on the sentences of a corpus."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from store.kernels.attention import Vectors, attention_pattern
from store.kernels.bias import AttentionBias, Mask, masks_of
from store.kernels.intervals import draw_counts
from store.kernels.relations import MEASURES, HypothesisCounts, count_sentence
from store.kernels.rules import SentenceTokens
from store.means import Watch
from store.repository.errors import StoreError, is_integer
from store.rules import RuleText
from store.schema.model import BOUNDS, HEADS, ROLES
from store.text import CorpusText

#: Default number of sentences that a hypothesis is tested on: the first ones, a uniform sample.
SENTENCES = 500
#: Number of sentences whose vectors are read at once.
READ = 250
#: Most attention weights of a sentence that are computed together: 64 MiB.
WEIGHTS = 1 << 24


class HypothesisSentence(NamedTuple):
    """A sentence, the argument of a hypothesis.

    Attributes
    ----------
    number, text
        Index and text of the sentence in the corpus.
    wordpieces
        (token,), special tokens included.
    tokens
        Properties of the tokens (token,): flags, words, and the grammar where the corpus has it.
    """

    number: int
    text: str
    wordpieces: tuple[str, ...]
    tokens: SentenceTokens


#: Names the keys of every query: (query_token, key_token) of bool.
Hypothesis = Callable[[HypothesisSentence], ArrayLike]


def test_hypothesis(
    corpus: CorpusText,
    vectors: Mapping[str, xr.DataArray],
    names: Hypothesis,
    sentences: int,
    seed: int,
    watch: Watch,
    bias: AttentionBias | None,
) -> xr.Dataset:
    """See `store.Corpus.hypothesis`; `vectors` are the model's queries and keys, lazy (layer, head, token, channel), `bias` is its own."""
    if not is_integer(sentences) or sentences < 1:
        raise StoreError(f"A hypothesis cannot be tested on {sentences} sentences. Give at least 1, a whole number.")
    count = min(sentences, corpus.n_sentences)
    shape = vectors["query"].shape[:2]
    counts = np.stack(
        [_count(*each, names, bias, shape[0]) for each in _sentences(corpus, vectors, count, watch)], axis=-1
    )
    return _labelled(shape, HypothesisCounts(counts), draw_counts(seed, 0, count))


def _sentences(
    corpus: CorpusText, vectors: Mapping[str, xr.DataArray], count: int, watch: Watch
) -> Iterator[tuple[HypothesisSentence, Vectors, Vectors]]:
    """The first sentences with their queries and keys (head, token, channel); `head` runs through all layers."""
    text = RuleText(corpus, corpus.n_sentences)
    texts = corpus.sentences.text.values
    token_id = corpus.tokens.token_id.values
    for index, rows, query, key in sentence_vectors(corpus, vectors, range(count)):
        watch(index / count)
        pieces = tuple(map(str, corpus.vocab[token_id[rows]]))
        yield HypothesisSentence(index, str(texts[index]), pieces, text.sentence(index)), query, key


def sentence_vectors(
    corpus: CorpusText, vectors: Mapping[str, xr.DataArray], sentences: Sequence[int]
) -> Iterator[tuple[int, slice, Vectors, Vectors]]:
    """Index, rows, queries and keys (head, token, channel) of each of the ascending sentences; `head` runs through all layers.

    Vectors of `READ` sentences are read at once, together with the rows between them.
    """
    start, size = (corpus.sentences[name].values for name in ("row_start", "row_size"))
    for first in range(0, len(sentences), READ):
        chosen = sentences[first : first + READ]
        read = slice(int(start[chosen[0]]), int(start[chosen[-1]] + size[chosen[-1]]))
        both = (vectors[role].variable[:, :, read].values for role in ROLES)
        query, key = (part.reshape(-1, *part.shape[2:]) for part in both)
        for index in chosen:
            rows = slice(int(start[index]), int(start[index] + size[index]))
            own = slice(rows.start - read.start, rows.stop - read.start)
            yield index, rows, query[:, own], key[:, own]


def read_patterns(
    corpus: CorpusText, vectors: Mapping[str, xr.DataArray], sentences: Sequence[int], bias: AttentionBias | None = None
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Index and pattern (head, query_token, key_token) of each of the ascending sentences; `head` runs through all layers."""
    for index, _rows, query, key in sentence_vectors(corpus, vectors, sentences):
        yield index, attention_pattern(query.astype(np.float32), key.astype(np.float32), bias=bias)


def _count(
    sentence: HypothesisSentence,
    query: Vectors,
    key: Vectors,
    names: Hypothesis,
    bias: AttentionBias | None,
    layers: int,
) -> NDArray[np.float64]:
    """Counts of a sentence (count, head); `head` runs through all layers."""
    named, words, heads = _named(names, sentence), np.flatnonzero(sentence.tokens.is_word), len(query) // layers
    masks = [mask.within(len(named)) for mask in masks_of(bias, layers)]
    parts = []
    for together in _together(masks, len(named), heads):
        own = slice(together.start * heads, together.stop * heads)
        of_layers = bias and replace(bias, layers=bias.layers[together])
        parts.append(_count_layers(query[own], key[own], named, words, masks[together.start], of_layers))
    return np.concatenate(parts, axis=-1)


def _together(masks: Sequence[Mask], tokens: int, heads: int) -> Iterator[slice]:
    """Runs of layers with the same mask, of at most `WEIGHTS` weights of a sentence together, but at least one layer."""
    most = max(1, WEIGHTS // (heads * tokens**2))
    for _, alike in groupby(range(len(masks)), key=lambda layer: masks[layer]):
        layers = list(alike)
        for first in range(layers[0], layers[-1] + 1, most):
            yield slice(first, min(first + most, layers[-1] + 1))


def _count_layers(
    query: Vectors,
    key: Vectors,
    named: NDArray[np.bool_],
    words: NDArray[np.intp],
    mask: Mask,
    bias: AttentionBias | None,
) -> NDArray[np.float64]:
    """Counts (count, head) of layers with the same mask; weights are computed only for queries with named keys."""
    seen = mask.pairs(len(named))[np.ix_(words, words)]
    of_words = named[np.ix_(words, words)] & seen
    asked = np.flatnonzero(of_words.any(axis=1))
    if not len(asked):
        return count_sentence(np.zeros((len(query), 0, len(words)), np.float32), of_words[asked], len(words))
    of_queries, of_keys = (side[:, chosen].astype(np.float32) for side, chosen in ((query, words[asked]), (key, words)))
    pattern = attention_pattern(of_queries, of_keys, bias=bias and bias.at(words[asked], words))
    return count_sentence(pattern, of_words[asked], len(words), seen[asked].sum(axis=1) if mask.hides else None)


def _named(names: Hypothesis, sentence: HypothesisSentence) -> NDArray[np.bool_]:
    named, size = np.asarray(names(sentence)), len(sentence.wordpieces)
    if named.shape != (size, size):
        raise StoreError(
            f"The hypothesis gave an array of shape {named.shape} for sentence {sentence.number}, which has {size} tokens. "
            f"Return {size} x {size}: True where the query (row) attends to the key (column)."
        )
    return named.astype(bool)


def _labelled(heads: tuple[int, ...], counts: HypothesisCounts, drawn: NDArray[np.floating]) -> xr.Dataset:
    """Measures and intervals as arrays by name; `heads`: numbers of layers, and of heads in a layer."""
    shape = len(MEASURES), *heads
    measures, interval = counts.measures.reshape(shape), counts.interval(drawn).reshape(len(BOUNDS), *shape)
    coordinates: dict[str, Any] = {"bound": list(BOUNDS), "layer": range(heads[0]), "head": range(heads[1])}
    arrays: dict[str, Any] = {name: (HEADS, measures[place]) for place, name in enumerate(MEASURES)}
    arrays |= {f"{name}_interval": (("bound", *HEADS), interval[:, place]) for place, name in enumerate(MEASURES)}
    return xr.Dataset(arrays, coordinates, counts.sizes)
