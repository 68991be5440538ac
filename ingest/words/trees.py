"""Dependency trees from scores of governors."""

import numpy as np
from numpy.typing import NDArray

#: Column of the root in scores; governors follow it.
ROOT_COLUMN = 0


def best_governors(scores: NDArray[np.floating]) -> NDArray[np.intp]:
    """Governor with the largest score of each word, on its own: its column, (word,).

    Parameters
    ----------
    scores
        (word, column), the column of the root first, then one for each word. A word is never its own governor.
    """
    return _without_self(scores).argmax(axis=-1)


def best_tree(scores: NDArray[np.floating]) -> NDArray[np.intp]:
    """Governors of the spanning tree with one root and the largest sum of scores (Chu & Liu 1965, Edmonds 1967).

    As `best_governors`.
    """
    square = np.full((len(scores) + 1, len(scores) + 1), -np.inf)
    square[1:] = _without_self(scores)
    governors = _spanning_tree(square)
    if (governors == ROOT_COLUMN).sum() == 1:
        return governors
    trees = [_spanning_tree(_rooted(square, root)) for root in range(1, len(square))]
    return max(trees, key=lambda tree: float(square[np.arange(1, len(square)), tree].sum()))


def _without_self(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    own = np.eye(len(scores), scores.shape[1], k=1, dtype=bool)
    return np.where(own, -np.inf, scores)


def _spanning_tree(square: NDArray[np.floating]) -> NDArray[np.intp]:
    """Governors (word,) from scores (1 + word, 1 + word), whose first row is that of the root."""
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    governors, _ = chu_liu_edmonds(square.astype(np.float64))
    return np.array(governors[1:], np.intp)


def _rooted(square: NDArray[np.floating], root: int) -> NDArray[np.floating]:
    """The scores where no other word may be the root."""
    only = square.copy()
    only[np.arange(len(square)) != root, ROOT_COLUMN] = -np.inf
    return only
