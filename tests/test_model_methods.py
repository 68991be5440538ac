"""What arrives (page Sentence) by methods that run the model: ALTI, Value Zeroing and DecompX, against loops in float64."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from flask.testing import FlaskClient

from dashboard.sentence.arrival import cannot_run, waits
from dashboard.sentence.change import Change
from dashboard.sentence.checkpoint import encoded
from dashboard.sentence.encoder import Encoder, TypedSentences
from dashboard.sentence.methods import MODEL_METHODS
from dashboard.sentence.page import TYPED
from dashboard.sentence.sentence import stored_sentence
from dashboard.web.admission import steps_told_to
from dashboard.web.context import Context, resolve
from dashboard.web.corpus_model import CorpusModel
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.results import BUDGET, MOST_OF_BUDGET
from dashboard.web.served_store import ServedStore
from ingest.encode.decomposition import OF_LAYER, decompose, trace
from ingest.encode.hidden_words import GuessingModel
from ingest.run.checkpoint import find_checkpoint
from store import Corpus
from tests.client import above, csv_rows, shown
from tests.plain_decomposition import plain_alti, plain_decompx, plain_zeroing
from tests.sentences import one_sentence
from tests.stores import MAX_LENGTH

SENTENCE, LAYER = 3, 1
#: The work of a pair of tokens in the tiny model.
WORK = 2 * 16**2
#: Seconds that a test waits for a thread.
PATIENCE = 60.0


@pytest.fixture(scope="module")
def plain(tiny_model: Path) -> Any:
    """Transformers' own model, in float64."""
    return transformers.BertModel.from_pretrained(tiny_model, attn_implementation="eager", dtype=torch.float64).eval()


@pytest.fixture(scope="module")
def token_ids(tiny_corpus: Corpus) -> torch.Tensor:
    rows = tiny_corpus.sentence_rows(SENTENCE)
    return torch.from_numpy(tiny_corpus.tokens.token_id.values[rows].astype(np.int64))


def rolled_out(plain: Any, token_ids: torch.Tensor, of_layer: Callable[[Any, Any, Any], np.ndarray]) -> np.ndarray:
    """The product of the matrices of the layers up to `LAYER`."""
    with torch.no_grad():
        seen = plain(token_ids[None], output_hidden_states=True, output_attentions=True)
    rolled = np.eye(len(token_ids))
    for layer in range(LAYER + 1):
        rolled = of_layer(plain.encoder.layer[layer], seen.attentions[layer][0], seen.hidden_states[layer][0]) @ rolled
    return rolled


def served(client: FlaskClient, base: str, tokens: int, method: str) -> np.ndarray:
    rows = csv_rows(client.get(f"{base}/sentence/{SENTENCE}/weights/{LAYER}/0.csv?rollout={method}").data)
    return np.array([float(row["weight"]) for row in rows]).reshape(tokens, tokens)


# -- the numbers ----------------------------------------------------------------------------------------


def test_alti_is_that_of_loops_multiplied_over_layers(
    client: FlaskClient, base: str, plain: Any, token_ids: torch.Tensor
) -> None:
    expected = rolled_out(plain, token_ids, plain_alti)
    np.testing.assert_allclose(served(client, base, len(token_ids), "alti"), expected, atol=1e-5)


def test_value_zeroing_is_that_of_zeroed_values_multiplied_over_layers(
    client: FlaskClient, base: str, plain: Any, token_ids: torch.Tensor
) -> None:
    expected = rolled_out(plain, token_ids, lambda layer, _, vectors: plain_zeroing(layer, vectors))
    np.testing.assert_allclose(served(client, base, len(token_ids), "value_zeroing"), expected, atol=1e-4)


def test_shares_of_decompx_are_those_of_the_lengths_of_the_parts(
    client: FlaskClient, base: str, plain: Any, token_ids: torch.Tensor
) -> None:
    lengths = np.linalg.norm(list(plain_decompx(plain, token_ids))[LAYER], axis=-1)
    expected = lengths / lengths.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(served(client, base, len(token_ids), "decompx"), expected, atol=1e-4)


def test_a_typed_pair_is_decomposed_with_the_types_of_its_tokens(client: FlaskClient, base: str, plain: Any) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(plain.config.name_or_path)
    inputs = tokenizer("the film was good", "a bad plot", return_tensors="pt")
    with torch.no_grad():
        seen = plain(**inputs, output_hidden_states=True, output_attentions=True)
    expected = plain_alti(plain.encoder.layer[0], seen.attentions[0][0], seen.hidden_states[0][0])
    query = "text=the+film+was+good&second=a+bad+plot&rollout=alti"
    rows = csv_rows(client.get(f"{base}/typed/weights/0/0.csv?{query}").data)
    np.testing.assert_allclose([float(row["weight"]) for row in rows], expected.ravel(), atol=1e-5)


