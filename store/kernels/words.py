"""Wordpieces merged into words, so that attention is between words."""

from collections.abc import Sequence

from store.kernels import AnyArray, namespace

#: Places of the wordpieces of each word on the token axis; none is empty.
Groups = Sequence[tuple[int, ...]]


def merge_words(pattern: AnyArray, queries: Groups, keys: Groups) -> AnyArray:
    """Attention between words; rows that sum to 1 still do (Clark et al. 2019, section 4.1).

    Attention to a word is the sum over its wordpieces, attention from a word the mean over its wordpieces.

    Parameters
    ----------
    pattern
        (..., query_token, key_token).
    queries, keys
        Wordpieces of the words that are wanted; a token that is in none is left out.

    Returns
    -------
    (..., query_word, key_word) in the dtype of `pattern`.
    """
    xp = namespace(pattern)
    from_words = xp.swapaxes(_summed(xp.swapaxes(pattern, -1, -2), queries, mean=True), -1, -2)
    return _summed(from_words, keys)


def _summed(weights: AnyArray, groups: Groups, *, mean: bool = False) -> AnyArray:
    """Sums, or means, over groups of the last axis."""
    total = weights[..., [group[0] for group in groups]]
    for place in range(1, max(map(len, groups), default=1)):
        longer = [number for number, group in enumerate(groups) if len(group) > place]
        total[..., longer] += weights[..., [groups[number][place] for number in longer]]
    for number, group in enumerate(groups if mean else ()):
        total[..., number] /= len(group)
    return total
