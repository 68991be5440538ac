"""Points on their way to the canvas: the right ones, in the right place, with one scale for x and y."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.canvas.spec import encode_points, grid_tokens
from dashboard.points.drawn import Drawn
from store import Corpus, open_snapshot


@given(
    panels=st.integers(1, 4),
    tokens=st.integers(1, 9),
    roles=st.sampled_from([1, 2]),
    components=st.sampled_from([2, 3]),
    width=st.sampled_from([1, 2]),
    seed=st.integers(0, 99),
)
def test_bytes_hold_every_place_to_half_a_step(
    panels: int, tokens: int, roles: int, components: int, width: int, seed: int
) -> None:
    points = np.random.default_rng(seed).random((panels, tokens, roles, components), np.float32)
    sent = encode_points(points, width=width)
    assert sent[:4] == b"HSP3"
    assert struct.unpack("<5I", sent[4:24]) == (panels, tokens, roles, components, width)
    received = np.frombuffer(sent[24:], f"<u{width}").reshape(points.shape) / (256**width - 1)
    assert np.abs(received - points).max() <= 0.502 / (256**width - 1)


@pytest.mark.parametrize("view", [0, 1])
def test_a_head_is_sent_as_it_is_stored(two_views: Corpus, view: int) -> None:
    name = two_views.views[view]
    sent = encode_points(Drawn(two_views, 70, 1, 0).places(name), width=2)
    stored = two_views.view(name).coordinates.sel(layer=1, head=0).values[:, two_views.rows[:70]]
    received = np.frombuffer(sent[24:], "<u2").reshape(70, 2, -1)
    np.testing.assert_array_equal(received, stored.transpose(1, 0, 2))


def test_all_tokens_fit_into_the_panel(tiny_corpus: Corpus) -> None:
    points = Drawn(tiny_corpus, tiny_corpus.n_tokens).places(tiny_corpus.views[0])
    assert points.min() >= 0
    assert points.max() <= 1


def test_the_grid_and_a_head_agree(tiny_corpus: Corpus) -> None:
    grid = Drawn(tiny_corpus, 30).places(tiny_corpus.views[0])
    head = Drawn(tiny_corpus, 30, 1, 0).places(tiny_corpus.views[0])
    np.testing.assert_array_equal(grid[1 * tiny_corpus.heads + 0], head[0])


def test_nothing_behind_the_prefix_is_read(tiny_store: str) -> None:
    last_rows: list[int] = []

    class Noting(Corpus):
        def places(
            self, view: str, rows: np.ndarray, *, layer: int | None = None, head: int | None = None
        ) -> np.ndarray:
            last_rows.append(int(rows.max()))
            return super().places(view, rows, layer=layer, head=head)

    snapshot = open_snapshot(tiny_store)
    corpus = Noting(snapshot.chunks, snapshot.id, snapshot.corpus().name, title="")
    Drawn(corpus, 30).places(corpus.views[0])
    assert last_rows == [int(corpus.rows[29])]


def test_many_heads_get_fewer_tokens_each() -> None:
    class Large:
        layers, heads, n_tokens = 24, 16, 50_000

    assert grid_tokens(Large()) * 24 * 16 * 2 <= 600_000  # type: ignore[arg-type]
