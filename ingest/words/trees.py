"""Dependency trees from scores of governors."""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating]
Governors = NDArray[np.intp]

#: Column of the root in scores; governors follow it.
ROOT_COLUMN = 0


def best_governors(scores: Scores) -> Governors:
    """Governor with the largest score of each word, on its own: its column, (word,).

    Parameters
    ----------
    scores
        (word, column), the column of the root first, then one for each word. A word is never its own governor; all other
        scores are finite.
    """
    return _without_self(scores).argmax(axis=-1)


def best_tree(scores: Scores) -> Governors:
    """Governors of the spanning tree with one root and the largest sum of scores (Chu & Liu 1965, Edmonds 1967).

    As `best_governors`. The root costs more than any choice of other governors can win back, so that the best tree has
    one root (Stanojević & Cohen 2021, "A root of a problem", section 3).
    """
    square = np.full((len(scores) + 1, len(scores) + 1), -np.inf)
    square[1:] = _without_self(scores)
    square[1:, ROOT_COLUMN] -= (len(scores) + 1.0) * (1.0 + np.ptp(square[np.isfinite(square)]))
    return _spanning_tree(square)[1:]


def _without_self(scores: Scores) -> Scores:
    own = np.eye(len(scores), scores.shape[1], k=1, dtype=bool)
    return np.where(own, -np.inf, scores)


def _spanning_tree(square: Scores) -> Governors:
    """Governors (node,) of the best tree from node 0; `square` is (node, governor), and no node governs itself.

    Every node takes its best governor. A cycle among these becomes one node, the tree of the smaller square is found in
    the same way, and the node by which that tree enters the cycle leaves its governor within the cycle.
    """
    governors = square.argmax(axis=1)
    governors[0] = 0
    cycle = _first_cycle(governors)
    if not len(cycle):
        return governors
    outside = np.setdiff1d(np.arange(len(square)), cycle)
    from_cycle = square[np.ix_(outside, cycle)]
    into_cycle = square[np.ix_(cycle, outside)] - square[cycle, governors[cycle], None]
    smaller = np.full((len(outside) + 1, len(outside) + 1), -np.inf)
    smaller[:-1, :-1] = square[np.ix_(outside, outside)]
    smaller[:-1, -1], smaller[-1, :-1] = from_cycle.max(axis=1), into_cycle.max(axis=0)
    *rest, entry = _spanning_tree(smaller)
    governed_by_cycle = np.array(rest) == len(outside)
    governors[outside] = np.where(governed_by_cycle, cycle[from_cycle.argmax(axis=1)], np.append(outside, 0)[rest])
    governors[cycle[into_cycle[:, entry].argmax()]] = outside[entry]
    return governors


def _first_cycle(governors: Governors) -> Governors:
    """Nodes of a cycle among the governors (node,), none where there is no cycle. Node 0 ends every path."""
    start_of = np.zeros(len(governors), np.intp)
    for start in range(1, len(governors)):
        node = start
        while node and not start_of[node]:
            start_of[node] = start
            node = governors[node]
        if node and start_of[node] == start:
            return _cycle_through(node, governors)
    return np.array([], np.intp)


def _cycle_through(node: int, governors: Governors) -> Governors:
    cycle = [node]
    while governors[cycle[-1]] != node:
        cycle.append(governors[cycle[-1]])
    return np.array(cycle, np.intp)
