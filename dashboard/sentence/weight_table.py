"""The shown weights of a sentence as a table: of one head, of several, or of their mean."""

from collections.abc import Iterator, Sequence

import numpy as np

from dashboard.points.exports import Table
from dashboard.sentence.mean_pattern import Mean, mean_pattern
from dashboard.sentence.sentence import Floats, Sentence
from dashboard.sentence.shown_pattern import Showing, Unit, shown_pattern, shown_units
from dashboard.ui.significant import significant


def weight_tables(
    sentence: Sentence, showing: Showing, *, mean: Mean, layer: int, head: int, heads: Sequence[int] = ()
) -> Iterator[Table]:
    """A row for each head, query and key, one head after the other; the position of a word is that of its first wordpiece.

    `heads` are those in the table, none are `head` alone; of a mean those it is over, see `mean_pattern`. A mean over
    heads and a rollout have `mean` in place of a head.
    """
    units, keys = shown_units(sentence, showing)
    if mean == "none" and not showing.rollout:
        weights = shown_pattern(sentence, showing, layer=layer).weights[0]
        return (_table(str(one), units, keys, weights[one]) for one in heads or (head,))
    of = str(head) if mean == "layers" and not showing.rollout else "mean"
    return iter(
        [_table(of, units, keys, mean_pattern(sentence, showing, mean=mean, layer=layer, head=head, heads=heads))]
    )


def _table(head: str, units: Sequence[Unit], keys: Sequence[Unit], weights: Floats) -> Table:
    """`weights` are (query, key)."""
    names = [np.array([unit.name for unit in column], object) for column in (units, keys)]
    places = [np.array([unit.positions[0] for unit in column], np.int64) for column in (units, keys)]
    return {
        "head": np.full(weights.size, head, object),
        "query": np.repeat(names[0], len(keys)),
        "query_position": np.repeat(places[0], len(keys)),
        "key": np.tile(names[1], len(units)),
        "key_position": np.tile(places[1], len(units)),
        "weight": np.array(significant(weights.ravel().tolist())),
    }
