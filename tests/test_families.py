"""Every family of models against transformers: attention, trained heads, and whole stores of families that differ from BERT."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from flask.testing import FlaskClient

import store
from dashboard.app import create_app
from dashboard.pages import TOPICS
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.heads import ranked_heads
from dashboard.sentence.routes import neuron
from dashboard.sentence.sentence import stored_sentence
from dashboard.web.served_store import ServedStore
from headscape.__main__ import main as headscape
from ingest.encode.capture import CAPTURED, Capture
from ingest.encode.counted_attention import Counting, Sentences
from ingest.encode.hooked_model import LARGEST_ERROR, HookedModel, SentenceModel, check_attention
from ingest.encode.loading import load_model
from ingest.finetuning.training import load_classifier
from ingest.heads.importance import find_kind
from ingest.run.checkpoint import find_checkpoint, longest_input
from ingest.run.errors import IngestError
from ingest.run.settings import Settings
from ingest.text.tokenizer import Tokenizer
from store.__main__ import main
from store.kernels.attention import attention_pattern, softmax
from tests.broken_model import change_config, change_weights
from tests.client import shown
from tests.family_models import BY_TYPE, SIZES, eager_patterns, save_family
from tests.made_once import made_once
from tests.stores import RULES, Ingest

CPU = torch.device("cpu")
#: Wordpieces of two sentences, the second longer; every vocabulary of the tests has these wordpieces.
SENTENCES = [np.array([2, 20, 10, 11, 3]), np.array([2, 30, 31, 22, 21, 25, 3])]
LENGTHS = np.array(list(map(len, SENTENCES)))
TEXT = "The film was good, zany!"
each_family = pytest.mark.parametrize("model_type", BY_TYPE)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    def saved(model_type: str) -> Path:
        make = partial(save_family, model_type=model_type)
        return made_once(tmp_path_factory, f"family-{model_type}", make)

    return saved


def patterns(model: HookedModel, capture: Capture, row: int, tokens: slice) -> np.ndarray:
    query, key = (
        torch.cat([layer[row, tokens].transpose(0, 1) for layer in layers]) for layers in (capture.query, capture.key)
    )
    return attention_pattern(query, key, bias=model.bias).unflatten(0, (model.layers, model.heads)).numpy()


@each_family
def test_attention_is_that_of_transformers(model_type: str, saved: Callable[[str], Path]) -> None:
    folder = saved(model_type)
    model = HookedModel(find_checkpoint(str(folder)), device=CPU, dtype=torch.float32)
    check_padded(model, folder, SENTENCES)


def check_padded(model: HookedModel, folder: Path, sentences: list[np.ndarray]) -> None:
    """Assert that patterns of sentences in one batch are those of transformers."""
    lengths = np.array(list(map(len, sentences)))
    real = np.arange(lengths.max()) < lengths[:, None]
    padded = np.full(real.shape, model.config.pad_token_id)
    padded[real] = np.concatenate(sentences)
    capture = model.run(torch.from_numpy(padded), torch.from_numpy(real))
    for row, expected in enumerate(eager_patterns(folder, sentences)):
        found = patterns(model, capture, row, slice(0, int(lengths[row])))
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(("model_type", "longest"), [("modernbert", 256), ("mpnet", 254), ("deberta-v2", 256)])
def test_a_sentence_longer_than_any_bucket_beside_a_short_one_attends_as_in_transformers(
    model_type: str, longest: int, tmp_path: Path
) -> None:
    folder = save_family(tmp_path / "model", model_type, sizes={"max_position_embeddings": 256})
    model = HookedModel(find_checkpoint(str(folder)), device=CPU, dtype=torch.float32)
    assert model.longest == longest
    check_padded(model, folder, [np.arange(200) % 60 + 2, SENTENCES[0]])


@pytest.mark.parametrize(
    "fields",
    [
        {"share_att_key": False},
        {"share_att_key": False, "pos_att_type": "c2p"},
        {"pos_att_type": ["p2c"], "position_buckets": -1, "max_relative_positions": 6},
        {"relative_attention": False, "pos_att_type": None, "position_biased_input": True},
    ],
    ids=str,
)
def test_every_kind_of_deberta_attends_as_in_transformers(fields: Mapping[str, Any], tmp_path: Path) -> None:
    folder = save_family(tmp_path / "model", "deberta-v2", sizes=fields)
    check_padded(HookedModel(find_checkpoint(str(folder)), device=CPU, dtype=torch.float32), folder, SENTENCES)


@each_family
def test_counted_attention_is_that_of_transformers(model_type: str, saved: Callable[[str], Path]) -> None:
    folder = saved(model_type)
    model = HookedModel(find_checkpoint(str(folder)), device=CPU, dtype=torch.float32, packed=True)
    one_after_the_other = np.concatenate(SENTENCES)
    sentences = Sentences(LENGTHS, np.zeros(len(one_after_the_other), np.uint8))
    counting = Counting(sentences, model.output_grams(), model.bias)
    capture = model.run_unpadded(torch.from_numpy(one_after_the_other), sentences.positions, counting.attend)
    stops = np.cumsum(LENGTHS)
    for expected, stop, size in zip(eager_patterns(folder, SENTENCES), stops, LENGTHS, strict=True):
        found = patterns(model, capture, 0, slice(int(stop - size), int(stop)))
        np.testing.assert_allclose(found, expected, atol=1e-5)


@each_family
def test_the_layers_end_with_the_vectors_of_transformers(model_type: str, saved: Callable[[str], Path]) -> None:
    folder, family = saved(model_type), BY_TYPE[model_type]
    last = f"L{SIZES['num_hidden_layers'] - 1:02d}.feedforward"
    model = HookedModel(find_checkpoint(str(folder)), device=CPU, dtype=torch.float32)
    model.listen_at_points(["position", last])
    own = getattr(transformers, family.encoder_class).from_pretrained(folder, **family.encoder_options).eval()
    ids = torch.from_numpy(SENTENCES[1])[None]
    with torch.no_grad():
        expected = own(ids, output_hidden_states=True).hidden_states
    found = model.run(ids, None).points
    torch.testing.assert_close([found["position"], found[last]], [expected[0], expected[-1]], atol=1e-5, rtol=0)


@each_family
def test_a_model_is_tried_before_it_is_read(model_type: str, saved: Callable[[str], Path]) -> None:
    model = HookedModel(find_checkpoint(str(saved(model_type))), device=CPU, dtype=torch.float32, packed=True)
    assert model.attention_error() < 1e-6
    kinds = {"sdpa": CAPTURED, "eager": "eager"}
    assert model.parts.module.config._attn_implementation == kinds[BY_TYPE[model_type].implementation]
    check_attention(model, "tiny")


@pytest.mark.parametrize("from_end", [1, 2, None])
def test_a_model_whose_padding_is_among_its_last_wordpieces_or_none_is_tried_on_the_others(
    from_end: int | None, tmp_path: Path
) -> None:
    folder = save_family(tmp_path / "model", "bert")
    vocab_size = find_checkpoint(str(folder)).config["vocab_size"]
    change_config(folder, pad_token_id=from_end and vocab_size - from_end)
    model = HookedModel(find_checkpoint(str(folder)), device=CPU, dtype=torch.float32)
    assert model.attention_error() < 1e-6
    change_queries(model, 2)
    assert model.attention_error() > LARGEST_ERROR


def test_a_weight_that_is_no_number_is_an_error(saved: Callable[[str], Path]) -> None:
    model = HookedModel(find_checkpoint(str(saved("bert"))), device=CPU, dtype=torch.float32)
    query = model.parts.module.encoder.layer[2].attention.self.query
    query.register_forward_hook(lambda _module, _inputs, output: output * float("nan"))
    with pytest.raises(IngestError, match=r"^The attention weights of odd are not finite numbers\. Give another"):
        check_attention(model, "odd")


def change_queries(model: HookedModel, layer: int) -> None:
    """Let a layer compute its pattern from other queries than the captured ones."""
    attention = model.parts.module.encoder.layer[layer].attention.self
    shift = lambda _module, _inputs, output: output + (attention.config._attn_implementation == "eager")  # noqa: E731
    attention.query.register_forward_hook(shift)


def hide(model: HookedModel, layer: int) -> None:
    """Let a layer attend without transformers' attention interface."""
    attention = model.parts.module.encoder.layer[layer].attention.self
    attention.forward = lambda hidden_states, *_others, **_named: (hidden_states, None)


