"""Heads that are switched off on page Sentence, and the changes downstream that the page shows."""

from dataclasses import replace
from typing import Any
from urllib.parse import quote_plus

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.pages import TOPICS
from dashboard.sentence.change import (
    LISTED,
    AnswerChange,
    Change,
    ChangedPair,
    answer_changes,
    attention_change,
    changed_pairs,
    vector_change,
)
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sentence import Sentence
from dashboard.sentence.without import WITHOUT, ShownChange, cannot_change, change_of, draw_change, draw_choices
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from dashboard.web.state import MOST_CHANGED, LinkState
from store import Corpus, open_corpus
from store.kernels.heads import row_divergence
from tests.client import above, shown
from tests.components import components
from tests.sentences import a_pair

ON = "?sentence=1&layer=1&head=0&heads=0"


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


@pytest.fixture(scope="module")
def served_store(roles_store: str) -> ServedStore:
    return ServedStore(roles_store)


@pytest.fixture(scope="module")
def roles_client(served_store: ServedStore) -> FlaskClient:
    return create_app(served_store).server.test_client()


def texts(part: object) -> str:
    return "".join(str(each) for each in components(part) if isinstance(each, str))


def below(client: FlaskClient, query: str) -> str:
    return shown(client, "below", "/sentence", query)


# -- the link -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read", "notices"),
    [
        ("0-1", "0-1", 0),
        ("0-1.1-0.0-1", "0-1.1-0", 0),
        ("00-01", "0-1", 0),
        ("9-9", None, 1),
        ("0-1.9-9", "0-1", 1),
        ("all", None, 1),
        ("0-1;drop", None, 1),
        (".".join(["0-1"] * (MOST_CHANGED + 1)), None, 1),
        ("9" * 3000, None, 1),
    ],
)
def test_a_link_holds_heads_of_the_model_each_once(
    written: str, read: str | None, notices: int, tiny_store: str
) -> None:
    context = resolve(ServedStore(tiny_store), "/sentence", f"?without={written}&layer=1")
    assert (context.state.without, len(context.notices)) == (read, notices)


def test_an_unknown_replacement_is_ignored_with_a_notice(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "/sentence", "?without=0-1&instead=noise")
    assert context.state.instead == "off"
    assert context.notices == ("Ignored an invalid parameter: instead=noise",)


# -- changes --------------------------------------------------------------------------------------------


def test_even_weights_and_none_are_the_same_for_every_pair() -> None:
    for instead, weight in (("even", 0.25), ("off", 0.0)):
        patterns = Change(((0, 1), (2, 0)), instead).patterns(4)  # type: ignore[arg-type]
        assert list(patterns) == [(0, 1), (2, 0)]
        np.testing.assert_array_equal(patterns[2, 0], np.full((4, 4), weight, np.float32))


def test_predicted_patterns_are_those_of_their_heads() -> None:
    weights = np.random.default_rng(0).random((2, 3, 3)).astype(np.float32)
    patterns = Change(((1, 1), (0, 0)), "rule", weights.tobytes()).patterns(3)
    np.testing.assert_array_equal(patterns[1, 1], weights[0])
    np.testing.assert_array_equal(patterns[0, 0], weights[1])


def test_a_head_is_later_where_it_is_above_the_first_changed_one_and_not_changed() -> None:
    change = Change(((1, 0), (3, 2)))
    heads = [(0, 0), (1, 1), (2, 0), (3, 2), (3, 1)]
    assert [change.is_later(*head) for head in heads] == [False, False, True, False, True]


def both(seed: int = 0) -> tuple[Sentence, Sentence]:
    """A pair of sentences as encoded before and after a change: its queries of the second layer and its last vectors differ."""
    chance = np.random.default_rng(seed)
    own = a_pair()
    own = replace(own, last=chance.normal(size=(len(own.wordpieces), 6)).astype(np.float32))
    query = np.array(own.query)
    query[1] += chance.normal(size=query[1].shape)
    return own, replace(own, query=query, last=own.last + 1)  # type: ignore[operator]


def test_the_vector_of_a_sentence_is_the_mean_over_its_words() -> None:
    before, after = both()
    words = [place for place, word in enumerate(before.word_index) if word >= 0]
    own, other = (np.asarray(each.last, np.float64)[words].mean(axis=0) for each in (before, after))
    cosine = own @ other / (np.linalg.norm(own) * np.linalg.norm(other))
    assert vector_change(before, after) == pytest.approx(1 - cosine)
    assert vector_change(before, before) == pytest.approx(0, abs=1e-12)


