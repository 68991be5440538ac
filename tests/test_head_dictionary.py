"""The dictionary of a head: its strongest pairs and distances against plain loops, on the page and in files."""

import io
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from flask.testing import FlaskClient
from scipy.sparse import csr_matrix

from dashboard.app import create_app
from dashboard.roles.dictionary import PAIRS, draw_dictionary
from dashboard.web.context import resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store import Corpus, StoreError, open_corpus
from store.kernels.head_tables import FARTHEST, offset_logits, strongest_parts
from store.rules import LEAST_AT_POSITION, LEAST_COUNTED, LEAST_SENTENCES, RuleSentences
from tests.client import shown

LAYER, HEAD = 1, 0


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


@pytest.fixture(scope="module")
def client(roles_store: str) -> FlaskClient:
    return create_app(ServedStore(roles_store)).server.test_client()


@pytest.fixture(scope="module")
def found(corpus: Corpus) -> xr.Dataset:
    return corpus.head_dictionary(LAYER, HEAD)


def test_a_head_that_is_not_there_has_neither_a_dictionary_nor_a_predicted_pattern(corpus: Corpus) -> None:
    for read in (corpus.head_dictionary, lambda layer, head: corpus.predicted_pattern(0, layer=layer, head=head)):
        with pytest.raises(StoreError, match=r"^There is no head L99 H0\. Choose one of L0 to L1 and H0 to H1\.$"):
            read(99, 0)


# -- kernels ------------------------------------------------------------------------------------------


def test_pairs_come_by_their_logit_above_that_of_an_average_key() -> None:
    query, key = np.array([[2.0], [1.0]]), np.array([[1.0], [3.0]])
    pairs = strongest_parts(query, key, np.array([3, 1]), csr_matrix(np.full((2, 2), 4)), least=1, listed=9)
    # The average key is (3 * 1 + 1 * 3) / 4 = 1.5: the second key alone is above it.
    assert list(zip(*(part.tolist() for part in pairs), strict=True)) == [(0, 1, 3.0, 4), (1, 1, 1.5, 4)]


def test_pairs_of_too_few_sentences_are_left_out() -> None:
    both = csr_matrix(np.array([[1, 5], [5, 0]]))
    pairs = strongest_parts(np.ones((2, 1)), np.array([[9.0], [9.5]]), np.array([1, 0]), both, least=2, listed=9)
    assert pairs.query.tolist() == [0]


def test_one_key_is_listed_no_more_than_twice() -> None:
    key = np.array([[9.0], [0.0]])
    pairs = strongest_parts(np.ones((5, 1)), key, np.array([0, 1]), csr_matrix(np.ones((5, 2))), least=1, listed=9)
    assert pairs.key.tolist() == [0, 0]


def test_the_logit_of_a_distance_is_that_of_loops_over_all_pairs_of_words() -> None:
    random = np.random.default_rng(0)
    query, key = random.normal(size=(2, 15, 3))
    words = [2, 13, 4, 4]
    sums, counts = Counter[int](), Counter[int]()
    for size in words:
        for one in range(1, size + 1):
            logits = {other: query[one] @ key[other] / 3**0.5 for other in range(1, size + 1)}
            for other, logit in logits.items():
                sums[other - one] += logit - np.mean(list(logits.values()))
                counts[other - one] += 1
    expected = [sums[offset] / counts[offset] for offset in range(-FARTHEST, FARTHEST + 1)]
    np.testing.assert_allclose(offset_logits(query, key, np.array(words)), expected, atol=1e-12)


def test_a_distance_that_no_sentence_has_has_no_logit() -> None:
    logits = offset_logits(np.ones((4, 2)), np.ones((4, 2)), np.array([2, 0]))
    assert np.flatnonzero(np.isfinite(logits)).tolist() == [FARTHEST - 1, FARTHEST, FARTHEST + 1]


# -- a store ------------------------------------------------------------------------------------------


def test_pairs_of_wordpieces_are_those_of_a_recount(corpus: Corpus, found: xr.Dataset) -> None:
    tables = corpus.head_tables(LAYER, HEAD)
    pieces_of, count = [], Counter[int]()
    for sentence in RuleSentences.stored(corpus._roles).in_tables.tolist():
        tokens = corpus.rule_text.sentence(sentence)
        pieces = tokens.token_id[tokens.is_word].tolist()
        pieces_of.append(set(pieces))
        count.update(pieces)
    word = dict(zip(tables.token_ids.tolist(), tables.word[:, 0, :-1].swapaxes(0, 1).astype(float), strict=True))
    kept = {piece: each for piece, each in count.items() if each >= LEAST_COUNTED}
    average = sum(each * word[piece][1] for piece, each in kept.items()) / sum(kept.values())
    scale = tables.mean.shape[-1] ** -0.5
    logits = {}
    for one in kept:
        for other in kept:
            both = sum({one, other} <= pieces for pieces in pieces_of)
            if both >= LEAST_SENTENCES:
                logit = (tables.mean[0, 0] + word[one][0]) @ (word[other][1] - average) * scale
                logits[corpus.vocab[one], corpus.vocab[other]] = logit, both
    first = max(logits, key=lambda pair: logits[pair][0])
    assert (found.word_pair_query[0], found.word_pair_key[0]) == first
    for number in range(found.sizes["word_pair"]):
        pair = str(found.word_pair_query.values[number]), str(found.word_pair_key.values[number])
        logit, both = logits[pair]
        assert float(found.word_pair_logit[number]) == pytest.approx(logit, abs=1e-4)
        assert int(found.word_pair_sentences[number]) == both


