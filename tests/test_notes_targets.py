"""Targets of notes: the same after a refresh, on every model that still has them, with keys that are read as written."""

from contextlib import suppress
from dataclasses import replace
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.notes.target import (
    HeadTarget,
    PairTarget,
    PointTarget,
    SentenceTarget,
    Target,
    TokenTarget,
    ViewTarget,
    link_to,
    parse_target,
)
from dashboard.pages import TOPICS
from dashboard.web.context import resolve
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, Snapshot, open_corpus
from store.repository.access import open_repository
from store.repository.history import history
from tests.three_models import key_of

SHA, HASH, INDEX = (
    st.text("0123456789abcdef", min_size=64, max_size=64),
    st.text("0123456789abcdef", min_size=16, max_size=16),
    st.integers(0, 9999),
)
NAME = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters=[chr(code) for code in range(32)]), max_size=40
)
LINKS = st.builds(
    lambda page, q: LinkState(page=page, q=q or None).href,
    st.sampled_from(list(TOPICS)),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
)
TARGETS = st.one_of(
    st.builds(HeadTarget, SHA, INDEX, INDEX),
    st.builds(SentenceTarget, HASH),
    st.builds(TokenTarget, HASH, INDEX, NAME),
    st.builds(PairTarget, HASH, INDEX, INDEX, NAME, st.sampled_from(["forward", "backward", "received"]), NAME),
    st.builds(PointTarget, SHA, NAME, NAME, NAME),
    st.builds(ViewTarget, SHA, NAME, LINKS),
)


@given(TARGETS)
def test_a_key_is_read_as_it_was_written(target: Target) -> None:
    assert parse_target(target.key) == target


@given(st.text() | st.lists(NAME | st.sampled_from(["head", "view", "ab" * 32]), max_size=7).map("/".join))
def test_any_other_text_is_refused_as_a_key(text: str) -> None:
    with suppress(Refusal):
        assert isinstance(parse_target(text), Target)


@pytest.mark.parametrize(
    "link", ["//evil.org", "https://evil.org", "javascript:alert(1)", "/head\n", "/a/b", "/head#x"]
)
def test_a_key_holds_no_link_to_elsewhere(link: str) -> None:
    with pytest.raises(Refusal):
        parse_target(f"view/{'ab' * 32}/reviews/{quote(link, safe='')}")


def state_of(served_store: ServedStore, href: str | None) -> LinkState:
    """State of the page at a link, which must give no notice."""
    page, _, search = (href or "").partition("?")
    context = resolve(served_store, page, search)
    assert (href is not None, context.notices) == (True, ())
    return context.state


@pytest.fixture(scope="module")
def served_store(tiny_store: str) -> ServedStore:
    return ServedStore(tiny_store)


