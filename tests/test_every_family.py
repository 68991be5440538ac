"""A family of other special tokens than BERT's, without token types and with biases of distance, on every page."""

from functools import partial

import pytest

from store import Snapshot, open_snapshot
from store.verify import verify
from tests.browser import Open, serving
from tests.every_family import make_families, wrong_words
from tests.made_once import made_once

pytestmark = pytest.mark.slow
#: `make bench ONLY=families` takes all of them.
FAMILIES = ("mpnet",)


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return open_snapshot(str(made_once(tmp_path_factory, "families", partial(make_families, families=FAMILIES))))


def test_the_store_is_sound(families: Snapshot) -> None:
    assert list(verify(families)) == []


def test_every_page_is_shown_without_an_error_or_a_wrong_word(families: Snapshot, open_page: Open) -> None:
    with serving(families.url) as address:
        page = open_page(address)
        wrong = [each for key in families.models for each in wrong_words(page, address, families.corpus(key))]
        assert wrong == []
