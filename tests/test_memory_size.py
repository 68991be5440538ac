"""What a cached result holds in memory is counted as a whole, and once."""

from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr

from dashboard.web.memory_size import memory_size
from store import Corpus

NUMBERS = np.zeros(250_000, np.float32)
MEGABYTE = NUMBERS.nbytes


@dataclass(frozen=True, eq=False)
class Result:
    numbers: np.ndarray
    named: dict[str, list[str]]


@pytest.mark.parametrize(
    "value",
    [
        NUMBERS,
        NUMBERS[:3],
        np.broadcast_to(NUMBERS, (4, len(NUMBERS))),
        [NUMBERS, NUMBERS[5:], (NUMBERS,)],
        {"numbers": NUMBERS},
        Result(NUMBERS, {"text": ["a"]}),
        xr.DataArray(NUMBERS),
        xr.Dataset({"numbers": ("token", NUMBERS)}),
        bytes(MEGABYTE),
        "x" * MEGABYTE,
        np.array(["x" * (MEGABYTE // 2), "y" * (MEGABYTE // 2)], object),
        np.array(["x" * (MEGABYTE // 2), "y" * (MEGABYTE // 2)], np.dtypes.StringDType()),
        dict.fromkeys(range(0), "x" * 50) | {"long": ["z" * MEGABYTE]},
    ],
    ids=range(13),
)
def test_every_kind_of_result_is_measured(value: object) -> None:
    assert MEGABYTE <= memory_size(value) < 1.02 * MEGABYTE


def test_an_array_that_is_not_read_yet_counts_nothing(tiny_corpus: Corpus) -> None:
    assert memory_size(tiny_corpus.query.variable) < 10_000


def test_an_opened_corpus_is_counted_as_a_reference(tiny_corpus: Corpus) -> None:
    assert tiny_corpus.tokens.nbytes > 0
    assert memory_size([tiny_corpus]) < 1_000
