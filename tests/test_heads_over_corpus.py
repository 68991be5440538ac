"""Heads replaced over a sample of the corpus: the numbers against an edited model of transformers, and the part of page Sentence."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flask.testing import FlaskClient
from scipy.spatial.distance import cosine
from transformers import BertForSequenceClassification

from dashboard.app import create_app
from dashboard.pages import TOPICS
from dashboard.sentence.change import Change
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.over_corpus import READERS, SAMPLED, Measuring, compute_sampled, draw_sampled
from dashboard.sentence.replace import replace_heads as replace_heads_here
from dashboard.sentence.sample import Encode, SampleChange, Sampling
from dashboard.web.context import resolve
from dashboard.web.errors import NotYet, ReaderLeft
from dashboard.web.served_store import ServedStore
from dashboard.web.state import Instead
from store import Corpus, open_corpus
from store.kernels.relations import DIRECTIONS
from store.replacement import judged_sentences
from tests.client import shown
from tests.components import components
from tests.edited_model import replace_heads
from tests.stores import Ingest
from tests.tiny_models import save_model

HEADS = [(0, 1), (0, 0)]
SENTENCES = 6


def watch(_share: float, _title: str | None) -> None:
    """Progress that nobody watches."""


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


@pytest.fixture(scope="module")
def served_store(roles_store: str) -> ServedStore:
    return ServedStore(roles_store)


@pytest.fixture(scope="module")
def encode(served_store: ServedStore, corpus: Corpus) -> Encode:
    return lambda text, change: served_store.service(TypedSentences).run(corpus, text, change)


@pytest.fixture(scope="module")
def measured(corpus: Corpus, encode: Encode) -> Callable[[Instead], SampleChange]:
    return lambda instead: Sampling(corpus, encode, SENTENCES).measure(HEADS, instead, watch)


def weights(corpus: Corpus, instead: Instead, sentence: int) -> dict[tuple[int, int], np.ndarray]:
    """Weights (query_token, key_token) in place of those of the heads, by (layer, head), from public parts of the corpus."""
    rows = corpus.sentence_rows(sentence)
    tokens = rows.stop - rows.start
    flags = corpus.tokens.token_flags.values[rows]
    of_head: dict[Instead, Callable[[int, int], np.ndarray]] = {
        "off": lambda _layer, _head: np.zeros((tokens, tokens)),
        "even": lambda _layer, _head: np.full((tokens, tokens), 1 / tokens),
        "mean": lambda layer, head: corpus.mean_patterns.patterns([layer * corpus.heads + head], flags)[0],
        "rule": lambda layer, head: corpus.predicted_pattern(sentence, layer=layer, head=head).values,
    }
    return {(layer, head): of_head[instead](layer, head).astype(np.float64) for layer, head in HEADS}


def edited_vector(model: Any, corpus: Corpus, sentence: int) -> np.ndarray:
    """Mean of the last layer of transformers' own model over the tokens of words."""
    rows = corpus.sentence_rows(sentence)
    token_id = torch.from_numpy(corpus.tokens.token_id.values[rows].astype(np.int64))[None]
    with torch.no_grad():
        last = model.base_model(input_ids=token_id).last_hidden_state[0].numpy()
    vector: np.ndarray = last[corpus.tokens.word_index.values[rows] >= 0].mean(axis=0)
    return vector


@pytest.mark.parametrize("instead", ["off", "even", "mean", "rule"])
def test_the_change_is_that_of_an_edited_model_of_transformers(
    instead: Instead,
    corpus: Corpus,
    measured: Callable[[Instead], SampleChange],
    tiny_model: Path,
    eager: Callable[[Path], Any],
) -> None:
    expected = []
    for sentence in judged_sentences(corpus, SENTENCES).tolist():
        own, edited = eager(tiny_model), eager(tiny_model)
        replace_heads(edited, weights(corpus, instead, sentence))
        expected.append(cosine(*(edited_vector(model, corpus, sentence) for model in (own, edited))))
    np.testing.assert_allclose(measured(instead).vectors.changes, expected, atol=1e-5)


