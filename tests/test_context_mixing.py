"""Context mixing: GlobEnc against its definition written out in float64, in every family, and what arrives over the corpus."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
import zarr
from hypothesis import given
from hypothesis import strategies as st

import store
from ingest.encode.hooked_model import HookedModel
from ingest.encode.mixing import ProductEncoder
from ingest.family import FAMILIES
from ingest.run.checkpoint import find_checkpoint
from store.kernels.mixing import ProductMap, ResidualNorms, layer_matrix, mixing_matrix, mixing_products, roll_out
from store.mixing import LONGEST, ArrivalShares, context_mixing, sentence_shares
from store.repository.errors import NotIngested, StoreError
from store.schema.corpus import CLS, FIRST, SEP
from store.schema.features import point_names
from store.schema.mixing import ORIGINS, STORED_METHODS
from store.schema.model import SOURCES
from store.snapshot import open_snapshot
from store.verify import verify
from tests.family_models import save_family
from tests.stores import FEATURES, ingest_without, rewritten

Ingest = Callable[..., str]
LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


def written_out(folder: Path, token_ids: np.ndarray) -> np.ndarray:
    """GlobEnc's matrix of every layer of a BERT in float64, with both standard deviations (Modarressi et al. 2022, equations 4 to 9)."""
    model: Any = transformers.BertModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    with torch.no_grad():
        output = model(torch.from_numpy(token_ids)[None], output_attentions=True, output_hidden_states=True)
        return np.stack(
            [
                _of_layer(layer, pattern[0], hidden[0])
                for layer, pattern, hidden in zip(
                    model.encoder.layer, output.attentions, output.hidden_states, strict=False
                )
            ]
        )


