"""Context mixing on pages: in a sentence, over the corpus, and where a store lacks the products for it."""

import shutil
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.overview.evidence import read_attention
from dashboard.sentence.methods import METHOD_OF, NO_PRODUCTS
from dashboard.sentence.picture import read_shown, sentence_picture
from dashboard.statistics.reach import read_reach
from dashboard.web.context import resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from dashboard.web.state import Rollout
from ingest.encode.hooked_model import SentenceModel
from ingest.run.checkpoint import find_checkpoint
from store import Corpus, open_corpus
from tests.client import above, csv_rows
from tests.sentences import one_sentence
from tests.stores import MAX_LENGTH, rewritten


@pytest.fixture(scope="module")
def without(plain_store: str) -> FlaskClient:
    """A client of a store without products."""
    return create_app(ServedStore(plain_store)).server.test_client()


@pytest.mark.parametrize(("query", "rolled_out"), [("rollout=globenc", True), ("rollout=layer", False)])
def test_a_file_has_what_python_has(
    client: FlaskClient, base: str, tiny_corpus: Corpus, query: str, rolled_out: bool
) -> None:
    rows = csv_rows(client.get(f"{base}/sentence/3/weights/1/0.csv?{query}").data)
    expected = tiny_corpus.context_mixing(3, rolled_out=rolled_out).values[1]
    np.testing.assert_allclose([float(row["weight"]) for row in rows], expected.ravel(), rtol=1e-4)


def test_a_typed_sentence_has_the_products_of_the_stored_one(tiny_corpus: Corpus, tiny_model: Path) -> None:
    model = SentenceModel(find_checkpoint(str(tiny_model)), max_length=MAX_LENGTH, dtype="float32")
    pair = model.tokenize(str(tiny_corpus.sentences.text.values[3]), "")
    found = model.run(pair.tokens, pair.token_type, products=True).products
    assert found is not None
    rows = tiny_corpus.sentence_rows(3)
    stored = tiny_corpus.mixing["product"].values[..., rows]
    scale = tiny_corpus.mixing.scale.values[:, None, None]
    np.testing.assert_allclose(found * scale, stored.astype(float), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("how", METHOD_OF)
def test_some_rows_of_a_long_sentence_are_those_of_all(how: Rollout) -> None:
    sentence = one_sentence(layers=3, tokens=9)
    queries = np.array([1, 7])
    parts = sentence.rollout_rows(how, 2, queries, whole=4)
    np.testing.assert_allclose(parts, sentence.rollout(how)[2][queries], atol=1e-6)
    np.testing.assert_allclose(parts.sum(axis=-1), 1, atol=1e-5)


def test_a_page_of_a_store_without_products_says_so(without: FlaskClient) -> None:
    assert NO_PRODUCTS.partition(".")[0] in above(without, "/sentence", "?sentence=3&rollout=globenc")


def test_a_file_of_a_store_without_products_is_refused_with_what_to_do(without: FlaskClient, plain_store: str) -> None:
    address = f"{data_link(open_corpus(plain_store))}/sentence/3/weights/1/0.csv?rollout=layer"
    answer = without.get(address)
    assert answer.status_code == 400
    assert NO_PRODUCTS in answer.get_data(as_text=True)


def test_statistics_says_how_much_of_a_token_is_its_own(client: FlaskClient, tiny_corpus: Corpus) -> None:
    mixing = tiny_corpus.mixing
    kept = [
        np.diag(tiny_corpus.context_mixing(sentence, rolled_out=True).values[-1]).mean()
        for sentence in range(mixing.attrs["counted_sentences"])
    ]
    assert f"{np.mean(kept):.0%} of a token's vector is still its own" in above(client, "/statistics", "")


def test_of_the_first_token_both_methods_say_how_much_is_its_own(client: FlaskClient, tiny_corpus: Corpus) -> None:
    shares = tiny_corpus.mixing.arrival.sel(source="cls", origin="self").isel(layer=-1)
    page = " ".join(above(client, "/statistics", "?source=cls").split())
    assert f"{float(shares.sel(approach='globenc')):.0%} of a token's vector is still its own" in page
    assert f"which ignores norms, says {float(shares.sel(approach='rollout')):.0%} is its own." in page
    assert "0% from" not in page


def test_overview_says_how_much_of_a_word_comes_from_others(client: FlaskClient, tiny_corpus: Corpus) -> None:
    share = tiny_corpus.mixing.arrival.sel(approach="globenc", source="word", origin="word").values[-1]
    assert f"{share:.0%} of a word's vector comes from other words" in above(client, "/overview", "")


def test_overview_leads_to_what_words_are_made_of_in_each_layer(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "/", "")
    link = urlsplit(read_attention(context.corpus, context.state).layers_of_arrival)
    assert (link.path, parse_qs(link.query)["source"], link.fragment) == ("/statistics", ["word"], "made-of")


def test_statistics_of_a_store_without_products_says_how_to_get_them(without: FlaskClient) -> None:
    assert "Context mixing: not computed" in above(without, "/statistics", "")


def test_the_file_of_shares_sums_to_one_over_the_origins(client: FlaskClient, base: str) -> None:
    rows = csv_rows(client.get(f"{base}/arrival.csv").data)
    own = [row for row in rows if (row["approach"], row["source"], row["layer"]) == ("globenc", "all", "1")]
    assert [row["origin"] for row in own] == ["self", "cls", "sep", "punctuation", "word"]
    assert sum(float(row["share"]) for row in own) == pytest.approx(1, abs=1e-5)
    assert all(float(row["low"]) <= float(row["share"]) <= float(row["high"]) for row in own)


# -- less where a token looks ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "arrived", "looked"),
    [("layer", ("globenc", False), ("attention", False)), ("globenc", ("globenc", True), ("rollout", True))],
)
def test_a_difference_is_what_arrives_less_where_a_token_looks(
    client: FlaskClient, base: str, tiny_corpus: Corpus, how: str, arrived: tuple[str, bool], looked: tuple[str, bool]
) -> None:
    more, less = (tiny_corpus.context_mixing(3, by, rolled_out=rolled).values[1] for by, rolled in (arrived, looked))
    rows = csv_rows(client.get(f"{base}/sentence/3/weights/1/0.csv?rollout={how}&difference=1").data)
    np.testing.assert_allclose([float(row["weight"]) for row in rows], (more - less).ravel(), atol=2e-3)


