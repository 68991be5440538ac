"""The numbers of every head that page Models reads without opening a model."""

import shutil
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from dashboard.models.page import every_head
from store import STATISTICS, Corpus, open_corpus, open_snapshot
from store.repository.errors import NotIngested
from tests.stores import rewritten


class Unopened(Corpus):
    """A corpus that nobody may open."""

    def __init__(self, *_given: object, **_named: object) -> NoReturn:
        raise AssertionError("A model was opened")


def test_the_heads_of_all_models_are_read_without_opening_one(three_models: str) -> None:
    assert len(every_head(open_snapshot(three_models, kind=Unopened)).models) == 3


def test_they_are_those_of_the_opened_corpus(roles_store: str) -> None:
    corpus = open_corpus(roles_store)
    numbers, roles = corpus.head_numbers, corpus.head_numbers.roles
    assert roles is not None
    assert list(numbers.statistics) == list(STATISTICS)
    for name, values in numbers.statistics.items():
        np.testing.assert_array_equal(values, corpus.head_statistic.sel(source="all", statistic=name))
    np.testing.assert_array_equal(roles.iou, corpus.rules.iou.sel(rules="six"))
    np.testing.assert_array_equal(roles.context, corpus.rules.variance_share.sel(part="context"))
    for kind, share in roles.of_kinds.items():
        np.testing.assert_allclose(share, corpus.roles.share.sel(role=corpus.roles.kind == kind).sum("role"))


def test_what_the_store_has_not_is_none(tiny_corpus: Corpus) -> None:
    numbers = tiny_corpus.head_numbers
    assert (numbers.importance, numbers.roles) == (None, None)


def test_roles_of_words_that_were_annotated_anew_are_none(roles_store: str, tmp_path: Path) -> None:
    place = shutil.copytree(roles_store, tmp_path / "store")
    with rewritten(place) as writer:
        group = writer.group(f"models/{open_corpus(str(place)).name}/roles")
        group.attrs["annotation"] = {"kind": "another"}
    corpus = open_corpus(str(place))
    assert corpus.head_numbers.roles is None
    with pytest.raises(NotIngested):
        _ = corpus.roles
