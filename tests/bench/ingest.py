"""Rate of an ingest against a plain forward pass over the same batches, its memory, and the size of its store."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import torch

from ingest.encode.encoder import Encoder, open_encoder
from ingest.encode.loading import find_device, find_dtype
from ingest.encode.tensors import encode_corpus, pending_blocks
from ingest.pipeline import model_group
from ingest.run.checkpoint import Checkpoint, find_checkpoint
from ingest.run.settings import Settings
from ingest.text.blocks import PlannedCorpus, make_batches
from ingest.text.corpus import prepare_corpus
from ingest.text.reviews import find_data
from store.repository.writer import Writer, open_writer
from tests.bench.table import show

ROUNDS = 3


def rate(defaults: Settings, *, recut: int | None = None) -> None:
    """Print tokens a second of a plain forward pass and of the whole ingest of vectors; in turns, so that noise hits both.

    Both have all threads of torch, which the ingest shares out among its streams. With `recut` the tokens are cut
    into sentences of `recut` wordpieces, as no data has enough sentences of that length.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(defaults, store=f"{folder}/store")
        checkpoint, data = find_checkpoint(settings.model), find_data(settings.data)
        device = find_device(settings.device)
        dtype = find_dtype(settings.dtype, device)
        with open_writer(settings.store) as writer:
            corpus = prepare_corpus(writer, settings, data, checkpoint)
            corpus = recut_corpus(corpus, recut) if recut else corpus
            corpus = corpus.with_vectors_of(settings.vector_tokens, sentences=0)
            encoder = open_encoder(checkpoint, settings, device, dtype)
            plain = transformers_model(checkpoint, device)
            rounds = []
            for number in range(ROUNDS + 1):
                forward = timed(lambda: plain_pass(plain, corpus, encoder, dtype))
                whole = timed(lambda number=number: ingest_pass(writer, checkpoint, corpus, encoder, str(number)))  # type: ignore[misc]
                rounds.append((corpus.tokens / forward, corpus.tokens / whole))
    name = f"{checkpoint.name}, {recut or 'usual'} wordpieces, vectors of {corpus.stored.tokens:,} of {corpus.tokens:,} tokens"
    report(name, device, dtype, rounds[1:])
    print(f"Peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def recut_corpus(corpus: PlannedCorpus, length: int) -> PlannedCorpus:
    """The tokens of a corpus in sentences of `length` tokens; the rest of a block is its last sentence."""
    blocks = []
    for block in corpus.blocks:
        rest = block.tokens % length
        lengths = np.array([length] * (block.tokens // length) + [rest] * (rest > 0), np.int32)
        blocks.append(replace(block, lengths=lengths))
    return replace(corpus, blocks=blocks)


def report(name: str, device: torch.device, dtype: torch.dtype, rounds: list[tuple[float, float]]) -> None:
    """Print the rates of all rounds but the first, which warms up."""
    ratios = sorted(whole / forward for forward, whole in rounds)
    rows = [
        ("plain forward pass (sdpa, same batches)", f"{median(forward for forward, _ in rounds):,.0f}", "1"),
        (
            "ingest: statistics, and queries, keys and value norms of tokens with vectors, written and committed",
            f"{median(whole for _, whole in rounds):,.0f}",
            f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        ),
    ]
    show(
        f"Ingest rate: {name}, {device.type}, {str(dtype).removeprefix('torch.')}, {len(rounds)} rounds",
        ("", "tokens/s", "ratio: median (range)"),
        rows,
    )


def transformers_model(checkpoint: Checkpoint, device: torch.device) -> torch.nn.Module:
    """The plain model of a checkpoint, without hooks."""
    import transformers

    family = checkpoint.family
    plain: torch.nn.Module = getattr(transformers, family.encoder_class).from_pretrained(
        checkpoint.folder, attn_implementation=family.implementation, dtype=torch.float32, **family.encoder_options
    )
    return plain.to(device).eval()


def plain_pass(model: torch.nn.Module, corpus: PlannedCorpus, encoder: Encoder, dtype: torch.dtype) -> None:
    """Run the model over the same batches as the ingest, and drop the outputs."""
    device = encoder.model.device
    for block in corpus.blocks:
        for batch in make_batches(block, tokens=encoder.batch_tokens):
            ids, real = (torch.from_numpy(array).to(device) for array in (batch.token_ids, batch.real))
            mask = None if batch.real.all() else real.long()
            with torch.inference_mode(), torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
                model(input_ids=ids, attention_mask=mask)
    if device.type == "cuda":
        torch.cuda.synchronize()


def ingest_pass(writer: Writer, checkpoint: Checkpoint, corpus: PlannedCorpus, encoder: Encoder, name: str) -> None:
    """Run the whole stage `tensors` into a group of its own."""
    model = model_group(checkpoint, corpus, dtype=f"round {name}")
    encode_corpus(writer, model, corpus, pending_blocks(writer, model, corpus), encoder)


def timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@dataclass(frozen=True)
class WholeIngest:
    """An ingest in a process of its own: tokens and bytes of its store, time and memory of the process."""

    tokens: int
    seconds: float
    cpu_seconds: float
    peak_mb: float
    bytes: int


def whole_ingest(store: Path, *flags: str) -> WholeIngest:
    """Run an ingest of the default model and data with two pictures and no feature points."""
    few = ("--views=pca-exact-2d,attention-raw-2d", "--features=none")  # feature points are as many for every corpus
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "ingest", f"--store={store}", *few, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    output = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return WholeIngest(
        int(output.partition("(")[2].partition(" tokens")[0].replace(",", "")),
        time.perf_counter() - began,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        sum(file.stat().st_size for file in store.rglob("*") if file.is_file()),
    )


def memory_and_bytes(counts: tuple[int, int]) -> None:
    """Peak memory and size of whole ingests of two sizes, each in a process of its own."""
    rows = []
    peaks = []
    for sentences in counts:
        folder = Path(tempfile.mkdtemp())
        run = whole_ingest(folder / "store", f"--sentences={sentences}", "--vectors=all")
        peaks.append(run.peak_mb)
        rows.append(
            (
                f"{sentences:,}",
                f"{run.tokens:,}",
                f"{run.seconds:.0f} s",
                f"{run.peak_mb:,.0f} MB",
                f"{run.bytes / 1e6:,.0f} MB",
                f"{run.bytes / run.tokens:,.0f}",
            )
        )
        shutil.rmtree(folder)
    show(
        f"Whole ingest, default model and data: peak memory grows {peaks[1] / peaks[0]:.2f} times",
        ("sentences", "tokens", "time", "peak memory", "store", "bytes/token"),
        rows,
    )
