"""What pages open on where nothing stands after a text: a tiny GPT-2."""

import pytest

from dashboard.compare.data import statistic_of
from dashboard.compare.two_models import ModelPair
from dashboard.lessons.lessons import lessons_of
from dashboard.web.state import LinkState
from store import Corpus, open_corpus
from tests.every_family import make_families


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return open_corpus(make_families(tmp_path_factory.mktemp("causal_pages") / "store", ["gpt2"]))


@pytest.mark.parametrize(("name", "statistic"), [("causal", "to_cls"), ("tiny_corpus", "to_sep")])
def test_attention_to_special_tokens_is_to_one_that_the_model_has(
    name: str, statistic: str, request: pytest.FixtureRequest
) -> None:
    corpus: Corpus = request.getfixturevalue(name)
    links = dict(link for lesson in lessons_of(corpus, LinkState(), []) for link in lesson.links)
    assert f"statistic={statistic}" in links["Figure 2: special tokens by layer"]
    two = ModelPair(corpus, corpus)
    assert statistic_of(LinkState(), two) == statistic
    assert statistic_of(LinkState(statistic="entropy"), two) == "entropy"
