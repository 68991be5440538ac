"""A tiny BERT with transformers' tokenizer of Japanese BERTs, which hands out no offsets."""

import json
from pathlib import Path

import torch
import transformers

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"私は映画を見たがカa1。!",
    *(f"##{letter}" for letter in "画たa"),
]


def save_japanese_model(folder: Path, **tokenizer: object) -> Path:
    """Words by transformers' own rules, which need no package."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=len(PIECES), max_position_embeddings=64, initializer_range=0.3, **sizes)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", "utf-8")
    settings = {"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "basic"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | tokenizer))
    return folder