def test_a_model_that_adds_something_else_to_far_keys_is_refused(saved: Callable[[str], Path]) -> None:
    model = HookedModel(find_checkpoint(str(saved("mpnet"))), device=CPU, dtype=torch.float32)
    encoder = model.parts.module.encoder
    own = encoder.compute_position_bias

    def changed(vectors: torch.Tensor) -> torch.Tensor:
        place = torch.arange(vectors.shape[1])
        return own(vectors) + (abs(place - place[:, None]) > 100)

    encoder.compute_position_bias = changed
    with pytest.raises(IngestError, match="attends otherwise"):
        check_attention(model, "odd")


@pytest.mark.parametrize("make_other", [change_queries, hide])
def test_a_model_that_attends_otherwise_is_refused(
    make_other: Callable[[HookedModel, int], None], saved: Callable[[str], Path]
) -> None:
    model = HookedModel(find_checkpoint(str(saved("electra"))), device=CPU, dtype=torch.float32)
    make_other(model, 2)
    with pytest.raises(
        IngestError, match=r"odd attends otherwise than its queries and keys say: .* Give another model"
    ):
        check_attention(model, "odd")


def test_a_checked_model_says_what_it_is_and_costs(
    saved: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert headscape(["check-model", str(saved("distilbert"))]) == 0
    told = capsys.readouterr().out
    assert "(DistilBERT)" in told
    assert re.search(r"layers, heads +3 of 2 heads with 8 channels", told)
    assert re.search(r"does not apply +token types: it has none", told)
    assert re.search(r"trained head +none: head importance does not apply", told)
    error = re.search(r"largest error +(\S+)", told)
    assert error is not None
    assert float(error[1]) < 1e-6


def test_a_model_that_no_ingest_reads_is_refused_by_its_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_family(tmp_path / "model", "bert")
    change_config(model, model_type="llama")
    assert headscape(["check-model", str(model)]) == 1
    assert capsys.readouterr().err.startswith("check-model: model is of no family that is read here: ")


@pytest.mark.parametrize(
    ("model_type", "kind"), [(own, kind) for own in BY_TYPE for kind in BY_TYPE[own].architectures]
)
def test_a_trained_head_answers_as_in_transformers(kind: str, model_type: str, tmp_path: Path) -> None:
    checkpoint = find_checkpoint(str(save_family(tmp_path / "model", model_type, kind)))
    assert find_kind(checkpoint) == kind
    model = load_model(checkpoint, checkpoint.family.architectures[kind]).eval()
    ids = torch.from_numpy(SENTENCES[1])[None]
    with torch.no_grad():
        vectors = model.base_model(ids).last_hidden_state
        guess = checkpoint.family.guess_labels if kind == "classification" else checkpoint.family.guess_wordpieces
        torch.testing.assert_close(guess(model, vectors), model(ids).logits)


@each_family
def test_a_model_without_a_head_gets_a_classifier(model_type: str, saved: Callable[[str], Path]) -> None:
    # The two lowest layers of the tiny ALBERT share their weights.
    freeze = 2 if model_type == "albert" else 1
    model = load_classifier(find_checkpoint(str(saved(model_type))), ["bad", "good", "odd"], freeze=freeze, seed=0)
    assert model(torch.from_numpy(SENTENCES[1])[None]).logits.shape == (1, 3)
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    assert not [name for name in trained if re.search("embedding|relative|encoder.LayerNorm", name)]
    layers = {int(number[1]) for name in trained if (number := re.search(r"\.(\d+)\.", name))}
    assert min(layers) == 1


def test_layers_that_share_their_weights_are_not_frozen_apart(saved: Callable[[str], Path]) -> None:
    with pytest.raises(IngestError, match=r"--freeze=1 would freeze layers above too, .* Give 0 or 3"):
        load_classifier(find_checkpoint(str(saved("albert"))), ["bad", "good"], freeze=1, seed=0)


@each_family
def test_sizes_that_are_left_out_are_those_of_transformers(model_type: str) -> None:
    family = BY_TYPE[model_type]
    config = getattr(transformers, family.config_class)()
    known = {name: getattr(config, family.names.get(name, name), None) for name in family.defaults}
    assert {name: size for name, size in known.items() if size is not None}.items() <= family.defaults.items()


@each_family
def test_a_sentence_stands_between_the_special_tokens_of_the_family(
    model_type: str, saved: Callable[[str], Path]
) -> None:
    folder = saved(model_type)
    tokenizer = Tokenizer(folder, max_length=40)
    tokens = tokenizer.tokenize([TEXT]).token_id.tolist()
    assert tokens == transformers.AutoTokenizer.from_pretrained(folder)(TEXT)["input_ids"]
    ends = [tokenizer.vocab[number] for number in (tokens[0], tokens[-1])]
    is_bert = BY_TYPE[model_type].post_processor == "BertProcessing" or model_type == "deberta-v2"
    own = {"esm": ["<cls>", "<eos>"], "gpt2": ["T", "!"]}
    assert ends == own.get(model_type, ["[CLS]", "[SEP]"] if is_bert else ["<s>", "</s>"])


@pytest.mark.parametrize(("model_type", "longest"), [("electra", 130), ("distilbert", 130), ("xlm-roberta", 128)])
def test_a_model_reads_as_many_tokens_as_it_has_positions_for(
    model_type: str, longest: int, saved: Callable[[str], Path]
) -> None:
    assert longest_input(find_checkpoint(str(saved(model_type)))) == longest


def test_masks_that_older_versions_saved_are_no_weights(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "model", "gpt2")
    change_weights(folder, lambda weights: weights.update({"h.1.attn.masked_bias": torch.tensor(-1e4)}))
    model = HookedModel(find_checkpoint(str(folder)), device=CPU, dtype=torch.float32)
    assert model.attention_error() < 1e-6


def test_a_size_is_refused_under_the_name_that_its_config_has(tmp_path: Path) -> None:
    model = save_family(tmp_path / "model", "distilbert")
    change_config(model, n_heads=3)
    with pytest.raises(IngestError, match=r"n_heads = 3\. It must be a divisor of dim = 16"):
        find_checkpoint(str(model))


# -- whole stores ---------------------------------------------------------------------------------------


#: Families with scores from more than queries and keys, and with a mask; the other families are compared above without a store.
STORED, OTHERS = ["deberta-v2", "gpt2"], ["distilbert", "albert", "modernbert", "mpnet", "eurobert", "xmod"]


@pytest.fixture(scope="module", params=[*STORED, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def masked_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a family with its head for masked wordpieces, or for the next wordpiece in GPT-2."""
    kind = next(iter(BY_TYPE[request.param].architectures))
    return made_once(
        tmp_path_factory, f"{kind}-{request.param}", partial(save_family, model_type=request.param, kind=kind)
    )


@pytest.fixture(scope="module")
def family_store(masked_model: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of the family's model, with pictures, feature points and importance."""
    views = "attention-raw-2d,pca-exact-2d"
    make = partial(
        ingest,
        model=masked_model,
        views=views,
        features="pca-joint",
        points="fine",
        importance=5,
        attention_steps=20,
        **RULES,
    )
    return str(made_once(tmp_path_factory, f"store-{masked_model.name}", make))


@pytest.fixture(scope="module")
def client(family_store: str) -> FlaskClient:
    return create_app(ServedStore(family_store)).server.test_client()


def test_the_store_is_sound(family_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", family_store]) == 0
    assert "sound" in capsys.readouterr().out


def test_stored_patterns_are_those_of_transformers(family_store: str, masked_model: Path) -> None:
    corpus = store.open_corpus(family_store)
    ids = corpus.tokens.token_id.values[corpus.sentence_rows(3)].astype(np.int64)
    expected = eager_patterns(masked_model, [ids])[0]
    np.testing.assert_allclose(corpus.pattern(3).values, expected, atol=2e-3)


def test_attention_to_the_token_at_which_a_sentence_begins_is_that_of_transformers(
    family_store: str, masked_model: Path
) -> None:
    corpus = store.open_corpus(family_store)
    rows = corpus.sentence_rows(3)
    expected = eager_patterns(masked_model, [corpus.tokens.token_id.values[rows].astype(np.int64)])[0]
    found = corpus.token_statistic.sel(statistic="to_cls").values[..., rows]
    np.testing.assert_allclose(found, expected[..., 0], atol=2e-3)


def test_the_parts_of_the_logits_give_the_pattern(family_store: str) -> None:
    corpus = store.open_corpus(family_store)
    logits = corpus.logit_parts(3, layer=1, head=0).sum("part").values
    np.testing.assert_allclose(softmax(logits), corpus.pattern(3, layer=1, head=0).values, atol=1e-4)


@pytest.mark.parametrize("page", TOPICS)
def test_every_page_is_shown(page: str, client: FlaskClient, family_store: str) -> None:
    told = shown(client, "above", f"/{page}")
    assert "Something went wrong" not in told
    assert "cannot be shown" not in told
    assert re.search(r"\[(CLS|SEP)\]", told) is None or "[CLS]" in store.open_corpus(family_store).vocab


def test_a_typed_pair_is_read(family_store: str, masked_model: Path) -> None:
    typed = TypedSentences().encode(store.open_corpus(family_store), "The film was good.", "We loved it.")
    special = [piece for piece, word in zip(typed.wordpieces, typed.word_index, strict=True) if word < 0]
    tokenizer = transformers.AutoTokenizer.from_pretrained(masked_model)
    ids = tokenizer("The film was good.", "We loved it.")["input_ids"]
    assert special == [
        tokenizer.convert_ids_to_tokens(number)
        for number in ids
        if number in (tokenizer.cls_token_id, tokenizer.sep_token_id)
    ]


def test_pictures_trained_on_moved_vectors_are_refused_where_scores_follow_from_raw_ones(
    ingest: Ingest, tmp_path: Path
) -> None:
    folder = save_family(tmp_path / "tiny", "deberta-v2")
    with pytest.raises(IngestError, match=r"attention-sphere-2d cannot be .* Give attention-raw-2d in its stead"):
        ingest(tmp_path / "store", model=folder, views="attention-sphere-2d")


def test_steps_to_a_weight_end_at_that_of_the_pattern(family_store: str) -> None:
    corpus = store.open_corpus(family_store)
    pattern = corpus.pattern(3).values[2, 1, 4]
    sentence = stored_sentence(corpus, 3)
    keys: Any = neuron(sentence, 2, 1, 4)["keys"]
    np.testing.assert_allclose([key["weight"] for key in keys], pattern, atol=1e-3)
    ranked = {(each.layer, each.head): each.weight for each in ranked_heads(sentence, 4, 2)}
    assert ranked[2, 1] == pytest.approx(pattern[2], abs=1e-6)


@pytest.mark.parametrize("model_type", ["modernbert", "mpnet", "deberta-v2", "eurobert", "gpt2"])
def test_a_head_with_its_own_pattern_in_place_of_it_changes_nothing(
    model_type: str, saved: Callable[[str], Path]
) -> None:
    folder = saved(model_type)
    tokenizer = Tokenizer(folder, max_length=40)
    model = SentenceModel(find_checkpoint(str(folder)), max_length=40, dtype="float32")
    tokens, kinds = tokenizer.tokenize([TEXT]), np.zeros(len(tokenizer.tokenize([TEXT]).token_id), np.uint8)
    own = eager_patterns(folder, [tokens.token_id.astype(np.int64)])[0]
    plain = model.run(tokens, kinds)
    same = model.run(tokens, kinds, {(1, 0): own[1, 0]})
    np.testing.assert_allclose(same.last, plain.last, atol=1e-5)
    np.testing.assert_allclose(same.mixing, plain.mixing, atol=1e-5)
    off = model.run(tokens, kinds, {(1, 0): np.zeros_like(own[1, 0])})
    assert abs(off.last - plain.last).max() > 0.01


@pytest.mark.parametrize(("model_type", "fields"), [("modernbert", {"classifier_pooling": "mean"}), ("gpt2", {})])
def test_a_classifier_of_more_than_the_first_token_leaves_the_padding_out(
    model_type: str, fields: Mapping[str, Any], tmp_path: Path
) -> None:
    folder = save_family(tmp_path / "model", model_type, "classification")
    change_config(folder, **fields)
    checkpoint = find_checkpoint(str(folder))
    model = load_model(checkpoint, checkpoint.family.architectures["classification"]).eval()
    real = torch.arange(7)[None] < torch.from_numpy(LENGTHS)[:, None]
    parts = checkpoint.family.parts(model)
    ids = torch.full(real.shape, model.config.pad_token_id)
    ids[real] = torch.from_numpy(np.concatenate(SENTENCES))
    with torch.no_grad():
        outputs = parts.module(input_ids=ids, attention_mask=real.long()).last_hidden_state
        expected = model(input_ids=ids, attention_mask=real.long()).logits
        torch.testing.assert_close(checkpoint.family.guess_labels(model, outputs, real), expected)


def test_a_model_that_reads_less_than_the_default_is_read_as_far_as_it_goes(
    ingest: Ingest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = save_family(tmp_path / "short", "distilbert", sizes={"max_position_embeddings": 5})
    place = ingest(tmp_path / "store", model=folder, max_length=Settings.max_length)
    assert store.open_corpus(place).sentences.row_size.values.max() == 5
    assert "short reads at most 5 wordpieces, so longer sentences are cut" in capsys.readouterr().out
