"""Roles of heads beside labels by hand, and beside heads that a paper names: the check, on known labels."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import roc_auc_score

from ingest.run.errors import IngestError
from store import open_corpus
from tests.published.named_heads import (
    CLARK,
    KNOWN,
    LABELS,
    NamedHead,
    area,
    read_labels,
    show_named,
    told_heads,
    told_labels,
)
from tests.published.targets import HEADS, LAYERS


def shares(seed: int = 0) -> xr.DataArray:
    roles = [role for role, _ in LABELS.values()]
    values = np.random.default_rng(seed).random((len(roles), 3, 4))
    return xr.DataArray(values, {"role": roles}, ("role", "layer", "head"))


@pytest.mark.parametrize("seed", range(5))
def test_the_area_under_the_curve_is_that_of_another_library(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores, has = generator.integers(0, 5, 40).astype(float), generator.random(40) < 0.3
    assert area(scores, has) == pytest.approx(roc_auc_score(has, scores))


def test_without_a_head_of_each_kind_there_is_no_area() -> None:
    assert np.isnan(area(np.ones(3), np.ones(3, bool)))


def test_labels_are_read_by_layer_and_head(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("layer,head,label\n0,2,previous\n1,3, next \n2,0,\n")
    assert read_labels(file) == {(0, 2): "previous", (1, 3): "next", (2, 0): ""}


@pytest.mark.parametrize("text", ["layer,head\n0,1\n", "layer,head,label\nfirst,1,next\n", "layer,head,label\n0,1\n"])
def test_a_file_without_labels_says_what_to_write(text: str, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(text)
    with pytest.raises(IngestError, match=r"no columns layer, head and label\. Write one row"):
        read_labels(file)


def test_a_role_that_is_largest_in_the_labelled_heads_tells_the_label() -> None:
    given = shares()
    given.loc[{"role": "next"}][1, 2] = given.loc[{"role": "next"}][0, 3] = 2.0
    (told,) = told_labels(given, {(1, 2): "next", (0, 3): "next", (2, 2): "", (2, 1): "induction"})
    assert told.agrees
    assert told.number == "area under the curve 1.000, 2 of 12 heads"


def test_a_role_that_is_smallest_in_the_labelled_heads_differs() -> None:
    given = shares()
    given.loc[{"role": "previous"}][0, 0] = -1.0
    (told,) = told_labels(given, {(0, 0): "previous"})
    assert told.agrees is False


def test_a_fuzzy_label_agrees_and_differs_with_nothing() -> None:
    (told,) = told_labels(shares(), {(0, 0): "self"})
    assert told.agrees is None


@pytest.mark.parametrize(
    ("bias", "found", "agrees"), [(9.0, True, True), (9.0, False, False), (0.5, True, False), (np.nan, False, None)]
)
def test_a_named_head_has_its_role_where_the_test_finds_it_among_the_first(
    bias: float, found: bool, agrees: bool | None
) -> None:
    biases = np.linspace(1, 5, 12).reshape(1, 3, 4)
    biases[0, 1, 1] = bias
    dims = ("role", "layer", "head")
    tests = xr.Dataset(
        {"bias": (dims, biases), "found": (dims, np.full((1, 3, 4), found))}, {"role": ["verb_of_object"]}
    )
    told = told_heads(tests, [NamedHead(1, 1, "verb_of_object", "objects attend to verbs")], first=3)
    assert [row.agrees for row in told] == ([] if agrees is None else [agrees])


def test_what_is_published_fits_the_model() -> None:
    heads = [*KNOWN, *((named.layer, named.head) for named in CLARK)]
    assert all(0 <= layer < LAYERS and 0 <= head < HEADS for layer, head in heads)


def test_the_roles_of_a_store_are_printed_beside_the_labels(
    roles_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = show_named(open_corpus(roles_store), {(0, 1): "previous"}, [CLARK[0]._replace(layer=1, head=0)])
    printed = capsys.readouterr().out
    assert all(row.what in printed and row.number in printed for row in rows)
    assert rows[0].what == "label previous"
