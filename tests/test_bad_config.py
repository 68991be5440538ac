"""A config.json with any content: a BERT is built from its checked fields, or the bad field is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.encode.feature_points import check_features
from ingest.encode.loading import class_names, load_model
from ingest.family.bert import FIELDS
from ingest.heads.importance import label_outputs
from ingest.run import checkpoint
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from ingest.run.settings import Settings
from ingest.text.own_tokenizer import load_tokenizer
from ingest.text.reviews import find_data
from tests.broken_model import change_config, works_or_is_refused
from tests.family_models import save_family
from tests.tiny_models import save_model

Complaint = Callable[..., str]
Ingest = Callable[..., str]


# -- configs --------------------------------------------------------------------------------------------

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-2, 9) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_attention_heads", 0),
        ("num_attention_heads", 3),
        ("num_hidden_layers", "two"),
        ("num_hidden_layers", -1),
        ("num_hidden_layers", True),
        ("num_hidden_layers", 10**9),
        ("max_position_embeddings", "x"),
        ("max_position_embeddings", None),
        ("vocab_size", 10**12),
        ("hidden_size", 1.5),
        ("layer_norm_eps", float("nan")),
        ("pad_token_id", 10_000),
        ("id2label", {"x": "bad"}),
        ("architectures", 5),
        ("is_decoder", "no"),
        ("position_embedding_type", [2]),
    ],
)
def test_a_config_with_an_impossible_value_is_refused_by_its_field(field: str, value: Any, broken: Path) -> None:
    change_config(broken, **{field: value})
    with pytest.raises(IngestError, match=rf"config.json of broken says {field} = .*\. It must be .*\. Save "):
        find_checkpoint(str(broken))


@pytest.mark.parametrize(
    ("model_type", "changes", "told"),
    [
        (
            "modernbert",
            {"layer_types": ["bogus"] * 3},
            "layer_types = ['bogus', 'bogus', 'bogus']. It must be a list of full_",
        ),
        (
            "modernbert",
            {"layer_types": ["full_attention"] * 2},
            "layer_types of 2 layers. It must be a list of 3 layers.",
        ),
        (
            "eurobert",
            {"num_attention_heads": 4, "head_dim": 4, "num_key_value_heads": 3},
            "num_key_value_heads = 3. It must be a divisor of num_attention_heads = 4.",
        ),
    ],
)
def test_a_list_or_a_share_that_fits_no_model_of_the_family_is_refused_by_its_field(
    model_type: str, changes: dict[str, Any], told: str, tmp_path: Path
) -> None:
    model = save_family(tmp_path / "model", model_type)
    change_config(model, **changes)
    with pytest.raises(IngestError) as refused:
        find_checkpoint(str(model))
    assert f"config.json of model says {told}" in str(refused.value)


@pytest.mark.parametrize(
    ("model_type", "field", "value", "told"),
    [
        ("deberta-v2", "conv_kernel_size", 3, "It must be 0: .* not read. Choose a model without this convolution."),
        ("albert", "inner_group_num", 2, "It must be 1: .* not read. Choose a model with one layer in a group."),
    ],
)
def test_a_sound_model_that_is_not_read_here_is_not_to_be_saved_again(
    model_type: str, field: str, value: int, told: str, tmp_path: Path
) -> None:
    model = save_family(tmp_path / "model", model_type)
    change_config(model, **{field: value})
    with pytest.raises(IngestError, match=f"says {field} = {value}. {told}"):
        find_checkpoint(str(model))


@pytest.mark.parametrize(
    ("model_type", "field"),
    [
        ("bert", "hidden_act"),
        ("gpt2", "activation_function"),
        ("modernbert", "hidden_activation"),
        ("distilbert", "activation"),
    ],
)
def test_a_function_that_transformers_does_not_know_is_refused_by_its_field(
    model_type: str, field: str, tmp_path: Path
) -> None:
    model = save_family(tmp_path / "model", model_type)
    change_config(model, **{field: "bogus"})
    checkpoint = find_checkpoint(str(model))
    with pytest.raises(IngestError, match=rf"config.json of model says {field} = 'bogus'\. It must be one of gelu, "):
        load_model(checkpoint, checkpoint.family.encoder_class)


def test_what_transformers_says_of_a_config_is_said_with_its_class(tmp_path: Path) -> None:
    model = save_family(tmp_path / "model", "modernbert")
    change_config(model, classifier_pooling="bogus")
    with pytest.raises(IngestError, match=r"\(Strict\w+: .*expected one of \('cls', 'mean'\), got bogus\)\. Save "):
        load_model(find_checkpoint(str(model)), "ModernBertModel")


@pytest.mark.parametrize(
    ("field", "value"), [("num_hidden_layers", 999), ("vocab_size", 10**7), ("hidden_size", 10**6)]
)
def test_a_config_of_other_sizes_than_the_weights_is_refused_before_such_a_model_is_built(
    field: str, value: int, broken: Path
) -> None:
    change_config(broken, **{field: value})
    with pytest.raises(IngestError, match=r"cannot be loaded as a BERT \(e.* where config.json says"):
        load_model(find_checkpoint(str(broken)), "BertModel", add_pooling_layer=False)


def test_fields_that_no_bert_reads_do_not_reach_the_model(broken: Path) -> None:
    odd = {"dtype": "zzz", "quantization_config": {"a": 1}, "output_attentions": "x", "chunk_size_feed_forward": 7}
    change_config(broken, **odd, auto_map={"AutoTokenizer": ["x.py", "y"]}, attn_implementation=[1], num_labels="many")
    bert = find_checkpoint(str(broken))
    model = load_model(bert, "BertModel", add_pooling_layer=False)
    assert model.config.chunk_size_feed_forward == 0
    assert load_tokenizer(bert.folder).cls_token == "[CLS]"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    field=st.sampled_from([*FIELDS, "chunk_size_feed_forward", "auto_map", "dtype"]), value=JSON, left_out=st.booleans()
)
def test_any_config_loads_or_is_refused(field: str, value: Any, left_out: bool, broken: Path) -> None:
    config = json.loads((broken / "config.json").read_text())
    changed = {name: old for name, old in config.items() if name != field} | ({} if left_out else {field: value})
    (broken / "config.json").write_text(json.dumps(changed))
    works_or_is_refused(lambda: load_model(find_checkpoint(str(broken)), "BertModel", add_pooling_layer=False))
    (broken / "config.json").write_text(json.dumps(config))


# -- configs by hand ------------------------------------------------------------------------------------


def test_a_config_without_a_number_of_layers_has_that_of_transformers(broken: Path) -> None:
    leave_out(broken, "num_hidden_layers")
    bert = find_checkpoint(str(broken))
    check_features(Settings(features="pca-L11.mixed"), bert, find_data("embedded"))
    assert bert.family.size(bert.config, "num_hidden_layers") == transformers.BertConfig().num_hidden_layers


def test_a_length_beyond_a_block_is_refused(ingest: Ingest, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"^An ingest reads at most 16 wordpieces\. Give --max-length=16 or less\.$"):
        ingest(tmp_path / "store", max_length=30, block=16)
    assert not (tmp_path / "store").exists()


def test_a_config_without_a_number_of_positions_has_that_of_transformers(broken: Path) -> None:
    leave_out(broken, "max_position_embeddings")
    longest = transformers.BertConfig().max_position_embeddings
    checkpoint.check_length(find_checkpoint(str(broken)), longest)
    with pytest.raises(IngestError, match=f"--max-length={longest} or less"):
        checkpoint.check_length(find_checkpoint(str(broken)), longest + 1)


def test_a_config_of_no_stated_architecture_is_no_classifier(broken: Path) -> None:
    change_config(broken, architectures=None)
    assert class_names(find_checkpoint(str(broken))) == []


def test_classes_without_names_are_two_numbers(tmp_path: Path) -> None:
    model = save_model(tmp_path / "judge", architecture="BertForSequenceClassification")
    change_config(model, id2label=None)
    bert = find_checkpoint(str(model))
    assert class_names(bert) == list(transformers.BertConfig().id2label.values())
    assert label_outputs(bert.config, ["bad", "good"]).tolist() == [0, 1]


def leave_out(folder: Path, name: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    del config[name]
    (folder / "config.json").write_text(json.dumps(config))
