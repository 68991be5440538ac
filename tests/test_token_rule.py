"""A corpus of an older rule for flags that grows: its numbers then follow the current rule."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import store
from store.repository.arrays import array_of
from store.schema.corpus import PUNCTUATION, SYMBOL
from tests.stores import Ingest, rewritten

#: Arrays that are computed from the model's numbers, which stay the same, and from the flags.
COMPUTED = ("token_statistic", "block_sum", "head_statistic", "layer_mixing")
NUMBERS = ("token_flags", *COMPUTED)


@pytest.mark.slow
def test_numbers_of_an_older_rule_are_computed_again(
    ingest: Ingest, plain_store: str, tmp_path: Path, read_arrays: Callable[[str], dict[str, np.ndarray]]
) -> None:
    older = store.open_corpus(ingest(tmp_path / "grown", sentences=26))
    with rewritten(tmp_path / "grown") as writer:  # the older rule had no marks
        flags = array_of(writer.group(f"corpus/{older.attributes['corpus']}"), "token_flags")
        flags[:] = np.asarray(flags[:]) & np.uint8(0xFF - PUNCTUATION - SYMBOL)
        for name in COMPUTED:
            array_of(writer.group(f"models/{older.name}"), name)[:] = 0
    grown, fresh = read_arrays(ingest(tmp_path / "grown")), read_arrays(plain_store)
    for path, array in fresh.items():
        if path.rpartition("/")[2] in NUMBERS:
            np.testing.assert_array_equal(grown[path], array, err_msg=path)
