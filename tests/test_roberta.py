"""A RoBERTa through the whole ingest, as proof that another family takes one module. tests/test_ingest.py has the stored numbers."""

from collections.abc import Callable
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
from dashboard.web.served_store import ServedStore
from ingest.encode.capture import Capture
from ingest.encode.counted_attention import Counting, Sentences
from ingest.encode.feature_points import PointModel
from ingest.encode.hooked_model import HookedModel, SentenceModel
from ingest.encode.loading import load_model
from ingest.finetuning.training import load_classifier
from ingest.heads.importance import NO_ANSWER, ImportanceTask, SilencedModel, find_kind, label_task, masked_task
from ingest.run.checkpoint import check_length, find_checkpoint
from ingest.run.errors import IngestError
from ingest.text.blocks import Block
from ingest.text.tokenizer import Tokenizer
from store.__main__ import main
from store.kernels.attention import attention_pattern
from store.schema.corpus import CLS, SEP
from tests.broken_model import change_config
from tests.client import shown
from tests.made_once import made_once
from tests.roberta import LONGEST, save_roberta
from tests.stores import Ingest
from tests.treebanks import write_treebank

CPU = torch.device("cpu")
START, PADDING, END, MASK = 0, 1, 2, 4
#: Lengths of consecutive sentences. The second has padding in its text, which gets no position.
LENGTHS = np.array([5, 7, 3])
TOKENS = np.array([START, 40, 300, 301, END, START, 50, PADDING, 51, 320, 52, END, START, 60, END])
ARCHITECTURES = {"mlm": "RobertaForMaskedLM", "classification": "RobertaForSequenceClassification"}
LABELS = np.array([0, 1, 1])


@pytest.fixture(scope="module")
def eager_attention(roberta_model: Path, eager: Callable[[Path], Any]) -> list[np.ndarray]:
    """Attention by transformers of each sentence alone: (layer, head, query_token, key_token)."""
    model = eager(roberta_model)
    with torch.no_grad():
        outputs = [model(torch.from_numpy(ids)[None], output_attentions=True) for ids in of_sentences(TOKENS)]
    return [torch.cat(output.attentions).numpy() for output in outputs]


def of_sentences(tokens: np.ndarray) -> list[np.ndarray]:
    return np.split(tokens, np.cumsum(LENGTHS)[:-1])


def patterns(capture: Capture, sentence: int, rows: slice) -> np.ndarray:
    vectors = zip(capture.query, capture.key, strict=True)
    heads = [[each[sentence, rows].transpose(0, 1) for each in layer] for layer in vectors]
    return np.stack([attention_pattern(query, key).numpy() for query, key in heads])


@pytest.mark.parametrize("packed", [False, True])
def test_attention_is_that_of_transformers(
    packed: bool, roberta_model: Path, eager_attention: list[np.ndarray]
) -> None:
    model = HookedModel(find_checkpoint(str(roberta_model)), device=CPU, dtype=torch.float32, packed=packed)
    padded = np.zeros((len(LENGTHS), max(LENGTHS)), np.int64)
    for row, ids in zip(padded, of_sentences(TOKENS), strict=True):
        row[: len(ids)] = ids
    capture = model.run(torch.from_numpy(padded), torch.arange(max(LENGTHS)) < torch.from_numpy(LENGTHS)[:, None])
    for sentence, expected in enumerate(eager_attention):
        found = patterns(capture, sentence, slice(0, int(LENGTHS[sentence])))
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_attention_without_padding_is_that_of_transformers(
    roberta_model: Path, eager_attention: list[np.ndarray]
) -> None:
    model = HookedModel(find_checkpoint(str(roberta_model)), device=CPU, dtype=torch.float32, packed=True)
    counting = Counting(Sentences(LENGTHS, flags()), model.output_grams(), model.bias)
    capture = model.run_unpadded(torch.from_numpy(TOKENS), counting.sentences.positions, counting.attend)
    for expected, stop, size in zip(eager_attention, np.cumsum(LENGTHS), LENGTHS, strict=True):
        found = patterns(capture, 0, slice(int(stop - size), int(stop)))
        np.testing.assert_allclose(found, expected, atol=1e-5)


def flags() -> np.ndarray:
    stops, flags = np.cumsum(LENGTHS), np.zeros(len(TOKENS), np.uint8)
    flags[stops - LENGTHS], flags[stops - 1] = CLS, SEP
    return flags


def test_positions_begin_after_the_number_of_the_padding(roberta_model: Path) -> None:
    parts = HookedModel(find_checkpoint(str(roberta_model)), device=CPU, dtype=torch.float32).parts
    found = parts.positions(TOKENS, Sentences(LENGTHS, flags()).positions)
    assert found.tolist() == [2, 3, 4, 5, 6, 2, 3, 1, 4, 5, 6, 7, 2, 3, 4]


