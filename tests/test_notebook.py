"""`import headscape`: open a store, show the points of a head and the weights of a sentence."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import plotly.io as pio
import pytest
import xarray as xr

import headscape
import store
from headscape.corpus import HTML, IN_KERNEL, NotebookFigure
from store.repository.arrays import NETCDF_4
from store.repository.errors import NotIngested
from store.schema.model import ROLES


def test_open_gives_the_corpus_of_the_newest_publication(tiny_store: str, tiny_corpus: store.Corpus) -> None:
    opened = headscape.open(tiny_store)
    assert (opened.name, opened.snapshot) == (tiny_corpus.name, tiny_corpus.snapshot)
    assert headscape.open(tiny_store, tiny_corpus.name, snapshot=tiny_corpus.snapshot).name == tiny_corpus.name


def test_open_refuses_an_unknown_model_in_one_sentence(tiny_store: str) -> None:
    with pytest.raises(store.StoreError, match="There is no model 'bert'"):
        headscape.open(tiny_store, "bert")


def test_open_refuses_a_snapshot_that_is_no_text_in_one_sentence(tiny_store: str) -> None:
    with pytest.raises(store.StoreError, match=r"^There is no snapshot 5\. List them with `headscape describe`\.$"):
        headscape.open(tiny_store, snapshot=cast(str, 5))


def test_show_draws_a_whole_number_of_tokens(tiny_corpus: store.Corpus) -> None:
    with pytest.raises(
        store.StoreError, match=r"^The drawn tokens are a whole number, not 2\.5\. Give a number from 1"
    ):
        headscape.show(tiny_corpus, 0, 0, tokens=cast(int, 2.5))


def test_an_opened_store_refuses_an_unknown_context_mixing_as_a_store_does(tiny_store: str) -> None:
    with pytest.raises(store.StoreError, match=r"no context mixing by 'foo'\. Choose one of: attention, .*decompx\.$"):
        headscape.open(tiny_store).context_mixing(0, "foo")


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


def test_the_first_view_is_drawn_where_none_is_named(two_views: store.Corpus) -> None:
    assert two_views.views == ["pca-exact-2d", "pca-exact-3d"]
    assert {trace.type for trace in headscape.show(two_views, 0, 1, tokens=10).data} == {"scatter"}


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


@pytest.mark.parametrize(("layer", "head", "named"), [(99, 0, "L99 H0"), (0, -1, "L0 H-1")])
def test_a_head_that_the_model_lacks_is_refused(layer: int, head: int, named: str, tiny_corpus: store.Corpus) -> None:
    for figure in (
        lambda: headscape.show(tiny_corpus, layer, head),
        lambda: headscape.sentence(tiny_corpus, 0, layer, head),
    ):
        with pytest.raises(store.StoreError, match=f"There is no head {named}"):
            figure()


#: Wordpieces that plotly takes for a tag, for an entity and, two in a label, for a formula.
ODD = ["<s>", "&amp;", "$", "<b>x</b>", "a&lt;b"]


@pytest.fixture
def odd(tiny_store: str) -> store.Corpus:
    """A corpus whose first wordpieces are those of ODD."""
    opened = headscape.open(tiny_store)
    ids = opened.tokens.token_id.values
    opened.vocab[ids[:5]] = ODD
    return opened


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """A function that begins a cell of a notebook, as far as a figure can tell, and gives the list of displayed outputs."""
    displayed: list[dict[str, Any]] = []
    request: dict[str, Any] = {}
    shell = SimpleNamespace(get_parent=lambda: request)
    for name, member in (("display", lambda bundle, **_: displayed.append(bundle)), ("get_ipython", lambda: shell)):
        module = ModuleType("IPython" if name == "get_ipython" else "IPython.display")
        setattr(module, name, member)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(NotebookFigure, "_bringing", None)
    before = pio.renderers.default
    pio.renderers.default = IN_KERNEL

    def begin(cell: str) -> list[dict[str, Any]]:
        request["metadata"] = {"cellId": cell}
        return displayed

    yield begin
    pio.renderers.default = before


def test_figures_are_drawn_in_a_kernel_without_nbformat(
    tiny_corpus: store.Corpus, kernel: Callable[[str], list[dict[str, Any]]]
) -> None:
    displayed = kernel("first")
    headscape.show(tiny_corpus, 1, 0, tokens=5)._ipython_display_()
    headscape.sentence(tiny_corpus, 3, 1, 0).show()
    assert [set(bundle) for bundle in displayed] == [{"application/vnd.plotly.v1+json", HTML, "text/plain"}] * 2


def test_the_first_cell_with_a_figure_brings_plotly_and_brings_it_again(
    tiny_corpus: store.Corpus, kernel: Callable[[str], list[dict[str, Any]]]
) -> None:
    figure = headscape.show(tiny_corpus, 1, 0, tokens=5)
    for cell in ("first", "second", "first"):
        displayed = kernel(cell)
        figure.show()
    assert [len(bundle[HTML]) > 1e6 for bundle in displayed] == [True, False, True]


def test_an_exported_figure_is_drawn_with_its_wordpieces_character_by_character(
    odd: store.Corpus, kernel: Callable[[str], list[dict[str, Any]]], open_page: Callable[..., Any]
) -> None:
    displayed = kernel("first")
    headscape.sentence(odd, 0, 1, 0).show()
    page = open_page("about:blank")
    page.set_content(f"<body>{displayed[0][HTML]}</body>")
    page.locator(".ytick").first.wait_for()
    assert page.locator(".ytick").all_text_contents() == odd.wordpieces(odd.sentence_rows(0))
    page.locator(".nsewdrag").hover(position={"x": 33, "y": 11})
    page.locator(".hovertext").wait_for()
    assert page.locator(".hovertext").text_content().startswith(f"{ODD[0]} to {ODD[1]}: 0.")


def test_a_figure_whose_plotly_is_not_in_the_notebook_says_so(
    tiny_corpus: store.Corpus, kernel: Callable[[str], list[dict[str, Any]]], open_page: Callable[..., Any]
) -> None:
    kernel("first")
    headscape.show(tiny_corpus, 1, 0, tokens=5).show()
    displayed = kernel("second")
    headscape.show(tiny_corpus, 1, 0, tokens=5).show()
    body = displayed[1][HTML].replace("Plotly.newPlot", "void ")  # else the page's console has an error
    page = open_page("about:blank")
    page.set_content(f"<body>{body}</body>")
    assert page.locator("p").text_content().startswith("To see this figure, trust the notebook and run it from its")


def test_objects_say_what_they_are(bank_store: str, tiny_corpus: store.Corpus) -> None:
    snapshot = store.open_snapshot(bank_store)
    corpus, features = snapshot.corpus(), tiny_corpus.features("sample")
    assert repr(corpus).startswith("Corpus: tiny-bert on bank\n")
    assert repr(snapshot) == f"<Snapshot {snapshot.id} of {bank_store}: models {corpus.name}>"
    assert repr(corpus.words).startswith(f"<Words: {len(corpus.words)} words of {corpus.n_sentences} sentences, ")
    assert repr(features).startswith(f"<Features sample of model {tiny_corpus.name}: {features.n_tokens} tokens at ")


#: Arrays and datasets of a corpus, without those that have hashes of 64 bits or names of codes, which NetCDF 3 lacks.
NAMES = (
    *("tokens", "query", "key", "value_norm", "token_statistic", "token_mixing", "head_statistic", "head_interval"),
    *("head_profile", "received_at", "layer_mixing", "expansion_rate", "head_labels", "strongest_words", "relations"),
    *("pairs", "divergence", "normalizations"),
)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_saved_as_netcdf(name: str, bank_corpus: store.Corpus, tmp_path: Path) -> None:
    assert_saved(getattr(bank_corpus, name), tmp_path / "array.nc")


def test_patterns_and_feature_points_are_saved_as_netcdf(
    bank_corpus: store.Corpus, tiny_corpus: store.Corpus, tmp_path: Path
) -> None:
    features = tiny_corpus.features("sample")
    assert_saved(bank_corpus.pattern(3, layer=1, head=0), tmp_path / "pattern.nc")
    assert_saved(bank_corpus.word_pattern(3, layer=1, head=0), tmp_path / "words.nc")
    assert_saved(features.feature, tmp_path / "feature.nc")
    assert_saved(features.tokens, tmp_path / "tokens.nc")
    assert_saved(features.view(features.views[0]), tmp_path / "view.nc")


@pytest.mark.skipif(any(map(find_spec, NETCDF_4)), reason="netCDF 4 holds numbers of 64 bits")
def test_hashes_of_64_bits_are_saved_as_their_digits(bank_corpus: store.Corpus, tmp_path: Path) -> None:
    for dataset, name in ((bank_corpus.sentences, "sentence_hash"), (bank_corpus.view("pca-exact-2d"), "fit_hash")):
        assert dataset[name].dtype == np.uint64
        dataset.to_netcdf(tmp_path / f"{name}.nc")
        with xr.open_dataset(tmp_path / f"{name}.nc") as read:
            assert [int(digits) for digits in read[name].values] == dataset[name].values.tolist()


def test_words_are_saved_without_the_names_of_their_codes(bank_corpus: store.Corpus, tmp_path: Path) -> None:
    table = bank_corpus.words.table
    table.drop_attrs().to_netcdf(tmp_path / "words.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "words.nc", engine="scipy") as read:
        assert read.relation.values.tolist() == table.relation.values.tolist()


def assert_saved(array: xr.Dataset | xr.DataArray, place: Path) -> None:
    """Assert that xarray without further packages saves the array and reads the same numbers again."""
    array.to_netcdf(place, engine="scipy")
    with xr.open_dataset(place, engine="scipy") as read:
        saved = read if isinstance(array, xr.Dataset) else read[array.name]
        xr.testing.assert_equal(saved.load().astype(object), array.load().astype(object))


def _weight(corpus: store.Corpus) -> float:
    return float(corpus.pattern(3, layer=1, head=0)[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("started", ["fork", "spawn"])
def test_a_pool_of_processes_reads_or_is_told_how(started: str, tiny_store: str) -> None:
    corpus = headscape.open(tiny_store)
    expected = _weight(corpus)
    with ProcessPoolExecutor(1, mp_context=get_context(started)) as pool:
        answer = pool.submit(_weight, corpus)
        if started == "spawn":
            assert answer.result() == expected
        else:
            with pytest.raises(store.StoreError, match="Start processes anew: ProcessPoolExecutor"):
                answer.result()


def test_a_missing_result_is_told_across_processes(tiny_store: str) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        answer = pool.submit(getattr, headscape.open(tiny_store), "importance")
        with pytest.raises(NotIngested, match="headscape ingest --importance"):
            answer.result()


def test_importing_headscape_imports_nothing_slow() -> None:
    code = "import sys, headscape; print({'numpy', 'plotly', 'store', 'zarr'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout == "set()\n"
