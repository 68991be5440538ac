"""A sentence of thousands of tokens is shown in windows: every weight is of the whole softmax, and none is lost silently."""

import json
import tracemalloc
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from playwright.sync_api import expect
from scipy.special import softmax

from dashboard.app import create_app
from dashboard.notebook.sentence import sentence_widget
from dashboard.points.similar import linked_pieces
from dashboard.relations.example import MarkedPair, Marking, window_of
from dashboard.sentence.controls import draw_rulers, key_ruler, read_rulers
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.picture import ShownSentence, sentence_picture, weights_file
from dashboard.sentence.routes import neuron
from dashboard.sentence.sentence import PatternOptions, Sentence, parse_options, shown_pattern
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.attention import attention_pattern, attention_rows
from store.kernels.bias import AttentionBias, LayerBias, Mask
from store.kernels.mixing import layer_matrix, roll_out
from store.kernels.statistics import token_statistics, vector_statistics
from store.schema.corpus import CLS, PUNCTUATION, SEP
from store.text import WINDOW, Window
from tests.browser import Open, followed, listening
from tests.client import FakeTyped
from tests.components import components
from tests.sentence_page import link_fields, pieces, sentence_page
from tests.sentence_page import shown as shown_page
from tests.sentences import one_sentence

TOKENS = 400


@pytest.fixture(scope="module")
def sentence() -> Sentence:
    return one_sentence(tokens=TOKENS)


@pytest.fixture(scope="module")
def whole(sentence: Sentence) -> np.ndarray:
    """Patterns (layer, head, query_token, key_token) of the whole sentence, from the definition."""
    query, key = (np.asarray(vectors, np.float64) for vectors in (sentence.query, sentence.key))
    return softmax(query @ key.swapaxes(-1, -2) / 2, axis=-1)


def shown(sentence: Sentence, **fields: object) -> ShownSentence:
    layers, heads = sentence.query.shape[:2]
    return ShownSentence(LinkState(page="sentence").with_(**fields), sentence, layers, heads, "/data/1/key")


def test_a_window_has_the_weights_of_the_softmax_over_the_whole_sentence(sentence: Sentence, whole: np.ndarray) -> None:
    found = shown_pattern(sentence, PatternOptions(window=200, keywindow=30), layer=1).weights
    np.testing.assert_allclose(found[0], whole[1, :, 200 : 200 + WINDOW, 30 : 30 + WINDOW], atol=1e-6)


def test_rows_that_are_renormalised_are_so_over_all_keys_that_are_not_hidden(
    sentence: Sentence, whole: np.ndarray
) -> None:
    found = shown_pattern(sentence, PatternOptions(hide=(0, 7), renormalize=True, window=1), layer=0)
    kept = np.delete(whole[0, :, found.units[0].positions[0]], [0, 7], axis=-1)
    np.testing.assert_allclose(found.weights[0, :, 0], (kept / kept.sum(-1, keepdims=True))[:, :WINDOW], atol=1e-6)


def test_a_rollout_of_some_rows_is_that_of_all(sentence: Sentence, whole: np.ndarray) -> None:
    found = shown_pattern(sentence, PatternOptions(rollout="1", window=250), layer=1).weights[0, 0]
    np.testing.assert_allclose(
        found, roll_out([layer_matrix("rollout", own) for own in whole])[1, 250 : 250 + WINDOW, :WINDOW], atol=1e-6
    )


def test_a_title_says_which_tokens_are_shown_where_one_of_two_texts_is_long(sentence: Sentence) -> None:
    two = replace(sentence, segment=(np.arange(TOKENS) >= 100).astype(np.uint8))
    title = sentence_picture(shown(two, show="matrix", pair="ab"))["title"]
    assert title.endswith(", queries: tokens 1 to 100 of 100, keys: tokens 1 to 128 of 300")


def test_a_mask_is_that_of_the_positions_of_the_window(sentence: Sentence) -> None:
    masked = replace(sentence, bias=AttentionBias([LayerBias(Mask(window=20))] * 2))
    weights = shown_pattern(masked, PatternOptions(window=200, keywindow=150), layer=0).weights[0]
    far = np.abs(np.arange(200, 200 + WINDOW)[:, None] - np.arange(150, 150 + WINDOW)) > 20
    assert (weights[:, far] == 0).all()
    assert (weights[:, ~far] > 0).all()


