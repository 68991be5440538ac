"""A tiny RoBERTa with random weights and a byte-level BPE of its own, trained on the words that the reviews are written in."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
import transformers
from transformers.models.gpt2.tokenization_gpt2 import GPT2Tokenizer

from tests.made_once import made_once
from tests.tiny_models import WORDS, save_unlike_zero

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
#: Tokens of the longest input; the table of positions has two more rows.
LONGEST = 126


def save_roberta(folder: Path, *, architecture: str = "RobertaModel", seed: int = 0) -> Path:
    """Save a RoBERTa whose attention is not uniform and whose biases are not zero, as `tests.tiny_models.save_model` does."""
    tokenizer = byte_level_tokenizer()
    torch.manual_seed(seed)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=LONGEST + 2,
        type_vocab_size=1,
        initializer_range=0.3,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
    )
    options = {"add_pooling_layer": False} if architecture == "RobertaModel" else {}
    model = getattr(transformers, architecture)(config, **options)
    return save_unlike_zero(folder, model, tokenizer)


def byte_level_tokenizer() -> transformers.RobertaTokenizer:
    """A byte-level BPE of the words of the reviews."""
    return transformers.RobertaTokenizer(**_trained(SPECIAL))


def causal_tokenizer() -> GPT2Tokenizer:
    """A byte-level BPE of the same words for GPT-2, which puts no special tokens around a text."""
    return GPT2Tokenizer(**_trained(["<|endoftext|>"]))


def _trained(special: list[str]) -> dict[str, Any]:
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator([f" {word}" for word in WORDS] * 2, vocab_size=380, special_tokens=special)
    model = json.loads(trained.to_str())["model"]
    return {"vocab": model["vocab"], "merges": [tuple(pair) for pair in model["merges"]]}


@pytest.fixture(scope="session")
def roberta_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "tiny-roberta", save_roberta)