def test_the_change_of_attention_is_the_mean_divergence_of_the_rows() -> None:
    before, after = both()
    expected = row_divergence(before.pattern.astype(np.float64), after.pattern.astype(np.float64)).mean(axis=-1)
    found = attention_change(before, after)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert found[0].max() < 1e-9 < found[1].min()


def test_the_pairs_of_a_head_are_those_whose_weights_change_most() -> None:
    before, after = both()
    found = changed_pairs(before, after, 1, 0)
    difference = np.abs(after.pattern[1, 0] - before.pattern[1, 0])
    assert [abs(pair.after - pair.before) for pair in found] == pytest.approx(
        np.sort(difference, axis=None)[::-1][:LISTED]
    )
    assert [difference[pair.query, pair.key] for pair in found] == pytest.approx(
        sorted(difference.ravel())[: -LISTED - 1 : -1]
    )
    assert changed_pairs(before, before, 1, 0) == []


def test_answers_of_a_classifier_are_probabilities_before_and_after() -> None:
    before, after = both()
    assert answer_changes(before, after) == []
    names = ("negative", "positive")
    logits = (np.log([1, 3]).astype(np.float32), np.zeros(2, np.float32))
    found = answer_changes(
        *(replace(each, answer=own, answers=names) for each, own in zip(both(), logits, strict=True))
    )
    assert [answer.name for answer in found] == ["positive", "negative"]
    assert [answer[1:] for answer in found] == [pytest.approx((0.75, 0.5)), pytest.approx((0.25, 0.5))]


# -- the panel ------------------------------------------------------------------------------------------


def drawn(**changes: Any) -> ShownChange:
    divergence = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.01, 0.3, 0.2], [0.1, 0.05, 0.04]])
    pairs = [ChangedPair(2, 3, 0.5, 0.25), ChangedPair(1, 0, 0.1, 0.2)]
    state = LinkState(page="sentence", layer=2, head=1, without="1-2")
    fields = (state, Change(((1, 2),)), 0.5, divergence, 2, 1, ("[CLS]", "not", "good", "[SEP]"), (2, 1), pairs)
    return replace(ShownChange(*fields), **changes)


def test_the_change_is_said_in_words() -> None:
    text = texts(draw_change(drawn()))
    assert text.startswith("The sentence vector turns by 60.0° (1 − cosine 0.5000).")
    assert "attention changes most in L2 H1 (300.0), L2 H2 (200.0), L3 H0 (100.0) thousandths of a nat." in text


def test_the_answers_of_a_classifier_are_said() -> None:
    assert "Answer" not in texts(draw_change(drawn()))
    answers = [AnswerChange("positive", 0.75, 0.5)]
    assert "Answer positive: 75% before, 50% after." in texts(draw_change(drawn(answers=answers)))


def test_the_largest_change_of_a_later_head_has_the_full_colour() -> None:
    changes = drawn().divergence.copy()
    changes[1, 2] = 0.9  # of the head that is off, which shows no number
    cells = [
        each for each in components(draw_change(drawn(divergence=changes))) if "--share" in getattr(each, "style", {})
    ]
    assert max(int(cell.style["--share"].removesuffix("%")) for cell in cells) == 100


def test_every_cell_is_a_link_to_its_head_that_says_its_change() -> None:
    cells = [
        each for each in components(draw_change(drawn())) if getattr(each, "href", None) and hasattr(each, "aria-label")
    ]
    assert len(cells) == 12
    says = {getattr(cell, "aria-label"): cell for cell in cells}
    assert texts(says["L2 H1 changes by 300.0 thousandths of a nat"].children) == "300"
    assert texts(says["L1 H2 is off"].children) == "off"
    assert "layer=2&head=1&" in says["L2 H1 changes by 300.0 thousandths of a nat"].href
    assert texts(says["L1 H0 is not above a changed head"].children) == ""


@pytest.mark.parametrize(
    ("largest", "others"),
    [(0.3, ["300", "200", "100"]), (0.03, ["30.0", "20.0", "10.0"]), (0.003, ["3.00", "2.00", "1.00"])],
)
def test_small_changes_have_the_decimals_by_which_they_differ(largest: float, others: list[str]) -> None:
    every = drawn().divergence
    drawn_parts = components(draw_change(drawn(divergence=every * (largest / every.max()))))
    cells = [texts(each) for each in drawn_parts if "--share" in getattr(each, "style", {})]
    assert cells[7:10] == [*others]


