"""A store of one sentence: the text of pages where counts are 1."""

import re
from collections.abc import Callable

import pytest

from dashboard.compare.head_differences import means_over_heads
from dashboard.compare.two_models import ModelPair
from dashboard.features.picture import features_picture
from dashboard.features.shown import FeatureView
from dashboard.pages import TOPICS
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.stores import FEATURES

PLURAL = re.compile(r"(?<![\d.,])1 (?:sentences|tokens|pairs|heads|feature points)\b")


@pytest.fixture(scope="module")
def served_store(ingest: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> ServedStore:
    return ServedStore(ingest(tmp_path_factory.mktemp("one") / "store", sentences=1, **FEATURES))


def written(corpus: Corpus, content: object) -> str:
    """Text of a page, without the ingest's own notes on pictures."""
    text = str(content)
    for view in corpus.views:
        for name in ("fitted_on", "judged_on"):
            text = text.replace(str(corpus.view(view).attrs[name]), "")
    return text


@pytest.mark.parametrize(
    "link",
    [
        "heads",
        "head?tab=statistics",
        "head?tab=pairs",
        "head?tab=distance",
        "statistics",
        "statistics?where=position:1..3",
        "map",
        "sentence?find=e",
        "sentence?show=positions",
    ],
)
def test_a_page_says_1_sentence(served_store: ServedStore, link: str) -> None:
    page, _, search = link.partition("?")
    context = resolve(served_store, page, search)
    assert PLURAL.findall(written(context.corpus, TOPICS[page].layout(context))) == []


def test_the_picture_of_one_token_says_1_token(tiny_store: str) -> None:
    picture = features_picture(FeatureView.of(resolve(ServedStore(tiny_store), "features", ""), 1))
    assert picture.label.startswith("1 token of the sample at ")


def test_two_models_of_one_sentence_say_so(served_store: ServedStore) -> None:
    context = resolve(served_store, "compare", "")
    written = str(means_over_heads(context.state, ModelPair(context.corpus, context.corpus)))
    assert "Means over 1 sentence (9 tokens) of both models." in written