@pytest.mark.parametrize("method", MODEL_METHODS)
def test_rows_of_words_sum_to_one(client: FlaskClient, base: str, method: str) -> None:
    rows = csv_rows(
        client.get(f"{base}/sentence/{SENTENCE}/weights/{LAYER}/0.csv?rollout={method}&words=1&mean=heads").data
    )
    by_query: dict[str, float] = {}
    for row in rows:
        by_query[row["query_position"]] = by_query.get(row["query_position"], 0.0) + float(row["weight"])
    np.testing.assert_allclose(list(by_query.values()), 1, atol=1e-4)


def test_a_model_that_multiplies_in_16_bits_is_decomposed_in_32(tiny_model: Path) -> None:
    model = GuessingModel(find_checkpoint(str(tiny_model)), max_length=MAX_LENGTH, dtype="bfloat16")
    layers = trace(model.hooked, torch.arange(5, 12))
    *_, last = decompose(layers)
    assert last.dtype == OF_LAYER["alti"](layers[0]).dtype == torch.float32


@pytest.mark.parametrize("method", MODEL_METHODS)
def test_the_model_reads_a_decomposed_sentence_once(tiny_model: Path, method: str) -> None:
    model = GuessingModel(find_checkpoint(str(tiny_model)), max_length=MAX_LENGTH, dtype="float32")
    module: Any = model.hooked.parts.module
    read: list[object] = []
    module.register_forward_hook(lambda *_: read.append(1))
    traced = encoded(model, "the film was good", "", Change(method=method)).traced
    assert traced is not None
    assert traced.decomposed().method == method
    assert len(read) == 1


@pytest.mark.parametrize(("how", "said"), [("globenc", "from the stored queries"), ("alti", "with the same model")])
def test_a_page_says_what_the_weights_are_computed_from(client: FlaskClient, base: str, how: str, said: str) -> None:
    served(client, base, 11, how)  # the model is loaded
    assert f"computed {said}" in shown(client, "below", "/sentence", f"?sentence={SENTENCE}&layer=1&rollout={how}")


# -- where they cannot run ------------------------------------------------------------------------------


def corpus_of(model_type: str, source: str | None = "folder") -> Any:
    provenance = {"settings": {"model": source}}
    attributes = {
        "config": {"model_type": model_type},
        "weights_sha256": "",
        "dtype": "float32",
        "provenance": provenance,
    }
    return SimpleNamespace(name="m", title="m", attributes=attributes, corpus_attributes={"max_length": 128})


@pytest.mark.parametrize(
    ("corpus", "tokens", "has_torch", "said"),
    [
        (corpus_of("bert"), 64, True, ""),
        (corpus_of("gpt2"), 9, True, "models with the layers of BERT, and this one is a gpt2"),
        (corpus_of("bert"), 9, False, "DecompX needs PyTorch, which this server lacks"),
        (corpus_of("bert", None), 9, True, "the store does not say where it is"),
        (
            corpus_of("bert"),
            1_300,
            True,
            "DecompX of this model is of at most 1,224 tokens; this sentence has 1,300",
        ),
    ],
)
def test_where_a_method_cannot_run_one_sentence_says_why(corpus: Any, tokens: int, has_torch: bool, said: str) -> None:
    found = cannot_run(corpus, one_sentence(tokens=tokens), "decompx", has_torch=has_torch)
    assert said in found
    assert bool(found) == bool(said)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets ALTI run on at most four tokens."""
    monkeypatch.setitem(MODEL_METHODS, "alti", replace(MODEL_METHODS["alti"], most=4**2 * WORK))  # type: ignore[arg-type]


@pytest.mark.usefixtures("short")
def test_a_page_shows_attention_where_a_sentence_is_too_long(client: FlaskClient, tiny_corpus: Corpus) -> None:
    tokens = len(stored_sentence(tiny_corpus, SENTENCE).wordpieces)
    said = above(client, "/sentence", f"?sentence={SENTENCE}&rollout=alti")
    assert f"ALTI of this model is of at most 4 tokens; this sentence has {tokens}" in said


@pytest.mark.usefixtures("short")
def test_a_file_of_too_long_a_sentence_is_refused_with_what_to_do(client: FlaskClient, base: str) -> None:
    answer = client.get(f"{base}/sentence/{SENTENCE}/layer/0.bin?rollout=alti")
    assert answer.status_code == 400
    assert answer.text.endswith("Choose a shorter one, or “what arrives (GlobEnc)”.")


# -- until the model is loaded --------------------------------------------------------------------------


def on_page(served_store: ServedStore, query: str) -> Context:
    return resolve(served_store, "/sentence", query)


def test_a_page_waits_for_the_model_where_a_method_needs_it(tiny_store: str) -> None:
    served_store = ServedStore(tiny_store)
    assert not waits(on_page(served_store, "?sentence=3&rollout=globenc"))
    assert waits(on_page(served_store, "?sentence=3&rollout=decompx"))
    assert not waits(on_page(served_store, "?sentence=3&rollout=decompx&show=mixing"))
    served_store.service(TypedSentences).encode(on_page(served_store, "").corpus, "the film")
    assert not waits(on_page(served_store, "?sentence=3&rollout=decompx"))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a sentence of more than four tokens be too long for a request by DecompX."""
    monkeypatch.setitem(MODEL_METHODS, "decompx", replace(MODEL_METHODS["decompx"], most=32**2 * WORK))  # type: ignore[arg-type]