def test_the_longest_input_leaves_out_the_positions_of_the_padding(roberta_model: Path) -> None:
    checkpoint = find_checkpoint(str(roberta_model))
    check_length(checkpoint, LONGEST)
    with pytest.raises(IngestError, match=f"reads at most {LONGEST} wordpieces"):
        check_length(checkpoint, LONGEST + 1)
    model = SentenceModel(checkpoint, max_length=1 << 20, dtype="float32")
    pair = model.tokenize("film " * 200, "")
    assert model.run(pair.tokens, pair.token_type).query.shape[2] == LONGEST


# -- the tokenizer --------------------------------------------------------------------------------------


def test_wordpieces_stand_between_the_tokenizers_own_special_tokens(roberta_model: Path) -> None:
    tokenizer = Tokenizer(roberta_model, max_length=20)
    tokens = tokenizer.tokenize(["The film was good, zany!"])
    pieces = [tokenizer.vocab[number] for number in tokens.token_id]
    assert pieces == ["<s>", "T", "h", "e", "Ġfilm", "Ġwas", "Ġgood", ",", "Ġ", "z", "a", "n", "y", "!", "</s>"]
    assert "".join(map(tokenizer.piece_text, tokens.token_id.tolist())) == "<s>Thefilmwasgood,zany!</s>"
    assert tokens.word_index.tolist() == [-1, 0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 6, -1]


def test_a_pair_has_no_token_types(roberta_model: Path) -> None:
    model = SentenceModel(find_checkpoint(str(roberta_model)), max_length=24, dtype="float32")
    pair = model.tokenize("the film", "we loved it")
    ends = [place for place, number in enumerate(pair.tokens.token_id.tolist()) if number in (START, END)]
    assert (ends[0], ends[2] - ends[1], ends[-1]) == (0, 1, len(pair.segment) - 1)
    assert not pair.token_type.any()
    assert pair.segment.any()
    own = transformers.AutoTokenizer.from_pretrained(roberta_model)("the film", "we loved it")["input_ids"]
    assert pair.tokens.token_id.tolist() == own
    assert np.isfinite(model.run(pair.tokens, pair.token_type).mixing).all()


@pytest.mark.parametrize("kept", [("tokenizer.json",), ("vocab.json", "merges.txt")])
def test_a_tokenizer_of_either_format_is_read(kept: tuple[str, ...], tmp_path: Path) -> None:
    model = save_roberta(tmp_path / "model")
    expected = Tokenizer(model, max_length=20).tokenize(["The film was good, zany!"]).token_id.tolist()
    own = transformers.AutoTokenizer.from_pretrained(model)
    own.backend_tokenizer.model.save(str(model))
    for name in {"tokenizer.json", "vocab.json", "merges.txt", "tokenizer_config.json"} - set(kept):
        (model / name).unlink()
    assert Tokenizer(model, max_length=20).tokenize(["The film was good, zany!"]).token_id.tolist() == expected
    assert find_checkpoint(str(model)).tokenizer_sha256


# -- trained heads --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("trained")
    return {kind: save_roberta(place / kind, architecture=name) for kind, name in ARCHITECTURES.items()}


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_silenced_head_costs_what_it_costs_in_transformers(kind: str, folders: dict[str, Path]) -> None:
    sentences = Block(0, len(TOKENS), LENGTHS.astype(np.int32), TOKENS.astype(np.int32), flags())
    task = masked_task(sentences, mask_id=MASK, seed=0) if kind == "mlm" else label_task(sentences, LABELS)
    checkpoint = find_checkpoint(str(folders[kind]))
    assert find_kind(checkpoint) == kind
    judged = SilencedModel(checkpoint, kind, device=CPU)
    whole, without = (reference_loss(folders[kind], kind, task, silenced) for silenced in (False, True))
    assert whole != pytest.approx(without, rel=1e-3)
    np.testing.assert_allclose([judged.loss(task), judged.loss(task, (1, 0))], [whole, without], rtol=1e-5)


def reference_loss(folder: Path, kind: str, task: ImportanceTask, silenced: bool) -> float:
    """Loss in float64, sentence by sentence; the output projection's columns of a silenced head are 0."""
    model = getattr(transformers, ARCHITECTURES[kind]).from_pretrained(folder, dtype=torch.float64).eval()
    total = 0.0
    with torch.no_grad():
        if silenced:
            model.roberta.encoder.layer[1].attention.output.dense.weight[:, :8] = 0
        both = zip(of_sentences(task.block.token_ids), of_sentences(task.answer), strict=True)
        for ids, answer in both:
            asked = answer != NO_ANSWER
            labels = np.where(asked, answer, -100)[None] if kind == "mlm" else answer[asked]
            loss = model(torch.from_numpy(ids.astype(np.int64))[None], labels=torch.from_numpy(labels)).loss
            total += float(loss) * int(asked.sum())
    return total / task.answers


