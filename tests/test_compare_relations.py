"""Relations that one of two models links better."""

from collections.abc import Callable
from shutil import copytree

import numpy as np
import pytest

import store
from dashboard.app import create_app
from dashboard.compare.head_differences import changed_relations
from dashboard.compare.two_models import ModelPair
from dashboard.relations.data import BestHead, best_of
from dashboard.web.served_store import ServedStore
from store.kernels.relations import DIRECTIONS, StrongestWords, WordPairs, halves, linked
from tests.client import shown
from tests.tiny_models import save_model
from tests.treebanks import write_treebank

Ingest = Callable[..., str]
pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def two(bank_store: str, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two models on one treebank."""
    place = tmp_path_factory.mktemp("two")
    bank, other = write_treebank(place / "bank.conllu"), save_model(place / "other-bert", seed=5)
    copytree(bank_store, place / "store")
    return ingest(place / "store", data=bank, annotate="auto", probes="none", model=other)


@pytest.fixture(scope="module")
def models(two: str) -> tuple[store.Corpus, store.Corpus]:
    snapshot = store.open_snapshot(two)
    first, second = (snapshot.corpus(name) for name in snapshot.models)
    return first, second


def hits_of(corpus: store.Corpus, best: BestHead, pairs: WordPairs) -> np.ndarray:
    """A mask of the reported pairs that a head links, from its strongest words, in the order of the sentences."""
    pairs = pairs.only(halves(corpus.n_sentences)[pairs.sentence])
    of_head = corpus.strongest_words.isel(layer=best.layer, head=best.head)
    strongest = StrongestWords(*(of_head[name].values for name in StrongestWords._fields))
    return linked(strongest, pairs)[list(DIRECTIONS).index(best.direction)]


def accuracy(corpus: store.Corpus, relation: str) -> float:
    [best] = [best for best in best_of(corpus) if best.relation == relation]
    return float(hits_of(corpus, best, corpus.words.relations[relation]).mean())


def test_a_change_is_the_difference_of_the_accuracies(models: tuple[store.Corpus, store.Corpus]) -> None:
    changes = {change.own.relation: change for change in changed_relations(ModelPair(*models))}
    for relation in ("det", "nsubj", "obj"):
        expected = accuracy(models[1], relation) - accuracy(models[0], relation)
        assert changes[relation].difference == pytest.approx(expected)
        low, high = changes[relation].interval
        assert low - 1e-9 <= expected <= high + 1e-9


def test_the_largest_change_comes_first(models: tuple[store.Corpus, store.Corpus]) -> None:
    sizes = [abs(change.difference) for change in changed_relations(ModelPair(*models))]
    assert sizes == sorted(sizes, reverse=True)


def test_a_model_has_not_changed_from_itself(models: tuple[store.Corpus, store.Corpus]) -> None:
    for change in changed_relations(ModelPair(models[0], models[0])):
        assert change.difference == 0
        assert np.allclose(change.interval, 0)


@pytest.fixture(scope="module")
def unequal(two: str, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with the same two models, and a third model with the vectors of the first sentences alone."""
    place = tmp_path_factory.mktemp("unequal")
    copytree(two, place / "store")
    bank, third = write_treebank(place / "bank.conllu"), save_model(place / "third-bert", seed=6)
    return ingest(place / "store", data=bank, annotate="auto", probes="none", model=third, vectors="60")


def test_models_with_vectors_of_other_sentences_are_compared_in_those_that_both_have(unequal: str) -> None:
    snapshot = store.open_snapshot(unequal)
    third, *_, first = sorted(map(snapshot.corpus, snapshot.models), key=lambda corpus: corpus.n_sentences)
    [change] = [change for change in changed_relations(ModelPair(first, third)) if change.own.relation == "det"]
    pairs = first.words.relations["det"]
    reported = halves(first.n_sentences)[pairs.sentence] & (pairs.sentence < third.n_sentences)
    own, other = (
        hits_of(corpus, best, corpus.words.relations["det"])[: reported.sum()]
        for corpus, best in ((first, change.own), (third, change.other))
    )
    assert (change.own_accuracy, change.other_accuracy) == pytest.approx((own.mean(), other.mean()))


def test_the_page_compares_models_with_vectors_of_other_sentences(unequal: str) -> None:
    client = create_app(ServedStore(unequal)).server.test_client()
    assert "of which both models have vectors" in shown(client, "below", "/compare")


def test_the_page_names_relations_gained_and_lost(two: str) -> None:
    client = create_app(ServedStore(two)).server.test_client()
    assert "Relations gained and lost" in shown(client, "below", "/compare")
