"""Tiny BERTs with random weights; all have the vocabulary of the reviews."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
import transformers
from transformers.models.esm.configuration_esm import get_default_vocab_list
from transformers.models.esm.tokenization_esm import EsmTokenizer
from transformers.models.mpnet.tokenization_mpnet import MPNetTokenizer

from tests.made_once import made_once
from tests.published.reference import eager_model

_TEXT = (
    "the a film movie plot was is not very good bad great awful acting i it we loved hated scene ending and but with of"
    " music mr . wayne really never watch again one two slow funny sad long"
)
WORDS = _TEXT.split()
#: Wordpieces of the longest input of these models.
POSITIONS = 128


def save_model(
    folder: Path,
    *,
    layers: int = 2,
    heads: int = 2,
    channels: int = 8,
    seed: int = 0,
    architecture: str = "BertModel",
    labels: tuple[str, ...] = ("negative", "positive"),
) -> Path:
    """Save a BERT with random weights, large enough that attention is not uniform, and biases that are not zero."""
    torch.manual_seed(seed)
    config = _config(layers, heads, channels, labels)
    options = {"add_pooling_layer": False} if architecture == "BertModel" else {}
    model = getattr(transformers, architecture)(config, **options)
    return save_unlike_zero(folder, model, wordpiece_tokenizer())


def save_unlike_zero(folder: Path, model: Any, tokenizer: Any) -> Path:
    """Save a random model, after making its biases other than zero, with its tokenizer."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _config(layers: int, heads: int, channels: int, labels: tuple[str, ...]) -> transformers.BertConfig:
    return transformers.BertConfig(
        vocab_size=len(_vocabulary()),
        hidden_size=heads * channels,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * channels,
        max_position_embeddings=POSITIONS,
        initializer_range=0.3,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )


def _vocabulary() -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,!?'\"-()", *"0123456789", *letters]
    return list(dict.fromkeys([*pieces, *(f"##{letter}" for letter in letters), *WORDS]))


def wordpiece_tokenizer() -> transformers.BertTokenizer:
    """A BERT tokenizer of the wordpieces of the reviews."""
    vocabulary = {piece: number for number, piece in enumerate(_vocabulary())}
    return transformers.BertTokenizer(vocab=vocabulary, do_lower_case=True)


def mpnet_tokenizer() -> Any:
    """A tokenizer with the special tokens of MPNet, then the wordpieces of the reviews."""
    own = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
    pieces = [*own, *(piece for piece in _vocabulary() if not piece.startswith("["))]
    return MPNetTokenizer(vocab={piece: number for number, piece in enumerate(pieces)})


def protein_tokenizer() -> Any:
    """A tokenizer of the letters of proteins, which gives no offsets."""
    with TemporaryDirectory() as folder:
        vocabulary = Path(folder) / "vocab.txt"
        vocabulary.write_text("\n".join(get_default_vocab_list()), "utf-8")
        return EsmTokenizer(str(vocabulary))


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "tiny-bert", save_model)


@pytest.fixture(scope="session")
def odd_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 3 layers, 4 heads and 5 channels: no two of its sizes are equal."""
    make = partial(save_model, layers=3, heads=4, channels=5, seed=1)
    return made_once(tmp_path_factory, "odd-bert", make)


@pytest.fixture(scope="session")
def second_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the tiny model's shape with other weights."""
    return made_once(tmp_path_factory, "second-bert", partial(save_model, seed=7))


@pytest.fixture(scope="session", params=["odd_model", pytest.param("tiny_model", marks=pytest.mark.slow)])
def any_model(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder


@pytest.fixture(
    scope="session", params=["odd_model", "roberta_model", pytest.param("tiny_model", marks=pytest.mark.slow)]
)
def any_family(request: pytest.FixtureRequest) -> Path:
    """The odd BERT and a RoBERTa, in turn; in a slow run the tiny BERT too."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


@pytest.fixture(scope="session")
def eager() -> Callable[[Path], Any]:
    """A function that loads transformers' own model in float64, with the slow attention that returns patterns."""
    return eager_model