def test_class_probabilities_are_those_of_transformers(folders: dict[str, Path]) -> None:
    sentences = Block(0, len(TOKENS), LENGTHS.astype(np.int32), TOKENS.astype(np.int32), flags())
    model = PointModel(find_checkpoint(str(folders["classification"])), device=CPU, fine=True)
    assert model.class_names == ["negative", "positive"]
    own = transformers.RobertaForSequenceClassification.from_pretrained(folders["classification"]).eval()
    with torch.no_grad():
        logits = torch.cat([own(torch.from_numpy(ids)[None]).logits for ids in of_sentences(TOKENS)])
    np.testing.assert_allclose(model.run(sentences).class_probability, logits.softmax(-1), atol=1e-5)


def test_a_classifier_is_new_and_its_lower_layers_are_frozen(roberta_model: Path) -> None:
    model = load_classifier(find_checkpoint(str(roberta_model)), ["bad", "good", "odd"], freeze=1, seed=0)
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    lower = ("roberta.embeddings.", "roberta.encoder.layer.0.")
    assert frozen == {name for name, _ in model.named_parameters() if name.startswith(lower)}
    assert model.classifier.out_proj.out_features == 3


# -- refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pad_token_id": None}, r"pad_token_id = None\. It must be a whole number"),
        ({"max_position_embeddings": 4}, r"max_position_embeddings = 4\. It must be at least 5: "),
        ({"is_decoder": True}, r"is a decoder: .* Give a RoBERTa encoder"),
        ({"model_type": "xlnet"}, r"is of no family .* Give a checkpoint of model_type bert, roberta, .* or "),
    ],
)
def test_a_config_of_no_roberta_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    model = save_roberta(tmp_path / "model")
    change_config(model, **changes)
    with pytest.raises(IngestError, match=told):
        find_checkpoint(str(model))


def test_weights_that_are_no_robertas_are_refused(tiny_model: Path, tmp_path: Path) -> None:
    model = save_roberta(tmp_path / "model")
    (model / "model.safetensors").write_bytes((tiny_model / "model.safetensors").read_bytes())
    with pytest.raises(IngestError, match="cannot be loaded as a RoBERTa"):
        load_model(find_checkpoint(str(model)), "RobertaModel", add_pooling_layer=False)


# -- the store and its pages ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def roberta_store(ingest: Ingest, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of a RoBERTa with words, relations, two pictures, feature points and importance."""
    bank = made_once(tmp_path_factory, "bank-of-roberta.conllu", write_treebank)
    chosen = {"annotate": "auto", "views": "pca-exact-2d,attention-raw-2d", "features": "pca-joint", "importance": 5}
    make = partial(ingest, data=bank, model=folders["mlm"], reviews="none", **chosen)
    return str(made_once(tmp_path_factory, "roberta", make))


def test_the_store_is_sound_and_describes_itself(roberta_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", roberta_store]) == 0
    assert main(["describe", roberta_store]) == 0
    assert "mlm" in capsys.readouterr().out


def test_the_store_has_what_every_stage_makes(roberta_store: str) -> None:
    corpus = store.open_corpus(roberta_store)
    assert corpus.has_words
    assert {"pca-exact-2d", "attention-raw-2d"} <= set(corpus.views)
    assert np.isfinite(corpus.importance.change.values).all()
    assert [piece.text for piece in corpus.sentence_pieces(0)][:: len(corpus.sentence_pieces(0)) - 1] == ["<s>", "</s>"]


@pytest.fixture(scope="module")
def client(roberta_store: str) -> FlaskClient:
    return create_app(ServedStore(roberta_store)).server.test_client()


@pytest.mark.parametrize("page", TOPICS)
def test_every_page_is_shown(page: str, client: FlaskClient) -> None:
    told = shown(client, "above", f"/{page}")
    assert "Something went wrong" not in told
    assert "cannot be shown" not in told


@pytest.mark.parametrize("page", ["overview", "head", "statistics", "relations", "features"])
def test_a_page_names_special_tokens_as_the_tokenizer_does(page: str, client: FlaskClient) -> None:
    told = shown(client, "above", f"/{page}")
    assert "[CLS]" not in told
    assert "[SEP]" not in told
    assert "<s>" in told


def test_a_chart_shows_the_name_of_a_special_token_as_text(client: FlaskClient) -> None:
    told = shown(client, "above", "/statistics")
    assert "'name': 'from &lt;/s&gt;'" in told


def test_a_typed_pair_has_the_tokenizers_special_tokens(roberta_store: str) -> None:
    typed = TypedSentences().encode(store.open_corpus(roberta_store), "The film was good.", "We loved it.")
    special = [piece for piece, word in zip(typed.wordpieces, typed.word_index, strict=True) if word < 0]
    assert special == ["<s>", "</s>", "</s>", "</s>"]