def test_own_patterns_put_back_change_nothing(corpus: Corpus, encode: Encode) -> None:
    def put_back(text: str, change: Change) -> Any:
        if not change.heads:
            return encode(text, change)
        own = encode(text, Change()).pattern
        return encode(text, Change(change.heads, "rule", np.stack([own[head] for head in change.heads]).tobytes()))

    found = Sampling(corpus, put_back, SENTENCES).measure(HEADS, "off", watch)
    assert found.vectors.changes.max() <= 1e-6
    assert found.vectors.spearman > 1 - 1e-6
    assert found.vectors.nearest == 1
    assert all(link.before == link.after for link in found.links)


def test_links_of_later_heads_are_counted_before_and_after(
    corpus: Corpus, measured: Callable[[Instead], SampleChange]
) -> None:
    """The counts before the replacement are those of the store over the same sentences."""
    sample, found = judged_sentences(corpus, SENTENCES), measured("off")
    assert found.links
    for link in found.links:
        assert link.layer > 0
        pairs = corpus.words.relations[link.relation]
        pairs = pairs.only(np.isin(pairs.sentence, sample))
        own = corpus.strongest_words.isel(layer=link.layer, head=link.head)
        attended, attending = own.most_attended.values, own.most_attending.values
        hits = (
            attended[pairs.source] == pairs.target_word,
            attended[pairs.target] == pairs.source_word,
            attending[pairs.source] == pairs.target_word,
        )[list(DIRECTIONS).index(link.direction)]
        assert (link.pairs, link.before) == (len(hits), pytest.approx(hits.mean(), abs=1 / len(hits)))
    pairs_of_all, before, after = found.linked
    assert pairs_of_all == sum(link.pairs for link in found.links)
    assert 0 <= min(before, after) <= max(before, after) <= 1


def test_the_measurement_says_how_far_it_is_and_ends_where_nobody_waits(corpus: Corpus, encode: Encode) -> None:
    shares: list[float] = []
    Sampling(corpus, encode, SENTENCES).measure(HEADS, "rule", lambda share, _: shares.append(share))
    assert len(shares) == 2 * SENTENCES + len(HEADS)
    assert shares == sorted(shares)
    assert 0 <= min(shares) < max(shares) < 1

    def leave(share: float, _: str | None) -> None:
        if share >= 0.5:
            raise ReaderLeft

    with pytest.raises(ReaderLeft):
        Sampling(corpus, encode, SENTENCES).measure(HEADS, "even", leave)


def test_the_numbers_have_names(measured: Callable[[Instead], SampleChange]) -> None:
    found = measured("even")
    named = found.labelled()
    assert float(named.change) == found.vectors.mean
    assert named.attrs["heads"] == "0-1.0-0"
    assert named.attrs["sentences"] == SENTENCES
    assert float(named.after.sel(relation=found.links[0].relation)) == found.links[0].after


# -- the page -------------------------------------------------------------------------------------------


def texts(part: object) -> str:
    return " ".join(str(each) for each in components(part) if isinstance(each, str))


def test_the_numbers_stand_in_a_table(measured: Callable[[Instead], SampleChange]) -> None:
    found = measured("off")
    text = texts(draw_sampled(found))
    assert f"{SENTENCES} of {SENTENCES}" in text
    assert f"{found.vectors.mean:.4f}" in text
    assert f"{100 * found.vectors.share:.2f}%" in text
    assert "linked by later heads" in text


ON = "?sentence=1&layer=1&head=0&heads=0"


@pytest.fixture(scope="module")
def roles_client(served_store: ServedStore) -> FlaskClient:
    return create_app(served_store).server.test_client()


def test_a_button_measures_over_the_corpus_where_a_head_is_replaced(roles_client: FlaskClient) -> None:
    assert "Measure over" not in shown(roles_client, "below", "/sentence", ON)
    page = shown(roles_client, "below", "/sentence", f"{ON}&without=0-1")
    assert "Measure over 100 sentences of the corpus" in page
    assert "sampled=1" in page


