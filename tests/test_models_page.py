"""Page Models: the heads of all models of a store in one chart, and the table of the heads in a box."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.__main__ import main as serve
from dashboard.app import create_app
from dashboard.models.page import COUNTS, LISTED, every_head, shown_heads
from dashboard.models.trees import COUNTED, CountedMetrics, Trees, read_trees
from dashboard.pages import TOPICS
from dashboard.serving import Serving
from dashboard.ui.files import provenance_of
from dashboard.ui.markup import Page
from dashboard.web.context import Context, resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store import Corpus, Snapshot
from tests.client import content, csv_rows
from tests.components import components


def shown(place: str, query: str = "") -> tuple[Context, Page]:
    context = resolve(ServedStore(place), "models", query)
    return context, TOPICS["models"].layout(context)


def figure_of(page: Page) -> Any:
    return next(each.figure for each in components(page.above) if hasattr(each, "figure"))


def rows_of(page: Page) -> list[str]:
    """Links of the heads in the table."""
    table = next(each for each in components(page.above) if getattr(each, "className", "") == "rows stacked")
    return [each.href for each in components(table) if getattr(each, "href", None)]


def test_every_head_of_every_model_is_a_dot_at_its_numbers(three_models: str, models: Snapshot) -> None:
    _, page = shown(three_models, "?across=layer&up=entropy")
    dots = {
        name: (x, y)
        for trace in figure_of(page).data
        for name, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    }
    assert len(dots) == 4 + 4 + 12
    for key in models.models:
        corpus = models.corpus(key)
        entropy = corpus.head_statistic.sel(source="all", statistic="entropy").values
        for layer, head in np.ndindex(entropy.shape):
            assert dots[f"L{layer} H{head} of {key}"] == pytest.approx((layer, entropy[layer, head]))


def test_each_model_has_its_colour_and_its_shape(three_models: str, models: Snapshot) -> None:
    traces = figure_of(shown(three_models)[1]).data
    assert [len(trace.x) for trace in traces] == [
        models.corpus(key).layers * models.corpus(key).heads for key in models.models
    ]
    assert len({(trace.marker.color, trace.marker.symbol) for trace in traces}) == 3


def test_colours_can_be_of_a_number(three_models: str) -> None:
    (dots,) = figure_of(shown(three_models, "?tint=layer")[1]).data
    assert sorted(set(dots.marker.color.tolist())) == [0, 1, 2]


def test_a_box_filters_the_table_and_each_row_opens_the_head_in_its_model(three_models: str, models: Snapshot) -> None:
    odd = next(key for key in models.models if key.startswith("odd"))
    _, page = shown(three_models, "?across=layer&acrossin=2..2")
    assert len(rows_of(page)) == 4
    for head in range(4):
        assert any(f"/head?model={odd}&layer=2&head={head}" in href for href in rows_of(page))


def test_the_table_begins_with_the_largest_number(three_models: str, models: Snapshot) -> None:
    _, page = shown(three_models, "?up=entropy")
    every = every_head(models)
    first = int(every.scores["entropy"].values.argmax())
    assert f"/head?model={every.model[first]}&layer={every.layer[first]}&head={every.head[first]}" in rows_of(page)[0]
    assert len(rows_of(page)) == min(LISTED, len(every.model))


def test_a_store_of_one_model_shows_its_heads_and_says_how_to_add_another(tiny_store: str, tiny_corpus: Corpus) -> None:
    _, page = shown(tiny_store)
    heads = tiny_corpus.layers * tiny_corpus.heads
    assert (len(rows_of(page)), f"{heads} heads of 1 model." in str(page.above)) == (heads, True)
    (alert,) = (each for each in components(page.above) if getattr(each, "id", None) == "one-model")
    assert "headscape ingest --model=" in str(alert)


def test_the_file_has_every_head_and_names_every_model(three_client: FlaskClient, models: Snapshot) -> None:
    first = models.corpus()
    rows = csv_rows(content(three_client, f"{data_link(first)}/models/scores.csv"))
    every = every_head(models)
    assert [row["model"] for row in rows] == every.model.tolist()
    np.testing.assert_allclose([float(row["entropy"]) for row in rows], every.scores["entropy"].values, rtol=1e-6)
    assert all(key in rows[0]["provenance"] for key in models.models)


def test_the_axes_that_the_page_chooses_are_no_choice_of_the_reader(three_models: str) -> None:
    """Axes of the page must not count as a choice: the browser would write them into the link."""
    context, _ = shown(three_models, "?up=to_sep")
    choices = TOPICS["models"].choices
    assert choices is not None
    assert choices(TOPICS["models"].layout.read(context)) == (
        {"across": "to_sink", "up": "to_sep"},
        {"across": "to_sink", "up": "entropy"},
    )


def test_a_saved_chart_says_of_how_many_models_it_is(three_models: str) -> None:
    context, _ = shown(three_models)
    assert provenance_of(context.snapshot, context.corpus, context.state)["source"].startswith("3 models on ")


def test_the_chart_says_how_many_corpora_its_models_are_of(three_models: str, models: Snapshot) -> None:
    of_one = every_head(models)
    captions = [each.children for each in components(shown(three_models)[1].above) if type(each).__name__ == "P"]
    assert "20 heads of 3 models." in captions
    assert replace(of_one, corpora=2).counted == "20 heads of 3 models on 2 corpora: their text or wordpieces differ."


# -- models of HeadVis --------------------------------------------------------------------------------


def write_tree(place: Path, **config: object) -> str:
    """Write a HeadVis tree of two heads; returns its folder."""
    place.mkdir()
    (place / "config.json").write_text(json.dumps(config))
    metrics = {"self_attention_score": 0.5, "prev_token_score": 0.25, "pattern_entropy": 3, "qk_distance": 40}
    rows = [{"layer": 7, "head": head} | {name: value + head for name, value in metrics.items()} for head in (0, 1)]
    (place / "scatter_data.json").write_text(json.dumps(rows))
    return str(place)


@pytest.fixture(scope="module")
def beside(tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> ServedStore:
    """A store of one model, beside a HeadVis tree of another model."""
    served_store = ServedStore(tiny_store)
    place = write_tree(tmp_path_factory.mktemp("trees") / "tree", model_name="org/other", dataset_name="pile")
    create_app(served_store, Serving(trees=read_trees([place])))
    return served_store


def test_heads_of_a_tree_are_dots_beside_those_of_the_store(beside: ServedStore) -> None:
    page = TOPICS["models"].layout(resolve(beside, "models", "?across=distance&up=to_previous"))
    own, other = figure_of(page).data
    assert (len(own.x), other.name) == (4, "org/other on pile (HeadVis)")
    assert list(other.customdata) == [f"L7 H{head} of org/other on pile (HeadVis)" for head in (0, 1)]
    assert (list(other.x), list(other.y)) == ([40, 41], [25, 125])


def test_numbers_that_a_tree_has_not_are_no_choice(beside: ServedStore) -> None:
    every = shown_heads(beside.snapshot(), beside.service(Trees).trees)
    assert set(every.scores) == {"layer", "to_self", "to_previous", "entropy", "distance"}
    assert every.counted == "6 heads of 2 models. 2 are read from HeadVis: means over tokens, not over sentences."


def test_a_row_of_a_tree_leads_nowhere(beside: ServedStore) -> None:
    page = TOPICS["models"].layout(resolve(beside, "models", "?up=distance"))
    assert len(rows_of(page)) == 4
    assert "org/other on pile (HeadVis)" in str(page)


def test_the_name_of_a_tree_is_text_and_no_markup(tiny_store: str, tmp_path: Path) -> None:
    served_store = ServedStore(tiny_store)
    served_store.put(Trees, Trees(read_trees([write_tree(tmp_path / "tree", model_name="<b>me</b>")])))
    *_, dots = figure_of(TOPICS["models"].layout(resolve(served_store, "models", ""))).data
    assert dots.name == "&lt;b&gt;me&lt;/b&gt; (HeadVis)"
    assert dots.customdata[0] == "L7 H0 of &lt;b&gt;me&lt;/b&gt; (HeadVis)"


def test_two_trees_of_one_model_have_two_names(tmp_path: Path) -> None:
    places = [write_tree(tmp_path / name, model_name="gpt2") for name in "ab"]
    assert [tree.title for tree in read_trees(places)] == ["gpt2 (HeadVis)", "gpt2 (HeadVis, 2)"]


def test_a_server_says_at_its_start_that_a_tree_is_not_there(
    tiny_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve(["--store", tiny_store, "--port=0", f"--headvis={tmp_path}"]) == 1
    assert capsys.readouterr().err.startswith(f"dashboard: There is no tree of HeadVis at {tmp_path}. Give a folder")


# -- metrics of HeadVis that are counted when they are chosen -------------------------------------------


def by_hand(corpus: Corpus, layer: int, head: int) -> tuple[float, float]:
    """Variance of the attention distance and induction of a head, query by query."""
    distances, weights, induced = [], [], []
    for sentence in range(corpus.n_sentences):
        pattern = corpus.weights(sentence, layer=layer, head=head).astype(np.float64)
        pieces = corpus.tokens.token_id.values[corpus.sentence_rows(sentence)].tolist()
        for query, row in enumerate(pattern):
            distances += [abs(query - key) for key in range(len(row))]
            weights += row.tolist()
            after = [key + 1 for key in range(query) if pieces[key] == pieces[query]]
            if after:
                induced.append(sum(row[key] for key in after if row[key] >= 0.01))
    mean = np.average(distances, weights=weights)
    return float(np.average((np.array(distances) - mean) ** 2, weights=weights)), float(np.mean(induced))


@pytest.fixture(scope="module")
def counting(three_models: str) -> ServedStore:
    served_store = ServedStore(three_models)
    create_app(served_store)
    return served_store


def test_induction_and_the_variance_of_distances_are_those_of_every_query(
    counting: ServedStore, models: Snapshot
) -> None:
    context = resolve(counting, "models", "?across=distance_variance&up=induction")
    drawn = COUNTS.compute(context)
    dots = {
        name: (x, y)
        for trace in next(each.figure for each in components(drawn) if hasattr(each, "figure")).data
        for name, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
    }
    assert len(dots) == 4 + 4 + 12
    for key in models.models:
        variance, induction = by_hand(models.corpus(key), 1, 1)
        assert dots[f"L1 H1 of {key}"] == pytest.approx((variance, 100 * induction), rel=1e-4)


def test_they_are_counted_when_one_is_chosen_and_once(counting: ServedStore) -> None:
    context = resolve(counting, "models", "?up=induction")
    page = TOPICS["models"].layout(context)
    assert [each for each in components(page.above) if hasattr(each, "figure")] == []
    assert "Computing induction" in str(page.above)
    assert TOPICS["models"].choices is not None
    assert TOPICS["models"].choices(TOPICS["models"].layout.read(context))[0]["up"] == "induction"
    snapshot = counting.snapshot()
    first = CountedMetrics(counting.folder).of_every_head(snapshot)
    unread = cast(Snapshot, SimpleNamespace(id=snapshot.id, models=snapshot.models))  # nothing of it can be counted
    np.testing.assert_array_equal(CountedMetrics(counting.folder).of_every_head(unread), first)
    assert figure_of(TOPICS["models"].layout(resolve(counting, "models", "?up=entropy"))) is not None


def test_the_file_has_them_where_they_are_asked_for(three_client: FlaskClient, models: Snapshot) -> None:
    address = f"{data_link(models.corpus())}/models/scores.csv"
    rows = csv_rows(content(three_client, f"{address}?counted=1"))
    variance, induction = by_hand(models.corpus(), 0, 1)
    assert [float(rows[1][name]) for name in COUNTED] == pytest.approx([variance, induction], rel=1e-4)
    assert not {*COUNTED} & csv_rows(content(three_client, address))[0].keys()


def test_a_tree_that_has_them_is_beside_them(tiny_store: str, tmp_path: Path) -> None:
    place = tmp_path / "tree"
    write_tree(place, model_name="gpt2")
    rows = [{"layer": 0, "head": 0, "qk_distance_variance": 9.0, "induction_score": 0.5, "pattern_entropy": 1.0}]
    (place / "scatter_data.json").write_text(json.dumps(rows))
    served_store = ServedStore(tiny_store)
    served_store.put(Trees, Trees(read_trees([str(place)])))
    every = shown_heads(served_store.snapshot(), served_store.service(Trees).trees)
    assert {"entropy", *COUNTED} <= {*every.scores}
    assert [every.scores[name].values[-1] for name in COUNTED] == [9, 0.5]
    assert np.isnan(every.scores["induction"].values[:-1]).all()
