"""Widgets of a notebook: content of a cell, values that come back, and a reader's own model, which stays unchanged."""

import json
import re
import subprocess
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
import transformers
from ipywidgets import Widget as AnyWidget
from ipywidgets.embed import embed_data

import headscape
from dashboard.notebook import widget as widget_module
from dashboard.notebook.modules import KINDS, module, style
from dashboard.notebook.weights import LEVELS, pack_weights
from dashboard.notebook.widget import Widget
from headscape.corpus import PicturedCorpus
from headscape.own_model import own_sentence
from ingest.run.errors import IngestError
from store import StoreError
from tests.family_models import save_family
from tests.tiny_models import WORDS, save_model, wordpiece_tokenizer

TEXT = "The film was <b>good</b>, $x$ &amp; never slow."
#: Most bytes of a cell, and the number of wordpieces in it.
MOST, TOKENS = 1_000_000, 128


@pytest.fixture(autouse=True)
def no_widgets_left() -> Iterator[None]:
    """Close all widgets after a test: ipywidgets keep every widget."""
    yield
    AnyWidget.close_all()


@pytest.fixture
def bert(tiny_model: Path) -> Any:
    """The tiny model in training mode with the slow attention, as a reader may have it."""
    return transformers.AutoModel.from_pretrained(
        tiny_model, attn_implementation="eager", add_pooling_layer=False
    ).train()


