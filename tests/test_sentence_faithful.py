"""Weights on screen equal those of transformers' own slow attention: the embedded model, real text."""

import gzip
import json
import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from flask.testing import FlaskClient
from transformers import AutoTokenizer

from dashboard.app import create_app
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from ingest.run.checkpoint import find_checkpoint
from store import Corpus, open_corpus

LAYERS, HEADS, CHANNELS = 6, 12, 32
STORED = range(12)
LONG = "A slow, sad and beautiful film about a lighthouse keeper who forgets his own name. " * 6
PAIRS = [
    ("The film was good.", "The plot was not."),
    ("Who wrote the music?", "Nino Rota wrote it in 1972, and it is unforgettable."),
    ("Terrible!", "Terrible?"),
    ("A man is eating food.", "A man is eating a piece of bread while an unhappy dog watches."),
    ("שלום", "Hello 🎬"),
    (LONG, "Too long."),
    ("Short.", LONG),
]
TYPED = [
    ("I loved it.", ""),
    ("x", ""),
    ("A film 😀 for 👩‍🚀 and me", ""),
    ("הסרט היה טוב מאוד", ""),
    (LONG, ""),
    ("Mr. Wayne's antidisestablishmentarianism (1999)!", ""),
    ("the the the the the the the the", ""),
    ("Café naïve İstanbul, 電影 and кино", ""),
    ("It's not bad; it's awful -- really, REALLY awful...", ""),
    ("[MASK] the [SEP] film [CLS]", ""),
    ("<b>bold</b> &amp; <script>alert(1)</script>", ""),
    ("The keys to the cabinet are on the table, but the cabinet is not.", ""),
    ("Buffalo buffalo Buffalo buffalo buffalo buffalo Buffalo buffalo.", ""),
    *PAIRS,
]
#: A text of more wordpieces than the model has positions, which is cut and sent in windows.
CUT, WINDOW = (6 * LONG, ""), 128
#: A sentence of the corpus by its number, or texts.
ALL = [*STORED, *TYPED]
#: Pairs and sentences in which some tokens are left under every filter.
LEFT = [0, TYPED[5], *PAIRS[:2]]
WEIGHED = ("attention", "norm")
PARTS = ("all", "aa", "ab", "ba", "bb")
#: Fields of a link; without `renormalize` the rows sum to 1, as nothing is left out.
WHOLE = [{}, {"words": "1"}, {"rollout": "1"}, {"words": "1", "rollout": "1"}]

Source = int | tuple[str, str]
Fetch = Callable[..., bytes]


@pytest.fixture(scope="module")
def corpus(default_store: str) -> Corpus:
    return open_corpus(default_store)


@pytest.fixture(scope="module")
def fetch(default_store: str, corpus: Corpus) -> Fetch:
    """A function that gives the unpacked bytes of an answer, as a browser has them."""
    client = create_app(ServedStore(default_store)).server.test_client()
    return lambda source, rest, **options: _unpacked(client, _url(corpus, source, rest, options))


def _url(corpus: Corpus, source: Source, rest: str, options: dict[str, str]) -> str:
    base = data_link(corpus)
    if isinstance(source, int):
        return f"{base}/sentence/{source}/{rest}?{urlencode(options)}"
    text, second = source
    return f"{base}/typed/{rest}?{urlencode({'text': text, 'second': second} | options)}"


