"""A reader's model objects: wrappers around a model of transformers are read, and those with wrong numbers are refused."""

import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers.processors import TemplateProcessing
from torch import nn

import headscape
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from tests.family_models import save_family

TEXT, OTHER = "The film was good.", "It was long."
METHODS = ["norm", "globenc", "alti", "value_zeroing", "decompx"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_family(tmp_path_factory.mktemp("own") / "tiny", "bert")


@pytest.fixture
def bert(folder: Path) -> Any:
    return transformers.AutoModel.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


# -- adapters -----------------------------------------------------------------------------------------


class Adapted(nn.Module):
    """A linear layer with another one added to it, as in peft."""

    disable_adapters = False

    def __init__(self, base_layer: nn.Linear) -> None:
        super().__init__()
        self.base_layer = base_layer
        self.added = nn.Linear(base_layer.in_features, base_layer.out_features, bias=False)

    @property
    def weight(self) -> Any:
        return self.base_layer.weight

    @property
    def bias(self) -> Any:
        return self.base_layer.bias

    def forward(self, vectors: torch.Tensor) -> Any:
        made = self.base_layer(vectors)
        return made if self.disable_adapters else made + self.added(vectors)


class Peft(nn.Module):
    """A wrapper like `peft.PeftModel`, which merges adapters into its own weights, in place."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.config = model.config

    def get_base_model(self) -> nn.Module:
        return self.model

    def merge_and_unload(self) -> nn.Module:
        for module in self.model.modules():
            if isinstance(module, Adapted):
                module.base_layer.weight.data += module.added.weight.data
        return self.unload()

    def unload(self) -> nn.Module:
        for module in list(self.model.modules()):
            for name, within in list(module.named_children()):
                if isinstance(within, Adapted):
                    setattr(module, name, within.base_layer)
        return self.model


def adapt(model: Any) -> Any:
    torch.manual_seed(0)
    for layer in model.encoder.layer:
        layer.attention.self.value = Adapted(layer.attention.self.value)
        layer.attention.output.dense = Adapted(layer.attention.output.dense)
    return model.eval()


def test_weights_with_an_adapter_beside_them_are_refused(bert: Any, tokenizer: Any) -> None:
    with pytest.raises(
        IngestError,
        match=r"^tiny has weights with an adapter that is not merged into them \(.*value\.base_layer\.weight\)\. Give the model that model",
    ):
        headscape.context_mixing(adapt(bert), tokenizer, TEXT, method="norm")


@pytest.mark.parametrize("method", METHODS)
def test_an_adapter_of_peft_is_merged(method: str, bert: Any, tokenizer: Any) -> None:
    adapted = adapt(bert)
    merged = Peft(deepcopy(adapted)).merge_and_unload()
    found, expected = (
        headscape.context_mixing(model, tokenizer, TEXT, method=method).values for model in (Peft(adapted), merged)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_an_adapter_that_is_merged_stays_apart_in_the_model_of_its_owner(bert: Any, tokenizer: Any) -> None:
    adapted = adapt(bert)
    before = {name: weight.clone() for name, weight in adapted.state_dict().items()}
    headscape.sentence(Peft(adapted), tokenizer, TEXT)
    assert adapted.state_dict().keys() == before.keys()
    assert all(torch.equal(weight, before[name]) for name, weight in adapted.state_dict().items())


def test_an_adapter_that_is_turned_off_is_left_out(bert: Any, tokenizer: Any) -> None:
    adapted = adapt(deepcopy(bert))
    for module in adapted.modules():
        if isinstance(module, Adapted):
            module.disable_adapters = True
    found, expected = (headscape.alike(model, tokenizer, TEXT, OTHER) for model in (Peft(adapted), bert))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_prompt_of_peft_is_refused(bert: Any, tokenizer: Any) -> None:
    model = Peft(bert)
    model.active_peft_config = type("PromptTuningConfig", (), {"is_prompt_learning": True})()
    with pytest.raises(IngestError, match=r"^tiny has a trained prompt before each text, which is not read\. Give the"):
        headscape.sentence(model, tokenizer, TEXT)


# -- layers that compute otherwise than their type ----------------------------------------------------


class Doubled(nn.Linear):
    """A linear layer whose output does not follow from its weights."""

    def forward(self, vectors: torch.Tensor) -> Any:
        return 2 * super().forward(vectors)


def test_a_linear_layer_that_computes_otherwise_is_refused(bert: Any, tokenizer: Any) -> None:
    attention = bert.encoder.layer[1].attention.output
    other = Doubled(16, 16)
    other.load_state_dict(attention.dense.state_dict())
    attention.dense = other
    with pytest.raises(
        IngestError,
        match=r"^Layer 1 of tiny has a Doubled in place of a torch\.nn\.Linear, .* Give the model with plain",
    ):
        headscape.context_mixing(bert, tokenizer, TEXT, method="norm")


def test_a_linear_layer_with_a_parametrization_is_read(bert: Any, tokenizer: Any) -> None:
    expected = headscape.context_mixing(bert, tokenizer, TEXT, method="alti").values
    nn.utils.parametrizations.weight_norm(bert.encoder.layer[1].attention.output.dense)
    np.testing.assert_allclose(
        headscape.context_mixing(bert, tokenizer, TEXT, method="alti").values, expected, atol=1e-5
    )


def lose_half_of_its_heads(model: Any) -> None:
    attention = model.encoder.layer[0].attention
    for name in ("query", "key", "value"):
        setattr(attention.self, name, nn.Linear(16, 8))
    attention.output.dense = nn.Linear(8, 16)
    attention.self.num_attention_heads, attention.self.all_head_size = 1, 8


def split_its_heads(model: Any) -> None:
    attention = model.encoder.layer[1].attention.self
    attention.num_attention_heads, attention.attention_head_size = 4, 4


def lose_layers(model: Any) -> None:
    model.encoder.layer = model.encoder.layer[:1]


def get_longer(model: Any) -> None:
    model.embeddings.position_embeddings = nn.Embedding(140, 16)


def fill(number: float) -> Callable[[Any], None]:
    def filled(model: Any) -> None:
        model.encoder.layer[0].attention.self.query.weight.data.view(-1)[3] = number

    return filled


def quantize(model: Any) -> Any:
    return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


OTHER_MODELS: list[tuple[Callable[[Any], Any], str]] = [
    (
        lose_half_of_its_heads,
        r"^tiny is not the model that its config describes: the output projection of layer 0 is \(16, 8\), where the config says \(16, 16\)\. Give",
    ),
    (
        split_its_heads,
        r"^tiny attends otherwise than its queries and keys say: .* other heads than its config says\. Give",
    ),
    (lose_layers, r"^tiny has 1 layer where its config says 3\. Set the number in model\.config to 1\.$"),
    (get_longer, r"position_embeddings\.weight is \(140, 16\), where the config says \(130, 16\)\. Give"),
    (
        fill(float("nan")),
        r"^The weights of tiny are not those of a trained model: encoder\.layer\.0\.attention\.self\.query\.weight has numbers such as nan\. Save",
    ),
    (fill(1e38), r"^The weights of tiny are not those of a trained model: .* has numbers such as 1e\+38\. Save"),
    (lambda model: model.to("meta"), r"^The weights of tiny are not loaded: .* is on the device meta\. Load the model"),
    (
        lambda model: model.to(torch.float8_e4m3fn),
        r"^tiny has weights that are quantized: .* is torch\.float8_e4m3fn\. Give",
    ),
    (quantize, r"^tiny has weights that are quantized: .*query\.\w+ is torch\.\w+\. Give what model\.dequantize"),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("change", "sentence"), OTHER_MODELS)
def test_a_model_that_its_config_does_not_describe_is_refused(
    change: Callable[[Any], Any], sentence: str, bert: Any, tokenizer: Any
) -> None:
    with pytest.raises(IngestError, match=sentence):
        headscape.sentence(change(bert) or bert, tokenizer, TEXT)


@pytest.mark.parametrize("model_type", ["eurobert", "nomic_bert", "jina_embeddings_v3"])
def test_heads_of_another_size_than_their_share_of_the_features_are_refused(model_type: str, tmp_path: Path) -> None:
    folder = save_family(tmp_path / "tiny", model_type, sizes={"head_dim": 16})
    sentence = r"says head_dim = 16\. It must be 8, .*: heads of another size are not read\. Choose a model with head_dim = 8\."
    with pytest.raises(IngestError, match=sentence):
        find_checkpoint(str(folder))
    model, tokenizer = (each.from_pretrained(folder) for each in (transformers.AutoModel, transformers.AutoTokenizer))
    with pytest.raises(IngestError, match=sentence):
        headscape.sentence(model, tokenizer, TEXT)


# -- hooks of the owner -------------------------------------------------------------------------------


def double_a_layer(model: Any) -> None:
    model.encoder.layer[2].register_forward_hook(lambda _module, _given, made: 2 * made)


def turn_off_heads(model: Any) -> None:
    model.encoder.layer[0].attention.self.register_forward_hook(lambda _module, _given, made: (0 * made[0], *made[1:]))


def change_values_a_little(model: Any) -> None:
    model.encoder.layer[1].attention.self.value.register_forward_hook(lambda _module, _given, made: 1.01 * made)


@pytest.mark.parametrize("hook", [double_a_layer, turn_off_heads, change_values_a_little])
def test_a_text_is_not_compared_where_a_hook_changes_its_vector(
    hook: Callable[[Any], None], bert: Any, tokenizer: Any
) -> None:
    hook(bert)
    with pytest.raises(
        IngestError,
        match=r"^tiny computes other vectors than its weights say, by .* Give the model without its hooks\.$",
    ):
        headscape.alike(bert, tokenizer, TEXT, OTHER)


@pytest.mark.parametrize("method", ["alti", "value_zeroing", "decompx"])
def test_a_hook_that_changes_a_layer_is_refused_by_methods_that_follow_from_its_weights(
    method: str, bert: Any, tokenizer: Any
) -> None:
    turn_off_heads(bert)
    with pytest.raises(IngestError, match="computes other vectors than its weights say"):
        headscape.context_mixing(bert, tokenizer, TEXT, method=method)


def double_what_heads_add(model: Any) -> None:
    model.encoder.layer[1].attention.output.dense.register_forward_hook(lambda _module, _given, made: 2 * made)


@pytest.mark.parametrize("hook", [double_what_heads_add, turn_off_heads])
def test_a_hook_on_what_heads_add_is_refused_by_methods_that_weigh_their_values(
    hook: Callable[[Any], None], bert: Any, tokenizer: Any
) -> None:
    attended = headscape.context_mixing(bert, tokenizer, TEXT, method="attention")
    hook(bert)
    for method in ("norm", "globenc"):
        with pytest.raises(IngestError, match="computes other vectors than its weights say"):
            headscape.context_mixing(bert, tokenizer, TEXT, method=method)
    first = headscape.context_mixing(bert, tokenizer, TEXT, method="attention")[0]
    np.testing.assert_allclose(first, attended[0], atol=1e-6)


def test_a_text_is_read_in_one_pass_of_the_model(bert: Any, tokenizer: Any) -> None:
    """Two earlier passes compare the model's attention with transformers' own."""
    passes: list[int] = []
    bert.register_forward_hook(lambda *_: passes.append(1))
    headscape.alike(bert, tokenizer, TEXT, OTHER)
    assert len(passes) == 2 + 2


def test_texts_that_are_too_long_to_compare_are_refused_with_what_their_reader_can_do(
    bert: Any, tokenizer: Any
) -> None:
    sizes = {"hidden_size": 1024, "max_position_embeddings": 1000, "num_hidden_layers": 1}
    wide = transformers.BertModel(transformers.BertConfig(**bert.config.to_dict() | sizes)).eval()
    text = " ".join([TEXT] * 120)
    with pytest.raises(IngestError, match=r"at most 512 tokens fit, and the text has \d+\. Give a shorter text\.$"):
        headscape.alike(wide, tokenizer, text, OTHER)
    with pytest.raises(IngestError, match=r"at most 512 tokens fit, and .* Choose alti, or a shorter text\.$"):
        headscape.context_mixing(wide, tokenizer, text, method="decompx")


def test_a_hook_that_changes_queries_alone_is_followed_by_all_methods(bert: Any, tokenizer: Any) -> None:
    bert.encoder.layer[0].attention.self.query.register_forward_hook(lambda _module, _given, made: 0 * made)
    with torch.no_grad():
        a, b = (bert(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0) for text in (TEXT, OTHER))
    cosine = float(torch.cosine_similarity(a, b, dim=0))
    assert float(headscape.alike(bert, tokenizer, TEXT, OTHER).sum()) == pytest.approx(cosine, abs=1e-5)
    for method in METHODS:
        headscape.context_mixing(bert, tokenizer, TEXT, method=method)


# -- wrappers around a model, and objects without a model ---------------------------------------------


class Wrapped(nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, self.config = model, model.config


def test_a_module_around_a_model_is_refused(bert: Any, tokenizer: Any) -> None:
    with pytest.raises(IngestError, match=r"^The model is a Wrapped, not one of transformers' models\. Give what"):
        headscape.sentence(Wrapped(bert), tokenizer, TEXT)


class Transformer(nn.Module):
    """A module like the first one of sentence-transformers."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.auto_model = model


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    "around", [torch.compile, lambda model: nn.Sequential(Transformer(model), nn.Identity()), Peft]
)
def test_a_model_within_that_of_another_library_is_read(
    around: Callable[[Any], Any], bert: Any, tokenizer: Any
) -> None:
    found, expected = (headscape.sentence(model, tokenizer, TEXT).pattern for model in (around(bert), bert))
    assert found.identical(expected)


