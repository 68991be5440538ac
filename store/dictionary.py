"""The dictionary of a head, labelled: its strongest pairs of wordpieces, distances, and pairs of a wordpiece and a position."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.kernels.bias import AttentionBias
from store.kernels.dictionary import FARTHEST, offset_logits, strongest_pairs
from store.kernels.head_tables import HeadTables
from store.rules import token_rows
from store.text import CorpusText

#: How often a wordpiece occurs at least; in how many sentences a pair of wordpieces, and a wordpiece with a position.
LEAST_COUNTED, LEAST_SENTENCES, LEAST_AT_POSITION = 5, 3, 20
#: Pairs of wordpieces that are listed, and pairs of a wordpiece and a position on either side.
LISTED, LISTED_POSITIONS = 10, 5


def head_dictionary(
    text: CorpusText, sentences: NDArray[np.integer], tables: HeadTables, bias: AttentionBias | None = None
) -> xr.Dataset:
    """See `store.Corpus.head_dictionary`; `tables` are of one head, made of these sentences, `bias` is its own."""
    from scipy.sparse import csr_matrix

    _, tokens = token_rows(text, sentences)
    sentence = np.repeat(np.arange(len(tokens.lengths)), tokens.lengths)[tokens.is_word]
    types, position = tables.types(tokens.token_id)[tokens.is_word], tokens.position[tokens.is_word]
    of_type = np.bincount(types, minlength=len(tables.token_ids))
    at_position = np.bincount(position, minlength=tables.position.shape[2] - 1)
    kept = np.flatnonzero(of_type >= LEAST_COUNTED)
    ones, size = np.ones(len(types), np.int32), len(tokens.lengths)
    has_type = csr_matrix((ones, (sentence, types)), (size, len(of_type))).sign()[:, kept]
    has_position = csr_matrix((ones, (sentence, position)), (size, len(at_position)))
    mean, (query_at, key_at), (query_word, key_word) = (
        tables.mean[0, 0],
        tables.position[:, 0, :-1],
        tables.word[:, 0, :-1][:, kept],
    )
    words_of = np.bincount(
        sentence[position > 0], minlength=size
    )  # the first token stands for [CLS] where there is none
    names = text.vocab[tables.token_ids[kept]].astype(object)
    positions = np.arange(len(at_position))
    words, to_position, to_word = (
        strongest_pairs(query, key, count, have, least=least, listed=listed)
        for query, key, count, have, least, listed in (
            (mean + query_word, key_word, of_type[kept], has_type.T @ has_type, LEAST_SENTENCES, LISTED),
            (query_word, key_at, at_position, has_type.T @ has_position, LEAST_AT_POSITION, LISTED_POSITIONS),
            (query_at, key_word, of_type[kept], has_position.T @ has_type, LEAST_AT_POSITION, LISTED_POSITIONS),
        )
    )
    pairs = {
        "word_pair": (words, names, names),
        "word_position": (to_position, names, positions),
        "position_word": (to_word, positions, names),
    }
    by_position = tables.mean[:, :, None] + tables.position[:, :, :-1]
    added = None if bias is None else bias.added(*by_position)[0]
    arrays: dict[str, Any] = {"offset_logit": ("offset", offset_logits(mean + query_at, key_at, words_of, added))}
    coordinates: dict[str, Any] = {"offset": np.arange(-FARTHEST, FARTHEST + 1)}
    for name, (found, queries, keys) in pairs.items():
        arrays[f"{name}_logit"] = (name, found.logit)
        coordinates |= {
            f"{name}_query": (name, queries[found.query]),
            f"{name}_key": (name, keys[found.key]),
            f"{name}_sentences": (name, found.sentences),
        }
    return xr.Dataset(arrays, coordinates, {"sentences": size})
