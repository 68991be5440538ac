"""A tiny model with random weights of each family, with the kind of tokenizer that the family has."""

from pathlib import Path
from typing import Any

import torch
import transformers

from ingest.family import FAMILIES
from ingest.family.protocol import Family
from tests.roberta import byte_level_tokenizer
from tests.sentencepiece import sentencepiece_tokenizer
from tests.tiny_models import save_unlike_zero, wordpiece_tokenizer

BY_TYPE: dict[str, Family] = {family.model_type: family for family in FAMILIES}
#: Sizes that no two of them share. ELECTRA's embeddings have fewer features than its layers.
SIZES = {
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "hidden_size": 16,
    "intermediate_size": 24,
    "max_position_embeddings": 130,
    "initializer_range": 0.3,
}
OWN_SIZES = {"electra": {"embedding_size": 10}, "distilbert": {"hidden_dim": 24}}
TOKENIZERS = {
    "vocab.txt": wordpiece_tokenizer,
    "vocab.json": byte_level_tokenizer,
    "sentencepiece.bpe.model": sentencepiece_tokenizer,
}


def save_family(folder: Path, model_type: str, kind: str = "", seed: int = 0) -> Path:
    """A model of a family, with the trained head of a loss where one is named; no bias is zero."""
    family = BY_TYPE[model_type]
    tokenizer = TOKENIZERS[family.vocabulary[0]]()
    config = _config(family, vocab_size=len(tokenizer))
    torch.manual_seed(seed)
    model = (
        getattr(transformers, family.architectures[kind])(config)
        if kind
        else getattr(transformers, family.encoder_class)(config, **family.encoder_options)
    )
    return save_unlike_zero(folder, model, tokenizer)


def _config(family: Family, **sizes: int) -> Any:
    names = {0: "negative", 1: "positive"}
    labels = {"id2label": names, "label2id": {name: number for number, name in names.items()}}
    own = OWN_SIZES.get(family.model_type, {})
    return getattr(transformers, family.config_class)(**SIZES, **own, **sizes, **labels)
