"""Head views of two models: lines on one scale."""

import numpy as np

from dashboard.compare.sentences import MOST_TOKENS, STEPS, head_lines, head_views, least
from dashboard.compare.two_models import ModelPair

WEIGHTS = np.array([[0.1, 0.9], [0.05, 0.4]], np.float32)


def drawn(most: float) -> dict[tuple[int, int], float]:
    """Opacity of the line of each query and key."""
    figure = head_lines(WEIGHTS, ["a", "b"], most=most, colour="#000000")
    lines = [(np.reshape(trace.y, (-1, 3)), trace.opacity) for trace in figure.data]
    return {(int(query), int(key)): opacity for ends, opacity in lines for query, key, _ in ends}


def test_every_weight_from_the_first_step_on_has_one_line() -> None:
    assert drawn(0.9).keys() == {(0, 1), (1, 1)}
    assert least(WEIGHTS) == np.float32(0.9) / STEPS


def test_a_larger_weight_has_a_stronger_line() -> None:
    assert drawn(0.9)[0, 1] > drawn(0.9)[1, 1]


def test_a_line_is_weaker_where_the_other_model_has_larger_weights() -> None:
    assert drawn(1.8)[0, 1] < drawn(0.9)[0, 1]


def test_a_long_sentence_has_a_note_instead_of_lines(alike: ModelPair) -> None:
    tokens = ["a"] * (MOST_TOKENS + 1)
    shown = str(head_views(alike, np.ones((2, len(tokens), len(tokens)), np.float32), tokens))
    assert "Choose a shorter sentence" in shown
    assert "lines-a" not in shown


def test_both_models_have_lines(alike: ModelPair) -> None:
    shown = str(head_views(alike, np.stack([WEIGHTS, WEIGHTS]), ["a", "b"]))
    assert all(name in shown for name in ("lines-a", "lines-b"))