def _of_layer(layer: Any, pattern: torch.Tensor, hidden: torch.Tensor) -> np.ndarray:
    heads, tokens, features = len(pattern), *hidden.shape
    value = layer.attention.self.value(hidden).unflatten(-1, (heads, -1))
    output, after = layer.attention.output, layer.output.LayerNorm
    lengths = np.zeros((tokens, tokens))
    for i in range(tokens):
        parts = []
        for j in range(tokens):
            mixed = torch.cat([pattern[head, i, j] * value[j, head] for head in range(heads)])
            parts.append(mixed @ output.dense.weight.T + (hidden[i] if i == j else 0))
        first = torch.stack(parts)
        total = first.sum(0) + output.dense.bias
        attended = output.LayerNorm(total)
        normed = output.LayerNorm.weight * (first - first.mean(-1, keepdim=True)) / total.std(correction=0)
        last = layer.output.dense(layer.intermediate(attended)) + attended
        normed = after.weight * (normed - normed.mean(-1, keepdim=True)) / last.std(correction=0)
        assert normed.shape == (tokens, features)
        lengths[i] = normed.norm(dim=-1).numpy()
    return lengths / lengths.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def corpus(odd_model: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    """A corpus with mixing, of a model with other numbers of layers, heads and channels."""
    return store.open_corpus(ingest(tmp_path_factory.mktemp("mixed") / "store", model=odd_model, mixing="auto"))


@pytest.mark.parametrize("method", ["attention", "norm", "globenc"])
def test_a_long_sentence_read_in_parts_gives_the_same_matrices(corpus: store.Corpus, method: str) -> None:
    in_parts = context_mixing(corpus, corpus.weights, corpus.value_norm, 7, method, at_once=3)
    assert corpus.sentence_rows(7).stop - corpus.sentence_rows(7).start > 3
    np.testing.assert_allclose(in_parts.values, corpus.context_mixing(7, method).values, atol=1e-6)


@pytest.mark.parametrize("sentence", [0, 7, 39])
def test_the_store_gives_the_matrices_of_the_definition(corpus: store.Corpus, odd_model: Path, sentence: int) -> None:
    token_ids = corpus.tokens.token_id.values[corpus.sentence_rows(sentence)].astype(np.int64)
    found = corpus.context_mixing(sentence)
    assert found.dims == ("layer", "query_token", "key_token")
    np.testing.assert_allclose(found.values, written_out(odd_model, token_ids), atol=5e-4)


def test_shares_after_a_layer_are_the_product_of_the_matrices_up_to_it(corpus: store.Corpus, odd_model: Path) -> None:
    token_ids = corpus.tokens.token_id.values[corpus.sentence_rows(3)].astype(np.int64)
    first, second, third = written_out(odd_model, token_ids)
    shares = corpus.context_mixing(3, rolled_out=True).values
    np.testing.assert_allclose(shares, [first, second @ first, third @ second @ first], atol=5e-4)


def test_attention_alone_is_the_mean_pattern(corpus: store.Corpus) -> None:
    expected = corpus.pattern(5).mean("head").values
    np.testing.assert_allclose(corpus.context_mixing(5, "attention").values, expected, atol=1e-6)


def test_rollout_gives_half_of_a_layer_to_the_token_itself(corpus: store.Corpus) -> None:
    mean = corpus.pattern(5).mean("head").values
    np.testing.assert_allclose(
        corpus.context_mixing(5, "rollout").values, (mean + np.eye(mean.shape[-1])) / 2, atol=1e-6
    )


def test_norms_weigh_the_attention_of_each_head(corpus: store.Corpus) -> None:
    norms = corpus.value_norm[..., corpus.sentence_rows(5)].values.astype(float)
    lengths = (corpus.pattern(5).values * norms[:, :, None]).sum(axis=1)
    expected = lengths / lengths.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(corpus.context_mixing(5, "norm").values, expected, atol=1e-6)


def test_an_unknown_method_is_told_with_the_known_ones(corpus: store.Corpus) -> None:
    with pytest.raises(
        StoreError, match="no context mixing by 'alti'\\. Choose one of: attention, rollout, norm, globenc"
    ):
        corpus.context_mixing(0, "alti")


def test_a_store_without_products_says_how_to_get_them(plain_store: str) -> None:
    with pytest.raises(NotIngested, match="Context mixing: not computed"):
        store.open_corpus(plain_store).context_mixing(0)


@pytest.mark.parametrize("family", [family.model_type for family in FAMILIES if family.model_type != "xmod"])
def test_what_a_layer_adds_up_is_what_the_family_computes(family: str, tmp_path: Path) -> None:
    """The sum of all tokens' parts, through the norms that the family names, is the output of the family's own modules.

    For X-MOD, whose layers add an adapter, see `tests/test_xmod.py`.
    """
    checkpoint = find_checkpoint(str(save_family(tmp_path / family, family)))
    model = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32)
    points = point_names(model.layers, fine=True)
    model.listen_at_points(points)
    token_ids = torch.arange(5, 14)[None]
    capture = model.run(token_ids, None)
    bias = model.bias
    for layer, parts in enumerate(model.parts.layers):
        query, key, value = (each[layer][0].transpose(0, 1) for each in (capture.query, capture.key, capture.value))
        pattern = _pattern(query, key, bias and bias.part(layer))
        weight, added = parts.output_map
        context = (pattern @ value).transpose(0, 1).flatten(1)
        after = context @ weight + added + capture.layer_input[layer][0]
        norms = list(parts.residual_norms)
        expanded = capture.points[f"L{layer:02d}.expanded"][0]
        if not checkpoint.family.norm_first:
            after = norms.pop(0)(after)
        after = after + expanded
        for norm in norms:
            after = norm(after)
        torch.testing.assert_close(after, capture.points[f"L{layer:02d}.feedforward"][0], atol=1e-4, rtol=1e-4)


def _pattern(query: torch.Tensor, key: torch.Tensor, bias: Any) -> torch.Tensor:
    from store.kernels.attention import attention_pattern

    pattern: torch.Tensor = attention_pattern(query, key, bias=bias)
    return pattern