def test_a_picture_of_a_difference_has_what_is_above_zero_and_what_is_below(client: FlaskClient, base: str) -> None:
    query = "rollout=globenc&difference=1"
    rows = csv_rows(client.get(f"{base}/sentence/3/weights/1/0.csv?{query}").data)
    signed = np.array([float(row["weight"]) for row in rows])
    answer = client.get(f"{base}/sentence/3/layer/1.bin?{query}").data
    codes = np.frombuffer(answer, "<u2", offset=20).reshape(2, -1) / 65_535
    np.testing.assert_allclose(codes, [np.maximum(signed, 0), np.maximum(-signed, 0)], atol=2e-5)


def test_words_of_a_difference_are_merged_before_its_sign_is_taken(client: FlaskClient, base: str) -> None:
    shares = [
        np.array(
            [
                float(row["weight"])
                for row in csv_rows(client.get(f"{base}/sentence/3/weights/1/0.csv?words=1&{how}").data)
            ]
        )
        for how in ("rollout=globenc", "rollout=1", "rollout=globenc&difference=1")
    ]
    np.testing.assert_allclose(shares[2], shares[0] - shares[1], atol=1e-5)


def test_a_mean_over_layers_of_a_difference_has_its_sign(client: FlaskClient, base: str) -> None:
    def mean(query: str) -> np.ndarray:
        rows = csv_rows(client.get(f"{base}/sentence/3/weights/1/0.csv?mean=layers&{query}").data)
        return np.array([float(row["weight"]) for row in rows])

    expected = mean("rollout=globenc") - mean("rollout=1")
    np.testing.assert_allclose(mean("rollout=globenc&difference=1"), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("query", "names", "title"),
    [
        (
            "rollout=globenc&difference=1",
            ["arrives more", "looks more"],
            "What arrives minus attention rollout up to layer 1",
        ),
        ("rollout=layer&difference=1", ["arrives more", "looks more"], "What arrives minus mean attention in layer 1"),
        ("rollout=1&difference=1", ["attention rollout"], "Attention rollout up to layer 1"),
        ("difference=1", ["H0", "H1"], "Attention of layer 1"),
    ],
)
def test_a_difference_is_named_with_its_two_signs(tiny_store: str, query: str, names: list[str], title: str) -> None:
    context = resolve(ServedStore(tiny_store), "/sentence", f"?sentence=3&layer=1&{query}")
    drawn = sentence_picture(read_shown(context))
    assert (drawn["head_names"], drawn["signed"]) == (names, len(names) == 2 and names[0] == "arrives more")
    assert drawn["title"].startswith(title)


