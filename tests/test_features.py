"""Feature points as the store gives them: tokens, measures, labels, classes, and errors where something is missing."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
import xarray as xr
from scipy.spatial.distance import cosine

import store
from dashboard.features.figures import without_groups
from ingest.encode.sample import review_token_set
from ingest.run.checkpoint import find_checkpoint
from ingest.text.reviews import find_data, read_reviews
from ingest.text.sentences import split_text
from store.features import TOKEN_ARRAYS, Features
from store.repository.errors import StoreError
from store.schema.features import FACTORS
from tests.stores import FEATURES, FIT_TOKENS
from tests.tiny_models import save_model

Ingest = Callable[..., str]


@pytest.fixture
def sample(tiny_corpus: store.Corpus) -> Features:
    return tiny_corpus.features("sample")


@pytest.fixture
def review(tiny_corpus: store.Corpus) -> Features:
    return tiny_corpus.features("review-3")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("classifier") / "judge"
    return save_model(place, architecture="BertForSequenceClassification", labels=("bad", "good", "neither"))


@pytest.fixture(scope="module")
def judged(classifier: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    place = tmp_path_factory.mktemp("judged")
    return store.open_corpus(ingest(place / "store", model=classifier, sentences=15, **FEATURES))


def test_the_sample_is_the_first_whole_sentences_of_the_corpus(sample: Features, tiny_corpus: store.Corpus) -> None:
    stops = np.cumsum(tiny_corpus.sentences.row_size.values)
    sentences = int((stops <= FIT_TOKENS).sum())
    assert (sample.n_tokens, sample.attributes["sentences"]) == (stops[sentences - 1], sentences)
    np.testing.assert_array_equal(sample.tokens.row, tiny_corpus.rows[: sample.n_tokens])


@pytest.mark.parametrize("name", TOKEN_ARRAYS[1:])
def test_tokens_of_the_sample_are_those_of_the_corpus(name: str, sample: Features, tiny_corpus: store.Corpus) -> None:
    np.testing.assert_array_equal(sample.tokens[name], tiny_corpus.tokens[name][sample.tokens.row.values])


def test_wordpieces_of_the_sample_are_those_of_the_corpus(sample: Features, tiny_corpus: store.Corpus) -> None:
    assert sample.wordpieces() == tiny_corpus.wordpieces(sample.tokens.row.values)


def test_the_labels_of_the_sample_are_those_of_its_sentences(sample: Features, tiny_corpus: store.Corpus) -> None:
    named = [sample.label_names[label] for label in sample.label]
    assert named == [tiny_corpus.label_name(int(sentence)) for sentence in sample.tokens.sentence_index.values]


# -- a review -------------------------------------------------------------------------------------------


def tokenized(folder: Path, text: str, longest: int) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer(" ".join(split_text(text)), truncation=True, max_length=longest)


def test_a_review_is_one_input_as_its_tokenizer_makes_it(review: Features, tiny_model: Path, tiny_data: Path) -> None:
    text = read_reviews(find_data(str(tiny_data)), text="text", label="label")[3].text
    expected = tokenized(tiny_model, text, 512)
    assert review.tokens.token_id.values.tolist() == expected["input_ids"]
    words = [-1 if word is None else word for word in expected.word_ids(0)]
    assert review.tokens.word_index.values.tolist() == words
    assert review.tokens.position.values.tolist() == list(range(review.n_tokens))
    assert (review.tokens.row.values == -1).all()


def test_a_token_of_a_review_knows_its_sentence(review: Features, tiny_model: Path, tiny_data: Path) -> None:
    sentences = list(split_text(read_reviews(find_data(str(tiny_data)), text="text", label="label")[3].text))
    sizes = [len(tokenized(tiny_model, sentence, 512)["input_ids"]) - 2 for sentence in sentences]
    expected = [0, *np.repeat(np.arange(len(sentences)), sizes), len(sentences) - 1]
    assert review.tokens.sentence_index.values.tolist() == expected
    assert review.attributes["sentences"] == len(sentences)


def test_a_review_has_its_label_and_index(review: Features, tiny_data: Path) -> None:
    read = read_reviews(find_data(str(tiny_data)), text="text", label="label")[3]
    facts = {name: review.attributes[name] for name in ("document", "label", "cut", "tokens")}
    assert facts == {"document": 3, "label": read.label, "cut": False, "tokens": review.n_tokens}
    assert set(review.label.tolist()) == {read.label}
    assert review.attributes["says"] == f"review 3 of the data, all of its {review.n_tokens} tokens"


def test_a_review_longer_than_the_model_reads_is_cut(tiny_model: Path, tmp_path: Path) -> None:
    """The tiny model reads 128 wordpieces."""
    text = "A good film. " * 50
    (tmp_path / "long.txt").write_text(text)
    reviews = read_reviews(find_data(str(tmp_path / "long.txt")), text="text", label="label")
    token_set = review_token_set(find_checkpoint(str(tiny_model)), reviews, 0)
    assert token_set.columns["token_id"].tolist() == tokenized(tiny_model, text, 128)["input_ids"]
    assert (token_set.facts["cut"], token_set.block.tokens) == (True, 128)
    assert token_set.facts["says"] == "review 0 of the data, its first 128 tokens"


# -- measures -------------------------------------------------------------------------------------------


def test_similarity_is_the_mean_cosine_of_scipy(sample: Features) -> None:
    vectors, other = (sample.feature.sel(point=point).values.astype(float) for point in ("position", "L01.mixed"))
    expected = np.mean([1 - cosine(a, b) for a, b in zip(vectors, other, strict=True)])
    similarity = sample.similarity.sel(point="position", other_point="L01.mixed")
    assert float(similarity) == pytest.approx(expected, abs=1e-5)


def test_similarity_and_cka_of_a_point_with_itself_are_one(sample: Features) -> None:
    np.testing.assert_allclose(np.diagonal(sample.similarity), 1, atol=1e-5)
    np.testing.assert_allclose(np.diagonal(sample.cka), 1, atol=1e-5)


def test_cka_records_its_number_of_tokens(sample: Features) -> None:
    assert sample.attributes["cka_tokens"] == sample.n_tokens


def test_the_wordpiece_explains_all_of_its_embedding(sample: Features) -> None:
    assert float(sample.explained.sel(factor="token", point="embedding")) == pytest.approx(1)


def test_every_factor_explains_a_share_at_every_point(sample: Features) -> None:
    assert list(sample.explained.factor.values) == list(FACTORS)
    assert np.isfinite(sample.explained).all()
    assert float(sample.explained.max()) <= 1 + 1e-9


def test_in_one_input_neither_position_nor_label_explain_a_share(review: Features) -> None:
    assert np.isnan(review.explained.sel(factor=["position", "label"])).all()
    assert np.isfinite(review.explained.sel(factor="token")).all()


# -- a classifier ---------------------------------------------------------------------------------------


def test_probabilities_of_labels_are_those_of_transformers(judged: store.Corpus, classifier: Path) -> None:
    features = judged.features("sample")
    model = transformers.BertForSequenceClassification.from_pretrained(classifier).eval()
    assert features.class_probability is not None
    assert list(features.class_probability["class"].values) == ["bad", "good", "neither"]
    for sentence in range(features.attributes["sentences"]):
        ids = features.tokens.token_id.values[features.tokens.sentence_index.values == sentence]
        with torch.inference_mode():
            expected = torch.softmax(model(torch.from_numpy(ids.astype(np.int64))[None]).logits[0], dim=-1)
        np.testing.assert_allclose(features.class_probability[sentence], expected, atol=1e-5)


def test_a_review_has_one_row_of_probabilities(judged: store.Corpus) -> None:
    probability = judged.features("review-3").class_probability
    assert probability is not None
    assert probability.shape == (1, 3)
    assert float(probability.sum()) == pytest.approx(1)


def test_a_model_without_a_classifier_has_no_class_probabilities(sample: Features) -> None:
    assert sample.class_probability is None


# -- what is not there ----------------------------------------------------------------------------------


def test_a_store_without_feature_points_has_no_token_sets(few_store: str) -> None:
    corpus = store.open_corpus(few_store)
    assert corpus.token_sets == []
    with pytest.raises(StoreError, match=r"has no feature points of 'sample'\. Run `headscape ingest`\.$"):
        corpus.features("sample")


def test_the_error_for_an_unknown_token_set_lists_the_token_sets(tiny_corpus: store.Corpus) -> None:
    with pytest.raises(StoreError, match=r"has no feature points of 'review-9'\. Choose one of: sample, review-3\.$"):
        tiny_corpus.features("review-9")


def test_the_error_for_an_unknown_view_of_feature_points_lists_the_views(sample: Features) -> None:
    with pytest.raises(StoreError, match=r"There is no view 'umap-joint' of the feature points\. Choose one of: "):
        sample.view("umap-joint")


def test_the_error_for_an_unknown_layer_of_a_view_lists_its_layers(sample: Features) -> None:
    with pytest.raises(StoreError, match=r"no layer 7\. Choose one of: 0, 1\.$"):
        sample.value_places("pca", 7, 10)


@pytest.mark.parametrize(
    ("positions", "caption"),
    [
        ([0, 1, 2], "Not of the position in the review: each token has its own. "),
        ([4, 4, 4], "Not of the position in the review: there is one group only. "),
    ],
)
def test_a_factor_without_groups_of_tokens_says_why_it_explains_nothing(positions: list[int], caption: str) -> None:
    tokens = xr.Dataset({"position": ("token", positions)})
    review: Any = SimpleNamespace(name="review-3", tokens=tokens, n_tokens=3)
    assert without_groups(review, ["position"]) == caption
