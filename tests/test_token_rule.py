"""A corpus that was made by an older rule for flags, and grows: its numbers are those of the rule of now."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ingest.text import tokenizer
from tests.stores import Ingest

#: What is computed of the same numbers of the model, and of the flags.
NUMBERS = ("token_flags", "token_statistic", "block_sum", "head_statistic", "layer_mixing")


def test_numbers_of_an_older_rule_are_computed_again(
    ingest: Ingest,
    tmp_path: Path,
    read_arrays: Callable[[str], dict[str, np.ndarray]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tokenizer, "piece_flags", lambda _text: 0)  # knew no marks
        ingest(tmp_path / "grown", sentences=26)
    grown, fresh = (read_arrays(ingest(tmp_path / name, sentences=40)) for name in ("grown", "fresh"))
    for path, array in fresh.items():
        if path.rpartition("/")[2] in NUMBERS:
            np.testing.assert_array_equal(grown[path], array, err_msg=path)
