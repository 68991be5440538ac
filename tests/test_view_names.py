"""Names of views: every combination is parsed back, and nothing else."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.run.errors import IngestError
from ingest.run.settings import DEFAULT_VIEWS, Settings, parse
from store.schema.pictures import NORMALIZATIONS, PARAMETERS, PROJECTIONS, ViewName

NAMES = st.builds(
    ViewName, st.sampled_from(list(PROJECTIONS)), st.sampled_from(list(NORMALIZATIONS)), st.sampled_from([2, 3])
)


@given(NAMES)
def test_every_name_reads_back(name: ViewName) -> None:
    assert ViewName.parse(str(name)) == name


@given(st.text())
def test_a_view_name_that_parses_is_written_the_same(text: str) -> None:
    with suppress(ValueError):
        assert str(ViewName.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "pca", "pca-exact", "pca-exact-4d", "pca-exact-2d-3d", " pca-exact-2d", "PCA-exact-2d", "exact-pca-2d"]
)
def test_the_error_for_an_unknown_name_lists_projections_and_normalisations(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a view.*attentionviz.*shared"):
        ViewName.parse(text)


def test_the_title_of_a_view_names_projection_vectors_and_dimensions() -> None:
    assert (
        ViewName("attention", "raw", 3).title == "Map trained so that distance follows attention of raw vectors in 3D"
    )


def test_every_projection_has_a_formula() -> None:
    assert PARAMETERS.keys() == PROJECTIONS.keys()


@given(st.lists(NAMES, min_size=1, max_size=6))
def test_views_are_separated_by_commas(names: list[ViewName]) -> None:
    assert parse(["--views", " , ".join(map(str, names))]).view_names == names


def test_the_default_views_are_views_and_each_is_there_once() -> None:
    assert [str(name) for name in Settings().view_names] == list(DEFAULT_VIEWS)
    assert len(set(DEFAULT_VIEWS)) == len(DEFAULT_VIEWS)


@pytest.mark.parametrize("views", [",", " , "])
def test_at_least_one_view_is_required(views: str) -> None:
    with pytest.raises(IngestError, match=r"^--views names no view\. Give "):
        Settings(views=views)