@pytest.fixture
def tokenizer(tiny_model: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(tiny_model)


@pytest.fixture
def pictured(tiny_store: str) -> PicturedCorpus:
    return headscape.open(tiny_store)


# -- a reader's own model ---------------------------------------------------------------------------


def own_attention(model: Any, tokenizer: Any, *texts: str) -> np.ndarray:
    """Attention by transformers' own code (layer, head, query_token, key_token)."""
    with torch.no_grad():
        given = model.eval()(**tokenizer(*texts, return_tensors="pt"), output_attentions=True).attentions
    return torch.stack(given)[:, 0].numpy()


def test_the_pattern_of_any_family_is_that_of_transformers(any_family: Path) -> None:
    model = transformers.AutoModel.from_pretrained(any_family, attn_implementation="eager")
    tokenizer = transformers.AutoTokenizer.from_pretrained(any_family)
    widget = headscape.sentence(model, tokenizer, "The film was good.", "It was long.")
    expected = own_attention(model, tokenizer, "The film was good.", "It was long.")
    np.testing.assert_allclose(widget.pattern.values, expected, atol=1e-4)
    pieces = tokenizer.convert_ids_to_tokens(tokenizer("The film was good.", "It was long.")["input_ids"])
    assert widget.pattern.key_wordpiece.values.tolist() == pieces


def state_of(model: Any) -> dict[str, Any]:
    hooks = [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in model.modules()]
    places = {name: tensor.data_ptr() for name, tensor in model.named_parameters()}
    kind = model.config._attn_implementation
    return {"hooks": hooks, "places": places, "training": model.training, "attention": kind}


def test_a_model_of_its_owner_is_not_changed(bert: Any, tokenizer: Any) -> None:
    before, weights = state_of(bert), {name: tensor.clone() for name, tensor in bert.named_parameters()}
    kernels = torch.backends.cuda.cudnn_sdp_enabled()
    headscape.sentence(bert, tokenizer, TEXT)
    assert state_of(bert) == before
    assert all(torch.equal(tensor, weights[name]) for name, tensor in bert.named_parameters())
    assert torch.backends.cuda.cudnn_sdp_enabled() == kernels


def test_hooks_of_the_owner_change_what_is_shown(bert: Any, tokenizer: Any) -> None:
    bert.encoder.layer[0].attention.self.query.register_forward_hook(lambda _module, _given, output: 0 * output)
    pattern = headscape.sentence(bert, tokenizer, "The film was good.").pattern
    np.testing.assert_allclose(pattern.isel(layer=0).values, 1 / pattern.sizes["key_token"], atol=1e-6)


def test_a_folder_shows_what_its_model_does(tiny_model: Path, bert: Any, tokenizer: Any) -> None:
    named = headscape.sentence(str(tiny_model), None, TEXT)
    np.testing.assert_allclose(named.pattern.values, own_attention(bert, tokenizer, TEXT), atol=1e-5)


def test_a_model_without_padding_is_read_as_one_with_it(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "model", "gpt2")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, without = (transformers.AutoModel.from_pretrained(folder) for _ in range(2))
    without.config.bos_token_id = without.config.eos_token_id = without.config.pad_token_id = None
    found, expected = (headscape.context_mixing(own, tokenizer, TEXT).values for own in (without, model))
    np.testing.assert_array_equal(found, expected)


def gpt(**_: Any) -> Any:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    return transformers.GPTNeoXModel(transformers.GPTNeoXConfig(**sizes, vocab_size=50))


def vision(**_: Any) -> Any:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    return transformers.ViTModel(transformers.ViTConfig(**sizes, image_size=32, patch_size=16))


BAD_MODELS: list[tuple[Callable[..., Any], str]] = [
    (gpt, "is of no family that is read here: .* model_type gpt_neox. Give a checkpoint of model_type bert"),
    (vision, "is of no family that is read here: .* model_type vit. Give a checkpoint of model_type bert"),
    (
        lambda: torch.nn.Linear(2, 2),
        "The model is a Linear, not one of transformers' models. Give what from_pretrained returns",
    ),
]


@pytest.mark.parametrize(("make", "sentence"), BAD_MODELS)
def test_a_model_that_is_not_read_is_refused(make: Callable[..., Any], sentence: str, tokenizer: Any) -> None:
    with pytest.raises(IngestError, match=sentence):
        headscape.sentence(make(), tokenizer, "A film.")


def test_a_decoder_of_a_known_family_is_refused(bert: Any, tokenizer: Any) -> None:
    bert.config.is_decoder = True
    with pytest.raises(IngestError, match=r"is a decoder: .* Give a BERT encoder"):
        headscape.sentence(bert, tokenizer, "A film.")


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (("",), "has no word. Type one"),
        (("  ",), "has no word. Type one"),
        (("good " * 200,), "longer than .* reads: 128 wordpieces .* Give a shorter text"),
        (("A film.", "good " * 200), "longer than .* Give a shorter text"),
        ((7,), "`text` is of type int. Give one sentence as a str"),
        (("A film.", ["It was long."]), "`other` is of type list. Give one sentence as a str"),
        (("A film.", " "), "`other` is empty. Give a second sentence, or leave `other` out"),
    ],
)
def test_a_text_that_is_not_read_is_refused(texts: tuple[Any, ...], sentence: str, bert: Any, tokenizer: Any) -> None:
    with pytest.raises(IngestError, match=sentence):
        headscape.sentence(bert, tokenizer, *texts)


def test_half_a_surrogate_pair_is_read_as_a_question_mark(bert: Any, tokenizer: Any) -> None:
    shown, expected = (headscape.sentence(bert, tokenizer, text) for text in ("A \ud800 film", "A ? film"))
    assert shown.pattern.identical(expected.pattern)


def test_both_halves_of_a_surrogate_pair_are_read_as_their_character(bert: Any, tokenizer: Any) -> None:
    shown, expected = (
        headscape.sentence(bert, tokenizer, text) for text in ("A \ud83d\ude00 film", "A \U0001f600 film")
    )
    assert shown.pattern.identical(expected.pattern)


def test_a_tokenizer_of_another_vocabulary_is_refused(bert: Any) -> None:
    other = transformers.BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "film": 5})
    bert.resize_token_embeddings(6 + 128)
    with pytest.raises(IngestError, match=r"not that of .*: it has 6 wordpieces, .* Give the tokenizer that was saved"):
        headscape.sentence(bert, other, "film")


def test_a_tokenizer_with_other_special_tokens_is_refused(bert: Any) -> None:
    other = wordpiece_tokenizer()
    other.pad_token = "[SEP]"
    with pytest.raises(IngestError, match="it has pad_token_id = 3, and the model 0"):
        headscape.sentence(bert, other, "film")