@pytest.mark.parametrize("query", ["", "?reached=cls&reachedby=position&after=0"])
def test_statistics_lists_the_classes_that_a_vector_is_made_of(tiny_store: str, query: str) -> None:
    context = resolve(ServedStore(tiny_store), "statistics", query)
    own = read_reach(context.corpus, context.state)
    state = context.state
    layer = context.corpus.layers - 1 if state.after is None else state.after
    expected = context.corpus.reach_by(state.reachedby, state.reached, layer=layer).isel(layer=0)
    order = np.argsort(-expected.reach.values, kind="stable")[:20]
    assert own.largest.category.values.tolist() == expected.category.values[order].tolist()
    np.testing.assert_allclose(own.largest.reach_interval.values[:, 0], expected.reach_interval.values[:, order])


def test_the_table_of_what_attention_hides_ends_with_what_it_overrates(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "statistics", "")
    hidden = read_reach(context.corpus, context.state).hidden
    differences = [own.reach - own.received for own in hidden]
    assert hidden
    assert differences == sorted(differences, reverse=True)
    for own in hidden:
        assert own.low <= own.reach - own.received <= own.high
        assert own.href is not None
        sentence = int(own.href.partition("sentence=")[2].partition("&")[0])
        assert own.name in context.corpus.wordpieces(context.corpus.sentence_rows(sentence))


def test_a_class_is_shown_by_layer_for_each_label(tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    chosen = corpus.sentences.label.values[corpus.tokens.sentence_index.values[corpus.rows]] == 1
    expected = corpus.reach_contrast("wordpiece", "sentence", chosen).isel(category=-1)
    context = resolve(ServedStore(tiny_store), "statistics", f"?reachedclass={quote(expected.category.item())}")
    own = read_reach(context.corpus, context.state)
    assert own.chosen == expected.category.item()
    assert own.labels == ("positive", "negative")
    np.testing.assert_allclose(own.lines[0].values, expected.own_share)
    np.testing.assert_allclose(own.lines[1].interval, expected.rest_share_interval)
    assert own.lines[0].even - own.lines[1].even == pytest.approx(float(expected.even_difference), abs=1e-6)


def test_the_file_of_reaches_has_what_python_has(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = csv_rows(client.get(f"{base}/reach.csv?reached=cls&reachedby=position&after=0").data)
    expected = tiny_corpus.reach_by("position", "cls", layer=0).isel(layer=0)
    assert [row["class"] for row in rows] == expected.category.values.tolist()
    np.testing.assert_allclose([float(row["reach"]) for row in rows], expected.reach, rtol=1e-5)
    np.testing.assert_allclose([float(row["hidden_high"]) for row in rows], expected.hidden_interval[1], rtol=1e-5)


def test_the_file_of_labels_has_what_python_has(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = csv_rows(client.get(f"{base}/reach-labels.csv?labelled=negative").data)
    chosen = tiny_corpus.sentences.label.values[tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows]] == 0
    expected = tiny_corpus.reach_contrast("wordpiece", "sentence", chosen, layer=1).isel(layer=0)
    assert [row["class"] for row in rows] == expected.category.values.tolist()
    np.testing.assert_allclose([float(row["share_difference"]) for row in rows], expected.share_difference, rtol=1e-4)


@pytest.mark.parametrize("query", ["", "?labelled=neutral"])
def test_the_file_of_labels_needs_a_label(query: str, client: FlaskClient, base: str) -> None:
    answer = client.get(f"{base}/reach-labels.csv{query}")
    assert answer.status_code == 400
    assert "Give the label as labelled=: negative or positive." in answer.get_data(as_text=True)


def test_where_every_sentence_is_too_long_pages_say_so(tiny_store: str, tmp_path: Path) -> None:
    place = Path(shutil.copytree(tiny_store, tmp_path / "store"))
    with rewritten(place) as writer:
        writer.group(f"models/{open_corpus(str(place)).name}/mixing").attrs["counted_sentences"] = 0
    client = create_app(ServedStore(str(place))).server.test_client()
    assert "What arrives is counted in sentences of at most 512 wordpieces, and every one is longer." in above(
        client, "/statistics"
    )
    assert "nan" not in above(client, "/")