def test_the_measured_change_is_on_the_page(roles_client: FlaskClient) -> None:
    page = shown(roles_client, "below", "/sentence", f"{ON}&without=0-1&instead=mean&sampled=1")
    assert "of the distance between two sentences" in page


def test_more_than_some_readers_wait(roles_store: str) -> None:
    served_store = ServedStore(roles_store)
    context = resolve(served_store, "/sentence", f"{ON}&without=0-0&sampled=1")
    with ExitStack() as others:
        for _ in range(READERS):
            others.enter_context(served_store.service(Measuring).entered())
        with pytest.raises(NotYet):
            compute_sampled(context)


def test_what_was_measured_is_shown_while_others_measure(served_store: ServedStore) -> None:
    context = resolve(served_store, "/sentence", f"{ON}&without=0-0&instead=even&sampled=1")
    measured = compute_sampled(context)
    with ExitStack() as others:
        for _ in range(READERS):
            others.enter_context(served_store.service(Measuring).entered())
        assert [*map(str, components(compute_sampled(context)))] == [*map(str, components(measured))]


def test_a_store_without_roles_measures_no_rules(client: FlaskClient) -> None:
    assert "Measure over" not in shown(client, "below", "/sentence", f"{ON}&without=0-1&instead=rule")
    assert "Measure over" in shown(client, "below", "/sentence", f"{ON}&without=0-1&instead=mean")


def test_the_part_is_computed_after_the_page() -> None:
    assert SAMPLED in TOPICS["sentence"].deferred


# -- a classifier ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("judge") / "judge", architecture="BertForSequenceClassification")


@pytest.fixture(scope="module")
def labelled(classifier: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A corpus of the classifier on the reviews, whose labels it knows, without rules."""
    return open_corpus(ingest(tmp_path_factory.mktemp("labelled") / "store", model=classifier))


def test_answers_of_a_classifier_are_those_of_an_edited_model_of_transformers(
    labelled: Corpus, classifier: Path
) -> None:
    found = replace_heads_here(labelled, HEADS, "even", SENTENCES)
    logits: list[list[np.ndarray]] = [[], []]
    for sentence in judged_sentences(labelled, SENTENCES).tolist():
        model, edited = (BertForSequenceClassification.from_pretrained(classifier).double().eval() for _ in range(2))
        replace_heads(edited, weights(labelled, "even", sentence))
        token_id = torch.from_numpy(labelled.tokens.token_id.values[labelled.sentence_rows(sentence)].astype(np.int64))
        with torch.no_grad():
            for each, own in zip(logits, (model, edited), strict=True):
                each.append(own(input_ids=token_id[None]).logits[0].numpy())
    right = torch.from_numpy(labelled.sentences.label.values[judged_sentences(labelled, SENTENCES)].astype(np.int64))
    own, other = (torch.from_numpy(np.stack(each)) for each in logits)
    assert found.labels is not None
    assert found.labels.labelled == SENTENCES
    assert found.labels.same == pytest.approx(float((own.argmax(1) == other.argmax(1)).double().mean()))
    for scores, each in zip((found.labels.before, found.labels.after), (own, other), strict=True):
        assert scores is not None
        assert scores.accuracy == pytest.approx(float((each.argmax(1) == right).double().mean()))
        assert scores.loss == pytest.approx(float(torch.nn.functional.cross_entropy(each, right)), abs=1e-5)


def test_answers_of_a_classifier_are_on_the_page_and_labelled(labelled: Corpus) -> None:
    found = replace_heads_here(labelled, HEADS, "off", SENTENCES)
    assert "mean loss in nats" in texts(draw_sampled(found))
    assert found.labelled().loss.dims == ("when",)


def test_a_model_without_a_classifier_has_no_answers(measured: Callable[[Instead], SampleChange]) -> None:
    assert measured("off").labels is None
    assert "classifier" not in texts(draw_sampled(measured("off")))
