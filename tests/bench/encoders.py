"""The table of docs/encoders.md: every family against transformers. `python -m tests.bench encoders`."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import torch

from ingest.encode.encoder import BlockBuffers, Encoder, Shape
from ingest.encode.hooked_model import HookedModel
from ingest.encode.tensors import key_constant
from ingest.family import FAMILIES
from ingest.run.checkpoint import Checkpoint, find_checkpoint
from ingest.run.settings import EMBEDDED
from ingest.text.blocks import Block, make_batches
from store.kernels.attention import attention_pattern
from tests.bench.ingest import transformers_model
from tests.bench.table import show
from tests.family_models import eager_patterns, save_family

#: Sizes of the random models whose rate is measured.
SIZES = {"num_hidden_layers": 6, "num_attention_heads": 6, "hidden_size": 192, "intermediate_size": 384}
SENTENCES, ROUNDS = 150, 3
#: Wordpieces of a sentence.
LENGTHS = (8, 65)


def encoders() -> None:
    """Largest error of a recomputed weight in float64, and processor time of encoding against a plain forward pass."""
    torch.set_num_threads(1)  # several threads would wait for each other, which takes processor time too
    with tempfile.TemporaryDirectory() as folder:
        places = {family.name: save_family(Path(folder) / family.model_type, family.model_type) for family in FAMILIES}
        wide = {
            family.name: save_family(Path(folder) / f"wide-{family.model_type}", family.model_type, sizes=SIZES)
            for family in FAMILIES
        }
        rows = [
            (name, f"{_error(find_checkpoint(str(places[name]))):.1e}", _ratio(find_checkpoint(str(wide[name]))))
            for name in places
        ]
    embedded = find_checkpoint(EMBEDDED)
    rows.append((f"{embedded.name} (trained)", f"{_error(embedded):.1e}", _ratio(embedded)))
    show("Encoders", ("family", "largest error", "rate, plain pass is 1: median (range)"), rows)


def _error(checkpoint: Checkpoint) -> float:
    """Largest difference of an attention weight from transformers' eager attention in float64, over random sentences."""
    hooked = HookedModel(checkpoint, device=torch.device("cpu"), dtype=torch.float32)
    block, errors = _block(hooked), [0.0]
    stops = np.cumsum(block.lengths)[:20]
    sentences = [
        block.token_ids[stop - size : stop].astype(np.int64) for stop, size in zip(stops, block.lengths, strict=False)
    ]
    for ids, expected in zip(sentences, eager_patterns(checkpoint.folder, sentences), strict=True):
        capture = hooked.run(torch.from_numpy(ids)[None], None)
        query, key = (
            torch.cat([layer[0].transpose(0, 1) for layer in layers]).numpy() for layers in (capture.query, capture.key)
        )
        found = attention_pattern(query, key, bias=hooked.bias).reshape(expected.shape)
        errors.append(float(np.abs(found - expected).max()))
    return max(errors)


def _ratio(checkpoint: Checkpoint) -> str:
    """Rate of an ingest's encoding divided by the rate of a plain pass, measured in turns on the same batches."""
    cpu = torch.device("cpu")
    hooked = HookedModel(checkpoint, device=cpu, dtype=torch.float32, packed=True)
    block, encoder = _block(hooked), Encoder(hooked)
    shape = Shape(hooked.layers, hooked.heads, hooked.channels, block.tokens, max(LENGTHS))
    buffers = BlockBuffers(shape, cpu, key_constant(hooked))
    plain = transformers_model(checkpoint, cpu)
    turns = [
        _seconds(lambda: _plain_pass(plain, block, encoder)) / _seconds(lambda: encoder.encode(block, buffers))
        for _ in range(ROUNDS + 1)
    ]
    ratios = sorted(turns[1:])  # the first turn compiles
    return f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def _plain_pass(model: Any, block: Block, encoder: Encoder) -> None:
    for batch in make_batches(block, tokens=encoder.batch_tokens):
        ids, real = torch.from_numpy(batch.token_ids), torch.from_numpy(batch.real)
        with torch.inference_mode():
            model(input_ids=ids, attention_mask=real.long())


def _block(hooked: HookedModel) -> Block:
    """Sentences of random wordpieces, of random lengths."""
    random = np.random.default_rng(0)
    longest = min(LENGTHS[1], hooked.longest)
    lengths = random.integers(LENGTHS[0], longest + 1, size=SENTENCES).astype(np.int32)
    tokens = int(lengths.sum())
    known = np.setdiff1d(np.arange(hooked.config.vocab_size), [hooked.config.pad_token_id])
    ids = random.choice(known, size=tokens).astype(np.int32)
    return Block(0, tokens, lengths, ids, np.zeros(tokens, np.uint8))


def _seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began
