"""Ingests on workers: real workers of this machine, up to eight workers whose model only sleeps, and workers that are killed.

Workers of the simulation load this module, which replaces their model.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count

import icechunk
import numpy as np
import psutil

from ingest.encode.encoder import BlockBuffers, Encoder, open_encoder
from ingest.encode.loading import find_device, find_dtype
from ingest.encode.tensors import Loading, ModelGroup, encode_corpus, encode_on_workers
from ingest.run.checkpoint import Checkpoint, find_checkpoint
from ingest.run.cluster import Cluster, open_cluster
from ingest.run.settings import Settings
from ingest.text.blocks import Block, PlannedCorpus, plan
from store import open_snapshot
from store.repository.writer import Writer, open_writer
from store.schema import BLOCK
from tests.bench.ingest import timed
from tests.bench.kills import differences
from tests.bench.table import show

#: Sentences and pictures of the real ingests: one picture of each way of fitting.
SENTENCES, VIEWS = 2000, "pca-raw-2d,attention-raw-2d,tsne-raw-2d"
#: Sentences of the ingests whose workers are killed, and seconds between two kills: some tasks take longer.
KILLED_SENTENCES, PAUSE = 1500, (3.0, 9.0)
#: Environment variable of a worker of the simulation: tokens a second of its model.
RATE = "HEADSCAPE_BENCH_RATE"
#: Tokens a second of the forward pass of a small BERT on a GPU.
GPU = 1_000_000
#: Blocks for each worker of the simulation.
BLOCKS_EACH = 6


def workers(kills: int, *, rate: float) -> None:
    """Measure whole ingests on workers, the tensor stage at `rate` tokens a second on each worker, and `kills` kills."""
    real()
    simulated((1, 2, 4, 8), rate)
    killed(kills)


def real() -> None:
    """Print the time of one ingest in one process, and with one and two workers, and whether the arrays are the same."""
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in (None, 1, 2):
            place = f"{folder}/{number}"
            seconds = timed(
                partial(subprocess.run, _command(place, number, SENTENCES), check=True, capture_output=True)
            )
            alone = open_snapshot(f"{folder}/None")
            different = differences(open_snapshot(place), alone)
            rows.append((number or "one process", f"{seconds:.0f}", f"{_tensors(place):,.0f}", len(different)))
    columns = ("workers", "whole ingest, s", "tensors, tokens/s", "arrays that differ from one process, bit for bit")
    show(f"Workers of this machine: default model, {SENTENCES:,} sentences, {VIEWS}", columns, rows)


def _command(place: str, number: int | None, sentences: int, views: str = VIEWS) -> list[str]:
    options = {"store": place, "sentences": sentences, "views": views, "features": "none", "annotate": "none"}
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "ingest", *flags, *([] if number is None else [f"--workers={number}"])]


def _tensors(place: str) -> float:
    """Tokens a second of the tensor stage, by its commits; workers load their models within this time."""
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(place))
    commits = list(repository.ancestry(branch="ingest"))[::-1]
    blocks = [number for number, commit in enumerate(commits) if ": block " in commit.message]
    ends = [commits[number].written_at.timestamp() for number in (blocks[0] - 1, blocks[-1])]
    return len(open_snapshot(place).corpus().rows) / (ends[1] - ends[0])


def simulated(numbers: tuple[int, ...], rate: float) -> None:
    """Print the rate of the tensor stage with a model that sleeps as `rate` says, and as fast as a GPU, where writing is the limit."""
    for speed, counts in ((rate, numbers), (GPU, numbers[:3])):
        measured = {number: _simulated(number, speed) for number in counts}
        rows: list[tuple[object, ...]] = [
            (number, f"{tokens:,.0f}", f"{tokens / number / measured[1]:.2f}") for number, tokens in measured.items()
        ]
        title = f"Workers whose model sleeps: {speed:,.0f} tokens/s each, the default model's sizes, {BLOCKS_EACH} blocks each"
        show(title, ("workers", "tensors written and committed, tokens/s", "of linear"), rows)


def _simulated(number: int, rate: float) -> float:
    """Tokens a second on `number` workers, after each has loaded the model."""
    with tempfile.TemporaryDirectory() as folder, _sleeping(number, rate) as address:
        settings = Settings(store=f"{folder}/store", scheduler=address)
        checkpoint, device = find_checkpoint(settings.model), find_device("cpu")
        encoder = open_encoder(checkpoint, settings, device, find_dtype("auto", device))
        with open_writer(settings.store) as writer, open_cluster(settings) as cluster:
            assert cluster is not None
            encode = partial(_encode, writer, cluster, settings, checkpoint, encoder)
            encode("warm", 2 * number)
            tokens = BLOCKS_EACH * number * BLOCK
            return tokens / timed(partial(encode, "measured", BLOCKS_EACH * number))


def _encode(
    writer: Writer,
    cluster: Cluster,
    settings: Settings,
    checkpoint: Checkpoint,
    encoder: Encoder,
    key: str,
    blocks: int,
) -> None:
    writer.group(f"corpus/{key}").attrs["max_length"] = settings.max_length
    writer.commit(key)
    model, corpus = ModelGroup(key, {"name": key}), PlannedCorpus(key, _blocks(blocks))
    loading = Loading(settings, "cpu", encoder.model.dtype, checkpoint.weights_sha256)
    on_workers = partial(encode_on_workers, cluster, writer, model, loading)
    encode_corpus(writer, model, corpus, corpus.blocks, encoder, on_workers)


def _blocks(number: int) -> list[Block]:
    """Full blocks of sentences of 32 tokens."""
    lengths = np.full(number * BLOCK // 32, 32, np.int32)
    ids = np.random.default_rng(0).integers(1000, 20_000, lengths.sum()).astype(np.int32)
    return plan(lengths, ids, np.zeros(len(ids), np.uint8), length=BLOCK)


@contextmanager
def _sleeping(number: int, rate: float) -> Iterator[str]:
    """The address of a scheduler with workers whose model sleeps."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=number,
        threads_per_worker=1,
        memory_limit=0,
        dashboard_address=None,
        silence_logs=50,
        env={RATE: str(rate)},
        preload=__name__,
    ) as cluster:
        yield cluster.scheduler_address


