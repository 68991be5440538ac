"""Relations that one of two models links better."""

from collections.abc import Callable

import numpy as np
import pytest

import store
from dashboard.app import create_app
from dashboard.compare.relations import changed_relations
from dashboard.relations.data import best_of
from dashboard.web.library import Library
from store.kernels.relations import DIRECTIONS, halves, linked
from store.kernels.words import StrongestWords
from tests.tiny_models import save_model
from tests.treebanks import write_treebank

Ingest = Callable[..., str]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two models on one treebank."""
    place = tmp_path_factory.mktemp("two")
    bank, other = write_treebank(place / "bank.conllu"), save_model(place / "other-bert", seed=5)
    ingest(place / "store", data=bank, annotate="auto", probes="none")
    return ingest(place / "store", data=bank, annotate="auto", probes="none", model=other)


@pytest.fixture(scope="module")
def models(two: str) -> tuple[store.Corpus, store.Corpus]:
    snapshot = store.open_snapshot(two)
    first, second = (snapshot.corpus(name) for name in snapshot.models)
    return first, second


def accuracy(corpus: store.Corpus, relation: str) -> float:
    """Of the best head, from the strongest words."""
    [best] = [best for best in best_of(corpus) if best.relation == relation]
    pairs = corpus.words.relations[relation]
    pairs = pairs.only(halves(corpus.n_sentences)[pairs.sentence])
    of_head = corpus.strongest_words.isel(layer=best.layer, head=best.head)
    strongest = StrongestWords(*(of_head[name].values for name in StrongestWords._fields))
    return float(linked(strongest, pairs)[list(DIRECTIONS).index(best.direction)].mean())


def test_a_change_is_the_difference_of_the_accuracies(models: tuple[store.Corpus, store.Corpus]) -> None:
    changes = {change.own.relation: change for change in changed_relations(*models)}
    for relation in ("det", "nsubj", "obj"):
        expected = accuracy(models[1], relation) - accuracy(models[0], relation)
        assert changes[relation].difference == pytest.approx(expected)
        low, high = changes[relation].interval
        assert low - 1e-9 <= expected <= high + 1e-9


def test_the_largest_change_comes_first(models: tuple[store.Corpus, store.Corpus]) -> None:
    sizes = [abs(change.difference) for change in changed_relations(*models)]
    assert sizes == sorted(sizes, reverse=True)


def test_a_model_has_not_changed_from_itself(models: tuple[store.Corpus, store.Corpus]) -> None:
    for change in changed_relations(models[0], models[0]):
        assert change.difference == 0
        assert np.allclose(change.interval, 0)


def test_the_page_names_relations_gained_and_lost(two: str) -> None:
    client = create_app(Library(two)).server.test_client()
    page = client.post("/data/page", data={"pathname": "/compare", "search": "", "snapshot": ""})
    assert "Relations gained and lost" in str(page.json["below"])