def test_a_long_text_is_shown_from_the_token_that_is_asked_for(bert: Any, tokenizer: Any) -> None:
    widget = headscape.sentence(bert, tokenizer, "film " * 128, first=2)
    assert "tokens 3 to 130 of 130" in widget.content["source"]


def test_a_model_that_compiles_itself_is_read(bert: Any, tokenizer: Any) -> None:
    expected = headscape.sentence(bert, tokenizer, TEXT).pattern
    bert.compile(backend="eager")
    assert headscape.sentence(bert, tokenizer, TEXT).pattern.identical(expected)


def test_a_model_as_its_own_tokenizer_is_refused(bert: Any) -> None:
    sentence = "The tokenizer is a BertModel, not one of transformers' tokenizers. Give what"
    with pytest.raises(IngestError, match=re.escape(sentence)):
        headscape.sentence(bert, bert, TEXT)


def test_a_class_that_is_spoken_with_a_vowel_has_its_article(bert: Any) -> None:
    with pytest.raises(IngestError, match=r"^The tokenizer is an Embedding, not one"):
        headscape.sentence(bert, nn.Embedding(2, 2), TEXT)


@pytest.mark.parametrize("rows", [30, 127])
def test_rows_for_new_wordpieces_are_no_other_tokenizer(rows: int, bert: Any, tokenizer: Any) -> None:
    expected = headscape.sentence(bert, tokenizer, TEXT).pattern
    bert.resize_token_embeddings(len(tokenizer) + rows)
    assert headscape.sentence(bert, tokenizer, TEXT).pattern.identical(expected)


def test_a_tokenizer_object_that_leaves_an_end_open_is_named_by_its_model(bert: Any, tokenizer: Any) -> None:
    names = {f"{name}_token": getattr(tokenizer, f"{name}_token") for name in ("unk", "pad", "cls", "sep", "mask")}
    open_ended = transformers.PreTrainedTokenizerFast(tokenizer_object=deepcopy(tokenizer.backend_tokenizer), **names)
    ends = [("[CLS]", tokenizer.cls_token_id)]
    open_ended.backend_tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=ends)
    with pytest.raises(
        IngestError, match=r"^The tokenizer of tiny .*puts \[CLS\] before a text and no \[SEP\] after it"
    ):
        headscape.sentence(bert, open_ended, TEXT)


def test_texts_are_not_compared_by_layers_unlike_those_of_bert(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "tiny", "gpt2")
    with pytest.raises(IngestError, match=r"its layers are not those of a BERT\. Give a model with BERT's layers\.$"):
        headscape.alike(str(folder), None, TEXT, OTHER)