@pytest.mark.parametrize(
    ("instead", "said"),
    [("rule", "L1 H2 attends as its rules predict"), ("even", "L1 H2 attends evenly to all tokens")],
)
def test_a_changed_head_says_what_it_does_instead(instead: Any, said: str) -> None:
    shown = drawn()
    changed = replace(shown, change=replace(shown.change, instead=instead))
    assert said in [getattr(each, "aria-label", "") for each in components(draw_change(changed))]


def test_a_link_that_switches_a_head_does_not_measure_the_others() -> None:
    state = LinkState(page="sentence", layer=2, head=1, without="1-2.0-0", sampled="1")
    assert not [href for href in hrefs(draw_choices(state, (2, 1), has_rules=True)).values() if "sampled" in href]


def test_the_other_sentence_may_be_as_long_as_a_long_sentence(tiny_store: str) -> None:
    text = "the film was not very good and we loved it " * 18
    context = resolve(ServedStore(tiny_store), "/sentence", f"?without=0-1&instead=patch&patch={quote_plus(text)}")
    assert context.state.patch == text.strip()
    assert context.notices == ()
    longer = resolve(ServedStore(tiny_store), "/sentence", f"?patch={quote_plus(2 * text)}")
    assert longer.notices == ("patch is longer than 1,000 characters; using the first 1,000",)


def test_the_pairs_stand_with_their_weights_before_and_after() -> None:
    rows = [
        texts(row)
        for each in components(draw_change(drawn()))
        if type(each).__name__ == "Tbody"
        for row in each.children
    ]
    assert rows[-2:] == ["good at 2[SEP] at 350.0%25.0%", "not at 1[CLS] at 010.0%20.0%"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"layer": 1, "head": 2}, "L1 H2 is changed itself"),
        ({"layer": 1, "head": 0}, "L1 H0 is not above a changed head"),
        ({"pairs": []}, "No weight of L2 H1 changes"),
        ({"change": Change(((3, 0),))}, "No head comes later"),
    ],
)
def test_what_is_not_there_is_said(changes: dict[str, Any], said: str) -> None:
    assert said in texts(draw_change(drawn(**changes)))


@pytest.mark.parametrize(("layer", "head"), [(1, 2), (1, 0)])
def test_where_the_shown_head_cannot_change_the_pairs_are_of_the_one_that_changes_most(layer: int, head: int) -> None:
    text = texts(draw_change(drawn(layer=layer, head=head)))
    assert "Largest changes of L2 H1:" in text
    assert "good at 2[SEP] at 350.0%25.0%" in text


def hrefs(part: object) -> dict[str, str]:
    each = [button for button in components(part) if hasattr(button, "data-href")]
    return {texts(button.children): getattr(button, "data-href") for button in each}


def test_a_button_switches_the_shown_head_off_and_another_on_again() -> None:
    state = LinkState(page="sentence", layer=2, head=1, without="1-2.0-0")
    links = hrefs(draw_choices(state, (2, 1), has_rules=True))
    assert "without=1-2.0-0.2-1" in links["Switch off L2 H1"]
    assert links["L1 H2 ✕"].endswith("without=0-0")
    assert "without" not in links["Switch all on again"]
    assert "Switch L1 H2 on again" in hrefs(draw_choices(state, (1, 2), has_rules=True))


def test_beyond_the_most_heads_there_is_no_button() -> None:
    heads = [f"{layer}-{head}" for layer in range(2) for head in range(MOST_CHANGED // 2)]
    state = LinkState(page="sentence", layer=2, head=1, without=".".join(heads))
    choices = draw_choices(state, (2, 1), has_rules=True)
    assert "Switch off L2 H1" not in hrefs(choices)
    assert "24 heads can be switched off at once." in texts(choices)


# -- the page -------------------------------------------------------------------------------------------


def test_without_a_head_the_page_computes_nothing(roles_client: FlaskClient) -> None:
    page = below(roles_client, ON)
    assert "If heads were not there" in page
    assert "Switch off L1 H0" in page
    assert "The sentence vector turns" not in page


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ("off", "is off"),
        ("even", "attends evenly"),
        ("mean", "attends as on average"),
        ("rule", "attends as its rules"),
    ],
)
def test_one_head_changes_the_sentence_vector_and_the_later_heads(
    instead: str, said: str, roles_client: FlaskClient
) -> None:
    page = below(roles_client, f"{ON}&without=0-1&instead={instead}")
    assert "The sentence vector turns by" in page
    assert "Largest changes of L1 H0" in page
    assert f"L0 H1 {said}" in page


