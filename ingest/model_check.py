"""`headscape check-model MODEL`: whether an ingest can read a model, what it costs, and what does not apply to it. Stores nothing."""

import argparse
import time
from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from ingest.run.process import exit_status
from store.phrases import many

if TYPE_CHECKING:
    from ingest.run.checkpoint import Checkpoint
    from ingest.text.blocks import Block
    from ingest.text.tokenizer import Layout

#: Tokens of all sentences that are encoded for the rate, and of each sentence.
TOKENS, LENGTH = 4096, 32


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a model; returns the exit status, see `ingest.run.process.exit_status`."""
    return exit_status(partial(_check, arguments), name="check-model")


def _check(arguments: Sequence[str] | None) -> None:
    from store.process import check_extra, check_installed

    parser = argparse.ArgumentParser(prog="headscape check-model", description=__doc__)
    parser.add_argument("model", help="hub name or local folder of a checkpoint, or 'embedded'")
    model = parser.parse_args(arguments).model
    check_installed()
    check_extra("ingest")
    for name, value in facts(model):
        print(f"{name:<22} {value}")


def facts(model: str) -> list[tuple[str, str]]:
    """The facts on a model, line by line: name and value.

    Raises
    ------
    IngestError
        Where no ingest could read it, as an ingest says it.
    """
    from ingest.run.checkpoint import find_checkpoint

    checkpoint = find_checkpoint(model)  # before what takes seconds to import
    import torch

    from ingest.encode.encoder import PER_TOKEN, BlockBuffers, Encoder, Shape
    from ingest.encode.hooked_model import LARGEST_ERROR, HookedModel, check_attention
    from ingest.encode.loading import find_device
    from ingest.encode.tensors import key_constant
    from ingest.text.own_tokenizer import check_vocabulary
    from ingest.text.tokenizer import Tokenizer

    tokenizer = Tokenizer(checkpoint.folder, max_length=LENGTH, name=checkpoint.name)
    check_vocabulary(checkpoint, tokenizer.vocab)
    device = find_device("auto")
    hooked = HookedModel(checkpoint, device=device, dtype=torch.float32, packed=True)
    error, constant = check_attention(hooked, checkpoint.name), key_constant(hooked)
    length = min(LENGTH, hooked.longest)
    block = _random_block(hooked.config.vocab_size, length)
    shape = Shape(hooked.layers, hooked.heads, hooked.channels, block.tokens, length)
    encoder, buffers = Encoder(hooked), BlockBuffers(shape, device, constant)
    encoder.encode(block, buffers)  # compiles
    began = time.perf_counter()
    encoder.encode(block, buffers)
    seconds = time.perf_counter() - began
    stored = sum(2 * prod(shape.of(name)) for name in PER_TOKEN) // block.tokens
    return [
        ("model", f"{checkpoint.name} ({checkpoint.family.name})"),
        ("layers, heads", f"{hooked.layers} of {many(hooked.heads, 'head')} with {many(hooked.channels, 'channel')}"),
        *([("added to scores", checkpoint.family.added)] if checkpoint.family.added else []),
        ("longest input", many(hooked.longest, "token")),
        (
            "largest error",
            f"{error:.1e} of a weight against transformers' eager attention (allowed: {LARGEST_ERROR:g})",
        ),
        ("rate", f"{block.tokens / seconds:,.0f} tokens/s on {device.type}, statistics included"),
        ("stored", f"{stored:,} bytes a token before compression"),
        ("trained head", _trained_head(checkpoint)),
        *(("does not apply", what) for what in _missing(checkpoint, tokenizer.layout, hooked.parts.has_token_types)),
    ]


def _missing(checkpoint: "Checkpoint", layout: "Layout", has_token_types: bool) -> Iterator[str]:
    """What does not apply to a model, and why."""
    if not has_token_types:
        yield "token types: it has none"
    if checkpoint.family.causal:
        yield "attention to later tokens: a token sees those before it"
        yield "hidden wordpieces: it predicts the next wordpiece, not hidden ones"
    if not layout.before:
        yield "attention to [CLS]: the tokenizer puts nothing before a text, so the first token stands for it"
    if not layout.after:
        yield "attention to [SEP]: the tokenizer puts nothing after a text"


def _trained_head(checkpoint: "Checkpoint") -> str:
    from ingest.heads.importance import find_kind
    from ingest.run.errors import IngestError

    try:
        return {"mlm": "masked wordpieces", "next": "the next wordpiece", "classification": "labels"}[
            find_kind(checkpoint)
        ]
    except IngestError:
        return "none: head importance does not apply"


def _random_block(wordpieces: int, length: int) -> "Block":
    """Sentences of random wordpieces, all of one length."""
    import numpy as np

    from ingest.text.blocks import Block
    from store.schema.corpus import CLS, SEP

    sentences = TOKENS // length
    token_ids = np.random.default_rng(0).integers(wordpieces, size=(sentences, length), dtype=np.int32)
    flags = np.zeros((sentences, length), np.uint8)
    flags[:, 0], flags[:, -1] = CLS, SEP
    return Block(0, sentences * length, np.full(sentences, length, np.int32), token_ids.ravel(), flags.ravel())
