"""`store.Corpus`: labelled selections, and errors that say what to do where data are missing."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import store
from store.repository.errors import StoreError, StoreNotFound
from store.schema.corpus import PAD
from store.schema.model import RATIOS, SOURCES, STATISTICS, head_name

Ingest = Callable[..., str]


@pytest.fixture(scope="module")
def odd_corpus(odd_store: str) -> store.Corpus:
    """A corpus of 3 layers, 4 heads and 5 channels: no size can be mistaken for another."""
    return store.open_corpus(odd_store)


@pytest.mark.parametrize(
    ("name", "dims", "sizes"),
    [
        ("query", ("layer", "head", "token", "channel"), {"layer": 3, "head": 4, "channel": 5}),
        ("key", ("layer", "head", "token", "channel"), {"layer": 3, "head": 4, "channel": 5}),
        ("value_norm", ("layer", "head", "token"), {"layer": 3, "head": 4}),
        (
            "token_statistic",
            ("statistic", "layer", "head", "token"),
            {"statistic": len(STATISTICS), "layer": 3, "head": 4},
        ),
        ("head_statistic", ("source", "statistic", "layer", "head"), {"source": 6, "layer": 3, "head": 4}),
        (
            "head_interval",
            ("bound", "source", "statistic", "layer", "head"),
            {"bound": 2, "statistic": len(STATISTICS)},
        ),
        ("head_profile", ("offset", "layer", "head"), {"offset": 23, "layer": 3, "head": 4}),
        ("received_at", ("position", "layer", "head"), {"position": 24, "layer": 3, "head": 4}),
    ],
)
def test_numbers_are_labelled(
    name: str, dims: tuple[str, ...], sizes: dict[str, int], odd_corpus: store.Corpus
) -> None:
    array = getattr(odd_corpus, name)
    assert array.dims == dims
    assert {dim: array.sizes[dim] for dim in sizes} == sizes
    assert array["layer"].values.tolist() == [0, 1, 2]
    assert array["head"].values.tolist() == [0, 1, 2, 3]


def test_statistics_and_sources_are_chosen_by_name(odd_corpus: store.Corpus) -> None:
    assert odd_corpus.token_statistic.statistic.values.tolist() == list(STATISTICS)
    assert odd_corpus.head_statistic.source.values.tolist() == list(SOURCES)
    assert odd_corpus.head_statistic.sel(source="all", statistic="entropy", layer=2, head=3).ndim == 0


def test_mixing_ratios_are_labelled(odd_corpus: store.Corpus) -> None:
    for name, dims in (("token_mixing", ("ratio", "layer", "token")), ("layer_mixing", ("source", "ratio", "layer"))):
        array = getattr(odd_corpus, name)
        assert array.dims == dims
        assert array.ratio.values.tolist() == list(RATIOS)


def test_a_profile_is_labelled_with_relative_positions(odd_corpus: store.Corpus) -> None:
    assert odd_corpus.head_profile.offset.values.tolist() == list(range(-11, 12))


def test_expansion_rates_are_labelled_with_layers(odd_corpus: store.Corpus) -> None:
    assert odd_corpus.expansion_rate.layer.values.tolist() == [0, 1, 2]


def test_numbers_of_tokens_are_labelled_with_sentence_and_position(odd_corpus: store.Corpus) -> None:
    array = odd_corpus.value_norm.isel(token=odd_corpus.sentence_rows(7))
    assert (array.sentence_index.values == 7).all()
    assert array.position.values.tolist() == list(range(array.sizes["token"]))


def test_pattern_is_labelled_with_the_wordpieces_of_queries_and_keys(odd_corpus: store.Corpus) -> None:
    pattern = odd_corpus.pattern(3)
    pieces = odd_corpus.wordpieces(odd_corpus.sentence_rows(3))
    assert pattern.dims == ("layer", "head", "query_token", "key_token")
    assert pattern.query_wordpiece.values.tolist() == pattern.key_wordpiece.values.tolist() == pieces


def test_pattern_of_one_head_is_that_part_of_the_pattern_of_all(odd_corpus: store.Corpus) -> None:
    pattern = odd_corpus.pattern(3, layer=2, head=1)
    assert pattern.dims == ("query_token", "key_token")
    assert (int(pattern["layer"]), int(pattern["head"])) == (2, 1)
    np.testing.assert_allclose(pattern, odd_corpus.pattern(3)[2, 1], rtol=1e-5)


def test_rows_of_a_pattern_sum_to_one(odd_corpus: store.Corpus) -> None:
    np.testing.assert_allclose(odd_corpus.pattern(5).sum("key_token"), 1, rtol=1e-5)


def test_rows_hold_every_token_and_no_padding(odd_corpus: store.Corpus) -> None:
    spans = [odd_corpus.sentence_rows(sentence) for sentence in range(odd_corpus.n_sentences)]
    expected = np.concatenate([np.arange(span.start, span.stop) for span in spans])
    np.testing.assert_array_equal(odd_corpus.rows, expected)
    assert len(odd_corpus.rows) == odd_corpus.n_tokens
    assert odd_corpus.tokens.token_flags.values[odd_corpus.rows].max() < PAD * 4
    assert not (odd_corpus.tokens.token_flags.values[odd_corpus.rows] & PAD).any()


def test_sentences_have_the_label_and_index_of_their_review(odd_corpus: store.Corpus, tiny_data: Path) -> None:
    with tiny_data.open(encoding="utf-8", newline="") as file:
        reviews = list(csv.DictReader(file))
    names = odd_corpus.corpus_attributes["label_names"]
    sentences = odd_corpus.sentences
    for text, label, document in zip(*(sentences[name].values for name in ("text", "label", "document")), strict=True):
        assert text in reviews[document]["text"]
        assert names[label] == reviews[document]["label"]


@pytest.mark.parametrize("sentence", [-1, 40, 10**9])
def test_an_unknown_sentence_is_refused(sentence: int, odd_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"out of range\. Choose 0 to 39\.$"):
        odd_corpus.sentence_rows(sentence)


@pytest.mark.parametrize("method", ["counted_text", "counted_wordpieces", "label_name"])
@pytest.mark.parametrize("sentence", [-1, 40])
def test_an_unknown_counted_sentence_is_refused(method: str, sentence: int, odd_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=rf"^sentence={sentence} is out of range\. Choose 0 to 39\.$"):
        getattr(odd_corpus, method)(sentence)


@pytest.mark.parametrize("query", [-1, 10**6])
def test_a_query_that_a_sentence_does_not_have_is_refused(query: int, odd_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=rf"^query={query} is out of range\."):
        odd_corpus.weights(0, queries=np.array([query]))


def test_points_of_a_layer_that_is_not_there_are_refused(odd_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"^There is no head L-1 H0\. Choose one of L0 to L2 and H0 to H3\.$"):
        odd_corpus.places(odd_corpus.views[0], odd_corpus.rows[:2], layer=-1)


@pytest.mark.parametrize("sentence", ["1", 1.0, None, True])
def test_a_sentence_is_named_by_a_whole_number(sentence: Any, odd_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=rf"^A sentence is a whole number, not {sentence!r}\. Give a number from 0\.$"):
        odd_corpus.sentence_rows(sentence)


@pytest.mark.parametrize(
    ("layer", "head", "sentence"),
    [
        (3, 0, "There is no head L3 H0. Choose one of L0 to L2 and H0 to H3."),
        (None, 4, "There is no head L0 H4. Choose one of L0 to L2 and H0 to H3."),
        (-1, 0, "There is no head L-1 H0. Choose one of L0 to L2 and H0 to H3."),
        ("1", 0, "A layer and a head are whole numbers, not '1' and 0. Give numbers from 0."),
        (0, 1.0, "A layer and a head are whole numbers, not 0 and 1.0. Give numbers from 0."),
    ],
)
def test_the_pattern_of_a_head_that_is_not_there_is_refused(
    layer: Any, head: Any, sentence: str, odd_corpus: store.Corpus
) -> None:
    for read in (odd_corpus.pattern, odd_corpus.weights):
        with pytest.raises(StoreError, match=re.escape(sentence)):
            read(0, layer=layer, head=head)


def test_a_store_is_opened_by_its_path_and_below_the_home_of_its_user(
    tiny_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(Path(tiny_store).parent))
    for place in (Path(tiny_store), f"~/{Path(tiny_store).name}"):
        assert store.open_corpus(place).snapshot == store.open_corpus(tiny_store).snapshot


def test_the_error_for_an_unknown_view_lists_the_views(odd_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"no view 'tsne'. Choose one of: pca-exact-2d\.$"):
        odd_corpus.view("tsne")


def test_the_error_for_an_unknown_model_lists_the_models(tiny_store: str) -> None:
    with pytest.raises(StoreError, match=r"no model 'gpt' in .* Choose one of: tiny-bert-[0-9a-f]{8}\.$"):
        store.open_corpus(tiny_store, model="gpt")


def test_opening_a_missing_store_fails_and_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match=r"Run `headscape ingest --store=.*`\.$"):
        store.open_corpus(str(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []


def test_the_model_ingested_last_opens_first(ingest: Ingest, odd_model: Path, tmp_path: Path) -> None:
    ingest(tmp_path / "store", sentences=3)
    ingest(tmp_path / "store", sentences=3, model=odd_model)
    snapshot = store.open_snapshot(str(tmp_path / "store"))
    names = [name.partition("-bert")[0] for name in snapshot.models]
    assert sorted(names) == ["odd", "tiny"]
    assert snapshot.corpus().name == next(iter(snapshot.models))


def test_a_corpus_is_opened_once(tiny_store: str) -> None:
    snapshot = store.open_snapshot(tiny_store)
    assert snapshot.corpus() is snapshot.corpus(next(iter(snapshot.models)))


def test_a_file_url_opens_a_folder(tiny_store: str) -> None:
    assert store.open_corpus(f"file://{tiny_store}").n_sentences == 40


def test_provenance_records_settings_versions_and_content(tiny_store: str, tiny_model: Path) -> None:
    model = next(iter(store.open_snapshot(tiny_store).models.values()))
    assert model["provenance"]["settings"]["model"] == str(tiny_model)
    assert {"torch", "transformers", "zarr", "icechunk", "headscape"} == set(model["provenance"]["versions"])
    assert len(model["weights_sha256"]) == 64


def test_the_name_of_a_head_counts_from_zero() -> None:
    assert head_name(7, 9) == "L7 H9"


def test_parts_of_the_scores_of_a_head_that_is_not_there_are_refused(tiny_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"There is no head L99 H0\. Choose one of L0 to L1 and H0 to H"):
        tiny_corpus.logit_parts(0, layer=99, head=0)
    with pytest.raises(StoreError, match=r"There is no head L0 H-1\."):
        tiny_corpus.head_tables(0, -1)