def test_a_model_object_without_its_tokenizer_is_refused(bert: Any) -> None:
    with pytest.raises(IngestError, match=r"A model object needs its tokenizer\. Give what AutoTokenizer"):
        headscape.context_mixing(bert, None, "film")


def test_what_is_no_tokenizer_is_refused(bert: Any) -> None:
    with pytest.raises(
        IngestError, match=r"The tokenizer is a dict, not one of transformers' tokenizers. Give what AutoTokenizer"
    ):
        headscape.sentence(bert, {}, "film")


@pytest.mark.parametrize(
    "options",
    [
        {"show": "tree"},
        {"layer": 9},
        {"layer": "0"},
        {"layer": 1.0},
        {"heads": [7]},
        {"heads": []},
        {"heads": "0"},
        {"heads": 0},
    ],
)
def test_a_view_or_head_that_is_not_there_is_refused(options: dict[str, Any], bert: Any, tokenizer: Any) -> None:
    with pytest.raises(StoreError, match="Choose"):
        headscape.sentence(bert, tokenizer, "A film.", **options)


# -- what a cell holds ------------------------------------------------------------------------------


def bytes_of(widget: Widget) -> int:
    """Bytes of a cell in a saved notebook: state of the widget, and its output."""
    saved = embed_data([widget], state=AnyWidget.get_manager_state(widgets=[widget])["state"])["manager_state"]
    return len(json.dumps(saved)) + sum(len(json.dumps(output)) for output in widget.outputs())


def test_a_sentence_of_144_heads_and_128_tokens_takes_less_than_a_megabyte(tmp_path: Path) -> None:
    """The bytes are those in a notebook, with modules, style and still picture."""
    folder = save_model(tmp_path / "large", layers=12, heads=12)
    words = np.random.default_rng(0).choice([word for word in WORDS if word.isalpha()], TOKENS - 2)
    widget = headscape.sentence(str(folder), None, " ".join(words))
    assert widget.pattern.shape == (12, 12, TOKENS, TOKENS)
    assert bytes_of(widget) <= MOST


def test_points_take_less_than_a_megabyte(pictured: PicturedCorpus) -> None:
    assert all(bytes_of(widget) <= MOST for widget in (pictured.show(0, 1), pictured.heads()))


def test_packed_weights_are_as_near_as_they_say(bert: Any, tokenizer: Any) -> None:
    _, sentence = own_sentence(bert, tokenizer, TEXT, None)
    for levels, most in ((LEVELS[0], 10**9), (LEVELS[3], 900)):
        packed = pack_weights(sentence.pattern, most)
        assert packed.levels <= levels
        unpacked = decoded(packed.packed, packed.levels, sentence.pattern.shape)
        assert np.abs(unpacked - sentence.pattern).max() <= packed.error + 1e-6


