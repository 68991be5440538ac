"""The random sentence that a sentence's page offers: a new one each time, and none twice before all were offered."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.ui.controls import random_sentence


@given(count=st.integers(1, 400), begin=st.integers(0, 399))
def test_every_sentence_is_come_to_before_one_is_repeated(count: int, begin: int) -> None:
    visited = [begin % count]
    for _ in range(count - 1):
        visited.append(random_sentence(visited[-1], count))
    assert sorted(visited) == list(range(count))
