"""A token set without a picture, as readers find it during an ingest and after a stopped one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard import shell
from dashboard.features.page import after_picture
from dashboard.pages import TOPICS, picture_of
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore
from store import open_corpus
from store.repository.writer import open_writer

MakeContext = Callable[..., Context]


@pytest.fixture
def context_of(tiny_store: str, tmp_path: Path) -> MakeContext:
    """A function that gives the context of page Features in a store where some token sets are not drawn yet."""

    def context_of(search: str, *, undrawn: tuple[str, ...]) -> Context:
        place = str(shutil.copytree(tiny_store, tmp_path / "store"))
        path = f"models/{open_corpus(place).name}/features"
        with open_writer(place) as writer:
            for name in undrawn:
                writer.group(f"{path}/{name}").attrs.update({"views": [], "value_views": []})
            writer.publish("before it is drawn")
        return resolve(ServedStore(place), "/features", search)

    return context_of


def written(context: Context) -> str:
    return str(TOPICS["features"].layout(context).above)


def test_a_link_to_it_says_what_to_do(context_of: MakeContext) -> None:
    context = context_of("material=review-3", undrawn=("review-3",))
    assert "Picture of the tokens of review 3: not computed. Run ', Code('headscape ingest')" in written(context)
    assert "children='Show the sample.', href='/features'" in written(context)


@pytest.mark.parametrize("search", ["fview=pca-joint", "vectors=1"])
def test_a_link_to_a_missing_picture_gets_a_notice(context_of: MakeContext, search: str) -> None:
    (notice,) = context_of(search, undrawn=("sample",)).notices
    assert notice == f"Ignored an invalid parameter: {search}"


def test_an_undrawn_token_set_has_a_page_without_a_picture(context_of: MakeContext) -> None:
    context = context_of("material=review-3", undrawn=("review-3",))
    read = TOPICS["features"].layout.read(context)
    assert shell.shown(context, TOPICS["features"], read, "")["material"] == "review-3"
    assert (picture_of(context), after_picture(read)) == (None, [])


def test_an_undrawn_token_set_is_not_offered(context_of: MakeContext) -> None:
    assert "review-3" not in written(context_of("", undrawn=("review-3",)))


def test_where_the_sample_is_not_drawn_a_review_can_be_chosen(context_of: MakeContext) -> None:
    context = context_of("q=film", undrawn=("sample",))
    assert "children='Show review 3.', href='/features?q=film&material=review-3'" in written(context)


def test_where_nothing_is_drawn_nothing_is_offered(context_of: MakeContext) -> None:
    page = written(context_of("", undrawn=("sample", "review-3")))
    assert "Picture of the tokens of the sample: not computed" in page
    assert "Show" not in page