def test_weights_of_every_query_and_key_are_never_there_at_once() -> None:
    long = one_sentence(heads=2, tokens=4_000)
    tracemalloc.start()
    for options in (PatternOptions(), PatternOptions(rollout="1")):
        shown_pattern(long, options, layer=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 4_000**2 * 4


def test_a_rollout_that_takes_minutes_is_refused_with_what_to_do() -> None:
    of_many = one_sentence(layers=24, heads=16, tokens=900)
    with pytest.raises(Refusal, match=r"of at most 883 tokens; this sentence has 900\. Choose a shorter sentence\."):
        shown_pattern(of_many, PatternOptions(rollout="1"), layer=0)


def test_rows_by_block_are_those_of_the_pattern(sentence: Sentence) -> None:
    bias = AttentionBias([LayerBias(Mask(window=20))])
    query, key = sentence.query[0], sentence.key[0]
    blocks = [rows for _, rows in attention_rows(query, key, bias=bias, room=40_000)]
    assert len(blocks) > 10
    np.testing.assert_allclose(np.concatenate(blocks, axis=1), attention_pattern(query, key, bias=bias), atol=1e-7)


@pytest.mark.parametrize("mask", [Mask(), Mask(window=20), Mask(causal=True)])
def test_statistics_by_block_are_those_of_the_pattern(sentence: Sentence, mask: Mask) -> None:
    bias, flags = AttentionBias([LayerBias(mask)]), np.resize(np.array([CLS, 0, PUNCTUATION, 0, SEP], np.uint8), TOKENS)
    query, key, norm = sentence.query[0], sentence.key[0], np.asarray(sentence.value_norm[0])
    pattern = attention_pattern(query, key, bias=bias)
    whole = token_statistics(pattern, flags, np.ones(TOKENS, bool), norm, mask)
    found = vector_statistics(query, key, flags, norm, mask, bias=bias, room=40_000)
    np.testing.assert_allclose(found, whole, rtol=1e-4, atol=1e-5)


def test_statistics_of_a_long_sentence_never_have_the_weights_of_every_query_at_once() -> None:
    long = one_sentence(heads=2, tokens=4_000)
    flags = np.zeros(4_000, np.uint8)
    tracemalloc.start()
    vector_statistics(long.query[0], long.key[0], flags, np.asarray(long.value_norm[0]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 4_000**2 * 4


def test_weights_of_some_queries_of_a_store_are_rows_of_its_pattern(tiny_corpus: Corpus) -> None:
    queries = np.array([3, 1])
    np.testing.assert_allclose(
        tiny_corpus.weights(2, layer=1, queries=queries), tiny_corpus.weights(2, layer=1)[:, queries], atol=1e-7
    )


def test_a_window_from_before_the_first_token_begins_there() -> None:
    assert Window.at(-5, 200) == Window.at(0, 200) == Window(0, WINDOW, 200)


def test_the_ruler_says_how_much_attention_goes_outside_of_the_keys(whole: np.ndarray) -> None:
    rows = whole[0, 1, 100:228]
    ruler = key_ruler(rows, Window.at(30, TOKENS))
    assert ruler.outside == pytest.approx(1 - rows[:, 30 : 30 + WINDOW].sum() / WINDOW)
    parts = np.array([part.sum() for part in np.split(rows.sum(0), np.arange(1, 240) * TOKENS // 240)])
    np.testing.assert_allclose(ruler.shades, 100 * np.sqrt(parts / parts.max()), atol=0.51)


def test_the_page_of_a_long_sentence_says_which_tokens_it_shows(sentence: Sentence, whole: np.ndarray) -> None:
    drawn = draw_rulers(read_rulers(shown(sentence, show="matrix", layer=1, head=2, window=128, keywindow=0)))
    texts = "".join(each for each in components(drawn) if isinstance(each, str))
    outside = 100 * (1 - whole[1, 2, 128:256, :WINDOW].sum() / WINDOW)
    assert "Tokens 129 to 256 of 400" in texts
    assert f"Tokens 1 to 128 of 400; {outside:.0f}% of the queries' attention goes outside" in texts


def test_a_short_sentence_has_no_ruler() -> None:
    assert draw_rulers(read_rulers(shown(one_sentence(tokens=WINDOW)))) == []


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({}, {"query": 0, "key": 0}),
        ({"queries": "390"}, {"query": 384, "key": 384}),
        ({"queries": "5", "toward": 300}, {"query": 0, "key": 256}),
        ({"queries": "390", "window": 7}, {"query": 7, "key": 7}),
        ({"window": 9_000, "keywindow": 3}, {"query": 384, "key": 3}),
    ],
)
def test_a_link_shows_its_window_else_that_of_its_selection(
    sentence: Sentence, fields: dict[str, object], first: dict[str, int]
) -> None:
    picture = sentence_picture(shown(sentence, **fields))
    assert picture["first"] == first
    assert [unit["positions"] for unit in picture["keys"]][:1] == [(first["key"],)]
    assert max(len(picture["units"]), len(picture["keys"])) <= WINDOW


def test_the_weights_that_a_page_fetches_are_of_its_windows(sentence: Sentence) -> None:
    picture = sentence_picture(shown(sentence, queries="390", toward=300))
    options = parse_options(dict(parse_qsl(urlsplit(picture["layer_url"]).query)))
    pattern = shown_pattern(sentence, options, layer=0)
    assert [list(unit.positions) for unit in pattern.keys] == [list(unit["positions"]) for unit in picture["keys"]]
    assert (picture["queries"], picture["toward"]) == ([6], 44)


def test_the_file_of_the_neuron_view_is_of_its_windows(sentence: Sentence) -> None:
    url = weights_file(shown(sentence, show="neuron", window=128, keywindow=256, special=False))
    assert dict(parse_qsl(urlsplit(url).query)) == {"window": "128", "keywindow": "256"}


def test_the_steps_of_a_query_are_of_the_keys_of_the_window_with_weights_of_the_whole_softmax(
    sentence: Sentence, whole: np.ndarray
) -> None:
    steps = neuron(sentence, 1, 0, 350, slice(100, 228))["keys"]
    assert isinstance(steps, list)
    np.testing.assert_allclose([key["weight"] for key in steps], whole[1, 0, 350, 100:228], rtol=1e-3)


def test_a_widget_holds_the_tokens_from_the_first_on(sentence: Sentence, whole: np.ndarray) -> None:
    widget = sentence_widget("tiny", sentence, first=200)
    np.testing.assert_allclose(widget.pattern.values, whole[:, :, 200:328, 200:328], atol=1e-6)
    assert "tokens 201 to 328 of 400" in widget.content["source"]


def test_a_key_that_a_query_does_not_see_has_no_logit(sentence: Sentence) -> None:
    masked = replace(sentence, bias=AttentionBias([LayerBias(Mask(window=20))] * 2))
    keys: Any = json.loads(json.dumps(neuron(masked, 0, 0, 100), allow_nan=False))["keys"]
    assert [key["logit"] is None for key in keys] == [abs(position - 100) > 20 for position in range(TOKENS)]


def test_a_token_of_a_long_sentence_stands_among_those_around_it() -> None:
    pieces = [f"p{position}" for position in range(TOKENS)]
    words = [each for each in components(linked_pieces(pieces, pieces, 300, "query")) if isinstance(each, str)]
    assert "p300" in words
    assert "p100" not in words
    assert words[-1] == "tokens 257 to 384 of 400"


@pytest.mark.parametrize(
    ("fields", "first"),
    [({}, 0), ({"start": 300}, 256), ({"start": 300, "window": 7}, 7), ({"example": "0:200-3"}, 128)],
)
def test_words_to_mark_are_those_of_a_window(fields: dict[str, object], first: int) -> None:
    state = LinkState(page="relations").with_(**fields)
    marked = (MarkedPair(0, 200, 3),) if "example" in fields else ()
    assert window_of(state, Marking(["word"] * TOKENS, 1, marked)).first == first


# -- in a browser ---------------------------------------------------------------------------------------


class LongTyped(FakeTyped):
    """Typed sentences without a model: every text has 400 tokens."""

    def is_encoded(self, *_: object, **__: object) -> bool:
        return True

    def encode(self, corpus: Corpus, *_: object, **__: object) -> Sentence:
        return one_sentence(layers=corpus.layers, heads=corpus.heads, tokens=TOKENS)


def test_rulers_move_the_windows_by_key_and_by_click_and_the_keys_follow_the_queries_again(
    open_page: Open, tiny_store: str
) -> None:
    served_store = ServedStore(tiny_store)
    served_store.put(TypedSentences, LongTyped())  # type: ignore[arg-type]
    with listening(create_app(served_store).server) as address:
        page = sentence_page(open_page, address, text="film")
        queries, keys = (page.get_by_role("scrollbar", name=name) for name in ("Queries", "Keys"))
        queries.focus()
        with followed(page):
            page.keyboard.press("End")
        assert link_fields(shown_page(page))["window"] == str(TOKENS - WINDOW)
        assert pieces(page)[-1] == "[SEP]"
        expect(queries).to_have_attribute("aria-valuetext", f"tokens {TOKENS - WINDOW + 1} to {TOKENS} of {TOKENS}")
        expect(keys).to_have_attribute("aria-valuetext", f"tokens {TOKENS - WINDOW + 1} to {TOKENS} of {TOKENS}")
        with followed(page):
            keys.click(position={"x": 1, "y": 8})
        assert (pieces(shown_page(page))[-1], pieces(page, "key")[0]) == ("[SEP]", "[CLS]")
        with followed(page):
            page.get_by_role("link", name="follow the queries").click()
        assert "keywindow" not in link_fields(shown_page(page))
        assert pieces(page, "key")[-1] == "[SEP]"