@LIBRARIES
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("norms", [0, 1, 2])
def test_products_give_the_lengths_of_sums_of_vectors(make: Any, centred: bool, norms: int) -> None:
    random = np.random.default_rng(3)
    heads, tokens, channels, features = 3, 5, 2, 7
    value, hidden = random.normal(size=(tokens, heads, channels)), random.normal(size=(tokens, features))
    weight, gains = random.normal(size=(heads, channels, features)), random.normal(size=(norms, features))
    pattern = random.dirichlet(np.ones(tokens), (heads, tokens))
    brought = np.einsum("hij,jhc,hcd->ijd", pattern, value, weight)
    brought[np.arange(tokens), np.arange(tokens)] += hidden
    for gain in gains:
        brought = (brought - brought.mean(-1, keepdims=True) * centred) * gain
    lengths = np.linalg.norm(brought, axis=-1)
    of_layer = ProductMap.of(make(weight), ResidualNorms([make(gain) for gain in gains], centred))
    products = mixing_products(make(value), make(hidden), of_layer)
    found = mixing_matrix(make(pattern), products)
    np.testing.assert_allclose(np.asarray(found), lengths / lengths.sum(1, keepdims=True), atol=1e-12)
    some = mixing_matrix(make(pattern[:, [4, 1]]), products, np.array([4, 1]))
    np.testing.assert_allclose(np.asarray(some), np.asarray(found)[[4, 1]], atol=1e-12)


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_rows_of_every_method_sum_to_one(tokens: int, heads: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    pattern = random.dirichlet(np.ones(tokens), (heads, tokens))
    of_layer = ProductMap.of(random.normal(size=(heads, 2, 5)), ResidualNorms([random.normal(size=5)], True))
    products = mixing_products(random.normal(size=(tokens, heads, 2)), random.normal(size=(tokens, 5)), of_layer)
    norms = random.uniform(0.1, 1, (heads, tokens))
    for method in ("attention", "rollout", "norm", "globenc"):
        matrix = layer_matrix(method, pattern.copy(), value_norm=norms, products=products)
        np.testing.assert_allclose(matrix.sum(axis=-1), 1, atol=1e-9)
        np.testing.assert_allclose(roll_out([matrix] * 3).sum(axis=-1), 1, atol=1e-9)


def test_a_rollout_of_some_queries_has_the_rows_of_a_rollout_of_all() -> None:
    pattern = np.random.default_rng(0).dirichlet(np.ones(5), (3, 5))
    rows = layer_matrix("rollout", pattern[:, [4, 1]], queries=np.array([4, 1]))
    np.testing.assert_allclose(rows, ((pattern.mean(axis=0) + np.eye(5)) / 2)[[4, 1]])


def test_shares_of_a_sentence_go_by_the_class_of_the_input_token() -> None:
    """[CLS] word word [SEP]: the first word keeps .5, and gets .1 from [CLS], .3 from the other word, .1 from [SEP]."""
    matrix = np.eye(4)
    matrix[1] = [0.1, 0.5, 0.3, 0.1]
    flags = np.array([CLS, 0, 0, SEP], np.uint8)
    shares = sentence_shares(matrix[None, None], flags)[0, :, :, 0]
    by_origin = dict(zip(ORIGINS, shares[:, SOURCES.index("word")], strict=True))
    assert by_origin == pytest.approx({"self": 0.75, "cls": 0.05, "sep": 0.05, "punctuation": 0, "word": 0.15})
    assert shares[ORIGINS.index("self"), SOURCES.index("cls")] == 1
    assert np.isnan(shares[:, SOURCES.index("punctuation")]).all()


def test_a_first_token_that_stands_for_cls_is_counted_as_that_alone() -> None:
    """The third token gets .2 from the first and .3 from the second; the second token gets .4 from the first."""
    matrix = np.array([[1, 0, 0], [0.4, 0.6, 0], [0.2, 0.3, 0.5]])
    shares = sentence_shares(matrix[None, None], np.array([FIRST, 0, 0], np.uint8))[0, :, :, 0]
    by_origin = dict(zip(ORIGINS, shares[:, SOURCES.index("all")], strict=True))
    assert by_origin == pytest.approx({"self": 0.7, "cls": 0.2, "sep": 0, "punctuation": 0, "word": 0.1})


def test_what_arrives_is_the_mean_over_the_sentences_of_the_sample(corpus: store.Corpus) -> None:
    mixing = corpus.mixing
    counted = range(mixing.attrs["counted_sentences"])
    kept = [
        np.diagonal(corpus.context_mixing(sentence, rolled_out=True).values, axis1=1, axis2=2).mean(-1)
        for sentence in counted
    ]
    own = mixing.arrival.sel(approach="globenc", origin="self", source="all")
    np.testing.assert_allclose(own.values, np.mean(kept, axis=0), atol=1e-6)
    low, high = mixing.arrival_interval.sel(approach="globenc", origin="self", source="all").values
    assert (low < own.values).all()
    assert (own.values < high).all()
    np.testing.assert_allclose(mixing.arrival.sel(source="word").sum("origin").values, 1, atol=1e-6)


def test_where_every_sentence_is_too_long_the_shares_are_missing() -> None:
    shape = (len(STORED_METHODS), len(ORIGINS), len(SOURCES), 2)
    model = zarr.group(zarr.storage.MemoryStore())
    model.create_array("mixing/arrival", shape=shape, dtype="f4")
    model.create_array("mixing/scale", data=np.ones(2, np.float32))
    spans = np.array([[0, LONGEST + 1], [LONGEST + 1, 3 * LONGEST]])
    shares = ArrivalShares.of(model, spans, np.zeros(3 * LONGEST, np.uint8), seed=0)
    assert (shares.mean.shape, shares.interval.shape, shares.sentences) == (shape, (2, *shape), 0)
    assert np.isnan(shares.mean).all()
    assert np.isnan(shares.interval).all()


@pytest.mark.slow
def test_the_next_ingest_adds_the_stage_to_a_store_without(ingest: Ingest, tiny_store: str, tmp_path: Path) -> None:
    place = ingest_without("mixing", ingest, tmp_path / "store", **FEATURES)
    assert list(verify(open_snapshot(place))) == []
    ingest(place, **FEATURES)
    found, expected = (store.open_corpus(each).mixing["product"].values for each in (place, tiny_store))
    np.testing.assert_array_equal(found, expected)


def test_verify_finds_what_does_not_follow(tiny_store: str, tmp_path: Path) -> None:
    place = Path(shutil.copytree(tiny_store, tmp_path / "store"))
    name = store.open_corpus(str(place)).name
    with rewritten(place) as writer:
        shares = writer.group(f"models/{name}/mixing")["arrival"]
        shares[1, 0, 0, 0] = 0.5
    assert list(verify(open_snapshot(str(place)))) == [
        f"{name}: what arrives in the sample does not follow from the products and the patterns."
    ]


def test_products_of_large_weights_are_stored_smaller(odd_model: Path) -> None:
    model = HookedModel(find_checkpoint(str(odd_model)), device=torch.device("cpu"), dtype=torch.float32)
    usual = ProductEncoder(model).find_scale()
    with torch.inference_mode():
        for layer in model.parts.layers:
            layer.norm.weight *= 2.0**10
    np.testing.assert_array_equal(ProductEncoder(model).find_scale()[:1] * 2**20, usual[:1])


def test_products_of_a_layer_without_weights_are_stored_as_they_are(odd_model: Path) -> None:
    model = HookedModel(find_checkpoint(str(odd_model)), device=torch.device("cpu"), dtype=torch.float32)
    with torch.inference_mode():
        for parameter in model.parts.encoder.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(ProductEncoder(model).find_scale(), np.ones(model.layers))
