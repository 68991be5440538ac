"""Stage `mixing`: the inner products that context mixing follows from, block by block, how far each token reaches, and what arrives in the sample.

A separate pass over the sentences with vectors, which counts no patterns: a store without these numbers gets them by its next ingest.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

import numpy as np
import torch
import zarr
from numpy.typing import NDArray

from ingest.encode.encoder import BATCH_TOKENS, BatchTensors
from ingest.encode.hooked_model import HookedModel
from ingest.encode.sample import Sample
from ingest.encode.tensors import LENGTH, SEQUENCES, ModelGroup, transactions
from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError
from ingest.run.parallel import one_thread_each
from ingest.run.progress import bar
from ingest.run.settings import NONE, Settings
from ingest.text.blocks import Batch, Block, PlannedCorpus, content_hash, make_batches
from store.kernels.mixing import count_products, mixing_products
from store.mixing import ArrivalShares
from store.reach import reach_of_sentences
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.mixing import MIXING_ARRAYS, ORIGINS, PART, STORED_METHODS, TARGETS
from store.schema.model import BOUNDS, SOURCES

VERSION, REACH_VERSION = "mixing/1", "reach/2"
#: Name of the array with the hashes of the finished blocks, by version.
HASHES = {VERSION: "mixing_hash", REACH_VERSION: "reach_hash"}
#: The largest product of random wordpieces is stored as at most this power of two: a corpus may have products 256 times as large.
LARGEST_EXPONENT = 8


def update_mixing(
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    sample: Sample,
    *,
    settings: Settings,
    checkpoint: Checkpoint,
    device: torch.device,
    dtype: torch.dtype,
) -> bool:
    """Bring the products up to date, with a commit for each block, then what arrives in the sample; False if there was nothing to do."""
    if settings.mixing == NONE:
        return False
    group = writer.group(f"{model.path}/mixing")
    blocks = {version: _pending(group, version, model, corpus) for version in HASHES}
    complete = group.attrs.get("sentences") == group.attrs.get("reached_sentences") == corpus.sentences
    if complete and not any(blocks.values()):
        return False
    _prepare(writer, model, corpus)
    if blocks[VERSION]:
        encoder = ProductEncoder(HookedModel(checkpoint, device=device, dtype=dtype, packed=True), settings.batch)
        _write_products(writer, model, corpus, blocks[VERSION], encoder)
    _write_reaches(writer, model, corpus, blocks[REACH_VERSION])
    _finish(writer, model, corpus, sample, settings.seed)
    return True


def _block_hash(version: str, model: ModelGroup, block: Block) -> int:
    return content_hash({"version": version, "block": model.block_hash(block)})


def _pending(group: zarr.Group, version: str, model: ModelGroup, corpus: PlannedCorpus) -> list[Block]:
    name = HASHES[version]
    done = np.asarray(array_of(group, name)[:]) if name in group else np.zeros(0, np.uint64)
    return [
        block
        for block in corpus.blocks
        if block.index >= len(done) or int(done[block.index]) != _block_hash(version, model, block)
    ]


def _prepare(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> None:
    layers, heads, rows, _ = array_of(writer.group(model.path), "query").shape
    group, length = writer.group(f"{model.path}/mixing"), corpus.blocks[0].length
    names = {"source": SOURCES, "bound": BOUNDS, "approach": STORED_METHODS, "origin": ORIGINS, "target": [*TARGETS]}
    sizes = {name: len(values) for name, values in names.items()}
    sizes |= {"layer": layers, "product": count_products(heads)}
    sizes |= {"token": rows, "block": length, "part": min(PART, length), "task": rows // length}
    create_arrays(group, MIXING_ARRAYS, sizes)
    array_of(group, "layer")[:] = np.arange(layers)
    for name, values in names.items():
        array_of(group, name)[:] = np.array(values, object)
    writer.commit(f"room for mixing of {model.key}")


def _write_products(
    writer: Writer, model: ModelGroup, corpus: PlannedCorpus, blocks: list[Block], encoder: "ProductEncoder"
) -> None:
    group = writer.group(f"{model.path}/mixing")
    if np.isnan(np.asarray(array_of(group, "scale")[:])).any():  # later blocks take the scale of the first
        array_of(group, "scale")[:] = encoder.find_scale()
    encoder.scale = np.asarray(array_of(group, "scale")[:], np.float32)
    for block in _committed(writer, model, corpus, blocks, "mixing"):
        array_of(group, "product")[..., block.rows] = encoder.products(block)
        array_of(group, HASHES[VERSION])[block.index] = np.uint64(_block_hash(VERSION, model, block))


def _write_reaches(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, blocks: list[Block]) -> None:
    """Write the reach of the tokens of some blocks, from the stored vectors and products: the model is not needed."""
    group = writer.group(f"{model.path}/mixing")
    for block in _committed(writer, model, corpus, blocks, "reach"):
        ends = block.rows.start + np.cumsum(block.lengths, dtype=np.int64)
        spans = np.stack([ends - block.lengths, ends], axis=1)
        found = reach_of_sentences(writer.group(model.path), spans, block.token_flags, block.rows)
        for name, values in found.items():
            array_of(group, name)[..., block.rows] = values
        array_of(group, HASHES[REACH_VERSION])[block.index] = np.uint64(_block_hash(REACH_VERSION, model, block))


def _committed(
    writer: Writer, model: ModelGroup, corpus: PlannedCorpus, blocks: list[Block], what: str
) -> Iterator[Block]:
    """Blocks one after the other, each committed once it is written; of many blocks, several share a commit."""
    done = corpus.tokens - sum(block.tokens for block in blocks)
    with bar(what, total=corpus.tokens, unit="tokens", done=done) as progress:
        for together in transactions(blocks):
            for block in together:
                yield block
                progress.update(block.tokens)
            writer.commit(f"{model.key}: {what} block {together[-1].index}")


def _finish(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, sample: Sample, seed: int) -> None:
    """Write the shares of what arrives in the sample, and the size of the plan."""
    group = writer.group(f"{model.path}/mixing")
    flags = np.asarray(array_of(writer.group(f"corpus/{corpus.key}"), "token_flags")[: int(sample.rows[-1]) + 1])
    shares = ArrivalShares.of(writer.group(model.path), sample.spans, flags, seed=seed)
    array_of(group, "arrival")[:] = shares.mean
    array_of(group, "arrival_interval")[:] = shares.interval
    group.attrs.update(
        {
            "sentences": corpus.sentences,
            "tokens": corpus.tokens,
            "reached_sentences": corpus.sentences,
            "sampled_sentences": sample.sentences,
            "counted_sentences": shares.sentences,
            "seed": seed,
            "version": VERSION,
        }
    )
    writer.commit(f"{model.key}: what arrives in {shares.sentences:,} sentences")


class ProductEncoder:
    """Runs a model over blocks and keeps the inner products of its tokens alone.

    Attributes
    ----------
    scale
        Factor of the products of each layer: (layer,).
    """

    def __init__(self, model: HookedModel, batch_tokens: int | None = None) -> None:
        self.model = model
        self.scale: NDArray[np.float32] = np.ones(model.layers, np.float32)
        self._batch_tokens = batch_tokens or BATCH_TOKENS[model.device.type]
        self._maps = model.product_maps()

    def find_scale(self) -> NDArray[np.float64]:
        """Powers of two (layer,) that bring the largest product of random wordpieces to 128 to 256.

        A layer without weights has 1. The powers must not depend on the corpus, so that a store that grows equals a store made at once.
        """
        length = min(LENGTH, self.model.longest)
        wordpieces = np.random.default_rng(0).integers(self.model.config.vocab_size, size=(SEQUENCES, length))
        token_ids = torch.from_numpy(wordpieces).to(self.model.device)
        largest = np.array([float(own.abs().max()) for own in self._run(token_ids, None)])
        exponent = np.ceil(np.log2(largest, out=np.full_like(largest, LARGEST_EXPONENT), where=largest > 0))
        return np.asarray(np.exp2(LARGEST_EXPONENT - exponent))

    def products(self, block: Block) -> NDArray[np.float16]:
        """Products of the tokens of a block (layer, product, row), NaN in the padding.

        Raises
        ------
        IngestError
            Where a product is beyond float16.
        """
        into = np.full((self.model.layers, count_products(self.model.heads), block.length), np.nan, np.float16)
        batches = make_batches(block, tokens=self._batch_tokens)
        streams = cpu_count() if self.model.device.type == "cpu" else 1
        with one_thread_each(streams), ThreadPoolExecutor(streams, "mixing") as pool:
            for _ in pool.map(lambda batch: self._put(batch, into), batches):
                pass
        if not np.isfinite(into[..., : block.tokens]).all():
            raise IngestError(
                "What tokens bring to each other is beyond the range of float16, so context mixing cannot be stored. Give --mixing=none."
            )
        return into

    def _put(self, batch: Batch, into: NDArray[np.float16]) -> None:
        tensors = BatchTensors.on(self.model.device, batch)
        for layer, own in enumerate(self._run(tensors.token_ids, tensors)):
            into[layer][:, batch.rows] = (own * float(self.scale[layer])).half().T.cpu().numpy()

    def _run(self, token_ids: torch.Tensor, padded: BatchTensors | None) -> list[torch.Tensor]:
        """Products (token, product) of each layer in float32, without padding."""
        capture = self.model.run(token_ids, None if padded is None else padded.mask)

        def flat(vectors: torch.Tensor) -> torch.Tensor:
            return (vectors.flatten(0, 1) if padded is None else padded.without_padding(vectors)).float()

        with torch.inference_mode():
            layers = zip(self._maps, capture.value, capture.layer_input, strict=True)
            return [mixing_products(flat(value), flat(own_input), own) for own, value, own_input in layers]
