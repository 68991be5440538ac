"""A token set without a picture, as readers find it while an ingest draws and after one that was stopped."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard import shell
from dashboard.pages import PAGES, after_picture_of, picture_of
from dashboard.web.context import Context, resolve
from dashboard.web.library import Library
from store import open_corpus
from store.repository.writer import open_writer

Asked = Callable[..., Context]


@pytest.fixture
def asked(tiny_store: str, tmp_path: Path) -> Asked:
    """A link to the page Features of a store in which some token sets are not drawn yet."""

    def asked(search: str, *, undrawn: tuple[str, ...]) -> Context:
        context = str(shutil.copytree(tiny_store, tmp_path / "store"))
        path = f"models/{open_corpus(context).name}/features"
        with open_writer(context) as writer:
            for name in undrawn:
                writer.group(f"{path}/{name}").attrs.update({"views": [], "value_views": []})
            writer.publish("before it is drawn")
        return resolve(Library(context), "/features", search)

    return asked


def written(context: Context) -> str:
    return str(PAGES["features"](context).above)


def test_a_link_to_it_says_what_to_do(asked: Asked) -> None:
    context = asked("material=review-3", undrawn=("review-3",))
    assert "Picture of the tokens of review 3: not computed. Run `make ingest`." in written(context)
    assert "children='Show the sample.', href='/features'" in written(context)


@pytest.mark.parametrize("search", ["fview=pca-joint", "vectors=1"])
def test_what_a_link_asks_of_pictures_that_there_are_none_of_is_said(asked: Asked, search: str) -> None:
    (notice,) = asked(search, undrawn=("sample",)).notices
    assert notice == f"Ignored an invalid parameter: {search}"


def test_what_surrounds_the_page_is_there(asked: Asked) -> None:
    context = asked("material=review-3", undrawn=("review-3",))
    assert shell.shown(context, "")["material"] == "review-3"
    assert (picture_of(context), after_picture_of(context)) == (None, [])


def test_it_is_not_offered(asked: Asked) -> None:
    assert "review-3" not in written(asked("", undrawn=("review-3",)))


def test_where_the_sample_is_not_drawn_a_review_can_be_chosen(asked: Asked) -> None:
    context = asked("q=film", undrawn=("sample",))
    assert "children='Show review 3.', href='/features?q=film&material=review-3'" in written(context)


def test_where_nothing_is_drawn_nothing_is_offered(asked: Asked) -> None:
    page = written(asked("", undrawn=("sample", "review-3")))
    assert "Picture of the tokens of the sample: not computed" in page
    assert "Show" not in page