def test_a_head_opens_its_page(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    target = HeadTarget.of(tiny_corpus, 1, 0)
    state = state_of(served_store, target.href(tiny_corpus))
    assert (state.page, state.layer, state.head, target.title(tiny_corpus)) == ("head", 1, 0, "L1 H0")
    assert HeadTarget.of(tiny_corpus, 99, 0).href(tiny_corpus) is None


def test_a_sentence_opens_its_page(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    target = SentenceTarget.of(tiny_corpus, 5)
    state = state_of(served_store, target.href(tiny_corpus))
    assert (state.page, state.sentence) == ("sentence", 5)
    assert target.title(tiny_corpus) == str(tiny_corpus.sentences.text.values[5])


def test_a_token_is_selected_in_its_sentence(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    for token in (0, 7, tiny_corpus.n_tokens - 1):
        target = TokenTarget.of(tiny_corpus, token)
        state = state_of(served_store, target.href(tiny_corpus))
        row = tiny_corpus.rows[token]
        assert target.token(tiny_corpus) == token
        assert state.queries == str(int(tiny_corpus.tokens.position.values[row]))
        assert state.sentence == int(tiny_corpus.tokens.sentence_index.values[row])


def test_another_tokenizer_has_another_token_there(tiny_corpus: Corpus) -> None:
    target = TokenTarget.of(tiny_corpus, 7)
    assert not replace(target, wordpiece="##other").fits(tiny_corpus)
    assert not replace(target, position=999).fits(tiny_corpus)


def test_a_pair_is_selected_in_its_sentence(bank_store: str, bank_corpus: Corpus) -> None:
    pairs = bank_corpus.words.dependencies
    sentence, source, target = (int(part[0]) for part in (pairs.sentence, pairs.source_word, pairs.target_word))
    pair = PairTarget.of(bank_corpus, sentence, source, target, "all", "forward")
    state = state_of(ServedStore(bank_store), pair.href(bank_corpus))
    start = bank_corpus.words.table.token_start.values[bank_corpus.words.rows(sentence)]
    assert (state.sentence, state.queries, state.toward) == (sentence, str(start[source]), start[target])
    for other in (replace(pair, spelling="x → y"), replace(pair, source=999)):
        assert not other.fits(bank_corpus)


def test_a_pair_does_not_fit_where_words_are_not_annotated(tiny_corpus: Corpus) -> None:
    name = SentenceTarget.of(tiny_corpus, 0).sentence
    assert not PairTarget(name, 0, 1, "det", "forward", "a → b").fits(tiny_corpus)


def test_a_feature_point_and_its_token_open_page_features(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    for token_set in tiny_corpus.token_sets:
        features = tiny_corpus.features(token_set)
        target = PointTarget.at(tiny_corpus, "L01.mixed", features, 3)
        state = state_of(served_store, target.href(tiny_corpus))
        assert (state.point, state.material or "sample", state.ftoken) == ("L01.mixed", token_set, 3)
        assert target.title(tiny_corpus) == f"{features.wordpieces()[3]} at L1 head outputs"
    panel = PointTarget.of(tiny_corpus, "L01.mixed")
    assert state_of(served_store, panel.href(tiny_corpus)).ftoken is None


@pytest.mark.parametrize(
    "changes",
    [
        {"point": "L99.mixed"},
        {"token": "x"},
        {"token": "-1"},
        {"token": "zz-1"},
        {"token": f"{'f' * 40}-1"},
        {"token_set": "none"},
    ],
)
def test_a_token_that_no_token_set_has_does_not_fit(changes: dict[str, str], tiny_corpus: Corpus) -> None:
    target = PointTarget.at(tiny_corpus, "L01.mixed", tiny_corpus.features("sample"), 3)
    assert not replace(target, **changes).fits(tiny_corpus)


def test_a_view_opens_without_its_snapshot_and_camera(served_store: ServedStore, tiny_corpus: Corpus) -> None:
    state = LinkState(page="head", layer=1, q="the", snapshot=tiny_corpus.snapshot, at="0.1,0.2,3")
    target = ViewTarget.of(tiny_corpus, state)
    assert state_of(served_store, target.href(tiny_corpus)) == replace(
        state, snapshot=None, at=None, model=tiny_corpus.name
    )
    assert target.title(tiny_corpus) == "page head"


def test_targets_outlive_a_refresh(three: str) -> None:
    """Each publication has more sentences; earlier ones lack the hashes of later sentences."""
    newest, *_, oldest = history(open_repository(three), three)
    old, new = (open_corpus(three, snapshot=each.snapshot) for each in (oldest, newest))
    for target in (
        HeadTarget.of(old, 1, 1),
        SentenceTarget.of(old, 2),
        TokenTarget.of(old, 9),
        ViewTarget.of(old, LinkState(page="map")),
    ):
        assert target.fits(new)
        assert target.title(new) == target.title(old)
    last = SentenceTarget.of(new, new.n_sentences - 1)
    assert (last.fits(new), last.fits(old)) == (True, False)


def test_a_note_fits_the_models_that_have_what_it_is_about(models: Snapshot) -> None:
    own, other = (models.corpus(key_of(models, name)) for name in ("tiny", "second"))
    everywhere = (SentenceTarget.of(own, 2), TokenTarget.of(own, 9))
    of_model = (HeadTarget.of(own, 1, 1), PointTarget.of(own, "L01.mixed"), ViewTarget.of(own, LinkState(page="map")))
    assert [target.fits(other) for target in (*everywhere, *of_model)] == [True, True, False, False, False]
    assert all(link_to(target, (other, own)) == target.href(own) for target in of_model)
