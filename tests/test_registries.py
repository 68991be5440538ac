"""Names that are listed in several places are in every list."""

from typing import get_args

import numpy as np
import pytest

from dashboard.notes import target
from dashboard.statistics.heads import COLUMN_NAMES
from ingest.encode.compiled import PLACES
from ingest.projections import projection
from ingest.projections.normalizations import OF_LAYER
from store.kernels.relations import DIRECTIONS, StrongestWords, WordPairs, linked
from store.kernels.statistics import FORMULAS
from store.schema import check_complete
from store.schema.model import STATISTICS
from store.schema.pictures import NORMALIZATIONS, PARAMETERS, POINT_PROJECTIONS, PROJECTIONS, RAW, ViewName


def test_every_statistic_has_a_formula_a_place_in_the_compiled_pass_and_a_column() -> None:
    assert set(FORMULAS) == set(COLUMN_NAMES) == set(STATISTICS)
    assert PLACES._asdict() == {name: place for place, name in enumerate(STATISTICS)}


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        (["to_cls"], "module lacks the statistic 'to_sep'. Add it there as well."),
        (["to_cls", "to_sep", "to_me"], "module has the statistic 'to_me', which the schema lacks."),
    ],
)
def test_what_one_implementation_lacks_is_named(known: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_complete("module", known, ["to_cls", "to_sep"], "statistic")


def test_every_normalisation_has_constants() -> None:
    assert RAW in NORMALIZATIONS
    assert {*OF_LAYER, "shared"} == set(NORMALIZATIONS)


def test_every_projection_has_settings_and_parameters() -> None:
    assert set(PROJECTIONS) == set(PARAMETERS) == set(projection.PROJECTIONS)
    assert set(POINT_PROJECTIONS) <= set(PROJECTIONS)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_every_projection_of_every_normalisation_is_a_view(projection: str, normalization: str) -> None:
    name = f"{projection}-{normalization}-2d"
    assert str(ViewName.parse(name)) == name


def test_every_kind_of_note_is_read_by_a_class_of_its_own() -> None:
    assert list(target._CLASSES) == sorted(target._CLASSES, key=target.KINDS.index)
    assert set(target._CLASSES) == set(get_args(target.Kind))


def test_a_relation_is_counted_in_every_direction() -> None:
    words = np.zeros((1, 2), np.int16)
    pair = [np.zeros(1, np.int64)] * 5
    assert linked(StrongestWords(words, words), WordPairs(*pair)).shape == (len(DIRECTIONS), 1, 1)
