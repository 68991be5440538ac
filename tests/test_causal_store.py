"""A model whose tokens see no later token: numbers and pages of a tiny GPT-2, whose first token stands for [CLS]."""

import re
from pathlib import Path

import numpy as np
import pytest
import transformers

from dashboard.compare.data import statistic_of
from dashboard.compare.two_models import ModelPair
from dashboard.lessons.lessons import lessons_of
from dashboard.programs.tools import StoreTools
from dashboard.publish import main
from dashboard.relations.example import MarkedPair, rank_heads
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from ingest.encode.sample import review_token_set
from ingest.run.checkpoint import find_checkpoint
from ingest.text.reviews import find_data, read_reviews
from store import Corpus, StoreError, open_corpus
from store.hypothesis import HypothesisSentence
from store.kernels.head_tables import FARTHEST
from store.replacement import mean_patterns
from store.rules import RuleSentences
from store.schema.corpus import FIRST
from store.schema.model import STATISTICS
from tests.family_models import save_family
from tests.stores import ingest_small

LAYER, HEAD = 1, 0


@pytest.fixture(scope="module")
def corpus(causal_store: str) -> Corpus:
    return open_corpus(causal_store)


def test_published_pages_call_the_first_token_by_no_name_that_it_has_not(causal_store: str, tmp_path: Path) -> None:
    """The names are searched in the drawings of scripts, in the list of kinds and in the dots of the map too."""
    assert main([causal_store, f"--out={tmp_path / 'site'}", "--sentences=1", "--tokens=40"]) == 0
    pages = {path.name: path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html")}
    assert [name for name, text in pages.items() if "[CLS]" in text or "[SEP]" in text] == []
    does = [re.search(r'<p class="what-it-does">(.*?)</p>', text) for name, text in pages.items() if name[0] == "L"]
    assert any(found and "first token" in found[1].lower() for found in does)


def neighbours(sentence: HypothesisSentence) -> np.ndarray:
    named: np.ndarray = abs(sentence.tokens.offset) == 1
    return named


def previous(sentence: HypothesisSentence) -> np.ndarray:
    named: np.ndarray = sentence.tokens.offset == -1
    return named


def test_a_hypothesis_on_later_tokens_is_one_on_those_that_are_seen(corpus: Corpus) -> None:
    found, expected = (corpus.hypothesis(names, sentences=10) for names in (neighbours, previous))
    assert found.drop_attrs().identical(expected.drop_attrs())


def test_logits_by_distance_are_of_the_places_that_words_have(corpus: Corpus) -> None:
    """Written out: each query's logit to each key that it sees, above their mean."""
    tables = corpus.head_tables(LAYER, HEAD)
    query, key = (tables.mean[side, 0] + tables.position[side, 0, :-1] for side in (0, 1))
    logits = (query @ key.T).astype(np.float64) / query.shape[-1] ** 0.5
    sums, counts = np.zeros((2, 2 * FARTHEST + 1))
    for sentence in RuleSentences.stored(corpus._roles).in_tables.tolist():
        tokens = len(corpus.rule_text.sentence(sentence))
        for place in range(1, tokens):
            seen = logits[place, 1 : place + 1]
            for other in range(max(1, place - FARTHEST), place + 1):
                sums[other - place + FARTHEST] += logits[place, other] - seen.mean()
                counts[other - place + FARTHEST] += 1
    expected = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    np.testing.assert_allclose(corpus.head_dictionary(LAYER, HEAD).offset_logit, expected, atol=1e-5)


def test_a_mean_pattern_is_of_the_keys_that_are_seen(corpus: Corpus) -> None:
    """Written out: mean multiples of even attention by offset, and whether query and key are the first token."""
    multiples: dict[tuple[bool, bool, int], list[float]] = {}
    for sentence in corpus.rule_sentences.fitted.tolist():
        pattern = corpus.weights(sentence, layer=LAYER, head=HEAD)
        for query, key in zip(*np.tril_indices(len(pattern)), strict=True):
            cell = bool(query == 0), bool(key == 0), max(int(key - query), -20)
            multiples.setdefault(cell, []).append(pattern[query, key] * (query + 1))
    rows = corpus.sentence_rows(int(corpus.rule_sentences.fitted[0]))
    tokens = rows.stop - rows.start
    expected = np.zeros((tokens, tokens))
    for query, key in zip(*np.tril_indices(tokens), strict=True):
        expected[query, key] = np.mean(multiples[bool(query == 0), bool(key == 0), max(int(key - query), -20)])
    expected /= expected.sum(axis=1, keepdims=True)
    found = mean_patterns(corpus, [(LAYER, HEAD)], corpus.tokens.token_flags.values[rows])[0]
    np.testing.assert_allclose(found, expected, rtol=0.01)


def test_programs_are_told_the_names_of_special_tokens_that_pages_show(causal_store: str, corpus: Corpus) -> None:
    tools = StoreTools(ServedStore(causal_store))
    cards = [tools.describe_head(layer, head) for layer in range(corpus.layers) for head in range(corpus.heads)]
    said = [text for card in cards for text in (card.does, *(role.title for role in card.roles))]
    said += [text for role in tools.list_roles() for text in (role.title, role.meaning)]
    assert "First token" in said
    assert not [text for text in said if "[CLS]" in text or "[SEP]" in text]


def test_programs_are_refused_a_ranking_by_a_token_that_no_text_has(causal_store: str) -> None:
    tools = StoreTools(ServedStore(causal_store))
    with pytest.raises(StoreError, match=r"puts no token after a text: no attention goes there\. Choose another"):
        tools.rank_heads("to_sep")


def test_programs_are_refused_a_ranking_by_tokens_that_no_query_sees(causal_store: str) -> None:
    with pytest.raises(StoreError, match=r"sees those before it: no attention goes to later tokens\. Choose another"):
        StoreTools(ServedStore(causal_store)).rank_heads("to_next")


def test_programs_are_refused_sentences_by_a_token_that_no_text_has(causal_store: str) -> None:
    with pytest.raises(StoreError, match=r"puts no token after a text: no attention goes there\. Choose another"):
        StoreTools(ServedStore(causal_store)).sentences_of_head(LAYER, HEAD, "to_sep")


def test_sentences_of_a_head_are_by_the_name_of_special_tokens_that_pages_show(causal_store: str) -> None:
    found = StoreTools(ServedStore(causal_store)).sentences_of_head(LAYER, HEAD, "to_cls")
    assert found.what == "attention to the first token in L1 H0, tenth 1 of 10, largest first"


def test_programs_are_refused_a_comparison_where_both_models_see_no_later_token(
    tiny_data: Path, tmp_path: Path
) -> None:
    for seed in range(2):
        model = save_family(tmp_path / f"gpt2-{seed}", "gpt2", seed=seed)
        ingest_small(tmp_path / "store", model=model, data=tiny_data)
    tools = StoreTools(ServedStore(str(tmp_path / "store")))
    second, first = (model.name for model in tools.list_models().models)
    with pytest.raises(StoreError, match=r"sees those before it: no attention goes to later tokens\. Choose another"):
        tools.compare_models(second, "to_next", model=first)
    assert tools.compare_models(second, "to_previous", model=first).statistic == "to_previous"


def test_programs_are_told_the_statistics_that_say_something_of_a_model(causal_store: str, corpus: Corpus) -> None:
    """A card of a head has as many statistics."""
    tools = StoreTools(ServedStore(causal_store))
    listed = {each.name: each for each in tools.list_statistics(corpus.name)}
    assert STATISTICS.keys() - listed.keys() == {"to_sep", "norm_to_sep", "to_next"}
    assert listed["to_cls"].title == "attention to the first token"
    assert "[CLS]" not in str(listed)
    assert "[SEP]" not in str(listed)
    assert len(tools.describe_head(LAYER, HEAD).statistics) == len(listed)


def test_a_whole_review_is_tokenized_as_one_text(tmp_path: Path) -> None:
    text = "The film ended. The actors left."
    (tmp_path / "reviews.txt").write_text(f"{text}\n")
    reviews = read_reviews(find_data(str(tmp_path / "reviews.txt")), text="text", label="label")
    folder = save_family(tmp_path / "model", "gpt2")
    found = review_token_set(find_checkpoint(str(folder)), reviews, 0).columns
    expected = transformers.AutoTokenizer.from_pretrained(folder)(text)["input_ids"]
    assert found["token_id"].tolist() == expected
    second = len(transformers.AutoTokenizer.from_pretrained(folder)("The film ended.")["input_ids"])
    assert found["sentence_index"].tolist() == [0] * second + [1] * (len(expected) - second)
    assert np.flatnonzero(found["token_flags"] & FIRST).tolist() == [0]


def test_a_first_word_that_sees_no_other_is_no_link_of_a_head(corpus: Corpus) -> None:
    ranked = rank_heads(corpus, [MarkedPair(0, 0, 1)])
    assert {(each.linked, each.weight) for each in ranked} == {(0, 0.0)}
    assert max(each.linked for each in rank_heads(corpus, [MarkedPair(0, 1, 0)])) == 1


@pytest.mark.parametrize(("name", "statistic"), [("corpus", "to_cls"), ("tiny_corpus", "to_sep")])
def test_attention_to_special_tokens_is_to_one_that_the_model_has(
    name: str, statistic: str, request: pytest.FixtureRequest
) -> None:
    opened: Corpus = request.getfixturevalue(name)
    links = dict(link for lesson in lessons_of(opened, LinkState(), []) for link in lesson.links)
    assert f"statistic={statistic}" in links["Figure 2: special tokens by layer"]
    two = ModelPair(opened, opened)
    assert statistic_of(LinkState(), two) == statistic
    assert statistic_of(LinkState(statistic="entropy"), two) == "entropy"
