"""A tiny BERT with a SentencePiece tokenizer, as multilingual models have: `▁` begins a word, `<s> A </s> </s> B </s>` is a pair."""

from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from tokenizers import decoders, models, pre_tokenizers, processors
from transformers.models.deberta_v2.tokenization_deberta_v2 import DebertaV2Tokenizer

from tests.made_once import made_once
from tests.tiny_models import WORDS, save_model

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
#: Full stops and commas of other scripts.
STOPS = ["\N{IDEOGRAPHIC FULL STOP}", "\N{FULLWIDTH COMMA}", "\N{DEVANAGARI DANDA}"]


def save_sentencepiece(folder: Path) -> Path:
    """Save the tiny model's weights with a SentencePiece tokenizer, which has no more wordpieces than its own."""
    save_model(folder)
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink(missing_ok=True)
    sentencepiece_tokenizer().save_pretrained(folder)
    return folder


def sentencepiece_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """A SentencePiece tokenizer of the words of the reviews."""
    pieces = [
        "▁",
        *".,!?",
        *STOPS,
        *"abcdefghijklmnopqrstuvwxyz",
        "ing",
        *(f"▁{word}" for word in WORDS if word != "."),
    ]
    scores = [(piece, 0.0) for piece in SPECIAL] + [(piece, -1.0 / len(piece)) for piece in pieces]
    backend = tokenizers.Tokenizer(models.Unigram(scores, unk_id=SPECIAL.index("<unk>")))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(name, SPECIAL.index(name)) for name in ("<s>", "</s>")],
    )
    names = {"cls": "<s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, **{f"{name}_token": token for name, token in names.items()}
    )


def deberta_tokenizer() -> Any:
    """A tokenizer with the special tokens of DeBERTa-v2, then the wordpieces of `sentencepiece_tokenizer`."""
    own = [(piece, 0.0) for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    pieces = sentencepiece_tokenizer().get_vocab()
    known = [(piece, -1.0 / len(piece)) for piece in sorted(pieces, key=pieces.__getitem__) if piece not in SPECIAL]
    return DebertaV2Tokenizer(vocab=own + known, unk_id=1)


@pytest.fixture(scope="session")
def piece_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "sentencepiece-bert", save_sentencepiece)