def decoded(packed: bytes, levels: int, shape: tuple[int, ...]) -> np.ndarray:
    """Weights as the browser reads them."""
    planes = np.frombuffer(zlib.decompress(packed), np.uint8).astype(np.int64)
    codes = planes if levels <= 255 else 256 * planes[: len(planes) // 2] + planes[len(planes) // 2 :]
    return (codes / levels).reshape(shape).swapaxes(-1, -2)


def test_the_widget_is_few_lines_of_python() -> None:
    assert len(Path(str(widget_module.__file__)).read_text("utf-8").splitlines()) <= 150


@pytest.mark.parametrize("kind", KINDS)
def test_the_modules_of_a_widget_are_one_module(kind: str, tmp_path: Path) -> None:
    """The module imports nothing: a saved notebook has no server."""
    (tmp_path / "widget.mjs").write_text(module(kind), "utf-8")
    assert not re.search(r"^\s*import\b", module(kind), re.MULTILINE)
    code = "import(process.argv[1]).then(({ default: widget }) => console.log(typeof widget.render))"
    ended = subprocess.run(
        ["node", "-e", code, str(tmp_path / "widget.mjs")], capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.stderr) == ("function\n", "")


@pytest.mark.parametrize("kind", KINDS)
def test_the_style_of_a_widget_is_that_of_its_root(kind: str) -> None:
    assert ":root" not in style(kind)
    assert ':host([data-mantine-color-scheme="dark"])' in style(kind)


# -- a frontend without widgets ---------------------------------------------------------------------


def test_without_widgets_there_is_a_picture_and_a_sentence(bert: Any, tokenizer: Any) -> None:
    bundle, _ = headscape.sentence(bert, tokenizer, TEXT)._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/plain"}
    assert bundle["text/plain"].endswith("Run the cell in JupyterLab, Notebook 7, VS Code, marimo or Colab.")


def test_wordpieces_in_the_still_picture_are_text(bert: Any, tokenizer: Any) -> None:
    widget = headscape.sentence(bert, tokenizer, TEXT)
    drawn = ElementTree.fromstring(widget._repr_mimebundle_()[0]["image/svg+xml"])
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")][1:]
    assert texts == 2 * widget.pattern.key_wordpiece.values.tolist()
    assert {"<", "$", "&"} & set(texts) or "[UNK]" in texts


def test_a_still_picture_of_hidden_tokens_has_its_title_alone(bert: Any, tokenizer: Any, tmp_path: Path) -> None:
    widget = headscape.sentence(bert, tokenizer, TEXT)
    widget.state = {"hidden": list(range(widget.pattern.sizes["key_token"]))}
    widget.save(str(tmp_path / "still.svg"))
    drawn = ElementTree.fromstring((tmp_path / "still.svg").read_text("utf-8"))
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}text"))) == 1
    assert list(drawn.iter("{http://www.w3.org/2000/svg}line")) == []


def test_the_still_picture_is_an_output_of_its_own(bert: Any, tokenizer: Any) -> None:
    """JupyterLab without a kernel shows nothing of an output with a widget."""
    widget = headscape.sentence(bert, tokenizer, TEXT)
    drawn, still = widget.outputs()
    assert set(drawn) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    image = re.fullmatch(r'<img class="(.*)" alt="(.*)" src="data:image/svg\+xml;base64,(.*)">', still["text/html"])
    assert image is not None
    assert image[1] == widget.still_class
    assert b64decode(image[3]).decode() == widget._repr_mimebundle_()[0]["image/svg+xml"]


def test_points_have_a_still_picture(pictured: PicturedCorpus) -> None:
    for widget in (pictured.show(1, 0), pictured.heads()):
        assert b64decode(widget._repr_mimebundle_()[0]["image/png"]).startswith(b"\x89PNG")


# -- what comes back --------------------------------------------------------------------------------


def chosen(widget: Widget, **state: Any) -> Widget:
    """The widget after a click: the browser sets the state."""
    widget.set_state({"state": widget.state | state})
    return widget


def test_selected_tokens_of_a_sentence_come_back(bert: Any, tokenizer: Any) -> None:
    widget = chosen(headscape.sentence(bert, tokenizer, "The film was good."), layer=1, heads=[1], tokens=[2], toward=3)
    assert widget.selection == {"layer": 1, "head": [1], "query_token": [2], "key_token": [3]}
    assert widget.pattern.isel(widget.selection).shape == (1, 1, 1)
    rows = widget.selected_tokens.values.tolist()
    assert rows == [["query", 2, "film", 0], ["key", 3, "was", 0]]


def test_the_steps_of_a_query_come_from_python(bert: Any, tokenizer: Any) -> None:
    widget = chosen(headscape.sentence(bert, tokenizer, "The film was good.", show="neuron"), tokens=[2], layer=1)
    assert widget.answer["of"] == "/neuron/1/0/2"
    weights = [key["weight"] for key in widget.answer["neuron"]["keys"]]
    np.testing.assert_allclose(weights, widget.pattern.values[1, 0, 2], atol=1e-4)