def dask_setup(_worker: object) -> None:
    """Let the model of this worker sleep. dask calls this function at the start of a worker."""
    rate = float(os.environ[RATE])

    def encode(_encoder: Encoder, block: Block, buffers: BlockBuffers) -> None:
        began = time.monotonic()
        buffers.clear(0)
        for tensor in buffers.per_token.values():
            tensor.fill_(1)
        time.sleep(max(0.0, block.tokens / rate - (time.monotonic() - began)))

    vars(sys.modules[Encoder.__module__])["Encoder"].encode = encode


def killed(kills: int) -> None:
    """Run ingests whose workers are killed at random moments, and compare each with an undisturbed one."""
    chance = random.Random(0)
    done, different = 0, []
    with tempfile.TemporaryDirectory() as folder:
        alone = f"{folder}/alone"
        subprocess.run(
            _command(alone, None, KILLED_SENTENCES, "pca-raw-2d,attention-raw-2d"), check=True, capture_output=True
        )
        for number in count():
            if done >= kills:
                break
            place = f"{folder}/killed-{number}"
            done += _kill_workers(place, chance, kills - done)
            different.append(len(differences(open_snapshot(place), open_snapshot(alone))))
    rows = [
        ("workers killed", done),
        ("ingests that came to their end", len(different)),
        ("arrays of them that differ from one process, bit for bit", sum(different)),
    ]
    show(f"Workers killed at random moments: 2 workers, default model, {KILLED_SENTENCES:,} sentences", ("", ""), rows)


def _kill_workers(place: str, chance: random.Random, most: int) -> int:
    """Run an ingest on two workers and kill at most `most` of them; returns how many were killed."""
    command = _command(place, 2, KILLED_SENTENCES, "pca-raw-2d,attention-raw-2d")
    done = 0
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        while process.poll() is None:
            time.sleep(chance.uniform(*PAUSE))
            if done < most:
                done += _kill_one(process.pid, chance)
        said.seek(0)
        assert process.returncode == 0, said.read()[-1000:]
    return done


def _kill_one(driver: int, chance: random.Random) -> bool:
    """Kill a worker of a driver, if one runs."""
    try:
        children = psutil.Process(driver).children(recursive=True)
        found = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
        if found:
            chance.choice(found).kill()
    except psutil.Error:
        return False
    return bool(found)
