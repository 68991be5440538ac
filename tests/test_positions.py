"""Mean attention by position, against a plain loop over sentences."""

import re
import struct

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.pages import TOPICS
from dashboard.sentence.charts import PositionLimits, PositionMeans, position_figure, position_means, sentence_figure
from dashboard.sentence.picture import read_shown, sentence_picture
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus, open_corpus
from tests.client import csv_rows


@pytest.fixture
def corpus(tiny_store: str) -> Corpus:
    """The corpus, newly opened, so that nothing is cached."""
    return open_corpus(tiny_store)


def by_a_loop(corpus: Corpus, layer: int, head: int, *, sentences: int, positions: int) -> tuple[np.ndarray, ...]:
    total, count = np.zeros((2, positions, positions))
    for sentence in range(sentences):
        pattern = corpus.pattern(sentence, layer=layer, head=head).values[:positions, :positions]
        total[: len(pattern), : len(pattern)] += pattern
        count[: len(pattern), : len(pattern)] += 1
    return total / count, count


def assert_equal(means: PositionMeans, expected: tuple[np.ndarray, ...]) -> None:
    np.testing.assert_array_equal(means.count, expected[1])
    np.testing.assert_allclose(means.mean, expected[0], atol=1e-5)


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, 0)])
def test_means_are_those_of_a_loop(corpus: Corpus, layer: int, head: int) -> None:
    longest = int(corpus.sentences.row_size.values.max())
    expected = by_a_loop(corpus, layer, head, sentences=40, positions=longest)
    assert_equal(position_means(corpus, layer, head), expected)


@pytest.mark.parametrize("tokens", [1, 30, 100])
def test_batches_change_nothing(corpus: Corpus, tokens: int) -> None:
    longest = int(corpus.sentences.row_size.values.max())
    means = position_means(corpus, 1, 1, PositionLimits(tokens=tokens))
    assert_equal(means, by_a_loop(corpus, 1, 1, sentences=40, positions=longest))


def test_later_positions_are_left_out_but_still_attended_to(corpus: Corpus) -> None:
    means = position_means(corpus, 0, 0, PositionLimits(positions=4))
    assert_equal(means, by_a_loop(corpus, 0, 0, sentences=40, positions=4))
    assert means.longest == corpus.sentences.row_size.values.max()


def test_a_file_has_a_row_for_each_pair_of_positions(client: FlaskClient, base: str, corpus: Corpus) -> None:
    rows = csv_rows(client.get(f"{base}/positions/1/0.csv").data)
    longest = int(corpus.sentences.row_size.values.max())
    mean, count = by_a_loop(corpus, 1, 0, sentences=40, positions=longest)
    at = tuple([int(row[name]) for row in rows] for name in ("query_position", "key_position"))
    assert len(rows) == len(set(zip(*at, strict=True))) == longest**2
    np.testing.assert_allclose([float(row["weight"]) for row in rows], mean[at], atol=1e-5)
    assert [int(row["sentences"]) for row in rows] == count[at].tolist()


@pytest.mark.parametrize("query", ["", "weights=norm", "weights=norm&rollout=1"])
def test_colours_by_position_are_on_the_scale_of_the_sentence_s_matrix(
    client: FlaskClient, tiny_store: str, corpus: Corpus, query: str
) -> None:
    context = resolve(ServedStore(tiny_store), "sentence", f"?show=positions&layer=1&{query}")
    (most,) = struct.unpack("<f", client.get(sentence_picture(read_shown(context))["layer_url"]).data[16:20])
    heat = position_figure(position_means(corpus, 1, 0)).data[0]
    assert (heat.zmin, heat.zmax) == (0, most)


def test_a_reader_may_zoom_by_dragging(corpus: Corpus) -> None:
    layout = position_figure(position_means(corpus, 1, 0)).layout
    assert (layout.dragmode, layout.xaxis.fixedrange, layout.yaxis.fixedrange) == ("zoom", False, False)


def test_only_the_first_sentences_are_looked_at(corpus: Corpus) -> None:
    means = position_means(corpus, 0, 0, PositionLimits(sentences=7))
    longest = int(corpus.sentences.row_size.values[:7].max())
    assert means.sentences == 7
    assert_equal(means, by_a_loop(corpus, 0, 0, sentences=7, positions=longest))


def test_a_head_is_computed_once(corpus: Corpus) -> None:
    assert position_means(corpus, 0, 0) is position_means(corpus, 0, 0)


def test_no_cell_is_empty(corpus: Corpus) -> None:
    assert position_means(corpus, 0, 0).count.min() > 0


def test_page_head_shows_the_positions_of_its_head(tiny_store: str) -> None:
    beside = str(
        TOPICS["head"].layout(resolve(ServedStore(tiny_store), "head", "?layer=1&head=0&tab=positions")).beside
    )
    assert "Attention of L1 H0 by position" in beside
    assert "the sentence's matrix" not in beside
    assert "in sentence" not in beside


def test_page_head_shows_the_weights_in_the_sentence_of_the_selected_token(
    tiny_store: str, client: FlaskClient
) -> None:
    context = resolve(ServedStore(tiny_store), "head", "?layer=1&head=0&tab=positions&token=5&role=key")
    beside = str(TOPICS["head"].layout(context).beside)
    sentence = int(context.corpus.tokens.sentence_index[context.corpus.rows[5]])
    assert f"Attention of L1 H0 in sentence {sentence}" in beside
    assert "whose key has a frame" in beside
    (data,) = re.findall(r"href='(/data/[^']*/sentence/[^']*\.csv)", beside)
    assert client.get(data).status_code == 200


@pytest.mark.parametrize(("role", "frame"), [("query", (-0.5, 2.5, 0.5, 1.5)), ("key", (0.5, 1.5, -0.5, 2.5))])
def test_the_selected_query_has_its_row_framed_and_a_key_its_column(role: str, frame: tuple[float, ...]) -> None:
    pattern = np.full((3, 3), 1 / 3)
    (shape,) = sentence_figure(pattern, ["[CLS]", "film", "[SEP]"], 1, role).layout.shapes
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == frame
