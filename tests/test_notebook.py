"""`import headscape`: open a store, show the points of a head and the weights of a sentence."""

import subprocess
import sys

import numpy as np
import pytest

import headscape
import store
from store.schema.model import ROLES


def test_open_gives_the_corpus_of_the_newest_publication(tiny_store: str, tiny_corpus: store.Corpus) -> None:
    opened = headscape.open(tiny_store)
    assert (opened.name, opened.snapshot) == (tiny_corpus.name, tiny_corpus.snapshot)
    assert headscape.open(tiny_store, tiny_corpus.name, snapshot=tiny_corpus.snapshot).name == tiny_corpus.name


def test_open_refuses_an_unknown_model_in_one_sentence(tiny_store: str) -> None:
    with pytest.raises(store.StoreError, match="There is no model 'bert'"):
        headscape.open(tiny_store, "bert")


def test_show_draws_queries_and_keys_at_their_stored_places(tiny_corpus: store.Corpus) -> None:
    figure = headscape.show(tiny_corpus, 1, 0, tokens=30)
    places = tiny_corpus.places(tiny_corpus.views[0], tiny_corpus.rows[:30], layer=1, head=0)
    assert [trace.name for trace in figure.data] == list(ROLES)
    for index, trace in enumerate(figure.data):
        np.testing.assert_array_equal(np.stack([trace.x, trace.y], axis=1), places[:, index])
    pieces = tiny_corpus.wordpieces(tiny_corpus.rows[:30])
    assert [label.partition(", sentence ")[0] for label in figure.data[0].text] == pieces


def test_the_title_of_a_picture_states_its_tokens_and_its_fidelity(tiny_corpus: store.Corpus) -> None:
    title = headscape.show(tiny_corpus, 1, 0, tokens=30).layout.title.text
    fidelity = tiny_corpus.view(tiny_corpus.views[0]).fidelity.sel(layer=1, head=0, measure="spearman")
    assert title.startswith(
        f"L1 H0 of {tiny_corpus.name}, 30 of {tiny_corpus.n_tokens:,} tokens<br>PCA of exact vectors"
    )
    assert f"Spearman {float(fidelity.sel(judged='held_out')):.2f} on held-out sentences" in title


def test_a_view_in_three_dimensions_is_drawn_in_space(two_views: store.Corpus) -> None:
    figure = headscape.show(two_views, 0, 1, view="pca-exact-3d", tokens=10)
    assert [trace.type for trace in figure.data] == ["scatter3d", "scatter3d"]
    assert len(figure.data[0].z) == 10


def test_sentence_draws_the_weights_of_its_tokens(tiny_corpus: store.Corpus) -> None:
    figure = headscape.sentence(tiny_corpus, 3, layer=1, head=0)
    (weights,) = figure.data
    np.testing.assert_array_equal(weights.z, tiny_corpus.pattern(3, layer=1, head=0).values)
    pieces = tiny_corpus.wordpieces(tiny_corpus.sentence_rows(3))
    assert list(figure.layout.xaxis.ticktext) == list(figure.layout.yaxis.ticktext) == pieces
    assert weights.text[1][2] == f"{pieces[1]} to {pieces[2]}"


@pytest.mark.parametrize(("layer", "head", "named"), [(99, 0, "layer 99"), (0, -1, "head -1")])
def test_a_head_that_the_model_lacks_is_refused(layer: int, head: int, named: str, tiny_corpus: store.Corpus) -> None:
    for figure in (
        lambda: headscape.show(tiny_corpus, layer, head),
        lambda: headscape.sentence(tiny_corpus, 0, layer, head),
    ):
        with pytest.raises(store.StoreError, match=f"There is no {named}"):
            figure()


def test_importing_headscape_imports_nothing_slow() -> None:
    code = "import sys, headscape; print({'numpy', 'plotly', 'store', 'zarr'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout == "set()\n"
