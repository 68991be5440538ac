"""A tiny model with random weights of each family, with the kind of tokenizer that the family has."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from ingest.family import FAMILIES
from ingest.family.protocol import Family
from ingest.run.checkpoint import find_checkpoint
from tests.roberta import byte_level_tokenizer, causal_tokenizer
from tests.sentencepiece import deberta_tokenizer, sentencepiece_tokenizer
from tests.tiny_models import mpnet_tokenizer, protein_tokenizer, save_unlike_zero, wordpiece_tokenizer

BY_TYPE: dict[str, Family] = {family.model_type: family for family in FAMILIES}
#: Sizes, all different. ELECTRA's embeddings have fewer features than its layers.
SIZES = {
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "hidden_size": 16,
    "intermediate_size": 24,
    "max_position_embeddings": 130,
    "initializer_range": 0.3,
}
OWN_SIZES: Mapping[str, Mapping[str, Any]] = {
    "electra": {"embedding_size": 10},
    "distilbert": {"hidden_dim": 24},
    "albert": {"embedding_size": 10, "num_hidden_groups": 2},
    "modernbert": {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}
    | {"local_attention": 8},
    "gpt2": {"n_inner": 24, "bos_token_id": 0, "eos_token_id": 0},
    "esm": {"position_embedding_type": "rotary", "token_dropout": True, "pad_token_id": 1, "mask_token_id": 32},
    "xmod": {"languages": ["de_DE", "en_XX"], "default_language": "en_XX", "pad_token_id": 1},
    "eurobert": {"num_key_value_heads": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "mask_token_id": 4},
    "deberta-v2": {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 4,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "position_biased_input": False,
        "type_vocab_size": 0,
    },
}
#: Tokenizers of families whose vocabulary is of the same kind as another family's, with other special tokens.
OWN_TOKENIZERS = {"mpnet": mpnet_tokenizer, "gpt2": causal_tokenizer, "esm": protein_tokenizer}
TOKENIZERS = {
    "vocab.txt": wordpiece_tokenizer,
    "vocab.json": byte_level_tokenizer,
    "tokenizer.json": byte_level_tokenizer,
    "sentencepiece.bpe.model": sentencepiece_tokenizer,
    "spiece.model": sentencepiece_tokenizer,
    "spm.model": deberta_tokenizer,
}


def save_family(folder: Path, model_type: str, kind: str = "", seed: int = 0, sizes: Mapping[str, Any] = SIZES) -> Path:
    """A saved model of a family, with the head of the loss `kind` where it is given; no bias is zero."""
    family = BY_TYPE[model_type]
    tokenizer = OWN_TOKENIZERS.get(model_type, TOKENIZERS[family.vocabulary[0]])()
    config = _config(family, **{**SIZES, **sizes}, vocab_size=len(tokenizer))
    torch.manual_seed(seed)
    model = (
        getattr(transformers, family.architectures[kind])(config)
        if kind
        else getattr(transformers, family.encoder_class)(config, **family.encoder_options)
    )
    return save_unlike_zero(folder, model, tokenizer)


def eager_patterns(folder: Path, sentences: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Patterns (layer, head, query_token, key_token) of each sentence, from transformers' eager attention in float64."""
    family = find_checkpoint(str(folder)).family
    options = {"attn_implementation": "eager", "dtype": torch.float64, **family.encoder_options}
    model = getattr(transformers, family.encoder_class).from_pretrained(folder, **options).eval()
    with torch.no_grad():
        outputs = [model(torch.from_numpy(ids)[None], output_attentions=True) for ids in sentences]
    return [torch.cat(output.attentions).numpy() for output in outputs]


def _config(family: Family, **sizes: Any) -> Any:
    names = {0: "negative", 1: "positive"}
    labels = {"id2label": names, "label2id": {name: number for number, name in names.items()}}
    own = OWN_SIZES.get(family.model_type, {})
    return getattr(transformers, family.config_class)(**{**own, **sizes}, **labels)