def test_the_points_in_a_region_come_back(pictured: PicturedCorpus) -> None:
    view = pictured.views[0]
    left_half = f"{view},1,0,0,0,-10,-10,500,-10,500,1010,-10,1010"
    widget = chosen(pictured.show(1, 0, tokens=40), lasso=left_half)
    places = pictured.places(view, pictured.rows[:40], layer=1, head=0)
    inside = places[..., 0] < 0.5
    assert widget.selection["token"] == pictured.rows[:40][inside.any(axis=1)].tolist()
    assert pictured.query.isel(widget.selection).sizes["token"] == inside.any(axis=1).sum()
    assert len(widget.selected_tokens) == inside.sum()
    assert (widget.selected_tokens.role == "query").sum() == inside[:, 0].sum()


def test_a_clicked_point_comes_back_with_its_lines(pictured: PicturedCorpus) -> None:
    widget = chosen(pictured.show(1, 0), token=5, role="key")
    row = int(pictured.rows[5])
    assert widget.selection == {"layer": 1, "head": 0, "token": [row]}
    assert widget.answer["focus"]["position"] == int(pictured.tokens.position.values[row])


def test_a_clicked_head_comes_back(pictured: PicturedCorpus) -> None:
    assert chosen(pictured.heads(), layer=1, head=0).selection == {"layer": 1, "head": 0}


def test_an_unknown_name_in_a_state_is_refused(pictured: PicturedCorpus) -> None:
    widget = pictured.show(1, 0)
    with pytest.raises(StoreError, match=r"A state has no lassos. Choose of layer, head, lasso"):
        widget.state = {"lassos": "x"}


# -- a corpus ---------------------------------------------------------------------------------------


def test_the_count_of_heads_shows_all_heads(pictured: PicturedCorpus) -> None:
    assert pictured.heads == 2
    assert [panel["name"] for panel in pictured.heads().content["picture"]["panels"]] == [
        "L0 H0",
        "L0 H1",
        "L1 H0",
        "L1 H1",
    ]


def test_numbers_of_points_are_of_no_class_of_their_own(pictured: PicturedCorpus) -> None:
    """The numbers are plain, as marimo can write no others."""
    for widget in (pictured.heads(), pictured.show(0, 1)):
        content = widget.content
        assert {type(content["heads"]), type(content["picture"]["columns"])} == {int}


def test_cards_of_points_have_no_space_within_a_word(any_store: str) -> None:
    corpus = headscape.open(any_store)
    pieces = [piece for number in range(corpus.n_sentences) for piece in corpus.sentence_pieces(number)]
    count = next(number for number, piece in enumerate(pieces, 1) if piece.continues and number > 5)
    tokens = corpus.show(0, 1, tokens=count).content["tokens"]
    assert [tokens["pieces"][number] for number in tokens["ids"]] == [piece.name for piece in pieces[:count]]
    texts = [tokens["texts"][number] for number in tokens["ids"]]
    assert texts == [piece.spaced for piece in pieces[:count]]
    assert not texts[-1].startswith(" ")


def test_a_sentence_of_the_store_has_its_pattern(pictured: PicturedCorpus) -> None:
    widget = pictured.sentence(3, layer=1, heads=[0])
    np.testing.assert_allclose(widget.pattern.values, pictured.pattern(3).values, atol=1e-6)
    assert widget.selection == {"layer": 1, "head": [0]}


def test_a_head_or_sentence_that_is_not_there_is_refused(pictured: PicturedCorpus) -> None:
    for show in (
        lambda: pictured.show(9, 0),
        lambda: pictured.sentence(10**6),
        lambda: pictured.show(0, 0, view="pca"),
        lambda: pictured.heads(view="nope"),
        lambda: pictured.show(0, 0, tokens="a"),
        lambda: pictured.sentence(3, first="a"),
        lambda: pictured.sentence(3, first=1.5),
    ):
        with pytest.raises(StoreError, match=r"\. (Choose|Give) "):
            show()


def test_points_of_a_widget_have_no_pattern(pictured: PicturedCorpus) -> None:
    with pytest.raises(StoreError, match=r"Points have no pattern. Take corpus.pattern"):
        _ = pictured.show(0, 0).pattern
