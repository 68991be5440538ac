"""Columns that colour the tokens of feature points: one code for each token, the same in every panel."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr

from dashboard.features.feature_tokens import token_columns
from dashboard.points.head_tokens import REACHES
from dashboard.points.point_set import Column
from dashboard.web.bounds import feature_columns
from store import Corpus, open_corpus
from store.features import Features


@pytest.fixture
def sample(tiny_corpus: Corpus) -> Features:
    return tiny_corpus.features("sample")


@pytest.fixture
def review(tiny_corpus: Corpus) -> Features:
    return tiny_corpus.features("review-3")


@dataclass(frozen=True)
class All:
    """A stand-in for drawn tokens: all tokens of a token set."""

    tokens: None = None


def values(column: Column) -> np.ndarray:
    return column.read(All())[0, :, 0]


def names(column: Column) -> list[str]:
    return [column.category(code) if code >= 0 else "" for code in values(column).astype(int).tolist()]


def test_the_most_frequent_wordpieces_have_a_colour_each_and_the_rest_none(sample: Features) -> None:
    pieces = sample.wordpieces()
    shown = names(token_columns(sample, None)["wordpiece"])
    counts = Counter(pieces)
    assert all(name in ("", piece) for name, piece in zip(shown, pieces, strict=True))
    assert len({*shown} - {""}) == 8
    assert min(counts[name] for name in {*shown} - {""}) >= max(counts[piece] for piece in {*pieces} - {*shown})


def test_in_a_sample_the_chosen_tokens_sentence_stands_out(sample: Features) -> None:
    shown = values(token_columns(sample, 9)["sentence"])
    sentences = sample.tokens.sentence_index.values
    np.testing.assert_array_equal(shown >= 0, sentences == sentences[9])


def test_without_a_chosen_token_no_sentence_does(sample: Features) -> None:
    assert (values(token_columns(sample, None)["sentence"]) < 0).all()


def test_in_a_review_sentences_are_coloured_in_their_order(review: Features) -> None:
    column = token_columns(review, None)["sentence"]
    assert column.kind == "number"
    np.testing.assert_array_equal(values(column), review.tokens.sentence_index.values)


@pytest.mark.parametrize("target", ["cls", "sentence", "word"])
def test_what_arrives_of_a_token_is_its_reach_after_the_last_layer(
    tiny_corpus: Corpus, sample: Features, target: str
) -> None:
    column = token_columns(sample, None)[f"reach_{target}"]
    reach = tiny_corpus.token_reach.sel(target=target).values[-1]
    assert values(column).tolist() == [float(reach[row]) for row in sample.tokens.row.values.tolist()]
    assert column.title == REACHES[target]


def test_a_review_has_no_column_of_what_arrives(review: Features) -> None:
    assert [name for name in token_columns(review, None) if name.startswith("reach")] == []


def test_a_store_that_does_not_know_what_arrives_has_no_column_of_it(without_reach: str) -> None:
    sample = open_corpus(without_reach).features("sample")
    assert (
        feature_columns(sample)
        == tuple(token_columns(sample, None))
        == ("kind", "wordpiece", "position", "label", "sentence")
    )


def test_a_model_that_is_no_classifier_offers_no_prediction(sample: Features) -> None:
    assert not {"prediction", "correct"} & set(token_columns(sample, None))


@pytest.fixture
def classified(sample: Features) -> Features:
    """The sample's tokens with a classifier that is sure of the second label in every other sentence."""
    sentences = len(np.unique(sample.tokens.sentence_index.values))
    second = np.arange(sentences) % 2
    probability = np.stack([0.9 - 0.8 * second, 0.1 + 0.8 * second], axis=-1)
    sample.class_probability = xr.DataArray(
        probability, dims=("sentence", "class"), coords={"class": sample.label_names}
    )
    return sample


def test_names_are_those_of_the_columns(sample: Features, review: Features) -> None:
    assert feature_columns(sample) == tuple(token_columns(sample, None))
    assert feature_columns(review) == tuple(token_columns(review, None))


def test_names_of_a_classifier_too(classified: Features) -> None:
    assert feature_columns(classified) == tuple(token_columns(classified, None))


def test_a_prediction_is_that_of_the_tokens_sentence(classified: Features) -> None:
    shown = names(token_columns(classified, None)["prediction"])
    order = np.unique(classified.tokens.sentence_index.values, return_inverse=True)[1]
    assert shown == [classified.label_names[number % 2] for number in order]


def test_a_prediction_is_right_where_it_is_the_reviews_label(classified: Features) -> None:
    columns = token_columns(classified, None)
    label, predicted = (names(columns[name]) for name in ("label", "prediction"))
    wanted = ["right" if own == other else "wrong" for own, other in zip(label, predicted, strict=True)]
    assert names(columns["correct"]) == wanted


def test_labels_that_the_classifier_does_not_know_are_not_judged(classified: Features) -> None:
    assert classified.class_probability is not None
    classified.class_probability = classified.class_probability.assign_coords({"class": ["LABEL_0", "LABEL_1"]})
    assert "correct" not in token_columns(classified, None)