@pytest.mark.parametrize("name", ["word_pair", "word_position", "position_word"])
def test_the_largest_logit_is_first_and_all_are_positive(found: xr.Dataset, name: str) -> None:
    logits = found[f"{name}_logit"].values
    assert (np.diff(logits) <= 0).all()
    assert (logits > 0).all()


def test_pairs_with_a_position_are_in_enough_sentences(found: xr.Dataset) -> None:
    for name in ("word_position", "position_word"):
        assert (found[f"{name}_sentences"].values >= LEAST_AT_POSITION).all()


# -- the page and its files ---------------------------------------------------------------------------


def test_the_tab_shows_the_dictionary(client: FlaskClient, found: xr.Dataset) -> None:
    page = shown(client, "beside", "/head", f"?layer={LAYER}&head={HEAD}")
    assert f"From {found.attrs['sentences']:,} sentences." in page
    assert f"'+{float(found.word_pair_logit[0]):.1f}'" in page
    assert "Distances of the key: " in page


def file_of(client: FlaskClient, corpus: Corpus, path: str) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(client.get(f"{data_link(corpus)}/{path}").data))


def test_a_dictionary_without_pairs_says_what_to_do_and_lists_the_distances_that_occur(
    roles_store: str,
) -> None:
    offsets = np.arange(-10, 11)
    nothing: dict[str, Any] = {
        f"{name}_{part}": (name, []) for name in PAIRS for part in ("query", "key", "logit", "sentences")
    }
    scores = np.where(offsets == 0, 2.0, np.where(offsets == -1, 1.0, np.nan))
    sparse = xr.Dataset(
        nothing | {"offset_logit": ("offset", scores)}, coords={"offset": offsets}, attrs={"sentences": 2}
    )
    context = resolve(ServedStore(roles_store), "/head", "?layer=1&head=0")
    page = str(draw_dictionary(context.corpus, context.state, sparse))
    assert "No pair occurs often enough. Ingest more sentences." in page
    assert "Distances of the key: itself +2.0, 1 back +1.0." in page


def test_the_file_of_roles_has_every_share_and_the_tests_of_the_threshold(client: FlaskClient, corpus: Corpus) -> None:
    table = file_of(client, corpus, f"roles/{LAYER}/{HEAD}.csv?threshold=1.5").set_index("role")
    roles, tests = corpus.roles.isel(layer=LAYER, head=HEAD), corpus.test_roles(1.5).isel(layer=LAYER, head=HEAD)
    assert table.share.sum() == pytest.approx(1)
    np.testing.assert_allclose(table.share[roles.role.values], roles.share, rtol=1e-5)
    assert table.p["next"] == pytest.approx(float(tests.p.sel(role="next")), rel=1e-4, nan_ok=True)
    assert (table.threshold == 1.5).all()


def test_the_file_of_rules_has_every_set_of_rules(client: FlaskClient, corpus: Corpus) -> None:
    table = file_of(client, corpus, f"rules/{LAYER}/{HEAD}.csv").set_index("rules")
    rules = corpus.rules.isel(layer=LAYER, head=HEAD)
    for name in rules.rules.values:
        assert table.iou[name] == pytest.approx(float(rules.iou.sel(rules=name)), rel=1e-5)
    assert table.iou_low["six"] <= table.iou["six"] <= table.iou_high["six"]


def test_the_file_of_the_dictionary_has_pairs_and_distances(
    client: FlaskClient, corpus: Corpus, found: xr.Dataset
) -> None:
    table = file_of(client, corpus, f"dictionary/{LAYER}/{HEAD}.csv")
    assert (table.kind == "distance").sum() == 2 * FARTHEST + 1
    assert (table.kind == "word_pair").sum() == found.sizes["word_pair"] > 0


def test_a_file_of_no_head_is_refused(client: FlaskClient, corpus: Corpus) -> None:
    assert client.get(f"{data_link(corpus)}/roles/99/0.csv").status_code == 404