def test_a_typed_sentence_is_changed_too_but_has_no_rules(
    roles_client: FlaskClient, served_store: ServedStore, corpus: Corpus
) -> None:
    query = "?text=The+film+was+good.&layer=1&head=0&heads=0&without=0-1"
    served_store.service(TypedSentences).encode(corpus, "A film.")  # the first sentence of a model waits for it
    assert "The sentence vector turns by" in below(roles_client, query)
    assert "Rules are known of sentences of the corpus" in below(roles_client, f"{query}&instead=rule")


PATCHED = "?text=The+film+was+good.&layer=1&head=0&heads=0&without=0-1&instead=patch"


def test_without_another_sentence_the_page_asks_for_one_of_as_many_tokens(roles_client: FlaskClient) -> None:
    page = below(roles_client, PATCHED)
    assert "Type another sentence with 7 tokens" in page
    assert "The other sentence" in page


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("The+music+was+great.", "The sentence vector turns by"),
        ("The+film+was+good.", "The sentence vector turns by 0.0\u00b0"),
        ("We+loved+it.", "This sentence has 7 tokens, the other one 6. Type another one with 7 tokens"),
    ],
)
def test_heads_attend_as_in_another_sentence_of_as_many_tokens(
    other: str, said: str, roles_client: FlaskClient, served_store: ServedStore, corpus: Corpus
) -> None:
    served_store.service(TypedSentences).encode(corpus, "A film.")  # the first sentence of a model waits for it
    assert said in below(roles_client, f"{PATCHED}&patch={other}")


def test_the_patterns_of_the_other_sentence_are_put_in(served_store: ServedStore, corpus: Corpus) -> None:
    typed = served_store.service(TypedSentences)
    own, other = (typed.encode(corpus, text) for text in ("The film was good.", "The music was great."))
    state = LinkState(page="sentence", without="1-0.0-1", instead="patch", patch="The music was great.")
    patterns = change_of(typed, corpus, state, own).patterns(len(own.wordpieces))
    for head in ((1, 0), (0, 1)):
        np.testing.assert_array_equal(patterns[head], other.pattern[head])


def test_over_the_corpus_heads_do_not_attend_as_in_another_sentence(roles_client: FlaskClient) -> None:
    assert "Measure over" not in below(roles_client, PATCHED)


def test_a_store_without_roles_offers_no_rules(client: FlaskClient) -> None:
    page = below(client, ON)
    assert "attend evenly" in page
    assert "as its rules predict" not in page
    assert "Rules are known" in below(client, f"{ON}&without=0-1&instead=rule")


def test_hostile_heads_give_a_notice_and_no_error(client: FlaskClient) -> None:
    assert "Ignored an invalid parameter: without=" in above(
        client, "/sentence", f"{ON}&without=<script>alert(1)</script>"
    )


def test_the_part_is_computed_after_the_page() -> None:
    assert WITHOUT in TOPICS["sentence"].deferred


@pytest.fixture
def lost_client(tiny_store: str) -> tuple[FlaskClient, Corpus]:
    """A client and the corpus of a server, which a test may change."""
    served_store = ServedStore(tiny_store)
    return create_app(served_store).server.test_client(), served_store.snapshot().corpus(None)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (None, "the store does not say where its model is"),
        ("nobody/nothing", "cannot be loaded. Put its checkpoint back"),
    ],
)
def test_without_a_checkpoint_the_page_says_so(
    model: str | None, said: str, lost_client: tuple[FlaskClient, Corpus]
) -> None:
    client, corpus = lost_client
    provenance = {**corpus.attributes["provenance"], "settings": {"model": model}}
    corpus.attributes = {**corpus.attributes, "provenance": provenance}
    assert said in below(client, f"{ON}&without=0-1")


def test_a_server_without_torch_says_so(tiny_corpus: Corpus) -> None:
    assert "this server lacks PyTorch" in cannot_change(tiny_corpus, has_torch=False)
