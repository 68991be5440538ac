"""Points on their way to the canvas: the right ones, in the right place, with one scale for x and y."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.points import encode, grid_points, grid_tokens, head_points
from store import Corpus


@given(panels=st.integers(1, 4), tokens=st.integers(1, 9), width=st.sampled_from([1, 2]), seed=st.integers(0, 99))
def test_bytes_hold_every_place_to_half_a_step(panels: int, tokens: int, width: int, seed: int) -> None:
    points = np.random.default_rng(seed).random((panels, tokens, 2, 2), np.float32)
    sent = encode(points, width=width)
    assert sent[:4] == b"HSP1"
    assert struct.unpack("<3I", sent[4:16]) == (panels, tokens, width)
    received = np.frombuffer(sent[16:], f"<u{width}").reshape(points.shape) / (256**width - 1)
    assert np.abs(received - points).max() <= 0.5001 / (256**width - 1)


def test_a_head_shows_the_first_tokens_of_the_corpus_without_padding(tiny_corpus: Corpus) -> None:
    view = tiny_corpus.view(tiny_corpus.views[0])
    points = head_points(tiny_corpus, tiny_corpus.views[0], 1, 0, tokens=70)[0]
    stored = view.coordinates.sel(layer=1, head=0).values[:, tiny_corpus.rows[:70]]
    assert points.shape == (70, 2, 2)
    assert np.corrcoef(points[..., 0].T.ravel(), stored[..., 0].ravel())[0, 1] == pytest.approx(1)


def test_x_and_y_have_one_scale(tiny_corpus: Corpus) -> None:
    points = head_points(tiny_corpus, tiny_corpus.views[0], 1, 1, tokens=50)[0].reshape(-1, 2)
    stored = tiny_corpus.view(tiny_corpus.views[0]).coordinates.sel(layer=1, head=1).values[:, tiny_corpus.rows[:50]]
    places = stored.transpose(1, 0, 2).reshape(-1, 2)
    ratio = np.ptp(points, axis=0) / np.ptp(places, axis=0)
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-4)


def test_all_tokens_fit_into_the_panel(tiny_corpus: Corpus) -> None:
    points = grid_points(tiny_corpus, tiny_corpus.views[0], tiny_corpus.n_tokens)
    assert points.min() >= -1e-6
    assert points.max() <= 1 + 1e-6


def test_the_grid_and_a_head_agree(tiny_corpus: Corpus) -> None:
    grid = grid_points(tiny_corpus, tiny_corpus.views[0], 30)
    head = head_points(tiny_corpus, tiny_corpus.views[0], 1, 0, 30)
    np.testing.assert_array_equal(grid[1 * tiny_corpus.heads + 0], head[0])


def test_many_heads_get_fewer_tokens_each() -> None:
    class Large:
        layers, heads, n_tokens = 24, 16, 50_000

    assert grid_tokens(Large()) * 24 * 16 * 2 <= 600_000  # type: ignore[arg-type]
