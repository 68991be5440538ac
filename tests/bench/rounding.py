"""Largest difference between attention weights from float16 vectors and the weights that the model computes."""

import os
from typing import Any

import torch
from transformers import AutoTokenizer, BertModel

from ingest.run.checkpoint import find_checkpoint
from store import open_corpus
from store.kernels.attention import attention_pattern
from tests.bench.table import show

SENTENCES = 1000
MODEL = os.environ.get("MODEL") or "embedded"


def rounding(store: str) -> None:
    """Print the largest difference over the first sentences of a store, for the default model or `MODEL=`."""
    checkpoint = find_checkpoint(MODEL)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder)
    model = BertModel.from_pretrained(checkpoint.folder, attn_implementation="eager", add_pooling_layer=False).float()
    worst, tokens = 0.0, 0
    texts = open_corpus(store).sentences.text.values[:SENTENCES]
    for text in texts:
        tokenized = tokenizer(str(text), truncation=True, max_length=128, return_tensors="pt")
        worst = max(worst, _largest_difference(model.eval(), tokenized))
        tokens += tokenized["input_ids"].numel()
    row = (checkpoint.name, f"{len(texts):,}", f"{tokens:,}", f"{worst:.4f}")
    show(
        "Weights of vectors in float16 beside the model's",
        ("model", "sentences", "tokens", "largest difference"),
        [row],
    )


def _largest_difference(model: Any, tokenized: Any) -> float:
    """Largest difference between the model's eager attention and that of its float16 queries and keys, over all heads."""
    vectors: dict[tuple[int, str], torch.Tensor] = {}
    hooks = [
        getattr(layer.attention.self, role).register_forward_hook(
            lambda _, __, output, place=(number, role): vectors.__setitem__(place, output)
        )
        for number, layer in enumerate(model.encoder.layer)
        for role in ("query", "key")
    ]
    with torch.inference_mode():
        attentions = model(**tokenized, output_attentions=True).attentions
    for hook in hooks:
        hook.remove()
    heads = model.config.num_attention_heads
    differences = []
    for number, expected in enumerate(attentions):
        query, key = (
            vectors[number, role][0].half().float().unflatten(-1, (heads, -1)).transpose(0, 1)
            for role in ("query", "key")
        )
        differences.append(float((attention_pattern(query, key) - expected[0]).abs().max()))
    return max(differences)