def _unpacked(client: FlaskClient, url: str) -> bytes:
    answer = client.get(url, headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200, answer.text
    return gzip.decompress(answer.data) if answer.headers.get("Content-Encoding") == "gzip" else answer.data


def on_screen(content: bytes) -> np.ndarray:
    """Weights (head, query, key) as the browser reads them."""
    magic, heads, queries, keys, most = struct.unpack("<4s3If", content[:20])
    assert magic == b"HSL1"
    return np.frombuffer(content, "<u2", offset=20).reshape(heads, queries, keys) / 65_535 * most


@pytest.fixture(scope="module")
def reference(eager: Callable[[Path], Any], corpus: Corpus) -> dict[Source, np.ndarray]:
    """Attention (layer, head, query_token, key_token) of every sentence: transformers' own tokenizer and model."""
    folder = find_checkpoint("embedded").folder
    model, tokenizer = eager(folder), AutoTokenizer.from_pretrained(folder)
    stored = int(corpus.corpus_attributes["max_length"])

    def run(source: Source) -> np.ndarray:
        texts = (corpus.sentences.text.values[source],) if isinstance(source, int) else source
        inputs = [str(text) for text in texts if text]
        longest = stored if isinstance(source, int) else model.config.max_position_embeddings
        encoded = tokenizer(*inputs, truncation="longest_first", max_length=longest, return_tensors="pt")
        with torch.inference_mode():
            return torch.cat(model(**encoded, output_attentions=True).attentions).numpy()

    return {source: run(source) for source in [*ALL, CUT]}


def _kind(source: Source) -> str:
    return str(source) if isinstance(source, int) else " | ".join(text[:12] for text in source)


@pytest.mark.parametrize("source", ALL, ids=_kind)
def test_weights_on_screen_are_those_of_transformers(
    source: Source, fetch: Fetch, reference: dict[Source, np.ndarray]
) -> None:
    weights = [on_screen(fetch(source, f"layer/{layer}.bin")) for layer in range(LAYERS)]
    np.testing.assert_allclose(weights, reference[source], rtol=0, atol=3e-3)


def test_a_text_is_cut_where_the_positions_of_the_model_end(fetch: Fetch, reference: dict[Source, np.ndarray]) -> None:
    weights = on_screen(fetch(CUT, f"layer/{LAYERS - 1}.bin"))
    assert reference[CUT].shape[-1] == 512
    np.testing.assert_allclose(weights, reference[CUT][-1, :, :WINDOW, :WINDOW], rtol=0, atol=3e-3)


@pytest.mark.parametrize("source", ALL, ids=_kind)
def test_the_steps_of_a_neuron_view_lead_to_the_weights_of_transformers(
    source: Source, fetch: Fetch, reference: dict[Source, np.ndarray]
) -> None:
    tokens = reference[source].shape[-1]
    for layer in range(LAYERS):
        head, query = (5 * layer + tokens) % HEADS, (7 * layer + 1) % tokens
        steps = json.loads(fetch(source, f"neuron/{layer}/{head}/{query}.json"))
        follow(steps, reference[source][layer, head, query])


def follow(steps: dict[str, Any], weights: np.ndarray) -> None:
    """Assert that every step follows from the steps before it, within six digits; the last step are the weights (key,)."""
    keys, products, dots, logits, shares = (
        np.array([key[name] for key in steps["keys"]]) for name in ("key", "product", "dot", "logit", "weight")
    )
    np.testing.assert_allclose(products, np.array(steps["query"]) * keys, rtol=2e-5, atol=1e-9)
    assert (abs(dots - products.sum(axis=1)) <= 1e-5 * abs(products).sum(axis=1)).all()
    np.testing.assert_allclose(logits, dots / CHANNELS**0.5, rtol=2e-5, atol=1e-9)
    np.testing.assert_allclose(shares, np.exp(logits) / np.exp(logits).sum(), rtol=3e-4, atol=1e-9)
    np.testing.assert_allclose(shares, weights, rtol=0, atol=3e-3)


def assert_rows_sum_to_1(content: bytes) -> None:
    """Assert that all rows sum to 1, within the 16 bits of a weight."""
    weights = on_screen(content)
    assert weights.size
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=0, atol=0.51 / 65_535 * weights.shape[-1] + 1e-6)


@pytest.mark.parametrize("showing", WHOLE, ids=lambda showing: "+".join(showing) or "plain")
def test_rows_of_which_nothing_is_left_out_sum_to_1(showing: dict[str, str], fetch: Fetch) -> None:
    for source, layer in product(ALL[::5], range(LAYERS)):
        assert_rows_sum_to_1(fetch(source, f"layer/{layer}.bin", **showing))


@pytest.mark.parametrize("weights", WEIGHED)
@pytest.mark.parametrize("pair", PARTS)
@pytest.mark.parametrize(("hide", "special"), [("", "1"), ("0.3", "0")])
def test_renormalized_rows_sum_to_1_whatever_is_left_out(
    weights: str, pair: str, hide: str, special: str, fetch: Fetch
) -> None:
    options = {"weights": weights, "pair": pair, "hide": hide, "special": special, "renormalize": "1"}
    for source, layer, more in product(LEFT, (0, LAYERS - 1), WHOLE):
        assert_rows_sum_to_1(fetch(source, f"layer/{layer}.bin", **options, **more))