@pytest.mark.usefixtures("slow")
def test_a_page_of_a_long_sentence_waits_until_the_method_has_run(tiny_store: str) -> None:
    page = on_page(ServedStore(tiny_store), "?sentence=3&rollout=decompx")
    page.served_store.service(TypedSentences).encode(page.corpus, "the film")
    assert waits(page)
    TYPED.compute(page)
    assert not waits(on_page(page.served_store, "?sentence=3&rollout=decompx"))


@pytest.mark.usefixtures("slow")
def test_a_page_of_a_long_sentence_is_told_each_layer(tiny_store: str) -> None:
    told: list[str] = []
    with steps_told_to(told.append):
        TYPED.compute(on_page(ServedStore(tiny_store), "?sentence=3&rollout=decompx"))
    assert list(dict.fromkeys(told))[-2:] == ["DecompX, layer 1 of 2", "DecompX, layer 2 of 2"]


def decomposing(encoder: Encoder, corpus: Corpus, method: str, has_left: Callable[[], bool]) -> Any:
    change = Change(products=False, method=method)
    return encoder.change(CorpusModel.of(corpus), "the film was good", "", change, has_left)


@pytest.mark.parametrize("method", MODEL_METHODS)
def test_a_method_ends_in_the_middle_where_its_reader_leaves(tiny_corpus: Corpus, method: str) -> None:
    told: list[str] = []
    with steps_told_to(told.append), pytest.raises(ReaderLeft):
        decomposing(Encoder(), tiny_corpus, method, lambda: any("layer 1" in step for step in told))
    assert not any("layer 2" in step for step in told)


def test_a_sentence_is_encoded_while_a_method_runs(tiny_corpus: Corpus) -> None:
    encoder, under_way, go_on = Encoder(), Event(), Event()

    def tell(step: str) -> None:
        if "layer" in step:
            under_way.set()
            assert go_on.wait(PATIENCE)

    def decompose_one() -> Any:
        with steps_told_to(tell):
            return decomposing(encoder, tiny_corpus, "decompx", lambda: False)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(decompose_one)
        assert under_way.wait(PATIENCE)
        assert encoder.encode(CorpusModel.of(tiny_corpus), "a bad plot", "", lambda: False).wordpieces[1] == "a"
        go_on.set()
        assert running.result().decomposed is not None


@pytest.mark.usefixtures("slow")
def test_a_page_whose_method_is_refused_says_why_and_does_not_ask_again(tiny_store: str) -> None:
    page = on_page(ServedStore(tiny_store), "?sentence=3&rollout=decompx")
    page.share("sentence", lambda: replace(stored_sentence(page.corpus, 3), text="another text of other wordpieces"))
    with pytest.raises(Refusal, match="splits this sentence into other wordpieces"):
        TYPED.compute(page)


@pytest.mark.parametrize(("layers", "features"), [(2, 16), (2, 128), (6, 384), (12, 768), (24, 1_024)])
@pytest.mark.parametrize("method", MODEL_METHODS)
def test_the_longest_sentence_of_a_method_stays_in_the_cache(method: str, layers: int, features: int) -> None:
    tokens = MODEL_METHODS[method].longest(layers, features)
    assert 4 * layers * tokens**2 < MOST_OF_BUDGET * BUDGET
    assert 4 * features * tokens**2 <= 1 << 30
